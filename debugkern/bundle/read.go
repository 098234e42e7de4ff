package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tilescope/debugkern/file"
	"tilescope/debugkern/npy"
)

// Bundle is an opened file. Its methods may not be called concurrently.
type Bundle struct {
	Manifest
	Path    string
	file    *os.File
	archive *npy.Archive
	size    int64
	budget  int64 // bytes that a memory may take
}

// Open opens a bundle and reads its description; budget is how many bytes its texts and arrays may take in
// all. The errors are *Error, *npy.Error and *file.Error, each naming the file. The caller closes it.
func Open(ctx context.Context, path string, budget int64) (*Bundle, error) {
	f, size, err := file.Open(ctx, path, budget, file.Want{What: "a bundle (" + Ext + ")"})
	if err != nil {
		return nil, err
	}
	b, err := read(ctx, f, size, path, budget)
	if err != nil {
		f.Close()
		return nil, err
	}
	b.file = f
	return b, nil
}

// read reads a bundle's description, and checks that the archive has what it calls for and nothing else.
func read(ctx context.Context, r io.ReaderAt, size int64, path string, budget int64) (*Bundle, error) {
	archive, err := npy.Open(r, size, path, budget)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Path: path, archive: archive, size: size, budget: budget}
	text, err := archive.Content(ctx, manifestMember, maxManifest)
	if err != nil {
		return nil, err
	}
	if err = b.parse(text); err == nil {
		err = b.Check()
	}
	if err == nil {
		err = b.present()
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		e.File = path
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// parse reads bundle.json: one document, of known keys.
func (b *Bundle) parse(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b.Manifest); err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			return &Error{
				Field: typed.Field, Reason: fmt.Sprintf("expected %s, found %s", typed.Type, typed.Value),
			}
		}
		return &Error{Reason: err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Reason: "something follows the description"}
	}
	return nil
}

// present compares the archive's members with those that the description calls for.
func (b *Bundle) present() error {
	want := b.members()
	for _, m := range b.archive.Members() {
		i := slices.Index(want, m.Name)
		if i < 0 {
			return &Error{
				Reason: fmt.Sprintf("the archive has a member %s, which is not described", shown(m.Name)),
			}
		}
		want = slices.Delete(want, i, i+1)
	}
	if len(want) > 0 {
		return &Error{Reason: fmt.Sprintf("the archive has no member %s", shown(want[0]))}
	}
	return nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.file.Close() }

// Members lists what the file holds, in its order.
func (b *Bundle) Members() []npy.Member { return b.archive.Members() }

// Size returns the file's bytes.
func (b *Bundle) Size() int64 { return b.size }

// PTX returns the module.
func (b *Bundle) PTX(ctx context.Context) ([]byte, error) { return b.text(ctx, moduleMember, b.Module) }

// Text returns the source that debug lines name path; ok is false where the bundle has none.
func (b *Bundle) Text(ctx context.Context, path string) (text []byte, ok bool, err error) {
	i := slices.IndexFunc(b.Sources, func(s Source) bool { return s.Path == path })
	if i < 0 {
		return nil, false, nil
	}
	text, err = b.text(ctx, sourceFolder+path, b.Sources[i].SHA256)
	return text, err == nil, err
}

// Verify reads everything that the file holds and keeps nothing of it. It is for a bundle of which nothing
// was read before: what it reads counts against the budget.
func (b *Bundle) Verify(ctx context.Context) error {
	if _, err := b.PTX(ctx); err != nil {
		return err
	}
	for _, s := range b.Sources {
		if _, _, err := b.Text(ctx, s.Path); err != nil {
			return err
		}
	}
	for i := range b.Memory {
		for _, read := range []func(context.Context, int) (*Contents, error){b.Before, b.After} {
			if _, err := read(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// text reads a text and compares its digest.
func (b *Bundle) text(ctx context.Context, member, digest string) ([]byte, error) {
	text, err := b.archive.Content(ctx, member, maxText)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return nil, &npy.Error{
			File: b.Path, Member: member, Reason: fmt.Sprintf("has the digest %x", sum), Want: digest,
		}
	}
	return text, nil
}

// Contents is what is known of a memory at some moment: all of its bytes, and for each of them 0xff where it
// is known and 0 where it is not. Known is nil where all are.
type Contents struct{ Data, Known []byte }

// Before returns the contents of the i-th memory before the launch; nil where nothing was written to it.
func (b *Bundle) Before(ctx context.Context, i int) (*Contents, error) {
	return b.contents(ctx, i, beforeFolder, b.Memory[i].Before)
}

// After returns what is known of the i-th memory after the launch; nil where nothing is.
func (b *Bundle) After(ctx context.Context, i int) (*Contents, error) {
	return b.contents(ctx, i, afterFolder, b.Memory[i].After)
}

func (b *Bundle) contents(ctx context.Context, i int, folder string, ranges []Range) (*Contents, error) {
	m := &b.Memory[i]
	if ranges == nil {
		return nil, nil
	}
	if m.size > b.budget/2 {
		return nil, &Error{
			File: b.Path, Field: fmt.Sprintf("memory[%d]", i),
			Reason: fmt.Sprintf("%s has %d bytes, and %d are left for it", m.Name, m.size, b.budget/2),
		}
	}
	a, err := b.archive.Read(ctx, folder+m.Name)
	if err != nil {
		return nil, err
	}
	if n := covered(ranges); int64(len(a.Data)) != n {
		return nil, &npy.Error{
			File: b.Path, Member: folder + m.Name + arrayExt,
			Reason: fmt.Sprintf("has %d bytes of elements", len(a.Data)), Want: fmt.Sprint(n),
		}
	}
	if m.whole(ranges) {
		return &Contents{Data: a.Data}, nil
	}
	c := &Contents{Data: bytes.Repeat([]byte{0xff}, int(m.size)), Known: make([]byte, m.size)}
	from := int64(0)
	for _, r := range ranges {
		copy(c.Data[r[0]:r[0]+r[1]], a.Data[from:from+r[1]])
		for j := r[0]; j < r[0]+r[1]; j++ {
			c.Known[j] = 0xff
		}
		from += r[1]
	}
	return c, nil
}
