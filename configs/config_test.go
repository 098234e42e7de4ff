package configs

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// place of a test: its own directories, an empty environment.
func surroundings(t *testing.T) LoadOptions {
	dir := t.TempDir()
	o := LoadOptions{
		Dir: filepath.Join(dir, "work"), UserDir: filepath.Join(dir, "user"),
		CacheDir: filepath.Join(dir, "cache"), Env: []string{},
	}
	for _, d := range []string{o.Dir, o.UserDir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, o LoadOptions) (*Config, *Sources) {
	t.Helper()
	c, src, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c, src
}

func TestDefaults(t *testing.T) {
	o := surroundings(t)
	c, src := load(t, o)
	if c.Shape != "validation" || c.Backend != "auto" || c.Timeout != 2*time.Minute ||
		c.CaptureMax != 2<<30 || !c.Mouse ||
		c.CacheDir != o.CacheDir || c.CacheMax != 256<<20 || c.Repeat != 10 || c.Schedule != "in-order:0" ||
		len(c.Flags) != 0 || c.Palette != "cividis" ||
		c.Theme != "auto" {
		t.Errorf("%+v", c)
	}
	for _, k := range src.Doc().Keys {
		if k.Value == nil || k.From != "default" {
			t.Errorf("%+v", k)
		}
	}
	if len(src.Files) != 0 || src.From("shape") != "default" || len(src.Doc().Keys) != len(keys()) {
		t.Errorf("%+v", src.Doc())
	}
}

// TestDefaultFileIsComplete holds default.yaml to the list of keys: each there, with a comment above it.
func TestDefaultFileIsComplete(t *testing.T) {
	l, errs := parseLayer(t.Context(), "default", "default.yaml", defaultText)
	if errs != nil {
		t.Fatal(errs)
	}
	for _, k := range keys() {
		if _, ok := l.values[k.name]; !ok {
			t.Errorf("%s has no default", k.name)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(defaultText, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(m *yaml.Node)
	walk = func(m *yaml.Node) {
		for i := 0; i < len(m.Content); i += 2 {
			k, v := m.Content[i], m.Content[i+1]
			if v.Kind == yaml.MappingNode && len(v.Content) > 0 {
				walk(v)
			} else if k.HeadComment == "" {
				t.Errorf("%s has no comment", k.Value)
			}
		}
	}
	walk(doc.Content[0])
}

func TestPrecedence(t *testing.T) {
	o := surroundings(t)
	user, here := filepath.Join(o.UserDir, "config.yaml"), filepath.Join(o.Dir, "tilescope.yaml")
	write(t, user, "shape: small\nseed: 1\nbackend: emu\ngate: qk\nflags: {USE_A: 1, use_b: false}\n")
	write(t, here, "shape: mission\nseed: 2\nbackend: cuda\ncapture: {max: 1GiB}\n")
	o.Env = []string{
		"TILESCOPE_SHAPE=1,2,33,64", "TILESCOPE_SEED=3", "TILESCOPE_CAPTURE_MAX=1.5MB", "TILESCOPE_MOUSE=off",
		"TILESCOPE_ARCH=",
	}
	o.Flags = map[string]string{"shape": "long"}
	c, src := load(t, o)
	if c.Shape != "long" || c.Seed != 3 || c.Backend != "cuda" || c.Gate != "qk" || c.CaptureMax != 1500000 ||
		c.Mouse || c.Arch != "" {
		t.Errorf("%+v", c)
	}
	if !maps.Equal(c.Flags, map[string]string{"USE_A": "1", "use_b": "false"}) {
		t.Errorf("flags %v", c.Flags)
	}
	for key, want := range map[string]string{
		"shape": "option", "seed": "TILESCOPE_SEED", "backend": here, "gate": user, "builder": "default",
		"capture.max": "TILESCOPE_CAPTURE_MAX",
	} {
		if got := src.From(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
	if !slices.Equal(src.Files, []string{here, user}) {
		t.Errorf("files %v", src.Files)
	}
}

// TestHostIsTheUsers: the user's file, variables and options name a host; a project's file cannot.
func TestHostIsTheUsers(t *testing.T) {
	o := surroundings(t)
	write(t, filepath.Join(o.UserDir, "config.yaml"), "host: {name: me@box, copy: yes}\n")
	o.Env = []string{"TILESCOPE_HOST_SSH=ssh -J hop"}
	if c, _ := load(t, o); c.HostName != "me@box" || c.HostCopy != "yes" || c.HostSSH != "ssh -J hop" {
		t.Errorf("%+v", c)
	}
	write(t, filepath.Join(o.Dir, "tilescope.yaml"), "host: {name: you@box, ssh: ./run-me}\nslurm: {options: --uid=0}\nkubernetes: {image: theirs}\n")
	_, _, err := Load(t.Context(), o)
	for _, key := range []string{"host.name", "host.ssh", "slurm.options", "kubernetes.image"} {
		if err == nil || !strings.Contains(err.Error(), key+": a project's file cannot set this") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	o := surroundings(t)
	write(t, filepath.Join(o.UserDir, "config.yaml"),
		"# mine\nseed: many\nshap: small\ntimeout: 30\nmouse: 3\n")
	write(t, filepath.Join(o.Dir, "tilescope.yaml"),
		"capture:\n  max: -1GiB\n  mox: 1\nflags:\n  USE_A: maybe\n  DEBUG_QK_ONLY: 1\nfaults: kt-ld\nshape: 1,8,0,64\nschedule: fifo\n")
	o.Env = []string{"TILESCOPE_BACKEND=gpu", "TILESCOPE_SHPE=small", "TILESCOPE_WORKER_PIPE=7"}
	o.Flags = map[string]string{"device": "-1"}
	_, _, err := Load(t.Context(), o)
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`config.yaml:2: seed: expected a whole number from 0 on, found "many"`,
		`config.yaml:3: shap: unknown key: did you mean shape?`,
		`config.yaml:4: timeout: expected a duration above 0 such as 90s or 2m, found the number 30`,
		`config.yaml:5: mouse: expected true or false, found the number 3`,
		`tilescope.yaml:2: capture.max: expected a size such as 2GiB or 500MB, found "-1GiB"`,
		`tilescope.yaml:3: capture.mox: unknown key: did you mean max?`,
		`tilescope.yaml:5: flags.USE_A: expected a whole number, true or false, found "maybe"`,
		`tilescope.yaml:6: flags.DEBUG_QK_ONLY: DEBUG_QK_ONLY is a gate: set gate: qk`,
		`tilescope.yaml:7: faults: expected a list of fault names, found "kt-ld"`,
		`tilescope.yaml:8: shape: expected a shape's name or B,H,S,D, found "1,8,0,64"`,
		`tilescope.yaml:9: schedule: expected POLICY:SEED`,
		`TILESCOPE_BACKEND: backend: expected one of auto, emu, cuda, both, found "gpu"`,
		`TILESCOPE_SHPE: unknown variable: did you mean TILESCOPE_SHAPE?`,
		`--device: expected a whole number from 0 to 255, found "-1"`,
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("missing: %s", w)
		}
	}
	if len(all.List) != len(want) {
		t.Errorf("%d mistakes, want %d:\n%v", len(all.List), len(want), err)
	}
	write(t, filepath.Join(o.Dir, "tilescope.yaml"), "shape: [1\nseed: 0\n")
	if _, _, err := Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), "tilescope.yaml:") ||
		!strings.Contains(err.Error(), "not valid YAML") {
		t.Errorf("broken YAML: %v", err)
	}
}

func TestInitThenSetKeepsComments(t *testing.T) {
	o := surroundings(t)
	path, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(o); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second init: %v", err)
	}
	for _, kv := range [][2]string{
		{"shape", "mission"}, {"capture.max", "512MiB"}, {"mouse", "off"}, {"seed", "7"}, {"flags.USE_A", ""},
		{"faults", "kt-ld,mask-zero"},
		{"timeout", "90s"}, {"target", "a b.yaml"},
	} {
		if got, err := Set(t.Context(), o, kv[0], kv[1]); err != nil || got != path {
			t.Fatalf("set %v: %s, %v", kv, got, err)
		}
	}
	c, src := load(t, o)
	if c.Shape != "mission" || c.CaptureMax != 512<<20 || c.Mouse || c.Seed != 7 || c.Flags["USE_A"] != "1" ||
		c.Timeout != 90*time.Second ||
		c.Target != "a b.yaml" || !slices.Equal(c.Faults, []string{"kt-ld", "mask-zero"}) {
		t.Errorf("%+v", c)
	}
	if src.From("shape") != path {
		t.Errorf("shape comes from %s", src.From("shape"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(defaultText), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") &&
			!strings.Contains(string(text), line) {
			t.Errorf("the comment %q is lost", line)
		}
	}
	if v, err := Get(t.Context(), o, "seed"); err != nil || v != int64(7) {
		t.Errorf("get seed: %v, %v", v, err)
	}
}

// TestUnset: a key is taken out of the user's file, and a mapping that is empty without it; comments stay.
func TestUnset(t *testing.T) {
	o := surroundings(t)
	path, err := Path(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ before, key, after string }{
		{"seed: 3\n", "seed", "{}\n"},
		{"seed: 3 # mine\nshape: small # too\n", "seed", "shape: small # too\n"},
		{"# a file of mine\n\nseed: 3\nshape: small\n", "seed", "# a file of mine\n\nshape: small\n"},
		{"# of both\nseed: 3\nshape: small\n", "seed", "# of both\nshape: small\n"},
		{"seed: 3\n# about nothing\n\nshape: small\n", "seed", "# about nothing\nshape: small\n"},
		{"keys:\n  # why z\n  tile.heat: [z]\nshape: small\n", "keys.tile.heat", "# why z\nshape: small\n"},
		{"capture:\n  max: 1GiB\nshape: small\n", "capture.max", "shape: small\n"},
		{"keys:\n  tile.heat: [z]\n  zoom: [Z]\n", "keys.tile.heat", "keys:\n  zoom: [Z]\n"},
		{"keys:\n  tile.heat: [z]\n", "keys.tile.heat", "{}\n"},
		{"flags:\n  USE_A: 1\n  USE_B: 0\n", "flags.USE_B", "flags:\n  USE_A: 1\n"},
		{"flags:\n  USE_A: 1\nseed: 1\n", "flags", "seed: 1\n"},
	} {
		write(t, path, x.before)
		if _, err := Unset(t.Context(), o, x.key); err != nil {
			t.Errorf("unset %s in %q: %v", x.key, x.before, err)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != x.after {
			t.Errorf("unset %s in %q: %q, want %q (%v)", x.key, x.before, got, x.after, err)
		}
		if _, _, err := Load(t.Context(), o); err != nil {
			t.Errorf("unset %s in %q: the file cannot be read: %v", x.key, x.before, err)
		}
	}
	write(t, path, "seed: 3\n")
	for key, want := range map[string]string{
		"shape": "shape is not set in " + path, "keys.tile.heat": "keys.tile.heat is not set in " + path,
		"sead": "did you mean seed?",
	} {
		if _, err := Unset(t.Context(), o, key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unset %s: %v, want %q", key, err, want)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != "seed: 3\n" {
		t.Errorf("a refused unset wrote %q", got)
	}
}

// TestGetAPart: what set writes, get reads: of one action and of one flag, too.
func TestGetAPart(t *testing.T) {
	o := surroundings(t)
	o.CheckKeys = func(list []KeySetting) (out []*Error) {
		for _, s := range list {
			if s.Name == "tile.haet" {
				out = append(out, s.Mistake("there is no action tile.haet: did you mean tile.heat?"))
			}
		}
		return out
	}
	for key, value := range map[string]string{
		"keys.tile.heat": "ctrl+t,Z", "keys.zoom": "", "flags.USE_A": "2",
	} {
		if _, err := Set(t.Context(), o, key, value); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]any{
		"keys.tile.heat": []string{"ctrl+t", "Z"}, "keys.zoom": []string{}, "flags.USE_A": "2",
	} {
		if got, err := Get(t.Context(), o, key); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("get %s: %#v, %v; want %#v", key, got, err, want)
		}
	}
	for key, want := range map[string]string{
		"keys.diff":      "keys.diff is not set: the action has the keys of the terminal's own table",
		"keys.tile.haet": "did you mean tile.heat?", "keys.Heat!": "expected ACTION=KEY",
		"flags.USE_B": "flags.USE_B is not set", "flags.A B": "not a flag's name",
	} {
		if _, err := Get(t.Context(), o, key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("get %s: %v, want %q", key, err, want)
		}
	}
	if _, err := Set(t.Context(), o, "foo", "1"); err == nil ||
		!strings.HasPrefix(err.Error(), `unknown configuration key "foo"`) {
		t.Errorf("set foo: %v", err)
	}
}

func TestSet(t *testing.T) {
	o := surroundings(t)
	path, err := Path(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ before, key, value, after string }{
		{"", "seed", "3", "seed: 3\n"},
		{"# only this\n", "seed", "3", "# only this\n\nseed: 3\n"},
		{"seed: 3 # mine\nshape: small\n", "seed", "4", "seed: 4 # mine\nshape: small\n"},
		{"shape: small\n", "capture.max", "1GiB", "shape: small\ncapture:\n  max: 1GiB\n"},
		{"seed: broken\nshape: small\n", "seed", "4", "seed: 4\nshape: small\n"},
		{"flags: {}\n", "flags.USE_A", "off", "flags:\n  USE_A: 0\n"},
		{"flags: {A: 1}\n", "flags", "", "flags: {}\n"},
		{"", "faults", "", "faults: []\n"},
	} {
		write(t, path, x.before)
		if _, err := Set(t.Context(), o, x.key, x.value); err != nil {
			t.Errorf("set %s %s in %q: %v", x.key, x.value, x.before, err)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != x.after {
			t.Errorf("set %s %s in %q: %q, want %q (%v)", x.key, x.value, x.before, got, x.after, err)
		}
	}
	write(t, path, "seed: [\n")
	for key, want := range map[string]string{
		"seed": "not valid YAML", "sead": "did you mean seed?", "flags.A B": "not a flag's name",
	} {
		if _, err := Set(t.Context(), o, key, "1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set %s: %v, want %q", key, err, want)
		}
	}
	if _, err := Set(t.Context(), o, "mouse", "perhaps"); err == nil ||
		!strings.Contains(err.Error(), `mouse: expected true or false, found "perhaps"`) {
		t.Errorf("set mouse perhaps: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "seed: [\n" {
		t.Errorf("a refused set wrote %q", got)
	}
	if _, err := Get(t.Context(), o, "nope"); err == nil {
		t.Error("get of an unknown key")
	}
}

func TestWatch(t *testing.T) {
	o := surroundings(t)
	file := filepath.Join(o.Dir, "tilescope.yaml")
	write(t, file, "seed: 1\n")
	ctx, cancel := context.WithCancel(context.Background())
	tick, got, done := make(chan time.Time), make(chan string, 4), make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx, o, tick, func(c *Config, err error) {
			if err != nil {
				got <- err.Error()
				return
			}
			got <- c.Flags["USE_A"]
		})
	}()
	tick <- time.Time{} // the watcher has read the files once it takes a tick
	write(t, file, "flags: {USE_A: 1}\n")
	tick <- time.Time{}
	tick <- time.Time{} // a change counts once it was seen twice
	if s := <-got; s != "1" {
		t.Errorf("after the first change: %q", s)
	}
	tick <- time.Time{} // nothing changed: no call
	write(t, file, "flags: 3\n")
	tick <- time.Time{}
	tick <- time.Time{}
	if s := <-got; !strings.Contains(s, "tilescope.yaml:1: flags: expected a mapping") {
		t.Errorf("after a mistake: %q", s)
	}
	cancel()
	<-done
	if len(got) != 0 {
		t.Errorf("called without a change: %q", <-got)
	}
}

// TestToolchainOfProject: a toolchain counts as the user's only where the user's own file or environment
// names it from the root.
func TestToolchainOfProject(t *testing.T) {
	for name, c := range map[string]struct {
		project, user, env string
		want               bool
	}{
		"nothing":                   {},
		"the project's file":        {project: "toolchain: /opt/cuda\n", want: true},
		"the user's file":           {user: "toolchain: /opt/cuda\n"},
		"the user's file, relative": {user: "toolchain: .toolchain\n", want: true},
		"the environment":           {env: "/opt/cuda", project: "toolchain: /evil\n"},
		"the environment, relative": {env: ".toolchain", want: true},
		"the project's file wins": {project: "toolchain: /evil\n",
			user: "toolchain: /opt/cuda\n", want: true},
		"the project's says nothing": {project: "seed: 3\n", user: "toolchain: /opt/cuda\n"},
	} {
		o := LoadOptions{
			Dir: t.TempDir(), UserDir: t.TempDir(), CacheDir: t.TempDir(),
			Env: []string{"TILESCOPE_TOOLCHAIN=" + c.env},
		}
		for path, text := range map[string]string{
			filepath.Join(o.Dir, "tilescope.yaml"):  c.project,
			filepath.Join(o.UserDir, "config.yaml"): c.user,
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := Load(t.Context(), o)
		if err != nil || got.ToolchainOfProject != c.want || filepath.Dir(got.TrustFile) != o.UserDir {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
