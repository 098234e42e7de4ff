package diagnose

import (
	"slices"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// Two stages have one wrong load where their operands come in at one line and are as far off, whatever they
// are called; at another line, in another way or elsewhere they have not.
func TestSameDeparture(t *testing.T) {
	operands := func(text string, line int) []debugkern.Operands {
		return []debugkern.Operands{{Text: text, N: 1, At: &report.Source{File: "k.cuh", Line: line}}}
	}
	suspectOf := func(foreign, twice, missing string, line int) *suspect {
		c := &debugkern.Contrast{}
		if foreign != "" {
			c.Foreign = operands(foreign, line)
		}
		if twice != "" {
			c.Twice = operands(twice, line)
		}
		if missing != "" {
			c.Missing = operands(missing, line)
		}
		return &suspect{contrast: c}
	}
	q := suspectOf("Q2[1][0]", "", "Q2[0][0]", 88)
	for _, c := range []struct {
		name string
		s    *suspect
		want bool
	}{
		{"the same row of another tensor", suspectOf("K[1][0]", "", "K[0][0]", 88), true},
		{"equally far, elsewhere", suspectOf("K[3][5]", "", "K[2][5]", 88), true},
		{"another distance", suspectOf("K[2][0]", "", "K[0][0]", 88), false},
		{"another line", suspectOf("K[1][0]", "", "K[0][0]", 89), false},
		{"twice", suspectOf("", "K[1][0]", "K[0][0]", 88), false},
		{"nothing departs", suspectOf("", "", "", 88), false},
		{"not contrasted", &suspect{}, false},
	} {
		if got := sameDeparture(q, c.s); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	d := departureOf(suspectOf("", "P@1[0..15]", "P@1[16..31]", 1).contrast)
	if d.kind != "twice" || !slices.Equal(d.shift, []int{0, -16, -16}) {
		t.Errorf("departs as %+v", d)
	}
}
