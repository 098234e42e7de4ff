package debugkern

import (
	"strings"
	"testing"
)

// TestFollows: a first bad cell that is NaN says which of the values that it is made of are not finite, and
// whether they should be: m is -Inf by the mask, while U follows from its own tile before. A finite one says
// nothing.
func TestFollows(t *testing.T) {
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[string]map[string]string{
		"nan-first-tile": {
			"l": "there m is -Inf, as it should be",
			"U": "it follows: there U of the previous tile is NaN, and should not be",
		},
		"u-rescale-twice": {"U": ""},
	} {
		run, err := s.Run(t.Context(), Request{Target: "stage2", Faults: []string{fault},
			Backend: "emu"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for stage, text := range want {
			b := run.Report.Stage(stage).FirstBad
			if b == nil || b.FollowsText() != text {
				t.Errorf("%s, %s: %+v, want %q", fault, stage, b, text)
			}
		}
	}
}

// TestSpanText: stretches of rows or columns by their ends, others not.
func TestSpanText(t *testing.T) {
	for bits, want := range map[string]string{
		"0011": "rows 2 to 3", "0100": "row 1", "1010": "", "0000": "", "1111": "rows 0 to 3",
	} {
		set := make([]bool, len(bits))
		for i := range set {
			set[i] = bits[i] == '1'
		}
		if got, n := spanText("row", set); got != want || n != strings.Count(bits, "1") {
			t.Errorf("%s: %q, %d", bits, got, n)
		}
	}
}
