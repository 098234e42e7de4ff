package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/hostcode"
)

// TestNotesNameWhatIsLeftOut: every part that no compiler has looked at is named with its line, also one that
// is no declaration.
func TestNotesNameWhatIsLeftOut(t *testing.T) {
	const kernel = "__global__ void k(float* x) {\n    x[threadIdx.x] = 1.0f;\n}\n"
	for source, want := range map[string]string{
		"garbage(":  "left out: garbage (line 4)",
		"int x = ;": "left out: x (line 4)",
		")":         "left out: `)` (line 4)",
		"garbage":   "left out: `garbage` (line 4)",
		"int a;\nint b;\nint c;\nint d;\nint e;\nint f;\nint g;\nint h = ;": "a (line 4), b (line 5), " +
			"c (line 6), d (line 7), e (line 8), f (line 9) and 2 more (lines 10, 11)",
	} {
		x := translate(cuda.Build{Name: "k.cu", Source: kernel + source + "\n"}, nil, nil)
		notes := strings.Join(x.finish(&Build{}, true).Outline.notes(), "\n")
		if !strings.Contains(notes, "the device's part alone was compiled") ||
			!strings.Contains(notes, want) {
			t.Errorf("%q: notes %q, expected %q", source, notes, want)
		}
	}
}

// TestHeaderThatIsNoFile: a header of the user's that cannot be read, as a device cannot, is not left out
// as one that is not available: the compiler reports it.
func TestHeaderThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "device")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "own.h"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	find := finder(cuda.Build{File: filepath.Join(dir, "k.cu")}, nil, nil)
	for name, want := range map[string]hostcode.Origin{
		"device": hostcode.Own, "own.h": hostcode.Own, filepath.Join(dir, "own.h"): hostcode.Own,
		os.DevNull: hostcode.Own, "folder": hostcode.Missing, "vector": hostcode.Missing,
	} {
		if got := find(name, false); got != want {
			t.Errorf("%s: origin %d, want %d", name, got, want)
		}
	}
}

// compiled is a compiler with one answer.
type compiled struct {
	ptx *cuda.PTX
	err error
}

func (c compiled) Compile(context.Context, cuda.Build) (*cuda.PTX, error) { return c.ptx, c.err }

// TestBracketsOfWhatIsLeftOut: a bracket of the host's part that nothing closes is an error with its place,
// although the device's part compiles, and comes before the complaints that follow from it.
func TestBracketsOfWhatIsLeftOut(t *testing.T) {
	const kernel = "__global__ void k(float* x) {\n    x[threadIdx.x] = 1.0f;\n}\n"
	follows := &cuda.CompileError{Name: "k.cu", Diagnostics: []cuda.Diagnostic{{File: "k.cu", Line: 7,
		Severity: "error", Msg: "expected a declaration"}}}
	same := &cuda.CompileError{Name: "k.cu", Diagnostics: []cuda.Diagnostic{{File: "k.cu", Line: 4,
		Severity: "error", Msg: "expected a )"}}}
	for _, c := range []struct {
		source string
		err    error
		want   string
	}{
		{"int main() { return 0; }\n", nil, ""},
		{"int main() {\n  if (1) {\n  return 0;\n}\n", nil, "k.cu:4:12: this { is never closed"},
		{"int main() { }\n}\n", nil, "k.cu:5:1: nothing opens this }"},
		{"int main() {\n", follows, "k.cu:4:12: this { is never closed; k.cu:7: expected a declaration"},
		{"int main( { }\n", same, "k.cu:4: expected a )"},
		{"int main() {\n", errors.New("no compiler"), "no compiler"},
	} {
		b := cuda.Build{Name: "k.cu", Source: kernel + c.source}
		d := deviceCompiler{compiled{&cuda.PTX{}, c.err}, translate(b, nil, nil)}
		p, err := d.Compile(t.Context(), b)
		got := ""
		if ce := (*cuda.CompileError)(nil); errors.As(err, &ce) {
			var all []string
			for _, d := range ce.Diagnostics {
				all = append(all, d.String())
			}
			got = strings.Join(all, "; ")
		} else if err != nil {
			got = fmt.Sprint(err)
		}
		if got != c.want || (p == nil) != (err != nil) {
			t.Errorf("%q: %q, expected %q", c.source, got, c.want)
		}
	}
}
