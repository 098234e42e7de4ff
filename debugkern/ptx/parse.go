package ptx

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Limits that keep a hostile text from costing more than its size warrants.
const (
	maxDepth     = 64      // nesting of scopes, vectors and constant expressions
	maxRegCount  = 1 << 20 // registers of one parameterised declaration
	maxVarBytes  = 1 << 40 // size of a variable
	maxInitBytes = 1 << 26 // size of an initialised variable
)

// parser holds the state of one Parse. Once an error is reported, tok is a bad token that nothing matches and
// further errors are dropped, until resume skips to the next statement.
type parser struct {
	scan    scanner
	file    string
	tok     token // current token; tokBad in recovery
	real    token // the current token in recovery
	ahead   token // one token past tok, where hasAhead
	prevEnd Pos   // just past the token before tok
	tokAsm  bool  // tok stands within inline assembly
	aheadA  bool

	hasAhead bool
	bad      bool
	depth    int
	braces   int  // vectors and initialisers open in the statement
	inBody   bool // in a function body, which reports a premature end itself
	errs     Errors

	mod        *Module
	fn         *Func
	scope      *scope
	module     *scope
	locs       []*Loc
	latest     map[locKey]*Loc
	loc        *Loc
	labels     []string
	lists      []*branchList
	unresolved bool // the instruction being read names something not yet declared
	slab       []Operand
	instrs     []Instr
	intern     map[string]opcode

	ctx    context.Context
	tokens int
}

// cancelled is what parser and validator unwind with once their context has ended.
type cancelled struct{}

// lookEvery is how many tokens are read, or instructions validated, between two looks at the
// context: a millisecond's.
const lookEvery = 1 << 12

// tooMany is what the parser unwinds with once maxErrors complaints are collected.
type tooMany struct{}

// Parse reads one PTX module. name is used in positions. On failure the error is an Errors of located
// complaints and the module is nil. src is not retained, but strings of the module share one copy of it.
func Parse(name string, src []byte) (mod *Module, err error) {
	return ParseContext(context.Background(), name, src)
}

// ParseContext is Parse with a context: where that ends first, the error is its own.
func ParseContext(ctx context.Context, name string, src []byte) (mod *Module, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if msg := notText(src); msg != "" {
		return nil, Errors{{Pos{name, 1, 1}, msg}}
	}
	p := &parser{file: name, mod: &Module{Name: name}, ctx: ctx}
	p.scan = scanner{src: string(bytes.TrimRight(src, "\x00")), line: 1, report: p.lexical}
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case tooMany:
			mod, err = nil, p.errs.err()
		case cancelled:
			mod, err = nil, ctx.Err()
		default:
			panic(r)
		}
	}()
	p.module = &scope{}
	p.scope = p.module
	p.load()
	p.parseModule()
	if len(p.errs) > 0 {
		return nil, p.errs.err()
	}
	p.mod.source = p.scan.src
	return p.mod, nil
}

// notText recognises files that are not PTX text at all and says what they are.
func notText(src []byte) string {
	switch {
	case len(bytes.TrimSpace(bytes.TrimRight(src, "\x00"))) == 0:
		return "empty file, not PTX"
	case bytes.HasPrefix(src, []byte("\x7fELF")):
		return "an ELF file (a cubin or object), not PTX text"
	case bytes.HasPrefix(src, []byte{0x50, 0xed, 0x55, 0xba}):
		return "a fat binary, not PTX text"
	case bytes.HasPrefix(src, []byte{0x1f, 0x8b}), bytes.HasPrefix(src, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "a compressed file, not PTX text"
	case bytes.HasPrefix(src, []byte("BC\xc0\xde")):
		return "LLVM bitcode, not PTX text"
	}
	head := bytes.TrimRight(src, "\x00")
	if i := bytes.IndexByte(head[:min(len(head), 4096)], 0); i >= 0 {
		return fmt.Sprintf("binary data (a zero byte at offset %d), not PTX text", i)
	}
	return ""
}

func (p *parser) pos(t token) Pos { return Pos{p.file, t.line, t.col} }
func (p *parser) here() Pos       { return p.pos(p.tok) }

func (p *parser) load() {
	if p.tokens++; p.tokens%lookEvery == 0 && p.ctx.Err() != nil {
		panic(cancelled{})
	}
	p.tok, p.tokAsm = p.scan.next(), p.scan.asm
}

// advance moves to the next token, except in recovery.
func (p *parser) advance() {
	if p.bad {
		return
	}
	p.prevEnd = Pos{p.file, p.tok.line, p.tok.col + p.tok.width()}
	if p.hasAhead {
		p.tok, p.tokAsm, p.hasAhead = p.ahead, p.aheadA, false
		return
	}
	p.load()
}

// peek returns the token after the current one.
func (p *parser) peek() token {
	if !p.hasAhead {
		p.ahead, p.aheadA, p.hasAhead = p.scan.next(), p.scan.asm, true
	}
	return p.ahead
}

// width is the token's length in the text.
func (t token) width() int {
	switch t.kind {
	case tokDot:
		return len(t.text) + 1
	case tokString:
		return len(t.text) + 2
	}
	return len(t.text)
}

func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the file"
	case tokDot:
		return "'." + t.text + "'"
	case tokString:
		return "a string"
	}
	return "'" + t.text + "'"
}

func (p *parser) is(ch byte) bool {
	return p.tok.kind == tokPunct && p.tok.ch == ch && len(p.tok.text) == 1
}

func (p *parser) isDot(text string) bool { return p.tok.kind == tokDot && p.tok.text == text }

// accept passes over ch if it is next.
func (p *parser) accept(ch byte) bool {
	if !p.is(ch) {
		return false
	}
	p.advance()
	return true
}

// expect passes over ch, or reports that it is missing: just past the token before where the line ended
// there, so that the error stands on the line at fault.
func (p *parser) expect(ch byte, where string) {
	if p.accept(ch) || p.bad {
		return
	}
	pos := p.here()
	if p.prevEnd.Line != 0 && p.prevEnd.Line < pos.Line {
		pos = p.prevEnd
	}
	p.errorPos(pos, fmt.Sprintf("expected '%c' %s, found %s", ch, where, p.current().describe()))
}

func (p *parser) ident(what string) string {
	t := p.tok
	if t.kind != tokIdent {
		p.errorAt(t, "expected "+what+", found "+t.describe())
		return ""
	}
	p.advance()
	return t.text
}

// integer parses a plain non-negative integer no larger than limit.
func (p *parser) integer(what string, limit uint64) int {
	t := p.tok
	if t.kind != tokInt {
		p.errorAt(t, "expected "+what+", found "+t.describe())
		return 0
	}
	c, msg := intLiteral(t.text)
	switch {
	case msg != "":
		p.errorAt(t, msg)
	case c.bits > limit:
		p.errorAt(t, fmt.Sprintf("%s %s is more than %d", what, t.text, limit))
	}
	p.advance()
	return int(c.bits)
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.errorAt(p.tok, "nested too deeply")
	}
}

func (p *parser) leave() { p.depth-- }

// parseModule parses the whole text: the three leading directives, then items in any order.
func (p *parser) parseModule() {
	p.header()
	for p.tok.kind != tokEOF {
		line := p.tok.line
		at := p.tok
		p.topItem()
		p.resume(line)
		if p.tok.kind != tokEOF && p.tok.line == at.line && p.tok.col == at.col {
			p.advance() // nothing was consumed: step over what cannot start an item
		}
	}
	p.finish()
}

// header parses .version, .target and .address_size.
func (p *parser) header() {
	if !p.isDot("version") {
		p.errorAt(p.tok, "a PTX module starts with .version, found "+p.tok.describe())
		panic(tooMany{})
	}
	p.advance()
	t := p.tok
	major, minor, ok := strings.Cut(t.text, ".")
	a, err1 := strconv.ParseUint(major, 10, 16)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	if t.kind != tokFloat || !ok || err1 != nil || err2 != nil {
		p.errorAt(t, "expected a version such as 8.0, found "+t.describe())
	}
	p.mod.Version = Version{int(a), int(b)}
	p.advance()
	if !p.isDot("target") {
		p.errorAt(p.tok, "expected .target after .version, found "+p.tok.describe())
	}
	p.advance()
	for {
		p.mod.Targets = append(p.mod.Targets, p.ident("a target such as sm_80"))
		if !p.accept(',') {
			break
		}
	}
	p.mod.Target = p.mod.Targets[0]
	p.mod.AddressSize = 32
	if p.isDot("address_size") {
		p.advance()
		t := p.tok
		p.mod.AddressSize = p.integer("an address size", 64)
		if p.mod.AddressSize != 32 && p.mod.AddressSize != 64 {
			p.errorAt(t, "address size must be 32 or 64")
		}
	}
	if p.bad {
		panic(tooMany{}) // not PTX, or not enough of it to go on
	}
}

// topItem parses one module-level item.
func (p *parser) topItem() {
	t := p.tok
	if t.kind != tokDot {
		switch {
		case p.is('}'):
			p.errorAt(t, "'}' closes nothing")
		default:
			p.errorAt(t, "expected a module-level directive, found "+t.describe())
		}
		return
	}
	switch t.text {
	case "file":
		p.fileDirective()
	case "section":
		p.section()
	case "alias":
		p.alias()
	case "pragma":
		p.advance()
		p.mod.Items = append(p.mod.Items, TopItem{Kind: TopPragma, Text: p.stringLit()})
		p.expect(';', "after .pragma")
	case "version", "target", "address_size":
		p.semantic(p.pos(t), "a second .%s", t.text)
		for p.tok.line == t.line && p.tok.kind != tokEOF {
			p.advance()
		}
	default:
		p.declaration()
	}
}

// declaration parses a linkage directive and the function or variable after it.
func (p *parser) declaration() {
	link := LinkNone
	for l := LinkVisible; l <= LinkCommon; l++ {
		if p.isDot(linkNames[l]) {
			link = l
			p.advance()
			break
		}
	}
	switch {
	case p.isDot("entry"), p.isDot("func"):
		p.function(link)
	case p.tok.kind == tokDot:
		sp, ok := SpaceOf(p.tok.text)
		if !ok || sp == SpaceReg || sp == SpaceParam {
			p.errorAt(p.tok, "unknown module-level directive ."+p.tok.text)
			return
		}
		for _, v := range p.variable(link, sp) {
			p.mod.Vars = append(p.mod.Vars, v)
			p.mod.Items = append(p.mod.Items, TopItem{Kind: TopVar, Var: v})
		}
	default:
		p.errorAt(p.tok, "expected a function or variable, found "+p.tok.describe())
	}
}

var linkNames = [...]string{"", "visible", "extern", "weak", "common"}

func (p *parser) fileDirective() {
	f := File{Pos: p.here()}
	p.advance()
	f.Index = p.integer("a file index", 1<<31-1)
	f.Name = p.stringLit()
	if p.accept(',') {
		f.Time = uint64(p.integer("a time stamp", 1<<63-1))
		p.expect(',', "after the time stamp")
		f.Size = uint64(p.integer("a file size", 1<<63-1))
	}
	p.accept(';')
	p.mod.Items = append(p.mod.Items, TopItem{Kind: TopFile, Index: len(p.mod.Files)})
	p.mod.Files = append(p.mod.Files, f)
}

func (p *parser) alias() {
	a := Alias{Pos: p.here()}
	p.advance()
	a.Name = p.ident("an alias name")
	p.expect(',', "after the alias name")
	a.Target = p.ident("the function that the alias stands for")
	p.expect(';', "after .alias")
	p.mod.Items = append(p.mod.Items, TopItem{Kind: TopAlias, Index: len(p.mod.Aliases)})
	p.mod.Aliases = append(p.mod.Aliases, a)
}

// stringLit parses a string and returns it as written: escapes are kept, for they are
// printed again unchanged.
func (p *parser) stringLit() string {
	t := p.tok
	if t.kind != tokString {
		p.errorAt(t, "expected a string, found "+t.describe())
		return ""
	}
	p.advance()
	return t.text
}
