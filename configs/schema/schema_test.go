package schema

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the reference and the JSON Schema anew")

// TestDocumentsAreCurrent: the reference and the JSON Schema in docs are those of the table.
func TestDocumentsAreCurrent(t *testing.T) {
	for name, want := range map[string][]byte{"manifest.md": Markdown(), "manifest.schema.json": JSON()} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the table of keys gives (%v): make docs", name, err)
		}
	}
}

// compiled is the JSON Schema of a section.
func compiled(t *testing.T, section string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSON()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("manifest.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("manifest.json#/definitions/" + section)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTable: every row has a line of help and an example that is the key with a value it takes, and what
// values refer to is there.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i := range sections {
		s := &sections[i]
		if seen[s.Name] {
			t.Errorf("two sections %s", s.Name)
		}
		seen[s.Name] = true
		keys := s.Keys
		if s.Others != nil {
			keys = append(slices.Clone(keys), *s.Others)
		}
		conforms := compiled(t, s.Name)
		for _, k := range keys {
			at := s.Name + "." + k.Name
			if k.Help == "" || strings.ContainsAny(k.Help, "\n") || strings.HasSuffix(k.Help, ".") {
				t.Errorf("%s: help %q; expected one line without a full stop", at, k.Help)
			}
			var example map[string]any
			if err := yaml.Unmarshal([]byte(k.Example), &example); err != nil || len(example) != 1 {
				t.Errorf("%s: example %q is no key with its value (%v)", at, k.Example, err)
				continue
			}
			if _, own := example[k.Name]; !own && (s.Others == nil || k.Name != s.Others.Name) {
				t.Errorf("%s: example %q is of another key", at, k.Example)
			}
			if err := conforms.Validate(any(example)); err != nil && !onlyMissing(err) {
				t.Errorf("%s: example %q: %v", at, k.Example, err)
			}
			checkValue(t, at, k.Value)
		}
	}
}

// onlyMissing reports whether a mapping lacks keys and is right otherwise: an example is one key.
func onlyMissing(err error) bool {
	text := regexp.MustCompile(`(?m)^- .*missing propert.*$`).ReplaceAllString(err.Error(), "")
	return !strings.Contains(text, "\n- ")
}

// checkValue: sections that a value names are there, and patterns are regular expressions.
func checkValue(t *testing.T, at string, v Value) {
	t.Helper()
	if v.Form == Mapping {
		Of(v.Section)
	}
	if _, err := regexp.Compile(v.Pattern); err != nil {
		t.Errorf("%s: %v", at, err)
	}
	for _, of := range v.Of {
		checkValue(t, at, of)
	}
}

// TestAbsentKeyIsABug: the reader asks for rows by name, and a name that the table does not have
// must not go unnoticed.
func TestAbsentKeyIsABug(t *testing.T) {
	for name, ask := range map[string]func(){
		"section": func() { Of("no-such-section") },
		"default": func() { Of("launch").Default("grid") },
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "BUG: ") {
					t.Errorf("%s: %v", name, r)
				}
			}()
			ask()
		}()
	}
}
