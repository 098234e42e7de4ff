package prompt

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/tui/theme"
)

// popup is what a pane offers for a text, without colours.
func popup(text string, w int, lines ...string) string {
	p := New(theme.New(theme.Options{}))
	p.Open(":", text, func(string) (out []Candidate, none string) {
		for _, l := range lines {
			out = append(out, Candidate{Line: l, Prefix: true})
		}
		return out, ""
	})
	return ansi.Strip(strings.Join(p.Popup(w, 10), "\n"))
}

// TestLongPathsAreToldApart: of candidates that are wider than the screen the folders that all share are left
// out, and not the names at their ends; what fits is written in full.
func TestLongPathsAreToldApart(t *testing.T) {
	folder := "open /home/somebody/" + strings.Repeat("deep/", 20)
	s := popup(folder, 60, folder+"first.cu", folder+"second.cu --grid 8")
	for _, want := range []string{":…first.cu", ":…second.cu --grid 8"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if s := popup(folder, 60, folder+"only.cu"); !strings.Contains(s, ":…only.cu") {
		t.Errorf("one alone:\n%s", s)
	}
	s = popup("open a/", 60, "open a/first.cu", "open a/second.cu")
	if !strings.Contains(s, ":open a/first.cu") {
		t.Errorf("short ones are cut:\n%s", s)
	}
}
