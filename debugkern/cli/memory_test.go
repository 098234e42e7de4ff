package cli

import (
	"strings"
	"testing"
)

// TestMemoryOption: what a run needs is compared with --memory-max before anything runs, and the
// refusal has its parts.
func TestMemoryOption(t *testing.T) {
	stdout, stderr, code := call(t, "run", "stage2", "--shape", "mission", "--memory-max", "40MiB", "--json")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "captures") ||
		!strings.Contains(stderr, "memory.max is 40 MiB") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	if stdout, stderr, code = call(t, "run", "stage2", "--memory-max", "-1"); code != exitUsage ||
		!strings.Contains(stderr, "--memory-max: expected a size") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}
