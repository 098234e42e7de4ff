package configs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tilescope/debugkern/file"
)

// State is what the terminal remembers from one session to the next. Unlike Config nobody writes it by hand.
type State struct {
	Version int `json:"version"`
	Setup
	View      string              `json:"view,omitempty"`    // "pipe", "tile", "flags", ...
	Cursor    Cursor              `json:"cursor"`            // where one is
	Display   map[string]string   `json:"display,omitempty"` // number format, error kind, palette, ...: the terminal's own keys
	Bookmarks map[string]Bookmark `json:"bookmarks,omitempty"`
	Pinned    *Setup              `json:"pinned,omitempty"` // the run pinned as A
}

// Setup is what was run.
type Setup struct {
	Target  string            `json:"target,omitempty"`
	Shape   string            `json:"shape,omitempty"`
	Seed    uint64            `json:"seed,omitempty"`
	Gate    string            `json:"gate,omitempty"`
	Inject  string            `json:"inject,omitempty"`
	Backend string            `json:"backend,omitempty"`
	Flags   map[string]string `json:"flags,omitempty"` // set on top of the target's
	Faults  []string          `json:"faults,omitempty"`
}

// Cursor is a place in a run: the terminal checks it against the run that it is put on.
type Cursor struct {
	Stage string `json:"stage,omitempty"`
	Block [3]int `json:"block"`
	Tile  int    `json:"tile"`
	Row   int    `json:"row"`
	Col   int    `json:"col"`
}

// Bookmark is a remembered place.
type Bookmark struct {
	Target string `json:"target,omitempty"`
	Cursor
}

const stateVersion = 1

// StateDir returns the directory of the state file: $XDG_STATE_HOME/tilescope, else tilescope in the user's cache
// directory. env is NAME=VALUE; nil: os.Environ().
func StateDir(env []string) (string, error) {
	if env == nil {
		env = os.Environ()
	}
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, "XDG_STATE_HOME="); ok && filepath.IsAbs(dir) { // the standard: a relative one is ignored
			return filepath.Join(dir, "tilescope"), nil
		}
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to remember state: %w", err)
	}
	return filepath.Join(dir, "tilescope"), nil
}

// LoadState reads the state of a directory. It always gives one: an error says why the old state was set aside and where
// it is now, and the session starts afresh. No file is no error.
func LoadState(ctx context.Context, dir string) (*State, error) {
	fresh := &State{Version: stateVersion}
	path := filepath.Join(dir, "state.json")
	text, err := file.Read(ctx, path, maxFile, file.Want{What: "remembered state"})
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, fmt.Errorf("remembered state ignored: %w", err)
	}
	s := &State{}
	if err = json.Unmarshal(text, s); err == nil && s.Version != stateVersion {
		err = fmt.Errorf("version %d, expected %d", s.Version, stateVersion)
	}
	if err == nil {
		return s, nil
	}
	aside := path + ".bad"
	if moved := os.Rename(path, aside); moved != nil {
		return fresh, fmt.Errorf("remembered state ignored: %s: %w", path, err)
	}
	return fresh, fmt.Errorf("remembered state ignored, kept as %s: %w", aside, err)
}

// SaveState writes the state as a whole, or not at all; nil files are the real file system.
func SaveState(files *file.System, dir string, s *State) error {
	c := *s
	c.Version = stateVersion
	text, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := writeFile(files, filepath.Join(dir, "state.json"), append(text, '\n')); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}
