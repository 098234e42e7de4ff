package checkrun

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTritonPlace: Triton counts lines from a kernel's def on.
func TestTritonPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "k.py")
	text := "import triton\n\n@triton.jit\ndef other(x):\n    pass\n\n" +
		"@triton.jit\ndef add(x,\n        y):\n    nope\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &tritonCompile{ctx: t.Context(), req: TritonRequest{File: file, Kernel: "add"}}
	at := x.place("CompilationError: at 3:4: def add(x, y): nope ^")
	if at == nil || at.Line != 10 || at.File != "k.py" {
		t.Errorf("at %+v, want k.py:10", at)
	}
	if at := x.place("ModuleNotFoundError: no module named that"); at != nil {
		t.Errorf("without a place: %+v", at)
	}
	x.req.Kernel = "missing"
	if at := x.place("at 3:4: def missing"); at != nil {
		t.Errorf("of a kernel that is not there: %+v", at)
	}
}
