package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// What is not reached was decided elsewhere: how often a loop runs where its bound is computed, which threads
// come to a place by the condition before it. The text of the program has both.

// loopBound is the line that computes the number which ends the loop at a place: what the counter is compared
// with. nil where it is no result of a computation.
func (q *inquiry) loopBound(at *report.Source) *report.Source {
	fn := q.run.Entry()
	if fn == nil || at == nil {
		return nil
	}
	for _, i := range slices.Backward(instructionsAt(fn, at)) {
		in := fn.Body[i]
		to, _ := cfg.Next(in)
		if in.Kind() != isa.Branch || in.Guard == nil || len(to) == 0 || int(to[0]) > i {
			continue
		}
		test := lastBefore(fn, in.Guard.Reg, i)
		if test < 0 || fn.Body[test].Kind() != isa.Compare {
			continue
		}
		for _, op := range fn.Body[test].Args[1:] {
			if op.Kind != ptx.OpReg {
				continue
			}
			if def := given(fn, op.Reg, test); def >= 0 && fn.Body[def].Kind() != isa.Load &&
				!counts(fn, def, int(to[0]), i) {
				return blame(fn, def)
			}
		}
	}
	return nil
}

// lastBefore is the last instruction before another that gives a register; -1 where there is none.
func lastBefore(fn *ptx.Func, r int32, at int) int {
	for i := at - 1; i >= 0; i-- {
		if slices.Contains(fn.Body[i].Dests(nil), r) {
			return i
		}
	}
	return -1
}

// given is the instruction that computes a register's value at an instruction, past moves and conversions, as
// far as the text before shows it; -1 where nothing does.
func given(fn *ptx.Func, r int32, at int) int {
	for range fn.Body {
		def := lastBefore(fn, r, at)
		if def < 0 {
			return -1
		}
		in := fn.Body[def]
		if k := in.Kind(); k != isa.Move && k != isa.Convert || len(in.Args) < 2 ||
			in.Args[1].Kind != ptx.OpReg {
			return def
		}
		r, at = in.Args[1].Reg, def
	}
	return -1
}

// counts reports whether an instruction of a loop computes with what it gave in the iteration before.
func counts(fn *ptx.Func, def, from, to int) bool {
	seen, open := map[int]bool{}, []int{def}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for i := from; i <= to; i++ {
			if seen[i] || !slices.ContainsFunc(fn.Body[i].Dests(nil), func(r int32) bool {
				return slices.ContainsFunc(fn.Body[at].Args[1:], func(o ptx.Operand) bool {
					return o.Kind == ptx.OpReg && o.Reg == r
				})
			}) {
				continue
			}
			if i == def {
				return true
			}
			seen[i] = true
			open = append(open, i)
		}
	}
	return false
}

// condition is the line of the branch that decides whether a thread comes to a place; nil where all do.
func (q *inquiry) condition(at *report.Source) *report.Source {
	fn := q.run.Entry()
	if fn == nil || at == nil {
		return nil
	}
	list := instructionsAt(fn, at)
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1] // what comes first the compiler may have moved
	for _, i := range list {
		if k := fn.Body[i].Kind(); k == isa.Store || k == isa.Atomic || k == isa.Reduce {
			last = i
			break
		}
	}
	for _, i := range deciding(fn, last) {
		if src := blame(fn, i); !fn.Body[i].Loc.Within(target.IsProbe) && src.At() != at.At() {
			return src
		}
	}
	return nil
}

// deciding lists the branches that decide whether a thread comes to an instruction, the nearest first.
func deciding(fn *ptx.Func, at int) []int {
	g := cfg.New(fn)
	after := g.Postdominators()
	var out []int
	to := g.Of[at]
	for b := to; b >= 0; b-- {
		i := g.Start[b+1] - 1
		in := fn.Body[i]
		if in.Kind() != isa.Branch || in.Guard == nil || after[b][to] && b != to ||
			!slices.ContainsFunc(g.Succ[b], func(s int) bool { return after[s][to] }) {
			continue
		}
		out = append(out, i)
		to = b // what decides about the place decides within it
	}
	return out
}

// decided makes the place of what was not reached that where this was decided. Cells that nobody has while
// several threads write the same others are these threads'.
func (q *inquiry) decided(s *suspect, f *report.Finding, c *Cause) {
	for _, m := range s.members {
		if len(f.Warps) == 0 && c.Kind != "loop-ended" && m.cause.Kind == "race" && m.shared != "" {
			c.Advice = m.shared
			c.Place.Source, c.Place.Other = m.cause.Place.Source, f.Source
			return
		}
	}
	if left := q.leftOut(s, f); left != "" {
		c.Advice = left
		return
	}
	look, at := "", q.loopBound(f.Source)
	switch {
	case f.Source == nil || *f.Source != *c.Place.Source:
		return
	case c.Kind == "loop-ended" && at != nil:
		look = "look at " + callText(at) + ", which computes how often the loop at " +
			lineText(f.Source, at) + " runs"
	case c.Kind != "loop-ended" && !f.Left:
		if at = q.condition(f.Source); at == nil {
			return
		}
		look = "look at the condition at " + callText(at) + ", by which threads come to " +
			lineText(f.Source, at)
		if len(f.Warps) == 0 {
			look += ", and at which cells each has"
		}
	default:
		return
	}
	c.Advice = q.citing(look, ": ", at) + q.madeOf(at)
	c.Place.Source, c.Place.Other = at, f.Source
}

// outsideTile advises about a probe that is executed, and is given rows or columns that its tile does not
// have.
func (q *inquiry) outsideTile(f *report.Finding, c *Cause) {
	says := func(text string) bool { return strings.Contains(f.Message, text) }
	if f.Source == nil || !says("the probe rows or columns outside") &&
		!says("the probe no rows and columns") {
		return
	}
	line := bare(q.quoted(f.Source))
	_, args, ok := strings.Cut(line, "(")
	if !ok {
		return
	}
	look := fmt.Sprintf("look at the rows and columns that %s gives the probe", callText(f.Source))
	c.Advice = q.citing(look, ": ", f.Source) + q.valuesOf(f.Source, upTo(args))
}
