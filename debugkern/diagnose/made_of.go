package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// madeOf says where the names of a line get their values: those of the condition that it has, else those of
// the value that it assigns; "" where it has none, or where the text does not show it. Counters of loops
// are left out.
func (q *inquiry) madeOf(at *report.Source) string {
	if at == nil {
		return ""
	}
	lines := q.run.Source(at.File)
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	code := bare(lines[at.Line-1])
	if found := condition.FindStringIndex(code); found != nil {
		code = upTo(code[found[1]:])
	} else if found := assigned.FindStringIndex(code); found != nil {
		code = first(code[found[1]-1:])
	} else {
		return ""
	}
	var parts []string
	var seen []string
	for _, name := range nameOf.FindAllString(called.ReplaceAllString(code, " ("), -1) {
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

// comparesFirst says which numbers the warps of a block compare first at the head of a loop; "" where that
// is not known, or is the same in all of them.
func (q *inquiry) comparesFirst(block probes.Dim3, at report.Source) string {
	fn := q.run.Entry()
	var own []int
	for i, in := range fn.Body {
		b := blame(fn, i)
		if b != nil && b.File == at.File && b.Line == at.Line && in.Kind() == isa.Compare &&
			!in.Type().Float() && !in.Loc.Within(target.IsProbe) {
			own = append(own, i)
		}
	}
	first, err := q.base.FirstCompared(q.ctx, block, own)
	if err != nil || len(first) < 2 {
		return ""
	}
	warps := map[[2]float64][]int{}
	var order [][2]float64
	for _, w := range slices.Sorted(maps.Keys(first)) {
		pair := [2]float64{first[w].A, first[w].B}
		if warps[pair] == nil {
			order = append(order, pair)
		}
		warps[pair] = append(warps[pair], w)
	}
	if len(order) < 2 {
		return ""
	}
	var parts []string
	for _, pair := range order[:min(len(order), mostCited+1)] {
		noun := "warp"
		if len(warps[pair]) > 1 {
			noun = "warps"
		}
		parts = append(parts, fmt.Sprintf("%.9g with %.9g in %s %s", pair[0], pair[1], noun,
			text.Spans(warps[pair])))
	}
	return "; it first compares " + strings.Join(parts, ", ")
}
