//go:build unix

package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHeadersThatAreNoFiles: what a source includes, or names as the place of a mistake, may be a pipe or a file larger than memory.
// Looking for headers neither waits nor reads it.
func TestHeadersThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.h")
	for _, err := range []error{syscall.Mkfifo(filepath.Join(dir, "fifo.h"), 0o600), os.WriteFile(huge, []byte("x"), 0o600), os.Truncate(huge, 1<<40)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b := Build{Name: "k.cu", Source: "#include \"fifo.h\"\n#include \"huge.h\"\n", File: filepath.Join(dir, "k.cu"), Include: []string{dir}}
	start := time.Now()
	if c := closureOf(b, nil); len(c.files) != 0 {
		t.Errorf("%d files were read", len(c.files))
	}
	for _, name := range []string{"fifo.h", "huge.h"} {
		if lines := b.lines()(name); lines != nil {
			t.Errorf("%s has %d lines", name, len(lines))
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestLaunchFromAPipe: the launch is a file, and a pipe that nobody writes to is refused at once.
func TestLaunchFromAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	if code := LaunchMain(t.Context(), path, &out, &said); code != 1 || !strings.Contains(said.String(), "is a FIFO") {
		t.Errorf("exit %d: %s", code, said.String())
	}
}
