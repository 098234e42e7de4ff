package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// Edits of one text at several places of a function.

// everywhere lists, behind the edits so far of a function, those that change all places with the same text: a
// name that is mistaken twice on a line, and two lines that must agree.
func (l *lister) everywhere(from int) {
	places := map[string][]*expr{}
	t := l.t
	each(l.f.body, func(s *statement) {
		for _, e := range s.top() {
			e.walk(func(e, parent *expr) bool {
				called := parent != nil && parent.op == "call" && parent.kids[0] == e
				if !called && !stored(e, parent) {
					text := t.source(e.from, e.to)
					places[text] = append(places[text], e)
				}
				return true
			})
		}
	})
	for _, e := range slices.Clone(l.out[from:]) {
		if len(e.sites) != 1 || e.sites[0].whole || e.Alone {
			continue
		}
		all := places[t.text[e.sites[0].from:e.sites[0].to]]
		l.together(e, all, rankPlaces, allPlaces+" in the function")
		line := slices.DeleteFunc(slices.Clone(all), func(x *expr) bool {
			return t.tokens[x.from].line != e.Line
		})
		if len(line) < len(all) {
			l.together(e, line, rankLine, allPlaces+" on the line")
		}
		near := slices.DeleteFunc(slices.Clone(all), func(x *expr) bool {
			apart := t.tokens[x.from].line - e.Line
			return apart < -nearLines || apart > nearLines
		})
		if len(near) > len(line) && len(near) < len(all) && l.fixedAt(e.sites[0].now, near[0].from) {
			l.together(e, near, rankLine, allPlaces+" on the lines next to it")
		}
		if from, to := l.loopRound(e.sites[0].from); to > 0 {
			loop := slices.DeleteFunc(slices.Clone(all), func(x *expr) bool {
				return x.from < from || x.from >= to
			})
			if len(loop) < len(all) && len(loop) > len(line) {
				l.together(e, loop, rankLine, allPlaces+" in the loop")
			}
		}
	}
}

// fixedAt reports whether a text is the name of a constant at a token.
func (l *lister) fixedAt(text string, at int) bool {
	v := l.find(text, at)
	return v != nil && v.fixed || l.constant(text)
}

// loopRound is the tokens of the innermost loop that has a byte of the function in its body; 0 for none.
func (l *lister) loopRound(at int) (from, to int) {
	each(l.f.body, func(s *statement) {
		if s.kind != "for" || len(s.body) == 0 {
			return
		}
		first, last := s.body[0].from, s.to
		if l.t.tokens[first].from <= at && at < l.t.tokens[last-1].to && (to == 0 || first >= from) {
			from, to = first, last
		}
	})
	return from, to
}

// Parts are the edits of one place each, of an edit that changes several alike.
func (e *Edit) Parts() []Edit {
	what, _, several := strings.Cut(e.What, allPlaces)
	if !several {
		return nil
	}
	var out []Edit
	for _, s := range e.sites {
		s.now = bare(e.Text.text, s)
		out = append(out, Edit{
			Text: e.Text, Line: 1 + strings.Count(e.Text.text[:s.from], "\n"), What: what,
			Rank: e.Rank - rankPlaces, sites: []site{s}, Doubtful: e.Doubtful, Drops: e.Drops,
		})
	}
	return out
}

// Bare is an edit without brackets round what it puts in the place of arguments.
func (e Edit) Bare() Edit {
	sites := slices.Clone(e.sites)
	for i, s := range sites {
		if !s.whole && !e.Alone {
			s.now = bare(e.Text.text, s)
			sites[i] = unbracketed(e.Text.text, s)
		}
	}
	e.sites = sites
	return e
}

// unbracketed is a part of a text with the brackets round it, where one word or number is put there that no
// function is called with.
func unbracketed(text string, s site) site {
	before, after := s.from-1, s.to
	if len(lex(s.now).tokens) != 2 || before < 1 || after >= len(text) || text[before] != '(' ||
		text[after] != ')' {
		return s
	}
	left := strings.TrimRight(text[:before], " \n")
	if c := left[max(len(left)-1, 0):]; c != "" && strings.ContainsAny(c, "+-*/%=,([{?:<&|!^") {
		s.from, s.to = before, after+1
	}
	return s
}

// bare is what an edit puts in a place, without brackets where it is an argument: it needs none there.
func bare(text string, s site) string {
	inside, opens := strings.CutPrefix(s.now, "(")
	inside, closes := strings.CutSuffix(inside, ")")
	if now := lex(s.now); opens && closes { // of the same pair
		t := &Text{text: s.now, tokens: now.tokens}
		t.pairBrackets()
		closes = t.match(0) == len(t.tokens)-2
	}
	before, after := strings.TrimRight(text[:s.from], " \n"), strings.TrimLeft(text[s.to:], " \n")
	argument := strings.HasSuffix(before, "(") || strings.HasSuffix(before, ",")
	if !opens || !closes || !argument ||
		!strings.HasPrefix(after, ")") && !strings.HasPrefix(after, ",") {
		return s.now
	}
	return inside
}

// allPlaces is what the phrase of an edit of several places alike has behind that of one.
const allPlaces = " at all its places"

// together lists an edit of one place at several that have the same text.
func (l *lister) together(e Edit, list []*expr, rank int, where string) {
	if len(list) < 2 || len(list) > mostPlaces {
		return
	}
	t, own := l.t, false
	var sites []site
	for _, x := range list {
		s := e.sites[0]
		s.from, s.to = t.tokens[x.from].from, t.tokens[x.to-1].to
		own = own || s.from == e.sites[0].from
		sites = append(sites, s)
	}
	was := t.text[e.sites[0].from:e.sites[0].to]
	if !own || !l.meansTheSame(e.sites[0].now, was, list) {
		return
	}
	slices.SortFunc(sites, func(a, b site) int { return a.from - b.from })
	many := Edit{
		Text: t, Line: e.Line, What: e.What + where, sites: sites, Rank: e.Rank + rank, Doubtful: e.Doubtful,
		Drops: e.Drops,
	}
	l.list(many)
}

// meansTheSame reports whether each name of a text is the same variable at all of some places, or stands
// there already.
func (l *lister) meansTheSame(text, was string, places []*expr) bool {
	own := lex(was).tokens
	for _, tok := range lex(text).tokens {
		if tok.kind != name || slices.ContainsFunc(own, func(o token) bool { return o.text == tok.text }) {
			continue
		}
		v := l.find(tok.text, places[0].from)
		for _, x := range places[1:] {
			if o := l.find(tok.text, x.from); (v == nil) != (o == nil) || v != nil && v.at != o.at {
				return false
			}
		}
	}
	return true
}

// Sized lists the edit with what a number that it puts in may stand for, in the place of that number: sizes
// gives the texts of a number.
func (e *Edit) Sized(sizes func(n int) []string) (out []Edit) {
	if e.Alone || len(e.sites) != 1 || e.sites[0].whole {
		return nil
	}
	s := e.sites[0]
	for _, tok := range lex(s.now).tokens {
		n, err := strconv.Atoi(tok.text)
		if tok.kind != number || err != nil || n < 2 {
			continue
		}
		for _, text := range sizes(n) {
			o := *e
			at := s
			at.now = s.now[:tok.from] + text + s.now[tok.to:]
			o.sites = []site{at}
			o.What = at.now + " in place of " + e.Text.text[s.from:s.to]
			out = append(out, o)
		}
	}
	return out
}

// Flagged is an edit for one value of a flag of the build: with the other the text is what it was. ok is
// false where the text has the flag in what is edited already, or the edit must be compiled alone.
func (e *Edit) Flagged(flag string, value int) (out Edit, ok bool) {
	if e.Alone || len(e.sites) == 0 {
		return out, false
	}
	out = *e
	out.sites = nil
	for _, s := range e.sites {
		was := e.Text.text[s.from:s.to]
		if strings.Contains(was, flag) || strings.Contains(s.now, flag) {
			return out, false
		}
		s.now = flagged(flag, value, s.now, was, s.whole)
		if !s.whole {
			s.now = bare(e.Text.text, s)
		}
		out.sites = append(out.sites, s)
	}
	only := flag
	if value == 0 {
		only = "!" + flag
	}
	out.What = e.What + " if " + only
	return out, true
}

// flagged is the text for both values of a flag.
func flagged(flag string, value int, now, was string, whole bool) string {
	set, unset := now, was
	if value == 0 {
		set, unset = was, now
	}
	empty := func(s string) bool { return s == "" || s == ";" }
	switch {
	case !whole:
		return "(" + flag + " ? " + set + " : " + unset + ")"
	case empty(set):
		return "if (!" + flag + ") " + unset
	case empty(unset):
		return "if (" + flag + ") " + set
	}
	return "if (" + flag + ") { " + set + " } else { " + unset + " }"
}

const (
	// mostPlaces is at how many places of a function a text is edited together.
	mostPlaces = 4
	// rankPlaces is by how much that is less likely than one place.
	rankPlaces = 4
	// nearLines is how far from a line its places are that may have to agree with it
	nearLines = 3
	// rankLine is the same of the places on one line
	rankLine = 2
)

// calledInstead lists another function in the place of one in all its calls.
func (l *lister) calledInstead(was, now string) {
	var sites []site
	t, nested := l.t, false
	each(l.f.body, func(s *statement) {
		for _, top := range s.top() {
			top.walk(func(e, _ *expr) bool {
				if e.op != "call" || e.kids[0].text != was {
					return true
				}
				at := t.inPlace(e.from, e.to, now+t.source(e.kids[0].to, e.to))
				if n := len(sites); n > 0 && at.from < sites[n-1].to {
					nested = true
				}
				sites = append(sites, at)
				return true
			})
		}
	})
	if !nested && len(sites) > 1 && len(sites) <= mostPlaces {
		slices.SortFunc(sites, func(a, b site) int { return a.from - b.from })
		l.add(rankInstead, now+" in place of "+was+" in all calls of the function", sites...)
	}
}

// axes lists the axes of a block's number exchanged in the whole function.
func (l *lister) axes() {
	t := l.t
	for _, pair := range [][2]string{{"x", "y"}, {"y", "z"}, {"x", "z"}} {
		var sites []site
		near := false
		found := map[string]bool{}
		for i := l.f.from; i+2 < l.f.to; i++ {
			if !t.is(i, "blockIdx") || !t.is(i+1, ".") {
				continue
			}
			for k, axis := range pair {
				if t.is(i+2, axis) {
					near = l.near(i) || near
					found[axis] = true
					sites = append(sites, t.inPlace(i, i+3, "blockIdx."+pair[1-k]))
				}
			}
		}
		if near && len(found) == 2 && len(sites) <= mostAxes {
			l.of, l.far = integer, 1
			l.add(rankAxes, "blockIdx."+pair[0]+" and blockIdx."+pair[1]+" exchanged", sites...)
		}
	}
}

// mostAxes is in how many places of a function axes are exchanged.
const mostAxes = 8
