package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitWithALaunch: the options of check give init a launch, whose stages it discovers; what does not fit
// is refused before anything runs.
func TestInitWithALaunch(t *testing.T) {
	text, err := os.ReadFile("../testdata/registers/attention_mma.ptx")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ptx := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(ptx, text, 0o600); err != nil {
		t.Fatal(err)
	}
	launch := []string{
		"--grid", "2,2", "--block", "32", "--arg", "0=randn:f16[2,32,16]", "--arg", "1=randn:f16[2,48,16]",
		"--arg", "2=randn:f16[2,48,16]",
		"--arg", "3=unwritten:f32[2,32,16]", "--arg", "4=32",
	}
	for _, c := range []struct {
		more []string
		code int
		want string
	}{
		{nil, 2, "no --arg for 5"},
		{[]string{"--arg", "5=48", "--set", "A"}, 2, "--set goes with a manifest of the kernel alone"},
		{[]string{"--arg", "5=48", "--arg", "9=1"}, 2, "--arg 9: no such parameter"},
		{[]string{"--arg", "5=48", "--shared", "-4"}, 2, "--shared -4"},
		{[]string{"--arg", "5=48"}, 0, "wrote " + filepath.Join(dir, "kernel.yaml")},
		{[]string{"--arg", "5=48"}, 2, "exists already"},
	} {
		stdout, stderr, code := call(t, append(append([]string{"init", ptx}, launch...), c.more...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", c.more, code, c.code, c.want, stdout, stderr)
		}
	}
	stdout, stderr, code := call(t, "run", "--backend", "emu", filepath.Join(dir, "kernel.yaml"))
	if code != 0 || !strings.Contains(stdout, "agree") {
		t.Errorf("run: exit %d\n%s%s", code, stdout, stderr)
	}
}
