package op_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// trial is an operation on random operands, with the plainest evaluation there is and with right kernels.
type trial struct {
	rig
	in    []*op.Value
	exact func(in []op.Matrix, r, c int) float64
	// kernel: one way to compute it, before it is stored
	kernel func(rnd *rand.Rand, in []op.Matrix, r, c int) float64
	// moving: how many of the operands, the first ones, may be given errors
	moving int
}

// check compares the operation's numbers with the plain evaluation, and right kernels and the mirrored
// numbers with its bounds: from the operands as they are, and from operands anywhere within their errors.
func (x trial) check(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	k, ext, env := x.bind(t, nil, x.in)
	at := &op.Tile{Rows: ext[0], Cols: ext[1]}
	made := func() *op.Value {
		return &op.Value{
			M: op.NewMatrix(ext[0], ext[1]), Err: op.NewMatrix(ext[0], ext[1]), Rows: ext[0], Cols: ext[1],
			Unit: env.Unit,
		}
	}
	exact, mirror := made(), made()
	k.Exact(at, x.in, exact)
	k.Mirror(at, x.in, mirror)
	x.within(t, "mirrored", x.bounds(t, nil, x.in...), func(r, c int) float64 { return mirror.M.At(r, c) })
	x.compare(t, "exact", exact.M)
	for _, moving := range []bool{false, true} {
		if moving && x.moving == 0 {
			break
		}
		for n, v := range x.in {
			if moving && n < x.moving && !v.Missing {
				v.Err = op.NewMatrix(v.M.Rows, v.M.Cols)
				for i, a := range v.M.Data {
					v.Err.Data[i] = math.Abs(a) * rnd.Float64() * 0x1p-12
				}
			}
		}
		x.compare(t, "estimated", x.estimate(t, nil, x.in...).M)
		bounds, in := x.bounds(t, nil, x.in...), moved(rnd, x.in)
		x.within(t, "a kernel's", bounds, func(r, c int) float64 { return x.kernel(rnd, in, r, c) })
	}
	for _, v := range x.in {
		v.Err = op.Matrix{}
	}
}

// moved are the operands, each number anywhere within its error, in float32.
func moved(rnd *rand.Rand, in []*op.Value) []op.Matrix {
	var out []op.Matrix
	for _, v := range in {
		m := op.NewMatrix(v.M.Rows, v.M.Cols)
		copy(m.Data, v.M.Data)
		if v.Err.Data != nil {
			for i, x := range m.Data {
				if y := float64(float32(x + v.Err.Data[i]*(2*rnd.Float64()-1))); math.Abs(y-x) <=
					v.Err.Data[i] {
					m.Data[i] = y
				}
			}
		}
		out = append(out, m)
	}
	return out
}

func (x trial) compare(t *testing.T, what string, got op.Matrix) {
	t.Helper()
	in := moved(nil, exactly(x.in))
	for r := range got.Rows {
		for c := range got.Cols {
			want := x.exact(in, r, c)
			if g := got.At(r, c); g != want && !(math.Abs(g-want) <= 1e-13*(1+math.Abs(want))) {
				t.Fatalf("%s: %s (%d,%d) is %g, want %g", x.node.Op, what, r, c, g, want)
			}
		}
	}
}

// exactly are the operands without their errors.
func exactly(in []*op.Value) []*op.Value {
	var out []*op.Value
	for _, v := range in {
		y := *v
		y.Err = op.Matrix{}
		out = append(out, &y)
	}
	return out
}

func (x trial) within(t *testing.T, what string, bounds op.Matrix, got func(r, c int) float64) {
	t.Helper()
	in, dtype := moved(nil, exactly(x.in)), x.dtype
	if dtype == 0 {
		dtype = probes.F32
	}
	for r := range bounds.Rows {
		for c := range bounds.Cols {
			g, want := op.RoundTo(dtype, got(r, c)), x.exact(in, r, c)
			if g != want && !(math.Abs(g-want) <= bounds.At(r, c)) {
				t.Fatalf("%s: %s (%d,%d) is %.9g, more than %g from %.9g", x.node.Op, what, r, c, g,
					bounds.At(r, c), want)
			}
		}
	}
}

// random is an operand of normal numbers of a dtype.
func random(rnd *rand.Rand, d probes.DType, rows, cols int) *op.Value {
	v := tile(rows, cols)
	for i := range v.M.Data {
		v.M.Data[i] = op.RoundTo(d, rnd.NormFloat64()*math.Exp(rnd.NormFloat64()))
	}
	return v
}

// shuffledSum adds numbers up in float32, in a random order and in random groups.
func shuffledSum(rnd *rand.Rand, v []float32) float64 {
	v = append([]float32(nil), v...)
	for len(v) > 1 {
		i, j := rnd.IntN(len(v)), rnd.IntN(len(v)-1)
		if j >= i {
			j++
		}
		v[i] += v[j]
		v[j] = v[len(v)-1]
		v = v[:len(v)-1]
	}
	return float64(v[0])
}

// bindError is what does not fit together.
type bindError struct {
	node *probes.Node
	in   []op.Extent
	want string
}

func checkBindErrors(t *testing.T, all []bindError) {
	t.Helper()
	for _, x := range all {
		o, _ := op.Lookup(x.node.Op)
		env := &op.Env{
			Chip: fp.SM90(), Coefs: op.NewCoefs(nil), DType: probes.F32, Unit: 1,
			Units:  make([]float64, len(x.in)),
			Tensor: func(string) op.Tensor { return nil },
		}
		for i := range env.Units {
			env.Units[i] = 1
		}
		if _, _, err := o.Bind(x.node, x.in, env); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s of %v: %v, want %q", x.node.Op, x.in, err, x.want)
		}
	}
}

// checkNeeds compares what a cell of the result is made of, by operand.
func checkNeeds(t *testing.T, g rig, in []*op.Value, want ...op.Need) {
	t.Helper()
	k, _, _ := g.bind(t, nil, in)
	for i, n := range want {
		if got := k.Needs(i); got != n {
			t.Errorf("%s needs %d of operand %d, want %d", g.node.Op, got, i, n)
		}
	}
}

// checkReads asks whether a cell beyond the valid ones has a part in the result.
func checkReads(t *testing.T, g rig, in []*op.Value, out *op.Value, operand, r, c int, odd, want bool) {
	t.Helper()
	k, ext, _ := g.bind(t, nil, in)
	if got := k.Reads(&op.Tile{Rows: ext[0], Cols: ext[1]}, in, out, operand, r, c, odd); got != want {
		t.Errorf("%s reads (%d,%d) of operand %d (odd %v): %v", g.node.Op, r, c, operand, odd, got)
	}
}
