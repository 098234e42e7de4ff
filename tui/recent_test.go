package tui

import (
	"path/filepath"
	"slices"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/text"
)

// TestRecent: the last file comes first, each launch once; a file's name finds it, and below the working
// directory its path is relative. Kernels of the catalogue are not kept.
func TestRecent(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	dir := t.TempDir()
	t.Chdir(dir)
	r := d.m.recent
	of := func(name string, launch ...string) debugkern.Request {
		return debugkern.Request{Target: filepath.Join(dir, name), Launch: launch}
	}
	r.add(of("a.cu", "--grid", "1"))
	r.add(of("it's b.cu", "--grid", "2", "--arg", "x=ones:f32[4]"))
	r.add(of("a.cu", "--grid", "1"))
	r.add(debugkern.Request{Target: "stage2"})
	want := []string{"a.cu --grid 1", `"it's b.cu" --grid 2 --arg x=ones:f32[4]`}
	if got := r.matching(""); !slices.Equal(got, want) {
		t.Errorf("all: %q, want %q", got, want)
	}
	if got := r.matching("it's"); !slices.Equal(got, want[1:]) {
		t.Errorf("by name: %q", got)
	}
	if got := r.matching(filepath.Join(dir, "a")); !slices.Equal(got, want[:1]) {
		t.Errorf("by path: %q", got)
	}
	for _, w := range []string{"", `a "b" it's`, `"`, "'"} {
		if got, ok := text.Words(spelled([]string{w, "end"})); !ok || !slices.Equal(got, []string{w, "end"}) {
			t.Errorf("%q is read back as %q", w, got)
		}
	}
	next := &recent{Context: r.Context}
	next.restore(append(slices.Clone(r.lines), "relative.cu", "'no end", ""))
	if !slices.Equal(next.lines, r.lines) {
		t.Errorf("restored %q", next.lines)
	}
	for i := range 2 * maxRecent {
		r.add(of("a.cu", "--grid", string(rune('a'+i))))
	}
	if len(r.lines) != maxRecent {
		t.Errorf("%d are kept", len(r.lines))
	}
}
