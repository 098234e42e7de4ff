package gates

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tilescope/debugkern/file"
)

// unfinished is the folder in the output directory that a sweep keeps its measurements in until it has all of
// them, and lockFile the file there that the sweep at work has locked.
const (
	unfinished = ".unfinished"
	lockFile   = "lock"
)

// entrySchema names the layout of a measurement on disk.
const entrySchema = "tilescope.gates-measurement/1"

// maxEntry is the size of the largest file that is read as a measurement: a thousand times what one takes.
const maxEntry = 16 << 20

// entry is one measurement on disk. It counts only for the key it was made under, and only as it was written.
type entry struct {
	Schema string          `json:"schema"`
	Key    string          `json:"key"` // of everything the measurement depends on
	Sum    string          `json:"sum"` // SHA-256 of schema, key and value
	Value  json.RawMessage `json:"value"`
}

// sum is the checksum of an entry, in hexadecimal.
func (e *entry) sum() string { return digest(e.Schema + "\x00" + e.Key + "\x00" + string(e.Value)) }

// store holds finished measurements by a digest of all that they depend on, in memory and, where the sweep
// writes artefacts, on disk, one file each, so that a sweep which was killed at any moment goes on from
// there. One sweep at a time works in a directory. A finished sweep removes its store: who runs it again
// wants it measured again.
type store struct {
	files  *file.System
	dir    string // "" only in memory
	unlock func()
	known  map[string]json.RawMessage
	reused int // found on disk
	// rejected: files on disk that are not what a sweep wrote for this measurement: it was measured again
	rejected []string
}

// openStore makes the output directory, proves that it can be written to, and takes it for this sweep. The
// caller closes the store.
func openStore(files *file.System, out string) (*store, error) {
	s := &store{files: files, known: map[string]json.RawMessage{}, unlock: func() {}}
	if out == "" {
		return s, nil
	}
	s.dir = filepath.Join(out, unfinished)
	if err := files.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := files.Lock(filepath.Join(s.dir, lockFile))
	if err != nil {
		return nil, err
	}
	s.unlock = unlock
	files.Sweep(s.dir)
	err = files.Write(filepath.Join(s.dir, "README"),
		[]byte("Measurements of a sweep that is not finished. The same command goes on from here.\n"), 0o644)
	if err != nil {
		unlock()
		return nil, err
	}
	return s, nil
}

// close gives the directory up for the next sweep.
func (s *store) close() { s.unlock() }

// get reads a measurement into v, and reports whether there was one. A file that no sweep wrote for this key
// is listed in rejected.
func (s *store) get(key string, v any) bool {
	if b, ok := s.known[key]; ok {
		return json.Unmarshal(b, v) == nil
	}
	if s.dir == "" {
		return false
	}
	path := s.path(key)
	b, err := s.readEntry(path, key)
	if err == nil {
		err = decodeStrict(b, v)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		s.rejected = append(s.rejected, fmt.Sprintf("%s: %v", path, err))
		return false
	}
	s.known[key] = b
	s.reused++
	return true
}

func (s *store) path(key string) string { return filepath.Join(s.dir, key+".json") }

// readEntry returns the value of the measurement at path, which must be the one of key.
func (s *store) readEntry(path, key string) (json.RawMessage, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil, errors.New("no measurement")
	}
	b, err := s.files.Read(context.Background(), path, maxEntry, file.Want{What: "a measurement"})
	if err != nil {
		return nil, err
	}
	var e entry
	switch err := decodeStrict(b, &e); {
	case err != nil:
		return nil, err
	case e.Schema != entrySchema:
		return nil, fmt.Errorf("schema %q, expected %q", e.Schema, entrySchema)
	case e.Key != key:
		return nil, errors.New("it is of another measurement")
	case e.Sum != e.sum():
		return nil, errors.New("its checksum does not match")
	}
	return e.Value, nil
}

// decodeStrict decodes one JSON value without unknown fields, and nothing after it.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the measurement")
	}
	return nil
}

func (s *store) put(key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.known[key] = b
	if s.dir == "" {
		return nil
	}
	e := entry{Schema: entrySchema, Key: key, Value: b}
	e.Sum = e.sum()
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.files.Write(s.path(key), text, 0o644)
}

// finish removes the measurements, once the artefacts hold them.
func (s *store) finish() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// key is a digest of everything in parts; they are values that JSON can hold.
func key(parts ...any) (string, error) {
	b, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	return digest(string(b)), nil
}
