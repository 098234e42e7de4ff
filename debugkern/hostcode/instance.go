package hostcode

import (
	"regexp"
	"slices"
	"strings"
)

// Instance is a kernel template with arguments, as a launch of the host's code asks for it.
type Instance struct {
	Name  string // "ns::k<64,float>"
	Space string // the namespace that its arguments are looked up in: "ns::", "" for the global one
	Line  int    // of the launch; 0 where the user asks for it
	Guess string // what had to be assumed: "scalar_t is float"; "" where the source says all
}

// Instances returns what the launches of a translation unit instantiate, each once. Constants of the
// launching function are replaced by their values, its template's parameters by the arguments of its callers,
// types that are left open by float.
func Instances(units ...*Unit) []Instance {
	kernels := Kernels(units...)
	var out []Instance
	for _, l := range Launches(units...) {
		k := kernelOf(kernels, l.Kernel)
		if k == nil || k.Template == nil {
			continue
		}
		for _, bound := range bindings(l, units) {
			i := k.instance(l, bound)
			if i.Name != "" && !slices.ContainsFunc(out, func(o Instance) bool { return o.Name == i.Name }) {
				out = append(out, i)
			}
		}
	}
	return out
}

// literal is a template argument that means the same wherever it stands: a number, a truth value, or a type
// of the language or of CUDA's headers.
var literal = regexp.MustCompile(`^(?:-?\d[\w.']*|true|false|(?:unsigned |signed )?(?:char|short|int|long)|` +
	`u?int\d+_t|bool|float[24]?|double|(?:__)?half2?|(?:__)?nv_bfloat16|__nv_fp8_e4m3|__nv_fp8_e5m2)$`)

// Named is the first instance of a kernel template that a translation unit names with all its arguments, as
// in &k<64, float>; "" where it names none.
func (k *Kernel) Named(units ...*Unit) string {
	for _, u := range units {
		p := &splitter{u: u}
		for i := 0; i+1 < len(u.code); i++ {
			if u.code[i].kind != ident || p.text(i) != k.Name || p.text(i+1) != "<" {
				continue
			}
			end := p.angles(i + 1)
			if end > len(u.code) || p.text(end-1) != ">" {
				continue
			}
			var args []string
			for _, r := range u.split(i+2, end-1) {
				if a := u.span(r[0], r[1]); literal.MatchString(a) {
					args = append(args, a)
				}
			}
			if len(args) == len(k.Template) {
				return k.Qualified() + "<" + strings.Join(args, ",") + ">"
			}
		}
	}
	return ""
}

// Structs returns the names of the structs, classes and unions that translation units define.
func Structs(units ...*Unit) (names []string) {
	for _, u := range units {
		for _, d := range u.decls {
			enum := d.open >= 0 && slices.ContainsFunc(u.code[d.head:d.open],
				func(t token) bool { return u.str(t) == "enum" })
			if d.form == class && d.open >= 0 && !enum {
				names = append(names, d.names...)
			}
		}
	}
	return names
}

// Aliases returns the types that translation units give another name at file scope, by that name: typedef
// float real; using real = float. Types of more than words, such as pointers and templates, are left out, and
// a name that is given two types, under conditions of the preprocessor.
func Aliases(units ...*Unit) map[string]string {
	out, twice := map[string]string{}, map[string]bool{}
	add := func(name, of string) {
		if was, ok := out[name]; ok && was != of {
			twice[name] = true
		}
		out[name] = of
	}
	for _, u := range units {
		depth := 0
		for i, t := range u.code {
			switch u.str(t) {
			case "{":
				depth++
			case "}":
				depth--
			case "typedef":
				if words := u.wordsTo(i+1, ";"); depth == 0 && len(words) > 1 {
					add(words[len(words)-1], strings.Join(words[:len(words)-1], " "))
				}
			case "using":
				if name := u.wordsTo(i+1, "="); depth == 0 && len(name) == 1 {
					if words := u.wordsTo(i+3, ";"); len(words) > 0 {
						add(name[0], strings.Join(words, " "))
					}
				}
			}
		}
	}
	for name := range twice {
		delete(out, name)
	}
	return out
}

// wordsTo are the identifiers from a token on, where one of a text follows them; else nil.
func (u *Unit) wordsTo(from int, end string) (words []string) {
	for i := from; i < len(u.code); i++ {
		switch text := u.str(u.code[i]); {
		case text == end:
			return words
		case u.code[i].kind != ident:
			return nil
		default:
			words = append(words, text)
		}
	}
	return nil
}

// kernelOf finds a kernel by the name that a launch spells, which may leave out namespaces.
func kernelOf(kernels []*Kernel, name string) *Kernel {
	i := slices.IndexFunc(kernels, func(k *Kernel) bool {
		return k.Qualified() == name || strings.HasSuffix("::"+k.Qualified(), "::"+name) ||
			k.Name == name[strings.LastIndex(name, ":")+1:]
	})
	if i < 0 {
		return nil
	}
	return kernels[i]
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// maxInstances is how many instances of one launch are made.
const maxInstances = 16

// bindings are the values of the parameters of the template that launches: one set for each of its calls, one
// that is empty where it is no template.
func bindings(l Launch, units []*Unit) []map[string]string {
	if len(l.Params) == 0 {
		return []map[string]string{{}}
	}
	var out []map[string]string
	for _, u := range units {
		p := &splitter{u: u}
		for i := 1; i+1 < len(u.code) && len(out) < maxInstances; i++ {
			if p.text(i) != l.Inside || p.text(i+1) != "<" {
				continue
			}
			end := p.angles(i + 1)
			if p.text(end) != "(" {
				continue
			}
			bound := map[string]string{}
			for j, r := range u.split(i+2, end-1) {
				if j < len(l.Params) {
					bound[l.Params[j].Name] = u.span(r[0], r[1])
				}
			}
			out = append(out, bound)
		}
	}
	if out == nil {
		out = []map[string]string{{}}
	}
	return out
}

// instance is a kernel with the template arguments of a launch; its Name is "" where they
// cannot be determined.
func (k *Kernel) instance(l Launch, bound map[string]string) Instance {
	i := Instance{Line: l.Line, Space: l.Space}
	args := l.Template
	if len(args) < len(k.Template) {
		args = k.deduce(l, args)
	}
	var guesses []string
	var resolved []string
	for _, a := range args {
		for range 4 { // constants of constants
			a = word.ReplaceAllStringFunc(a, func(w string) string { return l.value(w, bound, &guesses) })
		}
		if a = strings.TrimSpace(a); a == "" {
			return i
		}
		resolved = append(resolved, a)
	}
	i.Name = k.Qualified() + "<" + strings.Join(resolved, ",") + ">"
	slices.Sort(guesses)
	i.Guess = strings.Join(slices.Compact(guesses), ", ")
	return i
}

// value is what a name in a template argument stands for in a launching function; the name itself where that
// is not known.
func (l *Launch) value(w string, bound map[string]string, guesses *[]string) string {
	if v, ok := bound[w]; ok {
		return v
	}
	for _, p := range l.Params { // nothing calls the template that launches
		if p.Name == w {
			v := p.Default
			if v == "" {
				v = example(p)
				*guesses = append(*guesses, w+" is "+v)
			}
			return v
		}
	}
	if v, ok := l.Locals[w]; ok && v != "" && !strings.ContainsAny(v, `";`) {
		if word.FindString(v) == v || strings.Trim(v, "0123456789") == "" {
			return v
		}
		return "(" + v + ")"
	}
	if w == "scalar_t" { // what PyTorch's dispatch macros declare
		*guesses = append(*guesses, "scalar_t is float")
		return "float"
	}
	return w
}

// deduce completes template arguments from defaults, and from the types of what is passed. What cannot be
// determined is "".
func (k *Kernel) deduce(l Launch, given []string) []string {
	out := slices.Clone(given)
	for _, t := range k.Template[len(given):] {
		found := ""
		for j, p := range k.Parameters {
			if j >= len(l.Args) || !slices.Contains(word.FindAllString(p.Type, -1), t.Name) {
				continue
			}
			arg := strings.TrimSpace(l.Args[j])
			if m := dataPtr.FindStringSubmatch(arg); m != nil {
				found = m[1]
				break
			}
			if kind, ok := l.Types[strings.TrimPrefix(arg, "&")]; ok {
				found = plainType(kind)
				break
			}
		}
		if found == "" {
			found = t.Default
		}
		out = append(out, found)
	}
	return out
}

// dataPtr is how PyTorch hands out a pointer, and how a cast makes one.
var dataPtr = regexp.MustCompile(
	`(?:data_ptr|data|const_data_ptr|mutable_data_ptr|reinterpret_cast|static_cast)<\s*(?:const\s+)?([\w:]+)\s*\**\s*>\(`)

// plainType is a type without pointers and qualifiers; "" for auto and what is no plain name.
func plainType(t string) string {
	t = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '*' || r == '&' {
			return ' '
		}
		return r
	}, t))
	var words []string
	for _, w := range strings.Fields(t) {
		if w != "const" && w != "static" && w != "volatile" && !slices.Contains(afterStar, w) {
			words = append(words, w)
		}
	}
	t = strings.Join(words, " ")
	if i := strings.Index(t, "<"); i >= 0 && strings.HasSuffix(t, ">") { // a container of them
		t = strings.TrimSpace(t[i+1 : len(t)-1])
	}
	if t == "auto" || strings.ContainsAny(t, "<>") {
		return ""
	}
	return t
}
