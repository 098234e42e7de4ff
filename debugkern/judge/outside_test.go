package judge

import (
	"math"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// TestOutsideIsJudgedWhereItIsRead changes cells of V and P behind the last key of the partial tile. What the
// manifest says of them is checked where U's sum reads them, and only there.
func TestOutsideIsJudgedWhereItIsRead(t *testing.T) {
	inf := math.Inf(1)
	v := func(x float64) func(*reftest.Block) {
		return func(b *reftest.Block) { last := b.Iters - 1; b.At("V", last).Row(b.Keys(last) + 2)[7] = x }
	}
	both := func(b *reftest.Block) {
		v(3)(b)
		last := b.Iters - 1
		b.At("P", last).Row(4)[b.Keys(last)+2] = 0.5
	}
	for _, c := range []struct {
		name    string
		spoil   func(b *reftest.Block)
		outside probes.Outside
		want    Verdict
		bad     int
	}{
		{"V is 3 where P = 0", v(3), probes.OutsideZero, OK, 0},
		{"V is 3 where P = 0.5", both, probes.OutsideZero, Wrong, 1},
		{"the same, unspecified", both, probes.OutsideUnspecified, OK, 0},
		{"V is infinite where P = 0", v(inf), probes.OutsideZero, Wrong, 1},
		{"V is NaN where P = 0", v(math.NaN()), probes.OutsideZero, Wrong, 1},
	} {
		p := configstest.Plan(t, "stage2", "partial49", probes.GateNone)
		p.Stage("V").Outside = c.outside
		truth := reference(t, p, 0, ref.Options{})
		id := probes.Dim3{0, 1, 0}
		j := judged(t, truth, newDouble(truth, func(b *reftest.Block) {
			if b.ID == id {
				c.spoil(b)
			}
		}))
		if err := j.Explain(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := j.Stage("V")
		if s.Verdict != c.want || s.Local.Bad != c.bad || s.Global.Bad != c.bad ||
			s.Local.Bad > s.Local.Cells {
			t.Errorf("%s: V is %s, %d bad of %d", c.name, s.Verdict, s.Local.Bad, s.Local.Cells)
		}
		if c.bad > 0 &&
			(s.FirstBad.Row != p.Stage("V").ValidRows.At(id, 1)+2 || s.FirstBad.Col != 7 ||
				s.FirstBad.Want != 0) {
			t.Errorf("%s: first bad %+v", c.name, s.FirstBad)
		}
	}
}
