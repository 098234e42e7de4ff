package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A temporary file is called tempPrefix, random letters, tempSuffix.
const (
	tempPrefix = ".tilescope-"
	tempSuffix = ".tmp"
)

// abandonedAfter is the age from which a temporary file counts as left behind where files in
// use are not locked.
const abandonedAfter = time.Hour

// Sweep removes the user's temporary files that earlier processes have left in dir, and leaves those
// that a living process writes. A System looks at each directory once; Create does so by itself. What
// cannot be removed stays.
func (s *System) Sweep(dir string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	seen := s.swept[dir]
	s.swept[dir] = true
	s.mu.Unlock()
	if seen {
		return
	}
	names, err := filepath.Glob(filepath.Join(globEscape(dir), tempPrefix+"*"+tempSuffix))
	if err != nil {
		return
	}
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && info.Mode().IsRegular() && ownedByUser(info) && s.step(StepRemove, name) == nil {
			removeAbandoned(name, info)
		}
	}
}

func removeAbandoned(name string, info os.FileInfo) {
	if !locksInUse {
		if time.Since(info.ModTime()) > abandonedAfter {
			os.Remove(name)
		}
		return
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	if ok, err := lock.TryLock(); ok && err == nil {
		os.Remove(name)
	}
}

// globEscape makes a directory's name mean itself in a pattern.
func globEscape(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}

// Lock takes the lock file at path for this process until the returned function is called or the process
// ends. Where another living process has it, the error says so.
func (s *System) Lock(path string) (unlock func(), err error) {
	if err := s.step(StepCreate, path); err != nil {
		return nil, failed(StepCreate, path, err)
	}
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		lock.Close()
		return nil, failed(StepCreate, path, err)
	}
	if !ok {
		lock.Close()
		return nil, fmt.Errorf("%w: its lock file is %s", ErrLocked, path)
	}
	return func() { lock.Close() }, nil
}
