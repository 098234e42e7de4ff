package python

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tilescope/debugkern/bundle"
)

// interpreter is the Python of PATH.
func interpreter(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH: the Python package is not tested")
	}
	return path
}

// TestUnit runs the package's own tests, with the standard library alone.
func TestUnit(t *testing.T) {
	out, err := exec.Command(interpreter(t), "-B", "-m", "unittest", "discover", "-s", "tests", "-t", ".").
		CombinedOutput()
	ran := regexp.MustCompile(`Ran (\d+) tests`).FindSubmatch(out)
	if err != nil || ran == nil || len(ran[1]) < 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFiles: all of the package is embedded, and nothing else.
func TestFiles(t *testing.T) {
	there, err := filepath.Glob(filepath.Join(Name, "*.py"))
	if err != nil || len(there) == 0 {
		t.Fatal(err)
	}
	embedded, err := fs.Glob(Files(), Name+"/*")
	if err != nil || len(embedded) != len(there) {
		t.Errorf("%d files, %d embedded (%v)", len(there), len(embedded), err)
	}
}

// written is a bundle that the package writes when a program is executed; PTX and path stand
// for themselves in it.
func written(t *testing.T, program string) *bundle.Bundle {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tsl")
	ptx, err := filepath.Abs(filepath.Join("..", "debugkern", "bundle", "testdata", "rowsum.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	program = "import array, struct, tilescope\n" +
		strings.NewReplacer("PTX", fmt.Sprintf("%q", ptx), "PATH", fmt.Sprintf("%q", path)).Replace(program)
	if out, err := exec.Command(interpreter(t), "-B", "-c", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := bundle.Open(t.Context(), path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestBundlesOpen: what the package writes, tilescope reads: every byte of it, and the values
// as they were given.
func TestBundlesOpen(t *testing.T) {
	b := written(t, `
rows = array.array("f", [i % 8 / 4 for i in range(130)])
part = memoryview(rows)
out = tilescope.unwritten((2,), "f32")
view = tilescope.Struct({0: rows, 8: (2, "i32"), 12: (64, "i32")})
tilescope.bundle(PTX, [view, part, out, 0.5], grid=2, block=64, shared=256, path=PATH, after={"arg2": array.array("f", [1, 2])})
`)
	if err := b.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Entry != "rowsum" || b.Origin != "ptx" || b.Launch.Grid != [3]int{2, 1, 1} ||
		b.Launch.Shared != 256 || len(b.Parameters) != 4 || len(b.Memory) != 2 {
		t.Errorf("%+v", b.Manifest)
	}
	if p := b.Parameters[0]; string(p.Bytes()[8:]) != "\x02\x00\x00\x00\x40\x00\x00\x00" ||
		len(p.Pointers) != 1 || p.Pointers[0].Memory != 0 {
		t.Errorf("%+v", p)
	}
	after, err := b.After(t.Context(), 1)
	if err != nil || after == nil || string(after.Data) != "\x00\x00\x80\x3f\x00\x00\x00\x40" {
		t.Errorf("%+v, %v", after, err)
	}
}

// TestVersion: the package's version is the one that its metadata has.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^version = "(.+)"$`).FindSubmatch(text)
	code, err := fs.ReadFile(Files(), Name+"/_bundle.py")
	if err != nil || version == nil ||
		!strings.Contains(string(code), fmt.Sprintf("VERSION = %q", version[1])) {
		t.Errorf("pyproject.toml has version %s, _bundle.py another (%v)", version, err)
	}
}
