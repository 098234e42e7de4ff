package checkrun

import (
	"cmp"
	"slices"

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
// by a call of theirs, by file and line.
func (l *launch) unreached() []report.Source {
	executed := l.covered.Executed
	done := map[report.Source]bool{}
	for i := range l.entry.Body {
		at := target.Blame(l.entry, i)
		if i >= len(executed) || at == nil || at.Line == 0 {
			continue
		}
		line := report.Source{File: at.File, Line: at.Line}
		done[line] = done[line] || executed[i]
		for _, c := range at.Calls.Sites() {
			if executed[i] {
				done[report.Source{File: c.File, Line: c.Line}] = true
			}
		}
	}
	out := []report.Source{}
	for line, reached := range done {
		if !reached {
			out = append(out, line)
		}
	}
	slices.SortFunc(out, func(a, b report.Source) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}
