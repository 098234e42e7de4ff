package walk

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/target"
)

// Continue runs to the next breakpoint or the end.
func (w *walker) Continue(ctx context.Context) (Position, error) { return w.breakpoint(ctx, 1) }

// Reverse runs back to the breakpoint before or the start.
func (w *walker) Reverse(ctx context.Context) (Position, error) { return w.breakpoint(ctx, -1) }

func (w *walker) breakpoint(ctx context.Context, n int) (Position, error) {
	watched := make([]bytesAt, len(w.breaks))
	for i, b := range w.breaks {
		if b.Array == "" {
			continue
		}
		var err error
		if watched[i], err = w.cell(b.Array, b.Row, b.Col); err != nil {
			return w.pos, err
		}
	}
	return w.steps(ctx, func() stopMatcher { return w.stops(watched) }, n, false)
}

// stops returns the matcher of the steps at which a breakpoint stops the block.
func (w *walker) stops(watched []bytesAt) stopMatcher {
	values := make([][]byte, len(w.breaks))
	for i, s := range watched {
		values[i] = w.bytes(s)
	}
	last := -1 // the warp that executed last
	seen := make([]uint64, len(w.passed))
	for i := range seen {
		seen[i] = math.MaxUint64
	}
	return func(e *target.Event, report func(hit)) {
		for i, b := range w.breaks {
			switch {
			case b.Array != "":
				if now := w.bytes(watched[i]); !bytes.Equal(now, values[i]) {
					values[i] = now
					report(hit{
						w.block.Steps(), last, "breakpoint",
						fmt.Sprintf("%s[%d][%d] changed", b.Array, b.Row, b.Col),
					})
				}
			case b.Line > 0 && executes(e) && e.Step != seen[e.Warp]:
				if w.onLine(e.PC, b) && w.enters(e, w.lines) {
					report(hit{e.Step, e.Warp, "breakpoint", fmt.Sprintf("%s:%d", b.File, b.Line)})
				}
			}
		}
		if executes(e) {
			last, seen[e.Warp] = e.Warp, e.Step
		}
		w.captures(func(c capture) bool {
			return slices.ContainsFunc(w.breaks, func(b Breakpoint) bool {
				return b.Stage == c.stage.String()
			})
		}, func(h hit) {
			h.stop = "breakpoint"
			report(h)
		})
	}
}

// onLine reports whether an instruction belongs to a breakpoint's line.
func (w *walker) onLine(pc int, b Breakpoint) bool {
	if pc >= len(w.rows) {
		return false
	}
	l := &w.listing[w.rows[pc]]
	return l.Line == b.Line && (b.File == "" || baseName(l.File) == baseName(b.File))
}
