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
	if !strings.Contains(text, "file_name.cu:1 · p-stale-m") || !strings.Contains(text, "+2 two") ||
		strings.Contains(text, "+3") {
		t.Error(text)
	}
}

// TestTitleKeepsWhatPatchedIt: words, then the file's name, give way to the line and to all faults.
func TestTitleKeepsWhatPatchedIt(t *testing.T) {
	th := theme.New(theme.Options{})
	const rest, short = ":486 as patched by l-no-rescale sync-p", ":486 · l-no-rescale sync-p"
	for _, c := range []struct {
		name string
		w    int
		want string
	}{
		{"sdpa_fp8_stage_c_wmma.cu", 80, "A sdpa_fp8_stage_c_wmma.cu" + rest},
		{"sdpa_fp8_stage_c_wmma.cu", 60, "A sdpa_fp8_stage_c_wmma.cu" + short},
		{"größe.cu", 38, "A …ße.cu" + short},
		{"k.cu", 30, "A …" + short},
	} {
		if got := source.Title(th, "A ", c.name, rest, c.w); got != c.want {
			t.Errorf("%s in %d columns: %q, want %q", c.name, c.w, got, c.want)
		}
	}
}
