package diagnose

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
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
	got, x := float64(b.Got), s.contrast
	switch {
	case x != nil && !x.Wholly:
	case (math.IsInf(got, 0) || got == 0) && q.allKeep(st, b):
		if z, err := q.multipliedByZero(st, b); err != nil || z != nil {
			if z != nil {
				q.blameZero(s, b, z)
			}
			return z != nil, err
		}
		return q.unselected(s, b, ops)
	case q.keptFrom(st, b):
		return q.notAgain(s, st, b)
	}
	return false, nil
}

// allKeep reports whether all wrong cells of the tile have the value of the first: those that have another
// one are computed, and what leaves out the first does not explain them.
func (q *inquiry) allKeep(st probes.Stage, b *report.BadCell) bool {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return true // nothing contradicts it
	}
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if v.Judged(r, c, true) && isBad(v, r, c) && v.Got.At(r, c) != float64(b.Got) {
				return false
			}
		}
	}
	return true
}

// notAgain is unexecuted where the operation that gave a cell its value in the tile before is not executed
// for it again, or its result not taken: the place is the condition by which that is so.
func (q *inquiry) notAgain(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	ops, err := q.base.Slice(q.ctx, st, b.Block, b.KVTile-1, [][2]int{{b.Row, b.Col}})
	if err != nil {
		return false, q.fatal(err)
	}
	fn := q.run.Entry()
	const keeps = "it keeps its value of the tile before"
	for _, o := range ops {
		in := fn.Body[o.At]
		if in.Loc.Within(target.IsProbe) || len(in.Args) == 0 {
			continue
		}
		if p := in.Args[len(in.Args)-1]; in.Op == "selp" && in.Type().Float() && p.Kind == ptx.OpReg {
			if tests := comparing(fn, p.Reg, o.At); q.inSourceBoth(o.At, tests) {
				return true, q.blameChoice(s, b, o.At, o.At, tests, keeps)
			}
		}
		if !computes(in) || !in.Type().Float() {
			continue
		}
		for _, at := range deciding(fn, o.At) {
			tests := comparing(fn, fn.Body[at].Guard.Reg, at)
			if q.inSourceBoth(o.At, tests) && !q.loopAlike(s.stages[0], b, tests) {
				return true, q.blameChoice(s, b, o.At, at, tests, keeps)
			}
		}
		return false, nil
	}
	return false, nil
}

// loopAlike reports whether comparisons are of the head of a loop, and compare the same for a right cell of
// the tile: they do not decide about the wrong one.
func (q *inquiry) loopAlike(st probes.Stage, b *report.BadCell, tests []int) bool {
	if !headed.MatchString(bare(q.quoted(blame(q.run.Entry(), tests[0])))) {
		return false
	}
	own, err := q.comparedFor(st, b, tests)
	if err != nil {
		return false
	}
	for _, cell := range q.rightCells(st, b.Block, b.KVTile) {
		right := *b
		right.Row, right.Col = cell[0], cell[1]
		if other, err := q.comparedFor(st, &right, tests); err == nil && other == own {
			return true
		}
	}
	return false
}

// keptFrom reports whether a cell of a stage's tile has the value that it had in the tile before.
func (q *inquiry) keptFrom(st probes.Stage, b *report.BadCell) bool {
	if sp := q.run.Plan.Stage(st); sp == nil || !sp.PerTile || b.KVTile < 1 {
		return false
	}
	p := debugkern.Place{Stage: st, Block: b.Block, KVTile: b.KVTile}
	now, err := q.base.View(p)
	p.KVTile--
	before, failed := q.base.View(p)
	return err == nil && failed == nil && now.Got.Reached() && before.Got.Reached() &&
		before.Got.Captured(b.Row, b.Col) && now.Got.Same(before.Got, b.Row, b.Col)
}

// unselected is unexecuted where others of the block execute the line, and the cell has kept the value that
// it begins with: the place is the first of the conditions on the way to it, of a branch or of a choice
// between two values.
func (q *inquiry) unselected(s *suspect, b *report.BadCell, ops []debugkern.Operation) (bool, error) {
	const keeps = "it keeps the value that it begins with"
	fn := q.run.Entry()
	made := map[string]bool{} // what is executed for the cell, whatever it gives: by operation and place
	for _, o := range ops {
		made[operationAt(fn.Body[o.At])] = true
	}
	for _, o := range ops {
		in := fn.Body[o.At]
		if in.Loc.Within(target.IsProbe) || len(in.Args) == 0 {
			continue
		}
		if p := in.Args[len(in.Args)-1]; in.Op == "selp" && p.Kind == ptx.OpReg && !in.Type().Integer() {
			if tests := comparing(fn, p.Reg, o.At); q.inSourceBoth(o.At, tests) {
				return true, q.blameChoice(s, b, o.At, o.At, tests, keeps)
			}
		}
		for _, r := range in.Dests(nil) {
			for i, other := range fn.Body {
				loads := other.Kind().Loads() && other.Space() == ptx.SpaceGlobal
				if i == o.At || made[operationAt(other)] || !slices.Contains(other.Dests(nil), r) ||
					!loads && (!computes(other) || !fn.Regs[r].Type.Float()) {
					continue
				}
				if f := q.unawaitedProduct(i); f != nil {
					s.lacks = f
					s.because(fmt.Sprintf("%s: the wgmma at %s is not complete when it is read", keeps,
						callText(f.Source)))
					return true, nil
				}
				for _, at := range deciding(fn, i) {
					tests := comparing(fn, fn.Body[at].Guard.Reg, at)
					if q.inSourceBoth(i, tests) && !q.loopAlike(s.stages[0], b, tests) {
						return true, q.blameChoice(s, b, i, at, tests, keeps)
					}
				}
			}
		}
	}
	return false, nil
}

// operationAt is an instruction's operation with its place in the source, which copies of it have in common.
func operationAt(in *ptx.Instr) string {
	if in.Loc == nil {
		return in.Op
	}
	return in.Op + " " + in.Loc.Chain()
}

// unawaitedProduct is the finding that a wgmma is under way where nothing waits for it; nil: there is none.
func (q *inquiry) unawaitedProduct(i int) *report.Finding {
	at := blame(q.run.Entry(), i)
	if q.run.Entry().Body[i].Kind() != isa.WgmmaMultiply || at == nil {
		return nil
	}
	for k := range q.doc.Findings {
		f := &q.doc.Findings[k]
		if f.Kind == "wgmma" && f.Source != nil && *f.Source == *at {
			return f
		}
	}
	return nil
}

// lacksProduct reports whether a suspect's cells lack what a product gives that another one says nothing
// waits for.
func (q *inquiry) lacksProduct(s, wgmma *suspect) bool {
	return s.lacks != nil && wgmma.cause.Kind == "wgmma" && q.owns(wgmma, s.lacks)
}

// inSourceBoth reports whether there are comparisons, and the first of them and an instruction have places in
// the source.
func (q *inquiry) inSourceBoth(at int, tests []int) bool {
	fn := q.run.Entry()
	return len(tests) > 0 && blame(fn, at) != nil && blame(fn, tests[0]) != nil
}

// blameChoice makes comparisons the place of a suspect whose cells keep what they begin with: by them an
// instruction that would make a cell is not executed for it, or its result not taken. chooses is the branch
// or selection that they decide.
func (q *inquiry) blameChoice(
	s *suspect, b *report.BadCell, lacking, chooses int, tests []int, keeps string,
) error {
	fn := q.run.Entry()
	compared, err := q.comparedFor(s.stages[0], b, tests)
	if err != nil {
		return err
	}
	at, line := q.chosenAtLine(tests[0], chooses), blame(fn, lacking)
	s.compares = tests
	says := fmt.Sprintf("%s: by the condition at %s%s %s takes no part in it", keeps, callText(at), compared,
		q.resultOf(lacking, at))
	if leaves.MatchString(bare(q.quoted(at))) {
		says += "; where it holds, it leaves the loop"
	}
	s.because(says)
	s.cause.Place.Source, s.cause.Place.Other = at, line
	look := fmt.Sprintf("look at the condition at %s, and at what it compares", callText(at))
	s.cause.Advice = q.citing(look, ": ", at) + q.madeOf(at) + q.seeFirst(s.stages[0])
	return nil
}

var leaves = regexp.MustCompile(`\bif\b.*\bbreak\b`)

// comparedFor says what is compared at some comparisons by the thread that makes a cell of a tile, before it
// does: ", which compares 1 with 0 there,"; or, where that one does not execute all of them, what each
// compares first. "" where none is known.
func (q *inquiry) comparedFor(st probes.Stage, b *report.BadCell, tests []int) (string, error) {
	var own, first []string
	if b.KVTile >= 0 {
		list, err := q.base.ThreadCompared(q.ctx, st, b.Block, b.KVTile, [2]int{b.Row, b.Col})
		if err = q.fatal(err); err != nil {
			return "", err
		}
		for _, test := range tests {
			i := slices.IndexFunc(list, func(c debugkern.Compared) bool { return c.At == test })
			if i < 0 {
				own = nil
				break
			}
			if q.comparesOthers(test, list[i], list) {
				return "", nil
			}
			if text := fmt.Sprintf("%.0f with %.0f", list[i].A, list[i].B); !slices.Contains(own, text) {
				own = append(own, text)
			}
		}
	}
	if len(own) > 0 {
		return fmt.Sprintf(", which compares %s there,", strings.Join(own, ", and ")), nil
	}
	for _, test := range tests {
		compared, err := q.comparedFirst(b.Block, test)
		if err != nil {
			return "", err
		}
		if compared != "" && !slices.Contains(first, compared) {
			first = append(first, compared)
		}
	}
	if len(first) > 0 {
		return fmt.Sprintf(", which first compares %s there,", strings.Join(first, ", and ")), nil
	}
	return "", nil
}

// comparesOthers reports whether another comparison of the same line, as of another iteration of a loop that
// is unrolled, compares other numbers: which of them is about a cell is not known.
func (q *inquiry) comparesOthers(test int, own debugkern.Compared, list []debugkern.Compared) bool {
	fn := q.run.Entry()
	at := blame(fn, test)
	return at != nil && slices.ContainsFunc(list, func(c debugkern.Compared) bool {
		src := blame(fn, c.At)
		return c.At != test && src != nil && *src == *at && (c.A != own.A || c.B != own.B)
	})
}

// resultOf names what an instruction gives, next to another line.
func (q *inquiry) resultOf(i int, other *report.Source) string {
	fn := q.run.Entry()
	text, at := "the result of the "+repair.Word(fn.Body[i].Op), blame(fn, i)
	switch apart := at.At() != other.At(); {
	case !apart && fn.Body[i].Op == "selp" && !strings.Contains(q.quoted(other), "?"):
		return "one of the two values that it chooses between" // a compiler makes an if without a branch
	case apart:
		text += " at " + lineText(at, other)
	}
	return text
}

// computes reports whether an instruction of the kernel's own computes a value.
func computes(in *ptx.Instr) bool {
	k := in.Kind()
	return !in.Loc.Within(target.IsProbe) && (k == isa.Arith || k == isa.Special || k.Product())
}

// comparing lists the comparisons that a predicate is made of at an instruction.
func comparing(fn *ptx.Func, reg int32, at int) (out []int) {
	open, seen := []int32{reg}, map[int32]bool{}
	for len(open) > 0 {
		r := open[0]
		if open = open[1:]; seen[r] {
			continue
		}
		seen[r] = true
		def := lastBefore(fn, r, at)
		if def < 0 {
			continue
		}
		in := fn.Body[def]
		if in.Kind() == isa.Compare {
			out = append(out, def)
			continue
		}
		for _, o := range in.Args[1:] {
			if o.Kind == ptx.OpReg && fn.Regs[o.Reg].Type == ptx.Pred {
				open = append(open, o.Reg)
			}
		}
	}
	return out
}

// never reports whether an instruction computes a value of the kernel, and none of its line is executed.
func (q *inquiry) never(times []int, i int) bool {
	fn := q.run.Entry()
	if !computes(fn.Body[i]) {
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
	if test < 0 {
		return "", nil
	}
	return q.comparedFirst(block, test)
}

// comparedFirst is comparedIn of a comparison.
func (q *inquiry) comparedFirst(block probes.Dim3, test int) (string, error) {
	fn := q.run.Entry()
	if fn.Body[test].Kind() != isa.Compare || fn.Body[test].Type().Float() {
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
