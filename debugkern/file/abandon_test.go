package file

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAbandonDoesNotWait ends a process while the disk takes its time with a flush: the temporary file is
// gone at once, and the destination is what it was.
func TestAbandonDoesNotWait(t *testing.T) {
	flushing, release := make(chan struct{}), make(chan struct{})
	s := Failing(func(step Step, _ string) error {
		if step == StepSync {
			close(flushing)
			<-release
		}
		return nil
	})
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.WriteFile(path, []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- s.Write(path, []byte("later"), 0o600) }()
	<-flushing
	abandoned := make(chan struct{})
	go func() { s.Abandon(); close(abandoned) }()
	select {
	case <-abandoned:
	case <-time.After(10 * time.Second):
		t.Error("Abandon waits for the flush")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v left, want state.json alone", names, err)
	}
	close(release)
	if err := <-written; err == nil {
		t.Error("an abandoned write succeeded")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "earlier" {
		t.Errorf("%q, %v: the destination was changed", b, err)
	}
}
