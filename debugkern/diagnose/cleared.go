package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// A store of a constant that races with what other threads do to the same cells may have no place there: what
// they added is lost where it comes after it. No order that a block can make helps where blocks race.

// cleared tries each side of a race left out that stores nothing but a constant, and is a statement of its
// own.
func (q *inquiry) cleared(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.cause.Kind != "race" || s.cause.Finding < 0 || !q.run.Report.Referenced() {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if f.Source == nil || f.Other == nil || f.Source.At() == f.Other.At() {
		return nil
	}
	for _, at := range []*report.Source{f.Source, f.Other} {
		line := q.quoted(at)
		edits := storesOfConstants(fn, at)
		if len(edits) == 0 || !strings.HasSuffix(bare(line), ";") || len(at.Calls.Sites()) > 0 {
			continue
		}
		other := f.Source
		if at == f.Source {
			other = f.Other
		}
		r := &remedy{
			text: fmt.Sprintf("without the store of a constant at %s", at.At()), at: at,
			advice: fmt.Sprintf("at %s: leave out %s: what stands in these cells by then, as by %s, is lost",
				at.At(), quote(line), lineText(other, at)),
			edits: func(*debugkern.Run) []ptx.Edit { return edits },
		}
		if ok, err := q.adopt(s, r); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if q.nothingWrong(s.alone) {
			s.cause.Rewrite = &Rewrite{File: at.File, Line: at.Line, Was: line}
			return nil
		}
		s.remedy, s.alone, s.beyond = nil, nil, ""
	}
	return nil
}

// storesOfConstants leaves out what a line stores to global or shared memory; nil where it stores anything
// but constants, or accesses memory otherwise.
func storesOfConstants(fn *ptx.Func, at *report.Source) (edits []ptx.Edit) {
	for _, i := range instructionsAt(fn, at) {
		switch k := fn.Body[i].Kind(); {
		case k == isa.Store:
			if args := fn.Body[i].Args; !constantOperand(fn, &args[len(args)-1]) {
				return nil
			}
			edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: i})
		case k.Reads() || k.Writes() || k.Async():
			if fn.Body[i].Space() != ptx.SpaceParam {
				return nil
			}
		}
	}
	return edits
}

// constantOperand reports whether an operand is a number, or a register that only numbers are moved to.
func constantOperand(fn *ptx.Func, o *ptx.Operand) bool {
	switch o.Kind {
	case ptx.OpInt, ptx.OpF32, ptx.OpF64:
		return true
	case ptx.OpVec:
		return !slices.ContainsFunc(o.Elems, func(e ptx.Operand) bool { return !constantOperand(fn, &e) })
	case ptx.OpReg:
	default:
		return false
	}
	defined := false
	var dests []int32
	for _, in := range fn.Body {
		if dests = in.Dests(dests[:0]); !slices.Contains(dests, o.Reg) {
			continue
		}
		last := &in.Args[len(in.Args)-1]
		if in.Kind() != isa.Move || last.Kind == ptx.OpReg || !constantOperand(fn, last) {
			return false
		}
		defined = true
	}
	return defined
}
