package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs"
)

// TestConfigCommands: what set writes get prints as set takes it, and unset takes it out; a word that is no
// command of config is refused as such. Lists are written with commas.
func TestConfigCommands(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"set keys.tile.heat ctrl+t,Z", 0, "config.yaml"},
		{"get keys.tile.heat", 0, "ctrl+t,Z\n"},
		{"get keys", 0, "tile.heat=ctrl+t,tile.heat=Z\n"},
		{"show", 0, " tile.heat=ctrl+t,tile.heat=Z "},
		{"unset keys.tile.heat", 0, "config.yaml"},
		{"get keys.tile.heat", 2, "keys.tile.heat is not set"},
		{"unset keys.tile.heat", 2, "keys.tile.heat is not set in"},
		{"unste keys.tile.heat", 2, `tilescope config has no command "unste": did you mean unset?`},
		{"frobnicate", 2, `tilescope config has no command "frobnicate": expected get, init, path, set, show, unset`},
		{"path here", 2, "tilescope config path takes no arguments, and got here"},
		{"set foo 1", 2, `tilescope: unknown configuration key "foo" (known`},
	} {
		out, errText, code := call(t, append([]string{"config"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+errText, c.says) {
			t.Errorf("config %s: exit %d, %q %q; want %d, %q", c.args, code, out, errText, c.code, c.says)
		}
	}
}

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
