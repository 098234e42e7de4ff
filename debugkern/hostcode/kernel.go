package hostcode

import (
	"bytes"
	"slices"
	"strings"
)

// Parameter is a parameter of a kernel or of a template, as the source spells it.
type Parameter struct {
	Type    string // "const float *__restrict__"; of a template's "typename" or "int"
	Name    string // "" where it has none
	Default string // "" where it has none
}

// Kernel is a __global__ function of the source.
type Kernel struct {
	Unit       string
	Line       int
	Name       string
	Space      string // "ns::", "" for the global and for unnamed namespaces
	Template   []Parameter
	Parameters []Parameter
	Bounds     []string // of __launch_bounds__
	Defined    bool     // it has a body
	d          *decl
}

// Qualified is the kernel's name with its namespaces.
func (k *Kernel) Qualified() string { return k.Space + k.Name }

// Kernels returns the kernels of a translation unit in order. One that is declared and defined is there once,
// defined.
func Kernels(units ...*Unit) []*Kernel {
	x := newExtraction(Options{}, units)
	var out []*Kernel
	for _, u := range units {
		for _, d := range u.decls {
			if d.form != function || len(d.names) == 0 || d.names[0] == "" ||
				!x.marked(d, []string{"__global__"}) {
				continue
			}
			k := &Kernel{Unit: u.Name, Line: u.line(u.code[d.params-1].start), Name: d.names[0],
				Space: d.space, Defined: d.open >= 0, d: d}
			if d.template[1] > d.template[0] {
				k.Template = u.parameters(d.template[0], d.template[1])
			}
			k.Parameters = u.parameters(d.params+1, u.pairs[d.params])
			k.Bounds = u.bounds(d)
			same := slices.IndexFunc(out, func(o *Kernel) bool {
				return o.Qualified() == k.Qualified() && len(o.Parameters) == len(k.Parameters) &&
					o.Defined != k.Defined
			})
			switch {
			case same < 0:
				out = append(out, k)
			case k.Defined:
				k.defaults(out[same])
				out[same] = k
			}
		}
	}
	return out
}

// defaults takes the default arguments of a declaration.
func (k *Kernel) defaults(declared *Kernel) {
	for i := range min(len(k.Template), len(declared.Template)) {
		if k.Template[i].Default == "" {
			k.Template[i].Default = declared.Template[i].Default
		}
	}
}

// split cuts the code between two tokens at its commas outside brackets.
func (u *Unit) split(from, to int) [][2]int {
	var out [][2]int
	p := &splitter{u: u}
	start := from
	for i := from; i < to; i++ {
		switch w := p.text(i); {
		case (w == "(" || w == "[" || w == "{") && u.pairs[i] > 0:
			i = u.pairs[i]
		case w == "<" && i > from && u.code[i-1].kind == ident:
			i = p.angles(i) - 1
		case w == ",":
			out = append(out, [2]int{start, i})
			start = i + 1
		}
	}
	if start < to {
		out = append(out, [2]int{start, to})
	}
	return out
}

func (u *Unit) parameters(from, to int) []Parameter {
	var out []Parameter
	for _, r := range u.split(from, to) {
		var q Parameter
		end := r[1]
		for i := r[0]; i < r[1]; i++ {
			if u.str(u.code[i]) == "=" {
				end, q.Default = i, u.span(i+1, r[1])
				break
			}
		}
		name := end - 1
		for i := r[0] + 1; i < end; i++ { // x[4], and macros behind the name
			if w := u.str(u.code[i]); w == "[" {
				name = i - 1
				break
			} else if i+2 < end && (w == "*" || w == "&") && u.code[i+1].kind == ident &&
				u.code[i+2].kind == ident && !slices.Contains(afterStar, u.str(u.code[i+1])) {
				name = i + 1
				break
			}
		}
		if name > r[0] && u.code[name].kind == ident && !slices.Contains(typeWords, u.str(u.code[name])) {
			q.Name, q.Type = u.str(u.code[name]), u.span(r[0], name)
		} else {
			q.Type = u.span(r[0], end)
		}
		if q.Type == "void" && q.Name == "" && to-from == 1 {
			return nil
		}
		out = append(out, q)
	}
	return out
}

// afterStar are qualifiers of a pointer, and typeWords words that end a type.
var (
	afterStar = []string{"const", "volatile", "__restrict__", "__restrict", "restrict"}
	typeWords = append([]string{"int", "float", "double", "char", "short", "long", "unsigned", "bool",
		"half"}, afterStar...)
)

// bounds are the arguments of __launch_bounds__.
func (u *Unit) bounds(d *decl) []string {
	for i := d.head; i < d.params; i++ {
		if u.str(u.code[i]) == "__launch_bounds__" && u.pairs[i+1] > 0 {
			var out []string
			for _, r := range u.split(i+2, u.pairs[i+1]) {
				out = append(out, u.span(r[0], r[1]))
			}
			return out
		}
	}
	return nil
}

// Example is an argument list for --instantiate: sizes for integers, float for types.
func (k *Kernel) Example() string {
	var args []string
	for _, p := range k.Template {
		if p.Default != "" {
			args = append(args, p.Default)
		} else {
			args = append(args, example(p))
		}
	}
	return k.Qualified() + "<" + strings.Join(args, ",") + ">"
}

// example is an argument for a template's parameter.
func example(p Parameter) string {
	name := strings.ToLower(p.Name)
	switch {
	case strings.HasPrefix(p.Type, "typename"), strings.HasPrefix(p.Type, "class"), p.Name == "" &&
		p.Type == "":
		return "float"
	case strings.HasPrefix(p.Type, "bool"):
		return "true"
	case strings.Contains(name, "thread"), strings.Contains(name, "block"):
		return "128"
	}
	return "64"
}

// Wanted is the kernel's template header as the source has it: "template <int BM, typename T>".
func (k *Kernel) Wanted() string {
	if k.Template == nil {
		return ""
	}
	return "template <" + k.d.u.span(k.d.template[0], k.d.template[1]) + ">"
}

// Instantiate appends what makes a compiler instantiate kernels, a line for each, behind the last line. It
// names no symbol and generates nothing else.
func Instantiate(text []byte, list []Instance) []byte {
	if len(list) == 0 {
		return text
	}
	out := slices.Clone(text)
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	for _, i := range list {
		line := "static_assert(&" + i.Name + " != nullptr, \"\");"
		for _, space := range slices.Backward(strings.Split(strings.TrimSuffix(i.Space, "::"), "::")) {
			if space != "" {
				line = "namespace " + space + " { " + line + " }"
			}
		}
		out = append(out, line+"\n"...)
	}
	return out
}

// Lines is the number of lines of a text, as Instantiate counts them.
func Lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
