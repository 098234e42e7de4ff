package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
)

// Edits of the source that are compiled together and executed one by one, and the choice among those that put
// everything right.

// candidate is an edit with which everything is right in the blocks of the experiments.
type candidate struct {
	edit    rewrite.Edit
	cost    int    // what it is compared by
	variant int    // of its build, that has it
	work    uint64 // that other configurations compute with it
	// more: with it blocks and configurations that are right without it compute more than they need
	more bool
	// narrow: in how many shapes that are none of the manifest's something stays wrong with it
	narrow int
}

// round executes each of the edits that are compiled together, and returns those that put everything right,
// and those that were not executed.
func (s *sourceEdit) round(b batch) (list []candidate, left []rewrite.Edit, err error) {
	built, edits := b.built, b.edits
	if b.err != nil || built == nil {
		return nil, b.left, b.err
	}
	s.slower = slowest
	base, err := s.execute(debugkern.Trial{Build: built})
	if err != nil || base == nil {
		return nil, b.left, err
	}
	right, wrong := s.cellsOf(base)
	same := right == s.right && right+wrong == s.cells
	if len(unordered(s.q.base.Report)) > 0 { // what a race spoils depends on the number of instructions
		same = wrong > 0 && right+wrong == s.cells
	}
	if s.found {
		same = len(errorsOf(base.Report)) > 0
	}
	if !same {
		return nil, b.left, nil // the compiler makes another kernel of it: no edit of that shows anything
	}
	s.slower = 1 + base.Report.Cost.WarpInstructions/max(1, s.own)
	s.each = base.Report.Cost.WarpInstructions + judging
	if s.found {
		s.each *= watched
	}
	n := min(len(edits), int(editedInstructions/s.each))
	edits, left = edits[:n], slices.Concat(edits[n:], b.left)
	s.tried += n
	ok, err := s.ask(len(edits), func(i int) (bool, error) {
		if s.late() { // one with which a loop does not end executes for seconds under the checkers
			return false, nil
		}
		return s.puts(built, i+1)
	})
	if err != nil {
		return nil, nil, err
	}
	enough, err := s.inSound(built, 0)
	if err != nil {
		return nil, nil, err
	}
	sound, least, any := map[int]uint64{}, uint64(math.MaxUint64), uint64(math.MaxUint64)
	for i := range edits {
		if !ok[i] {
			continue
		}
		if right, err := s.everywhere(built, i+1); err != nil || !right {
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		n, err := s.inSound(built, i+1)
		if err != nil {
			return nil, nil, err
		}
		if n == 0 && enough > 0 {
			continue // it does not end there
		}
		if n == 0 { // where no block is right as it is, one edit is compared with another
			if n, err = s.work(built, i+1); err != nil {
				return nil, nil, err
			}
			if n == 0 {
				continue
			}
		}
		sound[i], any = n, min(any, n)
		if !edits[i].LosesMaximum() { // it may be refused yet, for numbers that overflow
			least = min(least, n)
		}
	}
	if least == math.MaxUint64 {
		least = any
	}
	for _, i := range slices.Sorted(maps.Keys(sound)) {
		// With an edit that has blocks compute what they need not, all is right too, by what masks that.
		c := candidate{edit: edits[i], cost: s.cost(&edits[i]), variant: i + 1}
		if n := sound[i]; s.exceeds(n, enough) || n > least+least/8 {
			c.more = s.exceeds(n, enough)
			s.needless = append(s.needless, c)
			continue
		}
		list = append(list, c)
	}
	if list, err = s.keeping(built, list); err != nil {
		return nil, nil, err
	}
	if list, err = s.needed(built, base, list); err != nil {
		return nil, nil, err
	}
	if list, err = s.elsewhere(built, list); err != nil {
		return nil, nil, err
	}
	if list, err = s.checked(built, list); err != nil {
		return nil, nil, err
	}
	return list, left, s.widely(built, list)
}

// keeping leaves out, where nothing judges a kernel's values, the candidates of a build with which something
// else is stored than without.
func (s *sourceEdit) keeping(b *build.Build, list []candidate) (kept []candidate, err error) {
	if !slices.ContainsFunc(s.q.suspects, s.q.unjudged) {
		return list, nil
	}
	for _, c := range list {
		if s.late() {
			break
		}
		ok, err := s.q.keepsStored(&remedy{build: b, variant: c.variant, bounds: c.edit.OfCondition()})
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// widely notes of the candidates of a build in how many shapes that are none of the manifest's something
// stays wrong with them.
func (s *sourceEdit) widely(b *build.Build, list []candidate) error {
	if len(list) == 0 {
		return nil
	}
	others, err := s.q.spoiltShapes()
	if err != nil {
		return err
	}
	for _, o := range others {
		ok, err := s.ask(len(list), func(i int) (bool, error) {
			return s.rightIn(o, b, list[i].variant, s.slower)
		})
		if err != nil {
			return err
		}
		for i := range list {
			if !ok[i] {
				list[i].narrow++
			}
		}
	}
	return nil
}

// rightIn reports whether all is right with a variant of a build in a configuration in which something is
// wrong without it. slower is how many times the instructions of the run the build has.
func (s *sourceEdit) rightIn(o *other, b *build.Build, variant int, slower uint64) (bool, error) {
	now, err := s.tryAll(o.spoilt, b, variant, slower)
	return now != nil && agreesThere(now), err
}

// tryAll executes all blocks of another run with a variant of a build, which has slower times the run's
// instructions; nil where that fails.
func (s *sourceEdit) tryAll(
	was *debugkern.Run, b *build.Build, variant int, slower uint64,
) (*debugkern.Run, error) {
	now, err := s.q.trial(was, debugkern.Trial{
		Build: b, Variant: variant, Blocks: was.Blocks(), Tiles: true,
		Budget: 4*slower*was.Report.Cost.WarpInstructions + patience,
	})
	if err != nil || now == nil || now.Report.Verdict == report.Failed {
		return nil, s.q.stopped(err)
	}
	return now, nil
}

// exceeds reports whether an edit has blocks that are right without it compute more than they did. Of warp
// instructions the edit itself may add some, of outputs of tensor cores it adds none.
func (s *sourceEdit) exceeds(n, than uint64) bool {
	margin := than / 4
	if s.q.run.Report.Cost.MMAOutputs > 0 {
		margin = than / 16
	}
	return than > 0 && n > than+margin
}

// needed leaves out the candidates of a build with which a block computes more although nothing lacks what
// that would bring: that all is right behind a loop that goes on is by what comes later in it.
func (s *sourceEdit) needed(b *build.Build, base *debugkern.Run, list []candidate) ([]candidate, error) {
	if s.q.lacksTerms() {
		return list, nil
	}
	var kept []candidate
	for _, c := range list {
		r, err := s.execute(debugkern.Trial{Build: b, Variant: c.variant})
		if err != nil {
			return nil, err
		}
		if r != nil && computesMore(r, base) {
			s.refuse(&rightEdit{edit: c.edit}, "blocks then compute more than they need")
			continue
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// checked leaves out the candidates of a build with which the checkers find something, the likeliest alone
// where there are many: to compile one alone takes longer.
func (s *sourceEdit) checked(b *build.Build, list []candidate) ([]candidate, error) {
	if len(list) < 2 {
		return list, nil
	}
	list = list[:min(len(list), mostRight)]
	ok, err := s.ask(len(list), func(i int) (bool, error) {
		r, err := s.q.try(nil, &remedy{build: b, variant: list[i].variant})
		return err == nil && r != nil && len(s.errors(r)) == 0 && s.q.allRight(r), err
	})
	if err != nil {
		return nil, err
	}
	var kept []candidate
	for i, c := range list {
		if ok[i] {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// elsewhere leaves out the candidates of a build that are wrong in another configuration, and those that
// execute more there than others, or than what is right there needs.
func (s *sourceEdit) elsewhere(b *build.Build, list []candidate) ([]candidate, error) {
	q := s.q
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.cost, y.cost) })
	list = list[:min(len(list), mostCandidates)]
	for o, err := range q.running(q.elsewheres()) {
		if err != nil {
			return nil, err
		}
		was := o.run
		variants := []int{0}
		for _, c := range list {
			variants = append(variants, c.variant)
		}
		work := make([]uint64, len(variants))
		ok, err := s.ask(len(variants), func(i int) (bool, error) {
			now, err := s.tryAll(was, b, variants[i], s.slower)
			if now == nil {
				return false, err
			}
			work[i] = workOf(now)
			return agreesThere(now), nil
		})
		if err != nil {
			return nil, err
		}
		var kept []candidate
		for i, c := range list {
			c.more = c.more || ok[0] && s.exceeds(work[i+1], work[0])
			if c.work += work[i+1]; ok[i+1] {
				kept = append(kept, c)
			}
		}
		list = kept
	}
	least := uint64(math.MaxUint64)
	for _, c := range list {
		least = min(least, c.work)
	}
	s.needNot(list)
	return slices.DeleteFunc(list, func(c candidate) bool {
		// An edit that leaves out others of the same build executes less too.
		much := c.work > least+least/4 || c.more
		if much {
			s.needless = append(s.needless, c)
		}
		return much
	}), nil
}

// agreesThere reports whether everything of a run in another configuration is right, and was captured.
func agreesThere(r *debugkern.Run) bool {
	missing := slices.ContainsFunc(r.Report.Stages, func(st report.Stage) bool { return st.NotCaptured > 0 })
	return len(wrongStages(r.Report)) == 0 && !(missing && r.Report.Verdict == report.Diverge)
}

// judging is how many warp instructions could be executed while what a trial captured is judged.
const judging = 20000

// mostCandidates is how many edits that put everything right are executed in other configurations.
const mostCandidates = 24

// onTheirLines tries further edits of the lines that candidates are on, of the lines on which it is computed
// how often a loop runs that one changes, of the conditions round what one guards, and of candidates that
// change several places those that change one of them, and returns the likeliest of all; nil where none is
// confirmed.
func (s *sourceEdit) onTheirLines(list []candidate, others []rewrite.Edit) (*rightEdit, error) {
	var more []rewrite.Edit
	// Where it is computed how often a loop runs, or the conditions round it.
	bounds := make([]map[int]bool, len(list))
	for i := range list {
		more = append(more, list[i].edit.Parts()...)
		if bounds[i] = s.set.BoundLines(&list[i].edit); bounds[i] == nil {
			bounds[i] = list[i].edit.HeaderLines()
		}
	}
	on := func(e *rewrite.Edit) bool {
		for i := range list {
			if c := &list[i].edit; c.Text == e.Text && (c.Line == e.Line || bounds[i][e.Line]) {
				return true
			}
		}
		return false
	}
	slices.SortStableFunc(others, func(a, b rewrite.Edit) int { return cmp.Compare(a.Rank, b.Rank) })
	// What was to be tried next may be as likely, and other lines have it.
	least, near := math.MaxInt, 0
	for i := range list {
		least = min(least, list[i].edit.Rank)
	}
	for _, e := range others {
		switch {
		case len(more)-near < mostOnLines && on(&e):
			more = append(more, e)
		case near < mostNext && e.Rank <= least+asLikely:
			more, near = append(more, e), near+1
		}
	}
	if len(more) > 0 {
		found, _, err := s.round(s.build(s.q.ctx, more))
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return s.likeliest(list)
}

// cost compares edits as Edit.Cost does. That a loop ends at another number than the function has computed is
// less likely than that it has computed another one, and so is an edit with doubts: that it happens to be
// right in the shapes that were tried shows little.
func (s *sourceEdit) cost(e *rewrite.Edit) int {
	n := e.Doubts()
	if s.set.BoundLines(e) != nil {
		n++
	}
	return e.Cost() + min(n, mostDoubts)*doubtCost
}

const (
	// doubtCost is how much more an edit costs for each thing that makes it doubtful, of which mostDoubts
	// count: an edit of a loop's end, or of a condition that is the same then.
	doubtCost  = 12
	mostDoubts = 2
)

const (
	// mostOnLines is how many further edits of the lines of candidates are tried, and mostNext how many of
	// other lines that are as likely: by asLikely ranks less than the likeliest candidate at most.
	mostOnLines = 128
	mostNext    = 96
	asLikely    = 2
)

// likeliest is the likeliest of edits that put everything right, nil where none is confirmed. Those come
// first that are right in most shapes.
func (s *sourceEdit) likeliest(list []candidate) (f *rightEdit, err error) {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.narrow, b.narrow), s.first(&a.edit, &b.edit), cmp.Compare(a.cost, b.cost),
			cmp.Compare(a.edit.Replaced(), b.edit.Replaced()))
	})
	compared := false
	for _, p := range sorted[:min(len(sorted), mostRight)] {
		e := p.edit
		switch {
		case f == nil:
			if f, err = s.confirmed(e); err != nil {
				return nil, err
			}
		case e.Text == f.edit.Text && e.Line == f.edit.Line && !compared:
			compared = true
			g, err := s.confirmed(e)
			if err != nil {
				return nil, err
			}
			if g != nil && workOf(g.run) < workOf(f.run)-workOf(f.run)/8 {
				f = g // with the other one threads do what others do as well
			}
		case (e.Text != f.edit.Text || e.Line != f.edit.Line) && p.cost <= s.cost(&f.edit)+asLikely &&
			p.narrow == sorted[0].narrow:
			spoilt, _, err := s.spoils(e)
			if err != nil {
				return nil, err
			}
			if spoilt == "" {
				f.also = &e
				return f, nil
			}
		}
	}
	return f, nil
}

// needNot notes the edits that leave out a statement under a condition, where so many others of its line are
// right everywhere that the condition merely must not hold, and puts them first.
func (s *sourceEdit) needNot(list []candidate) {
	for i := range list {
		e, alike := &list[i].edit, 0
		for j := range list {
			if o := &list[j].edit; o.Text == e.Text && o.Line == e.Line {
				alike++
			}
		}
		if e.LeavesOut() && alike > byChance {
			s.out = append(s.out, e.What)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return s.first(&a.edit, &b.edit) })
}

// first puts those edits first that leave out what merely must not be done.
func (s *sourceEdit) first(a, b *rewrite.Edit) int {
	rank := func(e *rewrite.Edit) int {
		if slices.Contains(s.out, e.What) {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// byChance is how many edits of a condition's line put everything right at most where one of them is meant.
const byChance = 8
