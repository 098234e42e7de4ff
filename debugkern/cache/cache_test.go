package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func key(parts ...string) Key {
	var h Hasher
	h.Add(parts...)
	return h.Key()
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
	c := Open(filepath.Join(t.TempDir(), "not", "there", "yet"), 1<<20)
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
	again := Open(c.Dir(), 1<<20)
	if got, ok := again.Get(key("a")); !ok || !bytes.Equal(got, value("a")) {
		t.Error("not there for the next process")
	}
	if u, err := again.Usage(); err != nil || u.Entries != 2 || u.Bytes != int64(len(value("a"))+2*headerSize) {
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

// Whatever happens to a file, Get gives the bytes that were put, or nothing; and what is damaged is gone afterwards.
func TestDamagedEntries(t *testing.T) {
	c := Open(t.TempDir(), 1<<20)
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
	damage("another key's entry", encode(key("b"), value("a")))
	c.Put(k, value("a"))
	if got, ok := c.Get(k); !ok || !bytes.Equal(got, value("a")) {
		t.Error("not kept again")
	}
}

// clocked is a cache whose clock advances by a second an operation.
func clocked(dir string, max int64) *Cache {
	c := Open(dir, max)
	at := time.Now().Add(-time.Hour)
	c.now = func() time.Time { at = at.Add(time.Second); return at }
	return c
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
	for name, want := range map[string]bool{"0": false, "1": true, "2": false, "3": true, "4": true, "5": true, "6": true} {
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

// What a killed process was writing goes after a while; what somebody is writing now stays, and so do other people's files.
func TestAbandonedFiles(t *testing.T) {
	c := Open(t.TempDir(), 1<<20)
	old, fresh, other := filepath.Join(c.dir, tempPrefix+"1"), filepath.Join(c.dir, tempPrefix+"2"), filepath.Join(c.dir, "notes.txt")
	for _, path := range []string{old, fresh, other} {
		if err := os.WriteFile(path, value("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * abandoned)
	for _, path := range []string{old, other} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	c.Put(key("a"), value("a"))
	if isFile(old) || !isFile(fresh) || !isFile(other) {
		t.Errorf("kept: abandoned %v, being written %v, another's %v", isFile(old), isFile(fresh), isFile(other))
	}
}

// A place that cannot be written to is said once; entries that are there are served all the same.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := Open(filepath.Join(dir, "file", "below"), 1<<20) // below a file nothing can be made, not even by root
	if err := c.Probe(); err == nil {
		t.Error("Probe finds nothing wrong")
	}
	c.Put(key("a"), value("a"))
	first := c.Trouble()
	if first == nil || !strings.Contains(first.Error(), c.Dir()) || !strings.Contains(first.Error(), "not kept") {
		t.Fatalf("trouble: %v", first)
	}
	c.Put(key("b"), value("b"))
	if _, ok := c.Get(key("a")); ok || c.Trouble() != first {
		t.Errorf("second trouble: %v", c.Trouble())
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return // a directory cannot be made unwritable to this user by its mode
	}
	ok := Open(filepath.Join(dir, "cache"), 1<<20)
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
	for name, c := range map[string]*Cache{"nil": none, "max 0": Open(dir, 0), "no directory": Open("", 1<<20)} {
		c.Put(key("a"), value("a"))
		if _, ok := c.Get(key("a")); ok || c.Trouble() != nil || c.Max() != 0 || c.Probe() != nil {
			t.Errorf("%s: kept something, or complains: %v", name, c.Trouble())
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d files", len(files))
	}
}
