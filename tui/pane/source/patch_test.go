package source_test

import (
	"strings"
	"testing"

	"tilescope/tui/pane/source"
	"tilescope/tui/theme"
)

// The title of a patched source names the fault, however long the file's name is; changed lines are marked.
func TestPatchedSourceIsMarked(t *testing.T) {
	p := source.New(theme.New(theme.Options{}))
	p.SetSize(50, 6)
	p.Show("a_kernel_with_a_rather_long_file_name.cu", []string{"one", "two", "three"}, 1, "")
	p.SetPatch(source.Patch{By: "p-stale-m", Lines: []int{2}})
	text := strings.Join(p.View(), "\n")
	if !strings.Contains(text, ".cu:1 as patched by p-stale-m") || !strings.Contains(text, "+2 two") ||
		strings.Contains(text, "+3") {
		t.Error(text)
	}
}
