package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordRefusals: a wrong command line is exit code 2 before the program is executed, a program that does
// not use CUDA is 4, and neither leaves a file.
func TestRecordRefusals(t *testing.T) {
	t.Setenv("CUDA_INJECTION64_PATH", "")
	dir := t.TempDir()
	ran, out := filepath.Join(dir, "ran"), filepath.Join(dir, "out.tsl")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"record"}, "takes a program after --"},
		{[]string{"record", "touch", ran}, "takes a program after --"},
		{[]string{"record", "x", "--", "touch", ran}, "takes a program after --"},
		{[]string{"record", "--nth", "-1", "--", "touch", ran}, "--nth -1"},
		{[]string{"record", "--kernel", "(", "--", "touch", ran}, "--kernel ("},
		{[]string{"record", "--out", filepath.Join(dir, "x.ptx"), "--", "touch", ran}, "extension .tsl"},
		{[]string{"record", "--out", filepath.Join(dir, "no", "x.tsl"), "--", "touch", ran}, "cannot write"},
		{[]string{"record", "--out", out, "--", filepath.Join(dir, "nosuch")}, "no such file"},
	} {
		text, errText, code := call(t, c.args...)
		if code != 2 || text != "" || !strings.Contains(errText, c.want) {
			t.Errorf("%v: exit %d: %s%s", c.args, code, text, errText)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a refused command executed the program")
	}
	text, errText, code := call(t, "record", "--json", "--out", out, "--", "sh", "-c", "echo printed; exit 3")
	if code == 3 { // no C compiler, or no Linux
		t.Skip(errText)
	}
	if code != 4 || text != "" || !strings.Contains(errText, "printed\n") ||
		!strings.Contains(errText, "ended without initialising CUDA (sh ended with exit status 3)") {
		t.Errorf("exit %d: %s%s", code, text, errText)
	}
	_, errText, code = call(t, "record", "--timeout", "100ms", "--out", out, "--", "sh", "-c", "sleep 600")
	if code != 4 || !strings.Contains(errText, "(sh was ended after its time limit of 100ms)") {
		t.Errorf("--timeout: exit %d: %s", code, errText)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was left")
	}
}
