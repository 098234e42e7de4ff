package rewrite

import "slices"

// parser reads the statements of one function.
type parser struct {
	t *Text
	f *function
}

// statements reads the tokens from..to.
func (p *parser) statements(from, to int, parent *statement) []*statement {
	var out []*statement
	for at := from; at < to; {
		s, next := p.statement(at, to, parent)
		if next <= at {
			break
		}
		if s != nil {
			out = append(out, s)
		}
		at = next
	}
	return out
}

// statement reads one statement, and returns the token behind it.
func (p *parser) statement(at, to int, parent *statement) (*statement, int) {
	t := p.t
	s := &statement{kind: "other", from: at, parent: parent}
	done := func(end int) (*statement, int) {
		s.to = end
		return s, end
	}
	switch word := t.tokens[at].text; word {
	case ";":
		return nil, at + 1
	case "{":
		m := t.match(at)
		if m < 0 {
			return nil, -1
		}
		s.kind = "block"
		s.body = p.statements(at+1, m, s)
		return done(m + 1)
	case "for", "if", "while", "switch":
		open := at + 1
		if t.is(open, "constexpr") {
			open++
		}
		close := t.match(open)
		if !t.is(open, "(") || close < 0 {
			return nil, -1
		}
		if s.kind = word; word == "for" {
			p.header(s, open+1, close)
		} else if e := t.expression(open+1, close); e != nil && open == at+1 {
			s.exprs = append(s.exprs, e)
		}
		inner, next := p.statement(close+1, to, s)
		if inner != nil {
			s.body = append(s.body, inner)
		}
		if word == "if" && t.is(next, "else") {
			if inner, next = p.statement(next+1, to, s); inner != nil {
				s.body = append(s.body, inner)
			}
		}
		p.close(s, next)
		return done(next)
	case "do":
		inner, next := p.statement(at+1, to, s)
		if inner != nil {
			s.body = append(s.body, inner)
		}
		return done(p.end(next, to))
	case "return":
		end := p.end(at, to)
		s.kind = "return"
		if e := t.expression(at+1, end-1); e != nil {
			s.exprs = append(s.exprs, e)
		} else if e := t.list(at+1, end-1); e != nil {
			s.exprs = append(s.exprs, e.parts()...)
		}
		return done(end)
	case "asm", "__asm__":
		end := p.end(at, to)
		s.kind = "asm"
		p.operands(s, end)
		return done(end)
	case "case", "default":
		for at < to && !t.is(at, ":") {
			at++
		}
		return nil, at + 1
	}
	end := p.end(at, to)
	if t.declared(at, end-1, p.scopeEnd(parent), s, &s.declares); len(s.declares) > 0 {
		s.kind = "declaration"
		p.lambda(s, at, end)
		return done(end)
	}
	if e := t.expression(at, end-1); e != nil {
		s.kind, s.exprs = "expression", append(s.exprs, e)
		return done(end)
	}
	p.lambda(s, at, end)
	return done(end)
}

// lambda reads the body of the first lambda expression of a statement.
func (p *parser) lambda(s *statement, at, end int) {
	t := p.t
	for i := at; i < end; i++ {
		close := t.match(i)
		begins := i == at || t.is(i-1, "=") || t.is(i-1, "(")
		if !t.is(i, "[") || close < i || !t.is(close+1, "(") || !begins {
			continue
		}
		open := t.match(close+1) + 1
		for open > 0 && open < end && !t.is(open, "{") && t.tokens[open].kind == name {
			open++
		}
		if body := t.match(open); open > 0 && t.is(open, "{") && body > open && body < end {
			in := &statement{kind: "block", from: open, to: body + 1, parent: s}
			for _, d := range t.split(close+2, t.match(close+1)) {
				was := len(p.f.parameters)
				t.parameter(p.f, d[0], d[1])
				for _, v := range p.f.parameters[was:] {
					v.from, v.to, v.of = open, body, in
					in.declares = append(in.declares, v)
				}
				p.f.parameters = p.f.parameters[:was]
			}
			in.body = p.statements(open+1, body, in)
			s.body = append(s.body, in)
			return
		}
	}
}

// scopeEnd is where what is declared in a statement's parent ends.
func (p *parser) scopeEnd(parent *statement) int {
	for s := parent; s != nil; s = s.parent {
		if s.kind == "block" {
			return p.t.match(s.from)
		}
	}
	return p.f.to - 1
}

// close ends the scope of what a header declares with its statement.
func (p *parser) close(s *statement, end int) {
	if s.init != nil {
		for _, v := range s.init.declares {
			v.to = end
		}
	}
}

// header reads the header of a for.
func (p *parser) header(s *statement, from, close int) {
	t := p.t
	var parts [][2]int
	begin := from
	for i := from; i <= close; i++ {
		if m := t.match(i); m > i && i < close {
			i = m
			continue
		}
		if i == close || t.is(i, ";") {
			parts = append(parts, [2]int{begin, i})
			begin = i + 1
		}
	}
	if len(parts) != 3 {
		return
	}
	s.init = &statement{kind: "declaration", from: parts[0][0], to: parts[0][1], parent: s}
	t.declared(parts[0][0], parts[0][1], close, s.init, &s.init.declares)
	if len(s.init.declares) == 0 {
		s.init.kind = "expression"
		if e := t.expression(parts[0][0], parts[0][1]); e != nil {
			s.init.exprs = append(s.init.exprs, e)
		}
	}
	for _, part := range parts[1:] {
		s.exprs = append(s.exprs, t.expression(part[0], part[1])) // nil: it was not read
	}
}

// end is the token behind the semicolon that ends a statement.
func (p *parser) end(at, to int) int {
	for i := at; i < to; i++ {
		if p.t.is(i, ";") {
			return i + 1
		}
		if m := p.t.match(i); m > i {
			i = m
		}
	}
	return to
}

// operands reads the input operands of an asm statement.
func (p *parser) operands(s *statement, end int) {
	t := p.t
	for i := s.from; i < end; i++ {
		if t.tokens[i].kind != quoted || !t.is(i+1, "(") || len(t.tokens[i].text) < 3 {
			continue
		}
		close := t.match(i + 1)
		if c := t.tokens[i].text[1]; close < 0 || c == '=' || c == '+' {
			continue
		}
		if e := t.expression(i+2, close); e != nil {
			s.exprs = append(s.exprs, e)
		}
	}
}

// declared reads a declaration of variables: nothing where the tokens are none. until is where their scope
// ends.
func (t *Text) declared(from, to, until int, of *statement, out *[]*variable) {
	at := from
	fixed := false
	for at < to && (qualifiers[t.tokens[at].text] || t.is(at, "alignas") || t.is(at, "__align__")) {
		if fixed = fixed || t.is(at, "constexpr"); t.is(at+1, "(") {
			if at = t.match(at + 1); at < 0 {
				return
			}
		}
		at++
	}
	typ, next := t.declaredType(at, to)
	if next < 0 {
		return
	}
	for _, d := range t.split(next, to) {
		at := d[0]
		stars := ""
		for at < d[1] && (t.is(at, "*") || qualifiers[t.tokens[at].text]) {
			if t.is(at, "*") {
				stars += "*"
			}
			at++
		}
		if at >= d[1] || t.tokens[at].kind != name || reserved[t.tokens[at].text] {
			return
		}
		v := &variable{
			name: t.tokens[at].text, at: at, typ: typ + stars, to: until, line: t.tokens[at].line,
			fixed: fixed,
			once:  fixed || t.has(from, next, "const"), of: of,
		}
		for at++; at < d[1] && t.is(at, "["); at = t.match(at) + 1 {
			if t.match(at) < 0 {
				return
			}
			v.ranks++
			v.extents = append(v.extents, [2]int{at + 1, t.match(at)})
		}
		v.from = d[1]
		switch {
		case at == d[1]:
		case t.is(at, "="):
			if v.init = t.expression(at+1, d[1]); v.init == nil {
				v.init = t.list(at+1, d[1])
			}
		case t.is(at, "(") || t.is(at, "{"):
			if of == nil && t.is(at, "(") {
				return // it declares a function
			}
		default:
			return
		}
		*out = append(*out, v)
	}
}

// list reads expressions in braces, nil where the tokens are something else.
func (t *Text) list(from, to int) *expr {
	if !t.is(from, "{") || t.match(from) != to-1 {
		return nil
	}
	e := &expr{op: "list", from: from, to: to}
	for _, part := range t.split(from+1, to-1) {
		if k := t.expression(part[0], part[1]); k != nil {
			e.kids = append(e.kids, k)
		} else if k := t.list(part[0], part[1]); k != nil {
			e.kids = append(e.kids, k)
		}
	}
	return e
}

// parts are the expressions in braces, and in those within them.
func (e *expr) parts() []*expr {
	if e.op != "list" {
		return []*expr{e}
	}
	var out []*expr
	for _, k := range e.kids {
		out = append(out, k.parts()...)
	}
	return out
}

// declaredType reads the type that begins a declaration, and returns the token behind it; -1 where none does.
func (t *Text) declaredType(at, to int) (string, int) {
	begin := at
	if at >= to || t.tokens[at].kind != name || reserved[t.tokens[at].text] {
		return "", -1
	}
	if numeric[t.tokens[at].text] != "" {
		for at < to && (numeric[t.tokens[at].text] != "" || t.is(at, "const")) {
			at++
		}
	} else {
		for {
			if at++; t.is(at, "<") {
				m := t.templateEnd(at, to)
				if m < 0 {
					return "", -1
				}
				at = m + 1
			}
			if !t.is(at, "::") {
				break
			}
			if at++; at >= to || t.tokens[at].kind != name {
				return "", -1
			}
		}
	}
	typ := t.typeText(begin, at)
	// What follows is a name, maybe behind stars, and then something that a declaration has there.
	i := at
	for i < to && (t.is(i, "*") || qualifiers[t.tokens[i].text]) {
		i++
	}
	if i >= to || t.tokens[i].kind != name {
		return "", -1
	}
	if i+1 < to && !slices.Contains([]string{"=", ",", "[", "(", "{"}, t.tokens[i+1].text) {
		return "", -1
	}
	if i > at && t.is(at, "*") && numeric[t.tokens[begin].text] == "" && !t.is(i+1, "=") && i+1 < to {
		return "", -1 // a product
	}
	return typ, at
}
