package configs

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// KeySetting gives an action of the terminal other keys. Which actions and keys there are is the terminal's
// to say (LoadOptions.CheckKeys).
type KeySetting struct {
	Name string   // next-bad, or in one view tile.next-bad
	Keys []string // none: the action has no key

	File      string // where it is set, or a variable's name
	Line, Col int    // from 1; 0 where there is no line
}

// Mistake is an error at the place of the setting.
func (s KeySetting) Mistake(msg string) *Error {
	return &Error{File: s.File, Line: s.Line, Col: s.Col, Field: "keys." + s.Name, Msg: msg}
}

// actionName is what an action can be called.
var actionName = regexp.MustCompile(`^([A-Za-z]+\.)?[a-z]+(-[a-z]+)*$`)

// keyPair checks NAME=KEY; an empty KEY leaves the action without keys.
func keyPair(text string) error {
	name, _, ok := strings.Cut(text, "=")
	if !ok || !actionName.MatchString(name) {
		return fmt.Errorf("expected ACTION=KEY or VIEW.ACTION=KEY, found %q", clip(text))
	}
	return nil
}

// keysNode reads the mapping of actions to a key or a list of keys. Its value lists NAME=KEY; what the pairs
// of one name have in common is one setting (keySettings).
func keysNode(r *reader, at *yaml.Node) (any, bool) {
	before := len(r.errs)
	o := r.object(at, "keys")
	if o == nil {
		return nil, false
	}
	out := []string{} // empty, not null, in documents
	for _, name := range o.keys {
		if !actionName.MatchString(name) {
			o.fail(name, "expected an action's name, such as next-bad or tile.next-bad")
			continue
		}
		n := deref(o.vals[name])
		list := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			list = n.Content
		}
		if n.Kind == yaml.SequenceNode && len(list) == 0 {
			out = append(out, name+"=")
		}
		for _, x := range list {
			if x = deref(x); x.Kind != yaml.ScalarNode || x.Value == "" {
				o.fail(name, "expected a key, or a list of keys, found %s", kindOf(x))
				continue
			}
			out = append(out, name+"="+x.Value)
		}
		r.keys = append(r.keys, KeySetting{Name: name, File: r.file, Line: n.Line, Col: n.Column})
	}
	return out, len(r.errs) == before
}

// keySettings joins a value's pairs by name. places says where the settings stand, as far as that is known.
func keySettings(pairs []string, from string, places []KeySetting) []KeySetting {
	var out []KeySetting
	for _, p := range pairs {
		name, key, _ := strings.Cut(p, "=")
		i := 0
		for i < len(out) && out[i].Name != name {
			i++
		}
		if i == len(out) {
			s := KeySetting{Name: name, File: from}
			for _, x := range places {
				if x.Name == name {
					s = x
				}
			}
			out = append(out, s)
		}
		if key != "" {
			out[i].Keys = append(out[i].Keys, key)
		}
	}
	return out
}
