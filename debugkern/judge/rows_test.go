package judge

import (
	"context"
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// A transform predicts bad cells and says nothing of the right ones: where only some warps' rows are
// wrong, the text does.
func TestRowsOfSomeWarps(t *testing.T) {
	for _, x := range []struct{ fault, want string }{
		{"p-warp-1", "rows 8 to 15 of the tile alone (warp 1's, if each of 4 warps has 8 rows)"},
		{
			"p-odd-warps",
			"rows 8 to 15 and 24 to 31 of the tile alone (those of warps 1 and 3, if each of 4 warps has 8 rows)",
		},
		{"p-row", "row 9 of the tile alone (warp 1's, if each of 4 warps has 8 rows)"},
		{"p-normalised", ""},
	} {
		truth := reference(t, configstest.Plan(t, "stage2", "validation", probes.GateNone), 3, ref.Options{})
		j := judged(t, truth, toy{truth, x.fault}.run())
		p := j.Stage("P")
		if p.Verdict != Wrong || p.Rows != x.want {
			t.Errorf("%s: P is %s, rows %q, want %q", x.fault, p.Verdict, p.Rows, x.want)
		}
		if err := j.Explain(context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(p.Fingerprints) == 0 {
			t.Errorf("%s: nothing explains it", x.fault)
			continue
		}
		f := p.Fingerprints[0]
		if f.Name != Factor || !strings.Contains(f.Evidence, x.want) ||
			strings.Contains(f.Evidence, "alone") != (x.want != "") {
			t.Errorf("%s: %s %s: %s", x.fault, f.Name, f.Value, f.Evidence)
		}
		if fits := f.Fitted > 0; fits && !strings.Contains(f.Evidence, "(1.5 times the right one)") {
			t.Errorf("%s: the fitted factor is missing: %s", x.fault, f.Evidence)
		}
	}
}

// Shares that nobody judged, past the last query, count for nothing: what fills all others is everywhere.
func TestRowsJudged(t *testing.T) {
	sp := &probes.StagePlan{Rows: 32}
	s := rowSet{judged: 17}
	for _, r := range []int{0, 9, 16} {
		s.add(r)
	}
	if got := s.text(sp, 4); got != "" {
		t.Errorf("every warp with a judged row has a bad one, and yet: %q", got)
	}
	s.judged = 32
	if got := s.text(sp, 4); got != "" {
		t.Errorf("three of four warps, and yet: %q", got)
	}
	if got, want := s.text(sp, 8),
		"rows 0, 9 and 16 of the tile alone (those of warps 0, 2 and 4, if each of 8 warps has 4 rows)"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := s.text(sp, 1); got != "" {
		t.Errorf("one warp has all rows, and yet: %q", got)
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
	if p := j.Stage("P"); p.Verdict != Wrong || p.Local.Nonfinite != p.Local.Bad {
		t.Errorf("P is %s, %d of %d bad cells are NaN", p.Verdict, p.Local.Nonfinite, p.Local.Bad)
	}
}
