package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"tilescope/debugkern/report"
)

// Two parameters that stand in each other's place in a kernel's signature are wrong wherever it uses them. An
// edit that exchanges their values is one of the signature, whatever line it was seen at.

// exchangedArguments matches a trial that exchanges two values wherever the kernel uses them.
var exchangedArguments = regexp.MustCompile(`^with (\w+) and (\w+) exchanged at `)

// signatures makes the signature the place of causes that an exchange of two arguments puts right, where it
// has them in another order than the launch passes them in.
func (q *inquiry) signatures() error {
	for _, s := range q.suspects {
		if s.remedy == nil || !s.remedy.changes() {
			continue
		}
		m := exchangedArguments.FindStringSubmatch(s.remedy.text)
		if m == nil {
			continue
		}
		at, other := q.parameterList(m[1], m[2])
		if at == nil {
			continue
		}
		c := &s.cause
		c.Title = earlier.ReplaceAllString(c.Title, "")
		c.Title += "; made wrong at " + at.At()
		c.because(q.inOtherOrder(m[1], m[2], at))
		s.remedy.advice = q.exchangeParameters(c, m[1], m[2], at, other)
		s.remedy.at, s.remedy.cite = at, false
		c.Advice = s.remedy.advice
		c.Place.Source, c.Place.Other = at, c.Place.Source
	}
	return nil
}

// inOtherOrder says of two parameters that the launch passes them in another order.
func (q *inquiry) inOtherOrder(a, b string, at *report.Source) string {
	return fmt.Sprintf("the launch passes %s and %s in the other order than the parameters at %s have them", a, b,
		at.At())
}

// exchangeParameters is the advice to exchange two parameters of the kernel, of which other is the line of
// the second; nil: they are on one line, which the cause is given to write.
func (q *inquiry) exchangeParameters(c *Cause, a, b string, at, other *report.Source) string {
	if other != nil {
		return q.citing(q.citing(fmt.Sprintf("exchange the parameters %s and %s at %s and %s", a, b, at.At(),
			lineText(other, at)), ": ", at), ", ", other)
	}
	was := q.quoted(at)
	now := eitherOf(a, b).ReplaceAllStringFunc(was, func(name string) string {
		if name == a {
			return b
		}
		return a
	})
	c.Rewrite = &Rewrite{File: at.File, Line: at.Line, Was: was, Now: now}
	return fmt.Sprintf("at %s: write %s in place of %s", at.At(), quoteCode(now), quoteCode(was))
}

// eitherOf matches one of two names.
func eitherOf(a, b string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + regexp.QuoteMeta(a) + `|` + regexp.QuoteMeta(b) + `)\b`)
}

// parameterList is the line of the kernel's parameters that has two of them in another order than the plan's
// arguments, and the line of the other one where it is not the same; nil where none has.
func (q *inquiry) parameterList(a, b string) (at, other *report.Source) {
	order := func(name string) int {
		for i := range q.run.Plan.Args {
			if q.run.Plan.Args[i].Name == name {
				return i
			}
		}
		return -1
	}
	x, y := order(a), order(b)
	if x < 0 || y < 0 {
		return nil, nil
	}
	if x > y {
		a, b = b, a
	}
	for _, file := range q.sourceFiles() {
		lines := q.run.Source(file)
		for i, line := range lines {
			if !strings.Contains(line, "__global__") {
				continue
			}
			at, other = nil, nil // of b, which stands first there, and of a
			for n := i; n < min(i+mostSignature, len(lines)); n++ {
				text, _, ends := strings.Cut(bare(lines[n]), "{")
				here := &report.Source{File: file, Line: n + 1}
				first, second := isParameter(text, b), isParameter(text, a)
				switch {
				case at == nil && first >= 0 && second > first:
					return here, nil
				case at == nil && first >= 0:
					at = here
				case at != nil && second >= 0:
					return at, here
				}
				if ends || second >= 0 {
					break
				}
			}
		}
	}
	return nil, nil
}

// isParameter is where a line of a signature has a parameter's name, -1 where it has none.
func isParameter(line, name string) int {
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*(?:,|\)|TS_PARAM|$)`).FindStringIndex(line)
	if at == nil {
		return -1
	}
	return at[0]
}

// mostSignature is how many lines the signature of a kernel has at most.
const mostSignature = 24
