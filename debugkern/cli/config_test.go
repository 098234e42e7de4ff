package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs"
)

// TestConfigShowsWhatTheTerminalRemembers: a theme that was chosen in the terminal wins over the
// configuration, and stands next to it.
func TestConfigShowsWhatTheTerminalRemembers(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	line := func() string {
		t.Helper()
		out, errText, code := call(t, "config")
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errText)
		}
		for _, l := range strings.Split(out, "\n") {
			if strings.HasPrefix(l, "theme ") {
				return l
			}
		}
		t.Fatalf("no theme: %s", out)
		return ""
	}
	if l := line(); strings.Contains(l, "remembers") {
		t.Errorf("%s", l)
	}
	dir := filepath.Join(home, "tilescope")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := configs.SaveState(nil, dir, &configs.State{Display: map[string]string{"theme": "light",
		"palette": "cividis", "format": "hex"}})
	if err != nil {
		t.Fatal(err)
	}
	if l := line(); !strings.Contains(l, "auto") ||
		!strings.Contains(l, "default; the terminal remembers light (:theme auto goes back)") {
		t.Errorf("%s", l)
	}
	out, _, _ := call(t, "config", "--json")
	var doc configs.ConfigDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for _, k := range doc.Keys {
		if want := map[string]string{"theme": "light"}[k.Key]; k.Remembered != want {
			t.Errorf("%s: %q is remembered", k.Key, k.Remembered)
		}
	}
}
