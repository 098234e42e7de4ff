package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// kernelFile copies a kernel of debugkern/checkrun/testdata to a directory of its own, with lines in front.
func kernelFile(t *testing.T, name string, front ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "checkrun", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(append(front, string(text)), "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheck: text, document, exit code and dump of a kernel that races, and of one that does not.
func TestCheck(t *testing.T) {
	args := []string{
		"--grid", "2", "--block", "256", "--arg", "0=ones:f32[512]", "--arg", "1=zeros:f32[2]", "--arg",
		"2=512",
	}
	dump := filepath.Join(t.TempDir(), "out.npz")
	out, errText, code := call(t,
		append([]string{"check", kernelFile(t, "reduce.ptx"), "--dump", dump}, args...)...)
	if code != 0 || !strings.Contains(out, "reduce grid 2,1,1, block 256,1,1: clean") ||
		!strings.Contains(out, "2 of 2 blocks, 1 schedule; PTX was executed") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if info, err := os.Stat(dump); err != nil || info.Size() < 500 {
		t.Errorf("the dump: %v", err)
	}
	racy := kernelFile(t, "reduce-race.ptx")
	out, errText, code = call(t, append([]string{"check", racy}, args...)...)
	if code != 1 || !strings.Contains(out, "race (error)") || !strings.Contains(out, "missing: __sync") ||
		!strings.Contains(out, "    id race-") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	doc, errText, code := call(t, append([]string{"check", racy, "--json"}, args...)...)
	var d report.Check
	if err := json.Unmarshal([]byte(doc), &d); err != nil || code != 1 || d.Schema != "tilescope.check/1" ||
		d.Verdict != "findings" {
		t.Fatalf("exit %d: %v %s", code, err, errText)
	}
	baseline := filepath.Join(t.TempDir(), "base.json")
	if err := os.WriteFile(baseline, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errText, code = call(t, append([]string{"check", racy, "--baseline", baseline},
		args...)...); code != 0 || !strings.Contains(out, "does not count: in the baseline") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
}

// TestCheckComments: options may stand in the kernel's text; the command line wins, and no file or limit
// is taken from there.
func TestCheckComments(t *testing.T) {
	path := kernelFile(t, "reduce.ptx", "// tilescope: --grid 2 --block 256",
		"// tilescope: --arg 0=ones:f32[512] --arg 1=zeros:f32[2] --arg 2=512")
	if out, errText, code := call(t, "check", path); code != 0 ||
		!strings.Contains(out, "grid 2,1,1, block 256,1,1: clean") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	out, errText, code := call(t, "check", path, "--grid", "1", "--arg", "2=256", "--json")
	var d report.Check
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Launch.Grid[0] != 1 ||
		d.Args[2].Source != "256" || d.Args[0].Source != "ones:f32[512]" {
		t.Errorf("exit %d: %v %s%s", code, err, out, errText)
	}
	for line, says := range map[string]string{
		"--dump /tmp/x": "may not choose files", "--nosuch 1": "unknown flag",
		"--grid x": "not a whole number", "stray": "is no option",
	} {
		if _, errText, code := call(t, "check", kernelFile(t, "reduce.ptx", "// tilescope: "+line,
			"// tilescope: --block 256")); code != 2 || !strings.Contains(errText, says) {
			t.Errorf("%s: exit %d: %s", line, code, errText)
		}
	}
}

// TestCheckRefusals: what is wrong with the command line is exit code 2 with the option's name.
func TestCheckRefusals(t *testing.T) {
	path := kernelFile(t, "reduce.ptx")
	for says, args := range map[string][]string{
		"--grid is missing":     {"--block", "1"},
		"--block is missing":    {"--grid", "1"},
		"found 4 numbers":       {"--grid", "1,2,3,4", "--block", "1"},
		`"x" is not a whole`:    {"--grid", "x", "--block", "1"},
		"expected NAME=VALUE":   {"--grid", "1", "--block", "1", "--arg", "5"},
		"no --arg for 0, 1, 2":  {"--grid", "1", "--block", "1"},
		"--shared 999999999":    {"--grid", "1", "--block", "1", "--shared", "999999999"},
		"--backend nosuch":      {"--grid", "1", "--block", "1", "--backend", "nosuch"},
		"--schedule nosuch":     {"--grid", "1", "--block", "1", "--schedule", "nosuch"},
		"--suppress":            {"--grid", "1", "--block", "1", "--suppress", "/nosuch"},
		"are for a source that": {"--grid", "1", "--block", "1", "-D", "X"},
	} {
		if out, errText, code := call(t, append([]string{"check", path}, args...)...); code != 2 ||
			!strings.Contains(errText, says) {
			t.Errorf("%q: exit %d: %s%s", says, code, out, errText)
		}
	}
	if _, errText, code := call(t, "check"); code != 2 || !strings.Contains(errText, "takes one FILE") {
		t.Errorf("exit %d: %s", code, errText)
	}
}
