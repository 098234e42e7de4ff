package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestKeys: settings of keys are read with the place where they stand, and the table that knows them is
// asked.
func TestKeys(t *testing.T) {
	o := surroundings(t)
	path := filepath.Join(o.UserDir, "config.yaml")
	write(t, path, `palette: grey
keys:
  tile.next-bad: n
  heat: [Z, "ctrl+t"]
  races.what-if: []
  top: "g t"
`)
	c, src := load(t, o)
	want := []KeySetting{
		{Name: "tile.next-bad", Keys: []string{"n"}, File: path, Line: 3, Col: 18},
		{Name: "heat", Keys: []string{"Z", "ctrl+t"}, File: path, Line: 4, Col: 9},
		{Name: "races.what-if", File: path, Line: 5, Col: 18},
		{Name: "top", Keys: []string{"g t"}, File: path, Line: 6, Col: 8},
	}
	if !reflect.DeepEqual(c.Keys, want) {
		t.Errorf("%+v", c.Keys)
	}
	if src.From("keys") != path {
		t.Errorf("from %s", src.From("keys"))
	}
	o.CheckKeys = func(list []KeySetting) []*Error {
		return []*Error{list[1].Mistake("there is no action heat")}
	}
	_, _, err := Load(t.Context(), o)
	if want := path + ":4: keys.heat: there is no action heat"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	o.CheckKeys = func([]KeySetting) []*Error { t.Error("nothing is set, and it is asked"); return nil }
	write(t, path, "keys: {}\n")
	if c, _ := load(t, o); len(c.Keys) != 0 {
		t.Errorf("%+v", c.Keys)
	}
}

// TestKeysFromVariables: a list of pairs, a name as often as it has keys.
func TestKeysFromVariables(t *testing.T) {
	o := surroundings(t)
	o.Env = []string{"TILESCOPE_KEYS=heat=Z,heat=comma,tile.diff=,top=g t"}
	c, _ := load(t, o)
	want := []KeySetting{
		{Name: "heat", Keys: []string{"Z", "comma"}, File: "TILESCOPE_KEYS"},
		{Name: "tile.diff", File: "TILESCOPE_KEYS"},
		{Name: "top", Keys: []string{"g t"}, File: "TILESCOPE_KEYS"},
	}
	if !reflect.DeepEqual(c.Keys, want) {
		t.Errorf("%+v", c.Keys)
	}
}

// TestKeysRefused: what is no mapping of actions to keys is refused at its place.
func TestKeysRefused(t *testing.T) {
	for text, want := range map[string]string{
		"keys: n\n":               ":1: keys: expected a mapping",
		"keys:\n  Heat!: n\n":     ":2: keys.Heat!: expected an action's name",
		"keys:\n  heat: {a: b}\n": ":2: keys.heat: expected a key, or a list of keys",
		"keys:\n  heat: [[n]]\n":  ":2: keys.heat: expected a key, or a list of keys",
		"keys:\n  heat:\n":        ":2: keys.heat: expected a key, or a list of keys",
	} {
		o := surroundings(t)
		write(t, filepath.Join(o.Dir, "tilescope.yaml"), text)
		_, _, err := Load(t.Context(), o)
		var list *Errors
		if !errors.As(err, &list) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	o := surroundings(t)
	o.Env = []string{"TILESCOPE_KEYS=heat"}
	if _, _, err := Load(t.Context(), o); err == nil || !strings.Contains(err.Error(),
		"expected ACTION=KEY") {
		t.Errorf("%v", err)
	}
}

// TestSetKey: one action's keys are set and read back; what the table refuses is not written.
func TestSetKey(t *testing.T) {
	o := surroundings(t)
	path, err := Set(t.Context(), o, "keys.tile.heat", "Z,ctrl+t")
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := load(t, o); len(c.Keys) != 1 || !reflect.DeepEqual(c.Keys[0].Keys, []string{"Z", "ctrl+t"}) {
		t.Errorf("%+v", c.Keys)
	}
	was, _ := os.ReadFile(path)
	o.CheckKeys = func(list []KeySetting) []*Error {
		var out []*Error
		for _, s := range list {
			out = append(out, s.Mistake("is wrong"))
		}
		return out
	}
	if _, err := Set(t.Context(), o, "keys.top", "T"); err == nil || err.Error() != "keys.top: is wrong" {
		t.Errorf("%v", err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(was) {
		t.Errorf("written:\n%s", now)
	}
	o.CheckKeys = nil
	if _, err := Set(t.Context(), o, "keys", "top=T,heat="); err != nil {
		t.Fatal(err)
	}
	if c, _ := load(t, o); len(c.Keys) != 2 || c.Keys[0].Keys[0] != "T" || len(c.Keys[1].Keys) != 0 {
		t.Errorf("%+v", c.Keys)
	}
	if _, err := Set(t.Context(), o, "keys.Not An Action", "x"); err == nil {
		t.Error("a name that is none was taken")
	}
}
