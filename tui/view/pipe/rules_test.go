package pipe

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// TestRulesAreContext checks that other projects' tests of O stand under a heading that takes them out of the
// verdict, each with the reason where it is not met, and that no line can be read as a verdict.
func TestRulesAreContext(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	o := &report.Output{
		Verdict:   report.OK,
		FlashRule: &report.Rule{Error: 0.001, Limit: 0.002, Holds: true},
		PyTorch:   &report.Rule{Error: 38, Limit: 1, Context: "stricter than this kernel's dtypes allow"},
	}
	var lines []string
	p.rules(o, func(name string, _ theme.Style, format string, args ...any) {
		lines = append(lines, name+"|"+fmt.Sprintf(format, args...))
	})
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"context|other projects' tests of O, not part of the verdict\n|FlashAttention's test: met (0.001, limit 0.002)",
		"|PyTorch's assert_close: not met (38, limit 1); stricter than this kernel's dtypes allow",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "does not hold") || strings.Contains(text, "Triton") {
		t.Errorf("a rule reads as a verdict, or one that was not evaluated is listed:\n%s", text)
	}
}
