// Package cache keeps bytes on disk by what they were made of: compiled kernels, so that nothing is compiled twice.
//
// The one idea: an entry is a whole file or none. It is written beside its place, forced to the disk and renamed into it;
// it carries its key and a checksum, and what does not match is a miss and is removed. So no lock is needed: processes may
// share a directory, and one of them may be killed, or the machine switched off, at any moment. Nothing the cache cannot do
// is an error to its caller: it says once what is wrong (Trouble) and from then on keeps nothing more.
//
// It must not know what it keeps, nor CUDA.
package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Key identifies an entry: a hash of everything that determines its bytes.
type Key [sha256.Size]byte

// String is the key in hexadecimal, the entry's file name.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Hasher builds a Key. Parts are told apart: ("ab", "c") is another key than ("a", "bc"). The zero value is ready.
type Hasher struct{ buf []byte }

// Add appends parts to what the key is made of.
func (h *Hasher) Add(parts ...string) {
	for _, p := range parts {
		h.buf = binary.AppendUvarint(h.buf, uint64(len(p)))
		h.buf = append(h.buf, p...)
	}
}

// List appends a list and its length.
func (h *Hasher) List(parts []string) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(parts)))
	h.Add(parts...)
}

// Key is the key of everything added.
func (h *Hasher) Key() Key { return sha256.Sum256(h.buf) }

// An entry's file: magic, key (32 bytes), length of the value (u64, little endian), SHA-256 of everything before and of the
// value, value.
const (
	magic      = "tscache1"
	headerSize = len(magic) + sha256.Size + 8 + sha256.Size
	suffix     = ".entry"
	tempPrefix = "writing-"
	// abandoned is the age from which a file being written belongs to a process that was killed.
	abandoned = 10 * time.Minute
)

// Cache is one directory of entries. It is safe for concurrent use, also by several processes. A nil *Cache keeps nothing.
type Cache struct {
	dir string
	max int64
	now func() time.Time

	mu      sync.Mutex
	off     bool
	trouble error
}

// Open returns the cache in dir, which need not exist. Entries together take at most max bytes; max 0 is a cache that
// keeps nothing. Nothing is read or made before the first Get or Put.
func Open(dir string, max int64) *Cache {
	return &Cache{dir: dir, max: max, now: time.Now, off: dir == "" || max <= 0}
}

// Dir is where entries are.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// Max is how many bytes entries may take; 0: the cache is switched off.
func (c *Cache) Max() int64 {
	if c == nil || c.dir == "" {
		return 0
	}
	return max(c.max, 0)
}

// Trouble says why the cache gave up keeping entries, nil while it works.
func (c *Cache) Trouble() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// fail switches writing off and remembers the first reason.
func (c *Cache) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble == nil {
		c.trouble = fmt.Errorf("cache %s: %w; what is compiled is not kept", c.dir, err)
	}
}

func (c *Cache) usable() bool { return c != nil && !c.off }

func (c *Cache) path(k Key) string { return filepath.Join(c.dir, k.String()+suffix) }

// Get returns the value that was put under k; the caller owns it. A damaged entry is removed, and a miss.
func (c *Cache) Get(k Key) ([]byte, bool) {
	if !c.usable() {
		return nil, false
	}
	path := c.path(k)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	value, err := decode(k, data)
	if err != nil {
		_ = os.Remove(path) // where it cannot be removed it stays a miss
		return nil, false
	}
	now := c.now()
	_ = os.Chtimes(path, now, now) // a read-only cache evicts nothing, so its times do not matter
	return value, true
}

// Put keeps value under k, and makes room for it by removing what was not used for longest. Where it cannot be kept, see
// Trouble. A value larger than the whole cache is not kept.
func (c *Cache) Put(k Key, value []byte) {
	if !c.usable() || c.Trouble() != nil || int64(len(value)+headerSize) > c.max {
		return
	}
	if err := c.write(k, value); err != nil {
		c.fail(err)
		return
	}
	if err := c.evict(k); err != nil {
		c.fail(err)
	}
}

// temp creates a file that is no entry yet, and the directory where there is none.
func (c *Cache) temp() (*os.File, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(c.dir, tempPrefix+"*")
}

// write puts an entry in its place as a whole.
func (c *Cache) write(k Key, value []byte) error {
	f, err := c.temp()
	if err != nil {
		return err
	}
	_, err = f.Write(encode(k, value))
	if err == nil {
		err = f.Sync() // before the rename: else a power cut may leave the name without the bytes
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		if err = os.Rename(f.Name(), c.path(k)); err != nil && isFile(c.path(k)) {
			err = nil // a system that does not replace an open file: whoever has it open reads the same bytes
			_ = os.Remove(f.Name())
		}
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the write's error is the one to tell
	}
	return err
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func encode(k Key, value []byte) []byte {
	b := make([]byte, 0, headerSize+len(value))
	b = append(append(b, magic...), k[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	sum := checksum(b, value)
	return append(append(b, sum[:]...), value...)
}

func checksum(head, value []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(head) // a hash never fails
	h.Write(value)
	h.Sum(sum[:0])
	return sum
}

var errDamaged = errors.New("damaged entry")

// decode returns an entry's value, which lies in data.
func decode(k Key, data []byte) ([]byte, error) {
	if len(data) < headerSize {
		return nil, errDamaged
	}
	head, sum, value := data[:headerSize-sha256.Size], data[headerSize-sha256.Size:headerSize], data[headerSize:]
	want := checksum(head, value)
	switch {
	case !bytes.HasPrefix(head, []byte(magic)), !bytes.Equal(head[len(magic):len(magic)+sha256.Size], k[:]):
		return nil, errDamaged
	case binary.LittleEndian.Uint64(head[len(magic)+sha256.Size:]) != uint64(len(value)), !bytes.Equal(sum, want[:]):
		return nil, errDamaged
	}
	return value, nil
}

// Probe reports whether entries can be kept, by writing a file and removing it: what doctor asks. A cache that is switched
// off is not asked.
func (c *Cache) Probe() error {
	if !c.usable() {
		return nil
	}
	f, err := c.temp()
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, magic)
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	return err
}

// notThere reports an error of a file or directory that somebody else has removed meanwhile.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
