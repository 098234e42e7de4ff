package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

const compiled = `schema: tilescope.kernel/1
name: mine
source: k.cu
KEYS
entry: k
flags: [{name: FAST}]
launch: {grid: [1, 1, 1], block: [32, 1, 1]}
args: [{name: n, type: i32, value: 1}]
`

func TestCompileKeys(t *testing.T) {
	parse := func(keys string) (*Manifest, error) {
		return ParseManifest("k.yaml", []byte(strings.Replace(compiled, "KEYS", keys, 1)))
	}
	m, err := parse("include: [inc]\ndefines: {WIDTH: 64, NAME: a b, EMPTY: null}\nstd: c++20")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{"inc", "more"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	m.Dir = "."
	s, err := m.Select("", map[string]string{"FAST": "1"}, nil, probes.GateNone)
	if err == nil {
		err = s.AddCompile(Compile{Include: []string{"more"}, Defines: []string{"WIDTH=32", "ON", "ON=1"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	cwd, _ := os.Getwd()
	if want := []string{
		filepath.Join(cwd, "more"), filepath.Join(cwd, "inc"),
	}; !slices.Equal(s.Compile.Include, want) || s.Compile.Std != "c++20" {
		t.Errorf("%+v, want %v", s.Compile, want)
	}
	if want := []string{
		"EMPTY=", "FAST=1", "NAME=a b", "ON=1", "WIDTH=32",
	}; !slices.Equal(s.Defines(), want) {
		t.Errorf("%v, want %v", s.Defines(), want)
	}
	for bad, want := range map[string]string{
		"defines: {FAST: 1}": "k.yaml:4: defines.FAST: FAST is a flag of kernel mine",
		"defines: {1A: 1}":   "defines.1A", "std: f77": "std:",
		"defines: {A: [1]}": "defines.A: expected a value", "include: x": "include: expected a list",
		"defines: {TS_PROBES: 1}": "tilescope's own",
	} {
		if _, err := parse(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", bad, err, want)
		}
	}
	if _, err := ParseManifest("k.yaml",
		[]byte(strings.Replace(strings.Replace(compiled, "KEYS", "std: c++20", 1), "source: k.cu",
			"ptx: k.ptx", 1))); err == nil || !strings.Contains(err.Error(), "nothing is compiled") {
		t.Errorf("with ptx: %v", err)
	}
	for _, c := range []Compile{
		{Defines: []string{"FAST"}}, {Defines: []string{"A=1", "A=2"}}, {Defines: []string{"f(x)=1"}},
		{Std: "17"}, {Include: []string{"absent"}},
	} {
		if err := s.AddCompile(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
