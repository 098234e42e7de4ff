package file

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
)

// Pending is a file that is being written. Its bytes appear at the destination with Commit, all at once;
// until then, and where Commit fails, what was there stays. A destination that is no regular file (a device,
// a pipe) is written directly. Write and Commit belong to one goroutine; Abandon may be called from any.
type Pending struct {
	sys *System
	f   *os.File
	buf *bufio.Writer // in front of f
	// lock: of the temporary file; nil where it is written directly, or the system locks no file in use
	lock   *flock.Flock
	path   string // as the caller named it, for messages
	target string // what is replaced: path, with the user's own symbolic links resolved
	direct bool

	once       sync.Once
	committing atomic.Bool
}

// Create begins to write the file at path, with permissions perm (before umask) where there is no file yet;
// the permissions of one that is replaced stay. The caller must call Commit or Abandon.
func (s *System) Create(path string, perm fs.FileMode) (*Pending, error) {
	target, err := destination(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory; name a file", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(target, os.O_WRONLY|dontWait, 0)
		if err != nil {
			return nil, failed(StepCreate, path, err)
		}
		p := &Pending{sys: s, f: f, path: path, target: target, direct: true}
		p.buf = bufio.NewWriterSize(unbuffered{p}, bufferSize)
		return p, nil
	case err == nil:
		perm = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist): // a name that is too long: no file can get it
		return nil, failed(StepCreate, path, err)
	}
	s.Sweep(filepath.Dir(target))
	p := &Pending{sys: s, path: path, target: target}
	p.buf = bufio.NewWriterSize(unbuffered{p}, bufferSize)
	if err = s.step(StepCreate, path); err == nil {
		err = p.open(perm)
	}
	if err != nil {
		return nil, failed(StepCreate, path, err)
	}
	if info != nil {
		err = p.f.Chmod(perm) // the umask has no say in permissions that were there before
	}
	s.track(p, true)
	if err != nil {
		p.Abandon()
		return nil, failed(StepCreate, path, err)
	}
	return p, nil
}

// open creates the temporary file and locks it.
func (p *Pending) open(perm fs.FileMode) error {
	for {
		name := filepath.Join(filepath.Dir(p.target), tempPrefix+rand.Text()+tempSuffix)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return err
		}
		p.f = f
		if !locksInUse {
			return nil
		}
		p.lock = flock.New(name, flock.SetFlag(os.O_RDONLY))
		if ok, err := p.lock.TryLock(); ok && exists(name) {
			return nil
		} else if err != nil && exists(name) {
			p.lock = nil // a file system without locks: nobody removes what others left there
			return nil
		}
		f.Close() // somebody has swept it away between its creation and its lock
	}
}

// exists reports whether there is a file of that name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// bufferSize is how many bytes are collected before they are written.
const bufferSize = 1 << 16

// Write implements io.Writer. The error, which may be of an earlier write, names the destination.
func (p *Pending) Write(b []byte) (int, error) { return p.buf.Write(b) }

// unbuffered writes to the file itself.
type unbuffered struct{ p *Pending }

func (u unbuffered) Write(b []byte) (int, error) {
	p := u.p
	if err := p.sys.step(StepWrite, p.path); err != nil {
		n, _ := p.f.Write(b[:len(b)/2]) // the injected failure is the error
		return n, failed(StepWrite, p.path, err)
	}
	n, err := p.f.Write(b)
	return n, failed(StepWrite, p.path, err)
}

// Direct reports whether the bytes go to the destination as they are written: it is a device or a pipe.
func (p *Pending) Direct() bool { return p.direct }

// Commit flushes the bytes to the disk and puts the file in its place. After an error the destination is what
// it was before, and the temporary file is gone.
func (p *Pending) Commit() error { return p.commit(os.Rename) }

// CommitNew is Commit where no file may be replaced: where there is one by now, the error is fs.ErrExist.
func (p *Pending) CommitNew() error {
	return p.commit(func(from, to string) error {
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	})
}

func (p *Pending) commit(place func(from, to string) error) error {
	err, step := errors.New("the write was abandoned"), StepSync
	p.once.Do(func() {
		defer p.release()
		p.committing.Store(true)
		if err = p.buf.Flush(); err == nil && !p.direct {
			if err = p.sys.step(StepSync, p.path); err == nil {
				err = p.f.Sync()
			}
		}
		if cerr := p.f.Close(); err == nil {
			err = cerr
		}
		if p.direct {
			return
		}
		if err == nil {
			step = StepRename
			if err = p.sys.step(StepRename, p.path); err == nil {
				err = place(p.f.Name(), p.target)
			}
		}
		if err != nil {
			os.Remove(p.f.Name())
			return
		}
		syncDir(filepath.Dir(p.target))
	})
	var named *pathError
	if errors.As(err, &named) {
		return err // of a write
	}
	return failed(step, p.path, err)
}

// Abandon gives the write up and removes the temporary file. After Commit it does nothing. It does not wait
// for a Commit under way, which may last as long as the disk is busy: the temporary file is removed, and the
// Commit fails unless the file was in its place already.
func (p *Pending) Abandon() {
	if p.committing.Load() {
		if !p.direct {
			os.Remove(p.f.Name())
		}
		return
	}
	p.once.Do(func() {
		p.f.Close()
		if !p.direct {
			os.Remove(p.f.Name())
		}
		p.release()
	})
}

func (p *Pending) release() {
	if p.lock != nil {
		p.lock.Close() // releases the lock; the file it is of has its final name, or is gone
	}
	p.sys.track(p, false)
}
