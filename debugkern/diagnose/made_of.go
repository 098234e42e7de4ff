package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
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
	whole := code
	if found := condition.FindStringIndex(code); found != nil {
		if code = upTo(code[found[1]:]); compared(code) == "" && compared(whole) != "" {
			code = compared(whole)
		}
	} else if found := assigned.FindStringIndex(code); found != nil {
		code = first(code[found[1]-1:])
	} else if code = compared(code); code == "" {
		return ""
	}
	return q.valuesOf(at, code)
}

// valuesOf says where the names in a part of a line get their values, first those that are conditions
// themselves; "" where the text does not show it.
func (q *inquiry) valuesOf(at *report.Source, code string) string {
	lines := q.run.Source(at.File)
	var from []int // lines
	var seen []string
	names := map[int][]string{} // by line
	for _, name := range nameOf.FindAllString(called.ReplaceAllString(code, " ("), -1) {
		if constants.MatchString(name) || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		n, _ := valueOf(lines, name, at.Line)
		if n == 0 || headed.MatchString(bare(lines[n-1])) {
			continue
		}
		if names[n] == nil {
			from = append(from, n)
		}
		names[n] = append(names[n], name)
	}
	plain := func(n int) int {
		if compared(bare(lines[n-1])) != "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(from, func(a, b int) int { return cmp.Compare(plain(a), plain(b)) })
	var parts []string
	for _, n := range from[:min(len(from), mostCited)] {
		src, are := report.Source{File: at.File, Line: n}, "is"
		if len(names[n]) > 1 {
			are = "are"
		}
		parts = append(parts, fmt.Sprintf("%s there %s from %s: %s", strings.Join(names[n], ", "), are,
			src.At(), quote(q.quoted(&src))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// compared is the part of a line that is a comparison, "" where none is.
func compared(code string) string {
	code = notComparisons.ReplaceAllString(code, "(")
	between := func(r rune) bool { return strings.ContainsRune("(),;?:&|", r) }
	for _, part := range strings.FieldsFunc(code, between) {
		if comparison.MatchString(part) {
			return part
		}
	}
	return ""
}

// comparesFirst says which numbers the warps of a block compare first at the head of a loop that an access's
// index is counted by; "" where that is not known, or is the same in all of them.
func (q *inquiry) comparesFirst(block probes.Dim3, at report.Source, x access) string {
	own := q.counting(at, x)
	if len(own) == 0 {
		return ""
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

// counting lists the comparisons at the head of a loop that compare a value of which the address of an access
// is made, and decide whether it executes: a compiler puts others there, of how often it unrolls.
func (q *inquiry) counting(at report.Source, x access) []int {
	fn := q.run.Entry()
	list := q.accessed(fn, x)
	made := map[int32]bool{}
	for i := range q.addressOf(fn, list) {
		for _, r := range fn.Body[i].Dests(nil) {
			made[r] = true
		}
	}
	decides := slices.Clone(list)
	for _, i := range list {
		decides = append(decides, deciding(fn, i)...)
	}
	var own []int
	for i, in := range fn.Body {
		b := blame(fn, i)
		if b == nil || b.File != at.File || b.Line != at.Line || in.Kind() != isa.Compare ||
			in.Type().Float() || in.Loc.Within(target.IsProbe) ||
			!slices.ContainsFunc(in.Args[1:], func(o ptx.Operand) bool {
				return o.Kind == ptx.OpReg && made[o.Reg]
			}) {
			continue
		}
		for use := range decidedBy(fn, map[int]bool{i: true}) {
			if slices.Contains(decides, use) {
				own = append(own, i)
				break
			}
		}
	}
	return own
}

// distances says how far apart the matrices begin that a line loads of an array, where that is no multiple of
// the array's rows; "" where it is, or is not known, or is not the same for all.
func (q *inquiry) distances(c *Cause, x access) string {
	l, ok := q.layoutOf(x.variable)
	if !ok || len(l.dims) < 2 {
		return ""
	}
	list, _, err := q.base.Reaches(q.ctx, c.Place.Block, q.accessed(q.run.Entry(), x))
	if err != nil {
		return ""
	}
	begin := map[int]int64{} // of the first warp that executes it, by instruction
	for _, r := range list {
		if _, seen := begin[r.At]; !seen && r.Base == x.variable {
			begin[r.At] = r.Offset
		}
	}
	at := slices.Sorted(maps.Values(begin))
	if len(at) < 2 {
		return ""
	}
	by, row := at[1]-at[0], l.strides[len(l.dims)-2]
	for i := range at[1:] {
		if at[i+1]-at[i] != by {
			return ""
		}
	}
	if by%row == 0 || by%l.size != 0 {
		return ""
	}
	return fmt.Sprintf("; what it loads begins %d elements apart, and a multiple of %d belongs there", by/l.size,
		row/l.size)
}
