package checkrun

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestWithoutLaunch: the refusal has a launch to begin with where the text shows a kernel.
func TestWithoutLaunch(t *testing.T) {
	for _, c := range []struct{ file, text, entry, want string }{
		{"k.cu", "__global__ void k(float *x, int n) {}", "", "of k(float * x, int n); for example " +
			"--grid 3 --block 128 --arg 'x=zeros:f32[384]' --arg n=384"},
		{"k.cu", "__global__ void k(float *x) {}", "other", ""},
		{"k.cu", "int main() {}", "", ""},
		{"k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n" +
			".visible .entry k(.param .u32 k_0) { ret; }", "",
			"parameter of k; for example --grid 3 --block 128 --arg 0=384"},
		{"k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n" +
			".visible .entry k(.param .u32 k_0) { ret; }\n.visible .entry l(.param .u32 l_0) { ret; }", "",
			"parameter of k, 1 of 2 kernels (others: --entry l); for example --entry k --grid 3 --block 128 --arg 0=384"},
		{"k.ptx", "no PTX", "", ""},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := WithoutLaunch(t.Context(), path, c.entry, "grid")
		var usage *report.Error
		var missing *MissingLaunch
		if !errors.As(err, &usage) || usage.Code != report.CodeUsage || !errors.As(err, &missing) {
			t.Errorf("%q: %#v", c.text, err)
			continue
		}
		options := missing.Launch().Options
		if !strings.HasPrefix(err.Error(), "--grid is missing; expected X[,Y[,Z]]") ||
			!strings.HasSuffix(err.Error(), c.want) || (options == nil) != (c.want == "") {
			t.Errorf("%q: %v, options %q", c.text, err, options)
		}
	}
	if err := WithoutLaunch(t.Context(), filepath.Join(t.TempDir(), "none.cu"), "", "block"); err == nil ||
		err.Error() != "--block is missing; expected X[,Y[,Z]]" {
		t.Errorf("a file that is not there: %v", err)
	}
}
