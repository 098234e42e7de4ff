// Package hostcode takes the host's part out of CUDA sources: what is left is what a compiler of device code
// alone needs, on the same lines.
//
// The one idea: a source is a list of declarations, and the device's part is what can be reached from its
// kernels. Kernels and device variables stay in the text, and with them every type, constant, template, alias
// and device function whose name is met on the way. The rest (functions without __device__, variables that
// can be assigned, everything nobody names) is overwritten with blanks, so that findings keep their lines.
// Names decide, not types: it is better to keep one declaration too many.
//
// It must not know compilers, files or manifests: texts come in, texts go out.
package hostcode

import (
	"bytes"
	"slices"
)

// Origin is where an include's text would come from.
type Origin uint8

const (
	Missing Origin = iota // nowhere
	Toolkit               // CUDA's headers for device code, or stand-ins for them
	Own                   // a file of the user's, which is read as it is or as another unit
)

// Options are what an extraction has to know of its surroundings.
type Options struct {
	// Find says where an include's text is. nil: every include is missing.
	Find func(name string, angled bool) Origin
	// Shim is the header that takes the place of those that are blanked; "": nothing does.
	Shim string
	// Standins are headers that take the place of a library's, by its Name, in place of Shim.
	Standins map[string]string
	// Instances are explicit instantiations that the caller adds: the declarations that they
	// name stay in the text.
	Instances []Instance
}

// Blanked is a part of a unit that was overwritten.
type Blanked struct {
	Unit      string
	What      string // "function", "variable", "type", "include" ...
	Name      string // "" where it has none; of an include the header
	Text      string // how it begins, on one line
	Line, End int    // from 1
}

// Result is what an extraction makes of its units.
type Result struct {
	Texts   map[string][]byte // of the units that differ from what they were, by name
	Blanked []Blanked         // in order of units and lines
	// Host reports that there was code for the host: a function, a variable, an include. Types and constants
	// that nothing needs do not count, nor constexpr functions, which are only marked for the device; without
	// host code nothing is blanked.
	Host bool
}

// Changed reports whether a compiler of device code needs other texts than the given ones.
func (r *Result) Changed() bool { return r.Host || len(r.Texts) > 0 }

// deviceWords mark what is the device's.
var deviceWords = []string{"__global__", "__device__", "__constant__", "__shared__", "__managed__",
	"__grid_constant__",
	"C10_DEVICE", "C10_HOST_DEVICE"}

// extraction is one under way.
type extraction struct {
	units   []*Unit
	options Options
	macros  map[string][]string // words of every macro of every unit
	names   map[string][]*decl
	reached map[string]bool
	todo    []*decl
	result  *Result
}

// Extract takes the host's part out of a source and its headers.
func Extract(options Options, units ...*Unit) *Result {
	x := newExtraction(options, units)
	for _, u := range units {
		for _, d := range u.decls {
			if x.root(d) {
				x.take(d)
			}
		}
	}
	for _, i := range options.Instances {
		for _, w := range word.FindAllString(i.Name, -1) {
			x.mention(w)
		}
	}
	for len(x.todo) > 0 {
		d := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		x.reach(d)
	}
	x.rewrite()
	return x.result
}

func newExtraction(options Options, units []*Unit) *extraction {
	x := &extraction{
		units: units, options: options, macros: map[string][]string{}, names: map[string][]*decl{},
		reached: map[string]bool{},
		result:  &Result{Texts: map[string][]byte{}},
	}
	for _, u := range units {
		for name, m := range u.macros {
			x.macros[name] = append(x.macros[name], m.words...)
		}
		for _, d := range u.decls {
			d.keep = false
			for _, n := range d.names {
				x.names[n] = append(x.names[n], d)
			}
		}
	}
	return x
}

// says reports whether one of the words marks the device, or is a macro that does.
func (x *extraction) says(word string, marks []string, depth int) bool {
	if slices.Contains(marks, word) {
		return true
	}
	if depth > 8 {
		return false
	}
	return slices.ContainsFunc(x.macros[word], func(w string) bool {
		return w != word &&
			x.says(w, marks, depth+1)
	})
}

// marked reports whether a declaration's head has one of the words.
func (x *extraction) marked(d *decl, marks []string) bool {
	end := d.to
	if d.open >= 0 {
		end = d.open
	}
	for i := d.head; i < end; i++ {
		if i == d.params {
			i = max(i, d.u.pairs[i])
			continue
		}
		if t := d.u.code[i]; t.kind == ident && x.says(d.u.str(t), marks, 0) {
			return true
		}
	}
	return false
}

func (x *extraction) device(d *decl) bool { return x.marked(d, deviceWords) }

// constant reports what a compiler takes from the host's side in device code: constants and constexpr
// functions.
func (x *extraction) constant(d *decl) bool {
	words := []string{"constexpr", "consteval", "constinit", "concept"}
	if d.form == variable {
		words = append(words, "const")
	}
	return x.marked(d, words)
}

// root reports whether a declaration is device code that stays although no other declaration refers to it.
func (x *extraction) root(d *decl) bool {
	switch d.form {
	case function:
		return x.marked(d, []string{"__global__"}) || x.device(d) && slices.Contains(d.names, "operator")
	case variable, invocation:
		return x.device(d)
	case instantiation:
		return x.device(d) || slices.ContainsFunc(d.names, func(n string) bool {
			return slices.ContainsFunc(x.names[n], func(k *decl) bool {
				return k.form == function &&
					x.marked(k, []string{"__global__"})
			})
		})
	case usingNamespace:
		return x.known(d)
	case other:
		return true
	}
	return false
}

// needed reports whether a declaration stays in the output when one that stays refers to its name.
func (x *extraction) needed(d *decl) bool {
	switch d.form {
	case function, variable:
		return x.device(d) || x.constant(d)
	case class, alias, using, instantiation:
		return true
	}
	return false
}

func (x *extraction) take(d *decl) {
	if !d.keep {
		d.keep = true
		x.todo = append(x.todo, d)
	}
}

// reach takes what a declaration names.
func (x *extraction) reach(d *decl) {
	for i := d.from; i < d.to; i++ {
		if m := memberAt(d, i); m != nil && x.hostMember(m) {
			i = m.to - 1
			continue
		}
		if t := d.u.code[i]; t.kind == ident {
			x.mention(d.u.str(t))
		}
	}
}

// memberAt is the member of a class that begins at a token, of its nested classes too; nil where none does.
func memberAt(d *decl, i int) *decl {
	for _, m := range d.members {
		switch {
		case m.from == i:
			return m
		case m.from < i && i < m.to:
			return memberAt(m, i)
		}
	}
	return nil
}

// mention follows a name, and what it stands for where it is a macro.
func (x *extraction) mention(name string) {
	if x.reached[name] {
		return
	}
	x.reached[name] = true
	for _, d := range x.names[name] {
		if x.needed(d) {
			x.take(d)
		}
	}
	for _, w := range x.macros[name] {
		x.mention(w)
	}
}

// hostMember reports a member function that is the host's: NVRTC takes none without __device__.
func (x *extraction) hostMember(d *decl) bool {
	if d.params < 0 || d.form != function && d.form != other || x.device(d) || x.constant(d) {
		return false
	}
	for i := d.params; i+1 < d.to; i++ { // = default, = delete
		if d.u.str(d.u.code[i]) == "=" && slices.Contains([]string{"default", "delete"},
			d.u.str(d.u.code[i+1])) {
			return false
		}
	}
	return true
}

// known reports whether the namespace of a using directive is there without the host's headers.
func (x *extraction) known(d *decl) bool {
	name := d.u.span(d.head+2, d.to-1)
	for _, u := range x.units {
		for _, e := range u.decls {
			if e.space == name+"::" || bytes.HasPrefix([]byte(e.space), []byte(name+"::")) ||
				e.form == alias && slices.Contains(e.names, name) {
				return true
			}
		}
	}
	return slices.Contains([]string{"std", "cooperative_groups", "nvcuda", "nvcuda::wmma", "cuda"}, name)
}

// sound reports whether a static_assert names nothing that is left out.
func (x *extraction) sound(d *decl) bool {
	for i := d.head; i < d.to; i++ {
		name := d.u.str(d.u.code[i])
		if d.u.code[i].kind != ident {
			continue
		}
		declared := x.names[name]
		gone := len(declared) > 0 && !slices.ContainsFunc(declared, func(e *decl) bool { return e.keep })
		if gone || slices.ContainsFunc(Libraries, func(l Library) bool {
			return slices.Contains(l.Spaces,
				name)
		}) {
			return false
		}
	}
	return true
}
