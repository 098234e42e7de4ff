package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// outputFile is a file that an option names. It is written beside its destination and renamed into place, so that a failed
// run leaves nothing half-written. A destination that is no regular file (a device, a pipe) is written directly.
type outputFile struct {
	*os.File
	option string // "--dump", to complain by
	path   string
	direct bool
	done   bool
}

// createOutput opens the destination that an option names before anything runs: an unwritable output is bad input. No path is
// no output.
func createOutput(option, path string) (*outputFile, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, usageError("%s %s: is a directory; name a file", option, path)
	}
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, usageError("%s %s: cannot write there: %w", option, path, err)
		}
		return &outputFile{File: f, option: option, path: path, direct: true}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tilescope-*")
	if err != nil {
		var where *os.PathError // names the file beside it, which nobody asked for
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, usageError("%s %s: cannot write in %s: %w", option, path, filepath.Dir(path), err)
	}
	return &outputFile{File: f, option: option, path: path}, nil
}

// write fills the output and puts it in place; a nil output does nothing.
func (d *outputFile) write(fill func(io.Writer) error) error {
	if d == nil {
		return nil
	}
	err := fill(d)
	if err == nil {
		err = d.commit()
	}
	if err != nil {
		return usageError("%s %s: %w", d.option, d.path, err)
	}
	return nil
}

func (d *outputFile) commit() error {
	if d.direct {
		d.done = true
		return d.Close()
	}
	if err := d.Chmod(0o644); err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	d.done = true
	return os.Rename(d.Name(), d.path)
}

func (d *outputFile) abandon() {
	if d != nil && !d.done {
		d.Close()
		if !d.direct {
			os.Remove(d.Name())
		}
	}
}
