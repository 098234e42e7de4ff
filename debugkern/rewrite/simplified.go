package rewrite

import (
	"slices"
	"strings"
)

// neutral are functions of the CUDA math API, by the argument that changes nothing and what it is then: an
// argument's index, the value of it, and the one that is left.
var neutral = map[string][]struct {
	at    int
	value string
	left  int
}{
	"__fmul_rn": {{0, "1", 1}, {1, "1", 0}},
	"__fdiv_rn": {{1, "1", 0}},
	"__fadd_rn": {{0, "0", 1}, {1, "0", 0}},
	"__fsub_rn": {{1, "0", 0}},
	"__fmaf_rn": {{0, "0", 2}, {1, "0", 2}},
	"fmaxf":     {{0, "-INFINITY", 1}, {1, "-INFINITY", 0}},
	"fminf":     {{0, "INFINITY", 1}, {1, "INFINITY", 0}},
}

// Simplified is a line without the calls, terms and choices that change nothing: x in the place of
// __fmul_rn(x, 1.0f), of (x + 0), and of true ? x : y.
func Simplified(line string) string {
	for {
		now := simplifiedOnce(line)
		if now == line {
			return line
		}
		line = now
	}
}

// always is the first value of a choice by the word true at a token, up to the end of the statement or
// brackets that it stands in: x of "= true ? x : y;".
func (t *Text) always(i int) (from, to int, left string) {
	if t.tokens[i].text != "true" || !t.is(i+1, "?") || i == 0 ||
		!slices.Contains([]string{"=", "(", ",", "return"}, t.tokens[i-1].text) {
		return 0, 0, ""
	}
	colon := -1
	for k := i + 2; k < len(t.tokens); k++ {
		switch text := t.tokens[k].text; text {
		case "(", "[", "{":
			if k = t.match(k); k < 0 {
				return 0, 0, ""
			}
		case "?":
			return 0, 0, "" // a choice within a choice
		case ":":
			colon = k
		case ";", ")", ",":
			if colon < 0 {
				return 0, 0, ""
			}
			return t.tokens[i].from, t.tokens[k-1].to, t.source(i+2, colon)
		}
	}
	return 0, 0, ""
}

func simplifiedOnce(line string) string {
	t := &Text{text: line}
	t.tokens = lex(line).tokens
	t.pairBrackets()
	for i := range t.tokens {
		if from, to, left := t.withoutZero(i); left != "" {
			return line[:from] + left + line[to:]
		}
		if from, to, left := t.always(i); left != "" {
			return line[:from] + left + line[to:]
		}
		rules, close := neutral[t.tokens[i].text], -1
		if t.is(i+1, "(") {
			close = t.match(i + 1)
		}
		if len(rules) == 0 || close < 0 {
			continue
		}
		args := t.split(i+2, close)
		for _, r := range rules {
			if r.at >= len(args) || r.left >= len(args) {
				continue
			}
			arg := t.source(args[r.at][0], args[r.at][1])
			if number := strings.TrimRight(strings.TrimSuffix(arg, "f"), "0"); number == r.value+"." ||
				number == "." && r.value == "0" || arg == r.value {
				left := t.source(args[r.left][0], args[r.left][1])
				return line[:t.tokens[i].from] + left + line[t.tokens[close].to:]
			}
		}
	}
	return line
}

// withoutZero is what stands in the place of some bytes without the 0 that token i, a + or -, adds at the
// end of an expression; "" where it is no such token.
func (t *Text) withoutZero(i int) (from, to int, left string) {
	if !t.is(i, "+") && !t.is(i, "-") || !t.is(i+1, "0") || i == 0 || i+2 >= len(t.tokens) {
		return 0, 0, ""
	}
	switch t.tokens[i+2].text {
	case ")", ";", ",", "]":
	default:
		return 0, 0, ""
	}
	if k := t.tokens[i-1].kind; k != name && k != number && !t.is(i-1, ")") && !t.is(i-1, "]") {
		return 0, 0, "" // a sign
	}
	if i > 1 && t.is(i-2, "(") && t.is(i+2, ")") && (i == 2 || t.tokens[i-3].kind != name) {
		return t.tokens[i-2].from, t.tokens[i+2].to, t.tokens[i-1].text // brackets round it alone
	}
	return t.tokens[i-1].from, t.tokens[i+1].to, t.tokens[i-1].text
}
