package checkrun

import (
	"cmp"
	"fmt"
	"slices"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// cover writes down how much of the kernel the result is about.
func (l *launch) cover(watched bool) {
	d := &l.doc.Coverage
	d.Blocks, d.Schedules = l.req.Grid.Count(), 1
	if watched {
		d.Sampled = d.Blocks
		if l.only != nil {
			d.Sampled = len(l.only)
		}
	}
	d.Instructions = len(l.covered.Executed)
	for _, done := range l.covered.Executed {
		if done {
			d.Executed++
		}
	}
	for _, a := range l.args {
		if !a.isMemory() {
			continue
		}
		o := report.CheckOutput{Name: a.name, DType: a.dtype.String(), Dims: a.dims}
		if watched {
			n := l.covered.Written[a.name].Whole(a.dtype.Size())
			o.Written = &n
		}
		l.doc.Outputs = append(l.doc.Outputs, o)
	}
	for _, f := range l.doc.Findings {
		if f.Kind == string(target.NotModelled) && !slices.Contains(d.NotModelled, f.Message) {
			d.NotModelled = append(d.NotModelled, f.Message)
		}
	}
	d.Unreached = l.unreached()
}

// unreached lists the entry's source lines none of whose instructions were executed, nor any that was inlined
// by a call of theirs, by file and line. Not among them is a line of which the compiler moved what it
// computes to others: it has instructions only in copies of code that was executed elsewhere, as a loop's
// unrolled body.
func (l *launch) unreached() []report.Source {
	executed := l.covered.Executed
	type place struct{ around, line string } // a line of one inlined call, and what that is called from
	places := make([][]place, len(l.entry.Body))
	lines := map[string]report.Source{}
	done := map[string]bool{}
	for i := range min(len(l.entry.Body), len(executed)) {
		at := target.Blame(l.entry, i)
		if at == nil || at.Line == 0 {
			continue
		}
		around := ""
		for _, c := range append(at.Calls.Sites(), target.Site{File: at.File, Line: at.Line}) {
			line := fmt.Sprintf("%s:%d", c.File, c.Line)
			places[i] = append(places[i], place{around, line})
			around += line + ";"
			lines[line] = report.Source{File: c.File, Line: c.Line}
			done[line] = done[line] || executed[i]
		}
	}
	missed := map[string]bool{}
	for _, part := range unexecutedParts(l.entry, executed) {
		// lines, by what is around them
		own, others := map[string]map[string]bool{}, map[string]map[string]bool{}
		for _, i := range part {
			for _, p := range places[i] {
				to := own
				if done[p.line] {
					to = others
				}
				if to[p.around] == nil {
					to[p.around] = map[string]bool{}
				}
				to[p.around][p.line] = true
			}
		}
		for around, list := range own {
			for line := range list {
				missed[line] = missed[line] || len(list) > len(others[around])
			}
		}
	}
	out := []report.Source{}
	for line, is := range missed {
		if is {
			out = append(out, lines[line])
		}
	}
	slices.SortFunc(out, func(a, b report.Source) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// unexecutedParts are the instructions that were not executed, by regions that control flow connects.
func unexecutedParts(f *ptx.Func, executed []bool) (parts [][]int) {
	g := cfg.New(f)
	seen := make([]bool, len(f.Body))
	for first := range min(len(f.Body), len(executed)) {
		if executed[first] || seen[first] {
			continue
		}
		var part []int
		work := []int{first}
		add := func(i int) {
			if i < len(executed) && !executed[i] && !seen[i] {
				seen[i] = true
				work = append(work, i)
			}
		}
		seen[first] = true
		for len(work) > 0 {
			i := work[len(work)-1]
			work = work[:len(work)-1]
			part = append(part, i)
			b := g.Of[i]
			for k := g.Start[b]; k < g.Start[b+1]; k++ {
				add(k)
			}
			for _, to := range g.Succ[b] {
				add(g.Start[to])
			}
			for _, from := range g.Pred[b] {
				add(g.Start[from+1] - 1)
			}
		}
		parts = append(parts, part)
	}
	return parts
}
