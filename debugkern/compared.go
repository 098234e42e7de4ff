package debugkern

import (
	"context"
	mathbits "math/bits"
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
	walk := x.slicing(trace, kv)
	for i, c := range cells {
		at, err := x.at(trace, c[0], c[1])
		if err != nil {
			continue
		}
		g, err := walk(ctx, at)
		if err != nil {
			return nil, err
		}
		if out[i], err = x.comparisons(ctx, trace, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ThreadCompared lists the comparisons of integers that the thread which makes a cell of a stage executes
// until it does, whether the cell depends on them or not: each instruction as often as it is executed, the
// last first, mostThreadCompared at most. Errors are those of Lineage.
func (r *Run) ThreadCompared(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cell [2]int,
) ([]Compared, error) {
	x, trace, kv, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	at, err := x.at(trace, cell[0], cell[1])
	if err != nil {
		return nil, err
	}
	g, err := x.slicing(trace, kv)(ctx, at)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(g.Nodes, func(r lineage.Ref) bool { // a probe's copy is another thread's
		s := trace.Step(int(r.Step))
		return s.Func.Entry && !s.Instr.Loc.Within(target.IsProbe)
	})
	if own < 0 {
		return nil, nil
	}
	f := comparing{x: x, trace: trace}
	made := g.Nodes[own]
	warp, lane := trace.Step(int(made.Step)).Warp, int(made.Lane)
	for i := int(made.Step); i >= 0 && len(f.out) < mostThreadCompared; i-- {
		s := trace.Step(i)
		in := s.Instr
		if s.Warp != warp || s.Mask>>lane&1 == 0 || !s.Func.Entry || in.Kind() != isa.Compare ||
			in.Type().Float() || in.Loc.Within(target.IsProbe) {
			continue
		}
		f.add(lineage.Ref{Step: uint32(i), Lane: uint8(lane), N: 1})
	}
	return f.numbers(ctx)
}

// mostThreadCompared bounds the executed comparisons of one thread.
const mostThreadCompared = 4096

// FirstCompared is what each warp of a block compared first by some instructions of the entry, which compare
// integers: the numbers of its lowest lane, by warp. Errors are those of Lineage.
func (r *Run) FirstCompared(ctx context.Context, block probes.Dim3, at []int) (map[int]Compared, error) {
	x, trace, err := r.recorded(ctx, block)
	if err != nil {
		return nil, err
	}
	f := comparing{x: x, trace: trace}
	seen := map[int]bool{}
	var warps []int
	for i := range trace.Len() {
		s := trace.Step(i)
		if seen[s.Warp] || s.Mask == 0 || !s.Func.Entry || !slices.Contains(at, s.Instr.Index) {
			continue
		}
		if f.add(lineage.Ref{Step: uint32(i), Lane: uint8(mathbits.TrailingZeros32(s.Mask)), N: 1}) {
			seen[s.Warp] = true
			warps = append(warps, s.Warp)
		}
	}
	list, err := f.numbers(ctx)
	if err != nil {
		return nil, err
	}
	out := map[int]Compared{}
	for i, w := range warps {
		out[w] = list[i]
	}
	return out, nil
}

// comparisons lists those of a cell's lineage.
func (x *ancestry) comparisons(
	ctx context.Context, trace *lineage.Trace, g *lineage.Graph,
) ([]Compared, error) {
	f := comparing{x: x, trace: trace}
	seen := map[int]bool{}
	for _, v := range g.Nodes {
		step := trace.Step(int(v.Step))
		in := step.Instr
		if seen[in.Index] || !step.Func.Entry || in.Kind() != isa.Compare || in.Type().Float() ||
			in.Loc.Within(target.IsProbe) {
			continue
		}
		seen[in.Index] = f.add(v)
	}
	return f.numbers(ctx)
}

// comparing collects executed comparisons.
type comparing struct {
	x     *ancestry
	trace *lineage.Trace
	out   []Compared
	refs  []lineage.Ref // three for each: the outcome and the two numbers
	known [][2]*float64 // numbers that are in no register
}

// add notes a comparison; false where what it compares is not known.
func (f *comparing) add(v lineage.Ref) bool {
	in := f.trace.Step(int(v.Step)).Instr
	uses := slices.DeleteFunc(f.trace.Uses(v, false, false), func(u lineage.Use) bool {
		return u.Kind != lineage.ByValue || u.Operand < 1 || u.Operand > 2
	})
	if len(uses) != 2 || uses[0].Operand == uses[1].Operand {
		return false
	}
	refs, known := []lineage.Ref{v}, [2]*float64{}
	for k, u := range uses {
		if u.Leaf == nil {
			refs = append(refs, u.Ref)
			continue
		}
		n, ok := f.x.leafNumber(u.Leaf, in.Type())
		if !ok {
			return false
		}
		refs, known[k] = append(refs, v), &n // v is not used
	}
	f.out, f.refs = append(f.out, Compared{At: in.Index}), append(f.refs, refs...)
	f.known = append(f.known, known)
	return true
}

// numbers finds what was compared, and with which outcome.
func (f *comparing) numbers(ctx context.Context) ([]Compared, error) {
	bits, err := f.trace.Values(ctx, f.x.kernel, f.refs)
	if err != nil {
		return nil, err
	}
	for i := range f.out {
		c := &f.out[i]
		c.Holds = bits[3*i]&1 != 0
		for k, to := range [2]*float64{&c.A, &c.B} {
			if f.known[i][k] != nil {
				*to = *f.known[i][k]
				continue
			}
			t := f.trace.Step(int(f.refs[3*i].Step)).Instr.Type()
			*to, _ = numberOf(t, t.Bytes(), bits[3*i+1+k])
		}
	}
	return f.out, nil
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
