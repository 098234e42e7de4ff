package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/file"
)

// includeLine is `#include "x"` or `#include <x>`, conditional or not.
var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]`)

var (
	// anyInclude is a directive that reads a file: 1 the directive, 2 and 3 a literal name, 4
	// anything else (a macro).
	anyInclude = regexp.MustCompile(
		`(?m)^[ \t]*#[ \t]*(include|include_next|import)\b[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\S.*))`)
	asked     = regexp.MustCompile(`__has_include(_next)?[ \t]*\([ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)`)
	blockNote = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// included is one file that a build may read: its absolute path and its text.
type included struct{ path, text string }

// closure is every file of a build's own directories that the build may read, whatever its conditions
// come to: every include is followed to every directory that has a file of that name. One file too many
// only makes a key too careful.
type closure struct {
	files []included // by path, each once
	// exact: every include is a plain relative name, so that a copy of files, searched in the same order,
	// is read as they are.
	exact bool
	// computed: an include's name is made by a macro, so that files may lack some.
	computed bool
	// refused are the includes whose first match is a pipe, where a compiler waits, or no file
	// that is read whole.
	refused []Diagnostic
}

// refusal is the error of a build that names such a header, nil where none does.
func (c closure) refusal(b Build) error {
	if len(c.refused) == 0 {
		return nil
	}
	return &CompileError{Name: b.Name, Diagnostics: c.refused}
}

// Included is a digest of the files that a build may read from directories of its own: it changes when
// one of them does. toolkit lists the directories of CUDA's headers, which may include a file of a
// build's own by its name.
func Included(b Build, toolkit []string) string {
	var h cache.Hasher
	closureOf(b, toolkit).add(&h, b)
	return h.Key().String()
}

// OwnHeaders returns the texts of the files that a build may read from directories of its own, by absolute
// path, as the overlay has them. toolkit lists the directories of CUDA's headers. exact is false where an
// overlay cannot change them: a name is absolute or made by a macro.
func OwnHeaders(b Build, toolkit []string) (texts map[string]string, exact bool) {
	c := closureOf(b, toolkit)
	texts = map[string]string{}
	for _, f := range c.files {
		texts[f.path] = f.text
	}
	return texts, c.exact
}

// add puts everything that a build may read into a key. Where names are computed it is every file below the
// directories, as size and time.
func (c closure) add(h *cache.Hasher, b Build) {
	for _, f := range c.files {
		h.Add(f.path, f.text)
	}
	if !c.computed {
		return
	}
	for _, dir := range b.searched() {
		h.Add(dir)
		h.List(below(dir))
	}
}

// maxBelow is how many files below a directory are looked at.
const maxBelow = 1 << 14

// below lists the files under a directory with size and time, in order.
func below(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(out) >= maxBelow {
			return filepath.SkipDir // what cannot be read is not included either
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			out = append(out, fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano()))
		}
		return nil
	})
	return out
}

// searched is where a build's own headers may be: its directories and, for what is named in
// quotes, the source's own.
func (b Build) searched() []string {
	if b.File == "" {
		return b.Include
	}
	dir := filepath.Dir(b.File)
	if slices.Contains(b.Include, dir) {
		return b.Include
	}
	return append(slices.Clone(b.Include), dir)
}

func closureOf(b Build, toolkit []string) closure {
	w := &closureWalk{
		dirs: b.searched(), overlay: b.Overlay, seen: map[string]bool{}, c: closure{exact: true},
	}
	if len(w.dirs) == 0 {
		return w.c
	}
	from := ""
	if b.File != "" {
		from = filepath.Dir(b.File)
		w.seen[b.File] = true
	}
	w.scan(b.Source, b.Name, from)
	ours := maps.Clone(standins())
	maps.Copy(ours, b.Builtin)
	for _, texts := range []map[string]string{b.Headers, ours} {
		for _, name := range sortedKeys(texts) {
			w.scan(texts[name], name, "")
		}
	}
	w.sameNames(ours, toolkit)
	slices.SortFunc(w.c.files, func(x, y included) int { return strings.Compare(x.path, y.path) })
	return w.c
}

type closureWalk struct {
	dirs    []string
	overlay map[string]string
	seen    map[string]bool
	c       closure
}

// scan follows the includes of a file's text that lies in dir ("": in no directory).
func (w *closureWalk) scan(text, file, dir string) {
	texts := []string{text}
	if plain := blockNote.ReplaceAllString(strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(text),
		" "); plain != text {
		texts = append(texts, plain) // a directive with a comment or a line's end in it
	}
	for _, text := range texts {
		for _, m := range anyInclude.FindAllStringSubmatch(text, -1) {
			if m[1] != "include" {
				w.c.exact = false // its meaning depends on the order of directories
			}
			if m[4] != "" && !strings.HasPrefix(m[4], "/*") {
				w.c.computed, w.c.exact = true, false
			}
			if err := w.find(m[2]+m[3], dir); err != nil {
				line := 1 + strings.Count(text[:strings.Index(text, m[0])], "\n")
				w.c.refused = append(w.c.refused, Diagnostic{
					File: file, Line: line, Severity: "error", Msg: "cannot include " + err.Error(),
				})
			}
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			_ = w.find(m[2]+m[3], dir) // a question is answered without reading
		}
	}
}

// find adds every file that a name may mean, and what those include. The error is that of the first of them,
// which is the one that a compiler reads.
func (w *closureWalk) find(name, dir string) error {
	switch name = filepath.FromSlash(name); {
	case name == "":
		return nil
	case filepath.IsAbs(name):
		w.c.exact = false
		_, err := w.add(filepath.Clean(name))
		return err
	}
	dirs := w.dirs
	if dir != "" {
		dirs = append([]string{dir}, dirs...)
	}
	var first error
	found := false
	for _, d := range dirs {
		there, err := w.join(d, name)
		if !found {
			first = err
		}
		found = found || there
	}
	return first
}

// join adds dir/name. A .. behind a symbolic link leads elsewhere than its text says.
func (w *closureWalk) join(dir, name string) (found bool, err error) {
	path := filepath.Join(dir, name)
	if strings.Contains(name, "..") {
		raw := dir + string(filepath.Separator) + name
		real, err := filepath.EvalSymlinks(filepath.Dir(raw))
		if text, _ := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && real != text {
			w.c.exact = false
			path = filepath.Join(real, filepath.Base(name))
		}
	}
	return w.add(path)
}

// maxText is the most bytes of a header that are read.
const maxText = 64 << 20

// readText reads a file that a source names, be it a header or the place of a complaint: a regular file of
// bounded size that the operating system does not make as it is read.
func readText(path string) ([]byte, error) {
	return file.Read(context.Background(), path, maxText, file.Want{What: "a header"})
}

// add adds a file, if a compiler would take it for one. The error says why one that it
// would take is not read.
func (w *closureWalk) add(path string) (found bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return false, nil
	case w.seen[path] || len(w.seen) > maxBelow:
		return true, nil
	}
	data, err := readText(path)
	if kind := (*file.Error)(nil); errors.As(err, &kind) && kind.Err != nil {
		return true, nil // it cannot be opened: the compiler says so where it needs the file
	}
	text, changed := w.overlay[path]
	switch {
	case changed:
	case err != nil:
		return true, err
	default:
		text = string(data)
	}
	w.seen[path] = true
	w.c.files = append(w.c.files, included{path, text})
	w.scan(text, path, filepath.Dir(path))
	return true, nil
}

// sameNames adds files that have the name of one of ours or of the toolkit's: a header of
// theirs may include it.
func (w *closureWalk) sameNames(ours map[string]string, toolkit []string) {
	for _, dir := range w.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			_, same := ours[e.Name()]
			for _, t := range toolkit {
				same = same || isFile(filepath.Join(t, e.Name()))
			}
			if same {
				_, _ = w.add(filepath.Join(dir, e.Name())) // it may not be included
			}
		}
	}
}
