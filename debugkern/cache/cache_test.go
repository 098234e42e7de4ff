package cache

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/file"
)

func key(parts ...string) Key {
	var h Hasher
	h.Add(parts...)
	return h.Key()
}

// at is the cache in dir as a process of its own would open it; the secret is stored next to dir.
func at(dir string, max int64) *Cache {
	return Open(Options{Dir: dir, Max: max, KeyFile: dir + ".key", Files: file.New()})
}

// value is what the tests keep under key(name): its bytes follow from the name, so that a wrong one shows.
func value(name string) []byte {
	seed := key(name)
	rng := rand.NewChaCha8(seed)
	v := make([]byte, 1000+int(seed[0])*40)
	_, _ = rng.Read(v)
	return v
}

func TestPutGet(t *testing.T) {
	c := at(filepath.Join(t.TempDir(), "not", "there", "yet"), 1<<20)
	if _, ok := c.Get(key("a")); ok {
		t.Error("an empty cache has an entry")
	}
	c.Put(key("a"), value("a"))
	c.Put(key("nothing"), nil)
	for name, want := range map[string][]byte{"a": value("a"), "nothing": nil} {
		if got, ok := c.Get(key(name)); !ok || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %d bytes", name, ok, len(got))
		}
	}
	again := at(c.Dir(), 1<<20)
	if got, ok := again.Get(key("a")); !ok || !bytes.Equal(got, value("a")) {
		t.Error("not there for the next process")
	}
	if u, err := again.Usage(); err != nil || u.Entries != 2 ||
		u.Bytes != int64(len(value("a"))+2*headerSize) {
		t.Errorf("usage %+v, %v", u, err)
	}
	if err := again.Clear(); err != nil {
		t.Fatal(err)
	}
	if u, err := again.Usage(); err != nil || u.Entries != 0 || u.Bytes != 0 {
		t.Errorf("usage %+v after Clear, %v", u, err)
	}
}

func TestKeysTellPartsApart(t *testing.T) {
	seen := map[Key]string{}
	for _, parts := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {}} {
		k := key(parts...)
		if other, ok := seen[k]; ok {
			t.Errorf("%q has the key of %s", parts, other)
		}
		seen[k] = fmt.Sprintf("%q", parts)
	}
	var x, y Hasher
	x.List([]string{"a", "b"})
	x.List([]string{"c"})
	y.List([]string{"a"})
	y.List([]string{"b", "c"})
	if x.Key() == y.Key() {
		t.Error("lists run into one another")
	}
}

// Whatever happens to a file, Get gives the bytes that were put, or nothing; and what is damaged
// is gone afterwards.
func TestDamagedEntries(t *testing.T) {
	c := at(t.TempDir(), 1<<20)
	k := key("a")
	c.Put(k, value("a"))
	whole, err := os.ReadFile(c.path(k))
	if err != nil {
		t.Fatal(err)
	}
	damage := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(c.path(k), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get(k); ok {
			t.Errorf("%s: served", name)
		}
		if isFile(c.path(k)) {
			t.Errorf("%s: still there", name)
		}
	}
	for _, n := range []int{0, 1, headerSize - 1, headerSize, len(whole) / 2, len(whole) - 1} {
		damage(fmt.Sprintf("%d of %d bytes", n, len(whole)), whole[:n])
	}
	damage("a byte more", append(bytes.Clone(whole), 0))
	damage("zeros", make([]byte, len(whole)))
	for at := 0; at < len(whole); at += 37 {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		damage(fmt.Sprintf("bit of byte %d", at), bad)
	}
	damage("another key's entry", c.encode(key("b"), value("a")))
	c.Put(k, value("a"))
	if got, ok := c.Get(k); !ok || !bytes.Equal(got, value("a")) {
		t.Error("not kept again")
	}
}

// clocked is a cache whose clock advances by a second an operation.
func clocked(dir string, max int64) *Cache {
	c := at(dir, max)
	at := time.Now().Add(-time.Hour)
	c.now = func() time.Time { at = at.Add(time.Second); return at }
	return c
}

// TestForeignEntries: what stands in an entry's place and is no regular file that fits into the cache
// is removed, unread.
func TestForeignEntries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no links and devices there")
	}
	for name, put := range map[string]func(path string) error{
		"a link to a device": func(p string) error { return os.Symlink("/dev/zero", p) },
		"a directory":        func(p string) error { return os.Mkdir(p, 0o700) },
		"a file of 1 TB": func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<40))
		},
	} {
		c := at(t.TempDir(), 1<<20)
		c.Put(key("a"), value("a"))
		if err := errors.Join(os.Remove(c.path(key("a"))), put(c.path(key("a")))); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get(key("a")); ok {
			t.Errorf("%s: is an entry", name)
		}
		if _, err := os.Lstat(c.path(key("a"))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: is still there: %v", name, err)
		}
		c.Put(key("a"), value("a"))
		if got, ok := c.Get(key("a")); !ok || !bytes.Equal(got, value("a")) {
			t.Errorf("%s: nothing is kept after it", name)
		}
	}
}

func TestEviction(t *testing.T) {
	v := make([]byte, 1000)
	c := clocked(t.TempDir(), 5*int64(len(v)+headerSize))
	for i := range 5 {
		c.Put(key(fmt.Sprint(i)), v)
		c.Get(key(fmt.Sprint(i))) // sets the time of use by this clock
	}
	c.Get(key("1")) // 0, 2, 3, 4, 1 by use
	c.Put(key("5"), v)
	c.Get(key("5"))
	c.Put(key("6"), v)
	c.Get(key("6"))
	for name, want := range map[string]bool{
		"0": false, "1": true, "2": false, "3": true, "4": true, "5": true, "6": true,
	} {
		if got := isFile(c.path(key(name))); got != want {
			t.Errorf("entry %s kept: %v, want %v", name, got, want)
		}
	}
	if u, _ := c.Usage(); u.Bytes > c.Max() {
		t.Errorf("%d bytes of %d", u.Bytes, c.Max())
	}
	c.Put(key("too large"), make([]byte, 6*len(v)))
	if u, _ := c.Usage(); u.Entries != 5 || c.Trouble() != nil {
		t.Errorf("a value larger than the cache: %+v, %v", u, c.Trouble())
	}
}

// What a killed process was writing goes at the next start; what somebody is writing now stays, and so do
// other people's files.
func TestAbandonedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files in use are not locked there: they go by age")
	}
	dir := t.TempDir()
	old, other := filepath.Join(dir, ".tilescope-1.tmp"), filepath.Join(dir, "notes.txt")
	for _, path := range []string{old, other} {
		if err := os.WriteFile(path, value("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writing, err := (*file.System)(nil).Create(filepath.Join(dir, "entry"), 0o600) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	c := at(dir, 1<<20)
	c.Put(key("a"), value("a"))
	if isFile(old) || !isFile(other) {
		t.Errorf("kept: abandoned %v, another's %v", isFile(old), isFile(other))
	}
	if err := writing.Commit(); err != nil {
		t.Errorf("a file in use was removed: %v", err)
	}
}

// Entries of a cache that somebody else could change are not served, nor is an entry that was made
// without the secret.
func TestTrust(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no single owner there")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	c := at(dir, 1<<20)
	c.Put(key("a"), value("a"))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	forger := Open(Options{
		Dir: dir, Max: 1 << 20, KeyFile: filepath.Join(t.TempDir(), "another.key"), Files: file.New(),
	})
	forger.Put(key("b"), value("b"))
	if _, ok := c.Get(key("b")); ok {
		t.Error("an entry made without the secret is served")
	}
	if err := os.Chmod(filepath.Dir(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	open := at(dir, 1<<20)
	if _, ok := open.Get(key("a")); ok || open.Trouble() == nil ||
		!strings.Contains(open.Trouble().Error(), "can be written to by other users") {
		t.Errorf("below a directory that anybody can write to: served %v, %v", ok, open.Trouble())
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+".key", 0o644); err != nil {
		t.Fatal(err)
	}
	known := at(dir, 1<<20)
	if _, ok := known.Get(key("a")); ok || known.Trouble() == nil ||
		!strings.Contains(known.Trouble().Error(), "could be read by other users") {
		t.Errorf("with a secret that others can read: served %v, %v", ok, known.Trouble())
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(dir+".key", 0o600), os.Chown(dir, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		foreign := at(dir, 1<<20)
		if _, ok := foreign.Get(key("a")); ok || foreign.Trouble() == nil ||
			!strings.Contains(foreign.Trouble().Error(), "belongs to another user") {
			t.Errorf("in another user's directory: served %v, %v", ok, foreign.Trouble())
		}
	}
}

// A place that cannot be written to is said once; entries that are there are served all the same.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := at(filepath.Join(dir, "file", "below"), 1<<20) // below a file nothing can be made, not even by root
	if err := c.Probe(); err == nil {
		t.Error("Probe finds nothing wrong")
	}
	c.Put(key("a"), value("a"))
	first := c.Trouble()
	if first == nil || !strings.Contains(first.Error(), c.Dir()) ||
		!strings.Contains(first.Error(), "not kept") {
		t.Fatalf("trouble: %v", first)
	}
	c.Put(key("b"), value("b"))
	if _, ok := c.Get(key("a")); ok || c.Trouble() != first {
		t.Errorf("second trouble: %v", c.Trouble())
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return // a directory cannot be made unwritable to this user by its mode
	}
	ok := at(filepath.Join(dir, "cache"), 1<<20)
	ok.Put(key("a"), value("a"))
	if err := os.Chmod(ok.Dir(), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(ok.Dir(), 0o700)
	ok.Put(key("b"), value("b"))
	if got, there := ok.Get(key("a")); !there || !bytes.Equal(got, value("a")) || ok.Trouble() == nil {
		t.Errorf("a read-only cache: %v, %v", there, ok.Trouble())
	}
}

func TestSwitchedOff(t *testing.T) {
	dir := t.TempDir()
	var none *Cache
	for name, c := range map[string]*Cache{"nil": none, "max 0": at(dir, 0), "no directory": at("", 1<<20)} {
		c.Put(key("a"), value("a"))
		if _, ok := c.Get(key("a")); ok || (c.Trouble() != nil) != (name == "no directory") || c.Max() != 0 {
			t.Errorf("%s: kept something, or complains: %v", name, c.Trouble())
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d files", len(files))
	}
}
