package cuda

import (
	"fmt"
	"path/filepath"
	"slices"
)

// OverlayError is a header of a build's Overlay that the compiler cannot be given: nothing was compiled.
type OverlayError struct {
	Path string // of the header
	Why  string
}

func (e *OverlayError) Error() string {
	return fmt.Sprintf("%s is to be read with changes, and %s", e.Path, e.Why)
}

// overlaid reports whether headers are read with other texts than their files have. The error is an
// *OverlayError for one of which that is impossible: where it is not read at all, or where copies of the
// headers cannot take the files' place.
func (b Build) overlaid(c closure) (bool, error) {
	headers := false
	for _, path := range sortedKeys(b.Overlay) {
		if path == b.File {
			continue
		}
		headers = true
		if !slices.ContainsFunc(c.files, func(f included) bool { return f.path == path }) {
			return true, &OverlayError{path, "the source does not include it"}
		}
		if !c.exact {
			return true,
				&OverlayError{
					path, "the source has includes that only the files themselves satisfy: absolute, made by a macro, or #include_next",
				}
		}
	}
	return headers, nil
}

// mirror writes the source and the headers of a build, as they are to be read, below dir, and returns the
// build that reads them there, with the original path of every copy.
func (b Build) mirror(dir string, c closure) (Build, map[string]string, error) {
	original := map[string]string{mirrored(dir, b.File): b.File}
	if err := writeBelow(mirrored(dir, b.File), b.Source); err != nil {
		return b, nil, err
	}
	for _, f := range c.files {
		original[mirrored(dir, f.path)] = f.path
		if err := writeBelow(mirrored(dir, f.path), f.text); err != nil {
			return b, nil, err
		}
	}
	var include []string
	for _, d := range b.searched() {
		include = append(include, mirrored(dir, d))
	}
	b.Include, b.File = append(include, b.searched()...), mirrored(dir, filepath.Clean(b.File))
	return b, original, nil
}
