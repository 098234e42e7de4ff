package configs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tilescope/debugkern/file"
)

// userDir returns the directory of the user's configuration.
func userDir(o LoadOptions) (string, error) {
	if o.UserDir != "" {
		return o.UserDir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place for the user's configuration: %w", err)
	}
	return filepath.Join(dir, "tilescope"), nil
}

// userFile is the user's configuration file, "" where there is no place for one.
func userFile(o LoadOptions) string {
	dir, err := userDir(o)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "config.yaml")
}

// Path returns where the user's configuration file is, whether it exists or not.
func Path(o LoadOptions) (string, error) {
	dir, err := userDir(o)
	return filepath.Join(dir, "config.yaml"), err
}

// Init writes the commented defaults as the user's configuration file, and returns its path. A file that is
// there is left alone, and is an error.
func Init(o LoadOptions) (string, error) {
	path, err := Path(o)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s exists; change it with config set KEY VALUE, or remove it first", path)
	}
	return path, writeFile(o.Files, path, defaultText)
}

// Get returns the value in force of one key: of flags.NAME a text, of keys.ACTION and keys.VIEW.ACTION the
// list of its keys.
func Get(ctx context.Context, o LoadOptions, name string) (any, error) {
	action, ofKeys := strings.CutPrefix(name, "keys.")
	flag, ofFlags := strings.CutPrefix(name, "flags.")
	if !ofKeys && !ofFlags {
		if _, err := findKey(name); err != nil {
			return nil, err
		}
	} else if err := part(o, action, flag, ofKeys); err != nil {
		return nil, named(name, err)
	}
	c, src, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Keys {
		if ofKeys && s.Name == action {
			return append([]string{}, s.Keys...), nil // empty, not null, in documents
		}
	}
	if value, ok := c.Flags[flag]; ofFlags && ok {
		return value, nil
	}
	for _, k := range src.keys {
		if k.Key == name {
			return k.Value, nil
		}
	}
	if ofKeys {
		return nil, fmt.Errorf("%s is not set: the action has the keys of the terminal's own table", name)
	}
	return nil, fmt.Errorf("%s is not set", name)
}

// part checks the name behind "keys." or "flags.".
func part(o LoadOptions, action, flag string, ofKeys bool) error {
	if !ofKeys {
		return flagPair(flag, "1")
	}
	if err := keyPair(action + "="); err != nil {
		return err
	}
	if o.CheckKeys == nil {
		return nil
	}
	for _, e := range o.CheckKeys([]KeySetting{{Name: action}}) {
		return errors.New(e.Msg)
	}
	return nil
}

// Unset takes a key out of the user's configuration file, whose comments stay, and returns the file's path:
// the key has its value from elsewhere again. flags.NAME and keys.ACTION are one of a mapping. A key that the
// file does not set is an error.
func Unset(ctx context.Context, o LoadOptions, name string) (string, error) {
	path, err := Path(o)
	if err != nil {
		return "", err
	}
	keyPath := strings.Split(name, ".")
	group, one, nested := strings.Cut(name, ".")
	if nested && (group == "keys" || group == "flags") {
		keyPath = []string{group, one} // an action's name may have a dot
	} else if _, err := findKey(name); err != nil {
		return "", err
	}
	old, err := file.Read(ctx, path, maxFile, file.Want{What: "a configuration"})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("unset %s: %w", name, err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(old, &doc); err != nil {
		r := &reader{file: path}
		r.syntax(err)
		return "", errorsOf(r.errs)
	}
	if len(doc.Content) == 0 || !remove(doc.Content[0], keyPath) {
		return "", fmt.Errorf("%s is not set in %s", name, path)
	}
	text, err := encode(path, nil, &doc)
	if err != nil {
		return "", err
	}
	return path, writeFile(o.Files, path, text)
}

// remove takes a key out of a mapping, and the mapping that has no other out of its own. It reports whether
// the key was there. What is commented above a key stays above the next one.
func remove(m *yaml.Node, path []string) bool {
	if m = deref(m); m.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if key.Value != path[0] {
			continue
		}
		comments := []string{key.HeadComment, key.FootComment}
		if len(path) > 1 {
			if !remove(value, path[1:]) {
				return false
			}
			if len(deref(value).Content) > 0 {
				return true
			}
			comments = append(comments, deref(value).HeadComment, deref(value).FootComment)
		}
		if i+2 < len(m.Content) {
			next := m.Content[i+2]
			next.HeadComment = paragraphs(append(comments, next.HeadComment)...)
		} else {
			m.FootComment = paragraphs(append([]string{m.FootComment}, comments...)...)
		}
		m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
		return true
	}
	return false
}

// paragraphs joins comments that are there, with an empty line between two.
func paragraphs(comments ...string) string {
	return strings.Join(slices.DeleteFunc(comments, func(c string) bool { return c == "" }), "\n\n")
}

// Set checks a value and writes it into the user's configuration file, whose comments stay; it returns
// the file's path. A flag is set by flags.NAME. A file with other mistakes can be mended this way, one
// that is no YAML cannot.
func Set(ctx context.Context, o LoadOptions, name, value string) (string, error) {
	path, err := Path(o)
	if err != nil {
		return "", err
	}
	keyPath, node, err := setting(name, value)
	if err != nil {
		return "", named(name, err)
	}
	old, err := file.Read(ctx, path, maxFile, file.Want{What: "a configuration"})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("set %s: %w", name, err)
	}
	text, err := edit(path, old, keyPath, node)
	if err != nil {
		return "", err
	}
	if keyPath[0] == "keys" && o.CheckKeys != nil {
		l, _ := parseLayer(ctx, path, path, text)
		pairs, _ := l.values["keys"].([]string)
		for _, e := range o.CheckKeys(keySettings(pairs, path, l.places)) {
			if len(keyPath) == 1 || e.Field == strings.Join(keyPath, ".") {
				return "", fmt.Errorf("%s: %s", e.Field, e.Msg)
			}
		}
	}
	return path, writeFile(o.Files, path, text)
}

// setting checks NAME VALUE and gives the key's path and the YAML to put there.
func setting(name, value string) ([]string, *yaml.Node, error) {
	if flag, ok := strings.CutPrefix(name, "flags."); ok {
		if value == "" {
			value = "1"
		}
		if err := flagPair(flag, value); err != nil {
			return nil, nil, err
		}
		n, _ := FlagValue(value)
		return []string{
			"flags", flag,
		}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(n)}, nil
	}
	if action, ok := strings.CutPrefix(name, "keys."); ok {
		if err := keyPair(action + "="); err != nil {
			return nil, nil, err
		}
		return []string{"keys", action}, keyList(strings.Split(value, ",")), nil
	}
	k, err := findKey(name)
	if err != nil {
		return nil, nil, err
	}
	v, err := k.fromText(value)
	if err != nil {
		return nil, nil, err
	}
	if k.name == "keys" {
		m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, s := range keySettings(v.([]string), "", nil) {
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s.Name}, keyList(s.Keys))
		}
		return []string{"keys"}, m, nil
	}
	if k.name == "flags" {
		m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, pair := range v.([]string) {
			flag, text, _ := strings.Cut(pair, "=")
			n, _ := FlagValue(text)
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: flag},
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(n)})
		}
		return []string{"flags"}, m, nil
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		return nil, nil, err
	}
	if k.many {
		n.Style = yaml.FlowStyle
		n.Kind, n.Tag, n.Value = yaml.SequenceNode, "!!seq", "" // an empty list is not null
	}
	return strings.Split(k.name, "."), n, nil
}

// keyList is a list of keys as YAML.
func keyList(keys []string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, k := range keys {
		if k != "" {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k,
				Style: yaml.DoubleQuotedStyle})
		}
	}
	return out
}

// edit puts node at a key's path into a YAML text, making the mappings on the way.
func edit(file string, old []byte, path []string, node *yaml.Node) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(old, &doc); err != nil {
		r := &reader{file: file}
		r.syntax(err)
		return nil, errorsOf(r.errs)
	}
	comments := []byte(nil)
	if len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Tag == "!!null" {
		comments = bytes.TrimSpace(old) // nothing but comments: they stay on top
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	at := doc.Content[0]
	for i, k := range path {
		if at = deref(at); at.Kind != yaml.MappingNode {
			return nil, &Errors{
				[]*Error{
					{file, at.Line, at.Column, strings.Join(path[:i], "."),
						"expected a mapping, found " + kindOf(at)},
				},
			}
		}
		at = child(at, k, i == len(path)-1, node)
	}
	return encode(file, comments, &doc)
}

// encode writes a document below comments.
func encode(file string, comments []byte, doc *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	if len(comments) > 0 {
		out.Write(append(comments, "\n\n"...))
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("write %s: %w", file, err)
	}
	return out.Bytes(), enc.Close()
}

// child returns the value of key k in a mapping, made where it is missing; the last one on a path becomes
// node, and keeps the comments of what stood there.
func child(m *yaml.Node, k string, leaf bool, node *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != k {
			continue
		}
		if leaf {
			old := m.Content[i+1]
			node.HeadComment, node.LineComment, node.FootComment = old.HeadComment, old.LineComment,
				old.FootComment
			m.Content[i+1] = node
		}
		return m.Content[i+1]
	}
	if !leaf {
		node = &yaml.Node{Kind: yaml.MappingNode}
	}
	m.Style = 0 // block style: a mapping written {} would grow sideways
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: k}, node)
	return node
}

// writeFile replaces one of tilescope's own files as a whole, and makes its directory where there is none.
func writeFile(files *file.System, path string, text []byte) error {
	if err := files.Mkdir(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return files.Write(path, text, 0o666)
}

// pollEvery is how often Watch looks at the files: soon enough for an editor's save, and no file system needs
// to support notification for it.
const pollEvery = 400 * time.Millisecond

// Watch calls changed with the new configuration whenever one of its files has changed, appeared or gone, or
// with the error that makes it unreadable (the old configuration then stays in force). It returns when ctx
// ends; changed is called from the calling goroutine.
func Watch(ctx context.Context, o LoadOptions, changed func(*Config, error)) {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	watch(ctx, o, t.C, changed)
}

func watch(ctx context.Context, o LoadOptions, tick <-chan time.Time, changed func(*Config, error)) {
	seen := contents(ctx, o)
	last := seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		now := contents(ctx, o)
		if now != seen && now == last { // the same twice: not in the middle of somebody's write
			seen = now
			c, _, err := Load(ctx, o)
			changed(c, err)
		}
		last = now
	}
}

// contents are the two files' texts: a few kilobytes, and unlike a time stamp they change
// exactly when it matters.
func contents(ctx context.Context, o LoadOptions) [2]string {
	var out [2]string
	for i, path := range []string{userFile(o), projectFile(o)} {
		text, err := file.Read(ctx, path, maxFile, file.Want{What: "a configuration"})
		if err != nil {
			out[i] = err.Error()
			continue
		}
		out[i] = "=" + string(text)
	}
	return out
}
