package configs

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
)

// editor is the JSON Schema that editors use.
func editor(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("manifest.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refusedByEditor is what the JSON Schema has against a document; nil where it has nothing.
func refusedByEditor(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return s.Validate(withTextKeys(v))
}

// withTextKeys is a document as JSON has it: a key is a text.
func withTextKeys(v any) any {
	out := map[string]any{}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withTextKeys(v[i])
		}
		return v
	case map[string]any:
		for k, x := range v {
			out[k] = withTextKeys(x)
		}
	case map[any]any:
		for k, x := range v {
			out[fmt.Sprint(k)] = withTextKeys(x)
		}
	default:
		return v
	}
	return out
}

// refusedByReader is what the reader has against a document.
func refusedByReader(t *testing.T, text []byte) error {
	t.Helper()
	if !bytes.Contains(text, []byte(SequenceSchema)) {
		_, err := ParseManifest("kernel.yaml", text)
		return err
	}
	path := filepath.Join(t.TempDir(), "sequence.yaml")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := LoadSequence(t.Context(), path)
	return err
}

// manifests are documents that have every key of the table between them.
func manifests(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{
		"further":  []byte(furtherOperators),
		"declared": []byte(strings.ReplaceAll(declared, "GATES", stopAfterA)),
	}
	for _, dir := range []string{"kernels", "testdata"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			// which has five mistakes
			if err == nil && filepath.Ext(path) == ".yaml" && filepath.Base(path) != "five.yaml" {
				out[path], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestSchemaAcceptsManifests: what the reader accepts, an editor does not mark.
func TestSchemaAcceptsManifests(t *testing.T) {
	s := editor(t)
	for name, text := range manifests(t) {
		if err := refusedByReader(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := refusedByEditor(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// occurrence is a place in a document where the table says what may stand.
type occurrence struct {
	section, key string
	want         schema.Value
	set          func(n *yaml.Node) (undo func()) // puts something else there; nil: nothing
}

// occurrences lists the keys of a section within a document, and of those below it.
func occurrences(n *yaml.Node, section string) []occurrence {
	var out []occurrence
	s := schema.Of(section)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, ok := s.Key(n.Content[i].Value)
		if !ok || n.Style&yaml.FlowStyle != 0 && n.Content[i+1].Tag == "!!null" {
			continue // a part of a call
		}
		out = append(out, occurrence{section, k.Name, k.Value, func(with *yaml.Node) func() {
			was := slices.Clone(n.Content)
			n.Content = slices.Delete(slices.Clone(was), i, i+2)
			if with != nil {
				n.Content = slices.Insert(n.Content, i, was[i], with)
			}
			return func() { n.Content = was }
		}})
		out = append(out, below(n.Content[i+1], k.Value)...)
	}
	return out
}

// below lists the keys within a value.
func below(n *yaml.Node, v schema.Value) []occurrence {
	var out []occurrence
	switch {
	case v.Form == schema.Either && n.Kind == yaml.SequenceNode:
		if l := v.Listed(); l != nil {
			return below(n, *l)
		}
	case v.Form == schema.List && n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			out = append(out, below(c, v.Of[0])...)
		}
	case n.Kind != yaml.MappingNode:
	case v.Form == schema.Operation:
		for i := 0; i < len(n.Content); i += 2 {
			if name := n.Content[i].Value; slices.Contains(operatorsAmong(keysOf(n)), name) {
				return occurrences(n, "op-"+name)
			}
		}
	case v.Form == schema.Either:
		section := v.Nested()
		switch {
		case mayBeOperation(v):
			return below(n, schema.Value{Form: schema.Operation})
		case section != "" && slices.ContainsFunc(keysOf(n), func(k string) bool {
			return slices.Contains(schema.Of(section).Names(), k)
		}):
			return occurrences(n, section)
		}
	case v.Form == schema.Names:
		for i := 1; i < len(n.Content); i += 2 {
			out = append(out, below(n.Content[i], v.Of[0])...)
		}
	case v.Form == schema.Mapping:
		return occurrences(n, v.Section)
	}
	return out
}

// mayBeOperation reports whether an operation is among a value's alternatives.
func mayBeOperation(v schema.Value) bool {
	return v.Form == schema.Operation || v.Form == schema.Either && slices.ContainsFunc(v.Of, mayBeOperation)
}

// expanded replaces every alias by what it stands for, so that one place can be changed alone.
func expanded(n *yaml.Node) *yaml.Node {
	c := *deref(n)
	c.Anchor, c.Content = "", slices.Clone(c.Content)
	for i := range c.Content {
		c.Content[i] = expanded(c.Content[i])
	}
	return &c
}

// nodesOf is a document as nodes.
func nodesOf(t *testing.T, text []byte) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return expanded(&doc)
}

func keysOf(n *yaml.Node) []string {
	var out []string
	for i := 0; i < len(n.Content); i += 2 {
		out = append(out, n.Content[i].Value)
	}
	return out
}

func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

// mapping is {"?!": {"?!": 1}}, which is no value of any key; sequence is [[…]].
func mapping() *yaml.Node {
	inner := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{quoted("?!"), plain("1")}}
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{quoted("?!"), inner}}
}

func sequence() *yaml.Node {
	inner := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapping()}}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{inner}}
}

// mistakes are values that a key cannot have, by what is wrong with them.
func mistakes(v schema.Value) map[string]*yaml.Node {
	out := map[string]*yaml.Node{"a mapping": mapping(), "a list": sequence()}
	switch v.Form {
	case schema.Text:
		if v.Pattern != "" {
			out["a text of another pattern"] = quoted("?!")
		}
	case schema.Word:
		out["another word"] = quoted("?!")
	case schema.Whole:
		out["a word"], out["a fraction"] = quoted("?!"), plain("1.5")
		out["below"], out["above"] = plain(fmt.Sprint(v.Lo-1)), plain(fmt.Sprint(v.Hi+1))
	case schema.Number:
		out["a word"], out["below"] = quoted("?!"), plain(fmt.Sprint(v.Min-1))
		if v.Above {
			out["at the limit"] = plain(fmt.Sprint(v.Min))
		}
	case schema.Truth:
		out["a word"], out["a number"] = quoted("?!"), plain("7")
	case schema.List, schema.Names, schema.Mapping, schema.Operation:
		out["a word"] = quoted("?!")
	case schema.Either:
		free := func(x schema.Value) bool {
			return x.Pattern == "" &&
				(x.Form == schema.Text || x.Form == schema.Expression || x.Form == schema.Either)
		}
		if !slices.ContainsFunc(v.Of, free) {
			out["a word"] = quoted("?!")
		}
	}
	return out
}

// TestEveryKeyIsJudgedAlike: for every key of the table, what cannot be its value is refused by the reader
// and by the JSON Schema; a section with a key that it does not have, or without one that it needs, too.
func TestEveryKeyIsJudgedAlike(t *testing.T) {
	s := editor(t)
	met := map[string]bool{}
	docs := manifests(t)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		doc := nodesOf(t, docs[name])
		root := "manifest"
		if marked(doc.Content[0]) {
			root = "sequence"
		}
		for _, at := range occurrences(doc.Content[0], root) {
			if met[at.section+"."+at.key] {
				continue
			}
			met[at.section+"."+at.key] = true
			try := func(what string, with *yaml.Node) {
				t.Helper()
				undo := at.set(with)
				text, err := yaml.Marshal(doc)
				undo()
				if err != nil {
					t.Fatal(err)
				}
				if err := refusedByReader(t, text); err == nil {
					t.Errorf("%s: %s of %s: %s: accepted by the reader", name, at.key, at.section, what)
				}
				if err := refusedByEditor(t, s, text); err == nil {
					t.Errorf("%s: %s of %s: %s: accepted by the JSON Schema", name, at.key, at.section, what)
				}
			}
			for what, with := range mistakes(at.want) {
				try(what, with)
			}
			if k, ok := schema.Of(at.section).Key(at.key); ok && k.Need &&
				!strings.HasPrefix(at.section, "op-") {
				try("missing", nil)
			}
		}
	}
	for _, x := range schema.All() {
		for _, k := range x.Keys {
			if !met[x.Name+"."+k.Name] {
				t.Errorf("no manifest of the tests has %s of %s", k.Name, x.Name)
			}
		}
	}
}

// TestUnknownKey: a key that no section has is refused by the reader and by the JSON Schema, in every
// section that is closed.
func TestUnknownKey(t *testing.T) {
	s := editor(t)
	met := map[string]bool{}
	docs := manifests(t)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		doc := nodesOf(t, docs[name])
		var visit func(n *yaml.Node)
		visit = func(n *yaml.Node) {
			if n.Kind == yaml.MappingNode {
				was := n.Content
				n.Content = append(slices.Clone(was), quoted("?!"), plain("1"))
				text, err := yaml.Marshal(doc)
				n.Content = was
				if err != nil {
					t.Fatal(err)
				}
				reader, editor := refusedByReader(t, text), refusedByEditor(t, s, text)
				if reader == nil || editor == nil {
					t.Errorf("%s, line %d: another key: reader %v, JSON Schema %v", name, n.Line,
						reader, editor)
				}
				met[name] = true
			}
			for _, c := range n.Content {
				visit(c)
			}
		}
		if name == filepath.Join("testdata", "full.yaml") {
			visit(doc)
		}
	}
	if len(met) != 1 {
		t.Errorf("tried in %v", met)
	}
}
