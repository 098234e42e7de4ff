package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"tilescope/debugkern/file"
	"tilescope/debugkern/text"
)

// outputFile is a file that an option names. It is replaced as a whole, so that a failed run leaves nothing
// half-written. A destination that is no regular file (a device, a pipe) is written directly.
type outputFile struct {
	*file.Pending
	option string // "--dump", to complain by
}

// createOutput opens the destination that an option names before anything runs: an unwritable output is bad
// input, and so is a file of another kind, which would be lost. No path is no output.
func (a *app) createOutput(ctx context.Context, option, path string, kind fileKind) (*outputFile, error) {
	if path == "" {
		return nil, nil
	}
	if err := a.replaceable(ctx, option, path, kind); err != nil {
		return nil, err
	}
	p, err := a.Files.Create(path, 0o666)
	if err != nil {
		return nil, usageError("%s %s: cannot write in %s: %w", option, path, filepath.Dir(path),
			file.Reason(err))
	}
	return &outputFile{Pending: p, option: option}, nil
}

// outputs are the files that a command's options name, each with what it is filled with.
type outputs []struct {
	option, path string
	kind         fileKind
	fill         func(io.Writer) error
	file         *outputFile
}

// create opens all of them before anything runs; the caller abandons them.
func (o outputs) create(ctx context.Context, a *app) (err error) {
	for i := range o {
		if o[i].file, err = a.createOutput(ctx, o[i].option, o[i].path, o[i].kind); err != nil {
			return err
		}
	}
	return nil
}

func (o outputs) abandon() {
	for i := range o {
		o[i].file.abandon()
	}
}

// write fills all of them, and puts all in place or, where one cannot be written, none.
func (o outputs) write() error {
	for i := range o {
		if err := o[i].file.fill(o[i].fill); err != nil {
			return err
		}
	}
	for i := range o {
		if err := o[i].file.commit(); err != nil {
			return err
		}
	}
	return nil
}

// write fills the output and puts it in place; a nil output does nothing.
func (d *outputFile) write(fill func(io.Writer) error) error {
	err := d.fill(fill)
	if err == nil {
		err = d.commit()
	}
	return err
}

// fill writes the contents; a nil output does nothing.
func (d *outputFile) fill(fill func(io.Writer) error) error {
	if d == nil {
		return nil
	}
	return d.refused(fill(d))
}

// commit puts the output in place; a nil output does nothing.
func (d *outputFile) commit() error {
	if d == nil {
		return nil
	}
	return d.refused(d.Commit())
}

// refused is an error of writing as the user reads it.
func (d *outputFile) refused(err error) error {
	if err == nil {
		return nil
	}
	return usageError("%s: %w", d.option, err)
}

// abandon gives the output up unless it was written; a nil output does nothing.
func (d *outputFile) abandon() {
	if d != nil {
		d.Abandon()
	}
}

// stdout is standard output. It remembers the first write that failed, since text is printed in many small
// writes whose callers do not look: a document that was not written whole is never exit 0. Whatever is
// written is shown as package text shows foreign text; only the help keeps its styles.
type stdout struct {
	w            io.Writer
	err          error
	shown, style *text.Writer
}

func newStdout(w io.Writer) *stdout {
	s := &stdout{w: w}
	s.shown, s.style = text.NewWriter((*checked)(s)), text.NewStyledWriter((*checked)(s))
	return s
}

func (s *stdout) Write(b []byte) (int, error) { return s.shown.Write(b) }

// flush writes an unfinished character that the output ends with.
func (s *stdout) flush() {
	for _, w := range []*text.Writer{s.shown, s.style} {
		_ = w.Flush() // checked remembers it
	}
}

// checked is the writing to what lies below stdout.
type checked stdout

func (s *checked) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	s.err = err
	return n, err
}

// closed reports that the reader went away: exit 141, without a message.
func (s *stdout) closed() bool {
	return errors.Is(s.err, syscall.EPIPE) || errors.Is(s.err, io.ErrClosedPipe)
}

// Unwrap returns what is written to: the terminal needs the file itself.
func (s *stdout) Unwrap() io.Writer { return s.w }

// stderr is standard error, with foreign text as package text shows it.
type stderr struct {
	*text.Writer
	w io.Writer
}

func newStderr(w io.Writer) *stderr { return &stderr{text.NewWriter(w), w} }

// errorFile returns what a writer to standard error writes to, where that is a file, or nil. Whoever writes
// there itself, such as a meter with its sequences, makes foreign text safe.
func errorFile(w io.Writer) *os.File {
	if s, ok := w.(*stderr); ok {
		w = s.w
	}
	f, _ := w.(*os.File)
	return f
}
