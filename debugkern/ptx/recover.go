package ptx

import "fmt"

func (p *parser) lexical(line, col int, msg string) { p.report(Pos{p.file, line, col}, msg) }

func (p *parser) report(pos Pos, msg string) {
	p.errs = append(p.errs, &Error{pos, msg})
	if len(p.errs) >= maxErrors {
		panic(tooMany{})
	}
}

// errorAt reports a syntax error at t and enters recovery; in recovery it does nothing.
func (p *parser) errorAt(t token, msg string) { p.errorPos(p.pos(t), msg) }

func (p *parser) errorPos(pos Pos, msg string) {
	if p.bad {
		return
	}
	if !p.inBody || p.tok.kind != tokEOF {
		p.report(pos, msg)
	}
	p.bad = true
	p.real = p.tok
	p.tok = token{kind: tokBad, line: p.tok.line, col: p.tok.col}
}

// semantic reports an error that leaves the parser in step, such as an undeclared name.
func (p *parser) semantic(pos Pos, format string, args ...any) {
	if !p.bad {
		p.report(pos, fmt.Sprintf(format, args...))
	}
}

// current is the token that the text has here, in recovery too.
func (p *parser) current() token {
	if p.bad {
		return p.real
	}
	return p.tok
}

// resume ends recovery: it skips to just past the next ';' or to a '}' that closes an enclosing scope,
// whichever comes first. A statement whose ';' alone was missing costs nothing but itself: the next one
// starts on a new line.
func (p *parser) resume(startLine int) {
	if !p.bad {
		return
	}
	p.bad = false
	p.tok = p.real
	open, nest := p.braces, 0
	p.depth, p.braces = 0, 0
	if p.tok.line > startLine && p.prevEnd.Line < p.tok.line && p.startsStatement() {
		return
	}
	for p.tok.kind != tokEOF {
		switch {
		case p.is(';') && nest == 0:
			p.advance()
			return
		case p.is('{'):
			nest++
		case p.is('}') && nest > 0:
			nest--
		case p.is('}') && open > 0:
			open--
		case p.is('}') && p.fn != nil:
			return
		case p.isDot("entry"), p.isDot("func"), p.isDot("visible"), p.isDot("section"), p.isDot("file"):
			return
		}
		p.advance()
	}
}

func (p *parser) startsStatement() bool {
	return p.tok.kind == tokDot || p.tok.kind == tokIdent || p.is('@') || p.is('}')
}
