package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// read reads a log of these lines behind a launch of one parameter of 16 bytes.
func read(t *testing.T, lines ...string) (*log, error) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Join(append([]string{
		"launch\tk\tcuLaunchKernel", "param\t0\t0\t128\t" + strings.Repeat("00", 128),
	}, lines...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "events.7"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readEvents(dir)
}

// TestForeignEvents: a program may write to the log of the library in it. Numbers that name nothing are an
// error, never an index.
func TestForeignEvents(t *testing.T) {
	const most, dims = "18446744073709551615", "\t16\t0\t16\t1"
	for _, line := range []string{
		"word\t" + most + "\t0\t4096\t0", "word\t0\t" + most + "\t4096\t0", "word\t0\t121\t4096\t0",
		"word\t0\t0\t4096\t" + most, "word\t1\t0\t4096\t0", "extent\t" + most + "\t4096\t16\t1",
		"extent\t0\t4096\t" + most + "\t1", "param\t" + most + "\t0\t1\t00", "param\t1\t0\t" + most + "\t00",
		"map\t" + most + "\t0\t0\t4096\t0\t1\t0\t0\t0\t0" + dims,
		"map\t0\t" + most + "\t0\t4096\t0\t1\t0\t0\t0\t0" + dims,
		"map\t0\t0\t" + most + "\t4096\t0\t1\t0\t0\t0\t0" + dims,
		"map\t0\t0\t-2\t4096\t0\t1\t0\t0\t0\t0" + dims,
		"map\t0\t0\t0\t4096\t0\t" + most + "\t0\t0\t0\t0" + dims,
		"map\t0",
	} {
		if _, err := read(t, line); !errors.Is(err, errEvents) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestMapOfNoMemory: a tensor map of memory that is not the GPU's is named as such.
func TestMapOfNoMemory(t *testing.T) {
	l, err := read(t, "map\t0\t0\t-1\t4096\t0\t1\t0\t0\t0\t0\t16\t0\t16\t1")
	if err != nil {
		t.Fatal(err)
	}
	b := &writing{l: l.launched}
	if _, err := b.mapOf(0); err == nil || !strings.Contains(err.Error(), "no memory of the GPU") {
		t.Errorf("got %v", err)
	}
}
