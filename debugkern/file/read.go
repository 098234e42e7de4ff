package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"tilescope/debugkern/join"
)

// Stdin is the path that stands for standard input, where Want.Pipe is set.
const Stdin = "-"

// Want says what a file should be.
type Want struct {
	What string // for messages, with its article: "a manifest", "PTX text"
	Pipe bool   // a pipe is read too, and Stdin
	// Like reports whether content looks like What; nil: any text does. Only such content is quoted by
	// Excerpt.
	Like func(content []byte) bool
}

// Error is a file that was not read, or not taken. Path is as the user gave it.
type Error struct {
	Path   string
	Reason string // "is a directory", "has more than 1024 bytes"
	Want   string // "expected a manifest in a regular file"; "" where nothing else would do
	Err    error  // of the operating system or the context; nil where the reason is ours
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", quoted(e.Path), e.Reason)
	if e.Want != "" {
		s += " (" + e.Want + ")"
	}
	return s
}

// Unwrap returns the cause, for errors.Is with fs.ErrNotExist or context.Canceled.
func (e *Error) Unwrap() error { return e.Err }

// fail makes the error of a path; err may be nil.
func (w Want) fail(path string, err error, format string, args ...any) error {
	want := "expected " + w.What + " in a regular file"
	if w.Pipe {
		want += " or a pipe"
	}
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...), Want: want, Err: err}
}

// system makes the error of a failed call, without the path and the call's name, which the message has
// already.
func (w Want) system(path string, err error) error {
	var pe *fs.PathError
	reason := err
	if errors.As(err, &pe) {
		reason = pe.Err
	}
	return &Error{Path: path, Reason: reason.Error(), Want: "expected " + w.What, Err: err}
}

// Open opens a regular file for reading at any place, and returns its size in bytes. What is larger than
// limit, or no regular file, is refused. The caller closes the file. It does not wait for the other end of a
// FIFO or for a device, and returns within 100 ms of the end of ctx. The errors are *Error.
func Open(ctx context.Context, path string, limit int64, want Want) (*os.File, int64, error) {
	return of(ctx).Open(ctx, path, limit, want)
}

// system is the key of a context's System.
type system struct{}

// With returns a context under which Read, Open and Rename go through s, whose steps may fail.
func With(ctx context.Context, s *System) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, system{}, s)
}

// Rename is System.Rename through the System of a context.
func Rename(ctx context.Context, from, to string) error { return of(ctx).Rename(from, to) }

// of is the System of a context; nil, the real one, where it has none.
func of(ctx context.Context) *System {
	s, _ := ctx.Value(system{}).(*System)
	return s
}

// Open is Open through s.
func (s *System) Open(ctx context.Context, path string, limit int64, want Want) (*os.File, int64, error) {
	want.Pipe = false
	type opened struct {
		f    *os.File
		size int64
	}
	o, err := under(ctx, path, want, func() (opened, error) {
		f, info, err := s.open(path, limit, want)
		if err != nil {
			return opened{}, err
		}
		return opened{f, info.Size()}, nil
	}, func(o opened) { o.f.Close() })
	return o.f, o.size, err
}

// under calls f in a goroutine and returns what it does, or ends with the context: a file system that does
// not answer cannot be interrupted. What f still returns then is dropped.
func under[T any](ctx context.Context, path string, want Want, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if ctx.Err() == nil {
		task := join.Start(func() result {
			v, err := f()
			return result{v, err}
		})
		select {
		case <-task.Done():
			if r := task.Wait(); ctx.Err() == nil || r.err == nil {
				return r.value, r.err
			}
		case <-ctx.Done():
			join.Run(func() {
				if r := task.Wait(); r.err == nil {
					drop(r.value)
				}
			})
		}
	}
	var none T
	return none, want.fail(path, ctx.Err(), "not read: %v", context.Cause(ctx))
}

// open checks what a path names before it is opened, as opening a device may do something, and again
// afterwards, as the path may name something else by then.
func (s *System) open(path string, limit int64, want Want) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = s.step(StepOpen, path)
	}
	if err != nil {
		return nil, nil, want.system(path, err)
	}
	if err := want.takes(path, info, limit); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, want.system(path, err)
	}
	if info, err = f.Stat(); err != nil {
		err = want.system(path, err)
	} else if err = want.takes(path, info, limit); err == nil && info.Mode().IsRegular() && answered(f) {
		err = want.fail(path, nil, "is made by the operating system as it is read")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// takes says why a file of this kind or size is not read; nil where it is.
func (w Want) takes(path string, info fs.FileInfo, limit int64) error {
	switch m := info.Mode(); {
	case m.IsDir():
		return w.fail(path, nil, "is a directory")
	case m&fs.ModeNamedPipe != 0 && w.Pipe:
	case m&fs.ModeNamedPipe != 0:
		return w.fail(path, nil, "is a FIFO")
	case m&fs.ModeSocket != 0:
		return w.fail(path, nil, "is a socket")
	case m&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		return w.fail(path, nil, "is a device")
	case !m.IsRegular():
		return w.fail(path, nil, "is not a regular file")
	case info.Size() > limit:
		return w.fail(path, nil, "has %d bytes, at most %d are read", info.Size(), limit)
	}
	return nil
}

// Read returns the content of the file that path names, at most limit bytes. It returns within 100 ms of the
// end of ctx, also where the file does not answer (a pipe that nobody writes to, a network that is gone). A
// FIFO that nobody has opened for writing is empty. The errors are *Error.
func Read(ctx context.Context, path string, limit int64, want Want) ([]byte, error) {
	return of(ctx).Read(ctx, path, limit, want)
}

// Read is Read through s.
func (s *System) Read(ctx context.Context, path string, limit int64, want Want) ([]byte, error) {
	return under(ctx, path, want, func() ([]byte, error) {
		if path == Stdin && want.Pipe {
			return readAll(ctx, os.Stdin, path, -1, limit, want)
		}
		f, info, err := s.open(path, limit, want)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := s.step(StepRead, path); err != nil {
			return nil, want.system(path, err)
		}
		size := int64(-1)
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		return readAll(ctx, f, path, size, limit, want)
	}, func([]byte) {})
}

// readAll reads f to its end; size is that of a regular file, else -1.
func readAll(ctx context.Context, f *os.File, path string, size, limit int64, want Want) ([]byte, error) {
	wake := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // a pipe's read ends
	defer wake()
	data, err := io.ReadAll(&underContext{ctx, io.LimitReader(f, limit+1)})
	switch {
	case err != nil:
		return nil, want.system(path, err)
	case int64(len(data)) > limit:
		return nil, want.fail(path, nil, "has more than %d bytes, which is the most that is read", limit)
	case size >= 0 && int64(len(data)) != size:
		return nil, want.fail(path, nil, "has %d bytes, but %d were read: it is being changed", size,
			len(data))
	}
	return data, nil
}

// underContext ends a stream of reads when the context does.
type underContext struct {
	ctx context.Context
	r   io.Reader
}

func (u *underContext) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}
