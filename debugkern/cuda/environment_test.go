package cuda

import (
	"runtime"
	"strings"
	"testing"
)

// TestCompilerPrintsNoEnvironment: a source that includes its compiler's environment sees none of
// the user's secrets.
func TestCompilerPrintsNoEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc on " + runtime.GOOS)
	}
	t.Setenv("XDG_SECRET", "hunter2")
	tc := apart(t)
	for _, source := range []string{
		"#include \"/proc/self/environ\"\n", "#define E </proc/self/environ>\n#include E\n",
	} {
		_, err := tc.Compile(t.Context(), Build{Name: "k.cu", Source: source, Arch: "sm_80"})
		if err == nil {
			t.Fatal("an environment is no source")
		}
		if ce, ok := err.(*CompileError); strings.Contains(err.Error(), "hunter2") ||
			ok && strings.Contains(ce.Log, "hunter2") {
			t.Errorf("%q prints a secret", source)
		}
	}
}
