package rewrite

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Edits with which a kernel is often right by chance: they do not say what an author means.

// Doubts counts what makes an edit unlikely to be the one that was meant, though all is right with it.
func (e *Edit) Doubts() (n int) {
	for _, doubt := range []func() bool{
		e.Freezes, e.Contradicts, e.always, e.unbound, e.unevenlyRounded, e.chosenItself, e.fixes,
		e.otherStep,
	} {
		if doubt() {
			n++
		}
	}
	return n
}

// always reports whether an edit compares a counter that begins at 0 with 0 in a way that always holds.
func (e *Edit) always() bool {
	return e.changes(func(line string) int {
		n := 0
		for _, m := range fromZero.FindAllStringSubmatch(line, -1) {
			counter := regexp.MustCompile(`\bfor \(\w+ ` + m[1] + ` = 0;`)
			if counter.MatchString(e.Text.text) {
				n++
			}
		}
		return n
	})
}

// fromZero matches a comparison of a name with 0.
var fromZero = regexp.MustCompile(`([a-zA-Z_]\w*) >= 0\b`)

// unbound reports whether the condition of a loop no more begins with the loop's variable.
func (e *Edit) unbound() bool { return e.parts(loopHeader) }

// loopHeader matches the beginning of a loop up to the first name of its condition.
var loopHeader = regexp.MustCompile(`\bfor \((?:const )?\w+ (\w+) = [^;]*; (\w+)`)

// otherStep reports whether an edit has a loop go on while so much is left as is no step of it: with any
// smaller number than the step all is right that leaves so much.
func (e *Edit) otherStep() bool {
	return e.changes(func(line string) (n int) {
		for _, m := range stepsLeft.FindAllStringSubmatch(line, -1) {
			if m[1] != m[2] && m[1] != "1" {
				n++
			}
		}
		return n
	})
}

// stepsLeft matches a loop that goes on while a step is left, and its step.
var stepsLeft = regexp.MustCompile(`; \w+ \+ (\w+) <= [^;]*; \w+ \+= (\w+)`)

// unevenlyRounded reports whether an edit makes a quotient rounded up by one number of that by another:
// (x + M - 1) / N.
func (e *Edit) unevenlyRounded() bool { return e.parts(upwards) }

// upwards matches the end of a quotient that is rounded up.
var upwards = regexp.MustCompile(`\+ (\w+) - 1\) / (\w+)`)

// parts reports whether an edit makes two words differ that a pattern has at places where they belong
// together.
func (e *Edit) parts(pattern *regexp.Regexp) bool {
	return e.changes(func(line string) (n int) {
		for _, m := range pattern.FindAllStringSubmatch(line, -1) {
			if m[1] != m[2] {
				n++
			}
		}
		return n
	})
}

// chosenItself reports whether an edit makes a choice that changes nothing: x == 0.0f ? 0.0f : x.
func (e *Edit) chosenItself() bool {
	return e.changes(func(line string) int {
		n := 0
		for _, m := range chosen.FindAllStringSubmatch(line, -1) {
			if m[1] == m[4] && m[2] == m[3] || m[1] == m[3] && m[2] == m[4] {
				n++
			}
		}
		return n
	})
}

// chosen matches a choice between two operands by whether they are equal.
var chosen = regexp.MustCompile(`([\w.]+) [!=]= ([\w.]+) \? ([\w.]+) : ([\w.]+)`)

// fixes reports whether an edit puts one constant in the place of operations that variables have a part in.
func (e *Edit) fixes() bool {
	if len(e.sites) != 1 || e.sites[0].whole || !constant.MatchString(e.sites[0].now) {
		return false
	}
	s := e.sites[0]
	was := lex(e.Text.text[s.from:s.to]).tokens
	compares := func(x token) bool {
		b := binding[x.text]
		return b > binding["?"] && b < binding["<<"]
	}
	varies := func(x token) bool { return x.kind == name && !constant.MatchString(x.text) }
	return len(was) > 2 && !slices.ContainsFunc(was, compares) && slices.ContainsFunc(was, varies)
}

// constant matches a number, and the name of a constant as kernels have it.
var constant = regexp.MustCompile(`^(?:[0-9][\w.]*|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*)$`)

// neverEqual reports whether an edit may have the condition of a ?: never hold: it compares for equality with
// another number than before, with bits that a mask clears, or a constant.
func (e *Edit) neverEqual() bool {
	if len(e.sites) != 1 || e.sites[0].whole {
		return false
	}
	_, now, ok := e.Lines()
	if !ok || !strings.Contains(now, "?") {
		return false
	}
	for _, m := range masked.FindAllStringSubmatch(now, -1) {
		mask, err := strconv.ParseUint(m[3], 0, 64)
		bits, err2 := strconv.ParseUint(m[4], 0, 64)
		toggled := m[2] == "^" && mask == bits // it is a comparison with 0
		cleared := m[2] == "&" && bits&^mask != 0
		if err == nil && err2 == nil && (toggled || cleared) || constant.MatchString(m[1]) {
			return true
		}
	}
	s := e.sites[0]
	before := strings.TrimRight(e.Text.text[:s.from], " ")
	equality := strings.HasSuffix(before, "==") || strings.HasSuffix(before, "!=")
	return equality && someNumber.MatchString(s.now) && someNumber.MatchString(e.Text.text[s.from:s.to])
}

var (
	// masked matches a comparison for equality of what a mask leaves, or toggles, with a number.
	masked = regexp.MustCompile(`(\w+) ([&^]) (0[xX][\da-fA-F]+|\d+)[uUlL]*\) [!=]= (0[xX][\da-fA-F]+|\d+)[uUlL]*`)
	// someNumber matches a number, one of the C library, and a call of a function that gives an infinity.
	someNumber = regexp.MustCompile(`^-?(?:\w*inf\w*\(\)|INFINITY|CUDART_INF_F|FLT_MAX|0[xX][\da-fA-F]+[uU]?|[\d.]+(?:e[+-]?\d+)?[fuU]?)$`)
)

// changes reports whether the lines of an edit have more of something than the text has there.
func (e *Edit) changes(count func(line string) int) bool {
	was, now, ok := e.Lines()
	return ok && count(now) > count(was)
}

// Freezes reports whether an edit makes a condition in a loop one that does not change from iteration to
// iteration: it no more has the loop's variable, nor what is computed from it.
func (e *Edit) Freezes() bool {
	if len(e.sites) != 1 || e.sites[0].whole {
		return false
	}
	t, at, frozen := e.Text, e.sites[0], false
	for _, f := range t.functions {
		each(f.body, func(s *statement) {
			if s.kind != "if" || len(s.exprs) != 1 || s.exprs[0] == nil {
				return
			}
			c := s.exprs[0]
			from, to := t.tokens[c.from].from, t.tokens[c.to-1].to
			if at.from < from || at.to > to {
				return
			}
			moving := movingNames(s)
			has := func(text string) bool {
				return slices.ContainsFunc(lex(text).tokens, func(x token) bool { return moving[x.text] })
			}
			now := t.text[from:at.from] + " " + at.now + " " + t.text[at.to:to]
			frozen = frozen || has(t.text[from:to]) && !has(now)
		})
	}
	return frozen
}

// Contradicts reports whether an edit makes a condition of a name and its negation, or one that compares a
// name with itself, which never holds, or always: what is done under it is better left out, or done always.
func (e *Edit) Contradicts() bool {
	was, now, ok := e.Lines()
	if !ok {
		return false
	}
	if withItself(now) && !withItself(was) {
		return true
	}
	for _, m := range bothWays.FindAllStringSubmatch(now, -1) {
		if m[1] == m[2] || m[3] != "" && m[3] == m[4] {
			return true
		}
	}
	return false
}

// withItself reports whether a line compares a name with itself.
func withItself(line string) bool {
	for _, part := range parts.Split(line, -1) {
		if m := compared.FindStringSubmatch(part); m != nil && m[1] == m[2] {
			return true
		}
	}
	return false
}

// parts matches what stands between the comparisons of a line.
var parts = regexp.MustCompile(`&&|\|\||[();?:]`)

// compared matches two names that are compared, and are no parts of other expressions.
var compared = regexp.MustCompile(`(?:^|[^=!<>]=)\s*(\w+) (?:[<>]=?|[!=]=) (\w+)\s*$`)

// bothWays matches two names of which one is negated.
var bothWays = regexp.MustCompile(`(?:^|[^\w!.])(\w+) (?:&&|\|\|) !(\w+)\b|!(\w+) (?:&&|\|\|) (\w+)\b`)

// movingNames are the variables of the loops round a statement, and those that are declared in these loops
// from moving ones.
func movingNames(s *statement) map[string]bool {
	moving := map[string]bool{}
	for p := s.parent; p != nil; p = p.parent {
		if p.kind == "for" && p.init != nil {
			for _, v := range p.init.declares {
				moving[v.name] = true
			}
		}
	}
	for p := s.parent; p != nil; p = p.parent {
		for _, o := range p.body {
			for _, v := range o.declares {
				for name := range moving {
					if v.init != nil && v.init.has(name) {
						moving[v.name] = true
						break
					}
				}
			}
		}
	}
	return moving
}
