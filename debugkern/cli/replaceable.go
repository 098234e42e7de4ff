package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
)

// A fileKind is what an option writes. A file that exists is replaced only where it is of that kind, so that
// a command can be repeated, and a slip (--dump kernel.cu) destroys nothing.
type fileKind struct {
	what string // with its article, for messages
	like func(head []byte) bool
}

// headBytes is how much of a file decides its kind.
const headBytes = 4096

var (
	dumpFile   = fileKind{"a dump of tilescope (.npz)", likeDump}
	htmlFile   = fileKind{"a page of tilescope (.html)", likePage}
	sarifFile  = fileKind{"a SARIF log of tilescope", likeSARIF}
	bundleFile = fileKind{"a launch bundle (" + bundle.Ext + ")", likeBundle}
)

// The local header of a zip archive's first member (APPNOTE 6.3.10, section 4.3.7): signature, and where the
// time of change, the length of the name and the name are. emptyZip is the signature of an archive without
// members.
const (
	zipMember, emptyZip          = "PK\x03\x04", "PK\x05\x06"
	zipTime, zipLength, zipNames = 10, 26, 30
)

// firstMember is the name of a zip archive's first member, and its time of change as the header has it.
func firstMember(head []byte) (name string, time uint32, ok bool) {
	if len(head) < zipNames || !bytes.HasPrefix(head, []byte(zipMember)) {
		return "", 0, false
	}
	n := int(head[zipLength]) | int(head[zipLength+1])<<8
	if len(head) < zipNames+n {
		return "", 0, false
	}
	for i := range 4 {
		time |= uint32(head[zipTime+i]) << (8 * i)
	}
	return string(head[zipNames : zipNames+n]), time, true
}

// likeDump tells an archive that npy.Writer wrote, which states no time, from one of NumPy, which states 1980
// and is the user's.
func likeDump(head []byte) bool {
	name, time, ok := firstMember(head)
	return ok && time == 0 && filepath.Ext(name) == ".npy" || bytes.HasPrefix(head, []byte(emptyZip))
}

func likeBundle(head []byte) bool {
	name, _, ok := firstMember(head)
	return ok && name == "bundle.json"
}

func likePage(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!doctype html>")) &&
		bytes.Contains(head, []byte("<title>tilescope"))
}

var sarifDriver = regexp.MustCompile(`"driver":\s*\{\s*"name":\s*"tilescope"`)

func likeSARIF(head []byte) bool { return sarifDriver.Match(head) }

// replaceable refuses a path where something else than a kind's file lies. An empty file, as mktemp makes it,
// a device and a pipe are no loss.
func (a *app) replaceable(ctx context.Context, option, path string, kind fileKind) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // what cannot be written in its place is the next step's to report
	}
	head, err := readHead(file.With(ctx, a.Files), path, kind)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return usageError("%s %s: the file exists and cannot be read, so that its kind is not known: name "+
			"another file, or remove this one first", option, path)
	case err != nil:
		return usageError("%s: %w", option, err)
	case !kind.like(head):
		return usageError("%s %s: the file exists and is not %s: name another file, or remove this one first",
			option, path, kind.what)
	}
	return nil
}

func readHead(ctx context.Context, path string, kind fileKind) ([]byte, error) {
	f, size, err := file.Open(ctx, path, math.MaxInt64, file.Want{What: kind.what})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, min(size, headBytes))
	_, err = io.ReadFull(f, head)
	return head, err
}
