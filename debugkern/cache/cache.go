// Package cache keeps bytes on disk by what they were made of: compiled kernels, so that
// nothing is compiled twice.
//
// The one idea: an entry is a whole file or none. It is written beside its place, forced to the disk and
// renamed into it; it carries its key and a checksum, and what does not match is a miss and is removed. So
// entries need no lock: processes may share a directory, and one of them may be killed, or the machine
// switched off, at any moment. Nothing the cache cannot do is an error to its caller: it reports once what is
// wrong (Trouble) and from then on keeps nothing more.
//
// What an entry holds is executed, so the cache trusts its user's files only: the directory must be the
// user's own and writable by nobody else, the same goes for every directory above it, and the checksum is
// keyed with a secret that is kept with the user's configuration.
//
// It must not know what it keeps, nor CUDA.
package cache

import (
	"bytes"
	"context"
	"crypto/hmac"
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

	"tilescope/debugkern/file"
)

// Key identifies an entry: a hash of everything that determines its bytes.
type Key [sha256.Size]byte

// String is the key in hexadecimal, the entry's file name.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Hasher builds a Key. Parts are separate: ("ab", "c") is another key than ("a", "bc"). The
// zero value is ready.
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

// An entry's file: magic, key (32 bytes), length of the value (u64, little endian), HMAC-SHA-256 of
// everything before and of the value, value.
const (
	magic      = "tscache2"
	headerSize = len(magic) + sha256.Size + 8 + sha256.Size
	suffix     = ".entry"
	secretSize = 32 // bytes of the key of the checksums
)

// Options say where a cache is.
type Options struct {
	Dir     string // of the entries; need not exist, "" keeps nothing
	Max     int64  // bytes that entries may take together; 0 keeps nothing
	KeyFile string // the secret of the checksums; made where there is none
	Files   *file.System
}

// Cache is one directory of entries. It is safe for concurrent use, also by several processes. A nil
// *Cache keeps nothing.
type Cache struct {
	o   Options
	now func() time.Time

	mu      sync.Mutex
	secret  []byte // nil until the directory has been examined
	off     bool   // nothing is read any more
	trouble error  // nothing is written any more
}

// Open returns the cache of o. Nothing is read or made before the first Get or Put.
func Open(o Options) *Cache {
	c := &Cache{o: o, now: time.Now, off: o.Dir == "" || o.Max <= 0}
	if o.Dir == "" && o.Max > 0 {
		c.trouble = errors.New(
			"there is no directory for the cache (no home directory, and no cache.dir is set); " +
				"compiled kernels are not kept")
	}
	return c
}

// ready examines the directory before its first use and reads the secret. Where make is false and there is no
// directory yet, it is left so, and the cache is not ready.
func (c *Cache) ready(make bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.off:
		return false
	case c.secret != nil:
		return true
	}
	if _, err := os.Lstat(c.o.Dir); notThere(err) && !make {
		return false
	}
	err := c.o.Files.Private(c.o.Dir)
	if err == nil {
		c.secret, err = c.o.Files.Secret(c.o.KeyFile, secretSize)
	}
	if err == nil {
		c.o.Files.Sweep(c.o.Dir)
		return true
	}
	c.off = true
	c.failed(err)
	return false
}

// Dir is where entries are.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.o.Dir
}

// Max is how many bytes entries may take; 0: the cache is switched off.
func (c *Cache) Max() int64 {
	if c == nil || c.o.Dir == "" {
		return 0
	}
	return max(c.o.Max, 0)
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
	c.failed(err)
}

// failed is fail with the mutex locked.
func (c *Cache) failed(err error) {
	if c.trouble == nil {
		c.trouble = fmt.Errorf("cache %s: %w; compiled kernels are not kept", c.o.Dir, err)
	}
}

// usable reports whether the cache has a place for entries at all.
func (c *Cache) usable() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.off
}

func (c *Cache) path(k Key) string { return filepath.Join(c.o.Dir, k.String()+suffix) }

// Get returns the value that was put under k; the caller owns it. A damaged entry is removed, and a miss.
func (c *Cache) Get(k Key) ([]byte, bool) {
	if c == nil || !c.ready(false) {
		return nil, false
	}
	path := c.path(k)
	// What stands there need not be an entry of ours: it is read only if it is a regular file that
	// fits into the cache.
	data, err := c.o.Files.Read(context.Background(), path, c.o.Max, file.Want{What: "an entry"})
	if err != nil {
		var refused *file.Error
		// it is no entry; one that could not be read now may be whole
		if errors.As(err, &refused) && refused.Err == nil {
			_ = os.Remove(path) // where it cannot be removed it stays a miss
		}
		return nil, false
	}
	value, err := c.decode(k, data)
	if err != nil {
		_ = os.Remove(path) // where it cannot be removed it stays a miss
		return nil, false
	}
	now := c.now()
	_ = os.Chtimes(path, now, now) // a read-only cache evicts nothing, so its times do not matter
	return value, true
}

// Put keeps value under k, and makes room for it by removing what was not used for longest. Where it cannot
// be kept, see Trouble. A value larger than the whole cache is not kept.
func (c *Cache) Put(k Key, value []byte) {
	if c == nil || c.Trouble() != nil || !c.ready(true) || int64(len(value)+headerSize) > c.o.Max {
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

// write puts an entry in its place as a whole.
func (c *Cache) write(k Key, value []byte) error {
	err := c.o.Files.Write(c.path(k), c.encode(k, value), 0o600)
	if err != nil && isFile(c.path(k)) {
		return nil // a system that does not replace an open file: whoever has it open reads the same bytes
	}
	return err
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func (c *Cache) encode(k Key, value []byte) []byte {
	b := make([]byte, 0, headerSize+len(value))
	b = append(append(b, magic...), k[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	sum := c.checksum(b, value)
	return append(append(b, sum...), value...)
}

func (c *Cache) checksum(head, value []byte) []byte {
	h := hmac.New(sha256.New, c.secret)
	h.Write(head) // a hash never fails
	h.Write(value)
	return h.Sum(nil)
}

var errDamaged = errors.New("damaged entry")

// decode returns an entry's value, which lies in data.
func (c *Cache) decode(k Key, data []byte) ([]byte, error) {
	if len(data) < headerSize {
		return nil, errDamaged
	}
	head, sum, value := data[:headerSize-sha256.Size], data[headerSize-sha256.Size:headerSize],
		data[headerSize:]
	want := c.checksum(head, value)
	switch {
	case !bytes.HasPrefix(head, []byte(magic)), !bytes.Equal(head[len(magic):len(magic)+sha256.Size], k[:]):
		return nil, errDamaged
	case binary.LittleEndian.Uint64(head[len(magic)+sha256.Size:]) != uint64(len(value)),
		!hmac.Equal(sum, want):
		return nil, errDamaged
	}
	return value, nil
}

// Probe reports whether entries can be kept, by writing a file and removing it: what doctor asks. A cache
// that is switched off is not asked.
func (c *Cache) Probe() error {
	if !c.usable() {
		return c.Trouble()
	}
	if !c.ready(true) {
		return c.Trouble()
	}
	p, err := c.o.Files.Create(filepath.Join(c.o.Dir, "probe"), 0o600)
	if err != nil {
		return err
	}
	defer p.Abandon()
	_, err = io.WriteString(p, magic)
	return err
}

// notThere reports an error of a file or directory that somebody else has removed meanwhile.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
