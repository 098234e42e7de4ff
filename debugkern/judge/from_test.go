package judge

import (
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// TestFromDecidesWhatStagesAreJudgedFrom spoils one cell of P by more than its local and less than its global
// bound: that is seen where `from` names what P is computed from, and not where P is judged from the inputs.
func TestFromDecidesWhatStagesAreJudgedFrom(t *testing.T) {
	for _, c := range []struct {
		name string
		from probes.StageSet
		want Verdict
	}{
		{"S and m", probes.StagesOf("S", "m"), Wrong},
		{"S alone", probes.StagesOf("S"), OK},
		{"nothing", nil, OK},
	} {
		p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
		p.Stage("P").From = c.from
		truth := reference(t, p, 0, ref.Options{})
		clean, id := newDouble(truth, nil), probes.Dim3{1, 2, 0}
		d, err := judged(t, truth, clean).Compare("P", id, 0)
		if err != nil {
			t.Fatal(err)
		}
		cell := 3*d.Cols + 5
		value := (d.Got[cell] + d.Global[cell] + d.GlobalBound[cell]) / 2
		src := spoiled{clean, Place{"P", id, 0}, 3, 5, value}
		j, err := Judge(t.Context(), truth.Reference, src, Options{
			Blocks: []probes.Dim3{id}, Stages: probes.StagesOf("S", "m", "P"),
		})
		if err != nil {
			t.Fatal(err)
		}
		st := j.Stage("P")
		if st.Verdict != c.want || (st.Local.Bound == st.Global.Bound) != (c.want == OK) {
			t.Errorf("from %s: P is %s, local bound %g, global %g", c.name, st.Verdict, st.Local.Bound,
				st.Global.Bound)
		}
	}
}

// TestAbsentPredecessor: a stage that cannot be judged from the kernel's own tiles is tainted, not wrong,
// where a captured stage before it is off; where none is, it is wrong.
func TestAbsentPredecessor(t *testing.T) {
	for _, c := range []struct {
		fault  string
		stages probes.StageSet
		strip  bool
		want   []probes.Stage // wrong
	}{
		{"kt-rowmajor", probes.StagesOf("S", "P", "O"), false, []probes.Stage{"S"}},
		{"kt-rowmajor", nil, true, []probes.Stage{"S"}},
		{"u-no-rescale", probes.StagesOf("S", "O"), false, []probes.Stage{"O"}},
		{"kt-rowmajor", probes.StagesOf("O"), false, []probes.Stage{"O"}},
	} {
		p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
		for i := range p.Stages {
			if sp := &p.Stages[i]; c.strip && !sp.Loaded && sp.Stage != "S" {
				sp.From = nil
			}
		}
		truth := reference(t, p, 0, ref.Options{})
		j, err := Judge(t.Context(), truth.Reference, toy{truth, c.fault}.run(), Options{Stages: c.stages})
		if err != nil {
			t.Fatal(err)
		}
		var wrong []probes.Stage
		for _, g := range j.Guilty {
			wrong = append(wrong, g.Stage)
		}
		if !slices.Equal(wrong, c.want) {
			t.Errorf("%s, stripped %v: wrong are %v, want %v", c.fault, c.strip, wrong, c.want)
		}
		if o := j.Stage("O"); len(c.want) == 1 && c.want[0] != "O" && o.Verdict != Tainted {
			t.Errorf("%s: O is %s, want tainted", c.fault, o.Verdict)
		}
	}
}
