package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBill writes the bill of this test's own program: every part has a version and a package URL, and
// every wheel a hash.
func TestBill(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, again bytes.Buffer
	args := []string{exe, filepath.Join("..", "..", "..", "..", "docs", "toolchain.txt")}
	for _, w := range []*bytes.Buffer{&first, &again} {
		if err := run(args, w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("the same program has two bills")
	}
	var d document
	if err := json.Unmarshal(first.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	hashed := 0
	for _, c := range d.Components {
		if c.Version == "" || !strings.HasPrefix(c.Package, "pkg:") {
			t.Errorf("%+v", c)
		}
		if len(c.Hashes) > 0 {
			hashed++
		}
	}
	if d.Format != "CycloneDX" || d.Metadata.Component.Name != "tilescope" || hashed != 3 {
		t.Errorf("%s of %q with %d wheels", d.Format, d.Metadata.Component.Name, hashed)
	}
}

// TestUnpinned: a requirement without a version or a hash is an error.
func TestUnpinned(t *testing.T) {
	hash := " --hash=sha256:" + strings.Repeat("0", 64)
	for _, text := range []string{"", "a", "a==1", "a>=1" + hash, "a==1 --hash=md5:00", "a==1" + hash + "0"} {
		if _, err := wheels(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if w, err := wheels("# why\na==1" + hash + hash + "\n"); err != nil || len(w) != 1 ||
		len(w[0].Hashes) != 2 {
		t.Errorf("%v, %v", w, err)
	}
}
