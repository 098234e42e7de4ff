//go:build unix

package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnchangeable: a file counts as safe only where nobody else owns or may write to it, to a directory that
// leads to it, or to a link on the way.
func TestUnchangeable(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	lib := filepath.Join(dir, "lib.so")
	elsewhere := filepath.Join(root, "elsewhere")
	for _, d := range []string{dir, elsewhere} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(lib, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		filepath.Join(root, "file"): lib, filepath.Join(root, "dir"): dir,
		filepath.Join(elsewhere, "relative"): "../file",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	ways := []string{
		lib, filepath.Join(root, "file"), filepath.Join(root, "dir", "lib.so"),
		filepath.Join(elsewhere, "relative"),
	}
	for _, way := range ways {
		if err := Unchangeable(way); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
	for name, open := range map[string]struct{ path string }{
		"the file": {lib}, "its directory": {dir}, "a directory above": {filepath.Join(root, "a")},
	} {
		info, err := os.Stat(open.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []os.FileMode{0o020, 0o002} {
			if err := os.Chmod(open.path, info.Mode().Perm()|mode); err != nil {
				t.Fatal(err)
			}
			for _, way := range ways {
				if err := Unchangeable(way); err == nil ||
					!strings.Contains(err.Error(), "can be written to by other users") {
					t.Errorf("%s by way of %s, mode %o: %v", name, way, mode, err)
				}
			}
		}
		if err := os.Chmod(open.path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(elsewhere, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Unchangeable(filepath.Join(elsewhere, "relative")); err == nil ||
		!strings.Contains(err.Error(), elsewhere) {
		t.Errorf("a link in a directory that others may write to: %v", err)
	}
	if err := Unchangeable(filepath.Join(root, "absent")); err == nil {
		t.Error("a file that is not there is safe")
	}
	loop := filepath.Join(root, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if err := Unchangeable(loop); err == nil {
		t.Error("a link to itself is safe")
	}
	if os.Getuid() != 0 {
		return // giving a file away needs root: the remaining case is run where tests run as root
	}
	if err := os.Lchown(lib, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	for _, way := range ways[:3] {
		if err := Unchangeable(way); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s, which another user owns: %v", way, err)
		}
	}
}
