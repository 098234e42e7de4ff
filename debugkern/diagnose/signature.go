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
		at := q.parameterList(m[1], m[2])
		if at == nil {
			continue
		}
		c := &s.cause
		c.Title = earlier.ReplaceAllString(c.Title, "")
		c.Title += "; made wrong at " + at.At()
		c.because(fmt.Sprintf("the launch passes %s and %s in the other order than the parameters at %s have them",
			m[1], m[2], at.At()))
		was := q.quoted(at)
		now := eitherOf(m[1], m[2]).ReplaceAllStringFunc(was, func(name string) string {
			if name == m[1] {
				return m[2]
			}
			return m[1]
		})
		c.Rewrite = &Rewrite{File: at.File, Line: at.Line, Was: was, Now: now}
		s.remedy.advice = fmt.Sprintf("at %s: write %s in place of %s", at.At(), quote(now), quote(was))
		s.remedy.at, s.remedy.cite = at, false
		c.Advice = s.remedy.advice
		c.Place.Source, c.Place.Other = at, c.Place.Source
	}
	return nil
}

// eitherOf matches one of two names.
func eitherOf(a, b string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + regexp.QuoteMeta(a) + `|` + regexp.QuoteMeta(b) + `)\b`)
}

// parameterList is the line of the kernel's parameters that has two of them in another order than the plan's
// arguments; nil where none has.
func (q *inquiry) parameterList(a, b string) *report.Source {
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
		return nil
	}
	if x > y {
		a, b = b, a
	}
	swapped := regexp.MustCompile(`\b` + regexp.QuoteMeta(b) + `\s*,(?:[^(){};]*\W)?` + regexp.QuoteMeta(a) +
		`\s*(?:,|\)|TS_PARAM)`)
	for _, file := range q.sourceFiles() {
		lines := q.run.Source(file)
		for i, line := range lines {
			if !strings.Contains(line, "__global__") {
				continue
			}
			for n := i; n < min(i+mostSignature, len(lines)); n++ {
				if swapped.MatchString(bare(lines[n])) {
					return &report.Source{File: file, Line: n + 1}
				}
				if strings.Contains(lines[n], "{") {
					break
				}
			}
		}
	}
	return nil
}

// mostSignature is how many lines the signature of a kernel has at most.
const mostSignature = 24
