package diagnose

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
)

// Rewrite is a line of the source, and how it reads with the edit that a trial of the PTX proved.
type Rewrite struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Was  string `json:"was"` // without the blanks at its ends
	Now  string `json:"now"`
}

// comparesBy matches the operators of comparisons that an edit may exchange.
var comparesBy = regexp.MustCompile(`[<>]=?|[=!]=`)

// operators are the operator of the line and that of the edit, where these differ in one comparison alone.
func (r *Rewrite) operators() (was, now string, ok bool) {
	a, b := comparesBy.FindAllString(r.Was, -1), comparesBy.FindAllString(r.Now, -1)
	if len(a) != len(b) {
		return "", "", false
	}
	for i := range a {
		if a[i] != b[i] {
			if ok {
				return "", "", false
			}
			was, now, ok = a[i], b[i], true
		}
	}
	return was, now, ok
}

// signed names the operators of an edited comparison, where the line shows which they are.
func (c *Cause) signed() {
	if c.Rewrite == nil {
		return
	}
	was, now, ok := c.Rewrite.operators()
	if !ok {
		return
	}
	text := now + " in place of " + was
	for _, says := range []*string{&c.Title, &c.Alone, &c.short} {
		*says = strings.ReplaceAll(*says, repair.OneOff, text)
	}
	for i := range c.Proof {
		c.Proof[i] = strings.ReplaceAll(c.Proof[i], repair.OneOff, text)
	}
}

// rewrite writes an edit of the PTX as an edit of its source line, nil where the line does not say it in
// exactly one place.
func (q *inquiry) rewrite(src *report.Source, c *repair.Cure) *Rewrite {
	was := q.quoted(src)
	if was == "" || len(c.Others) > 0 {
		return nil
	}
	now, ok := rewritten(was, c)
	if !ok || c.Kind == repair.Constant && identifier.MatchString(c.To) && len(src.Calls.Sites()) > 0 {
		return nil // or it is an argument of the kernel, which the functions that it calls do not see
	}
	return &Rewrite{src.File, src.Line, was, rewrite.Simplified(now)}
}

// quoted is the text of a source line without the blanks at its ends, "" where it is not available.
func (q *inquiry) quoted(src *report.Source) string {
	if src == nil {
		return ""
	}
	lines := q.run.Source(src.File)
	if src.Line < 1 || src.Line > len(lines) {
		return ""
	}
	if line := strings.TrimSpace(lines[src.Line-1]); strings.Trim(line, "{}(); ") != "" {
		return line
	}
	return "" // a bracket says nothing
}

// cited is the text of a source line for a message, with that of the line that calls it where it is in
// inlined code; "" where it is not available.
func (q *inquiry) cited(src *report.Source) string {
	line := q.quoted(src)
	if line == "" {
		return ""
	}
	text := quote(line)
	if sites := src.Calls.Sites(); len(sites) > 0 {
		last := sites[len(sites)-1]
		if caller := q.quoted(&report.Source{File: last.File, Line: last.Line}); caller != "" {
			text += ", called in " + quote(caller)
		}
	}
	return text
}

// citing is a text, and behind a separator the source line of a place, where that is available.
func (q *inquiry) citing(text, separator string, src *report.Source) string {
	if line := q.cited(src); line != "" {
		return text + separator + line
	}
	return text
}

// widestQuote is how much of a source line a message quotes.
const widestQuote = 160

// quote is a source line for a message.
func quote(line string) string {
	if r := []rune(line); len(r) > widestQuote {
		line = string(r[:widestQuote-1]) + "…"
	}
	return "`" + line + "`"
}

// quoteCode is a source line for a message without its comment, which may be untrue of what the line should
// be.
func quoteCode(line string) string {
	if code := strings.TrimSpace(bare(line)); code != "" {
		line = code
	}
	return quote(line)
}

// What of a line an edit may be: a comparison, a literal, the name of an intrinsic function.
var (
	notComparisons = regexp.MustCompile(`\w+\s*<[\w:\s*&,]*>\s*\(|<<=?|>>=?|->|//.*`)
	comparison     = regexp.MustCompile(`<=|>=|==|!=|<|>`)
	literal        = regexp.MustCompile(`(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)[fF]?`)
	stricter       = map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
	strictness     = map[string]string{
		"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs", "hs": "hi",
		"eq": "ne", "ne": "eq",
	}
	intrinsics = map[string]string{
		"add sub": "__fadd_r __fsub_r", "sub add": "__fsub_r __fadd_r", "mul div": "__fmul_r __fdiv_r",
		"div mul": "__fdiv_r __fmul_r", "max min": "fmaxf fminf", "min max": "fminf fmaxf",
		"bfly down": "__shfl_xor_sync __shfl_down_sync", "down bfly": "__shfl_down_sync __shfl_xor_sync",
		"up down": "__shfl_up_sync __shfl_down_sync", "up bfly": "__shfl_up_sync __shfl_xor_sync",
		"bfly up": "__shfl_xor_sync __shfl_up_sync", "rsqrt rcp": "rsqrtf __frcp_rn",
		"rcp rsqrt": "__frcp_rn rsqrtf", "rz rn": "_rz( _rn(", "rm rn": "_rd( _rn(", "rp rn": "_ru( _rn(",
		"lg2 ex2": "log2f exp2f", "ex2 lg2": "exp2f log2f",
	}
)

// leavesOut is a line whose condition leads to one statement, which leaves out what follows it.
var leavesOut = regexp.MustCompile(`^(?:\}?\s*else\s+)?if\s*\(.*\)\s*\{?\s*(continue|break|return)\s*;`)

// inWords gives an edit the words of the source: a mask in units of an array's index, the names of integers,
// and a condition those of its line, since what stands under it for the compiler is what follows a
// `continue`.
func (q *inquiry) inWords(c *repair.Cure) {
	q.inUnits(c)
	q.inNames(c)
	c.What = conditionText(c.What, q.quoted(q.place(c)))
}

// conditionText is an edit of a condition in the words of its line, else as it is.
func conditionText(what, line string) string {
	m := leavesOut.FindStringSubmatch(line)
	switch {
	case m == nil:
	case what == repair.Always:
		return fmt.Sprintf("without the `%s`", m[1])
	case what == repair.Never:
		return fmt.Sprintf("the `%s` in every case", m[1])
	}
	return what
}

// rewritten is a line with an edit, ok where the line has exactly one place for it.
func rewritten(line string, c *repair.Cure) (now string, ok bool) {
	switch c.Kind {
	case repair.Comparison:
		if strictness[c.From] != c.To || c.To == "" {
			return "", false
		}
		masked := notComparisons.ReplaceAllStringFunc(line, func(s string) string {
			return strings.Repeat(" ", len(s))
		})
		at := comparison.FindAllStringIndex(masked, -1)
		if len(at) != 1 {
			return "", false
		}
		return line[:at[0][0]] + stricter[line[at[0][0]:at[0][1]]] + line[at[0][1]:], true
	case repair.Constant:
		return otherLiteral(line, c)
	case repair.Operand:
		if c.What == repair.Swapped {
			return turned(line)
		}
		return otherName(line, c)
	case repair.Operation, repair.Rounding:
		names := strings.Fields(intrinsics[c.From+" "+c.To])
		if len(names) != 2 || strings.Count(line, names[0]) != 1 {
			return "", false
		}
		return strings.Replace(line, names[0], names[1], 1), true
	}
	return "", false
}

// subtraction is that of two names or numbers.
var subtraction = regexp.MustCompile(`([\w.]+) - ([\w.]+)`)

// turned is a line with the operands of its one subtraction exchanged.
func turned(line string) (string, bool) {
	text := bare(line)
	at := subtraction.FindAllStringSubmatchIndex(text, -1)
	if len(at) != 1 || strings.Count(text, "-") != 1 {
		return "", false
	}
	m := at[0]
	before, after := strings.TrimSpace(text[:m[0]]), strings.TrimSpace(text[m[1]:])
	begins := before == "" || strings.HasSuffix(before, "return") ||
		strings.ContainsAny(before[len(before)-1:], "=(,[<>?:")
	if !begins || after != "" && !strings.ContainsAny(after[:1], ";,)]<>?:") {
		return "", false // it is a part of a longer sum, or has a product in it
	}
	return line[:m[0]] + line[m[4]:m[5]] + " - " + line[m[2]:m[3]] + line[m[1]:], true
}

// otherName writes a name in the place of the one use of another, outside of comments.
func otherName(line string, c *repair.Cure) (string, bool) {
	if c.From == "" || c.To == "" {
		return "", false
	}
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(c.From) + `\b`)
	at := name.FindAllStringIndex(comment.ReplaceAllString(line, ""), -1)
	if len(at) != 1 {
		return "", false
	}
	return line[:at[0][0]] + c.To + line[at[0][1]:], true
}

// otherLiteral writes a constant in the place of the one literal of a line that has its value.
func otherLiteral(line string, c *repair.Cure) (string, bool) {
	was, err := strconv.ParseFloat(c.From, 64)
	if err != nil {
		return "", false
	}
	at, n := []int(nil), 0
	for _, m := range literal.FindAllStringIndex(line, -1) {
		x, err := strconv.ParseFloat(strings.TrimRight(line[m[0]:m[1]], "fF"), 64)
		if err == nil && math.Float32bits(float32(x)) == math.Float32bits(float32(was)) {
			at, n = m, n+1
		}
	}
	if n != 1 {
		return "", false
	}
	now := c.To
	switch {
	case identifier.MatchString(now):
	case strings.HasSuffix(now, "Inf"):
		now = strings.TrimPrefix(strings.Replace(now, "Inf", "INFINITY", 1), "+")
	case strings.ContainsAny(now, ".e"):
		now += "f"
	default:
		now += ".0f"
	}
	return line[:at[0]] + now + line[at[1]:], true
}
