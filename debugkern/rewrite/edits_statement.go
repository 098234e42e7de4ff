package rewrite

import (
	"slices"
	"strings"
)

// whole lists the edits of a statement as a whole: without it, exchanged with the next, under a condition.
func (l *lister) whole(s *statement) {
	t := l.t
	l.of = ""
	switch s.kind {
	case "for":
		l.from0(s)
		return
	case "if":
		l.condition(s)
		return
	}
	if s.kind != "expression" || len(s.exprs) == 0 || !l.near(s.from) || l.macro(s.exprs[0]) ||
		s.parent != nil && s.parent.init == s {
		return
	}
	text := t.source(s.from, s.to)
	put := func(rank int, what, now string) {
		l.add(rank, what, site{from: t.tokens[s.from].from, to: t.tokens[s.to-1].to, now: now, whole: true})
	}
	nothing := ""
	if s.parent != nil && s.parent.kind != "block" {
		nothing = ";"
	}
	put(rankStatement, "without "+text, nothing)
	next := l.next(s)
	if next != nil && next.kind == "expression" && len(next.exprs) > 0 && !l.macro(next.exprs[0]) {
		other := t.source(next.from, next.to)
		l.add(rankStatement+2, other+" before "+text, site{
			from: t.tokens[s.from].from, to: t.tokens[next.to-1].to, whole: true,
			now: other + t.between(s.to, next.from) + text,
		})
	}
	for i, c := range l.w.slots["if"] {
		if c.t == l.t && l.seesAll(c.t, c.e, s.from) && !l.known(c.e) {
			put(rankGuard+i/6, "under the condition "+c.s, "if ("+c.s+") "+text)
		}
	}
	if !strings.HasPrefix(text, "__sync") {
		for _, sync := range []string{"__syncthreads();", "__syncwarp();"} {
			put(rankBarrier, sync+" before "+text, "{ "+sync+" "+text+" }")
			put(rankBarrier+1, sync+" behind "+text, "{ "+text+" "+sync+" }")
		}
	}
}

// condition lists, of a statement under a condition, that it is executed never and always.
func (l *lister) condition(s *statement) {
	if len(s.body) != 1 || len(s.exprs) != 1 || !l.near(s.from) || l.t.has(s.from, s.to, "TS_TILE") {
		return
	}
	t, in := l.t, s.body[0]
	at := site{from: t.tokens[s.from].from, to: t.tokens[s.to-1].to, whole: true}
	what := t.source(s.from, in.from)
	if in.kind == "expression" || in.kind == "return" || in.kind == "other" {
		what = t.source(s.from, s.to)
	}
	if !declaresIn(in) {
		never, always := at, at
		always.now = t.source(in.from, in.to)
		rank := rankCondition - 4
		if leaves[t.tokens[in.from].text] {
			rank = rankName // nobody has to leave early
		}
		l.add(rank, "without "+what, never)
		l.add(rankName+2, "without the condition "+t.source(s.from, in.from), always)
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
	at := func(e *expr, now string) site {
		return site{from: t.tokens[e.from].from, to: t.tokens[e.to-1].to, now: now}
	}
	l.add(rankElsewhere, "all "+v.name+" from 0 in place of every "+t.source(by.from, by.to)+"th from "+
		t.source(start.from, start.to), at(start, "0"), at(by, "1"))
}
