// Package dl opens shared libraries at run time and binds their functions to Go func variables.
//
// The one idea: it is the whole of the boundary to foreign code. No other package imports unsafe or purego;
// what they see is a Library and typed Go functions. A file per system says how a library is opened there;
// with tag nogpu, and on systems that purego does not know, every Open fails with ErrUnsupported.
//
// It must not know CUDA.
package dl

import (
	"errors"
	"fmt"
)

// ErrUnsupported is what Open returns where this build cannot load libraries.
var ErrUnsupported = errors.New("this build of tilescope cannot load shared libraries")

// Library is an opened shared library. It stays open until the process ends: closing one that has started
// threads of its own is not safe.
type Library struct {
	Path   string // as it was opened
	handle uintptr
}

// Open loads a library by path, or by bare name along the loader's own search path.
func Open(path string) (*Library, error) {
	h, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return &Library{Path: path, handle: h}, nil
}

// Bind makes fptr, a pointer to a func variable, call the library's function of that name. Pointers,
// slices (their first element's address), strings (copied, zero terminated) and integers pass as C would
// expect; a C string comes back as a Go string, copied. What a pointer argument points to must not be
// retained by the callee.
func (l *Library) Bind(fptr any, name string) error {
	sym, err := symbol(l.handle, name)
	if err != nil {
		return fmt.Errorf("%s: symbol %s: %w", l.Path, name, err)
	}
	bind(fptr, sym)
	return nil
}
