package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestStateRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if s, err := LoadState(t.Context(), dir); err != nil || s.Target != "" {
		t.Errorf("no state: %+v, %v", s, err)
	}
	want := &State{
		Version: 1, Setup: Setup{
			Target: "stage2", Shape: "mission", Seed: 1<<64 - 1, Gate: "qk",
			Flags: map[string]string{"USE_A": "0"}, Faults: []string{"kt-ld"},
		},
		View: "tile", Cursor: Cursor{Stage: "S", Block: [3]int{1, 2, 3}, Tile: 4, Row: 5, Col: 6},
		Display:   map[string]string{"palette": "grey"},
		Bookmarks: map[string]Bookmark{"a": {Target: "scalar", Cursor: Cursor{Row: 3}}},
		Pinned:    &Setup{Target: "stage1"},
	}
	if err := SaveState(nil, dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := LoadState(t.Context(), dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestCorruptStateIsSetAside(t *testing.T) {
	for _, text := range []string{"", "{", `{"version": 99}`, `{"version": 1, "cursor": 3}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "state.json")
		write(t, path, text)
		s, err := LoadState(t.Context(), dir)
		if s == nil || s.Version != 1 || err == nil || !strings.Contains(err.Error(), path+".bad") {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != text {
			t.Errorf("%q: kept %q, %v", text, kept, err)
		}
		if _, err := LoadState(t.Context(), dir); err != nil {
			t.Errorf("%q: reported twice: %v", text, err)
		}
	}
}

func TestStateDir(t *testing.T) {
	if got, err := StateDir([]string{"XDG_STATE_HOME=/s"}); err != nil ||
		got != filepath.Join("/s", "tilescope") {
		t.Errorf("%s, %v", got, err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	if got, err := StateDir([]string{"XDG_STATE_HOME=relative"}); err != nil ||
		strings.Contains(got, "relative") || filepath.Base(got) != "tilescope" {
		t.Errorf("%s, %v", got, err)
	}
}
