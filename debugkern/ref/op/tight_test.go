package op_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// witness is a right kernel's worst case of one term: run returns the error that real arithmetic attains
// there, and the bound of the same cell with the terms weighted by w.
type witness struct {
	term op.Term
	name string
	run  func(t *testing.T, w ref.Weights) (attained, bound float64)
}

// unattained are the terms that no right kernel attains a quarter of, and why. Their values are checked by
// errors just above the bound: TestUnattainedTerms.
var unattained = map[op.Term]string{
	op.TermReference: "float64 roundings of the reference are below 2^-40 of a bound of float32 roundings; 2^-16 also covers their growth over long chains",
}

// share is what a term adds to the bound of a witness, with the term times factor.
func (x witness) share(t *testing.T, factor float64) float64 {
	_, with := x.run(t, only(x.term, factor))
	_, without := x.run(t, only(x.term, 0))
	return with - without
}

// only weighs one term by factor and leaves the others.
func only(x op.Term, factor float64) ref.Weights {
	w := &[op.NumTerms]float64{}
	for i := range w {
		w[i] = 1
	}
	w[x] = factor
	return w
}

// tight reports whether a right kernel attains a quarter of the term times factor.
func (x witness) tight(t *testing.T, factor float64) bool {
	attained, _ := x.run(t, nil)
	return attained >= x.share(t, factor)/4
}

// TestEveryBoundTermIsTight checks for every term of every bound that a right kernel stays under the bound
// and attains at least a quarter of the term, and that with the term times 4 it attains less than a
// quarter: a bound that is too loose by that fails here.
func TestEveryBoundTermIsTight(t *testing.T) {
	seen := map[op.Term]bool{}
	for _, x := range append(localWitnesses(), globalWitnesses()...) {
		t.Run(x.term.String()+"/"+x.name, func(t *testing.T) {
			attained, bound := x.run(t, nil)
			share := x.share(t, 1)
			t.Logf("attained %.4g, %.2f of the term's %.4g; the whole bound is %.4g", attained,
				attained/share, share, bound)
			if !(attained <= bound) {
				t.Errorf("a right kernel is off by %g, the bound is %g", attained, bound)
			}
			if !x.tight(t, 1) {
				t.Errorf("a right kernel attains %g, less than a quarter of the term's %g", attained, share)
			}
			if x.tight(t, 4) {
				t.Errorf("with the term times 4 the attained %g is still a quarter of its %g: this witness shows nothing",
					attained, x.share(t, 4))
			}
		})
		seen[x.term] = true
	}
	for x := range op.NumTerms {
		if why := unattained[x]; seen[x] == (why != "") {
			t.Errorf("term %s: %v witness, %q", x, seen[x], why)
		}
	}
}

// TestUnattainedTerms checks the terms without a witness from above: an error just beyond the bound is
// caught, and would not be with the term times 4.
func TestUnattainedTerms(t *testing.T) {
	for x := range unattained {
		r := op.Rounding{Coefs: op.NewCoefs(nil), DType: probes.F32}
		loose := op.Rounding{Coefs: op.NewCoefs(only(x, 4)), DType: probes.F32}
		value, pre := 1.25, 1e-4
		bound := r.Bound(value, pre)
		if want := (pre + 0x1p-24) * (1 + 0x1p-16); math.Abs(bound-want) > 1e-18 {
			t.Errorf("%s: bound %g, want %g", x, bound, want)
		}
		if off := bound * (1 + 0x1p-17); off > loose.Bound(value, pre) {
			t.Errorf("%s: an error of %g is above the bound with the term times 4", x, off)
		}
	}
}

// rig is one operation with what it is computed in.
type rig struct {
	node    *probes.Node
	c       probes.Compute
	dtype   probes.DType   // F32 where it is not stated
	unit    float64        // of the result; 0 means 1
	dtypes  []probes.DType // of the operands; nil: not stated
	tensor  op.Tensor
	tensors map[string]op.Tensor // by name
}

// input is an input by name; the only one has any name.
func (g rig) input(name string) op.Tensor {
	if t, ok := g.tensors[name]; ok {
		return t
	}
	return g.tensor
}

// bind returns the operation's kernel for operands of these values, and the extent of its result.
func (g rig) bind(t testing.TB, w ref.Weights, in []*op.Value) (op.Kernel, op.Extent, *op.Env) {
	t.Helper()
	env := &op.Env{Chip: fp.SM90(), Coefs: op.NewCoefs(w), Compute: g.c, DType: g.dtype, Unit: g.unit,
		DTypes: g.dtypes, Tensor: g.input}
	if env.DType == 0 {
		env.DType = probes.F32
	}
	if env.Unit == 0 {
		env.Unit = 1
	}
	var exts []op.Extent
	for _, v := range in {
		exts = append(exts, op.Extent{v.M.Rows, v.M.Cols})
		env.Units = append(env.Units, v.Unit)
	}
	o, ok := op.Lookup(g.node.Op)
	if !ok {
		t.Fatalf("no operator %s", g.node.Op)
	}
	k, ext, err := o.Bind(g.node, exts, env)
	if err != nil {
		t.Fatal(err)
	}
	return k, ext, env
}

// estimate computes the operation on operands; the error is that before the last rounding.
func (g rig) estimate(t testing.TB, w ref.Weights, in ...*op.Value) *op.Value {
	t.Helper()
	k, ext, env := g.bind(t, w, in)
	out := &op.Value{
		M: op.NewMatrix(ext[0], ext[1]), Err: op.NewMatrix(ext[0], ext[1]), Rows: ext[0], Cols: ext[1],
		Unit: env.Unit,
	}
	k.Estimate(&op.Tile{Rows: ext[0], Cols: ext[1]}, in, out)
	return out
}

// bounds are the errors that a right kernel is allowed after the last rounding.
func (g rig) bounds(t testing.TB, w ref.Weights, in ...*op.Value) op.Matrix {
	t.Helper()
	out := g.estimate(t, w, in...)
	_, _, env := g.bind(t, w, in)
	r := op.Rounding{
		Coefs: env.Coefs, DType: env.DType, Exact: out.Exact, Power: out.Power, Certain: out.Certain,
	}
	bound := op.NewMatrix(out.M.Rows, out.M.Cols)
	r.Close(out, op.NewMatrix(out.M.Rows, out.M.Cols), bound, out.M.Rows, out.M.Cols)
	return bound
}

// bound is that of the first cell.
func (g rig) bound(t testing.TB, w ref.Weights, in ...*op.Value) float64 {
	t.Helper()
	return g.bounds(t, w, in...).Data[0]
}

// tile is an operand of given numbers, without error.
func tile(rows, cols int, v ...float64) *op.Value {
	m := op.NewMatrix(rows, cols)
	copy(m.Data, v)
	return &op.Value{M: m, Rows: rows, Cols: cols, Unit: 1}
}

// off gives an operand's cells an error.
func off(v *op.Value, err float64) *op.Value {
	v.Err = op.NewMatrix(v.M.Rows, v.M.Cols)
	for i := range v.Err.Data {
		v.Err.Data[i] = err
	}
	return v
}

// inUnit gives an operand a unit.
func inUnit(v *op.Value, unit float64) *op.Value {
	v.Unit = unit
	return v
}

// node is an operation on n stages.
func node(name string, n int, words ...string) *probes.Node {
	out := &probes.Node{
		Op: name, Params: probes.Params{
			Number: map[string]float64{}, Word: map[string]string{}, Index: map[string][]probes.Extent{},
		},
	}
	for i := range n {
		out.Args = append(out.Args, probes.Operand{Stage: probes.Stage("abcdef"[i : i+1])})
	}
	for i := 0; i+1 < len(words); i += 2 {
		out.Params.Word[words[i]] = words[i+1]
	}
	return out
}

// scaled is an operation with a constant factor.
func scaled(n *probes.Node, scale float64) *probes.Node {
	n.Params.Number["scale"] = scale
	return n
}

// dots is A·Bᵀ times a scale.
func dots(scale float64) *probes.Node { return scaled(node("matmul", 2, "transpose", "right"), scale) }

// onto adds an operation up from iteration to iteration, rescaled by a column or not.
func onto(inner *probes.Node, by bool) *probes.Node {
	n := &probes.Node{Op: "accumulate", Args: []probes.Operand{{Node: inner}, {Stage: "x", Before: true}}}
	if by {
		n.Args = append(n.Args, probes.Operand{Stage: "m", Before: true}, probes.Operand{Stage: "m"})
	}
	return n
}

var (
	tensor32 = probes.Compute{Unit: probes.UnitTensor, Acc: probes.F32, Block: 16, Split: 1}
	tensor16 = probes.Compute{Unit: probes.UnitTensor, Acc: probes.F16, Block: 16, Split: 1}
	fma32    = probes.Compute{Unit: probes.UnitFMA, Acc: probes.F32, Split: 1}
)

// pair is the two operands of a sum of n products: a first pair, then pairs of one kind.
func pair(n int, first, a, b float64) (x, y []float64) {
	x, y = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = a, b
	}
	x[0], y[0] = first, first
	return x, y
}

// dot is the exact sum of products.
func dot(x, y []float64) float64 {
	s := 0.0
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// tensorDot is the tensor core's chain over blocks of 16, onto acc.
func tensorDot(form fp.MMA, x, y []float64, acc float64) float64 {
	bits := func(v []float64) []uint16 {
		out := make([]uint16, len(v))
		for i, f := range v {
			out[i] = uint16(op.Round(probes.F16, f))
		}
		return out
	}
	wide := func(c uint32) float64 { return fp.F32ToFloat64(c) }
	c := uint32(op.Round(probes.F32, acc))
	if form.C == fp.F16 {
		c = uint32(op.Round(probes.F16, acc))
		wide = func(c uint32) float64 { return fp.F16ToFloat64(uint16(c)) }
	}
	for lo := 0; lo < len(x); lo += 16 {
		hi := min(len(x), lo+16)
		c = fp.SM90().Dot(form, bits(x[lo:hi]), bits(y[lo:hi]), c)
	}
	return wide(c)
}

// fmaDot is a chain of fused multiply-adds in float32, onto acc.
func fmaDot(x, y []float64, acc float64) float64 {
	c := fp.Bits32(float32(acc))
	for i, v := range x {
		c = fp.Fma32(fp.Bits32(float32(v)), fp.Bits32(float32(y[i])), c)
	}
	return fp.F32ToFloat64(c)
}

// worstEx2 is an argument at which ex2.approx is off by 0.6 of its 2^-22, the most between 0 and −1 on the
// chip that fp models.
const worstEx2 = -0x1.f60018p-01

func ex2(x float64) float64 {
	return fp.F32ToFloat64(fp.SM90().Ex232(fp.Bits32(float32(x)), false))
}

// worstOf searches n random cases for the largest error, and returns what f gives for that case too.
func worstOf[T any](n int, f func(rnd *rand.Rand) (err float64, at T)) (worst float64, at T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range n {
		if e, x := f(rnd); e > worst {
			worst, at = e, x
		}
	}
	return worst, at
}

// worstLog searches the number near 1 whose logarithm f is off the most where it is lg2.approx times unit.
func worstLog(f func(x float64) float64, unit float64) (worst, at float64) {
	return worstOf(200000, func(rnd *rand.Rand) (float64, float64) {
		x := float32(0.75 + 0.5*rnd.Float64())
		got := fp.F32ToFloat64(fp.SM90().Lg232(fp.Bits32(x), false)) * unit
		return math.Abs(got - f(float64(x))), float64(x)
	})
}
