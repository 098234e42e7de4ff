package source

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/tui/theme"
)

// TestEnd: the end of the chosen line is shown, whatever the longest one has, and lines of which nothing is
// left say so.
func TestEnd(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	p.SetSize(24, 6)
	text := []string{
		"short", "a line that is longer than the pane", "", strings.Repeat("very ", 20) + "long",
	}
	p.Show("k.cu", text, 1, "")
	p.SetFocus(true)
	screen := func() []string { return strings.Split(ansi.Strip(strings.Join(p.View(), "\n")), "\n") }
	has := func(line int, want string) {
		t.Helper()
		if got := strings.TrimRight(strings.Trim(screen()[line], "│"), " "); !strings.HasSuffix(got, want) {
			t.Errorf("line %d is %q, want %q at its end", line, got, want)
		}
	}
	p.SetCursor(2)
	if !p.End() {
		t.Error("the end of a long line is not shown")
	}
	has(1, "1 …")
	has(2, "than the pane")
	has(3, "3")
	if p.End() {
		t.Error("moved twice")
	}
	p.SetCursor(4)
	if p.End(); !strings.Contains(screen()[4], "very long") {
		t.Errorf("%q", screen())
	}
	p.SetCursor(1)
	if !p.End() || !strings.Contains(screen()[1], "short") {
		t.Errorf("%q", screen())
	}
}
