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
	View   string `json:"view,omitempty"` // "pipe", "tile", "flags", ...
	Cursor Cursor `json:"cursor"`         // where one is
	// Display: number format, error kind, palette, ...: the terminal's own keys
	Display   map[string]string   `json:"display,omitempty"`
	Bookmarks map[string]Bookmark `json:"bookmarks,omitempty"`
	Pinned    *Setup              `json:"pinned,omitempty"` // the run pinned as A
	// Opened are files with their launches, a command line each, the last one opened first.
	Opened []string `json:"opened,omitempty"`
	// Guessed are those of Opened whose grid or block is a guess.
	Guessed []string `json:"guessed,omitempty"`
	// Launches are, by line of Opened, the launch that the file's source made itself when it was opened.
	Launches map[string]string `json:"launches,omitempty"`
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

const (
	stateVersion = 1
	stateFile    = "state.json"
)

// StateDir returns the directory of the state file: $XDG_STATE_HOME/tilescope, else tilescope in the user's
// cache directory. env is NAME=VALUE; nil: os.Environ().
func StateDir(env []string) (string, error) {
	if env == nil {
		env = os.Environ()
	}
	for _, e := range env {
		// the standard: a relative one is ignored
		if dir, ok := strings.CutPrefix(e, "XDG_STATE_HOME="); ok && filepath.IsAbs(dir) {
			return filepath.Join(dir, "tilescope"), nil
		}
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to remember state: %w", err)
	}
	return filepath.Join(dir, "tilescope"), nil
}

// StateError is a state file that was not taken up.
type StateError struct {
	Path  string // of the state file
	Aside string // what it was renamed to; "": it is still at Path, and saving would replace it
	Err   error
}

func (e *StateError) Error() string {
	if e.Aside != "" {
		return fmt.Sprintf("remembered state ignored, kept as %s: %v", e.Aside, e.Err)
	}
	return fmt.Sprintf("remembered state ignored: %v", e.Err)
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Err }

// LoadState reads the state of a directory. It always returns one; with a *StateError it is a new one. A file
// whose content is no state is renamed; one that cannot be read stays as it is, for it may be readable the
// next time. No file is no error.
func LoadState(ctx context.Context, dir string) (*State, error) {
	fresh := &State{Version: stateVersion}
	path := filepath.Join(dir, stateFile)
	text, err := file.Read(ctx, path, maxFile, file.Want{What: "remembered state"})
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, &StateError{Path: path, Err: err}
	}
	s := &State{}
	if err = json.Unmarshal(text, s); err == nil && s.Version != stateVersion {
		err = fmt.Errorf("version %d, expected %d", s.Version, stateVersion)
	}
	if err == nil {
		return s, nil
	}
	aside := path + ".bad"
	if moved := file.Rename(ctx, path, aside); moved != nil {
		return fresh, &StateError{Path: path, Err: fmt.Errorf("%s: %w; %w", path, err, moved)}
	}
	return fresh, &StateError{Path: path, Aside: aside, Err: err}
}

// Remembered is what the terminal remembers in a directory of how it is drawn, by the names of settings: it
// wins over the configuration's. It is nil where nothing can be read; nothing is changed.
func Remembered(ctx context.Context, dir string) map[string]string {
	text, err := file.Read(ctx, filepath.Join(dir, stateFile), maxFile, file.Want{What: "remembered state"})
	s := &State{}
	if err != nil || json.Unmarshal(text, s) != nil || s.Version != stateVersion {
		return nil
	}
	return s.Display
}

// SaveState writes the state as a whole, or not at all; nil files are the real file system.
func SaveState(files *file.System, dir string, s *State) error {
	c := *s
	c.Version = stateVersion
	text, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := writeFile(files, filepath.Join(dir, stateFile), append(text, '\n')); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}
