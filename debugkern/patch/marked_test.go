package patch

import (
	"slices"
	"testing"
)

// Added lines are marked, and the line after removed ones where nothing was added.
func TestMarkedLines(t *testing.T) {
	p, err := Parse("a.patch", []byte("--- a/k.cu\n+++ b/k.cu\n@@ -1,5 +1,5 @@\n one\n-two\n three\n four\n+more\n five\n"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := ApplyMarked(func(string) (string, error) { return "one\ntwo\nthree\nfour\nfive\n", nil }, p)
	if err != nil {
		t.Fatal(err)
	}
	if x := out["k.cu"]; x.Text != "one\nthree\nfour\nmore\nfive\n" || !slices.Equal(x.Lines, []int{2, 4}) {
		t.Errorf("text %q, changed lines %v", x.Text, x.Lines)
	}
}
