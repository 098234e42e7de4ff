package rewrite

import (
	"regexp"
	"strings"
)

// OfCondition reports whether an edit changes nothing but conditions: by which a statement or a choice is
// made, a loop goes on, or that a bool has. What is computed under them stays as it is.
func (e *Edit) OfCondition() bool {
	if strings.HasPrefix(e.What, "under the condition ") {
		return true
	}
	for _, s := range e.sites {
		list := e.Text.differences(s)
		for _, d := range list {
			if !inCondition(e.Text.text, d.from, d.to) {
				return false
			}
		}
		if len(list) == 0 {
			return false
		}
	}
	return len(e.sites) > 0
}

// branches matches a text that ends where the condition of a statement begins, and truth one that declares a
// bool up to its value.
var (
	branches = regexp.MustCompile(`\b(if|while|for)\s*(?:constexpr\s*)?$`)
	truth    = regexp.MustCompile(`\bbool\s+\w+\s*=[^=;{}]*$`)
)

// inCondition reports whether bytes of a text lie in a condition.
func inCondition(text string, from, to int) bool {
	depth, ends := 0, 0 // ends counts the semicolons in the brackets that are open
	for i := from - 1; i >= 0; i-- {
		switch text[i] {
		case ')', ']', '}':
			depth++
		case '[', '{':
			depth--
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			depth = 0
			m := branches.FindStringSubmatch(text[:i])
			switch {
			case m == nil:
			case m[1] == "for":
				return ends == 1
			default:
				return true
			}
		case ';':
			if depth == 0 {
				ends++
			}
		}
		if depth < 0 || ends > 1 {
			break
		}
	}
	return truth.MatchString(text[:from]) || beforeChoice(text[to:])
}

// beforeChoice reports whether a text goes on with a ? of the expression that it begins in.
func beforeChoice(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '?':
			return depth <= 0
		case ';', '{', '}':
			return false
		case '=':
			compares := i > 0 && strings.ContainsRune("=<>!", rune(text[i-1]))
			if !compares && !strings.HasPrefix(text[i+1:], "=") {
				return false
			}
		case ',', ':':
			if depth <= 0 {
				return false
			}
		}
	}
	return false
}
