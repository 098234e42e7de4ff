//go:build unix

package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }

// forged performs a sweep, to its end or until it is killed, and replaces every file of it.
func forged(b *box, args []string, killed bool, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := b.command(ctx, nil, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	if killed {
		time.Sleep(150 * time.Millisecond) // in the middle of the sweep, wherever that is
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // a sweep that is red ends with 1
	return filepath.WalkDir(filepath.Join(b.work, "g"), func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it was killed before it wrote anything
		}
		if err != nil || !d.Type().IsRegular() || temporary.MatchString(path) {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
}

// atOnce performs n sweeps into one directory at the same time. Each ends with its verdict, or is refused
// because another is there; one at least comes to its end.
func atOnce(b *box, n int) error {
	var group sync.WaitGroup
	var finished atomic.Int64
	wrong := make([]error, n)
	for i := range n {
		group.Go(func() {
			a := attack{args: sweep, within: 60 * time.Second}
			got, err := a.run(b)
			switch {
			case err != nil:
			case got.code == 0:
				finished.Add(1)
			case got.code != 2 || !strings.Contains(got.errors, "another process is at work there"):
				err = fmt.Errorf("sweep %d of %d: exit %d: %s", i, n, got.code, got.errors)
			}
			wrong[i] = err
		})
	}
	group.Wait()
	if finished.Load() == 0 {
		wrong = append(wrong, fmt.Errorf("none of %d sweeps came to its end", n))
	}
	return errors.Join(wrong...)
}
