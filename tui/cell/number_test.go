package cell

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// TestRoundIsTheHardwares holds the rounding of references against package fp: every f16 and bf16 value, the
// points halfway between neighbours and just beside them, and random numbers.
func TestRoundIsTheHardwares(t *testing.T) {
	oracle := map[probes.DType]func(float32) uint64{
		probes.F16:  func(x float32) uint64 { return uint64(fp.F32ToF16(math.Float32bits(x))) },
		probes.BF16: func(x float32) uint64 { return uint64(fp.F32ToBF16(math.Float32bits(x))) },
	}
	for dt, want := range oracle {
		check := func(x float32) {
			t.Helper()
			if got := Round(dt, float64(x)); got != want(x) && !math.IsNaN(float64(x)) {
				t.Fatalf("%s: %g rounds to %#x, the hardware to %#x", dt, x, got, want(x))
			}
		}
		for bits := range uint64(0xffff) {
			a, b := dt.Value(bits), dt.Value(bits+1)
			if math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
				continue
			}
			mid := float32((a + b) / 2)
			check(float32(a))
			check(mid)
			check(math.Nextafter32(mid, float32(b)))
			check(math.Nextafter32(mid, float32(a)))
		}
		rng := rand.New(rand.NewPCG(7, 7))
		for range 100000 {
			check(math.Float32frombits(rng.Uint32()))
		}
	}
}

func TestRoundOfEveryValueIsItself(t *testing.T) {
	for _, dt := range []probes.DType{
		probes.F16, probes.BF16, probes.E4M3, probes.E5M2, probes.U8, probes.I8,
	} {
		for bits := range uint64(1) << (8 * dt.Size()) {
			v := dt.Value(bits)
			if got := Round(dt, v); got != bits && !math.IsNaN(v) {
				t.Fatalf("%s: %#x is %g, which rounds to %#x", dt, bits, v, got)
			}
		}
	}
}

func TestOrdinalCountsValues(t *testing.T) {
	for _, dt := range []probes.DType{probes.F16, probes.BF16, probes.F32, probes.E5M2} {
		one, next := Round(dt, 1), Round(dt, 1)+1
		if d := Ordinal(dt, next) - Ordinal(dt, one); d != 1 {
			t.Errorf("%s: neighbours of 1 are %d apart", dt, d)
		}
		if a, b := Ordinal(dt, Round(dt, math.Copysign(0, -1))), Ordinal(dt, 0); a != b {
			t.Errorf("%s: the zeros are at %d and %d", dt, a, b)
		}
		if d := Ordinal(dt, 1) - Ordinal(dt, 1|1<<(8*dt.Size()-1)); d != 2 {
			t.Errorf("%s: the smallest values of both signs are %d apart", dt, d)
		}
	}
}

// TestFixedTextFitsAndReadsBack writes numbers of every size into few columns: never wider, and what can be
// read back is as close as that many columns allow.
func TestFixedTextFitsAndReadsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200000 {
		v := math.Ldexp(rng.Float64()*2-1, rng.IntN(90)-45)
		w := 4 + rng.IntN(6)
		s := FixedText(v, w)
		if utf8.RuneCountInString(s) > w {
			t.Fatalf("%g in %d columns is %q", v, w, s)
		}
		if strings.HasSuffix(s, "++") {
			if math.Abs(v) < 1e8 {
				t.Fatalf("%g in %d columns is given up on: %q", v, w, s)
			}
			continue
		}
		unit := 1.0
		if i := strings.IndexAny(s, "kMGTmunpfa"); i >= 0 {
			unit = map[byte]float64{'m': 1e-3, 'u': 1e-6, 'n': 1e-9, 'p': 1e-12, 'f': 1e-15, 'a': 1e-18,
				'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}[s[i]]
			s = s[:i]
		}
		back, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("%g in %d columns is %q, not a number", v, w, s)
		}
		if back *= unit; math.Abs(back-v) > math.Max(0.51*math.Abs(v), 0.51*math.Pow(10, float64(2-w))) {
			t.Fatalf("%g in %d columns reads back as %g", v, w, back)
		}
	}
}

func TestTexts(t *testing.T) {
	fixed := []struct {
		v    float64
		w    int
		want string
	}{
		{1.2, 4, "1.20"}, {-0.41, 4, "-.41"}, {0.03, 4, ".03"}, {3.09, 4, "3.09"}, {-1.314, 4, "-1.3"},
		{12.34, 4, "12.3"}, {1234, 4, "1234"}, {12345, 4, "12k"}, {-12345, 4, "-12k"}, {0, 4, "0"},
		{math.Copysign(0, -1), 4, "-0"}, {math.NaN(), 4, "NaN"}, {math.Inf(-1), 4, "-Inf"}, {3e-5, 4, "30u"},
		{-0.003, 4, "-3m"}, {-0.0049, 4, "-5m"}, {-4.5e-5, 4, "-45u"}, {-3e-12, 4, "-3p"}, {3e-12, 4, "3p"},
		{-1e-40, 4, "-~0"}, {1.3125, 6, "1.3125"}, {999.96, 4, "1000"},
	}
	for _, tt := range fixed {
		if got := FixedText(tt.v, tt.w); got != tt.want {
			t.Errorf("%g in %d columns is %q, expected %q", tt.v, tt.w, got, tt.want)
		}
	}
	for _, v := range []float64{2e-3, 4.9e-3, 5e-4, 3e-5, 4.5e-5, 7e-6, 1e-9, 6e-13} { // both signs alike
		for w := 4; w < 8; w++ {
			if p, n := FixedText(v, w), FixedText(-v, w); "-"+p != n && len(p) < w {
				t.Errorf("%g in %d columns is %q, its negative %q", v, w, p, n)
			}
		}
	}
	counts := []struct {
		n    int64
		w    int
		want string
	}{
		{1024, 4, "+1k"}, {-1024, 3, "-1k"}, {-37, 4, "-37"}, {1024, 5, "+1024"}, {123456, 4, "+.1M"},
		{-123456, 4, "-.1M"}, {1 << 40, 3, "+1T"}, {12345, 4, "+12k"}, {1, 3, "+1"}, {461, 4, "+461"},
		{-123456, 5, "-123k"}, {-28000, 4, "-28k"}, {-2131458378, 4, "-2G"}, {12000000, 4, "+12M"},
		{math.MinInt64, 5, "-9e18"},
	}
	for _, tt := range counts {
		if got := CountText(tt.n, tt.w); got != tt.want {
			t.Errorf("%d in %d columns is %q, expected %q", tt.n, tt.w, got, tt.want)
		}
	}
	formats := []struct {
		f    Format
		want string
	}{{Fixed, "2.62"}, {Sci, "2.62e+00"}, {Hex, "4140"}, {Bits, "0100000101000000"}, {ULP, "16704"}}
	for _, tt := range formats {
		if got := tt.f.Text(probes.F16, 0x4140, tt.f.Width(probes.F16, false)); got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.f, got, tt.want)
		}
	}
}

func TestBoundText(t *testing.T) {
	for bound, want := range map[float64]string{0: "0", 4.88e-4: "4.9e-04", 12: "1.2e+01"} {
		if got := (Cell{Bound: bound}).BoundText(); got != want {
			t.Errorf("%g: %q, expected %q", bound, got, want)
		}
	}
}

// TestLongFitsItsColumn: tables give a value in full ten columns.
func TestLongFitsItsColumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 100000 {
		v := math.Ldexp(rng.Float64()*2-1, rng.IntN(280)-150) // as far as f32 reaches
		if s := Long(v); len(s) > 10 {
			t.Fatalf("%g is %q", v, s)
		}
	}
}

// TestIntegersHaveNoPoint: in a cell where their digits fit, in a line in full.
func TestIntegersHaveNoPoint(t *testing.T) {
	for _, x := range []struct {
		t     probes.DType
		bits  uint64
		w     int
		cell  string
		whole string
	}{
		{probes.I32, 1024, 6, "1024", "1024"},
		{probes.I32, 0xfffffc18, 6, "-1000", "-1000"},
		{probes.U8, 7, 4, "7", "7"},
		{probes.I32, 12345678, 6, "12.35M", "12345678"},
		{probes.F32, uint64(math.Float32bits(1024)), 6, "1024.0", "1024.0"},
	} {
		if got := Fixed.Text(x.t, x.bits, x.w); got != x.cell {
			t.Errorf("%s 0x%x in %d columns: %q, want %q", x.t, x.bits, x.w, got, x.cell)
		}
		if got := Typed(x.t, x.t.Value(x.bits)); got != x.whole {
			t.Errorf("%s 0x%x: %q, want %q", x.t, x.bits, got, x.whole)
		}
	}
}
