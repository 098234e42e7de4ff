package judge

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// explained runs the toy with a fault of P, judges and explains.
func explained(t *testing.T, fault string) *StageResult {
	t.Helper()
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 3, ref.Options{})
	j := judged(t, truth, toy{truth, fault}.run())
	if err := j.Explain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p := j.Stage("P"); p.Verdict == Wrong {
		return p
	}
	t.Fatalf("%s: P is not wrong", fault)
	return nil
}

// Where wrong cells are is said of all judged cells, the right ones too.
func TestRegions(t *testing.T) {
	for _, x := range []struct{ fault, want string }{
		{"p-warp-1", "rows 8–15 (warp 1's, if each of 4 warps has 8 rows) of every kv tile"},
		{"p-odd-warps", "rows 8–15 of every 16 (those of warps 1 and 3, if each of 4 warps has 8 rows) of every kv tile"},
		{"p-row", "row 9 of every kv tile"},
		{"p-normalised", everyCell},
		{"p-columns-twice", "odd columns of every kv tile"},
		{"p-half", "columns 16–31 of every kv tile"},
		{"p-last-tile", "every cell of the last kv tile alone"},
		{"p-head-1", "every cell of every kv tile, head 1 alone"},
	} {
		p := explained(t, x.fault)
		if p.Region == nil || p.Region.Text != x.want {
			t.Errorf("%s: %v, want %s", x.fault, p.Region, x.want)
			continue
		}
		if p.Region.Wrong != p.Local.Bad || p.Region.Judged != p.Local.Cells {
			t.Errorf("%s: %d of %d, %d of %d are", x.fault, p.Region.Wrong, p.Region.Judged, p.Local.Bad,
				p.Local.Cells)
		}
	}
}

const everyCell = "every judged cell"

// A duplication is no exchange: the right cells contradict that. A factor is claimed where the wrong cells
// are.
func TestRightCellsRefute(t *testing.T) {
	for _, x := range []struct {
		fault, name, value string
		not                []string
	}{
		{
			"p-columns-twice", Repeated, "odd columns hold the values of the even column before them",
			[]string{Permuted, Shifted},
		},
		{"p-columns-exchanged", Permuted, "neighbouring columns exchanged", []string{Repeated, Shifted}},
		{"p-half", Factor, "1.5, the same in every tile", []string{Permuted, Repeated}},
		{"p-head-1", Factor, "2", nil},
	} {
		p := explained(t, x.fault)
		if len(p.Fingerprints) == 0 {
			t.Errorf("%s: nothing explains it", x.fault)
			continue
		}
		for i, f := range p.Fingerprints {
			t.Logf("%s: %s %s (%g): %s", x.fault, f.Name, f.Value, f.Explains, f.Evidence)
			if f.Explains > 0.9 && slices.Contains(x.not, f.Name) {
				t.Errorf("%s: %s", x.fault, f.Name)
			}
			if i == 0 && (f.Name != x.name || f.Value != x.value || f.Explains < 0.99) {
				t.Errorf("%s: %s %q explains %g, want %s %q", x.fault, f.Name, f.Value, f.Explains, x.name,
					x.value)
			}
			if strings.Contains(f.Evidence, "wrong: ") != (i == 0 && !p.Region.Whole()) {
				t.Errorf("%s: the region: %s", x.fault, f.Evidence)
			}
		}
	}
}

// A prediction that is no number explains no cell: a NaN has no fingerprint.
func TestNothingExplainsNaN(t *testing.T) {
	truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 3, ref.Options{})
	j := judged(t, truth, toy{truth, "p-nan"}.run())
	if err := j.Explain(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []probes.Stage{"P", "U"} {
		for _, f := range j.Stage(s).Fingerprints {
			t.Errorf("%s, wrong by NaN alone, looks like %s %s: %s", s, f.Name, f.Value, f.Evidence)
		}
	}
	if p := j.Stage("P"); p.Verdict != Wrong || p.Local.Nonfinite != p.Local.Bad ||
		p.Local.NaN != p.Local.Bad {
		t.Errorf("P is %s, %d of %d bad cells are NaN", p.Verdict, p.Local.Nonfinite, p.Local.Bad)
	}
}

// Cutting and coarse numbers are found by their bits.
func TestCut(t *testing.T) {
	for _, x := range []struct{ x, want float64 }{
		{1 + 0x1p-11, 1}, {1 + 0x1p-10 + 0x1p-11, 1 + 0x1p-10}, {-1.9999, -2 + 0x1p-10},
		{2 - 0x1p-13, 2 - 0x1p-10},
		{1, 1}, {0x1p-24, 0x1p-24}, {0x1.8p-24, 0x1p-24}, {1 + 0x1.8p-11, 1},
	} {
		if got := cut(probes.F16, x.x); got != x.want {
			t.Errorf("%g is cut to %g, want %g", x.x, got, x.want)
		}
	}
}
