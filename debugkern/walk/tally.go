package walk

import (
	"context"
	"fmt"
	"math"
	"sort"
)

// tally is the steps at which a breakpoint is hit and by which warps, those before until all of them. What is
// executed is a function of the clock alone, so a tally never becomes wrong.
type tally struct {
	steps []uint64
	warps []int // by hit; -1: by the block
	until uint64
}

// key identifies what a breakpoint counts.
func (b *Breakpoint) key() string {
	cond := ""
	if b.When.If != nil {
		cond = b.When.If.String()
	}
	return fmt.Sprintf("%s:%d %s %s %d %d %s", b.File, b.Line, b.Stage, b.Array, b.Row, b.Col, cond)
}

// tally returns a breakpoint's.
func (w *walker) tally(b *Breakpoint) *tally {
	k := b.key()
	if w.tallies[k] == nil {
		w.tallies[k] = &tally{}
	}
	return w.tallies[k]
}

// add notes a hit by a warp and returns which one it is, from 1. Steps come in ascending order, from one that
// is not after until.
func (t *tally) add(step uint64, warp int) uint64 {
	i := sort.Search(len(t.steps), func(i int) bool { return t.steps[i] >= step })
	if i == len(t.steps) {
		t.steps, t.warps = append(t.steps, step), append(t.warps, warp)
	}
	t.until = max(t.until, step+1)
	return uint64(i) + 1
}

// count brings the tallies of the breakpoints up to the current step, and executes what it needs for that.
func (w *walker) count(ctx context.Context, all bool) error {
	now, from := w.block.Steps(), uint64(math.MaxUint64)
	for i := range w.breaks {
		t := w.tally(&w.breaks[i])
		w.counted[i] = (all || w.breaks[i].When.Hits != nil) && t.until <= now
		if w.counted[i] {
			from = min(from, t.until)
		}
	}
	if from > now {
		return nil
	}
	watched, err := w.watched()
	if err != nil {
		return err
	}
	pos := w.pos
	_, err = w.moving(ctx, func(back mark) error {
		w.restore(w.marks[w.base(from)])
		match := w.stops(watched)
		see := func(h hit) {}
		if _, err := w.run(ctx, now+1, matching(match, see)); err != nil {
			return err
		}
		match(nil, see)
		for i := range w.breaks {
			if t := w.tally(&w.breaks[i]); w.counted[i] {
				t.until = max(t.until, now+1)
			}
		}
		return w.seek(ctx, now, &back)
	})
	w.pos = pos
	return err
}

// before is how many hits there are before a step.
func (t *tally) before(step uint64) int {
	return sort.Search(len(t.steps), func(k int) bool { return t.steps[k] >= step })
}

// Hits counts the hits of each breakpoint from where it was set up to now.
func (w *walker) Hits(ctx context.Context) ([]Hits, error) {
	if err := w.count(ctx, true); err != nil {
		return nil, err
	}
	out := make([]Hits, len(w.breaks))
	for i := range w.breaks {
		t := w.tally(&w.breaks[i])
		first := t.before(w.breaks[i].From)
		n := max(first, t.before(w.pos.Step+1))
		warps := map[int]bool{}
		for _, warp := range t.warps[first:n] {
			warps[warp] = warp >= 0
		}
		delete(warps, -1)
		out[i] = Hits{Times: n - first, Warps: len(warps)}
	}
	return out, nil
}
