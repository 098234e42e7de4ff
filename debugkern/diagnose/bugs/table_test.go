package bugs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/patch"
	"tilescope/kernels"
	"tilescope/probes"
)

// roles of sets: README.md.
const (
	unseen   = "unseen"   // no diagnosis code is developed with it
	measured = "measured" // it was unseen, and is for developing now
	open     = "open"     // for developing from the start; the set of this role has its name
	harmless = "harmless" // rewrites that leave the kernel right; the set of this role has its name
)

// bug is one entry of a table. Harmless edits have a name, a target, a shape and a reason only.
type bug struct {
	Name   string `yaml:"name"`
	Kind   string `yaml:"kind"`   // a row of the table of kinds in README.md
	Target string `yaml:"target"` // variant of the catalogue that the edit is made in
	Shape  string `yaml:"shape"`  // the variant's name for one, or its dimensions
	Gate   string `yaml:"gate"`

	Stages   []string   `yaml:"stages"`   // the first cause spoils one of these first
	Findings []string   `yaml:"findings"` // or it is a finding of one of these kinds
	Lines    []string   `yaml:"lines"`    // guilty in addition to the edited ones: README.md
	Words    [][]string `yaml:"words"`    // the story contains all expressions of one of these
	Truth    string     `yaml:"truth"`
	Why      string     `yaml:"why"`      // of a harmless edit: why the kernel is still right
	Manifest []change   `yaml:"manifest"` // of a harmless edit: what the manifest says of the kernel then

	set     string
	diff    string            // text of the patch
	sources map[string]string // patched texts by name, as they are compiled: source and headers
	guilty  map[string][]int  // lines that count as right, by the name of the file as debug lines have it
	sel     *configs.Selection
}

// change replaces a text of the manifest, which stands there once.
type change struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// rates are how many bugs of a set reach a degree.
type rates struct {
	Found int `yaml:"found"`
	Stage int `yaml:"stage"`
	Line  int `yaml:"line"`
	Words int `yaml:"words"`
	One   int `yaml:"one"`
}

// table is a set: what it is for, who wrote it, what it reaches today, and its entries.
type table struct {
	Role    string `yaml:"role"`
	About   string `yaml:"about"`
	AtLeast rates  `yaml:"at_least"`
	Bugs    []*bug `yaml:"bugs"`
	Edits   []*bug `yaml:"edits"` // of the harmless

	name string
}

// kinds are those of README.md.
var kinds = []string{"loop", "index", "tensor", "reduction", "algorithm", "arithmetic", "memory", "order"}

// own is put before the names of a patched kernel's files: by these names alone its texts are not those of
// the catalogue.
const own = "own_"

// read reads a set with its patches.
func read(set string) (*table, error) {
	text, err := os.ReadFile(set + ".yaml")
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	t := &table{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("%s.yaml: %w", set, err)
	}
	if err := d.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s.yaml: more than one document", set)
	}
	if !slices.Contains([]string{unseen, measured, open, harmless}, t.Role) || t.About == "" {
		return nil, fmt.Errorf("%s.yaml: role %q, expected one of README.md's, and about", set, t.Role)
	}
	t.name = set
	t.Bugs = append(t.Bugs, t.Edits...)
	for _, b := range t.Bugs {
		b.set = set
		if err := b.load(); err != nil {
			return nil, fmt.Errorf("%s.yaml: %s: %w", set, b.Name, err)
		}
	}
	return t, nil
}

// sets reads all sets that have one of the roles, or all sets without one, in the order of their names.
func sets(t *testing.T, roles ...string) []*table {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []*table
	for _, f := range files {
		tab := entries(t, strings.TrimSuffix(f, ".yaml"))
		if len(roles) == 0 || slices.Contains(roles, tab.Role) {
			out = append(out, tab)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no set in this folder has the role %s", strings.Join(roles, " or "))
	}
	return out
}

// developing are the bugs that diagnose is developed with.
func developing(t *testing.T) []*bug {
	t.Helper()
	var out []*bug
	for _, tab := range sets(t, open, measured) {
		out = append(out, tab.Bugs...)
	}
	return out
}

// entries reads a set, and fails the test where it cannot be read.
func entries(t *testing.T, set string) *table {
	t.Helper()
	out, err := read(set)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var ownInclude = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// load reads the patch and applies it.
func (b *bug) load() error {
	c, err := configs.Kernels()
	if err != nil {
		return err
	}
	m, variant, err := c.Lookup(b.Target)
	if err != nil {
		return err
	}
	if b.sel, err = m.Select(variant, nil, nil, probes.Gate(b.Gate)); err != nil {
		return err
	}
	name := path.Join(b.set, b.Name+".patch")
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	b.diff = string(text)
	p, err := patch.Parse(name, text)
	if err != nil {
		return err
	}
	original, headers, err := kernels.Texts(m.Source)
	if err != nil {
		return err
	}
	headers[m.Source] = string(original)
	changed, err := patch.Apply(func(name string) (string, error) {
		text, ok := headers[name]
		if !ok {
			return "", fmt.Errorf("%s is not compiled from it", m.Source)
		}
		return text, nil
	}, p)
	if err != nil {
		return err
	}
	b.sources = map[string]string{}
	for name, text := range headers {
		if patched, ok := changed[name]; ok {
			text = patched
		}
		b.sources[own+name] = ownInclude.ReplaceAllStringFunc(text, func(line string) string {
			if inc := ownInclude.FindStringSubmatch(line)[1]; headers[inc] != "" {
				return `#include "` + own + inc + `"`
			}
			return line
		})
	}
	return b.lines(p)
}

// lines finds the lines that count as right: those that the patch adds, and those of the table.
func (b *bug) lines(p *patch.Patch) error {
	b.guilty = map[string][]int{}
	for _, f := range p.Files {
		shift := 0
		for _, h := range f.Hunks {
			at := h.Start + shift
			for _, e := range h.Edits {
				if e.Op == '+' {
					b.guilty[own+f.Name] = append(b.guilty[own+f.Name], at)
					shift++
				}
				if e.Op == '-' {
					shift--
				} else {
					at++
				}
			}
		}
	}
	for _, part := range b.Lines {
		file, text := b.source(), part
		if name, rest, ok := strings.Cut(part, ": "); ok && b.sources[own+name] != "" {
			file, text = own+name, rest
		}
		n := 0
		for i, line := range strings.Split(b.sources[file], "\n") {
			if strings.Contains(line, text) {
				b.guilty[file] = append(b.guilty[file], i+1)
				n++
			}
		}
		if n < 1 || n > 2 {
			return fmt.Errorf("lines: %q stands in %d lines of %s, expected 1 or 2", part, n, file)
		}
	}
	return nil
}

// kernel is the name of the manifest.
func (b *bug) kernel() string { return b.sel.Manifest.Name }

// source is the name of the file that is compiled.
func (b *bug) source() string { return own + b.sel.Manifest.Source }

// key and inputs are what the archive has a build by.
func (b *bug) key() kernels.Key {
	return kernels.Key{
		Kernel: b.kernel(), Defines: append(b.sel.Defines(), "TS_PROBES=1"), Faults: []string{b.Name},
	}
}

// arch is the architecture that the kernel is compiled for.
func (b *bug) arch() string { return cmp.Or(b.sel.Manifest.Compile.Arch, arch) }

func (b *bug) inputs() kernels.Inputs {
	in := kernels.Inputs{
		Headers: map[string]string{probes.HeaderName: probes.Header},
		Options: cuda.Options(b.arch()), Defines: b.key().Defines, Compiler: pinned,
	}
	for name, text := range b.sources {
		if name == b.source() {
			in.Source = []byte(text)
		} else {
			in.Headers[name] = text
		}
	}
	return in
}

// Every entry is complete, and every patch is that of one entry, named for it, with its hunks at the lines
// that they state.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, tab := range sets(t) {
		for _, b := range tab.Bugs {
			if seen[b.Name] {
				t.Errorf("%s: twice", b.Name)
			}
			seen[b.Name] = true
			first, _, _ := strings.Cut(b.diff, "\n")
			if says := b.Truth + b.Why; first != "# "+b.Name+": "+says {
				t.Errorf("%s: the patch begins with %q, and the table says %q", b.Name, first, says)
			}
			if tab.Role == harmless {
				if b.Why == "" || b.Kind+b.Truth != "" ||
					len(b.Stages)+len(b.Findings)+len(b.Words)+len(b.Lines) > 0 {
					t.Errorf("%s: expected a reason, and nothing else", b.Name)
				}
				continue
			}
			b.checkExpectation(t)
		}
		files, err := filepath.Glob(tab.name + "/*")
		if err != nil || len(files) != len(tab.Bugs) {
			t.Errorf("%s: %d patches for %d entries, %v", tab.name, len(files), len(tab.Bugs), err)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d entries read", len(seen))
	}
}

// checkExpectation fails where an expectation cannot be met, or is met by everything.
func (b *bug) checkExpectation(t *testing.T) {
	t.Helper()
	expected := len(b.Stages)+len(b.Findings) > 0 && len(b.Words) > 0 && b.Truth != ""
	if !slices.Contains(kinds, b.Kind) || !expected || b.Why != "" || len(b.Manifest) > 0 {
		t.Errorf("%s: incomplete: %+v", b.Name, b)
	}
	for _, name := range b.Stages {
		if !slices.ContainsFunc(b.sel.Manifest.Stages, func(s configs.Stage) bool {
			return s.Stage == probes.Stage(name)
		}) {
			t.Errorf("%s: %s has no stage %s", b.Name, b.kernel(), name)
		}
	}
	if len(b.guilty) == 0 {
		t.Errorf("%s: no line is guilty", b.Name)
	}
	for _, all := range b.Words {
		for _, expr := range all {
			if re, err := regexp.Compile("(?is)" + expr); err != nil || re.MatchString("") {
				t.Errorf("%s: words: %q: %v", b.Name, expr, err)
			}
		}
	}
}
