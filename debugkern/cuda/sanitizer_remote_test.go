//go:build unix

package cuda

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hosted is a sanitizer on another machine, reached by a script in which WORKER stands for the worker. The
// tool there is the other script.
func hosted(t *testing.T, script, tool string) (SanitizerConfig, *Link) {
	t.Helper()
	t.Setenv(toolsOf, scriptedSanitizer(t, tool).Tools.Path)
	return linkedSanitizer(t, script)
}

// linkedSanitizer is one without a tool.
func linkedSanitizer(t *testing.T, script string) (SanitizerConfig, *Link) {
	t.Helper()
	backend, link := linkedConfig(t, script)
	return SanitizerConfig{Worker: backend.Worker, Library: backend.Library}, link
}

const clean = `echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" > "$log"`

// TestSanitizeThereRefusals: what is missing there is what would be missing here, and names the machine.
func TestSanitizeThereRefusals(t *testing.T) {
	cfg, _ := hosted(t, "exec WORKER", clean)
	sanitized := func(cfg SanitizerConfig, tool string) error {
		_, err := Sanitize(t.Context(), cfg, tool, module(t, "copy", ""), "copy", floats(12))
		return err
	}
	if err := sanitized(cfg, "racecheck"); err != nil {
		t.Error(err)
	}
	if err := sanitized(cfg, "nosuch"); err == nil || !strings.Contains(err.Error(), "memcheck, racecheck") {
		t.Errorf("another tool: %v", err)
	}
	missing := cfg
	missing.Library = "/nonexistent/libcuda.so.1"
	if err := sanitized(missing, "racecheck"); !errors.Is(err, ErrNoDriver) ||
		!strings.HasPrefix(err.Error(), "host box: ") {
		t.Errorf("no driver: %v", err)
	}
	t.Setenv("CUDA_HOME", "")
	t.Setenv(toolsOf, t.TempDir())
	if isFile("/usr/local/cuda/bin/compute-sanitizer") {
		t.Skip("this machine has one that cannot be hidden")
	}
	cfg, _ = linkedSanitizer(t, "PATH=/usr/bin:/bin; exec WORKER")
	if err := sanitized(cfg, "racecheck"); !errors.Is(err, ErrNoSanitizer) ||
		!strings.HasPrefix(err.Error(), "host box: ") {
		t.Errorf("none: %v", err)
	}
}

// TestSanitizeThereIsLost: a connection that breaks off while the tool runs ends the tool, and it runs again.
func TestSanitizeThereIsLost(t *testing.T) {
	quick(t)
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	// the first tool would run for long: its worker loses its input as soon as it does
	cfg, link := hosted(t, "if test -e "+pid+"; then exec WORKER; fi; "+
		"{ while ! test -s "+pid+"; do head -c 16 2>/dev/null || break; done; } | WORKER; "+
		"echo 'Connection reset by peer' >&2; exit 255",
		"if test -e "+pid+"; then "+clean+"; exit; fi; echo $$ >"+pid+"; sleep 1000")
	got, err := Sanitize(t.Context(), cfg, "racecheck", module(t, "copy", ""), "copy", floats(12))
	if err != nil || got.Summary == "" || link.Stats().Lost != 1 {
		t.Fatalf("%+v, %v, %+v", got, err, link.Stats())
	}
	gone(t, pid)
}

// gone waits until the process is that a file names.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(n, 0) == nil; {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSanitizeThereIsCancelled: the tool ends with its request, and at its time limit.
func TestSanitizeThereIsCancelled(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	cfg, _ := hosted(t, "exec WORKER", "echo $$ >"+pid+"; sleep 1000 & wait")
	ctx, cancel := context.WithCancel(t.Context())
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(pid); len(text) > 1 {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := Sanitize(ctx, cfg, "memcheck", module(t, "copy", ""), "copy", floats(12)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
	cancel()
	<-stop
	gone(t, pid)
	cfg.Timeout = 300 * time.Millisecond
	_, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "copy", ""), "copy", floats(12))
	if err == nil || !strings.Contains(err.Error(), "time limit of 300ms") ||
		!strings.HasPrefix(err.Error(), "host box: ") {
		t.Errorf("got %v", err)
	}
}
