package expectation

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a piece of the text; "" is the end.
type token struct {
	text string
	col  int // from 1, in characters
	kind kind
	n    int64 // of a number
}

type kind uint8

const (
	symbol kind = iota
	word
	number
	end
)

// symbols are the marks, of those that begin alike the longest first.
var symbols = []string{
	"...", "..<", "..", "<-", "<=", ">=", "==", "!=", "<", ">", "[", "]", "(", ")", ",",
	"+", "-", "*", "/", "%",
}

// scan splits a text into tokens, the last of which is the end.
func scan(text string) ([]token, *Error) {
	var out []token
	col := 1
	if len(text) > maxText {
		return nil, &Error{"", 1, fmt.Sprintf("an expectation of %d bytes; at most %d are read", len(text),
			maxText)}
	}
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		rest := text[at:]
		switch {
		case unicode.IsSpace(r):
			at, col = at+n, col+1
			continue
		case r >= '0' && r <= '9':
			n = run(rest, func(r rune) bool { return isWord(r) })
			v, err := strconv.ParseInt(rest[:n], 0, 64)
			if err != nil || len(rest[:n]) > 1 && rest[0] == '0' && rest[1] >= '0' && rest[1] <= '9' {
				return nil, &Error{text, col, fmt.Sprintf("%q is not a whole number of 64 bits", rest[:n])}
			}
			out = append(out, token{rest[:n], col, number, v})
		case isWord(r):
			n = run(rest, isWord)
			out = append(out, token{rest[:n], col, word, 0})
		default:
			n = 0
			for _, s := range symbols {
				if strings.HasPrefix(rest, s) {
					n = len(s)
					break
				}
			}
			if n == 0 {
				return nil, &Error{text, col, fmt.Sprintf("%q is not allowed here", r)}
			}
			out = append(out, token{rest[:n], col, symbol, 0})
		}
		at, col = at+n, col+utf8.RuneCountInString(rest[:n])
	}
	return append(out, token{"", col, end, 0}), nil
}

// isWord reports whether a character is one of a name; PTX allows $.
func isWord(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// run is how many bytes at the start have characters that match.
func run(s string, match func(rune) bool) int {
	for i, r := range s {
		if !match(r) {
			return i
		}
	}
	return len(s)
}
