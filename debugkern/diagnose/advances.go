package diagnose

import (
	"fmt"
	"regexp"
	"slices"

	"tilescope/debugkern/report"
)

// An index that is the same in every tile has a variable in it that should go on with the loop, and does not:
// the line that moves it on is not come to.

// advances names the variables of a line, and of what these are computed from, that a line of the same file
// moves on, with that line; "" where there is none.
func (q *inquiry) advances(at *report.Source) string {
	own := q.quoted(at)
	if own == "" {
		return ""
	}
	lines := q.run.Source(at.File)
	names := nameOf.FindAllString(bare(own), -1)
	for _, name := range slices.Clone(names) {
		if n, _ := valueOf(lines, name, at.Line); n > 0 {
			names = append(names, nameOf.FindAllString(bare(lines[n-1]), -1)...)
		}
	}
	var seen []string
	for _, name := range names {
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		moves := regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(name) + `\s*(?:\+=|-=|\+\+|--)`)
		for i := range lines {
			line := bare(lines[i])
			if i+1 == at.Line || headed.MatchString(line) || !moves.MatchString(line) {
				continue
			}
			src := &report.Source{File: at.File, Line: i + 1}
			return fmt.Sprintf("; %s, which is in it, moves on at %s alone, %s", name, lineText(src, at),
				quote(q.quoted(src)))
		}
	}
	return ""
}
