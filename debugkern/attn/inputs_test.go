package attn

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

var simFP8 = probes.Quantiser{Kind: "sim-fp8", Levels: 127, Zero: 128, Max: 448, EncodeLevels: 127}

// TestQuantile compares AS 241 with the distribution function it inverts.
func TestQuantile(t *testing.T) {
	for _, p := range []float64{1e-16, 1e-12, 1e-6, 0.001, 0.02425, 0.075, 0.2, 0.5, 0.7, 0.925, 0.97575, 0.9999, 1 - 1e-9} {
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
	in := normal(t, probes.Shape{B: 1, H: 8, S: 2048, D: 64}, 7)
	var sum, sq, cube, four, cross float64
	tails := [3]int{}
	x, y := in.X[0], in.X[1]
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
		{"mean", sum / n, 0, 0.005}, {"variance", sq / n, 1, 0.01}, {"skew", cube / n, 0, 0.02}, {"kurtosis", four / n, 3, 0.05},
		{"correlation of Q and K", cross / n, 0, 0.005}, {"beyond 2σ", float64(tails[0]) / n, 0.0455, 0.001},
		{"beyond 3σ", float64(tails[1]) / n, 0.0027, 0.0003}, {"beyond 4σ", float64(tails[2]) / n, 6.3e-5, 3e-5},
	} {
		if math.Abs(m.got-m.want) > m.tiny {
			t.Errorf("%s is %g, want %g ± %g", m.name, m.got, m.want, m.tiny)
		}
	}
}

// TestInputsAreTheSameEverywhere pins the bits of inputs, codes and scales: they may not depend on the platform.
func TestInputsAreTheSameEverywhere(t *testing.T) {
	in := normal(t, probes.Shape{B: 2, H: 2, S: 17, D: 64}, 42)
	quantise(t, in, &simFP8)
	h := sha256.New()
	for i := range in.X {
		for _, v := range [][]float32{in.X[i], in.Scales[i]} {
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		h.Write(in.Bytes[i])
	}
	const want = "914dcd80a163b5c22d99b2f988337213b61ea7b15bc3133dab85a648e921bf09"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("digest of the inputs is %s, want %s", got, want)
	}
}

// TestQuantiserRoundTrip: decoding gives every number back to within half a step, on normal data, with all-zero heads, and
// where batches share a head's scale; a quantiser that maps by 127.5 is caught on every shape.
func TestQuantiserRoundTrip(t *testing.T) {
	bent := simFP8
	bent.EncodeLevels = 127.5
	for _, s := range []probes.Shape{{B: 1, H: 1, S: 16, D: 64}, {B: 2, H: 3, S: 17, D: 64}, {B: 1, H: 4, S: 128, D: 64}} {
		for seed := range uint64(3) {
			in := normal(t, s, seed)
			clear(in.X[1][s.At(0, s.H-1, 0, 0):s.At(0, s.H-1, s.S-1, s.D-1)])
			quantise(t, in, &simFP8)
			if f := roundTrip(t, in); f != nil {
				t.Errorf("%s seed %d: %v", s, seed, f)
			}
			quantise(t, in, &bent)
			f := roundTrip(t, in)
			if f == nil || f.Deviation <= 0.5 || f.Count == 0 || f.Index[1] >= s.H || f.Index[3] >= s.D {
				t.Errorf("%s seed %d: ×127.5 against 127 gives %v", s, seed, f)
			}
		}
	}
}

// TestAllZero: an all-zero tensor encodes to 128 everywhere with scale 1, and stays 0.
func TestAllZero(t *testing.T) {
	s := probes.Shape{B: 1, H: 2, S: 4, D: 8}
	in := &Inputs{Shape: s}
	for i := range in.X {
		in.X[i] = make([]float32, s.Elems())
	}
	in.X[2][3] = -5
	quantise(t, in, &simFP8)
	for i := range in.X {
		for k, u := range in.Bytes[i] {
			want := uint8(128)
			if i == 2 && k == 3 {
				want = 1
			}
			if u != want {
				t.Fatalf("%s code %d is %d, want %d", Tensors[i], k, u, want)
			}
		}
	}
	if in.Scales[0][0] != 1 || in.Scales[2][1] != 1 || in.Scales[2][0] != float32(5.0/448) {
		t.Errorf("scales %v", in.Scales)
	}
	if d := in.Decoded(2); math.Abs(d[3]+5) > 1e-6 || d[4] != 0 {
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
	if !op.Overflows(probes.F16, 65520) || op.Overflows(probes.F16, 65519.9) || op.Round(probes.F16, 1e9) != 0x7c00 || op.Round(probes.F16, math.NaN()) != 0x7fff {
		t.Error("overflow of f16")
	}
	if !op.Overflows(probes.F32, 0x1p128) || op.Overflows(probes.F32, math.MaxFloat32) || !op.Overflows(probes.F32, math.NaN()) {
		t.Error("overflow of f32")
	}
	if op.Round(probes.BF16, 1.00390625) != 0x3f80 || op.Round(probes.E5M2, 1e9) != 0x7c {
		t.Error("bf16 or e5m2")
	}
}

// normal, quantise and roundTrip are what nothing cancels.
func normal(t testing.TB, shape probes.Shape, seed uint64) *Inputs {
	t.Helper()
	in, err := Normal(t.Context(), shape, seed)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func quantise(t testing.TB, in *Inputs, q *probes.Quantiser) {
	t.Helper()
	if err := in.Quantise(t.Context(), q); err != nil {
		t.Fatal(err)
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

// TestInputsEndWithTheContext cancels each pass over whole tensors at its first, second and last look at the context: none goes on.
func TestInputsEndWithTheContext(t *testing.T) {
	shape := probes.Shape{B: 2, H: 2, S: 400, D: 64} // several chunks of each head
	full := normal(t, shape, 1)
	quantise(t, full, &simFP8)
	passes := map[string]func(context.Context) error{
		"Normal":    func(ctx context.Context) error { _, err := Normal(ctx, shape, 1); return err },
		"Halve":     func(ctx context.Context) error { return (&Inputs{Shape: shape, X: full.X}).Halve(ctx) },
		"Quantise":  func(ctx context.Context) error { return (&Inputs{Shape: shape, X: full.X}).Quantise(ctx, &simFP8) },
		"RoundTrip": func(ctx context.Context) error { _, err := RoundTrip(ctx, full); return err },
		"FillX": func(ctx context.Context) error {
			return (&Inputs{Shape: shape, Bytes: full.Bytes, Scales: full.Scales, Quant: full.Quant}).FillX(ctx)
		},
	}
	for name, pass := range passes {
		const plenty = 1 << 40
		whole := &dying{Context: t.Context()}
		whole.n.Store(plenty)
		if err := pass(whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		looks := plenty - whole.n.Load()
		if elems := int64(3 * shape.Elems()); looks < elems/chunk {
			t.Errorf("%s looks at the context %d times for %d elements, want at least once in %d", name, looks, elems, chunk)
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
