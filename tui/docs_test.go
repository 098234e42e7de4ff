package tui

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentsAreCurrent: docs/keys.md is what the table of keys gives, and README names it.
func TestDocumentsAreCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "keys.md")
	want := Keymap().Markdown()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/keys.md is not what the table of keys gives (%v): make docs", err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil || !strings.Contains(string(readme), "docs/keys.md") {
		t.Errorf("README does not name docs/keys.md (%v)", err)
	}
	for _, s := range Keymap().Scopes() {
		for _, b := range Keymap().All() {
			if b.Works(s) && b.Own(s) && !strings.Contains(string(want), "`"+b.Name(s)+"`") && !b.Fixed {
				t.Errorf("%s is not in it", b.Name(s))
			}
		}
	}
}
