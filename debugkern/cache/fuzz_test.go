package cache

import (
	"bytes"
	"os"
	"testing"
)

// FuzzEntry: any bytes in an entry's place are the value that was put there, or a miss.
func FuzzEntry(f *testing.F) {
	c := at(f.TempDir(), 1<<20)
	c.Put(key("a"), value("a"))
	entry, err := os.ReadFile(c.path(key("a")))
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{entry, entry[:headerSize], entry[:headerSize-1], nil} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := c.decode(key("a"), b); err == nil &&
			(!bytes.Equal(b, entry) || !bytes.Equal(v, value("a"))) {
			t.Fatal("other bytes are taken for the entry")
		}
	})
}
