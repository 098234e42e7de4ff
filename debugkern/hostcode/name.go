package hostcode

import "slices"

// nameWords are words of a declaration that name nothing.
var nameWords = []string{"final", "public", "private", "protected", "const", "constexpr", "static", "inline",
	"extern", "typename", "virtual"}

// name finds the names that a declaration gives.
func (d *decl) name() {
	switch d.form {
	case function, instantiation, other:
		if d.params >= 0 {
			d.names = append(d.names, d.called())
			return
		}
		if d.form == instantiation {
			d.names = append(d.names, d.lastBefore(d.to, "<"))
		}
	case invocation:
		d.names = append(d.names, d.u.str(d.u.code[d.head]))
	case class:
		d.className()
	case using:
		d.names = append(d.names, d.last(d.to))
	case alias:
		d.aliasName()
	case variable:
		d.declarators(d.head)
	}
}

// called is a function's name, which stands before its parameters.
func (d *decl) called() string {
	text := func(i int) string {
		if i < d.head {
			return ""
		}
		return d.u.str(d.u.code[i])
	}
	for i := d.params - 1; i >= max(d.head, d.params-4); i-- {
		if text(i) == "operator" {
			return "operator"
		}
	}
	i := d.params - 1
	if text(i) == ">" { // k<float>(
		for depth := 0; i >= d.head; i-- {
			if t := text(i); t == ">" {
				depth++
			} else if t == "<" {
				if depth--; depth == 0 {
					i--
					break
				}
			}
		}
	}
	if i >= d.head && d.u.code[i].kind == ident {
		return text(i)
	}
	return ""
}

// last is the last identifier before a token, "" where there is none.
func (d *decl) last(to int) string {
	for i := min(to, len(d.u.code)) - 1; i >= d.head; i-- {
		if d.u.code[i].kind == ident {
			return d.u.str(d.u.code[i])
		}
	}
	return ""
}

// lastBefore is the identifier before the first token that reads stop.
func (d *decl) lastBefore(to int, stop string) string {
	for i := d.head; i < to; i++ {
		if d.u.str(d.u.code[i]) == stop {
			return d.last(i)
		}
	}
	return d.last(to)
}

func (d *decl) className() {
	i, word := d.head, ""
	for ; i < d.to && !slices.Contains(classWords, d.u.str(d.u.code[i])); i++ {
	}
	for i++; i < d.to && i != d.open; i++ {
		t := d.u.code[i]
		w := d.u.str(t)
		if w == "(" || w == "[" {
			i = max(i, d.u.pairs[i])
			continue
		}
		if t.kind != ident {
			if w != "::" && word != "" {
				break
			}
			continue
		}
		if !slices.Contains(classWords, w) && !slices.Contains(nameWords, w) &&
			!slices.Contains(notMacros, w) && !(i+1 < d.to && d.u.str(d.u.code[i+1]) == "(") {
			word = w
		}
	}
	if word != "" {
		d.names = append(d.names, word)
	}
	if d.open < 0 {
		return
	}
	if d.members == nil { // enumerators, and names in their values
		for i := d.open; i < d.close; i++ {
			if d.u.code[i].kind == ident {
				d.names = append(d.names, d.u.str(d.u.code[i]))
			}
		}
	}
	d.declarators(d.close)
}

func (d *decl) aliasName() {
	if d.u.str(d.u.code[d.head]) != "typedef" {
		d.names = append(d.names, d.lastBefore(d.to, "="))
		return
	}
	from := d.head + 1
	if d.open >= 0 {
		from = d.close
	}
	d.declarators(from)
	for i := from; i+1 < d.to; i++ { // a pointer to a function: (*name)
		if d.u.str(d.u.code[i]) == "*" && d.u.code[i+1].kind == ident {
			d.names = append(d.names, d.u.str(d.u.code[i+1]))
		}
	}
}

// declarators adds the identifiers that a declarator ends with.
func (d *decl) declarators(from int) {
	for i := from; i < d.to; i++ {
		switch w := d.u.str(d.u.code[i]); {
		case (w == "(" || w == "{") && d.u.pairs[i] > 0:
			i = d.u.pairs[i]
		case d.u.code[i].kind == ident && i+1 < d.to &&
			slices.Contains([]string{"=", ";", ",", "[", "{", ":"}, d.u.str(d.u.code[i+1])):
			d.names = append(d.names, w)
		}
	}
}
