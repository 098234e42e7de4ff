package debugkern

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/child"
	"tilescope/debugkern/expect"
	"tilescope/debugkern/file"
	"tilescope/probes"
)

// maxAnswers is how many answers of commands a session stores: a flag that is toggled asks for the same one
// again.
const maxAnswers = 4

// answer executes a command, or returns what it wrote before for the same inputs, while no file of its folder
// has changed.
func (e *execution) answer(r *probes.Reference) (*expect.Archive, error) {
	wrong := func(err error) error {
		if err == nil || OutOfMemory(err) {
			return err
		}
		return &expect.Error{At: r.At, Kind: r.Kind, Err: err}
	}
	dir, err := os.MkdirTemp("", "tilescope-reference-")
	if err != nil {
		return nil, wrong(err)
	}
	defer os.RemoveAll(dir)
	q := &question{e: e, r: r, folder: e.r.sel.Manifest.Dir, given: filepath.Join(dir, "arguments.npz"),
		wanted: filepath.Join(dir, "reference.npz")}
	key, err := q.prepare()
	if err != nil {
		return nil, wrong(err)
	}
	a, err := e.s.answers.Get(e.ctx, key, q.ask)
	if err != nil {
		return nil, wrong(err)
	}
	archive, err := e.archive(a.content, r.Source()+": the archive that it wrote")
	return archive, wrong(err)
}

// answer is the archive that a command wrote.
type answer struct{ content []byte }

// question is one execution of a command.
type question struct {
	e             *execution
	r             *probes.Reference
	folder        string
	given, wanted string // the archives: of the arguments, and the one to write
}

// prepare writes the arguments, and returns what an answer depends on.
func (q *question) prepare() (key string, err error) {
	f, err := os.OpenFile(q.given, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = writeArguments(q.e.ctx, io.MultiWriter(f, h), q.e.r, q.e.st.inputs)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%q %q %s\n", q.folder, q.r.Command, q.r.Timeout)
	if !stamp(q.e.ctx, h, q.folder, q.r.Command) {
		fmt.Fprintf(h, "%q\n", q.given) // of nobody else
	}
	return hex.EncodeToString(h.Sum(nil)), q.e.ctx.Err()
}

// maxStamped is how many files of a folder are looked at: a command in a larger one is executed each time.
const maxStamped = 1 << 12

// stamp writes to h which files a folder has, and the command's words name, and when each was changed; false
// where there are too many. Hidden folders, and those in which Python stores what it compiled, do not count.
func stamp(ctx context.Context, h hash.Hash, folder string, words []string) bool {
	n := 0
	one := func(path string, info fs.FileInfo) {
		fmt.Fprintf(h, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	for _, w := range words {
		if !filepath.IsAbs(w) {
			w = filepath.Join(folder, w)
		}
		if info, err := os.Stat(w); err == nil && info.Mode().IsRegular() {
			one(w, info)
		}
	}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxStamped || ctx.Err() != nil {
			return errTooMany
		}
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__") {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil {
			one(path, info)
		}
		return nil
	})
	return err == nil
}

var errTooMany = errors.New("too many files")

// ask executes the command and reads what it wrote.
func (q *question) ask() (*answer, error) {
	name := q.r.Source()
	q.e.progress(Progress{Phase: "reference", Detail: name})
	ctx, cancel := context.WithTimeoutCause(q.e.ctx, q.r.Timeout,
		fmt.Errorf("it did not end within its time limit of %s", q.r.Timeout))
	defer cancel()
	limit := q.e.s.mem.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	folder, err := filepath.Abs(q.folder)
	if err != nil {
		return nil, err
	}
	err = child.Run(ctx, child.Command{
		Dir: folder, Argv: append(append([]string{}, q.r.Command...), q.given, q.wanted), MaxFile: limit,
		Printed: func(line string) {
			q.e.progress(Progress{Phase: "reference", Detail: name + ": " + line, Printed: line})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	info, err := os.Lstat(q.wanted)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: it ended without an error and wrote no archive; "+
			"its last argument is the path of the .npz to write", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: where the archive should be is %s, not a regular file", name,
			kindOfFile(info.Mode()))
	}
	content, err := file.Read(q.e.ctx, q.wanted, limit, file.Want{What: "a NumPy archive (.npz)"})
	var unread *file.Error
	if errors.As(err, &unread) && unread.Err == nil {
		return nil, fmt.Errorf("%s: the archive that it wrote %s", name, unread.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	release, err := q.e.s.mem.Reserve("the answer of "+name, int64(len(content)))
	if err != nil {
		return nil, err
	}
	a := &answer{content}
	budget.Until(q.e.s.mem, a, release)
	return a, nil
}

// kindOfFile names what is no regular file.
func kindOfFile(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
