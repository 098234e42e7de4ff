package rewrite

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Edits of the order in which the registers of a fragment are given values and passed on: two of them that
// changed places are the usual mistake of mma.sync and ldmatrix (PTX ISA, "Matrix Fragments").

// nearTargets is how many statements lie at most between two that may be assigned to each other's register.
const nearTargets = 8

// numbered is one of several alike: a[1] of a[0], a[1], ..., or a1 of a0, a1, ...
type numbered struct {
	of       string // the same for all of them
	from, to int    // the tokens that change places: its own, or of a declaration those of its value
	name     string // of a declaration
	value    *expr
}

// otherTargets lists, of two statements of a block that assign to registers of one kind, each with the
// register of the other, and of two declarations each with the value of the other.
func (l *lister) otherTargets(s *statement) {
	a, ok := l.t.assigned(s)
	list := l.blockOf(s)
	i := slices.Index(list, s)
	if !ok || i < 0 {
		return
	}
	for _, next := range list[i+1 : min(i+1+nearTargets, len(list))] {
		if b, ok := l.t.assigned(next); ok && (a.value == nil) == (b.value == nil) &&
			(b.value == nil || l.seesAll(l.t, b.value, a.from) && !b.value.has(a.name)) {
			l.inEachOthersPlace(rankCrossed, a, b)
		}
	}
}

// inEachOthersPlace lists two of several alike, each in the place of the other.
func (l *lister) inEachOthersPlace(rank int, a, b numbered) {
	t := l.t
	was, other := t.source(a.from, a.to), t.source(b.from, b.to)
	if a.of != b.of || was == other || !l.near(a.from) && !l.near(b.from) {
		return
	}
	what := was + " and " + other + " exchanged"
	if x, y := t.tokens[a.from].line, t.tokens[b.from].line; x != y {
		what += " on lines " + strconv.Itoa(x) + " and " + strconv.Itoa(y)
	}
	l.add(rank, what, t.inPlace(a.from, a.to, other), t.inPlace(b.from, b.to, was))
}

// assigned is what a statement assigns to, and nothing else, where it is one of several alike.
func (t *Text) assigned(s *statement) (numbered, bool) {
	switch {
	case s.kind == "declaration" && len(s.declares) == 1 && s.declares[0].init != nil &&
		s.declares[0].ranks == 0:
		v := s.declares[0]
		out, ok := numberedName(v.name, v.at)
		out.from, out.to, out.name, out.value = v.init.from, v.init.to, v.name, v.init
		return out, ok
	case s.kind == "expression" && len(s.exprs) == 1 && s.exprs[0] != nil && s.exprs[0].op == "=":
		return t.numbered(s.exprs[0].kids[0])
	}
	return numbered{}, false
}

func (t *Text) numbered(e *expr) (numbered, bool) {
	switch {
	case e == nil:
	case e.op == "name" && e.to == e.from+1:
		return numberedName(e.text, e.from)
	case e.op == "index" && e.kids[1].op == "number":
		return numbered{of: t.source(e.kids[0].from, e.kids[0].to) + "[", from: e.from, to: e.to}, true
	}
	return numbered{}, false
}

func numberedName(name string, at int) (numbered, bool) {
	of := strings.TrimRight(name, "0123456789")
	return numbered{of: of, from: at, to: at + 1}, of != name
}

// operandsExchanged lists two inputs of an asm statement, registers of one kind, in each other's place.
func (l *lister) operandsExchanged(s *statement) {
	if s.kind != "asm" {
		return
	}
	for i, e := range s.exprs {
		a, ok := l.t.numbered(e)
		if !ok {
			continue
		}
		for _, e := range s.exprs[i+1:] {
			if b, ok := l.t.numbered(e); ok {
				l.inEachOthersPlace(rankArguments, a, b)
			}
		}
	}
}

// mostInOrder is how many elements a list has, and how many registers an array, of which each two are
// exchanged.
const mostInOrder = 8

// elementsExchanged lists two elements of the list that an array begins with, each in the place of the other.
func (l *lister) elementsExchanged(e *expr) {
	if len(e.kids) > mostInOrder {
		return
	}
	for i, a := range e.kids {
		for _, b := range e.kids[i+1:] {
			x := numbered{of: "{", from: a.from, to: a.to}
			l.inEachOthersPlace(rankArguments, x, numbered{of: "{", from: b.from, to: b.to})
		}
	}
}

// registersExchanged lists two registers of an array, each in the place of the other wherever the function
// reads them by their numbers.
func (l *lister) registersExchanged() {
	reads := map[string]map[string][]*expr{} // by array and element
	var arrays []string
	each(l.f.body, func(s *statement) {
		for _, e := range s.top() {
			e.walk(func(x, parent *expr) bool {
				a, ok := l.t.numbered(x)
				if !ok || x.op != "index" || stored(x, parent) {
					return true
				}
				if reads[a.of] == nil {
					reads[a.of] = map[string][]*expr{}
					arrays = append(arrays, a.of)
				}
				text := l.t.source(x.from, x.to)
				reads[a.of][text] = append(reads[a.of][text], x)
				return true
			})
		}
	})
	for _, a := range arrays {
		if n := len(reads[a]); n < 2 || n > mostInOrder {
			continue
		}
		elements := slices.Sorted(maps.Keys(reads[a]))
		for i, x := range elements {
			for _, y := range elements[i+1:] {
				l.readOtherwise(x, y, reads[a])
			}
		}
	}
}

// readOtherwise lists two elements in each other's place everywhere, where one of their places is near.
func (l *lister) readOtherwise(x, y string, reads map[string][]*expr) {
	var sites []site
	far := math.MaxInt
	for _, of := range [][2]string{{x, y}, {y, x}} {
		for _, e := range reads[of[0]] {
			sites = append(sites, l.t.inPlace(e.from, e.to, of[1]))
			if l.near(e.from) {
				far = min(far, l.far)
			}
		}
	}
	if far == math.MaxInt {
		return
	}
	l.far = far
	slices.SortFunc(sites, func(a, b site) int { return a.from - b.from })
	l.add(rankCrossed, x+" and "+y+" exchanged wherever they are read", sites...)
}

// transposing is what has ldmatrix and stmatrix transpose each matrix (PTX ISA, "ldmatrix").
var transposing = regexp.MustCompile(`((?:ld|st)matrix\.sync\.aligned\.m8n8\.x[124])(\.trans)?((?:\.shared|\.b16))`)

// otherwiseTransposed lists an ldmatrix or stmatrix that transposes in the place of one that does not, and
// the other way round.
func (l *lister) otherwiseTransposed(s *statement) {
	if s.kind != "asm" || !l.near(s.from) {
		return
	}
	text := l.t.source(s.from, s.to)
	m := transposing.FindStringSubmatchIndex(text)
	if m == nil {
		return
	}
	what, trans := text[m[2]:m[3]]+".trans in place of "+text[m[2]:m[3]], ".trans"
	if m[4] >= 0 {
		what, trans = text[m[2]:m[3]]+" in place of "+text[m[2]:m[5]], ""
	}
	l.add(rankOwnCallee, what, l.t.statementFor(s, text[:m[3]]+trans+text[m[6]:]))
}

// shuffleBy matches the distance of a shuffle that other lanes are reached by.
var shuffleBy = regexp.MustCompile(`(__shfl_(?:xor|down|up)_sync\([^;]*, ?)(\d+)(\))`)

// stepMore lists, of a step of a reduction by shuffles that is written out, the step of twice and of half its
// distance behind or before it, where the function has none such.
func (l *lister) stepMore(s *statement) {
	if s.kind != "expression" || !l.near(s.from) || s.parent != nil && s.parent.kind != "block" {
		return
	}
	text := l.t.source(s.from, s.to)
	m := shuffleBy.FindStringSubmatchIndex(text)
	if m == nil {
		return
	}
	by, err := strconv.Atoi(text[m[4]:m[5]])
	if err != nil || by < 1 || by > 16 {
		return
	}
	body := l.t.source(l.f.from, l.f.to)
	for _, n := range []int{2 * by, by / 2} {
		other := text[:m[4]] + strconv.Itoa(n) + text[m[5]:]
		if n < 1 || n > 16 || strings.Contains(body, other) {
			continue
		}
		l.add(rankUnused, other+" behind "+text, l.t.statementFor(s, text+" "+other))
	}
}

// addressed are the two ways in which the lanes of an ldmatrix of four matrices address them: by rows first,
// as the A operand of mma.m16n8k16 needs it, and by columns first, as two B operands side by side do (PTX
// ISA, "ldmatrix" and "Matrix Fragments for mma.m16n8k16"). A row and a column of a lane, without blanks and
// brackets, with L for the lane's name.
var addressed = [2]struct {
	row, col     []string
	asRow, asCol string
}{
	{[]string{"L%16", "L&15"}, []string{"L/16*8", "L>>4*8", "L>>4<<3"}, "L % 16", "L / 16 * 8"},
	{[]string{"L%8+L/16*8", "L&7+L>>4*8", "L&7+L>>4<<3"}, []string{"L/8%2*8", "L>>3&1*8", "L>>3&1<<3"},
		"L % 8 + L / 16 * 8", "L / 8 % 2 * 8"},
}

// addressedOtherwise lists a statement whose lanes address four matrices in one of the ways with the other
// one.
func (l *lister) addressedOtherwise(s *statement) {
	if !l.near(s.from) {
		return
	}
	found := map[string][]*expr{} // by spelling and the lane's name
	for _, e := range s.top() {
		e.walk(func(x, _ *expr) bool {
			if len(x.kids) != 2 {
				return true
			}
			text := strings.NewReplacer(" ", "", "(", "", ")", "").Replace(l.t.source(x.from, x.to))
			if names := namesIn(text); len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool {
				return n != names[0]
			}) {
				key := strings.ReplaceAll(text, names[0], "L") + " " + names[0]
				found[key] = append(found[key], x)
			}
			return true
		})
	}
	for i, way := range addressed {
		other := addressed[1-i]
		for _, row := range way.row {
			for _, col := range way.col {
				for key, rows := range found {
					spelled, lane, _ := strings.Cut(key, " ")
					cols := found[col+" "+lane]
					if spelled != row || len(rows) != 1 || len(cols) != 1 {
						continue
					}
					put := func(e *expr, as string) site {
						return l.t.inPlace(e.from, e.to, "("+strings.ReplaceAll(as, "L", lane)+")")
					}
					sites := []site{put(rows[0], other.asRow), put(cols[0], other.asCol)}
					slices.SortFunc(sites, func(a, b site) int { return a.from - b.from })
					l.add(rankOwnCallee, "the second and third of four matrices exchanged, by their addresses", sites...)
				}
			}
		}
	}
}
