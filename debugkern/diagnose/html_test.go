package diagnose

import (
	"bytes"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestPageOfCauses: the page names every cause, and marks those that explain none of the error. Fields of a
// template are looked up when it is executed: no compiler sees one that was renamed.
func TestPageOfCauses(t *testing.T) {
	d := &Diagnosis{
		Run: report.Run{Target: "stage2"},
		Causes: []Cause{
			{Title: "a race on sP", Proof: []string{"with a barrier it is gone"}, Advice: "insert it"},
			{Title: "a table that nothing reads", AlsoFound: true},
		},
	}
	var b bytes.Buffer
	if err := d.WriteHTML(&b, "test"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h2>1. a race on sP</h2>", "<li>with a barrier it is gone</li>", "Change: <b>insert it</b>",
		"<h2>2. Also found: a table that nothing reads</h2>",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
