package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// unfinished is the folder in the output directory that a sweep keeps its measurements in until it has all of them.
const unfinished = ".unfinished"

// store holds finished measurements by a digest of all that they depend on, in memory and, where the sweep writes artefacts,
// on disk: one file each, written beside and renamed, so that a sweep killed at any moment leaves whole ones only. A finished
// sweep takes its store away: who runs it again wants it measured again.
type store struct {
	dir    string // "" only in memory
	known  map[string]json.RawMessage
	reused int // found on disk
}

// openStore makes the output directory, and proves that it can be written to.
func openStore(out string) (*store, error) {
	s := &store{known: map[string]json.RawMessage{}}
	if out == "" {
		return s, nil
	}
	s.dir = filepath.Join(out, unfinished)
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	return s, writeFile(filepath.Join(s.dir, "README"), []byte("Measurements of a sweep that is not finished. The same command goes on from here.\n"))
}

// get reads a measurement into v. A file that is not whole is as good as none.
func (s *store) get(key string, v any) bool {
	if b, ok := s.known[key]; ok {
		return json.Unmarshal(b, v) == nil
	}
	if s.dir == "" {
		return false
	}
	b, err := os.ReadFile(filepath.Join(s.dir, key+".json"))
	if err != nil || json.Unmarshal(b, v) != nil {
		return false
	}
	s.known[key] = b
	s.reused++
	return true
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
	return writeFile(filepath.Join(s.dir, key+".json"), b)
}

// finish takes the measurements away, once the artefacts hold them.
func (s *store) finish() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// writeFile replaces a file in one step.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
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
