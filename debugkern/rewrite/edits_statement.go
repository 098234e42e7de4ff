package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// whole lists the edits of a statement as a whole: without it, exchanged with the next, under a condition.
func (l *lister) whole(s *statement) {
	t := l.t
	l.of = ""
	l.moves = true
	l.synchronisation(s)
	l.exchanged(s)
	l.elsewhereInBlock(s)
	l.moves = false
	l.crosswise(s)
	l.otherTargets(s)
	l.operandsExchanged(s)
	l.otherwiseTransposed(s)
	l.stepMore(s)
	l.rescaled(s)
	l.restOfTile(s)
	l.addressedOtherwise(s)
	l.withinExtent(s)
	switch s.kind {
	case "for":
		l.from0(s)
		l.halving(s)
		return
	case "while":
		l.repeated(s)
		return
	case "if":
		l.repeated(s)
		l.condition(s)
		l.onePart(s)
		return
	}
	l.begun(s)
	l.running(s)
	l.of = ""
	if s.kind != "expression" || len(s.exprs) == 0 || !l.near(s.from) || l.macro(s.exprs[0]) ||
		s.parent != nil && s.parent.init == s {
		return
	}
	text := t.source(s.from, s.to)
	put := func(rank int, what, now string) {
		l.add(rank, what, t.statementFor(s, now))
	}
	nothing := ""
	if s.parent != nil && s.parent.kind != "block" {
		nothing = ";"
	}
	put(rankStatement, "without "+text, nothing)
	l.flagged(s, text, put)
	l.anotherMember(s, text, put)
	l.atomically(s, put)
	l.guards = true
	rank := rankGuard
	if e := s.exprs[0]; e.op == "=" && len(e.kids) == 2 && e.kids[1].op == "?" {
		rank += 3 // behind one more part of its own condition, with which a cell is still stored
	}
	for i, c := range l.guarding(s.exprs[0], s.from, s.to) {
		put(rank+i/6, "under the condition "+c, "if ("+c+") "+text)
	}
	l.guards = false
	if s.parent == nil || s.parent.kind != "if" {
		l.onePart(s)
	}
	if !strings.HasPrefix(text, "__sync") {
		for _, sync := range []string{"__syncthreads();", "__syncwarp();"} {
			put(rankBarrier+5, sync+" before "+text, "{ "+sync+" "+text+" }")
			put(rankBarrier, sync+" behind "+text, "{ "+text+" "+sync+" }")
		}
	}
}

// flagged lists a statement under the flags of the build that its function has.
func (l *lister) flagged(s *statement, text string, put func(rank int, what, now string)) {
	var flags []string
	for _, tok := range l.t.tokens[l.f.from:l.f.to] {
		if tok.kind == name && l.flag(tok.text) && !strings.Contains(text, tok.text) &&
			!slices.Contains(flags, tok.text) {
			flags = append(flags, tok.text)
		}
	}
	for _, f := range flags {
		for _, c := range []string{f, "!" + f} {
			put(rankFlag, "under the condition "+c, "if ("+c+") "+text)
		}
	}
}

// exchanged lists a statement behind the next.
func (l *lister) exchanged(s *statement) {
	next, t := l.next(s), l.t
	if next == nil || !l.single(s) || !l.single(next) || !l.near(s.from) && !l.near(next.from) {
		return
	}
	text, other := t.source(s.from, s.to), t.source(next.from, next.to)
	l.add(rankNext, other+" before "+text, site{
		from: t.tokens[s.from].from, to: t.tokens[next.to-1].to, whole: true,
		now: other + t.between(s.to, next.from) + text,
	})
}

// single reports whether a statement is an expression, maybe under a condition.
func (l *lister) single(s *statement) bool {
	return s.kind == "expression" && len(s.exprs) > 0 && !l.macro(s.exprs[0]) ||
		s.kind == "if" && len(s.body) == 1 && s.body[0].kind == "expression"
}

// atomically lists a sum that is assigned to one of its terms as an atomic addition.
func (l *lister) atomically(s *statement, put func(rank int, what, now string)) {
	e, t := s.exprs[0], l.t
	if e.op != "=" && e.op != "+=" || e.kids[0].op != "index" && e.kids[0].op != "u*" {
		return
	}
	to, term := t.source(e.kids[0].from, e.kids[0].to), t.source(e.kids[1].from, e.kids[1].to)
	if e.op == "=" {
		a, b, _ := l.operation(e.kids[1])
		if a == nil || kindOf(e.kids[1]) != "+" {
			return
		}
		x, y := t.source(a.from, a.to), t.source(b.from, b.to)
		switch to {
		case x:
			term = y
		case y:
			term = x
		default:
			return
		}
	}
	address := "&" + to
	if e.kids[0].op == "u*" {
		address = strings.TrimPrefix(to, "*")
	}
	now := "atomicAdd(" + address + ", " + term + ");"
	put(rankAtomic, now+" in place of "+t.source(s.from, s.to), now)
}

// anotherMember lists a call for another member of a type behind a call for one: what is initialised, awaited
// or released of one and not of the other.
func (l *lister) anotherMember(s *statement, text string, put func(rank int, what, now string)) {
	e, t := s.exprs[0], l.t
	if e.op != "call" || len(e.kids) < 2 || e.kids[1].op != "u&" {
		return
	}
	m := e.kids[1].kids[0]
	for m.op == "index" {
		m = m.kids[0]
	}
	if m.op != "member" {
		return
	}
	for _, o := range l.membersLike(m.text) {
		now := t.source(s.from, m.to-1) + o + t.source(m.to, s.to)
		put(rankMember+3, now+" behind "+text, "{ "+text+" "+now+" }")
	}
}

// membersLike are the other members of the types that have one of that name, of its type.
func (l *lister) membersLike(name string) []string {
	var out []string
	for _, t := range l.w.texts {
		for _, list := range t.structs {
			i := slices.IndexFunc(list, func(v *variable) bool { return v.name == name })
			for _, o := range list {
				if i >= 0 && o.name != name && o.typ == list[i].typ {
					out = append(out, o.name)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// synchronisation lists a barrier of all threads in the place of a synchronisation of fewer, and it at
// another place of its block.
func (l *lister) synchronisation(s *statement) {
	t := l.t
	text := t.source(s.from, s.to)
	if !l.near(s.from) || !synchronises(text) {
		return
	}
	at := t.statementFor(s, "")
	if s.kind != "if" && !strings.HasPrefix(text, "__syncthreads") {
		all := at
		all.now = "__syncthreads();"
		l.add(rankAll, "__syncthreads() in place of "+text, all)
	}
	l.places(s, rankMoved)
}

// elsewhereInBlock lists a statement at another place of its block.
func (l *lister) elsewhereInBlock(s *statement) {
	text := l.t.source(s.from, s.to)
	if !l.near(s.from) || synchronises(text) || s.parent != nil && s.parent.init == s {
		return
	}
	single := l.single(s)
	if single {
		l.places(s, rankPlaced)
	}
	if single || s.kind == "for" && len(text) < longestMoved && !l.t.has(s.from, s.to, "TS_TILE") {
		l.intoLoop(s)
		l.outOfLoop(s)
		l.beforeLoop(s)
	}
}

// longestMoved is how many letters a loop has at most that is moved into or out of another one.
const longestMoved = 200

// intoLoop lists a statement that stands behind a loop as the last one of the loop's body.
func (l *lister) intoLoop(s *statement) {
	list := l.blockOf(s)
	i := slices.Index(list, s)
	if i < 1 {
		return
	}
	if body := loopBody(list[i-1]); body != nil {
		l.moved(rankIntoLoop, body[len(body)-1], false, l.t.source(s.from, s.to), l.t.statementFor(s, ""))
	}
}

// outOfLoop lists the last statement of a loop's body behind the loop, where it uses nothing that the loop
// declares.
func (l *lister) outOfLoop(s *statement) {
	if s.parent == nil || s.parent.parent == nil {
		return
	}
	loop, t := s.parent.parent, l.t
	body := loopBody(loop)
	if len(body) < 2 || body[len(body)-1] != s {
		return
	}
	if l.usesDeclared(s, loop) {
		return
	}
	text := t.source(s.from, s.to)
	at := t.statementFor(loop, t.source(loop.from, s.from)+" "+t.source(s.to, loop.to)+" "+text)
	at.now = "{ " + at.now + " }"
	l.line = t.tokens[s.from].line
	defer func() { l.line = 0 }()
	l.add(rankOutOfLoop, oneLine(text)+" behind the loop of line "+strconv.Itoa(t.tokens[loop.from].line), at)
}

// beforeLoop lists one of the first statements of a loop's body before the loop, where it uses nothing that
// the loop declares.
func (l *lister) beforeLoop(s *statement) {
	if s.parent == nil || s.parent.parent == nil {
		return
	}
	loop, t := s.parent.parent, l.t
	i := slices.Index(loopBody(loop), s)
	if i < 0 || i > mostMoved || l.usesDeclared(s, loop) {
		return
	}
	text := t.source(s.from, s.to)
	at := t.statementFor(loop, "{ "+text+" "+t.source(loop.from, s.from)+" "+t.source(s.to, loop.to)+" }")
	l.line = t.tokens[s.from].line
	defer func() { l.line = 0 }()
	line := strconv.Itoa(t.tokens[loop.from].line)
	l.add(rankBeforeLoop, oneLine(text)+" before the loop of line "+line, at)
}

// usesDeclared reports whether a statement of a loop uses what the loop declares before it.
func (l *lister) usesDeclared(s, loop *statement) bool {
	uses := false
	each([]*statement{loop}, func(o *statement) {
		for _, v := range o.declares {
			uses = uses || o.from < s.from && l.t.has(s.from, s.to, v.name)
		}
	})
	return uses
}

// blockOf are the statements of the block that one is in, nil where it is no block's.
func (l *lister) blockOf(s *statement) []*statement {
	switch {
	case s.parent == nil:
		return l.f.body
	case s.parent.kind == "block":
		return s.parent.body
	}
	return nil
}

// loopBody are the statements of a loop's block, nil where it is no loop with one.
func loopBody(s *statement) []*statement {
	if s.kind != "for" && s.kind != "while" || len(s.body) != 1 || s.body[0].kind != "block" ||
		len(s.body[0].body) == 0 {
		return nil
	}
	return s.body[0].body
}

// places lists a statement before or behind those of its block that are near to it.
func (l *lister) places(s *statement, rank int) {
	t, list := l.t, l.blockOf(s)
	text := t.source(s.from, s.to)
	at := t.statementFor(s, "")
	i := slices.Index(list, s)
	for d := -mostMoved; i >= 0 && d <= mostMoved; d++ {
		j := i + d
		if d == 0 || d == 1 || j < 0 || j > len(list) || j == i {
			continue // it is where it is
		}
		switch {
		case j == len(list):
			l.moved(rank, list[j-1], false, text, at)
		case list[j].kind != "declaration":
			l.moved(rank, list[j], true, text, at)
		}
	}
}

// mostMoved is by how many statements of its block one is moved.
const mostMoved = 4

// moved lists a statement before or behind another one.
func (l *lister) moved(rank int, to *statement, before bool, text string, gone site) {
	t := l.t
	other := t.source(to.from, to.to)
	put := t.statementFor(to, "")
	where := " behind "
	put.now = "{ " + other + " " + text + " }"
	if before {
		put.now, where = "{ "+text+" "+other+" }", " before "
	}
	what := oneLine(text) + where + "line " + strconv.Itoa(t.tokens[to.from].line)
	sites := []site{gone, put}
	if put.from < gone.from {
		sites = []site{put, gone}
	}
	l.add(rank, what, sites...)
}

// synchronises reports whether a statement is no more than a synchronisation, maybe under a condition.
func synchronises(text string) bool {
	if len(text) > 120 || strings.Contains(text, "{") {
		return false
	}
	return slices.ContainsFunc([]string{"__sync", "bar.sync", "barrier", "__threadfence", "wait"},
		func(p string) bool { return strings.Contains(text, p) })
}

// condition lists, of a statement under a condition, that it is executed never and always.
func (l *lister) condition(s *statement) {
	if len(s.body) != 1 || len(s.exprs) != 1 || !l.near(s.from) || l.t.has(s.from, s.to, "TS_TILE") {
		return
	}
	t, in := l.t, s.body[0]
	at := t.statementFor(s, "")
	what := t.source(s.from, in.from)
	if in.kind == "expression" || in.kind == "return" || in.kind == "other" {
		what = t.source(s.from, s.to)
	}
	if !declaresIn(in) {
		never, always := at, at
		always.now = t.source(in.from, in.to)
		rank, all := rankAlways+4, rankAlways
		if s.exprs[0].op == "&&" {
			all += 16 // one part of it is likelier
		}
		early := leaves[t.tokens[in.from].text]
		if early {
			rank = rankAlways // no thread has to leave early
			what = t.source(s.from, s.to)
		}
		l.leaving(in)
		l.orElse(s)
		l.dropping = early // what a flag chooses there is left early, which another build can do without
		l.add(rank, "without "+what, never)
		l.dropping = false
		l.add(all, "without the condition "+t.source(s.from, in.from), always)
	}
}

// leaves are statements that leave out what follows them.
var leaves = map[string]bool{"return": true, "continue": true, "break": true}

// declaresIn reports whether a statement has another one in it than expressions: a block with several lines.
func declaresIn(s *statement) bool {
	return s.kind == "block" && len(s.body) != 1 || s.kind == "declaration"
}

// next is the statement behind one, nil where none is.
func (l *lister) next(s *statement) *statement {
	list := l.f.body
	if s.parent != nil {
		if s.parent.kind != "block" {
			return nil
		}
		list = s.parent.body
	}
	if i := slices.Index(list, s); i >= 0 && i+1 < len(list) {
		return list[i+1]
	}
	return nil
}

// from0 lists, of a loop that starts elsewhere and takes steps, that it starts at 0 and takes steps of one.
func (l *lister) from0(s *statement) {
	if s.init == nil || len(s.init.declares) != 1 || len(s.exprs) != 2 || s.exprs[1] == nil ||
		!l.near(s.from) {
		return
	}
	v, step := s.init.declares[0], s.exprs[1]
	if v.init == nil || step.op != "+=" || class(v.typ) != integer {
		return
	}
	start, by := v.init, step.kids[1]
	t := l.t
	if n := l.wanted.Step; n > 0 {
		l.put(rankStepOf, by.from, by.to, strconv.Itoa(n))
	}
	if by.op != "number" {
		l.put(rankEveryStep, by.from, by.to, "1")
		l.put(rankEveryStep+4, by.from, by.to, "2 * "+grouped(t.source(by.from, by.to), by, "*"))
	}
	at := func(e *expr, now string) site { return t.inPlace(e.from, e.to, now) }
	l.strides(s, func(from, step string) {
		was := t.source(start.from, start.to) + " in steps of " + t.source(by.from, by.to)
		what := v.name + " from " + from + " in steps of " + step + " in place of from " + was
		l.add(rankStride, what, at(start, from), at(by, step))
	})
	if all := l.allThreads(start); all != "" {
		l.put(rankStride, start.from, start.to, all)
	}
	if l.isThread(start) {
		for _, n := range append(l.launched(), "blockDim.x") {
			l.put(rankStride, by.from, by.to, n)
		}
	}
	l.add(rankStep, "all "+v.name+" from 0 in place of every "+t.source(by.from, by.to)+"th from "+
		t.source(start.from, start.to), at(start, "0"), at(by, "1"))
}

// allThreads is the thread's number, as the text has it, where an expression is a variable that several
// threads of a block have alike, as a lane or a warp; "" where it is not.
func (l *lister) allThreads(e *expr) string {
	if e.op != "name" {
		return ""
	}
	v := l.find(e.text, e.from)
	if v == nil || v.init == nil || !slices.Contains([]string{"%", "/", "&", ">>"}, v.init.op) {
		return ""
	}
	if of := v.init.kids[0]; l.isThread(of) {
		return l.t.source(of.from, of.to)
	}
	return ""
}

// isThread reports whether an expression is the thread's number.
func (l *lister) isThread(e *expr) bool {
	const number = "threadIdx.x"
	text := l.t.source(e.from, e.to)
	if e.op != "name" {
		return text == number
	}
	v := l.find(text, e.from)
	return v != nil && v.init != nil && l.t.source(v.init.from, v.init.to) == number
}

// strides lists where other loops of the function start, and in which steps they go, where that means
// something in a loop.
func (l *lister) strides(s *statement, visit func(from, by string)) {
	t := l.t
	seen := []string{t.source(s.init.declares[0].init.from, s.init.declares[0].init.to) + " " +
		t.source(s.exprs[1].kids[1].from, s.exprs[1].kids[1].to)}
	each(l.f.body, func(x *statement) {
		if x.kind != "for" || x == s || x.init == nil || len(x.init.declares) != 1 || len(x.exprs) != 2 ||
			x.init.declares[0].init == nil || x.exprs[1] == nil || x.exprs[1].op != "+=" {
			return
		}
		from, by := x.init.declares[0].init, x.exprs[1].kids[1]
		if l.known(from) || !l.seesAll(t, from, s.init.from) || !l.seesAll(t, by, s.init.from) {
			return
		}
		a, b := t.source(from.from, from.to), t.source(by.from, by.to)
		if !slices.Contains(seen, a+" "+b) {
			seen = append(seen, a+" "+b)
			visit(a, b)
		}
	})
}
