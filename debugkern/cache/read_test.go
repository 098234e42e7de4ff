package cache

import (
	"path/filepath"
	"syscall"
	"testing"

	"tilescope/debugkern/file"
)

// TestReadThatFails: an entry that cannot be opened or read is a miss, and stays: it may be
// whole. So does the secret.
func TestReadThatFails(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: filepath.Join(dir, "c"), KeyFile: filepath.Join(dir, "key"), Max: 1 << 20}
	key := Key{1}
	Open(o).Put(key, []byte("value"))
	for n := 1; ; n++ {
		count, failed := 0, ""
		faulty := o
		faulty.Files = file.Failing(func(step file.Step, path string) error {
			if count++; count == n {
				failed = string(step) + " " + filepath.Base(path)
				return syscall.EIO
			}
			return nil
		})
		value, ok := Open(faulty).Get(key)
		if again, kept := Open(o).Get(key); !kept || string(again) != "value" {
			t.Fatalf("operation %d, %s: the entry is gone", n, failed)
		}
		if failed == "" {
			if !ok || string(value) != "value" || n < 5 {
				t.Errorf("nothing failed of %d operations: %q, %v", count, value, ok)
			}
			return
		}
		if ok && string(value) != "value" {
			t.Errorf("operation %d, %s: %q", n, failed, value)
		}
	}
}
