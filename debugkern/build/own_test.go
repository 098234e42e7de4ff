package build

import (
	"os"
	"path/filepath"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
)

// TestAnEditedSourceIsAnotherBuild: what is kept of a build must not outlive the text that it was made of.
func TestAnEditedSourceIsAnotherBuild(t *testing.T) {
	dir := t.TempDir()
	m := &configs.Manifest{Name: "mine", Source: "mine.cu", Dir: dir}
	s := New(cuda.Config{})
	sourceDigest := func(m *configs.Manifest) string {
		return s.sourceDigest(t.Context(), &configs.Selection{Manifest: m})
	}
	write := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "mine.cu"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return sourceDigest(m)
	}
	a, b := write("int a;"), write("int b;")
	if a == b || a != write("int a;") {
		t.Errorf("digests %q and %q", a, b)
	}
	header := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "own.cuh"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	header("int c;")
	a = write("#include \"own.cuh\"\n")
	if header("int d;"); sourceDigest(m) == a {
		t.Error("an edited header beside the source is the same build")
	}
	if m.Dir = ""; sourceDigest(m) != "" {
		t.Error("an embedded source has a digest")
	}
}
