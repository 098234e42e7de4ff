package diagnose

import (
	"cmp"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
)

// Edits of the source that are compiled together and executed one by one, and the choice among those that put
// everything right.

// candidate is an edit with which everything is right in the blocks of the experiments.
type candidate struct {
	edit rewrite.Edit
	now  []ptx.Edit // what chooses it in its build
	work uint64     // warp instructions that other configurations execute with it
}

// round compiles edits together, executes each, and returns those that put everything right.
func (s *sourceEdit) round(edits []rewrite.Edit) ([]candidate, error) {
	built, edits, err := s.build(edits)
	if err != nil || built == nil {
		return nil, err
	}
	choose := chosen(built.Module)
	size := len(built.Module.Func(s.q.run.Plan.Entry).Body)
	s.compiled += size
	s.slower = slowest
	base, err := s.execute(debugkern.Trial{Build: built})
	if err != nil || base == nil {
		return nil, err
	}
	right, wrong := repair.CellsOf(base.Report)
	same := right == s.right && right+wrong == s.cells
	if s.found {
		same = len(errorsOf(base.Report)) > 0
	}
	if !same {
		return nil, nil // the compiler makes another kernel of it: what an edit does there shows nothing
	}
	s.slower = 1 + base.Report.Cost.WarpInstructions/max(1, s.own)
	s.each = base.Report.Cost.WarpInstructions + 4*uint64(size)
	if s.found {
		s.each *= watched
	}
	edits = edits[:min(len(edits), int(editedInstructions/s.each))]
	ok, err := s.ask(len(edits), func(i int) (bool, error) { return s.puts(built, choose(i+1)) })
	if err != nil {
		return nil, err
	}
	enough, err := s.inSound(built, nil)
	if err != nil {
		return nil, err
	}
	var list []candidate
	for i, e := range edits {
		if !ok[i] {
			continue
		}
		if right, err := s.everywhere(built, choose(i+1)); err != nil || !right {
			if err != nil {
				return nil, err
			}
			continue
		}
		n, err := s.inSound(built, choose(i+1))
		if err != nil {
			return nil, err
		}
		// With an edit that has blocks compute what they need not, all is right too, by what masks that.
		if n > enough+enough/16 {
			s.needless = append(s.needless, e)
			continue
		}
		list = append(list, candidate{edit: e, now: choose(i + 1)})
	}
	return s.elsewhere(built, list)
}

// elsewhere leaves out the candidates of a build that are wrong in another configuration, and those that
// execute more there than others.
func (s *sourceEdit) elsewhere(b *build.Build, list []candidate) ([]candidate, error) {
	q := s.q
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.edit.Cost(), y.edit.Cost()) })
	list = list[:min(len(list), mostCandidates)]
	for o, err := range q.running(q.elsewheres()) {
		if err != nil {
			return nil, err
		}
		was := o.run
		work := make([]uint64, len(list))
		ok, err := s.ask(len(list), func(i int) (bool, error) {
			now, err := was.Try(q.ctx, debugkern.Trial{
				Build: b, Edits: list[i].now, Blocks: was.Blocks(), Tiles: true,
				Budget: 4*s.slower*was.Report.Cost.WarpInstructions + 10000,
			})
			if err != nil || now == nil || now.Report.Verdict == report.Failed {
				return false, q.stopped(err)
			}
			work[i] = now.Report.Cost.WarpInstructions
			return len(wrongStages(now.Report)) == 0, nil
		})
		if err != nil {
			return nil, err
		}
		var kept []candidate
		for i, c := range list {
			if c.work += work[i]; ok[i] {
				kept = append(kept, c)
			}
		}
		list = kept
	}
	least := uint64(math.MaxUint64)
	for _, c := range list {
		least = min(least, c.work)
	}
	return slices.DeleteFunc(list, func(c candidate) bool {
		much := c.work > least+least/4 // an edit that leaves out others of the same build executes less too
		if much {
			s.needless = append(s.needless, c.edit)
		}
		return much
	}), nil
}

// mostCandidates is how many edits that put everything right are executed in other configurations.
const mostCandidates = 24

// onTheirLines tries further edits of the lines that candidates are on, and returns the likeliest of all; nil
// where none is confirmed.
func (s *sourceEdit) onTheirLines(list []candidate, others []rewrite.Edit) (*rightEdit, error) {
	var more []rewrite.Edit
	for _, e := range others {
		if len(more) < mostOnLines && slices.ContainsFunc(list, func(c candidate) bool {
			return c.edit.Text == e.Text && c.edit.Line == e.Line
		}) {
			more = append(more, e)
		}
	}
	if len(more) > 0 {
		found, err := s.round(more)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	var edits []rewrite.Edit
	for _, c := range list {
		edits = append(edits, c.edit)
	}
	return s.likeliest(edits)
}

// mostOnLines is how many further edits of the lines of candidates are tried.
const mostOnLines = 128

// likeliest is the likeliest of edits that put everything right, nil where none is confirmed.
func (s *sourceEdit) likeliest(list []rewrite.Edit) (f *rightEdit, err error) {
	slices.SortStableFunc(list, func(a, b rewrite.Edit) int { return cmp.Compare(a.Cost(), b.Cost()) })
	for _, e := range list[:min(len(list), mostRight)] {
		switch {
		case f == nil:
			if f, err = s.confirmed(e); err != nil {
				return nil, err
			}
		case e.Text != f.edit.Text || e.Line != f.edit.Line:
			f.also = &e
			return f, nil
		}
	}
	return f, nil
}
