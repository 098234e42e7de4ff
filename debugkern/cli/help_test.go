package cli

import (
	"strings"
	"testing"
)

// TestHelpFlows: a description has no line ends of its own inside a paragraph: the terminal's width decides.
func TestHelpFlows(t *testing.T) {
	if got := flowing("a b\nc\n\nd\ne"); got != "a b c\n\nd e" {
		t.Errorf("%q", got)
	}
	out, errText, code := call(t, "diagnose", "--help")
	if code != 0 || !strings.Contains(out, "each") {
		t.Fatalf("exit %d: %s%s", code, out, errText)
	}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "cause with" || strings.TrimSpace(line) == "there" {
			t.Errorf("a line broken twice: %q", line)
		}
	}
}
