package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// operation looks for the one operation that makes a stage wrong: with an edit of it every cell of the stage
// is right, on all blocks that experiments execute, and no checker finds anything that it does not find
// without. Such an edit is the cause's remedy.
func (q *inquiry) operation(s *suspect, group []probes.Stage) error {
	st := group[0]
	doc := q.base.Report.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil
	}
	if s.retyped || q.unread(s, st) {
		return nil
	}
	b := doc.FirstBad
	all, err := q.explanations(group)
	if err != nil {
		return err
	}
	if !s.unstored {
		if s.mask, err = q.maskOf(s); err != nil {
			return err
		}
	}
	for i := range all {
		if all[i].Kind == needed.Without {
			s.drops = append(s.drops, all[i].Leaves...)
		}
	}
	masked := s.mask != nil || q.looksMasked(st)
	trials := 0 // as many as the kernel's size allows
	if s.contrast != nil {
		trials = trialsNear
	}
	var best *proof
	confirm := func(c *repair.Cure) (bool, error) {
		p, err := q.prove(c, group)
		if err != nil || p == nil {
			return false, err
		}
		if best == nil || cmp.Or(cmp.Compare(p.rank(), best.rank()), cmp.Compare(p.left(), best.left())) < 0 {
			best = p
		}
		return p.rank() <= ofSize && (p.left() == 0 || !masked), nil
	}
	factor := q.factorOf(st, doc)
	scaled := factor != 0 && (s.contrast == nil || len(s.contrast.Foreign) == 0)
	res, err := repair.Search(q.ctx, q.base, repair.Question{
		Trials: trials, Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0), Cells: q.wrongCells(st, b),
		Near: s.nearest(all), Numbers: numbersOf(all), Factor: factor,
		Values: s.whole || s.keptApart() || scaled, Masked: masked, Skipped: stale(doc) || s.skips(all),
		Coarse:  q.coarse(st, b),
		Until:   q.begun.Add(longestSearch),
		Confirm: confirm,
	})
	if err != nil {
		return q.fatal(err)
	}
	s.late = s.late || res.Late
	if proven := best != nil && best.rank() != onlyHere; s.mask != nil && (best == nil || proven ||
		s.mask.at != nil) {
		if proven {
			q.blameOn(s, best)
		}
		q.blameMask(s, proven)
		if proven || s.mask.at != nil {
			return nil
		}
	}
	found := s.left(q.notOf(st, all), doc)
	if s.unstored {
		found = nil // what the loop leaves is computed right, and not kept
	}
	if best != nil && (found == nil || best.rank() != onlyHere) {
		q.blameOn(s, best)
		wordless := best.cure.Was == "" && s.cause.why == "" && s.cause.Rewrite == nil
		if op := q.run.Plan.Stage(st).Op; wordless && op != nil && op.Op == "map" {
			return q.formula(s, st, b)
		}
		return nil
	}
	if masked, err := q.masked(s, st, doc); err != nil || masked {
		return err
	}
	if best == nil && (found == nil || found.Some) {
		known, err := q.withoutEdit(s, st, b)
		if err != nil || known {
			return err
		}
	}
	switch {
	case found != nil:
		q.explain(s, found)
	case best != nil:
		if q.blameOn(s, best); s.refuted {
			return q.formula(s, st, b)
		}
	}
	switch {
	case s.mask != nil:
		s.because(s.mask.text)
	case best == nil && found == nil && (s.contrast == nil || len(s.contrast.Foreign) == 0):
		return q.formula(s, st, b)
	}
	return nil
}

// withoutEdit looks for what the executed values say of a suspect whose cells no edit and no rule explains;
// false where that is nothing.
func (q *inquiry) withoutEdit(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	ways := []func(*suspect, probes.Stage, *report.BadCell) (bool, error){
		q.staleRead, q.rescaledLate, q.zeroFactor,
	}
	if m := s.mask; m == nil || m.at == nil && m.stage != st {
		ways = append(ways, q.unexecuted)
	}
	for _, way := range ways {
		if known, err := way(s, st, b); err != nil || known {
			return known, err
		}
	}
	return false, nil
}

// factorOf is the factor that the wrong cells of a stage all have, by the tile in which it first went wrong;
// 0 where they look like something else.
func (q *inquiry) factorOf(st probes.Stage, doc *report.Stage) float64 {
	p, b := pattern(doc), doc.FirstBad
	if p == nil || p.Name != "factor" || strings.Contains(p.Value, "fitted") {
		return 0
	}
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return 0
	}
	var product, square float64
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if want := v.Local[r*v.Plan.Cols+c]; v.Judged(r, c, true) && isBad(v, r, c) {
				product += want * v.Got.At(r, c)
				square += want * want
			}
		}
	}
	if square == 0 || math.IsNaN(product) || math.IsInf(product, 0) {
		return 0
	}
	return product / square
}

// coarse reports whether the wrong cells of the tile in which a stage first went wrong are right to a few
// digits, as far as they are no small differences.
func (q *inquiry) coarse(st probes.Stage, b *report.BadCell) bool {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return false
	}
	largest, far := 0.0, 0.0
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			want := v.Local[r*v.Plan.Cols+c]
			if largest = max(largest, math.Abs(want)); v.Judged(r, c, true) && isBad(v, r, c) {
				far = max(far, math.Abs(v.Got.At(r, c)-want))
			}
		}
	}
	const digits = 1.0 / 64 // two roundings to bfloat16, or many to half
	return far <= digits*largest
}

// keptApart reports whether all that a wrong cell of a suspect lacks is what other threads have, and do not
// hand on.
func (s *suspect) keptApart() bool {
	return s.contrast != nil && len(s.contrast.Foreign) == 0 && len(s.contrast.Missing) > 0 &&
		!slices.ContainsFunc(s.contrast.Missing, func(o debugkern.Operands) bool { return o.Threads == "" })
}

// skips reports whether a wrong cell of a suspect lacks what belongs in it, and has nothing in its place, or
// nothing says what is wrong with it.
func (s *suspect) skips(all []explanation) bool {
	if s.contrast == nil {
		return len(all) == 0
	}
	return len(s.contrast.Foreign) == 0 && len(s.contrast.Missing) > 0
}

// masked makes the line that masks the scores the place of a stage whose error looks like a mask that is off;
// false where it is none, or no line is known.
func (q *inquiry) masked(s *suspect, st probes.Stage, doc *report.Stage) (bool, error) {
	b := doc.FirstBad
	if p := pattern(doc); p != nil && s.cause.why == "" && slices.Contains(masks, p.Name) {
		src, _, err := repair.MaskedAt(q.ctx, q.base, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
		if err != nil || src == nil {
			return false, q.fatal(err)
		}
		at := report.SourceOf(src)
		if !q.compares(at) { // scores that are never made, or another stage's
			return false, nil
		}
		s.cause.Place.Source = at
		s.cause.why = "the scores are masked at " + callText(at)
		s.cause.Advice = fmt.Sprintf("look at %s: the error looks like %s (%s)", callText(at), p.Name,
			p.Value)
		return true, nil
	}
	return false, nil
}

// trialsNear is how many edits are tried where the operands of a wrong cell say at which line to begin.
const trialsNear = 128

// masks are fingerprints of scores that take part and should not, or the other way round.
var masks = []string{"mask", "last-tile"}

// looksMasked reports whether the cells of a stage look like scores that take part and should not, or the
// other way round.
func (q *inquiry) looksMasked(st probes.Stage) bool {
	doc := q.doc.Stage(st.String())
	if doc == nil {
		return false
	}
	p := pattern(doc)
	return p != nil && slices.Contains(masks, p.Name)
}

// wrongCells are the first wrong cell of a stage and some others of its tile: in the next column and row that
// have one, and the last. Two lines of the source may make two columns.
func (q *inquiry) wrongCells(st probes.Stage, first *report.BadCell) [][2]int {
	out := [][2]int{{first.Row, first.Col}}
	v, err := q.base.View(debugkern.Place{Stage: st, Block: first.Block, KVTile: max(first.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return out
	}
	var col, row, last [2]int
	for r := first.Row; r < v.ValidRows; r++ {
		for c := range v.ValidCols {
			if (r == first.Row && c <= first.Col) || !v.Judged(r, c, true) || !v.Bad(r, c, true) {
				continue
			}
			if at := [2]int{r, c}; r == first.Row && col == [2]int{} {
				col = at
			} else if r > first.Row && row == [2]int{} {
				row = at
			}
			last = [2]int{r, c}
		}
	}
	for _, c := range [][2]int{col, row, last} {
		if c != [2]int{} && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// puts reports whether a run has stages right, all of them that was judged before, without a stage or finding
// that was not wrong before.
func (q *inquiry) puts(r *debugkern.Run, group []probes.Stage) bool {
	if r.Report.Verdict == report.Failed || len(wrongStages(r.Report)) > 0 && q.worse(r) ||
		len(newErrors(r.Report, q.base.Report, false)) > 0 {
		return false
	}
	for _, st := range group {
		if now := r.Report.Stage(st.String()); now == nil || now.Local.Bad > 0 {
			return false
		}
	}
	for i := range r.Report.Stages {
		x := &r.Report.Stages[i]
		if w := q.base.Report.Stage(x.Name); w == nil || x.Local.Bad > w.Local.Bad ||
			x.Local.Cells < w.Local.Cells {
			return false
		}
	}
	return true
}
