package cell

import (
	"math"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// view is a 2×4 tile of f16 with a reference of ones and a bound of 0.01; the last column is not compared.
func view(values ...float64) *debugkern.TileView {
	v := &debugkern.TileView{
		Got: probes.NewTile(probes.F16, 2, 4), Local: make([]float64, 8), LocalBound: make([]float64, 8),
		ValidRows: 2, ValidCols: 3,
	}
	for i := range 8 {
		v.Local[i], v.LocalBound[i] = 1, 0.01
		v.Got.SetBits(i/4, i%4, Round(probes.F16, values[i]))
	}
	return v
}

func TestJudge(t *testing.T) {
	v := view(1, 1.005, 1.5, 9, 0.5, math.NaN(), math.Inf(1), 9)
	j := NewJudge(v, Auto, 0)
	for i, want := range []struct{ bad, equal bool }{
		{false, true}, {false, false}, {true, false}, {false, false}, {true, false}, {true, false},
		{true, false}, {false, false},
	} {
		if c := j.At(i/4, i%4); c.Bad != want.bad || c.Equal != want.equal {
			t.Errorf("cell %d: bad %v equal %v", i, c.Bad, c.Equal)
		}
	}
	if s := j.Stats(); s.Bad != 4 || s.Cells != 6 {
		t.Errorf("bad %d of %d", s.Bad, s.Cells)
	}
	loose := NewJudge(v, Local, 4)
	if c := loose.At(0, 1); !c.Bad || c.ULP != 5 {
		t.Errorf("1.005 against 1 with a bound of 4 ulp: bad %v, %d ulp", c.Bad, c.ULP)
	}
	if r := j.Ratio(j.At(0, 2)); math.Abs(r-50) > 1e-9 {
		t.Errorf("an error of 0.5 is %g bounds of 0.01", r)
	}
}

func TestAutoTakesTheReferenceOfTheVerdict(t *testing.T) {
	v := view(1, 1, 1, 1, 1, 1, 1, 1)
	v.Global, v.GlobalBound = make([]float64, 8), make([]float64, 8)
	v.Verdict.Verdict = report.Tainted
	if j := NewJudge(v, Auto, 0); j.Name() != "global" || j.At(0, 0).Want != 0 {
		t.Errorf("a tainted tile is laid beside the %s reference", j.Name())
	}
	v.Verdict.Verdict = report.Wrong
	if j := NewJudge(v, Auto, 0); j.Name() != "local" {
		t.Errorf("a wrong tile is laid beside the %s reference", j.Name())
	}
}

func TestMatches(t *testing.T) {
	v := view(1, 1.005, 1.5, 9, 0.5, math.NaN(), math.Inf(1), 9)
	tests := []struct {
		text string
		cell []int // in order; -1 ends
	}{
		{"nan", []int{5}}, {"INF", []int{6}}, {"bad", []int{2, 4, 5, 6}}, {"equal", []int{0}},
		{">1.2", []int{2, 6}}, {"<=0.5", []int{4}}, {"=1", []int{0}}, {"d>0.4", []int{2, 4, 6}},
		{"0x3c00", []int{0}}, {"1.50", []int{2}}, {"ulp>400", []int{2, 4, 5, 6}},
	}
	for _, tt := range tests {
		m, err := ParseMatch(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var found []int
		for row, col := -1, 0; ; {
			var ok bool
			if row, col, ok = m.Find(v, Auto, 0, row, col, 1); !ok {
				break
			}
			found = append(found, row*4+col)
		}
		if len(found) != len(tt.cell) {
			t.Errorf("%s: found %v, expected %v", tt.text, found, tt.cell)
			continue
		}
		for i := range found {
			if found[i] != tt.cell[i] {
				t.Errorf("%s: found %v, expected %v", tt.text, found, tt.cell)
			}
		}
	}
	for _, text := range []string{"", "hello", "0xzz", ">", "ulp>x"} {
		if _, err := ParseMatch(text); err == nil {
			t.Errorf("%q was taken for a condition", text)
		}
	}
	if r, c, ok := BadCells().Find(v, Auto, 0, 2, 0, -1); !ok || r != 1 || c != 2 {
		t.Errorf("backwards from the end: %d,%d %v", r, c, ok)
	}
}

func TestBoundSteps(t *testing.T) {
	b := Bound(0)
	for _, want := range []Bound{1, 2, 4, 8} {
		if b = b.Wider(); b != want {
			t.Fatalf("%d, expected %d", b, want)
		}
	}
	for b > 0 {
		b = b.Narrower()
	}
	if b.String() != "derived" {
		t.Errorf("the narrowest is %s", b)
	}
}

// TestNearZero: where the bound is no smaller than the reference, ulps count digits that nobody promised:
// they are not shown. A bad cell's are, and those of a bound that a person gave in ulps.
func TestNearZero(t *testing.T) {
	v := view(1e-4, 0.005, -2e-4, 0, 0, 2, 1, 9)
	v.Local = []float64{1e-6, 0.005, 0.02, 0, 1e-4, 1.5, 0.011, 1}
	j := NewJudge(v, Local, 0)
	for i, want := range []struct {
		near       bool
		text, long string
	}{
		{true, "~0", "+9.902e-05, near 0"}, {false, "", ""}, {false, "", ""}, {false, "", ""},
		{true, "~0", "-1.000e-04, near 0"}, {false, "", ""}, {false, "", ""},
	} {
		c := j.At(i/4, i%4)
		if c.NearZero != want.near {
			t.Errorf("cell %d: %g against %g, bound %g: near zero %v", i, c.Got, c.Want, c.Bound, c.NearZero)
		}
		if got, _ := DiffULP.ErrorText(c, 6); (got == "~0") != want.near {
			t.Errorf("cell %d: error %s", i, got)
		}
		if got := strings.TrimSpace(c.DeltaText(0)); want.near && got != want.long ||
			!want.near && !strings.Contains(got, " ulp") {
			t.Errorf("cell %d: %q", i, got)
		}
		if wide := c.DeltaText(10); len(wide) != len("+9.899e-05 = +1234 ulp") &&
			len(wide) != len("+9.899e-05 = +12345 ulp") {
			t.Errorf("cell %d: %q is out of its columns", i, wide)
		}
	}
	loose := NewJudge(v, Local, 1<<14)
	c := loose.At(0, 0)
	if text, _ := DiffULP.ErrorText(c, 6); c.NearZero || text == "~0" {
		t.Errorf("under a bound in ulps they are what is counted: %+v", c)
	}
	if text, _ := DiffAbs.ErrorText(j.At(0, 0), 6); text == "~0" {
		t.Error("the absolute error is a number near zero too")
	}
}

// TestErrorText: an error never loses its sign, in whatever width. In four columns the mark of a bad cell is
// its sign, and takes the last of them.
func TestErrorText(t *testing.T) {
	far := Cell{Got: -2, Want: 2, Delta: -4, ULP: -2131458378, Bad: true}
	for _, tt := range []struct {
		d      Diff
		c      Cell
		w      int
		want   string
		marked bool
	}{
		{DiffULP, Cell{ULP: 461, Bad: true}, 4, "461", true},
		{DiffULP, Cell{ULP: 461}, 4, "+461", false},
		{DiffULP, Cell{ULP: -28123, Bad: true}, 4, "28k", true},
		{DiffULP, Cell{ULP: -28123}, 4, "-28k", false},
		{DiffULP, Cell{ULP: 500000, Bad: true}, 4, ".5M", true},
		{DiffULP, Cell{ULP: -3}, 4, "-3", false},
		{DiffULP, Cell{ULP: 461, Bad: true}, 7, "+461", true},
		{DiffULP, Cell{ULP: -1234567}, 7, "-1.23M", false},
		{DiffULP, far, 4, "+/-", true},
		{DiffULP, far, 7, "+/-", true},
		{DiffULP, Cell{Got: 9, Want: 1, Delta: 8, ULP: 1 << 25}, 4, "+34M", false},
		{DiffAbs, Cell{Delta: -0.0041, Bad: true}, 4, "4m", true},
		{DiffAbs, Cell{Delta: -0.0041}, 4, "-4m", false},
		{DiffAbs, Cell{Delta: 5e5, Bad: true}, 4, ".5M", true},
		{DiffAbs, Cell{Delta: 0.164}, 4, "+.2", false},
		{DiffRel, Cell{Delta: -1, Want: -4, Bad: true}, 7, "-.2500", true},
		{DiffRel, Cell{Delta: 1}, 7, "/0", false},
		{DiffULP, Cell{Got: math.NaN(), Bad: true}, 4, "NaN", false},
		{DiffULP, Cell{Got: math.Inf(1), Bad: true}, 4, "Inf", false},
	} {
		text, marked := tt.d.ErrorText(tt.c, tt.w)
		if text != tt.want || marked != tt.marked {
			t.Errorf("%s of %+v in %d columns is %q, %t; want %q, %t", tt.d, tt.c, tt.w, text, marked,
				tt.want, tt.marked)
		}
	}
	if got := far.DeltaText(0); got != "-4.0000, other sign" {
		t.Errorf("%q", got)
	}
	if got := (Cell{Got: 1, Delta: 1, ULP: 1 << 29}).DeltaText(0); got != "+1.0000, > 2^24 ulp" {
		t.Errorf("%q", got)
	}
}

// TestDistanceText: a distance in ulps beyond which they say nothing is not written as a number.
func TestDistanceText(t *testing.T) {
	for ulps, want := range map[int64]string{0: "0 ulp", 1024: "1024 ulp", mostULP: "16777216 ulp",
		mostULP + 1: "> 2^24 ulp", 1 << 62: "> 2^24 ulp"} {
		if got := DistanceText(ulps); got != want {
			t.Errorf("%d: %q, want %q", ulps, got, want)
		}
	}
}
