package debugkern

import (
	"os"
	"path/filepath"
	"testing"

	"tilescope/configs"
)

// TestAnEditedSourceIsAnotherBuild: what is kept of a build must not outlive the text that it was made of.
func TestAnEditedSourceIsAnotherBuild(t *testing.T) {
	dir := t.TempDir()
	m := &configs.Manifest{Name: "mine", Source: "mine.cu", Dir: dir}
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
	if m.Dir = ""; sourceDigest(m) != "" {
		t.Error("an embedded source has a digest")
	}
}
