package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tilescope/configs"
)

// TestCopyIsAKernelOfOnesOwn: every embedded kernel's copy can be opened where it was written, and has all
// that its source includes and its faults change.
func TestCopyIsAKernelOfOnesOwn(t *testing.T) {
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	patches := 0
	for _, m := range cat.Manifests {
		files, err := Copy(m)
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		dir := t.TempDir()
		for _, f := range files {
			path := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		own, err := configs.LoadManifest(t.Context(), filepath.Join(dir, files[0].Name))
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		for _, f := range own.Faults {
			if f.Patch == "" {
				continue
			}
			if patches++; !slices.ContainsFunc(files, func(c CopiedFile) bool { return c.Name == f.Patch }) {
				t.Errorf("%s: no %s", m.Name, f.Patch)
			}
		}
		if _, err := os.Stat(own.SourcePath()); err != nil {
			t.Error(err)
		}
		if _, err := Copy(own); err == nil {
			t.Errorf("%s: a copy of a copy", m.Name)
		}
	}
	if patches == 0 {
		t.Error("no fault of the catalogue is a patch")
	}
}
