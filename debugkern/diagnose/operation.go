package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
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
	b := doc.FirstBad
	found, err := repair.Search(q.ctx, q.base, repair.Question{
		Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0), Cells: [][2]int{{b.Row, b.Col}},
		Near: s.cause.Place.Source,
	})
	if err != nil {
		return q.fatal(err)
	}
	for i := range found.Cures {
		c := &found.Cures[i]
		r := &remedy{
			text:  "with " + c.What + " at " + report.SourceOf(c.Source).At(),
			edits: func(*debugkern.Run) []ptx.Edit { return c.Edits },
		}
		run, err := q.try(nil, r)
		if err != nil {
			return err
		}
		if run != nil && q.puts(run, group) {
			q.blameOn(s, c, r, run)
			return nil
		}
	}
	return nil
}

// puts reports whether a run has stages right, all of them that was judged before, without a stage or finding
// that was not wrong before.
func (q *inquiry) puts(r *debugkern.Run, group []probes.Stage) bool {
	if r.Report.Verdict == report.Failed ||
		len(newErrors(r.Report, identities(errorsOf(q.base.Report)))) > 0 {
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

// blameOn makes an edit that was tried the remedy of a suspect, and the operation that it changes its place.
func (q *inquiry) blameOn(s *suspect, c *repair.Cure, r *remedy, run *debugkern.Run) {
	src := report.SourceOf(c.Source)
	at := callText(src)
	r.advice = fmt.Sprintf("at %s: %s", at, c.What)
	s.remedy, s.alone = r, run
	s.cause.Place.Source = src
	s.cause.Advice = q.inRows(r.advice, s)
	if c.Was != "" {
		s.cause.Title += fmt.Sprintf("; made wrong at %s: %s stands where %s belongs", at, c.Was, c.Now)
	} else {
		s.cause.Title += fmt.Sprintf("; made wrong at %s: right with %s", at, c.What)
	}
}

// operands contrasts the first wrong cell of a stage with what the manifest says that it is made of, and with
// right cells: what all of those have too is no reason. The place becomes that of the instruction that reads
// the operand which should not be there.
func (q *inquiry) operands(s *suspect, st probes.Stage) error {
	doc := q.base.Report.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil
	}
	b := doc.FirstBad
	cells := [][2]int{{b.Row, b.Col}}
	if !q.largest(st) {
		cells = append(cells, q.rightCells(st, b.Block, b.KVTile)...)
	}
	list, err := q.base.Contrast(q.ctx, st, b.Block, max(b.KVTile, 0), cells)
	if err != nil {
		return q.fatal(err)
	}
	bad := &list[0]
	departs := 0
	for i := range list[1:] {
		if alike(bad, &list[1+i]) {
			departs++
		}
	}
	if bad.Empty() || departs > 0 && departs == len(list)-1 {
		return nil
	}
	text, at := departure(bad)
	s.cause.Proof = append(s.cause.Proof, text)
	s.cause.why = text
	if at != nil {
		s.cause.Place.Source = at
		look := "look at how the operands come together from " + callText(at) + " on"
		if len(bad.Foreign) > 0 {
			look = "look at which operand is taken at " + callText(at)
		}
		s.cause.Advice = q.inRows(look, s)
	}
	return nil
}

// largest reports whether a stage is a maximum: a cell may be right although operands are missing,
// those that are smaller.
func (q *inquiry) largest(st probes.Stage) bool {
	sp := q.run.Plan.Stage(st)
	return sp.Op != nil && (sp.Op.Op == "rowmax" || sp.Op.Params.Word["how"] == "max")
}

// inRows adds the rows of a tile to an advice, where a stage is wrong in some of them alone.
func (q *inquiry) inRows(advice string, s *suspect) string {
	if rows := q.doc.Judged().BadRows(s.stages[0]); rows != "" {
		return advice + ", in " + rows
	}
	return advice
}

// alike reports whether two cells depart from what they should be made of in the same way.
func alike(a, b *debugkern.Contrast) bool {
	count := func(list []debugkern.Operands) (n int) {
		for _, o := range list {
			n += o.N
		}
		return n
	}
	return count(a.Foreign) == count(b.Foreign) && count(a.Missing) == count(b.Missing)
}

// departure says in words how a cell departs from what it should be made of, and where.
func departure(c *debugkern.Contrast) (string, *report.Source) {
	texts := func(list []debugkern.Operands) string {
		var out []string
		for i, o := range list {
			if i == 3 {
				out = append(out, fmt.Sprintf("%d more", len(list)-i))
				break
			}
			out = append(out, o.Text)
		}
		return strings.Join(out, ", ")
	}
	cell := fmt.Sprintf("cell (%d,%d) of %s", c.Cell.Row, c.Cell.Col, c.Cell.Stage)
	var at *report.Source
	for _, list := range [][]debugkern.Operands{c.Foreign, c.Twice, c.Missing} {
		if len(list) > 0 && at == nil {
			at = list[0].At
		}
	}
	read, others := "", ""
	if at != nil {
		read, others = ", read at "+callText(at), "; the others come in at "+callText(at)
	}
	switch {
	case len(c.Foreign) > 0 && len(c.Missing) > 0:
		return fmt.Sprintf("%s is made of %s%s, where %s belongs", cell, texts(c.Foreign), read,
			texts(c.Missing)), at
	case len(c.Foreign) > 0:
		return fmt.Sprintf("%s is made of %s too%s, which has no part in it", cell,
			texts(c.Foreign), read), at
	case len(c.Twice) > 0:
		return fmt.Sprintf("%s is made of %s twice%s, and not of %s", cell, texts(c.Twice), read,
			texts(c.Missing)), at
	}
	return fmt.Sprintf("%s is not made of %s%s", cell, texts(c.Missing), others), at
}

// rightCells are some cells of a stage's tile that are within their bounds, spread over it; none where nearly
// all are wrong, for then others may be right by chance.
func (q *inquiry) rightCells(st probes.Stage, block probes.Dim3, kv int) [][2]int {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: block, KVTile: max(kv, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() || 10*v.Verdict.Bad >= 9*v.ValidRows*v.ValidCols {
		return nil
	}
	var all [][2]int
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if v.Judged(r, c, true) && !v.Bad(r, c, true) {
				all = append(all, [2]int{r, c})
			}
		}
	}
	const most = 6
	if len(all) <= most {
		return all
	}
	out := make([][2]int, most)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(most-1)]
	}
	return out
}
