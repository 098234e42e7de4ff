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

// Reinterpreted is an operand of a matrix product that the instruction takes as numbers of another type
// than it was made as: bits were moved where a conversion belongs.
type Reinterpreted struct {
	At    *report.Source // the product
	As    ptx.Type       // which it takes the operand as
	Made  *report.Source // where its number was made
	Was   ptx.Type       // as what
	Moved *report.Source // what put its bits together last; nil: nothing did
}

// Reinterpreted looks among the products that a cell of a stage is made by for an operand that was made as
// a number of another type. What only was loaded, and comes from no arithmetic of the kernel, is of its
// argument's type. nil where there is none. Errors are those of Lineage.
func (r *Run) Reinterpreted(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cell [2]int,
) (*Reinterpreted, error) {
	b, err := r.made(ctx, stage, block, kv, cell)
	if err != nil || b == nil {
		return nil, err
	}
	seen := 0
	for n, v := range b.g.Nodes {
		in := b.trace.Step(int(v.Step)).Instr
		types := in.Types()
		if !in.Kind().Product() || len(types) < 3 {
			continue
		}
		if seen++; seen > productsAsked {
			break
		}
		for _, e := range b.g.Uses(int32(n)) {
			if e.Kind != lineage.ByValue {
				continue
			}
			if out := b.operand(in, types[1].Single(), e); out != nil {
				return out, nil
			}
		}
	}
	return nil, nil
}

// productsAsked is of how many products of a cell the operands are followed.
const productsAsked = 4

// made is all that a cell is made of; nil where it was not captured, or that is too much.
func (r *Run) made(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cell [2]int,
) (*made, error) {
	x, trace, _, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	at, err := x.at(trace, cell[0], cell[1])
	if err != nil {
		return nil, nil // it was not captured
	}
	g, err := trace.Walk(ctx, at, lineage.Query{Nodes: sliceNodes})
	if err != nil || g.Truncated {
		return nil, err
	}
	return &made{x: x, trace: trace, g: g, fn: r.Entry()}, nil
}

// made follows bits back to the arithmetic that made them.
type made struct {
	x     *ancestry
	trace *lineage.Trace
	g     *lineage.Graph
	fn    *ptx.Func
}

// operand is an operand of a product where it was made as another type; nil where it was not, where that is
// not known, and of what a product adds to.
func (b *made) operand(in *ptx.Instr, as ptx.Type, e lineage.Edge) *Reinterpreted {
	if as != ptx.F16 && as != ptx.BF16 && as != ptx.E4M3 && as != ptx.E5M2 {
		return nil // of wider types the hardware takes the bits of others, and may be meant to
	}
	out := &Reinterpreted{At: report.SourceOf(target.Blame(b.fn, in.Index)), As: as}
	if !b.from(out, e, mostMoves) {
		return nil
	}
	return out
}

// mostMoves is how many moves in a row are followed.
const mostMoves = 48

// from follows an operand back to the arithmetic that made it; false where that gave the type that it is
// taken as, or is not known.
func (b *made) from(out *Reinterpreted, e lineage.Edge, left int) bool {
	if e.Leaf || left == 0 {
		return false
	}
	v := b.g.Nodes[e.To]
	step := b.trace.Step(int(v.Step))
	if v.N != uint8(out.As.Bytes()) || !step.Func.Entry {
		return false
	}
	k := step.Instr.Kind()
	switch {
	case k == isa.Arith || k == isa.Special || k == isa.Convert:
		was := step.Instr.Types()
		if len(was) == 0 {
			return false
		}
		out.Was, out.Made = was[0].Single(), report.SourceOf(target.Blame(b.fn, step.Instr.Index))
		return out.Was.Float() && out.Was != out.As && out.Made != nil
	case k.Product():
		return false
	case k == isa.Logic || k == isa.Bits:
		if out.Moved == nil {
			out.Moved = report.SourceOf(target.Blame(b.fn, step.Instr.Index))
		}
	}
	for _, u := range b.g.Uses(e.To) {
		if u.Kind == lineage.ByValue && b.from(out, u, left-1) {
			return true
		}
	}
	return false
}
