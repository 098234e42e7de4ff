package hostcode

import "slices"

// form is the grammar of a declaration.
type form uint8

const (
	function form = iota
	variable
	class // class, struct, union, enum
	alias // typedef, using NAME =, namespace NAME =
	using // using NS::NAME
	usingNamespace
	instantiation // template TYPE NAME<...>(...), template struct NAME<...>
	invocation    // NAME(...) that no semicolon ends
	assertion     // static_assert
	other
)

// decl is a declaration at namespace scope, or a member of a class. Indices are of Unit.code.
type decl struct {
	u        *Unit
	form     form
	from, to int // to is behind the last token
	space    string
	head     int // where the declaration begins behind its template header
	template [2]int
	open     int // the brace that begins a body or a class, -1 where there is none
	close    int // and the one that ends it
	params   int // the parenthesis that begins a function's parameters, -1 where there is none
	names    []string
	members  []*decl
	keep     bool
}

// splitter cuts a unit's code into declarations.
type splitter struct {
	u     *Unit
	i     int
	decls []*decl
}

func (p *splitter) text(i int) string {
	if i < 0 || i >= len(p.u.code) {
		return ""
	}
	return p.u.str(p.u.code[i])
}

func (p *splitter) done() bool { return p.i >= len(p.u.code) }

// maxScopes is how deeply scopes may be nested; deeper ones are one declaration.
const maxScopes = 100

// scope reads declarations up to the brace that closes the scope. owner is the class whose members they are,
// nil at namespace scope.
func (p *splitter) scope(owner *decl, space string, depth int) {
	for !p.done() {
		switch t := p.text(p.i); {
		case t == "}" && depth == 0 && owner == nil:
			p.i++ // nothing opened it
		case t == "}":
			return
		case t == ";":
			p.i++
		case owner == nil && depth < maxScopes && p.opens(space, depth):
		case owner != nil && (t == "public" || t == "private" || t == "protected") && p.text(p.i+1) == ":":
			p.i += 2
		default:
			d := p.declaration(owner, space, depth)
			if owner != nil {
				owner.members = append(owner.members, d)
			} else {
				p.decls = append(p.decls, d)
			}
		}
	}
}

// opens reads a namespace or a linkage block, whose braces stay.
func (p *splitter) opens(space string, depth int) bool {
	i := p.i
	if p.text(i) == "inline" {
		i++
	}
	switch {
	case p.text(i) == "namespace":
		name := ""
		for i++; i < len(p.u.code) && p.text(i) != "{"; i++ {
			if t := p.text(i); t == ";" || t == "=" || t == "}" {
				return false
			} else if p.u.code[i].kind == ident || t == "::" {
				name += t
			}
		}
		if name != "" {
			space += name + "::"
		}
	case p.text(i) == "extern" && i+2 < len(p.u.code) && p.u.code[i+1].kind == str && p.text(i+2) == "{":
		i += 2
	default:
		return false
	}
	if p.text(i) != "{" {
		return false
	}
	p.i = i + 1
	p.scope(nil, space, depth+1)
	p.i++ // the closing brace
	return true
}

// match returns the index of the token that closes the bracket at i, or the end.
func (p *splitter) match(i int) int {
	if i < len(p.u.pairs) && p.u.pairs[i] > 0 {
		return p.u.pairs[i]
	}
	return len(p.u.code)
}

// maxAngles is how many tokens a list of template arguments may have.
const maxAngles = 2000

// angles returns the index behind the > that closes the < at i; i+1 where none does.
func (p *splitter) angles(i int) int {
	depth := 0
	for j := i; j < min(len(p.u.code), i+maxAngles); j++ {
		if p.u.code[j].kind != punct {
			continue
		}
		switch p.text(j) {
		case "<":
			if p.text(j+1) == "<" && p.u.code[j+1].start == p.u.code[j].end {
				if j == i {
					return i + 1
				}
				j++ // a shift
				continue
			}
			depth++
		case ">":
			if depth--; depth == 0 {
				return j + 1
			}
		case "(", "[", "{":
			j = p.match(j)
		case ")", "]", "}", ";", "<<<":
			return i + 1
		}
	}
	return i + 1
}

var classWords = []string{"class", "struct", "union", "enum"}

// declaration reads one declaration from p.i on, at least a token.
func (p *splitter) declaration(owner *decl, space string, depth int) *decl {
	d := &decl{u: p.u, from: p.i, space: space, open: -1, close: -1, params: -1}
	for p.text(p.i) == "template" && p.text(p.i+1) == "<" {
		end := p.angles(p.i + 1)
		d.template = [2]int{p.i + 2, end - 1}
		p.i = end
	}
	d.head = p.i
	if m := p.u.macros[p.text(p.i)]; m != nil && !m.call &&
		(slices.Contains(m.words, "{") || slices.Contains(m.words, "}")) {
		d.form, d.to = other, p.i+1 // it opens or closes a scope
		p.i++
		return d
	}
	if p.invocation(d, owner) {
		d.to = p.i
		d.name()
		return d
	}
	r := &reader{p: p, d: d, depth: depth}
	r.read()
	p.i = max(p.i, d.from+1)
	d.to = min(p.i, len(p.u.code))
	d.name()
	return d
}

// invocation reads a macro's call that ends with its parenthesis: the next token is on another line and
// begins something else.
func (p *splitter) invocation(d *decl, owner *decl) bool {
	if p.done() || p.u.code[p.i].kind != ident || p.text(p.i+1) != "(" ||
		slices.Contains(notMacros, p.text(p.i)) {
		return false
	}
	end := p.match(p.i + 1)
	if end+1 >= len(p.u.code) {
		return false
	}
	next := p.u.code[end+1]
	if p.u.line(next.start) == p.u.line(p.u.code[end].start) || next.kind != ident && p.text(end+1) != "}" ||
		p.text(end+1) == "const" {
		return false
	}
	d.form, p.i = invocation, end+1
	return true
}

// notMacros are words that stand before a parenthesis and begin a declaration.
var notMacros = []string{"alignas", "__align__", "__launch_bounds__", "__attribute__", "__declspec",
	"decltype", "static_assert", "asm", "operator", "explicit", "noexcept"}

// reader reads one declaration's tokens up to its end.
type reader struct {
	p     *splitter
	d     *decl
	depth int

	kind   string // class, struct, union or enum, where it is one
	assign bool   // behind a = of the declaration itself
	colon  bool   // behind the : of a constructor's initialisers
}

func (r *reader) read() {
	p, d := r.p, r.d
	switch p.text(p.i) {
	case "typedef", "using", "namespace":
		r.alias()
		return
	case "static_assert":
		d.form = assertion
		p.i = p.match(p.i+1) + 1
		r.semicolon()
		return
	case "template": // no < behind it
		d.form = instantiation
	case "friend":
		d.form = other
	default:
		d.form = variable
	}
	for !p.done() {
		t := p.text(p.i)
		if t == "}" || r.step(t) {
			break
		}
	}
	if r.kind != "" && d.form == variable && !r.assign {
		d.form = class // declared, not defined
	}
}

// step reads a token, or a group in brackets; it reports the end.
func (r *reader) step(t string) bool {
	p, d := r.p, r.d
	switch {
	case t == ";":
		p.i++
		return true
	case t == "{":
		return r.brace()
	case t == "operator":
		r.operator()
	case t == "(":
		r.parenthesis()
	case t == "[":
		p.i = p.match(p.i) + 1
	case t == "<" && !r.assign && p.i > d.head && (p.u.code[p.i-1].kind == ident &&
		p.text(p.i-1) != "operator"):
		p.i = p.angles(p.i)
	case t == "=" && p.text(p.i-1) != "operator":
		r.assign = true
		p.i++
	case t == ":" && d.params >= 0:
		r.colon = true
		p.i++
	case slices.Contains(classWords, t) && d.params < 0 && !r.assign:
		if r.kind != "enum" { // enum class
			r.kind = t
		}
		p.i++
	default:
		p.i++
	}
	return false
}

// operator reads the name of an operator, up to its parameters.
func (r *reader) operator() {
	p := r.p
	p.i++
	if p.text(p.i) == "(" && p.text(p.i+1) == ")" {
		p.i += 2
		return
	}
	for !p.done() && p.u.code[p.i].kind == punct && p.text(p.i) != "(" && p.text(p.i) != ";" &&
		p.text(p.i) != "{" && p.text(p.i) != "}" {
		p.i++
	}
}

// parenthesis reads a group in parentheses: the parameters of a function, or an attribute.
func (r *reader) parenthesis() {
	p, d := r.p, r.d
	end := p.match(p.i)
	if d.params < 0 && !r.assign && !r.attribute(end) {
		before, earlier := p.text(p.i-1), p.text(p.i-2)
		if r.kind == "" || p.i-2 > d.from && before != r.kind && earlier != r.kind && earlier != ")" {
			r.kind, d.params = "", p.i
			if d.form == variable {
				d.form = function
			}
		}
	}
	p.i = end + 1
}

// afterParameters are words that stand between a function's parameters and its body.
var afterParameters = []string{"const", "volatile", "noexcept", "override", "final", "throw", "requires",
	"try", "mutable", "__attribute__"}

// attribute reports whether the group at hand, closed at end, belongs to an attribute or a macro, not to a
// function.
func (r *reader) attribute(end int) bool {
	p := r.p
	w := p.text(p.i - 1)
	if p.i == r.d.head || w != "noexcept" && w != "operator" && slices.Contains(notMacros, w) {
		return true
	}
	return end+1 < len(p.u.code) && p.u.code[end+1].kind == ident &&
		!slices.Contains(afterParameters, p.text(end+1)) && r.kind == ""
}

// brace reads from an opening brace on, and reports whether the declaration ends behind it.
func (r *reader) brace() bool {
	p, d := r.p, r.d
	before := p.text(p.i - 1)
	switch {
	case r.kind != "" && d.params < 0 && !r.assign:
		d.open = p.i
		d.form = class
		p.i++
		if r.kind != "enum" && r.depth < maxScopes {
			(&splitter{u: p.u, i: p.i}).members(d, r.depth, p)
		} else {
			p.i = p.match(d.open)
		}
		d.close = min(p.i, len(p.u.code)-1)
		p.i++
		r.kind, r.assign = "", true // declarators may follow
		return false
	case r.assign || d.params < 0:
		p.i = p.match(p.i) + 1
		return false
	case r.colon && before != ")" && before != "}":
		p.i = p.match(p.i) + 1
		return false
	}
	d.open = p.i
	d.close = min(p.match(p.i), len(p.u.code)-1)
	p.i = d.close + 1
	return true
}

// members reads a class's members up to its closing brace.
func (p *splitter) members(d *decl, depth int, outer *splitter) {
	p.scope(d, "", depth+1)
	outer.i = p.i
}

func (r *reader) alias() {
	p, d := r.p, r.d
	d.form = alias
	word := p.text(p.i)
	if word == "using" && p.text(p.i+1) == "namespace" {
		d.form = usingNamespace
	}
	equal := false
	for !p.done() {
		switch t := p.text(p.i); t {
		case "}":
			return
		case ";":
			if p.i++; word == "using" && !equal && d.form == alias {
				d.form = using
			}
			return
		case "=":
			equal = true
			p.i++
		case "(", "[", "{":
			if t == "{" && d.open < 0 {
				d.open, d.close = p.i, min(p.match(p.i), len(p.u.code)-1)
			}
			p.i = p.match(p.i) + 1
		default:
			p.i++
		}
	}
}

func (r *reader) semicolon() {
	if r.p.text(r.p.i) == ";" {
		r.p.i++
	}
}
