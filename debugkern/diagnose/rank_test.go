package diagnose

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// Causes stand in the order of what they explain; one that could not be tried may explain anything, one that
// was tried and explains nothing comes last, and is a cause still where what is left over has no other.
func TestRank(t *testing.T) {
	share := func(x float64) *report.Number { n := report.Number(x); return &n }
	for _, c := range []struct {
		name   string
		causes []Cause
		want   string
	}{
		{
			"the whole error has another cause", []Cause{
				{Title: "a", Share: share(0), Stages: []string{"O"}}, {Title: "b"},
				{Title: "c", Share: share(1)},
			}, "c 100 %, b , a none beside",
		},
		{
			"hidden by another", []Cause{
				{Title: "a", Share: share(0.004), Stages: []string{"O"}}, {Title: "b", Share: share(0.4)},
			}, "b 40 %, a none alone",
		},
		{"spoils nothing", []Cause{{Title: "a", Share: share(0)}, {Title: "b", Share: share(0.4)}},
			"b 40 %, a none beside"},
		{"equal as printed", []Cause{{Title: "a", Share: share(0.401)}, {Title: "b", Share: share(0.404)}},
			"a 40 %, b 40 %"},
		{"no error to share", []Cause{{Title: "a"}, {Title: "b"}}, "a , b "},
	} {
		q := &inquiry{doc: &Diagnosis{Causes: c.causes}}
		q.rank()
		var got []string
		for _, x := range q.doc.Causes {
			text := x.Title + " " + x.ShareText()
			if x.AlsoFound {
				text += " beside"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// What a cause is called where there is room for a few words.
func TestShort(t *testing.T) {
	for _, c := range []struct {
		cause Cause
		want  string
	}{
		{
			Cause{
				Kind: "race", Title: "race on sP, U_smem between k.cu:1 and line 2",
				Place: Place{Variable: "sP", Variables: []string{"sP", "U_smem"}},
			}, "race on sP, U_smem",
		},
		{Cause{Kind: kindStage, Title: "arithmetic of stage P, first at kv tile 0 (8,0): 1, should be 2"},
			"arithmetic of stage P"},
		{Cause{Kind: kindTable, Title: "fragment table LUT", Place: Place{Variable: "LUT"}},
			"fragment table LUT"},
		{Cause{Kind: "barrier", Title: "barrier 1 at k.cu:3 is for 128 threads"}, "barrier"},
	} {
		if got := c.cause.Short(); got != c.want {
			t.Errorf("%s: %q, want %q", c.cause.Title, got, c.want)
		}
	}
}
