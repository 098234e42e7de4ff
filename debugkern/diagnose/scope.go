package diagnose

import (
	"regexp"
	"strings"
)

// Two loops of a kernel may have a counter of the same name, and a function's parameter is the call's
// argument. What a name means on a line is read from the text by the rules of C++: the innermost declaration
// in scope, and the last assignment to it before the line. Braces and parentheses are counted; macros are not
// expanded.

var (
	otherWord = regexp.MustCompile(`\b(?:return|else|do|case|goto)\s+$`)
	declares  = regexp.MustCompile(`[\w>][\s*&]*[\s*&]$`)
	listed    = regexp.MustCompile(
		`^\s*(?:for\s*\(\s*)?(?:const|constexpr|static|unsigned|int|long|float|double|auto|bool|half\w*|\w+_t)\b`)
	lambda   = regexp.MustCompile(`([A-Za-z_]\w*)\s*=\s*\[[^\]]*\]\s*\(([^{}]*)\)\s*(?:mutable\s*)?$`)
	function = regexp.MustCompile(`([A-Za-z_]\w*)\s*\(([^{}]*)\)\s*(?:const|noexcept)?\s*$`)
	keyword  = regexp.MustCompile(`^(?:if|for|while|switch|catch)$`)
)

// bare is a line without its comment.
func bare(line string) string { return comment.ReplaceAllString(line, "") }

// isDeclaration reports whether a name behind this text of a line is declared there, and not assigned.
func isDeclaration(before string) bool {
	trimmed := strings.TrimRight(before, " \t")
	if strings.HasSuffix(trimmed, ",") {
		return listed.MatchString(before)
	}
	return declares.MatchString(before) && !otherWord.MatchString(before)
}

// upwards reads a text backwards and counts the blocks that end below the current place: what is declared in
// them is not visible.
type upwards struct {
	closed int  // braces that were closed below, and not yet opened
	header bool // a closed block has just been opened: what is in parentheses before it is its own
	parens int  // within these
}

// hidden is in how many blocks that are closed the place lies.
func (u *upwards) hidden() int {
	if u.parens > 0 {
		return u.closed + 1
	}
	return u.closed
}

// read goes backwards over a text.
func (u *upwards) read(text string) {
	for i := len(text) - 1; i >= 0; i-- {
		switch c := text[i]; {
		case u.parens > 0 && c == ')':
			u.parens++
		case u.parens > 0 && c == '(':
			u.parens--
		case u.parens > 0 || c == ' ' || c == '\t':
		case c == ')' && u.header:
			u.parens, u.header = 1, false
		case c == '}':
			u.closed++
			u.header = false
		case c == '{':
			if u.header = u.closed > 0; u.header {
				u.closed--
			}
		default:
			u.header = false
		}
	}
}

// assignedTo is a regular expression for what stands before the value that a name, or an element of it, gets.
func assignedTo(name string) string {
	return `\b` + regexp.QuoteMeta(name) + `\s*(?:\[[^\[\]]*\]\s*)*(?:[-+*/%^&|]|<<|>>)?=`
}

// valueOf finds where a name that a line uses gets its value: the line from 1, and the text behind the sign;
// 0 where that is the line itself, or the name is a parameter.
func valueOf(lines []string, name string, use int) (line int, value string) {
	set := regexp.MustCompile(assignedTo(name) + `[^=]`)
	if own := bare(lines[use-1]); set.MatchString(own) &&
		isDeclaration(own[:set.FindStringIndex(own)[0]]) {
		return 0, ""
	}
	type place struct {
		line, hidden int
		value        string
	}
	var inner []place // assignments in blocks that are closed
	u := upwards{}
	for n := use - 1; n > 0 && !begins.MatchString(lines[n-1]); n-- {
		text := bare(lines[n-1])
		all := set.FindAllStringIndex(text, -1)
		for i := len(all) - 1; i >= 0; i-- {
			at := all[i]
			u.read(text[at[0]:])
			rest := text[at[1]-1:]
			h, before := u.hidden(), text[:at[0]]
			switch {
			case !isDeclaration(before) && h > 0:
				inner = append(inner, place{n, h, rest})
			case !isDeclaration(before):
				return n, rest
			case h > 0: // of another variable of this name, and so are those in its block
				for len(inner) > 0 && inner[len(inner)-1].hidden >= h {
					inner = inner[:len(inner)-1]
				}
			case headed.MatchString(before) && !reaches(lines, n, before, use):
			case len(inner) > 0:
				return inner[0].line, inner[0].value
			default:
				return n, rest
			}
			text = before
		}
		u.read(text)
	}
	if len(inner) > 0 {
		return inner[0].line, inner[0].value
	}
	return 0, ""
}

// reaches reports whether a line lies in the body of the loop whose head is on line n, behind this text: in
// its braces, which are not closed above the line, or in the one statement behind it.
func reaches(lines []string, n int, before string, use int) bool {
	heads := headed.FindAllStringIndex(before, -1)
	depth, open := 0, false
	for at, from := n, heads[len(heads)-1][0]; at < use; at, from = at+1, 0 {
		for _, c := range bare(lines[at-1])[from:] {
			switch {
			case c == '(':
				depth, open = depth+1, true
			case c == ')':
				depth--
			case depth > 0 || !open:
			case c == '{':
				return true
			case c == ';':
				return false
			}
		}
	}
	return true
}

// enclosing finds the function or lambda that a line lies in: its name, and those of its parameters. "" where
// the text does not show it.
func enclosing(lines []string, use int) (name string, params []string) {
	u := upwards{}
	for n := use - 1; n > 0; n-- {
		text := bare(lines[n-1])
		for i := len(text) - 1; i >= 0; i-- {
			if text[i] != '{' || u.closed > 0 {
				u.read(text[i : i+1])
				continue
			}
			head := text[:i]
			for up := n - 1; up > max(0, n-mostHead); up-- {
				line := bare(lines[up-1])
				if strings.ContainsAny(line, ";{}") {
					break
				}
				head = line + " " + head
			}
			m := lambda.FindStringSubmatch(head)
			if m == nil {
				m = function.FindStringSubmatch(fromName(head))
			}
			if m == nil || keyword.MatchString(m[1]) {
				u = upwards{}
				continue
			}
			for _, p := range arguments(m[2]) {
				p, _, _ = strings.Cut(p, "=")
				names := nameOf.FindAllString(dimension.ReplaceAllString(p, ""), -1)
				if len(names) == 0 {
					return m[1], nil
				}
				params = append(params, names[len(names)-1])
			}
			return m[1], params
		}
		if begins.MatchString(lines[n-1]) && strings.HasPrefix(lines[n-1], "}") {
			break
		}
	}
	return "", nil
}

// mostHead is how many lines the head of a function may have.
const mostHead = 6

// fromName is the head of a function from the name on that its parameters stand behind: the last name
// before parentheses that are not within others.
func fromName(head string) string {
	depth := 0
	for i := len(head) - 1; i >= 0; i-- {
		switch head[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				before := strings.TrimRight(head[:i], " \t")
				names := nameOf.FindAllStringIndex(before, -1)
				if len(names) == 0 {
					return ""
				}
				return head[names[len(names)-1][0]:]
			}
		}
	}
	return ""
}

// arguments are the parts of a text between the commas that are in no brackets.
func arguments(text string) []string {
	var out []string
	for strings.TrimSpace(text) != "" {
		part := first(text)
		out = append(out, strings.TrimSpace(part))
		text = text[min(len(text), len(part)+1):]
	}
	return out
}

// passed are the arguments of the call of a function that stands on a line, "" where none does.
func passed(lines []string, line int, name string) []string {
	text := bare(lines[line-1])
	for n := line + 1; n <= len(lines) && n < line+mostHead && !strings.Contains(text, ";"); n++ {
		text += " " + bare(lines[n-1])
	}
	call := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*(?:<[\w:\s*&,]*>)?\s*\(`)
	at := call.FindStringIndex(text)
	if at == nil {
		return nil
	}
	return arguments(upTo(text[at[1]:]))
}

// upTo is a text up to the bracket that closes one opened before it.
func upTo(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return text[:i]
			}
		}
	}
	return text
}
