//go:build unix

package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHeadersThatAreNoFiles: what a source includes, or names as the place of a mistake, may be a pipe or a
// file larger than memory. Looking for headers neither waits nor reads it.
func TestHeadersThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.h")
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(dir, "fifo.h"), 0o600), os.WriteFile(huge, []byte("x"), 0o600),
		os.Truncate(huge, 1<<40),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b := Build{
		Name: "k.cu", Source: "#include \"fifo.h\"\n#include \"huge.h\"\n", File: filepath.Join(dir, "k.cu"),
		Include: []string{dir},
	}
	start := time.Now()
	c := closureOf(b, nil)
	if len(c.files) != 0 {
		t.Errorf("%d files were read", len(c.files))
	}
	var refused *CompileError
	if err := c.refusal(b); !errors.As(err, &refused) || len(refused.Diagnostics) != 2 ||
		refused.Diagnostics[0].Line != 1 || refused.Diagnostics[1].Line != 2 {
		t.Errorf("the compiler would wait for a pipe: %v", err)
	}
	first := t.TempDir() // a header of that name that is found before
	if err := os.WriteFile(filepath.Join(first, "fifo.h"), []byte("int x;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	right := Build{
		Name: "k.cu", Source: "#include <fifo.h>\n#if __has_include(\"huge.h\")\n#endif\n",
		Include: []string{first, dir},
	}
	if err := closureOf(right, nil).refusal(right); err != nil {
		t.Errorf("a pipe that is not read is refused: %v", err)
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
	if code := LaunchMain(t.Context(), path, &out, &said); code != 1 ||
		!strings.Contains(said.String(), "is a FIFO") {
		t.Errorf("exit %d: %s", code, said.String())
	}
}
