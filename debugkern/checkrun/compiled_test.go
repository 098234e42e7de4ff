package checkrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
)

// TestCompilerNotes: what the compiler repairs is advice next to the error that it hides on a GPU, and a
// kernel that it need not repair has none.
func TestCompilerNotes(t *testing.T) {
	dir := filepath.Join("..", "..", ".toolchain")
	tools, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: dir})
	if err != nil || tools.PTXAS == "" {
		t.Skipf("no ptxas on this machine: %v", err)
	}
	defer tools.Close()
	s, err := debugkern.Open(t.Context(), debugkern.Options{Config: &configs.Config{Toolchain: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	early, err := os.ReadFile("testdata/wgmma-early.ptx")
	if err != nil {
		t.Fatal(err)
	}
	const store, wait = "\tst.global.f32 [%rd1], %f0;\n", "\twgmma.wait_group.sync.aligned 0;\n"
	right := filepath.Join(t.TempDir(), "right.ptx")
	if err := os.WriteFile(right, []byte(strings.Replace(string(early), store+wait, wait+store, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/wgmma-early.ptx", right} {
		req := request("", 1, 128, "0=unwritten:f32[128]")
		req.File = file
		c, err := Kernel(t.Context(), s, req, nil)
		if err != nil {
			t.Fatal(err)
		}
		var errs, notes []report.Finding
		for _, f := range c.Doc.Findings {
			if f.Severity == "error" {
				errs = append(errs, f)
			} else if f.Kind == "wgmma" {
				notes = append(notes, f)
			}
		}
		if file == right {
			if len(errs)+len(notes) > 0 {
				t.Errorf("a right kernel: %+v", c.Doc.Findings)
			}
			continue
		}
		if len(errs) != 1 || errs[0].Kind != "wgmma" || errs[0].Source.Line != 18 {
			t.Errorf("errors %+v", errs)
		}
		if len(notes) != 1 || !strings.HasPrefix(notes[0].Message, "ptxas ") ||
			!strings.Contains(notes[0].Message, " reports of t: ") || notes[0].Source == nil ||
			notes[0].Source.Line < 16 || notes[0].Source.Line > 18 || notes[0].Missing == nil ||
			!strings.Contains(notes[0].Consequence, "does not show that the PTX is right") {
			t.Errorf("notes %+v", notes)
		}
	}
}
