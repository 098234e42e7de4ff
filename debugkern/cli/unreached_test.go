package cli

import (
	"strings"
	"testing"
)

// TestUnreachedStages: after a hang, stages that execution did not come to are not called off, and the output
// is never written.
func TestUnreachedStages(t *testing.T) {
	out, _, code := call(t, "run", "stage5_hopper", "--fault", "turn-not-given")
	if code == 0 {
		t.Fatal("the fault does not hang")
	}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "K" && strings.Join(f[1:], " ") != "not reached" {
			t.Errorf("K: %q", line)
		}
	}
	for _, want := range []string{"not reached", "O: never written"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
