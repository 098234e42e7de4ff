package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
)

// madeOf says where the names of a line get their values: those of the condition that it has, else those of the
// value that it assigns; "" where it has none, or where the text does not show it. Counters of loops are left
// out.
func (q *inquiry) madeOf(at *report.Source) string {
	if at == nil {
		return ""
	}
	lines := q.run.Source(at.File)
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	text := bare(lines[at.Line-1])
	if found := condition.FindStringIndex(text); found != nil {
		text = upTo(text[found[1]:])
	} else if found := assigned.FindStringIndex(text); found != nil {
		text = first(text[found[1]-1:])
	} else {
		return ""
	}
	var parts []string
	var seen []string
	for _, name := range nameOf.FindAllString(called.ReplaceAllString(text, " ("), -1) {
		if constants.MatchString(name) || slices.Contains(seen, name) || len(parts) == mostCited {
			continue
		}
		seen = append(seen, name)
		n, _ := valueOf(lines, name, at.Line)
		if n == 0 || headed.MatchString(bare(lines[n-1])) {
			continue
		}
		src := report.Source{File: at.File, Line: n}
		parts = append(parts, fmt.Sprintf("%s there is from %s: %s", name, src.At(), quote(q.quoted(&src))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
