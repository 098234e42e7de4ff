package compare

import (
	"context"
	"math"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

func TestULPsApart(t *testing.T) {
	for _, c := range []struct {
		dtype probes.DType
		p, q  uint64
		want  int64
	}{
		{probes.F16, 0x3c00, 0x3c01, 1}, {probes.F16, 0x0000, 0x8000, 0}, {probes.F16, 0x0001, 0x8001, 2},
		{probes.F32, uint64(math.Float32bits(1)), uint64(math.Float32bits(2)), 1 << 23},
		{probes.F32, 0x80000003, 0x80000001, 2}, {probes.U8, 3, 250, 247}, {probes.I8, 0xff, 1, 2},
		{probes.F64, math.Float64bits(1), math.Float64bits(math.Nextafter(1, 2)), 1},
	} {
		if got := ulpsApart(c.dtype, c.p, c.q); got != c.want || ulpsApart(c.dtype, c.q, c.p) != c.want {
			t.Errorf("%s %#x %#x: %d, want %d both ways", c.dtype, c.p, c.q, got, c.want)
		}
	}
}

func TestUnlike(t *testing.T) {
	base := probes.StagePlan{Rows: 32, Cols: 64, DType: probes.F16, PerTile: true}
	for _, c := range []struct {
		edit func(*probes.StagePlan)
		want string
	}{
		{func(*probes.StagePlan) {}, ""},
		{func(p *probes.StagePlan) { p.Rows = 16 }, "32×64 in A, 16×64 in B"},
		{func(p *probes.StagePlan) { p.DType = probes.F32 }, "f16 in A, f32 in B"},
		{func(p *probes.StagePlan) { p.PerTile = false }, "once a block"},
		{func(p *probes.StagePlan) { p.Meaning.Normalised = true }, "mean different things"},
	} {
		other := base
		c.edit(&other)
		if got := unlike(&base, &other); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestCellStats: NaN against NaN of the same bits is equal; a cell that is no number in one is counted apart.
func TestCellStats(t *testing.T) {
	tile := func(bits ...uint64) probes.Tile {
		x := probes.NewTile(probes.F16, 1, len(bits))
		for i, b := range bits {
			x.SetBits(0, i, b)
		}
		return x
	}
	a, b := tile(0x7e00, 0x3c00, 0x3c00, 0x7c00), tile(0x7e00, 0x3c00, 0x4000, 0x3c00)
	var s report.CellStats
	for i := range 4 {
		countCell(&s, a, b, 0, i, nil)
	}
	if want := (report.CellStats{
		Cells: 4, Differing: 2, Beyond: 2, MaxAbs: 1, MaxULP: 1024, Nonfinite: 1,
	}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	s = report.CellStats{}
	for i := range 4 {
		if beyond := countCell(&s, a, b, 0, i, &report.Tolerance{RTol: 0.5}); beyond != (i == 3) {
			t.Errorf("cell %d is beyond: %v", i, beyond)
		}
	}
	if want := (report.CellStats{
		Cells: 4, Differing: 2, Beyond: 1, MaxAbs: 1, MaxULP: 1024, Nonfinite: 1,
	}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// TestBeyond: a tolerance counts by the larger of two cells, so that their order makes no difference; NaN,
// infinities, zeros, and integers that float64 cannot tell apart.
func TestBeyond(t *testing.T) {
	bits := func(x float64) uint64 { return math.Float64bits(x) }
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b       float64
		rtol, atol float64
		beyond     bool
	}{
		{1, 1, 0, 0, false}, {1, 1.5, 0, 0.5, false}, {1, 1.5, 0, 0.4999, true}, {1, 2, 0.5, 0, false},
		{2, 1, 0.5, 0, false}, {1, 2, 0.4999, 0, true}, {0, math.Copysign(0, -1), 0, 0, false},
		{-1, 1, 1, 0, true}, {-1, 1, 2, 0, false}, {nan, 1, 1e300, 1e300, true}, {1, inf, 1, 1, true},
		{inf, -inf, 1, 1, true},
	} {
		within := &report.Tolerance{RTol: report.Number(c.rtol), ATol: report.Number(c.atol)}
		if x, y := Beyond(probes.F64, bits(c.a), bits(c.b), within),
			Beyond(probes.F64, bits(c.b), bits(c.a), within); x != c.beyond || y != c.beyond {
			t.Errorf("%v and %v, rtol %v atol %v: %v, %v, want %v", c.a, c.b, c.rtol, c.atol, x, y, c.beyond)
		}
	}
	if Beyond(probes.F64, bits(nan), bits(nan)^1, &report.Tolerance{}) ||
		!Beyond(probes.F64, bits(nan), bits(nan)^1, nil) {
		t.Error("two NaN of other bits")
	}
	if !Beyond(probes.U64, 1<<60, 1<<60+1, &report.Tolerance{}) ||
		Beyond(probes.U64, 1<<60, 1<<60+1, &report.Tolerance{ATol: 1}) {
		t.Error("integers beyond 2^53")
	}
}

// TestCompareRuns: runs that exist already are compared without executing anything, and only where they
// had the same inputs.
func TestRuns(t *testing.T) {
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(seed uint64, faults ...string) *debugkern.Run {
		t.Helper()
		r, err := s.Run(context.Background(), debugkern.Request{
			Target: "stage2", Shape: "small", Backend: "emu", Seed: seed, Faults: faults,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	clean, broken := run(0), run(0, "v-midpoint")
	if c, err := Runs(clean, clean, nil); err != nil || c.Verdict != report.Equal || c.ExitCode() != 0 ||
		len(c.Stages) != len(clean.Plan.Stages) {
		t.Errorf("a run against itself: %+v, %v", c, err)
	}
	if c, err := Runs(clean, broken, nil); err != nil || c.First != "V" || c.ExitCode() != 1 ||
		c.Targets[1].Faults[0] != "v-midpoint" {
		t.Errorf("against v-midpoint: %+v, %v", c, err)
	}
	if c, err := Runs(clean, broken, &report.Tolerance{ATol: 1e6}); err != nil ||
		c.Verdict != report.Within || c.Tolerance == nil || c.ExitCode() != 0 || c.First != "" {
		t.Errorf("within 1e6: %+v, %v", c, err)
	}
	if _, err := Runs(clean, run(1), nil); err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("other seed: %v", err)
	}
}
