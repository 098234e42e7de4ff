package cli

import (
	"bytes"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestNotesOfARun: the notes of a run are one paragraph.
func TestNotesOfARun(t *testing.T) {
	var out bytes.Buffer
	printReport(&out, &report.Run{
		Verdict: report.Agree, Gate: "none", Build: report.RunBuild{Notes: []string{"one", "two", "three"}},
	}, nil, false)
	if want := "\n\nnote: one\nnote: two\nnote: three\n\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%q", out.String())
	}
}
