package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A cell that lacks what belongs in it may lack it because the line that would add it is never executed: a
// loop ends before its first iteration, a condition is met by no thread. The line is one that gives a
// register which the cell is made of, and what decides about it is the condition before it that was executed.

// unexecuted finds the line that no warp of the block executes, of those that would make a wrong cell, and
// makes the condition before it the place. false where each is executed, or the cell has other cells'
// operands.
func (q *inquiry) unexecuted(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	if x := s.contrast; x != nil && (len(x.Foreign) > 0 || slices.ContainsFunc(x.Missing,
		func(o debugkern.Operands) bool { return o.At != nil })) {
		return false, nil
	}
	ops, err := q.base.Slice(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil {
		return false, q.fatal(err)
	}
	times, err := q.base.Executed(q.ctx, b.Block)
	if err != nil {
		return false, q.fatal(err)
	}
	fn := q.run.Entry()
	for _, o := range ops {
		for _, r := range fn.Body[o.At].Dests(nil) {
			if !fn.Regs[r].Type.Float() {
				continue
			}
			for i, in := range fn.Body {
				if i != o.At && slices.Contains(in.Dests(nil), r) && q.never(times, i) {
					if branch := lastExecuted(fn, i, times); branch >= 0 {
						return true, q.blameCondition(s, b, i, branch)
					}
				}
			}
		}
	}
	return false, nil
}

// never reports whether an instruction computes a value of the kernel, and none of its line is executed.
func (q *inquiry) never(times []int, i int) bool {
	fn := q.run.Entry()
	in := fn.Body[i]
	k := in.Kind()
	if in.Loc.Within(target.IsProbe) || k != isa.Arith && k != isa.Special && !k.Product() {
		return false
	}
	return !slices.ContainsFunc(instructionsAt(fn, blame(fn, i)), func(n int) bool { return times[n] > 0 })
}

// lastExecuted is the branch before an instruction that was executed and led past it; -1 where there is none.
func lastExecuted(fn *ptx.Func, i int, times []int) int {
	for _, b := range deciding(fn, i) {
		if times[b] > 0 {
			return b
		}
	}
	return -1
}

// blameCondition makes the condition of a branch the place of a suspect: it leads past a line that would make
// its cells.
func (q *inquiry) blameCondition(s *suspect, b *report.BadCell, lacking, branch int) error {
	fn := q.run.Entry()
	at, line := blame(fn, branch), blame(fn, lacking)
	says := fmt.Sprintf("%s, which would make it, is never executed in block %s", lineText(line, at),
		b.Block)
	compared, err := q.comparedIn(b.Block, branch)
	if err != nil {
		return err
	}
	if compared != "" {
		says += fmt.Sprintf(": the condition at %s compares %s", lineText(at, line), compared)
	}
	s.because(says)
	s.cause.Place.Source, s.cause.Place.Other = at, line
	s.cause.Advice = q.citing(fmt.Sprintf("look at the condition at %s, by which no thread comes to %s",
		callText(at), lineText(line, at)), ": ", at) + q.madeOf(at) + q.seeFirst(s.stages[0])
	return nil
}

// comparedIn is what the condition of a branch compares where it is first executed in a block, by warp: "224
// with 203 in warp 0"; "" where it is no comparison of integers.
func (q *inquiry) comparedIn(block probes.Dim3, branch int) (string, error) {
	fn := q.run.Entry()
	test := lastBefore(fn, fn.Body[branch].Guard.Reg, branch)
	if test < 0 || fn.Body[test].Kind() != isa.Compare || fn.Body[test].Type().Float() {
		return "", nil
	}
	args := fn.Body[test].Args[1:]
	var regs []int32
	for _, o := range args {
		if o.Kind == ptx.OpReg {
			regs = append(regs, o.Reg)
		}
	}
	list, err := q.base.Sampled(q.ctx, block, []int{test}, regs)
	if err != nil || len(list) == 0 {
		return "", q.fatal(err)
	}
	x, n := &list[0], 0
	text := ""
	for k, o := range args[:2] {
		v := int64(o.Imm)
		if o.Kind == ptx.OpReg {
			if !x.Known[n] {
				return "", nil
			}
			v = x.Values[n]
			n++
		} else if o.Kind != ptx.OpInt {
			return "", nil
		}
		if k > 0 {
			text += " with "
		}
		text += fmt.Sprint(v)
	}
	return fmt.Sprintf("%s in warp %d", text, x.Warp), nil
}
