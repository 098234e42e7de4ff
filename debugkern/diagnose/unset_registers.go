package diagnose

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// A register that nothing has written has no element that a line could write: what is wrong is what fills the
// operands of the line that takes it.

// unsetRegister reports whether a finding is that a register was taken that nothing has written.
func unsetRegister(f *report.Finding) bool {
	return f.Kind == "uninitialised" && strings.Contains(f.Message, ": register ") && f.Other != nil
}

// takesUnset reports whether a stage lacks operands where a line takes registers that nothing has written.
func (q *inquiry) takesUnset(finding, s *suspect) bool {
	if finding.cause.Finding < 0 || s.cause.Kind != kindStage || s.contrast == nil {
		return false
	}
	f := &q.doc.Findings[finding.cause.Finding]
	return unsetRegister(f) && slices.ContainsFunc(s.contrast.Missing, func(o debugkern.Operands) bool {
		return o.At != nil && callText(o.At) == callText(f.Other)
	})
}

// mostFilled is how many lines are named that fill what a line takes.
const mostFilled = 3

// describeUnset says which line takes registers that nothing has written, and which lines fill what it takes.
func (q *inquiry) describeUnset(f *report.Finding, c *Cause) {
	where := callText(f.Other)
	c.Title = "registers that nothing has written, taken at " + where
	if f.Source != nil {
		c.Title += ", stored to " + f.Variable + " at " + lineText(f.Source, f.Other)
	}
	c.Place.Source, c.Place.Other = f.Other, f.Source
	at := f.Other.Outermost()
	line := q.quoted(&at)
	c.Advice = fmt.Sprintf("look at what fills the operands of %s", where)
	if line == "" {
		return
	}
	c.Advice += ": " + quote(line)
	if filled := q.filledAt(&at, line); len(filled) > 0 {
		c.Advice += "; " + strings.Join(filled, ", ")
	}
}

// argument matches a name that is passed to a call, or of which an element is.
var argument = regexp.MustCompile(`\b([A-Za-z_]\w*)\s*[\[,)]`)

// filledAt lists the lines, of the file of a line with a call, that assign to elements of what is passed
// there, but of what is declared with values.
func (q *inquiry) filledAt(at *report.Source, line string) (out []string) {
	var names []string
	for _, m := range argument.FindAllStringSubmatch(bare(line), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		assigns := regexp.MustCompile(`\b` + name + `\s*(?:\[[^\]]*\]\s*)+=[^=]`)
		text := q.run.Source(at.File)
		declared := regexp.MustCompile(`\b` + name + `\s*(?:\[[^\]]*\]\s*)+=\s*\{`)
		if slices.ContainsFunc(text, declared.MatchString) {
			continue
		}
		for i, text := range text {
			if assigns.MatchString(bare(text)) && len(out) < mostFilled {
				out = append(out, fmt.Sprintf("%s:%d writes %s: %s", path.Base(at.File), i+1, name,
					quote(strings.TrimSpace(text))))
			}
		}
	}
	return out
}
