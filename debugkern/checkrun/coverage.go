package checkrun

import (
	"cmp"
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// cover writes down how much of the kernel the result is about.
func (l *launch) cover(watched bool) {
	d := &l.doc.Coverage
	d.Blocks, d.Schedules = l.req.Grid.Count(), 1+l.orders
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
// by a call of theirs, by file and line. The compiler may have moved what a line computes to others, so that
// it has instructions only in a copy of code that was executed elsewhere, such as a loop's remainder: a line
// is left out where all other lines of each unexecuted region that has it were executed elsewhere, unless it
// accesses memory there, which a copy does not share with others. That is a heuristic: a branch of one line
// that only computes, merged with a copy of another, is left out too.
func (l *launch) unreached() []report.Source {
	executed := l.covered.Executed
	places := make([][]place, len(l.entry.Body))
	done := map[report.Source]bool{}
	for i := range min(len(l.entry.Body), len(executed)) {
		places[i] = placesOf(l.entry, i)
		for _, p := range places[i] {
			done[p.line] = done[p.line] || executed[i]
		}
	}
	missed, accesses := map[report.Source]bool{}, map[report.Source]bool{}
	for _, part := range unexecutedParts(l.entry, executed) {
		own, others := map[string][]report.Source{}, map[string]bool{} // by what is around the lines
		for _, i := range part {
			in := l.entry.Body[i]
			for k, p := range places[i] {
				if k == len(places[i])-1 && in.Space() != ptx.SpaceParam &&
					slices.Contains([]isa.Kind{isa.Load, isa.Store, isa.Atomic, isa.Reduce}, in.Kind()) {
					accesses[p.line] = true
				}
				switch {
				case done[p.line]:
					others[p.around] = true
				case !slices.Contains(own[p.around], p.line):
					own[p.around] = append(own[p.around], p.line)
				}
			}
		}
		for around, list := range own {
			for _, line := range list {
				missed[line] = missed[line] || len(list) > 1 || !others[around] || accesses[line]
			}
		}
	}
	out := []report.Source{}
	for line, is := range missed {
		if is {
			out = append(out, line)
		}
	}
	slices.SortFunc(out, func(a, b report.Source) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// place is a line of the kernel, or of a function that is inlined in it, and the calls around that.
type place struct {
	around string
	line   report.Source
}

// placesOf are the lines that an instruction is of: its calls', outermost first, and its own.
func placesOf(f *ptx.Func, i int) (out []place) {
	at := target.Blame(f, i)
	if at == nil || at.Line == 0 {
		return nil
	}
	around := ""
	for _, c := range append(at.Calls.Sites(), target.Site{File: at.File, Line: at.Line}) {
		out = append(out, place{around, report.Source{File: c.File, Line: c.Line}})
		around += fmt.Sprintf("%s:%d;", c.File, c.Line)
	}
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
