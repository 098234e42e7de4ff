// Package file is how tilescope reads the files that a user names, and how it replaces files of its own.
//
// Reading (read.go): a path may name anything, so there is one way to read it. Only a regular file is read
// (or a pipe, where the caller asks for one), up to a limit, under a context, and opening never waits. A file
// of /proc or /sys is not a regular file, whatever its mode says: its content is the kernel's answer, the
// environment of a process for one. An error says what the path is and what was expected; of a file's content
// it shows at most a short, escaped excerpt, and only where the content looks like what was expected.
//
// Writing (pending.go): a file is replaced as a whole or not at all. Everything is written to a temporary
// file in the destination's directory, flushed to the disk, and renamed over the destination. A reader sees
// the old file or the new one, whoever is killed when. A temporary file is locked by the process that writes
// it, so that the next process which writes to the same directory can tell a file that was left behind from
// one in use, and removes it (Sweep).
//
// A System is the file system as one process uses it. It lists the temporary files that are open, so that
// they can be removed when a signal ends the process, and tests can make each of its steps, reads among them,
// fail in turn. Whoever reads under a context reads through the System that the context has (With).
//
// The package must not know what a file is for beyond what Want says.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Step is one operation on the file system that can fail.
type Step string

// The steps, in the order in which one file goes through them.
const (
	StepMkdir  Step = "create directory"
	StepCreate Step = "create"
	StepWrite  Step = "write"
	StepSync   Step = "flush"
	StepRename Step = "rename"
	StepRemove Step = "remove"
	StepOpen   Step = "open"
	StepRead   Step = "read"
)

// ErrLocked is the error of Lock where another living process has the lock.
var ErrLocked = errors.New("another process is at work there")

// System is the file system as one process uses it. It is safe for concurrent use. A nil *System works: it
// removes no temporary files at the end of the process and leaves abandoned ones where they are.
type System struct {
	fail func(Step, string) error

	mu      sync.Mutex
	pending map[*Pending]struct{}
	swept   map[string]bool // directories whose abandoned files were removed
}

// New returns the real file system.
func New() *System { return Failing(nil) }

// Failing returns a file system whose steps fail where fail returns an error: for tests. A write that fails
// has written half of its bytes.
func Failing(fail func(step Step, path string) error) *System {
	return &System{fail: fail, pending: map[*Pending]struct{}{}, swept: map[string]bool{}}
}

func (s *System) step(step Step, path string) error {
	if s == nil || s.fail == nil {
		return nil
	}
	return s.fail(step, path)
}

// Mkdir creates a directory and its parents with permissions perm (before umask); one that
// exists is left as it is.
func (s *System) Mkdir(dir string, perm fs.FileMode) error {
	err := s.step(StepMkdir, dir)
	if err == nil {
		err = os.MkdirAll(dir, perm)
	}
	return failed(StepMkdir, dir, err)
}

// Rename gives the file at from the name to, in the place of what has that name.
func (s *System) Rename(from, to string) error {
	err := s.step(StepRename, from)
	if err == nil {
		err = os.Rename(from, to)
	}
	return failed(StepRename, from, err)
}

// Write replaces the file at path by data, with permissions perm (before umask) where there was none. Missing
// directories are an error. Errors name the step and the path.
func (s *System) Write(path string, data []byte, perm fs.FileMode) error {
	p, err := s.Create(path, perm)
	if err != nil {
		return err
	}
	defer p.Abandon()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// Abandon removes the temporary file of every write that is under way: for the end of a process that does not
// unwind. Those writes fail from then on.
func (s *System) Abandon() {
	if s == nil {
		return
	}
	s.mu.Lock()
	open := make([]*Pending, 0, len(s.pending))
	for p := range s.pending {
		open = append(open, p)
	}
	s.mu.Unlock()
	for _, p := range open {
		p.Abandon()
	}
}

func (s *System) track(p *Pending, on bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.pending[p] = struct{}{}
	} else {
		delete(s.pending, p)
	}
}

// failed adds the step and the path to an error of the operating system, which would otherwise name a
// temporary file that the user has never heard of.
func failed(step Step, path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return &pathError{step, path, err}
}

// pathError is a step that failed, and the file that the caller named.
type pathError struct {
	step Step
	path string
	err  error
}

func (e *pathError) Error() string { return fmt.Sprintf("%s %s: %v", e.step, e.path, e.err) }

func (e *pathError) Unwrap() error { return e.err }

// Reason is the operating system's reason in an error of this package's writes, without the step and the
// path, for a caller that names them itself; any other error is returned as it is.
func Reason(err error) error {
	var p *pathError
	if errors.As(err, &p) {
		return p.err
	}
	return err
}

// destination resolves the file that is to be replaced. A symbolic link that belongs to the user stays, and
// the file it leads to is replaced; a link of another user could lead anywhere and is refused.
func destination(path string) (string, error) {
	for range 40 { // as many links as Linux follows
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil // a missing file is made; any other error comes up when it is created
		}
		if !ownedByUser(info) {
			return "", fmt.Errorf(
				"write %s: it is a symbolic link that belongs to another user; name the file itself", path)
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", failed(StepCreate, path, err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("write %s: too many symbolic links", path)
}
