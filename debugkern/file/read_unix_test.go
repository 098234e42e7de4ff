//go:build unix

package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fifo makes a FIFO, and opens it for writing where it has a writer.
func fifo(t *testing.T, writer bool) (string, *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if !writer {
		return path, nil
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return path, w
}

func TestFIFO(t *testing.T) {
	path, _ := fifo(t, false)
	start := time.Now()
	if _, err := Read(t.Context(), path, 100, manifest); err == nil ||
		!strings.Contains(err.Error(), "is a FIFO") {
		t.Errorf("read: %v", err)
	}
	pipe := Want{What: "x", Pipe: true}
	_, _, err := Open(t.Context(), path, 100, pipe)
	if err == nil || !strings.Contains(err.Error(), "is a FIFO") {
		t.Errorf("open: %v", err)
	}
	if text, err := Read(t.Context(), path, 100, pipe); err != nil || len(text) != 0 {
		t.Errorf("a FIFO without a writer: %q, %v", text, err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	// A writer that writes nothing: the read ends with its context.
	path, _ = fifo(t, true)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	start = time.Now()
	_, err = Read(ctx, path, 100, pipe)
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 30*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	// A writer that writes too much, to another FIFO: the read before may still be about to end.
	path, w := fifo(t, true)
	go func() { _, _ = w.WriteString(strings.Repeat("x", 101)) }()
	if _, err = Read(t.Context(), path, 100, pipe); err == nil ||
		!strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("%v", err)
	}
}

func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = was }()
	go func() { _, _ = w.WriteString("text"); w.Close() }()
	pipe := Want{What: "x", Pipe: true}
	if text, err := Read(t.Context(), Stdin, 100, pipe); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(t.Context(), Stdin, 100, manifest); err == nil {
		t.Error("standard input was read where no pipe is wanted")
	}
}
