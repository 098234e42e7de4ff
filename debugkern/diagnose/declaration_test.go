package diagnose

import (
	"fmt"
	"go/constant"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/probes"
)

// TestEvaluate: extents of a declaration are worked out from the source's constants and the plan's, and each
// constant once, however often others name it.
func TestEvaluate(t *testing.T) {
	q := &inquiry{run: &debugkern.Run{Plan: &probes.Plan{Consts: map[string]int{"TILE": 16}}}}
	lines := []string{
		"#define PAD 8 // bytes", "constexpr int ROWS = 2 * TILE;", "#define LOOP (LOOP + 1)",
	}
	for text, want := range map[string]int{"TILE": 16, "ROWS": 32, "ROWS % 5 - 1": 1, "2*(ROWS+PAD)": 80} {
		got, ok := q.evaluate(text, lines, 0, map[string]constant.Value{})
		if !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"LOOP", "unknown", "ROWS / 0", "f(1)", "1.5", ""} {
		if got, ok := q.evaluate(text, lines, 0, map[string]constant.Value{}); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
	lines = []string{"#define C5 0"}
	for i := range 5 {
		sum := strings.Repeat(fmt.Sprintf("C%d+", i+1), 50) + "1"
		lines = append(lines, fmt.Sprintf("#define C%d %s", i, sum))
	}
	got, ok := q.evaluate("C0", lines, 0, map[string]constant.Value{})
	if want := 1 + 50*(1+50*(1+50*(1+50))); !ok || got != want {
		t.Errorf("%d, %v, want %d", got, ok, want)
	}
}

// TestLiteralValue: a constant is what its expression of floating-point literals comes to.
func TestLiteralValue(t *testing.T) {
	for text, want := range map[string]float64{
		"240.0f / 127.0f": 240.0 / 127, "-(1.5f + .5F)": -2, "2.f * 3.0": 6,
	} {
		if got, ok := literalValue(text); !ok || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"240 / 127", "1.0f / 0.0f", "SCALE * 2.0f", "1.0f % 2.0f", ""} {
		if got, ok := literalValue(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
