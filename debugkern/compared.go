package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Compared is a comparison of integers by which it was decided what a cell of a stage became.
type Compared struct {
	At    int // index in the entry's body
	Holds bool
	A, B  float64 // the numbers compared
}

// Comparisons lists, for each of some cells of a stage, the comparisons of integers that decided what it
// became, the nearest to the cell first, each instruction once. The walk ends where a tile of an operand
// was captured. A cell that was not captured has none. Errors are those of Lineage.
func (r *Run) Comparisons(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) ([][]Compared, error) {
	out := make([][]Compared, len(cells))
	x, trace, kv, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	cut := map[lineage.Value]bool{}
	x.operandTiles(trace, kv, func(_ *probes.StagePlan, _, _, _ int, way []lineage.Ref) {
		for _, v := range way {
			cut[lineage.Value{Step: v.Step, Lane: v.Lane}] = true
		}
	})
	for i, c := range cells {
		at, err := x.at(trace, c[0], c[1])
		if err != nil {
			continue
		}
		g, err := trace.Walk(ctx, at, lineage.Query{
			Address: true, Control: true, Nodes: sliceNodes,
			CutValue: func(v lineage.Ref) (int, bool) {
				return 0, cut[lineage.Value{Step: v.Step, Lane: v.Lane}]
			},
		})
		if err != nil {
			return nil, err
		}
		if out[i], err = x.comparisons(ctx, trace, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// comparisons lists those of a cell's lineage.
func (x *ancestry) comparisons(
	ctx context.Context, trace *lineage.Trace, g *lineage.Graph,
) ([]Compared, error) {
	var out []Compared
	var refs []lineage.Ref // three for each: the outcome and the two numbers
	var constant [][2]*float64
	for _, v := range g.Nodes {
		step := trace.Step(int(v.Step))
		in := step.Instr
		seen := slices.ContainsFunc(out, func(c Compared) bool { return c.At == in.Index })
		if seen || !step.Func.Entry || in.Kind() != isa.Compare || in.Type().Float() ||
			in.Loc.Within(target.IsProbe) {
			continue
		}
		uses := slices.DeleteFunc(trace.Uses(v, false, false), func(u lineage.Use) bool {
			return u.Kind != lineage.ByValue || u.Operand < 1 || u.Operand > 2
		})
		if len(uses) != 2 || uses[0].Operand == uses[1].Operand {
			continue
		}
		list, known := []lineage.Ref{v}, [2]*float64{}
		for k, u := range uses {
			if u.Leaf == nil {
				list = append(list, u.Ref)
				continue
			}
			list = append(list, v) // unused
			if n, ok := x.leafNumber(u.Leaf, in.Type()); ok {
				known[k] = &n
			} else {
				list = nil
				break
			}
		}
		if len(list) == 3 {
			out, refs = append(out, Compared{At: in.Index}), append(refs, list...)
			constant = append(constant, known)
		}
	}
	bits, err := trace.Values(ctx, x.kernel, refs)
	if err != nil {
		return nil, err
	}
	for i := range out {
		c := &out[i]
		c.Holds = bits[3*i]&1 != 0
		for k, to := range [2]*float64{&c.A, &c.B} {
			if constant[i][k] != nil {
				*to = *constant[i][k]
				continue
			}
			t := trace.Step(int(refs[3*i].Step)).Instr.Type()
			*to, _ = numberOf(t, t.Bytes(), bits[3*i+1+k])
		}
	}
	return out, nil
}

// leafNumber is an integer that a walk ends at: a constant in the text or a number of the launch.
func (x *ancestry) leafNumber(l *lineage.Leaf, t ptx.Type) (float64, bool) {
	n := t.Bytes()
	if n == 0 {
		return 0, false
	}
	switch l.Kind {
	case lineage.LeafImmediate:
		return numberOf(t, n, l.Bits&(1<<(8*n-1)<<1-1))
	case lineage.LeafScalar:
		if b := x.st.launch.Args[l.Arg].Scalar; l.Element+n <= len(b) {
			return numberOf(t, n, littleEndian(b[l.Element:], n))
		}
	}
	return 0, false
}
