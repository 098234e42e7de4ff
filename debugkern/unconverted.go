package debugkern

import (
	"context"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Unconverted is an element of an argument whose bits arithmetic takes as a number of another type: they were
// moved, or converted from another type, where a conversion from its own belongs.
type Unconverted struct {
	At    *report.Source // the operation that takes it
	As    ptx.Type       // as which type
	Arg   string         // the argument
	Of    probes.DType   // its type
	Moved *report.Source // what put its bits together last; nil: nothing did
}

// Unconverted looks for an element of a 16-bit type that a cell of a stage is made of and that no conversion
// from its own type made a wider number of. nil where there is none. Errors are those of Lineage.
func (r *Run) Unconverted(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cell [2]int,
) (*Unconverted, error) {
	b, err := r.made(ctx, stage, block, kv, cell)
	if err != nil || b == nil {
		return nil, err
	}
	for n, v := range b.g.Nodes {
		step := b.trace.Step(int(v.Step))
		as := takenAs(step.Instr)
		if as == ptx.TypeNone || !step.Func.Entry || step.Instr.Loc.Within(target.IsProbe) {
			continue
		}
		for _, e := range b.g.Uses(int32(n)) {
			if e.Kind != lineage.ByValue {
				continue
			}
			out := &Unconverted{At: report.SourceOf(target.Blame(r.Entry(), step.Instr.Index)), As: as}
			if arg := b.bitsOf(out, e, mostMoves); arg >= 0 {
				if a := &r.Plan.Args[arg]; otherFloat(a.DType, as) {
					out.Arg, out.Of = a.Name, a.DType
					return out, nil
				}
			}
		}
	}
	return nil, nil
}

// takenAs is the type of floating-point numbers that an instruction computes with or converts from; TypeNone
// of all others.
func takenAs(in *ptx.Instr) ptx.Type {
	types := in.Types()
	if len(types) == 0 {
		return ptx.TypeNone
	}
	as := ptx.TypeNone
	switch k := in.Kind(); {
	case k == isa.Arith || k == isa.Special:
		as = types[0].Single()
	case k == isa.Convert && len(types) > 1:
		as = types[len(types)-1].Single()
	}
	if !as.Float() {
		return ptx.TypeNone
	}
	return as
}

// otherFloat reports whether numbers of a type are an argument's elements and bits of another type. The upper
// half of a float are the bits of a bfloat16.
func otherFloat(of probes.DType, as ptx.Type) bool {
	switch of {
	case probes.F16:
		return as != ptx.F16
	case probes.BF16:
		return as == ptx.F16
	}
	return false
}

// bitsOf is the argument of which an operand is an element whose bits were only moved; -1 where something
// computed or converted it. What moved them last is noted.
func (b *made) bitsOf(out *Unconverted, e lineage.Edge, left int) int {
	if e.Leaf {
		if l := b.g.Leaves[e.To]; l.Kind == lineage.LeafElement {
			return l.Arg
		}
		return -1
	}
	step := b.trace.Step(int(b.g.Nodes[e.To].Step))
	in := step.Instr
	k := in.Kind()
	types := in.Types()
	float := len(types) > 0 && (types[0].Float() || types[len(types)-1].Float())
	switch {
	case left == 0 || !step.Func.Entry:
		return -1
	case k == isa.Logic || k == isa.Bits || k == isa.Arith && !float:
		if out.Moved == nil {
			out.Moved = report.SourceOf(target.Blame(b.fn, in.Index))
		}
	case k == isa.Move || k == isa.Load || k == isa.Store || k == isa.Convert && !float:
	default:
		return -1
	}
	arg := -1
	for _, u := range b.g.Uses(e.To) {
		if u.Kind != lineage.ByValue {
			continue
		}
		if a := b.bitsOf(out, u, left-1); a >= 0 {
			arg = a
		}
	}
	return arg
}
