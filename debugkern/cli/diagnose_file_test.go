package cli

import (
	"strings"
	"testing"
)

// TestDiagnoseFile: diagnose takes the launch of a file that no manifest describes, and its story names the
// command that repeats it. A target has its launch in its manifest.
func TestDiagnoseFile(t *testing.T) {
	t.Parallel()
	const file = "../checkrun/testdata/reduce-race.ptx"
	launch := []string{
		"--grid", "2", "--block", "256", "--arg", "0=randn:f32[512]", "--arg", "1=unwritten:f32[2]",
		"--arg", "2=512",
	}
	stdout, stderr, code := call(t, append([]string{
		"diagnose", file, "--backend", "emu", "--schedules", "5",
	}, launch...)...)
	again := "\nagain: tilescope diagnose " + file + " --grid 2 --block 256 --arg '0=randn:f32[512]' "
	if code != exitDiverged || !strings.Contains(stdout, again) ||
		!strings.Contains(stdout, "\n   change: put __sync") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file}, "--grid is missing"},
		{append([]string{file, "--shape", "small"}, launch...), "is no TARGET"},
		{[]string{"stage2", "--grid", "2"}, "launch and arguments of a TARGET are its manifest's"},
		{append([]string{file, "--perturb", "--backend", "emu"}, launch...), "--backend emu asks for none"},
	} {
		if _, stderr, code := call(t, append([]string{"diagnose"}, c.args...)...); code != exitUsage ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, stderr)
		}
	}
}
