package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/file"
)

// TestEveryStateOperationFails lets each file operation of a session that reads its state and saves it fail
// in turn. The file holds the old state or the new one, nothing else is left, the reason is shown or
// returned, and what was not read is not replaced.
func TestEveryStateOperationFails(t *testing.T) {
	for name, old := range map[string]string{
		"good": `{"version": 1, "target": "scalar", "seed": 3}`, "no state": "{",
	} {
		t.Run(name, func(t *testing.T) {
			operations := 0
			for n := 0; n <= operations; n++ {
				count := stateSession(t, old, n)
				if n == 0 {
					operations = count
				}
			}
			if operations < 8 {
				t.Errorf("%d operations: the folder, its lock, open, read, create, write, flush and rename are eight",
					operations)
			}
		})
	}
}

// stateSession starts on a state, changes it and ends; the file operation with number fail, from 1, fails. It
// returns how many operations there were.
func stateSession(t *testing.T, old string, fail int) int {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	count, failed := 0, file.Step("")
	files := file.Failing(func(step file.Step, _ string) error {
		if count++; count == fail {
			failed = step
			return syscall.EIO
		}
		return nil
	})
	o := Options{StateDir: dir, Files: files}
	defer o.recall(file.With(t.Context(), files))()
	d := newDriver(t, 120, 40, plainLook, func(to *Options) {
		to.State, to.StateDir, to.Files, to.forgot = o.State, o.StateDir, o.Files, o.forgot
	})
	shown := d.m.Status.Text
	d.m.Req.Seed = 9
	if err := d.m.memory.saveLast(); err != nil {
		shown += err.Error()
	}
	at := fmt.Sprintf("operation %d, %s", fail, failed)
	if fail > 0 && !strings.Contains(shown, "input/output error") {
		t.Errorf("%s: shown %q", at, shown)
	}
	text, err := os.ReadFile(path)
	saved := err == nil && strings.Contains(string(text), `"seed": 9`)
	aside, asideErr := os.ReadFile(path + ".bad")
	kept := string(text) == old || asideErr == nil && string(aside) == old
	switch {
	case fail == 0 && !saved:
		t.Errorf("%s: not saved: %q, %v", at, text, err)
	case !saved && !kept:
		t.Errorf("%s: torn: %q and %q", at, text, aside)
	case (failed == file.StepOpen || failed == file.StepRead) && string(text) != old:
		t.Errorf("%s: a file that was not read is now %q", at, text)
	case old == "{" && !kept:
		t.Errorf("%s: what is no state was replaced: %q", at, text)
	}
	for _, e := range entries(t, dir) {
		if e != "state.json" && e != "state.json.bad" && e != stateLock {
			t.Errorf("%s: left %s", at, e)
		}
	}
	return count
}

func entries(t *testing.T, dir string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestUnreadableStateStays: a state file that cannot be read is reported on the screen, and the session
// leaves it as it is.
func TestUnreadableStateStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	o := Options{StateDir: dir}
	defer o.recall(t.Context())()
	d := started(t, 120, 40, plainLook, func(to *Options) {
		to.State, to.StateDir, to.forgot = o.State, o.StateDir, o.forgot
	})
	d.hasStatus("is a directory")
	d.hasStatus("nothing of this session is remembered")
	if err := d.m.memory.saveLast(); err != nil {
		t.Error(err)
	}
	if _, err := configs.LoadState(t.Context(), dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the next session: %v", err)
	}
}
