package rewrite

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Edit is one edit of a text.
type Edit struct {
	Text *Text
	Line int    // where it begins, from 1
	What string // as a phrase: "key16 in place of row16"
	Rank int    // the lower the likelier

	sites []site
	// Doubtful: it is not known whether its types fit
	Doubtful bool
	// Stores: it changes what something is assigned to
	Stores bool
	// Drops are flags of the build that stand in what it replaces, and no more with it: what another build
	// needs may be lost
	Drops []string
	// copied: what it puts in stands elsewhere in the same role, or all of it says one thing, so that its
	// length says nothing
	copied bool
	// loses counts the constants that flags of the build decide, which stand in what it replaces and no more
	// with it
	loses int
	// parted: its sites are the differences of one place, as Smaller gives them
	parted bool
	// Alone: a compiler needs the value of what it replaces, so that Switched leaves it out
	Alone bool
}

// site is a part of a text and what stands there with an edit.
type site struct {
	from, to int // bytes
	now      string
	whole    bool // it is a statement, and else an expression
	cast     bool // a value that may have another type than what it stands for
}

// inPlace is what stands in the place of some tokens with an edit.
func (t *Text) inPlace(from, to int, now string) site {
	return site{from: t.tokens[from].from, to: t.tokens[to-1].to, now: now}
}

// statementFor is what stands in the place of a statement with an edit.
func (t *Text) statementFor(s *statement, now string) site {
	out := t.inPlace(s.from, s.to, now)
	out.whole = true
	return out
}

// On reports whether the edit changes something on a line, from 1.
func (e *Edit) On(line int) bool {
	return e.Line == line || slices.ContainsFunc(e.sites, func(s site) bool {
		first := 1 + strings.Count(e.Text.text[:s.from], "\n")
		return first <= line && line <= first+strings.Count(e.Text.text[s.from:s.to], "\n")
	})
}

// Places lists the lines that the edit changes, from 1.
func (e *Edit) Places() (lines []int) {
	for _, s := range e.sites {
		n := 1 + strings.Count(e.Text.text[:s.from], "\n")
		if !slices.Contains(lines, n) {
			lines = append(lines, n)
		}
	}
	slices.Sort(lines)
	return lines
}

// LeavesOut reports whether the edit leaves out a statement under a condition, whole or what it is a
// condition of.
func (e *Edit) LeavesOut() bool {
	return len(e.sites) == 1 && e.sites[0].whole && strings.Trim(e.sites[0].now, "; ") == "" &&
		strings.HasPrefix(e.Text.text[e.sites[0].from:], "if")
}

// With is the edit as what a trial was made with: "with key16 in place of row16", "without return;", "under
// the condition row < rows".
func (e *Edit) With() string {
	if strings.HasPrefix(e.What, "without ") || strings.HasPrefix(e.What, "under ") {
		return e.What
	}
	return "with " + e.What
}

// Applied is the text with the edit.
func (e *Edit) Applied() string {
	var b strings.Builder
	at := 0
	for _, s := range e.sites {
		b.WriteString(e.Text.text[at:s.from])
		b.WriteString(s.now)
		at = s.to
	}
	b.WriteString(e.Text.text[at:])
	return b.String()
}

// Lines is the line that the edit begins in, as it is and with the edit, without the blanks at their ends; ok
// is false where it changes more than that line.
func (e *Edit) Lines() (was, now string, ok bool) {
	before, after := strings.Split(e.Text.text, "\n"), strings.Split(e.Applied(), "\n")
	if len(before) != len(after) {
		return "", "", false
	}
	for i := range before {
		if before[i] != after[i] {
			if was != "" {
				return "", "", false
			}
			was, now = strings.TrimSpace(before[i]), strings.TrimSpace(after[i])
		}
	}
	return was, now, was != ""
}

// Replaced is how many bytes of the text the edit replaces, from the first that differs to the last.
func (e *Edit) Replaced() (n int) {
	for _, s := range e.sites {
		was, now := e.Text.text[s.from:s.to], s.now
		for was != "" && now != "" && was[0] == now[0] {
			was, now = was[1:], now[1:]
		}
		for was != "" && now != "" && was[len(was)-1] == now[len(now)-1] {
			was, now = was[:len(was)-1], now[:len(now)-1]
		}
		n += len(was)
	}
	return n
}

// Cost compares edits that make the same cells right: the lowest is the likeliest. It is the edit's Rank,
// plus two for each token by which the text becomes longer, unless it is copied, lostChoice where a choice is
// lost (LosesChoice), which may guard something, gainedChoice where one is added, and lostFlag for each
// constant lost that flags of the build decide. A flag of the build less makes nothing likelier.
func (e *Edit) Cost() int {
	longer := 0
	for _, s := range e.sites {
		longer += len(lex(s.now).tokens) - len(lex(e.Text.text[s.from:s.to]).tokens)
	}
	if len(e.Drops) > 0 {
		longer = max(longer, 0)
	}
	if e.copied {
		longer = min(longer, 0)
	}
	cost := e.Rank + 2*max(longer, -mostShorter) + lostFlag*e.loses
	switch n := e.choices(); {
	case e.LosesChoice():
		cost += lostChoice
	case n > 0:
		cost += gainedChoice
	}
	return cost
}

// LosesChoice reports whether an edit leaves out a condition of ?:, has it never hold, or has the same behind
// it in either case. Such a condition may guard what a run does not have.
func (e *Edit) LosesChoice() bool {
	return e.choices() < 0 || e.neverEqual() || e.changes(sameArms)
}

// LosesMaximum reports whether an edit leaves out a maximum. What it limits may be no larger in a run.
func (e *Edit) LosesMaximum() bool {
	count := func(text string) int { return len(maxima.FindAllString(text, -1)) }
	n := 0
	for _, s := range e.sites {
		n += count(s.now) - count(e.Text.text[s.from:s.to])
	}
	return n < 0
}

// maxima matches the functions that give a maximum.
var maxima = regexp.MustCompile(`\b\w*max\w*\(`)

// choices is how many more ?: the text has with the edit.
func (e *Edit) choices() (n int) {
	for _, s := range e.sites {
		n += count(lex(s.now).tokens, "?") - count(lex(e.Text.text[s.from:s.to]).tokens, "?")
	}
	return n
}

// sameArms counts the ?: of a line that have the same value whether their condition holds or not.
func sameArms(line string) (n int) {
	list := lex(line).tokens
	for i, t := range list {
		if t.text != "?" {
			continue
		}
		if colon := armEnd(list, i+1); colon < len(list) && list[colon].text == ":" {
			yes, no := list[i+1:colon], list[colon+1:armEnd(list, colon+1)]
			if slices.EqualFunc(yes, no, func(a, b token) bool { return a.text == b.text }) {
				n++
			}
		}
	}
	return n
}

// armEnd is the token behind a value of ?: that begins at a token: its colon, or what ends the expression.
func armEnd(list []token, at int) int {
	depth, choices := 0, 0
	for ; at < len(list); at++ {
		switch list[at].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return at
			}
		case "?":
			if depth == 0 {
				choices++
			}
		case ":":
			if depth > 0 {
				continue
			}
			if choices--; choices < 0 {
				return at
			}
		case ",", ";":
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// count is how many of some tokens have a text.
func count(list []token, text string) (n int) {
	for _, t := range list {
		if t.text == text {
			n++
		}
	}
	return n
}

const (
	// mostShorter is how many tokens less count in favour of an edit: a line that is left out is not the
	// likelier the longer it is.
	mostShorter = 8
	lostChoice  = 24
	lostFlag    = 8
	// gainedChoice: what a condition would guard was not needed so far
	gainedChoice = 4
)

// Set is the texts of a kernel: what stands in one may be used in another.
type Set struct {
	texts  []*Text
	called map[string][]*function
	slots  map[string][]slot // by role
	sees   map[sight][]*variable
}

// sight is a token of a function.
type sight struct {
	f  *function
	at int
}

// slot is an expression in a role.
type slot struct {
	t *Text
	f *function
	e *expr
	s string // its text
}

// NewSet joins texts: the source, and the headers that belong to it.
func NewSet(texts ...*Text) *Set {
	w := &Set{texts: texts, called: map[string][]*function{}, slots: map[string][]slot{},
		sees: map[sight][]*variable{}}
	for _, t := range texts {
		for _, f := range t.functions {
			w.called[f.name] = append(w.called[f.name], f)
		}
	}
	for _, t := range texts {
		for _, f := range t.functions {
			each(f.body, func(s *statement) {
				t.roles(s, func(role string, e *expr) {
					text := t.source(e.from, e.to)
					if !slices.ContainsFunc(w.slots[role], func(x slot) bool { return x.s == text }) {
						w.slots[role] = append(w.slots[role], slot{t, f, e, text})
					}
				})
			})
		}
	}
	return w
}

// seen lists a text and those that it includes, and they.
func (w *Set) seen(t *Text) []*Text {
	out := []*Text{t}
	for i := 0; i < len(out); i++ {
		for _, name := range out[i].includes {
			for _, o := range w.texts {
				if !slices.Contains(out, o) && path.Base(o.Name) == path.Base(name) {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// each visits statements and those in them.
func each(list []*statement, visit func(*statement)) {
	for _, s := range list {
		visit(s)
		if s.init != nil {
			visit(s.init)
		}
		each(s.body, visit)
	}
}

// top lists the expressions of a statement.
func (s *statement) top() []*expr {
	out := slices.DeleteFunc(slices.Clone(s.exprs), func(e *expr) bool { return e == nil })
	for _, v := range s.declares {
		if v.init != nil {
			out = append(out, v.init)
		}
	}
	return out
}

// roles visits expressions of a statement that have a role in which others stand too: what is assigned to a
// name, passed to a function, an index of an array, a condition.
func (t *Text) roles(s *statement, visit func(role string, e *expr)) {
	for _, v := range s.declares {
		if v.init != nil {
			visit("= "+v.name, v.init)
		}
	}
	if s.kind == "if" && len(s.exprs) > 0 {
		visit("if", s.exprs[0])
	}
	if s.kind == "for" && len(s.exprs) > 0 && s.exprs[0] != nil {
		visit("for", s.exprs[0])
	}
	for _, e := range s.top() {
		e.walk(func(e, _ *expr) bool {
			switch {
			case e.op == "index":
				base, n := e.base()
				visit("["+t.source(base.from, base.to)+digit(n), e.kids[1])
			case e.op == "call" && e.kids[0].op == "name":
				for i, k := range e.kids[1:] {
					visit("("+e.kids[0].text+digit(i), k)
				}
			case binding[e.op] == assignment:
				visit("= "+t.source(e.kids[0].from, e.kids[0].to), e.kids[1])
			case e.op == "?":
				visit("if", e.kids[0])
			}
			return true
		})
	}
}

func digit(n int) string { return string(rune('0' + min(n, 9))) }

// base is what an index is of, and how many indices stand between.
func (e *expr) base() (*expr, int) {
	n := 0
	for e.op == "index" {
		e = e.kids[0]
		n++
	}
	return e, n
}

// Edits lists edits of lines, the likeliest first. lines are, by the name of a text and a line, how far the
// line is from what is known to be wrong: 0 is that itself.
func (w *Set) Edits(lines map[string]map[int]int, wanted Wanted) []Edit {
	l := &lister{w: w, lines: lines, seen: map[string]int{}, wanted: wanted}
	for _, t := range w.texts {
		if len(lines[t.Name]) == 0 {
			continue
		}
		l.t = t
		for _, f := range t.functions {
			if f.fixed {
				continue
			}
			l.f = f
			was := len(l.out)
			each(f.body, l.statement)
			l.everywhere(was)
			l.registersExchanged()
			l.axes()
		}
	}
	l.alone()
	slices.SortStableFunc(l.out, func(a, b Edit) int { return cmp.Compare(a.Rank, b.Rank) })
	return l.out
}

// lister lists edits.
type lister struct {
	w      *Set
	lines  map[string]map[int]int
	t      *Text
	f      *function
	s      *statement
	far    int // of the line at hand
	line   int // that edits are of; 0: the one that their first place begins on
	wanted Wanted
	where  map[*Text]spans // what is wanted of a text
	of     string          // the class of what is edited
	// doubtful: of the edits at hand it is not known whether their types fit
	doubtful bool
	isAlone  bool           // the edits at hand must be compiled alone
	dropping bool           // the edits at hand may leave out a flag of the build
	guards   bool           // the edits at hand put what there is under a condition
	moves    bool           // they move a statement
	copied   bool           // they put in what stands elsewhere in the same role
	seen     map[string]int // where an edit is in out
	out      []Edit
	notRead  []*variable // what neverRead has found of the function readOf
	readOf   *function
	read     map[string]*reading
	readIn   *function
	// lined are the lines of tokens of the function linedOf
	lined   map[string][]int
	linedOf *function
}

// farther is by how much each step away from what is known to be wrong makes an edit less likely.
const farther = 6

// near reports whether a token is on a line that is asked about, and notes how far that is.
func (l *lister) near(at int) bool {
	d, ok := l.lines[l.t.Name][l.t.tokens[at].line]
	l.far = d
	return ok
}

// put lists an edit of some tokens.
func (l *lister) put(rank, from, to int, now string) {
	if l.t.ofOne(from, to, now) {
		return
	}
	was := l.t.source(from, to)
	l.add(rank, now+" in place of "+was, l.t.inPlace(from, to, now))
}

// value is put of an integer that nothing is assigned to, and that may have another type.
func (l *lister) value(rank, from, to int, now string) {
	if l.t.ofOne(from, to, now) {
		return
	}
	was := l.t.source(from, to)
	at := l.t.inPlace(from, to, now)
	at.cast = true
	l.add(rank, now+" in place of "+was, at)
}

// ofOne reports whether with an edit of an argument the maximum or minimum of two values would be that of
// one: nobody writes that.
func (t *Text) ofOne(from, to int, now string) bool {
	other := ""
	switch {
	case t.is(from-1, "(") && t.is(to, ","):
		if end := t.match(from - 1); end > to {
			other = t.source(to+1, end)
		}
		from--
	case t.is(from-1, ",") && t.is(to, ")"):
		open := from - 1
		for open > 0 && t.match(open) != to {
			open--
		}
		other, from = t.source(open+1, from-1), open
	default:
		return false
	}
	return other == now && from > 0 && extreme.MatchString(t.tokens[from-1].text)
}

// extreme matches the functions that give the larger or smaller of two values.
var extreme = regexp.MustCompile(`^_*f?h?(?:max|min)f?\d?$`)

func (l *lister) add(rank int, what string, sites ...site) {
	var drops []string
	for _, s := range sites {
		was := l.t.text[s.from:s.to]
		if was == s.now || strings.Contains(s.now, "#") && !l.isAlone {
			return // nothing changes, or a directive would not stand on a line of its own
		}
		if realNumber.MatchString(s.now) && l.beginsInteger(s) {
			return
		}
		drops = append(drops, l.drops(was, s.now)...)
	}
	e := Edit{
		Text: l.t, Line: cmp.Or(l.line, 1+strings.Count(l.t.text[:sites[0].from], "\n")), What: oneLine(what),
		sites: sites,
		Rank:  rank + farther*l.far, Doubtful: l.doubtful, Alone: l.isAlone, Stores: l.assigns(sites[0]),
		Drops: drops, copied: l.copied,
	}
	for _, s := range sites {
		e.loses += l.lost(l.t.text[s.from:s.to], s.now)
	}
	if len(drops) > 0 {
		if !l.dropping {
			return
		}
		e.Rank += rankDropping
	}
	if l.callersChoice(&e.sites[0]) {
		e.Rank += rankCallers
	}
	e.Rank -= l.likelier(&e)
	l.list(e)
}

// realNumber matches a literal of a real number.
var realNumber = regexp.MustCompile(`^-?\d+\.\d*f?$`)

// beginsInteger reports whether a part of a text is what an integer of the statement at hand, or of a loop's
// head, begins with.
func (l *lister) beginsInteger(x site) bool {
	if l.s == nil {
		return false
	}
	list := l.s.declares
	if l.s.init != nil {
		list = slices.Concat(list, l.s.init.declares)
	}
	return slices.ContainsFunc(list, func(v *variable) bool {
		return class(v.typ) == integer && v.init != nil && l.t.tokens[v.init.from].from == x.from &&
			l.t.tokens[v.init.to-1].to == x.to
	})
}

// list adds an edit, or makes it likelier where another kind of edit has listed the same text.
func (l *lister) list(e Edit) {
	switch unread, reduced := l.leavesUnread(e.sites); {
	case reduced:
		return // what a reduction gives is meant to be used
	case unread:
		e.Rank += rankUnread
	}
	key := e.key()
	if i, ok := l.seen[key]; ok {
		l.out[i].Rank = min(l.out[i].Rank, e.Rank)
		l.out[i].copied = l.out[i].copied || e.copied
		return
	}
	l.seen[key] = len(l.out)
	l.out = append(l.out, e)
}

// callersChoice reports whether a part of a text lies in a condition, or is one with what stands under it, of
// which all names are parameters of a function that is no kernel: what a caller gives it is likelier to be
// wrong.
func (l *lister) callersChoice(x *site) bool {
	if l.s == nil || l.s.kind != "if" || len(l.s.exprs) == 0 || l.f == nil || l.f.kernel {
		return false
	}
	c := l.s.exprs[0]
	if from, to := l.t.tokens[c.from].from, l.t.tokens[c.to-1].to; !x.whole && (x.from < from || x.to > to) {
		return false
	}
	names, own := 0, 0
	c.walk(func(e, _ *expr) bool {
		if e.op == "name" {
			names++
			if slices.ContainsFunc(l.f.parameters, func(v *variable) bool { return v.name == e.text }) {
				own++
			}
		}
		return true
	})
	return names > 0 && own == names
}

// assigns reports whether a part of a text lies in what the statement at hand assigns to.
func (l *lister) assigns(x site) bool {
	if l.s == nil || x.whole {
		return false
	}
	for _, e := range l.s.exprs {
		if e == nil || binding[e.op] != assignment {
			continue
		}
		to := e.kids[0]
		if l.t.tokens[to.from].from <= x.from && x.to <= l.t.tokens[to.to-1].to {
			return true
		}
	}
	return false
}

// key is equal for edits that make the same text, whatever part of it each replaces.
func (e *Edit) key() string {
	key := e.Text.Name
	for _, s := range e.sites {
		was, now, from := e.Text.text[s.from:s.to], s.now, s.from
		for was != "" && now != "" && was[0] == now[0] {
			was, now, from = was[1:], now[1:], from+1
		}
		for was != "" && now != "" && was[len(was)-1] == now[len(now)-1] {
			was, now = was[:len(was)-1], now[:len(now)-1]
		}
		key += fmt.Sprintf("\x00%d:%d:%s", from, from+len(was), now)
	}
	return key
}

// drops lists the flags of the build that a text has and another lacks: in another build they may be needed,
// and no run of this one shows that.
func (l *lister) drops(was, now string) (out []string) {
	for _, t := range l.w.seen(l.t) {
		for name := range t.macros {
			if l.flag(name) && strings.Contains(was, name) && !strings.Contains(now, name) &&
				!slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// lost counts the constants that a text has and another lacks, of which flags of the build decide the value.
func (l *lister) lost(was, now string) (n int) {
	for _, t := range l.w.seen(l.t) {
		for _, v := range t.globals {
			if v.fixed && strings.Contains(was, v.name) && !strings.Contains(now, v.name) && l.decided(t, v) {
				n++
			}
		}
	}
	return n
}

// decided reports whether a flag of the build has a part in the value of a constant that a text declares.
func (l *lister) decided(t *Text, v *variable) bool {
	found := false
	v.init.walk(func(e, _ *expr) bool {
		earlier := func(o *variable) bool {
			return o.at < v.at && o.name == e.text && o.fixed && l.decided(t, o)
		}
		found = found || e.op == "name" && (l.flag(e.text) || slices.ContainsFunc(t.globals, earlier))
		return !found
	})
	return found
}

// macro reports whether a statement is the call of a macro: a compiler reads its arguments otherwise.
func (l *lister) macro(e *expr) bool {
	if e.op != "call" || e.kids[0].op != "name" {
		return false
	}
	name := e.kids[0].text
	for _, t := range l.w.texts {
		if _, ok := t.macros[name]; ok {
			return true
		}
	}
	return strings.HasPrefix(name, "TS_") || name == "assert" || name == "static_assert"
}

func (l *lister) statement(s *statement) {
	l.s = s
	if s.kind == "declaration" {
		for _, v := range s.declares {
			if v.fixed || v.once && v.init != nil && l.known(v.init) {
				return // its value may be needed where only a constant can stand
			}
		}
	}
	if s.kind == "if" && len(s.exprs) > 0 && l.known(s.exprs[0]) {
		l.dropping = true
		l.condition(s)
		l.dropping = false
		l.onePart(s)
		return // it chooses a build: another one does not show what is wrong with this
	}
	l.whole(s)
	l.twins(s)
	l.argumentsAlone(s)
	l.splitOtherwise(s)
	l.splitByNames(s)
	for _, e := range s.top() {
		e.walk(func(e, parent *expr) bool {
			if l.macro(e) || parent != nil && parent.op == "?" && parent.kids[0] == e && l.known(e) {
				return false
			}
			if l.near(e.from) {
				l.of = l.class(e)
				l.expression(e, parent)
			}
			return true
		})
	}
	l.t.roles(s, func(role string, e *expr) {
		if l.near(e.from) && !(role == "if" && l.known(e)) {
			l.of = l.class(e)
			l.elsewhere(role, e)
			l.grown(role, e)
		}
	})
}

// known reports whether a compiler knows the value of an expression, by the names that its function sees.
func (l *lister) known(e *expr) bool {
	ok := true
	e.walk(func(e, _ *expr) bool {
		switch e.op {
		case "name":
			v := l.find(e.text, min(e.from, l.f.to-1))
			ok = ok && (v == nil && (l.constant(e.text) || qualified(e.text)) || v != nil && v.fixed)
		case "call", "member", "index":
			ok = false
		}
		return ok
	})
	return ok
}

// constant reports whether a macro of that name is an integer.
func (l *lister) constant(name string) bool {
	for _, t := range l.w.seen(l.t) {
		if v := strings.TrimLeft(t.macros[name], "( "); v != "" && isDigit(v[0]) {
			return true
		}
	}
	return false
}

// qualified reports whether a name is that of a constant of a type: Tile::COLS.
func qualified(name string) bool {
	i := strings.LastIndex(name, "::")
	return i > 0 && name[i+2:] != "" && strings.ToUpper(name[i+2:]) == name[i+2:]
}

// find is the variable of a name that a token sees, nil for none.
func (l *lister) find(name string, at int) *variable {
	var best *variable
	l.visible(at)
	for _, v := range l.w.sees[sight{l.f, at}] {
		if v.name == name && (best == nil || v.from >= best.from) {
			best = v
		}
	}
	return best
}

// visible lists the variables that a token sees: those of the function, and constants of the texts.
func (l *lister) visible(at int) []*variable {
	key := sight{l.f, at}
	if _, ok := l.w.sees[key]; !ok {
		l.w.sees[key] = l.look(at)
	}
	return slices.Clone(l.w.sees[key])
}

// look is visible, not remembered.
func (l *lister) look(at int) []*variable {
	out := slices.Clone(l.f.parameters)
	add := func(list []*variable) {
		for _, v := range list {
			if v.from <= at && at < v.to {
				out = append(out, v)
			}
		}
	}
	each(l.f.body, func(s *statement) { add(s.declares) })
	for _, t := range l.w.seen(l.t) {
		for _, v := range t.globals {
			if t == l.t && v.from > at {
				continue
			}
			g := *v
			g.from, g.to = 0, len(l.t.tokens)
			g.mask = v.init != nil && ofAllBits(v.init.text)
			if t != l.t { // its extents and its value are tokens of that text
				g.extents, g.init = nil, nil
			}
			out = append(out, &g)
		}
		for name, value := range t.macros {
			if value != "0" && value != "1" && l.constant(name) {
				out = append(out, &variable{
					name: name, typ: "int", to: len(l.t.tokens), fixed: true, mask: ofAllBits(value),
				})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *variable) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.from, a.from))
	})
	// An inner declaration hides those of the same name around it.
	return slices.CompactFunc(out, func(a, b *variable) bool { return a.name == b.name })
}

// ofAllBits reports whether a number has the highest of 32 bits.
func ofAllBits(text string) bool {
	n, err := strconv.ParseUint(strings.TrimRight(strings.Trim(text, "() "), "uUlL"), 0, 64)
	return err == nil && n >= 1<<31
}

// everywhere are names that mean something in every function.
var everywhere = map[string]bool{
	"threadIdx": true, "blockIdx": true, "blockDim": true, "gridDim": true, "true": true, "false": true,
}

// seesAll reports whether every name of an expression means something at a token.
func (l *lister) seesAll(t *Text, e *expr, at int) bool {
	ok := true
	e.walk(func(x, parent *expr) bool {
		called := parent != nil && parent.op == "call" && parent.kids[0] == x
		if x.op != "name" || called || everywhere[x.text] || strings.Contains(x.text, "::") {
			return ok
		}
		ok = ok && (l.find(x.text, at) != nil || l.constant(x.text))
		return ok
	})
	return ok
}

// class is the class of an expression's type, "" where it is not known.
func (l *lister) class(e *expr) string {
	switch e.op {
	case "name":
		if v := l.find(e.text, e.from); v != nil {
			return class(v.typ) + strings.Repeat("[]", v.ranks)
		}
		switch {
		case e.text == "true" || e.text == "false":
			return boolean
		case l.constant(e.text) || qualified(e.text):
			return integer
		case floats[e.text]:
			return real
		}
	case "number":
		if strings.HasPrefix(e.text, "0x") || !strings.ContainsAny(e.text, ".eEfF") {
			return integer
		}
		return real
	case "u&":
		if c := l.class(e.kids[0]); c != "" {
			return c + "*"
		}
	case "group", "u-", "u+", "u~", "p++", "p--", "u++", "u--":
		return l.class(e.kids[0])
	case "u!", "&&", "||", "<", ">", "<=", ">=", "==", "!=":
		return boolean
	case "member":
		switch l.t.source(e.kids[0].from, e.kids[0].to) {
		case "threadIdx", "blockIdx", "blockDim", "gridDim":
			return integer
		}
		return l.classOfMember(e.text)
	case "?":
		return l.class(e.kids[1])
	case "%", "<<", ">>", "|", "&", "^":
		return integer
	case "+", "-", "*", "/":
		a, b := l.class(e.kids[0]), l.class(e.kids[1])
		if a == b || b == integer {
			return a
		}
		if a == integer {
			return b
		}
	case "index":
		if base, n := e.base(); base.op == "name" {
			if v := l.find(base.text, base.from); v != nil {
				typ := v.typ
				for range n - v.ranks {
					typ = strings.TrimSuffix(typ, "*")
				}
				if n >= v.ranks {
					return class(typ)
				}
			}
		}
	case "cast":
		return class(l.t.typeText(e.from+1, l.t.match(e.from)))
	case "call":
		name := e.kids[0].text
		if list := l.w.called[name]; len(list) > 0 {
			return class(list[0].result)
		}
		if typ, ok := strings.CutPrefix(l.t.source(e.kids[0].from, e.kids[0].to), "static_cast<"); ok {
			return class(strings.TrimSuffix(typ, ">"))
		}
		switch {
		case name == "min" || name == "max":
			return l.class(e.kids[1])
		case strings.HasPrefix(name, "__shfl_") && len(e.kids) > 2:
			return l.class(e.kids[2])
		case slices.ContainsFunc(realResults, func(p string) bool { return strings.HasPrefix(name, p) }):
			return real
		}
	}
	return ""
}

// classOfMember is the class of the members of that name, "" where no type has one, or types have different
// ones.
func (l *lister) classOfMember(name string) (of string) {
	for _, t := range l.w.texts {
		for _, list := range t.structs {
			for _, v := range list {
				if v.name != name {
					continue
				}
				own := class(v.typ) + strings.Repeat("[]", v.ranks)
				if of != "" && of != own {
					return ""
				}
				of = own
			}
		}
	}
	return of
}

// realResults are how names of functions of the CUDA math API begin that give a float.
var realResults = []string{
	"__fadd_", "__fsub_", "__fmul_", "__fmaf_", "__fdiv_", "__frcp_", "__fsqrt_", "__expf", "__half2float",
	"fmaxf", "fminf", "fabsf", "exp2f", "expf", "log2f", "logf", "rsqrtf", "sqrtf", "fmaf", "erff", "erfcf",
	"tanhf", "__tanhf", "__saturatef", "sinf", "cosf", "powf", "expm1f", "log1pf", "__logf", "__log2f",
	"__low2float", "__high2float", "__uint_as_float", "__int_as_float", "__int2float", "__uint2float",
	"roundf", "rintf", "floorf", "ceilf", "truncf", "fmodf",
}
