// Package ptxtest damages PTX for the tests of those who read and execute it.
//
// The one idea: random bytes hardly ever parse, so that a kernel is changed where it stays PTX for the most
// part: whole statements, or single tokens that are replaced by tokens of the same class. The same generator
// state gives the same text.
//
// It must not know what an instruction does, and what its users expect of the damage.
package ptxtest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

var (
	statement = regexp.MustCompile(`^\s*(@!?%\w+ )?[a-z][a-z0-9]*[.\w:]*[ ;].*`)
	register  = regexp.MustCompile(`%([a-z]+)(\d+)`)
	number    = regexp.MustCompile(`\b\d+\b`)
	token     = regexp.MustCompile(
		`@!?|%?[A-Za-z_$][\w$]*(\.[xyz]\b)?|\.[a-z]\w*(::\w+)*|0[xXfFdD][0-9a-fA-F]+|\d+|[-+\[\]{}(),;:|<>!]`)
)

// numbers are those that replace others: the ends of ranges, and sizes that kernels are made of.
var numbers = []string{"0", "1", "2", "8", "16", "4095", "4294967280", "-1"}

// Statements changes n statements of a text: dropped, doubled, followed by a statement of another text, with
// other numbers, with other registers. Either text needs a statement.
func Statements(rng *rand.Rand, text, other string, n int) string {
	lines, spare := strings.Split(text, "\n"), strings.Split(other, "\n")
	at, from := statements(lines), statements(spare)
	half := func(s, by string) string {
		if rng.IntN(2) == 0 {
			return s
		}
		return by
	}
	for range n {
		i := at[rng.IntN(len(at))]
		switch rng.IntN(5) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] += "\n" + lines[i]
		case 2:
			lines[i] += "\n" + spare[from[rng.IntN(len(from))]]
		case 3:
			lines[i] = number.ReplaceAllStringFunc(lines[i], func(s string) string {
				return half(s, numbers[rng.IntN(len(numbers))])
			})
		case 4:
			lines[i] = register.ReplaceAllStringFunc(lines[i], func(s string) string {
				return half(s, fmt.Sprintf("%s%d", strings.TrimRight(s, "0123456789"), 1+rng.IntN(20)))
			})
		}
	}
	return strings.Join(lines, "\n")
}

func statements(lines []string) (at []int) {
	for i, l := range lines {
		if statement.MatchString(l) {
			at = append(at, i)
		}
	}
	return at
}

// Tokens changes n tokens in the statements of a text: dropped, doubled, exchanged with the next of the
// statement, or replaced by a token of the same class that the other text has. Either text needs a statement.
func Tokens(rng *rand.Rand, text, other string, n int) string {
	lines := strings.Split(text, "\n")
	at, pool := statements(lines), classes(other)
	for range n {
		i := at[rng.IntN(len(at))]
		spans := token.FindAllStringIndex(lines[i], -1)
		if len(spans) == 0 {
			continue
		}
		k := rng.IntN(len(spans))
		line, from, to := lines[i], spans[k][0], spans[k][1]
		switch choice := rng.IntN(8); {
		case choice == 0:
			lines[i] = line[:from] + line[to:]
		case choice == 1:
			lines[i] = line[:to] + " " + line[from:]
		case choice == 2 && k+1 < len(spans):
			next := spans[k+1]
			lines[i] = line[:from] + line[next[0]:next[1]] + line[to:next[0]] + line[from:to] + line[next[1]:]
		default:
			same := pool[class(line[from:to])]
			if len(same) > 0 {
				lines[i] = line[:from] + same[rng.IntN(len(same))] + line[to:]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// classes are the tokens of a text's statements by their class, each as often as it occurs, and the numbers.
func classes(text string) map[byte][]string {
	pool := map[byte][]string{'0': append([]string(nil), numbers...)}
	lines := strings.Split(text, "\n")
	for _, i := range statements(lines) {
		for _, s := range token.FindAllString(lines[i], -1) {
			pool[class(s)] = append(pool[class(s)], s)
		}
	}
	return pool
}

// class is what a token can be replaced by: a number, a register or special register, a modifier, a
// name, or punctuation.
func class(s string) byte {
	switch c := s[0]; {
	case c >= '0' && c <= '9':
		return '0'
	case c == '%' || c == '.' || c == '@':
		return c
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$':
		return 'a'
	}
	return ';'
}
