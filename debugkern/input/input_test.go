package input

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

var simFP8 = probes.Quantiser{Kind: "sim-fp8", Levels: 127, Zero: 128, Max: 448, EncodeLevels: 127, Along: 1}

// TestQuantile compares AS 241 with the distribution function it inverts.
func TestQuantile(t *testing.T) {
	for _, p := range []float64{
		1e-16, 1e-12, 1e-6, 0.001, 0.02425, 0.075, 0.2, 0.5, 0.7, 0.925, 0.97575, 0.9999, 1 - 1e-9,
	} {
		x := quantile(p)
		if back := 0.5 * math.Erfc(-x/math.Sqrt2); math.Abs(back-p) > 2e-14*p+1e-16 {
			t.Errorf("Φ(quantile(%g)) = %g", p, back)
		}
	}
	for _, x := range []float64{1e-300, 1e-17, 0.1, 0.5, 1 / math.Sqrt2, 0.99, 1, 1.5, 7, 1e40} {
		if got, want := naturalLog(x), math.Log(x); math.Abs(got-want) > 4e-16*math.Abs(want) {
			t.Errorf("ln %g = %.17g, want %.17g", x, got, want)
		}
	}
}

// TestNormal checks the moments and tails of a million numbers, and that the three tensors are unrelated.
func TestNormal(t *testing.T) {
	in := normal(t, probes.Listed(1, 8, 2048, 64), 7)
	var sum, sq, cube, four, cross float64
	tails := [3]int{}
	x, y := in.Tensors[0].X, in.Tensors[1].X
	for i, v := range x {
		f := float64(v)
		sum, sq, cube, four, cross = sum+f, sq+f*f, cube+f*f*f, four+f*f*f*f, cross+f*float64(y[i])
		for k := range tails {
			if math.Abs(f) > float64(k+2) {
				tails[k]++
			}
		}
	}
	n := float64(len(x))
	for _, m := range []struct {
		name            string
		got, want, tiny float64
	}{
		{"mean", sum / n, 0, 0.005}, {"variance", sq / n, 1, 0.01}, {"skew", cube / n, 0, 0.02},
		{"kurtosis", four / n, 3, 0.05}, {"correlation of Q and K", cross / n, 0, 0.005},
		{"beyond 2σ", float64(tails[0]) / n, 0.0455, 0.001},
		{"beyond 3σ", float64(tails[1]) / n, 0.0027, 0.0003},
		{"beyond 4σ", float64(tails[2]) / n, 6.3e-5, 3e-5},
	} {
		if math.Abs(m.got-m.want) > m.tiny {
			t.Errorf("%s is %g, want %g ± %g", m.name, m.got, m.want, m.tiny)
		}
	}
}

// TestInputsAreTheSameEverywhere pins the bits of inputs, codes and scales: they may not
// depend on the platform.
func TestInputsAreTheSameEverywhere(t *testing.T) {
	in := normal(t, probes.Listed(2, 2, 17, 64), 42)
	quantise(t, in, &simFP8)
	h := sha256.New()
	for _, x := range in.Tensors {
		for _, v := range [][]float32{x.X, x.Scales} {
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		h.Write(x.Codes)
	}
	const want = "914dcd80a163b5c22d99b2f988337213b61ea7b15bc3133dab85a648e921bf09"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("digest of the inputs is %s, want %s", got, want)
	}
}

// TestQuantiserRoundTrip: decoding gives every number back to within half a step, on normal data,
// with all-zero heads, and where batches share a head's scale; a quantiser that maps by 127.5 is
// caught on every shape.
func TestQuantiserRoundTrip(t *testing.T) {
	bent := simFP8
	bent.EncodeLevels = 127.5
	for _, s := range []probes.Shape{
		probes.Listed(1, 1, 16, 64), probes.Listed(2, 3, 17, 64), probes.Listed(1, 4, 128, 64),
	} {
		for seed := range uint64(3) {
			in := normal(t, s, seed)
			run := in.Tensors[1].Dims[2] * in.Tensors[1].Dims[3]
			last := in.Tensors[1].Dims[1] - 1
			clear(in.Tensors[1].X[last*run : (last+1)*run-1])
			quantise(t, in, &simFP8)
			if f := roundTrip(t, in); f != nil {
				t.Errorf("%s seed %d: %v", s, seed, f)
			}
			quantise(t, in, &bent)
			f := roundTrip(t, in)
			if f == nil || f.Deviation <= 0.5 || f.Count == 0 || f.Index[1] >= s[1].N ||
				f.Index[3] >= s[3].N {
				t.Errorf("%s seed %d: ×127.5 against 127 gives %v", s, seed, f)
			}
		}
	}
}

// TestAllZero: an all-zero tensor encodes to 128 everywhere with scale 1, and stays 0.
func TestAllZero(t *testing.T) {
	in := Empty(plan(probes.Listed(1, 2, 4, 8)))
	for _, x := range in.Tensors {
		x.X = make([]float32, x.Elems())
	}
	in.Tensors[2].X[3] = -5
	quantise(t, in, &simFP8)
	for i, x := range in.Tensors {
		for k, u := range x.Codes {
			want := uint8(128)
			if i == 2 && k == 3 {
				want = 1
			}
			if u != want {
				t.Fatalf("%s code %d is %d, want %d", x.Name, k, u, want)
			}
		}
	}
	if v := in.Tensors[2].Scales; in.Tensors[0].Scales[0] != 1 || v[1] != 1 || v[0] != float32(5.0/448) {
		t.Errorf("scales %v", v)
	}
	if d := in.Tensors[2].Decoded(); math.Abs(d[3]+5) > 1e-6 || d[4] != 0 {
		t.Errorf("decoded %v", d[:5])
	}
}

// TestRound compares the one-step rounding with neighbours of every half, and with float32 conversion.
func TestRound(t *testing.T) {
	for b := range uint64(0x7c00) {
		v := op.HalfValue(uint16(b))
		if want := probes.F16.Value(b); v != want {
			t.Fatalf("half %04x is %g, want %g", b, v, want)
		}
		next := op.HalfValue(uint16(b + 1))
		if b+1 == 0x7c00 {
			next = 65536
		}
		mid, up := (v+next)/2, b+1
		for _, x := range []struct {
			x    float64
			want uint64
		}{{v, b}, {math.Nextafter(mid, 0), b}, {mid, b + b&1}, {math.Nextafter(mid, 1e9), up}} {
			if got := op.Round(probes.F16, x.x); got != x.want {
				t.Fatalf("op.Round(%g) = %04x, want %04x", x.x, got, x.want)
			}
			if got := op.Round(probes.F16, -x.x); got != x.want|0x8000 {
				t.Fatalf("op.Round(%g) = %04x, want %04x", -x.x, got, x.want|0x8000)
			}
		}
		if h := op.HalfULP(probes.F16, v); h != (next-v)/2 {
			t.Fatalf("half an ulp at %g is %g, want %g", v, h, (next-v)/2)
		}
	}
	if !op.Overflows(probes.F16, 65520) || op.Overflows(probes.F16, 65519.9) ||
		op.Round(probes.F16, 1e9) != 0x7c00 || op.Round(probes.F16, math.NaN()) != 0x7fff {
		t.Error("overflow of f16")
	}
	if !op.Overflows(probes.F32, 0x1p128) || op.Overflows(probes.F32, math.MaxFloat32) ||
		!op.Overflows(probes.F32, math.NaN()) {
		t.Error("overflow of f32")
	}
	if op.Round(probes.BF16, 1.00390625) != 0x3f80 || op.Round(probes.E5M2, 1e9) != 0x7c {
		t.Error("bf16 or e5m2")
	}
}

// plan is of a launch that reads three coded tensors [B,H,S,D].
func plan(shape probes.Shape) *probes.Plan {
	p := &probes.Plan{Shape: shape, Quant: &simFP8}
	for i, name := range []string{"Q", "K", "V"} {
		p.Args = append(p.Args, probes.Arg{
			Name: name, DType: probes.U8, Pointer: true, Role: probes.RoleInput, Tensor: name,
		})
		p.Inputs = append(p.Inputs, probes.Input{
			Name: name, Arg: i, Dims: shape.Extents(), Coded: true, Scales: -1,
		})
	}
	return p
}

// normal, quantise and roundTrip are what nothing cancels.
func normal(t testing.TB, shape probes.Shape, seed uint64) *Inputs {
	t.Helper()
	in, err := New(t.Context(), plan(shape), seed)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func quantise(t testing.TB, in *Inputs, q *probes.Quantiser) {
	t.Helper()
	for _, x := range in.Tensors {
		x.Quant = q
		if err := x.Encode(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func roundTrip(t testing.TB, in *Inputs) *RoundTripFault {
	t.Helper()
	f, err := RoundTrip(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// dying is a context that ends when it is looked at for the n-th time.
type dying struct {
	context.Context
	n atomic.Int64
}

func (d *dying) Err() error {
	if d.n.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestInputsEndWithTheContext cancels each pass over whole tensors at its first, second and last look at the
// context: none goes on.
func TestInputsEndWithTheContext(t *testing.T) {
	shape := probes.Listed(2, 2, 400, 64) // several chunks of each head
	full := normal(t, shape, 1)
	each := func(
		prepare func(x *Tensor), do func(*Tensor, context.Context) error,
	) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, x := range full.Tensors {
				c := *x
				prepare(&c)
				if err := do(&c, ctx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	passes := map[string]func(context.Context) error{
		"generate": each(func(x *Tensor) { x.X = nil }, func(x *Tensor, ctx context.Context) error {
			return x.generate(ctx, 1)
		}),
		"halves":    each(func(x *Tensor) { x.Coded, x.DType = false, probes.F16 }, (*Tensor).Encode),
		"codes":     each(func(x *Tensor) { x.Codes = nil }, (*Tensor).Encode),
		"RoundTrip": func(ctx context.Context) error { _, err := RoundTrip(ctx, full); return err },
		"FillX":     each(func(x *Tensor) { x.X = nil }, (*Tensor).FillX),
	}
	for name, pass := range passes {
		const plenty = 1 << 40
		whole := &dying{Context: t.Context()}
		whole.n.Store(plenty)
		if err := pass(whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		looks := plenty - whole.n.Load()
		if elems := int64(3 * full.Tensors[0].Elems()); looks < elems/chunk {
			t.Errorf("%s looks at the context %d times for %d elements, want at least once in %d", name,
				looks, elems, chunk)
		}
		for _, n := range []int64{0, 1, looks - 1} {
			ctx := &dying{Context: t.Context()}
			ctx.n.Store(n)
			if err := pass(ctx); err != context.Canceled {
				t.Errorf("%s cancelled at look %d of %d: %v", name, n, looks, err)
			}
		}
	}
}

// TestTypes: a tensor of each type is given to the kernel in its own bits, and decodes to them.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		t    probes.DType
		fill probes.FillKind
		size int
	}{
		{probes.F64, probes.FillRandn, 8}, {probes.F32, probes.FillRandn, 4},
		{probes.BF16, probes.FillRandn, 2}, {probes.E4M3, probes.FillRandn, 1},
		{probes.E5M2, probes.FillRandn, 1}, {probes.I16, probes.FillIota, 2},
	} {
		p := &probes.Plan{
			Args: []probes.Arg{{Name: "x", DType: c.t}},
			Inputs: []probes.Input{
				{Name: "X", Dims: []int{300}, Scales: -1, Fill: probes.Fill{Kind: c.fill}},
			},
		}
		in, err := New(t.Context(), p, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Fits(p); err != nil {
			t.Error(err)
		}
		x := in.Tensors[0]
		bytes, decoded := x.Bytes(), x.Decoded()
		if len(bytes) != 300*c.size {
			t.Errorf("%s: %d bytes", c.t, len(bytes))
			continue
		}
		distinct := map[float64]bool{}
		for i, v := range decoded {
			var word [8]byte
			copy(word[:], bytes[i*c.size:(i+1)*c.size])
			bits := binary.LittleEndian.Uint64(word[:])
			if want := c.t.Value(bits); c.t.Float() && want != v || !c.t.Float() && float64(bits) != v {
				t.Fatalf("%s: element %d is %v, its bits are %#x", c.t, i, v, bits)
			}
			distinct[v] = true
		}
		if len(distinct) < 40 {
			t.Errorf("%s: %d values", c.t, len(distinct))
		}
	}
}

// TestFills: each fill gives what it says, in every type it goes with, and integers wrap to their type.
func TestFills(t *testing.T) {
	make1 := func(d probes.DType, f probes.Fill) *Tensor {
		p := &probes.Plan{
			Args: []probes.Arg{{Name: "x", DType: d, Pointer: true, Role: probes.RoleInput, Tensor: "x"}},
		}
		p.Inputs = []probes.Input{{Name: "x", Dims: []int{1000}, Fill: f, Scales: -1}}
		in, err := New(t.Context(), p, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(in.Tensors[0].Bytes()) != 1000*d.Size() {
			t.Fatalf("%s: %d bytes", d, len(in.Tensors[0].Bytes()))
		}
		return in.Tensors[0]
	}
	for _, d := range []probes.DType{
		probes.F16, probes.BF16, probes.F32, probes.I8, probes.U8, probes.U16, probes.I32, probes.U32,
		probes.I64, probes.U64,
	} {
		for i, v := range make1(d, probes.Fill{Kind: probes.FillIota}).Decoded() {
			want := float64(i)
			switch {
			case d.Float():
				want = d.Value(op.Round(d, float64(i)))
			case d.Size() == 1:
				want = d.Value(uint64(i) & 0xff)
			}
			if v != want {
				t.Fatalf("iota of %s: element %d is %g, want %g", d, i, v, want)
			}
		}
		low, high := false, false
		for i, v := range make1(d, probes.Fill{Kind: probes.FillRandInt, Lo: 2, Hi: 9}).Decoded() {
			if v < 2 || v > 9 || v != math.Trunc(v) {
				t.Fatalf("randint(2, 9) of %s: element %d is %g", d, i, v)
			}
			low, high = low || v == 2, high || v == 9
		}
		if !low || !high {
			t.Errorf("randint(2, 9) of %s never is one of its ends", d)
		}
		if v := make1(d, probes.Fill{Kind: probes.FillOnes}).Decoded(); v[0] != 1 || v[999] != 1 {
			t.Errorf("ones of %s: %v", d, v[:3])
		}
		if v := make1(d, probes.Fill{Kind: probes.FillZeros}).Decoded(); v[0] != 0 || v[999] != 0 {
			t.Errorf("zeros of %s: %v", d, v[:3])
		}
	}
	sum := 0.0
	for i, v := range make1(probes.F32, probes.Fill{Kind: probes.FillRand}).Decoded() {
		if sum += v; v < 0 || v >= 1 {
			t.Fatalf("rand: element %d is %g", i, v)
		}
	}
	if mean := sum / 1000; math.Abs(mean-0.5) > 0.05 {
		t.Errorf("rand: the mean is %g", mean)
	}
}
