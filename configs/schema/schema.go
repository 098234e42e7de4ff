// Package schema says what a manifest may contain: one table of keys, with their values, defaults and
// a line of help each.
//
// The one idea: nothing about a key is written twice. The reader of manifests (configs) takes from here which
// keys a mapping has, which of them it needs, and the ranges and words of their values; the reference in
// docs/manifest.md and the JSON Schema for editors are generated from the same rows (make docs). To add a
// key: its row in manifest.go, and the line of configs that reads it.
//
// What a key means together with others, and everything about expressions, is configs': the package must not
// know a manifest, only what one looks like.
package schema

import (
	"fmt"
	"slices"
	"strconv"
)

// Section is one kind of mapping.
type Section struct {
	Name string // of Value.Section, and in links
	At   string // where it stands, "stages[]"; "" for the document
	Help string
	Keys []Key
	// Others is what keys mean that have names of the author's own, nil where there are none. Its Name is
	// what such a key is called in the reference.
	Others *Key
}

// Key is one key of a section.
type Key struct {
	Name    string
	Value   Value
	Need    bool // a mapping without it is refused
	Default string
	Help    string // one line
	Example string // the key with a value, as YAML
}

// Form is what a value looks like.
type Form int

// The forms of values.
const (
	Text       Form = iota // a scalar that is not empty; Pattern where it has one
	Word                   // one of Words
	Whole                  // a whole number from Lo to Hi
	Number                 // a number from Min on, or above it
	Truth                  // true or false
	Expression             // a number, or an expression over the names that the key allows
	List                   // a list of Of[0], Length of them where that is not 0
	Names                  // a mapping of names of the author's own to Of[0]
	Mapping                // Section
	Operation              // the section of one of the operators
	Scalar                 // any scalar, nothing among them
	Either                 // one of Of
)

// need and free are a row's Need: a mapping without the key is refused, or not.
const (
	need = true
	free = false
)

// Value is what a key may have.
type Value struct {
	Form    Form
	Kind    string // what it is in words: "an identifier"
	Pattern string // of Text, and of the keys of Names: a regular expression of RE2 and ECMA-262 alike
	Words   []string
	Lo, Hi  int
	Min     float64
	Above   bool
	Length  int
	Of      []Value
	Section string // of Mapping: a section's name
}

// Patterns of names.
const (
	Identifier = `^[A-Za-z_][A-Za-z0-9_]*$`       // what expressions and PTX have
	Label      = `^[A-Za-z0-9_][A-Za-z0-9_.+-]*$` // of kernels, variants, faults, gates
	// Architecture is a GPU architecture; a letter behind it says that its code runs on no other.
	Architecture = `^sm_[0-9]{2,3}[af]?$`
	Standard     = `^(c|gnu)\+\+[0-9]{2}$`
)

// Choices are the words that a value may be, those of its alternatives where it is no word itself.
func (v *Value) Choices() []string {
	if alternative := v.alternative(Word); alternative != nil {
		return alternative.Words
	}
	return nil
}

// Nested is the section of a value that is a mapping, or may be; "" of another.
func (v *Value) Nested() string {
	if alternative := v.alternative(Mapping); alternative != nil {
		return alternative.Section
	}
	return ""
}

// Listed is what a value is as a list; nil where it may be none.
func (v *Value) Listed() *Value { return v.alternative(List) }

// alternative is the value where it has a form, or the first of its alternatives that has.
func (v *Value) alternative(form Form) *Value {
	if v.Form == form {
		return v
	}
	for i := range v.Of {
		if v.Form == Either && v.Of[i].Form == form {
			return &v.Of[i]
		}
	}
	return nil
}

// All lists the sections in the order of the reference; the first is a manifest, the document.
func All() []Section { return sections }

// Of returns the section of a name. One that there is not is a bug of the caller.
func Of(name string) *Section {
	for i := range sections {
		if sections[i].Name == name {
			return &sections[i]
		}
	}
	panic("BUG: a manifest has no section " + name)
}

// Key returns the row of a key; ok is false where the section has none of that name.
func (s *Section) Key(name string) (k Key, ok bool) {
	if i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Name == name }); i >= 0 {
		return s.Keys[i], true
	}
	if s.Others != nil {
		return *s.Others, true
	}
	return Key{}, false
}

// Names lists the section's keys in the order of the table.
func (s *Section) Names() []string {
	out := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		out[i] = k.Name
	}
	return out
}

// Needed lists the keys without which a mapping is refused.
func (s *Section) Needed() []string {
	var out []string
	for _, k := range s.Keys {
		if k.Need {
			out = append(out, k.Name)
		}
	}
	return out
}

// Default is a key's default as a number. A row whose default is none is a bug of the table.
func (s *Section) Default(name string) float64 {
	k, _ := s.Key(name)
	v, err := strconv.ParseFloat(k.Default, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: key %s of section %s has no default that is a number", name, s.Name))
	}
	return v
}
