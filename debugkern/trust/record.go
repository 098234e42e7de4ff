package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern/file"
)

// Record is the file with the user's consents. It is read whenever it is asked, so that a consent given
// elsewhere counts at once. A record that somebody else could have written is an error.
type Record struct {
	Path  string       // "": there is no place for it
	Files *file.System // how it is written; nil: the real file system
}

// Dir is what one consent covers.
type Dir struct {
	Dir   string `json:"dir"` // absolute, without symbolic links
	Files []File `json:"files"`
}

// File is one file as it was when consent was given.
type File struct {
	Path   string `json:"path"` // absolute, without symbolic links
	SHA256 string `json:"sha256"`
}

// document is the record's text.
type document struct {
	Schema string `json:"schema"`
	Dirs   []Dir  `json:"dirs"`
}

const (
	schema    = "tilescope.trusted/1"
	maxRecord = 4 << 20 // bytes
)

// ErrNoRecord is the error where there is no place for a record.
var ErrNoRecord = errors.New("there is no place for a record of what is trusted (no home directory)")

// List returns the consents, by directory; none where there is no record.
func (r *Record) List() ([]Dir, error) {
	if r.Path == "" {
		return nil, nil
	}
	text, err := file.Read(context.Background(), r.Path, maxRecord, file.Want{
		What: "a record of trusted files",
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := file.Unchangeable(r.Path); err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil || d.Schema != schema {
		return nil, fmt.Errorf("%s is no record of trusted files: remove it, and trust directories again",
			r.Path)
	}
	return d.Dirs, nil
}

// Describe returns what a consent to dir would cover: files as they are now, each once, ordered by path.
// Nothing is recorded. It reads every file whole, and ends with ctx.
func Describe(ctx context.Context, dir string, files []string) (Dir, error) {
	real, err := realPath(dir)
	if err != nil {
		return Dir{}, err
	}
	d := Dir{Dir: real, Files: []File{}}
	for _, path := range files {
		f := File{}
		if f.Path, err = realPath(path); err == nil {
			f.SHA256, err = digest(ctx, f.Path)
		}
		if err != nil {
			return Dir{}, err // it names the path
		}
		d.Files = append(d.Files, f)
	}
	slices.SortFunc(d.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	d.Files = slices.Compact(d.Files)
	return d, nil
}

// Digest is the SHA-256, in hex, of everything that a consent covers: two are equal where directory,
// paths and contents are.
func (d Dir) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", d.Dir)
	for _, f := range d.Files {
		fmt.Fprintf(h, "%s %q\n", f.SHA256, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Add records consent to files, all that would be used of dir, as they are now, in the place of an
// earlier consent to dir.
func (r *Record) Add(ctx context.Context, dir string, files []string) (Dir, error) {
	d, err := Describe(ctx, dir, files)
	if err != nil {
		return Dir{}, err
	}
	return d, r.Put(d)
}

// Put records a consent as it was described, in the place of an earlier one to the same directory. A file
// that has changed since it was described is not covered.
func (r *Record) Put(d Dir) error {
	return r.change(func(dirs []Dir) []Dir {
		dirs = append(without(dirs, d.Dir), d)
		slices.SortFunc(dirs, func(a, b Dir) int { return strings.Compare(a.Dir, b.Dir) })
		return dirs
	})
}

// Remove withdraws the consent to dir, which need not exist any more. It reports whether there was one.
func (r *Record) Remove(dir string) (bool, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	real, err := realPath(dir)
	if err != nil {
		real = abs
	}
	found := false
	err = r.change(func(dirs []Dir) []Dir {
		left := without(without(dirs, real), abs)
		found = len(left) < len(dirs)
		return left
	})
	return found, err
}

func without(dirs []Dir, dir string) []Dir {
	return slices.DeleteFunc(slices.Clone(dirs), func(d Dir) bool { return d.Dir == dir })
}

// change replaces the record by what edit makes of it. Two processes do not change it at once.
func (r *Record) change(edit func([]Dir) []Dir) error {
	if r.Path == "" {
		return ErrNoRecord
	}
	if err := r.Files.Mkdir(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	unlock, err := r.Files.Lock(r.Path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	dirs, err := r.List()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(document{schema, edit(dirs)}, "", "  ")
	if err != nil {
		return err
	}
	return r.Files.Write(r.Path, append(text, '\n'), 0o600)
}
