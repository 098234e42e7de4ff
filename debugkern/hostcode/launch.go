package hostcode

import (
	"slices"
	"strings"
)

// Launch is a kernel<<<grid, block, shared>>>(arguments) of the host's code.
type Launch struct {
	Unit     string
	Line     int
	Kernel   string   // as the source spells it, without template arguments
	Template []string // "" where it has none
	Config   []string // grid, block, shared, stream, as far as they are given
	Args     []string
	// Locals are the values that the function's own variables start with, by name: "dim3 grid(8, 8)" is
	// "dim3(8, 8)".
	Locals map[string]string
	// Types are the types of the function's variables and parameters that are pointers or numbers: "float *".
	Types map[string]string
	// Bytes are the sizes that the function asks cudaMalloc for, by the name of the pointer.
	Bytes map[string]string
	// Inside is the function that launches, and its template's parameters.
	Inside string
	Space  string // its namespace
	Params []Parameter
}

// Launches returns the launches of a translation unit in order.
func Launches(units ...*Unit) []Launch {
	var out []Launch
	for _, u := range units {
		for _, d := range u.decls {
			out = append(out, u.launches(d)...)
		}
	}
	return out
}

func (u *Unit) launches(d *decl) []Launch {
	var out []Launch
	p := &splitter{u: u}
	for i := max(d.open, d.from); i < d.to; i++ {
		if p.text(i) != "<<<" {
			continue
		}
		l := Launch{Unit: u.Name, Line: u.line(u.code[i].start)}
		if !u.launched(&l, i) {
			continue
		}
		end := u.configEnd(i + 1)
		if end < 0 {
			continue
		}
		for _, r := range u.split(i+1, end) {
			l.Config = append(l.Config, u.span(r[0], r[1]))
		}
		if open := end + 3; p.text(open) == "(" && u.pairs[open] > 0 {
			for _, r := range u.split(open+1, u.pairs[open]) {
				l.Args = append(l.Args, u.span(r[0], r[1]))
			}
		}
		l.Locals, l.Types = u.locals(d)
		l.Space, l.Bytes = d.space, u.allocated(d)
		if len(d.names) > 0 {
			l.Inside = d.names[0]
		}
		if d.template[1] > d.template[0] {
			l.Params = u.parameters(d.template[0], d.template[1])
		}
		out = append(out, l)
	}
	return out
}

// launched reads the kernel's name and template arguments before a <<<.
func (u *Unit) launched(l *Launch, at int) bool {
	text := func(i int) string {
		if i < 0 {
			return ""
		}
		return u.str(u.code[i])
	}
	i := at - 1
	if text(i) == ">" {
		depth, end := 0, i
		for nested := 0; i >= max(0, end-200); i-- {
			switch t := text(i); {
			case t == ")":
				nested++
			case t == "(":
				nested--
			case nested > 0:
			case t == ">":
				depth++
			case t == "<" && i > 0 && text(i-1) == "<":
				i-- // a shift
			case t == "<":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if depth != 0 || i < 1 {
			return false
		}
		for _, r := range u.split(i+1, end) {
			l.Template = append(l.Template, u.span(r[0], r[1]))
		}
		if l.Template == nil {
			l.Template = []string{}
		}
		i--
	}
	if i < 0 || u.code[i].kind != ident {
		return false
	}
	from := i
	for from >= 2 && text(from-1) == "::" && u.code[from-2].kind == ident {
		from -= 2
	}
	l.Kernel = u.span(from, i+1)
	return true
}

// configEnd is the first of the three > that end a launch's configuration, -1 where there are none.
func (u *Unit) configEnd(i int) int {
	for ; i+2 < len(u.code); i++ {
		switch u.str(u.code[i]) {
		case "(", "[", "{":
			if u.pairs[i] == 0 {
				return -1
			}
			i = u.pairs[i]
		case ";", "}", ")":
			return -1
		case ">":
			a, b, c := u.code[i], u.code[i+1], u.code[i+2]
			if u.str(b) == ">" && u.str(c) == ">" && a.end == b.start && b.end == c.start {
				return i
			}
		}
	}
	return -1
}

// locals collects what the variables of a function start with, and the types of its parameters and variables.
func (u *Unit) locals(d *decl) (values, types map[string]string) {
	values, types = map[string]string{}, map[string]string{}
	if d.params >= 0 && u.pairs[d.params] > 0 {
		for _, p := range u.parameters(d.params+1, u.pairs[d.params]) {
			if p.Name != "" {
				types[p.Name] = p.Type
			}
		}
	}
	if d.open < 0 {
		return values, types
	}
	p := &splitter{u: u}
	start := true
	for i := d.open + 1; i < d.close; i++ {
		w := p.text(i)
		if start && u.code[i].kind == ident && !slices.Contains([]string{"return", "if", "for", "while",
			"else", "do", "case"}, w) {
			u.local(i, d.close, values, types)
		}
		start = w == ";" || w == "{" || w == "}" || w == "(" && p.text(i-1) == "for"
	}
	return values, types
}

// local reads one declaration of variables: "int a = 1, b = 2;", "dim3 g(1, 2);", "float *x;".
func (u *Unit) local(i, end int, values, types map[string]string) {
	kind, i := u.localType(i, end)
	if kind == "" {
		return
	}
	p := &splitter{u: u}
	stop := i
	for stop < end && p.text(stop) != ";" {
		if u.pairs[stop] > 0 {
			stop = u.pairs[stop]
		}
		stop++
	}
	base := strings.TrimRight(kind, " *&")
	for _, r := range u.split(i, stop) {
		from, t := r[0], kind
		for p.text(from) == "*" {
			t = base + " *"
			from++
		}
		if from >= r[1] || u.code[from].kind != ident {
			continue
		}
		name := p.text(from)
		if _, twice := types[name]; !twice {
			types[name] = t
		}
		if _, twice := values[name]; !twice {
			if v := u.initial(from+1, r[1], end, base); v != "" {
				values[name] = v
			}
		}
	}
}

// localType reads the type of a declaration: the words up to the last one that a name follows. It returns the
// name's index; the type is "" where this is no declaration.
func (u *Unit) localType(i, end int) (kind string, name int) {
	p := &splitter{u: u}
	for ; i < end; i++ {
		w := p.text(i)
		if u.code[i].kind == ident && slices.Contains([]string{"=", "(", "{", ";", ",", "["}, p.text(i+1)) {
			break
		}
		switch {
		case w == "<":
			stop := p.angles(i)
			kind += u.span(i, stop)
			i = stop - 1
		case u.code[i].kind == ident || w == "*" || w == "&" || w == "::":
			if kind != "" && w != "::" && !strings.HasSuffix(kind, "::") {
				kind += " "
			}
			kind += w
		default:
			return "", i
		}
	}
	return kind, i
}

// initial is what a variable starts with, from behind its name: "= value", "(value)" or
// "{value}"; "" for neither.
func (u *Unit) initial(from, to, end int, base string) string {
	p := &splitter{u: u}
	switch p.text(from) {
	case "=":
		return u.span(from+1, to)
	case "(", "{":
		if close := u.pairs[from]; close > 0 && close < end {
			value := u.span(from+1, close)
			if base == "dim3" {
				value = "dim3(" + value + ")"
			}
			return value
		}
	}
	return ""
}
