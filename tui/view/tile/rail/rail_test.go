package rail

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// TestALongNameKeepsItsBlanks: next to a name that leaves no room for it the word of the error goes, not the
// blanks between the columns.
func TestALongNameKeepsItsBlanks(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	for name, want := range map[string]string{
		"S": " S  ✓   error 3.0e-10", "result": " result ✓     3.0e-10",
	} {
		s := &report.Stage{Name: name, Verdict: report.OK, Local: report.ErrorStats{Error: 3e-10}}
		if got := strings.TrimRight(ansi.Strip(p.stage(s, 22)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
