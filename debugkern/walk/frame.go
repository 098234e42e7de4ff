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

// stepped is the frame that StepOver or StepOut last led to, and where that was. Code of an inlined function
// may be the first of the line that was stepped to: execution then stands before the call, in the frame, and
// the next step is one of the frame's.
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
		if p = w.standIn(common(frame, w.calls[p.PC])); p.Stop != "step" || p.Note != "" {
			return p, nil
		}
		n -= by
	}
	return w.pos, ctx.Err()
}

// common is the innermost frame that two chains of calls have in common.
func common(a, b target.Calls) target.Calls {
	x, y := a.Sites(), b.Sites()
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return target.CallsOf(x[:n])
}

// standIn makes a frame of the instruction at hand the one in which execution stands: its position is the
// line of that frame, where code that is inlined into the line is not yet entered.
func (w *walker) standIn(frame target.Calls) Position {
	w.lastOver = stepped{frame, w.pos.Step, w.pos.Warp}
	w.pos.Source = w.sourceIn(frame, w.pos.PC)
	return w.pos
}

// sourceIn is where an instruction stands in a frame that it lies in: its own line, or that of the call that
// leads from the frame to it.
func (w *walker) sourceIn(frame target.Calls, pc int) *target.Source {
	src := w.program.Source(pc)
	if src == nil || src.Calls == frame || common(frame, src.Calls) != frame {
		return src
	}
	at := src.Calls.Sites()[len(frame.Sites())]
	return &target.Source{File: at.File, Line: at.Line, Function: at.Function, Calls: frame}
}

// frame is the frame in which execution stands: that of the step before, if that led here, else the
// innermost.
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
		if pc < 0 || w.frame() == "" && w.inEntry(pc) {
			return start, ErrOutermost
		}
		frame := w.frame()
		p, err := w.steps(ctx, func() stopMatcher { return w.leaves(frame, w.inEntry(pc)) }, dir, true)
		if err != nil || p.PC < 0 {
			return p, err
		}
		if p = w.standIn(common(caller(frame), w.calls[p.PC])); p.Stop != "step" {
			return p, nil
		}
	}
	return w.pos, nil
}

// caller is the frame that a frame was called from; that of the outermost is itself.
func caller(frame target.Calls) target.Calls {
	sites := frame.Sites()
	return target.CallsOf(sites[:max(0, len(sites)-1)])
}

// inEntry reports whether an instruction is the entry's and not a called function's.
func (w *walker) inEntry(pc int) bool { return pc <= len(w.program.Functions()[0].Body) }

// leaves returns the matcher of the instructions that the current warp executes in the caller of a frame, or
// in another function that the caller calls, which is not yet entered then. The compiler moves instructions
// of outer functions in between: out of the caller leads only one that begins a line there.
func (w *walker) leaves(frame target.Calls, entry bool) stopMatcher {
	warp, seen, outer := w.warp, uint64(math.MaxUint64), string(caller(frame))
	lines := w.linesOf(target.Calls(outer))
	entries := entriesOf(lines, w.heads, w.listing)
	return func(e *target.Event, report func(hit)) {
		if !executes(e) || e.Warp != warp || e.Step == seen || w.lines[e.PC] < 0 {
			return
		}
		seen = e.Step
		calls := string(w.calls[e.PC])
		leaves := !strings.HasPrefix(calls, string(frame)) &&
			(strings.HasPrefix(calls, outer) || w.begins(e, lines, entries[e.PC], forSteps))
		if w.inEntry(e.PC) != entry {
			leaves = !entry // what the entry calls is inside of it
		}
		if leaves {
			report(hit{e.Step, -1, "step", "", -1, -1, nil})
		}
	}
}

// Frames lists the current warp's calls, innermost first.
func (w *walker) Frames() []Frame {
	pc, _ := w.at(w.warp)
	if pc < 0 {
		return nil
	}
	src := w.sourceIn(w.frame(), pc)
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
