package walk

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/target"
)

// ErrOutermost says that there is no caller to go to.
var ErrOutermost = errors.New("the warp is in the kernel's own body: there is no caller to step out to")

// stepped is the frame whose lines StepOver last stepped by, and where that led. Code of an inlined function
// may be the first of the line that was stepped to: the next step is still one of the frame's.
type stepped struct {
	frame target.Calls
	step  uint64
	warp  int
}

// StepOver steps by lines of the current function; what is called from it belongs to the line that calls.
// Where a step leaves the function, the next one is by lines of the caller.
func (w *walker) StepOver(ctx context.Context, n int) (Position, error) {
	dir := 1
	if n < 0 {
		dir = -1
	}
	for n != 0 {
		frame := w.frame()
		lines, by := w.outermost, n
		if frame != "" {
			lines, by = w.linesOf(frame), dir
		}
		p, err := w.steps(ctx, func() stopMatcher { return w.unit(target.StepLine, lines) }, by, true)
		if err != nil || p.PC < 0 {
			return p, err
		}
		if !strings.HasPrefix(string(w.calls[p.PC]), string(frame)) {
			frame = w.calls[p.PC]
		}
		w.lastOver = stepped{frame, p.Step, p.Warp}
		if p.Stop != "step" || p.Note != "" {
			return p, nil
		}
		n -= by
	}
	return w.pos, ctx.Err()
}

// frame is the frame that StepOver steps in: that of the step before, if that led here, else the innermost.
func (w *walker) frame() target.Calls {
	pc, _ := w.at(w.warp)
	switch {
	case pc < 0:
		return ""
	case w.lastOver.step == w.pos.Step && w.lastOver.warp == w.warp && w.pos.Step > 0:
		return w.lastOver.frame
	}
	return w.calls[pc]
}

// linesOf returns the lines at which execution stands in a frame: of what the frame calls the line of the
// call, elsewhere the line in the innermost function that both lie in.
func (w *walker) linesOf(frame target.Calls) lineMap {
	numbers, out := map[spot]int32{}, lineMap{}
	in := frame.Sites()
	for pc := range w.calls {
		if w.outermost.numbers[pc] < 0 {
			out.add(nil, -1)
			continue
		}
		sites := w.calls[pc].Sites()
		depth := 0
		for depth < min(len(in), len(sites)) && in[depth] == sites[depth] {
			depth++
		}
		at := spot{function: strconv.Itoa(depth)}
		if depth < len(sites) {
			at.file, at.line = sites[depth].File, sites[depth].Line
		} else if src := w.program.Source(pc); src != nil {
			at.file, at.line = src.File, src.Line
		}
		if _, ok := numbers[at]; !ok {
			numbers[at] = int32(len(numbers))
		}
		out.numbers, out.spots = append(out.numbers, numbers[at]), append(out.spots, at)
	}
	return out
}

// StepOut leaves the current function.
func (w *walker) StepOut(ctx context.Context, n int) (Position, error) {
	dir := 1
	if n < 0 {
		dir, n = -1, -n
	}
	start := w.pos
	for range n {
		pc, _ := w.at(w.warp)
		if pc < 0 || w.calls[pc] == "" && w.inEntry(pc) {
			return start, ErrOutermost
		}
		p, err := w.steps(ctx, func() stopMatcher { return w.leaves(pc) }, dir, true)
		if err != nil || p.Stop != "step" {
			return p, err
		}
	}
	return w.pos, nil
}

// inEntry reports whether an instruction is the entry's and not a called function's.
func (w *walker) inEntry(pc int) bool { return pc <= len(w.program.Functions()[0].Body) }

// leaves returns the matcher of the instructions that the current warp executes outside the frame that an
// instruction lies in.
func (w *walker) leaves(from int) stopMatcher {
	warp, seen, frame, entry := w.warp, uint64(math.MaxUint64), string(w.calls[from]), w.inEntry(from)
	return func(e *target.Event, report func(hit)) {
		if !executes(e) || e.Warp != warp || e.Step == seen || w.lines[e.PC] < 0 {
			return
		}
		seen = e.Step
		inside := strings.HasPrefix(string(w.calls[e.PC]), frame)
		if w.inEntry(e.PC) != entry {
			inside = entry // what the entry calls is inside of it
		}
		if !inside {
			report(hit{e.Step, -1, "step", "", -1, -1})
		}
	}
}

// Frames lists the current warp's calls, innermost first.
func (w *walker) Frames() []Frame {
	pc, _ := w.at(w.warp)
	if pc < 0 {
		return nil
	}
	src := w.program.Source(pc)
	if src == nil {
		return nil
	}
	out := []Frame{{Function: src.Function, File: src.File, Line: src.Line}}
	sites := src.Calls.Sites()
	for i := len(sites) - 1; i >= 0; i-- {
		out = append(out, Frame{Function: sites[i].Function, File: sites[i].File, Line: sites[i].Line})
	}
	return out
}
