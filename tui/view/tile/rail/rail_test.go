package rail

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/report"
	"tilescope/tui/outcome"
	"tilescope/tui/theme"
)

// TestErrorsHaveTheirNames: a stage's figure is the error nearest to its bound, "worst"; that of the output
// the largest, "max error".
func TestErrorsHaveTheirNames(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	r := &report.Run{Verdict: report.Agree, Output: &report.Output{Verdict: report.OK, MaxAbs: 0.25}}
	local := report.ErrorStats{Error: 3e-10, MaxAbs: 1}
	r.Stages = []report.Stage{{Name: "S", Verdict: report.OK, Local: local}}
	p.SetData(Data{Run: outcome.New("", r, false)})
	for _, x := range []struct {
		w    int
		want []string
	}{
		{30, []string{"worst 3.0e-10", "output", "max error 0.25"}},
		{20, []string{"S  ✓     3.0e-10", "max 0.25"}},
	} {
		p.SetSize(x.w, 12)
		for _, want := range x.want {
			if got := ansi.Strip(strings.Join(p.View(), "\n")); !strings.Contains(got, want) {
				t.Errorf("%d columns: no %q in\n%s", x.w, want, got)
			}
		}
	}
}

// TestFindingsAreCountedAsInPipe: without a reference the outcome has the errors; advice is counted apart.
func TestFindingsAreCountedAsInPipe(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	p.SetSize(26, 12)
	stages := []report.Stage{{Name: "x", Reference: report.Reference{Kind: report.NoReference}}}
	r := &report.Run{Verdict: report.Agree, Stages: stages, Findings: []report.Finding{
		{Severity: "error"}, {Severity: "advice"}, {Severity: "error"}, {Severity: "advice"},
	}}
	show := func() string {
		p.SetData(Data{Run: outcome.New("", r, false)})
		return ansi.Strip(strings.Join(p.View(), "\n"))
	}
	if s := show(); !strings.Contains(s, "2 errors") || !strings.Contains(s, "~ 2 pieces of advice") ||
		strings.Contains(s, "4 findings") {
		t.Error(s)
	}
	r.Findings = r.Findings[:1]
	if s := show(); !strings.Contains(s, "1 error") || strings.Contains(s, "advice") {
		t.Error(s)
	}
}

// TestALongNameKeepsItsBlanks: next to a name that leaves no room for it the word of the error goes, not the
// blanks between the columns.
func TestALongNameKeepsItsBlanks(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	for name, want := range map[string]string{
		"S": " S  ✓   worst 3.0e-10", "result": " result ✓     3.0e-10",
	} {
		s := &report.Stage{Name: name, Verdict: report.OK, Local: report.ErrorStats{Error: 3e-10}}
		if got := strings.TrimRight(ansi.Strip(p.stage(s, 22)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
