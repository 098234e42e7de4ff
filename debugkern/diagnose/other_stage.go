package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A stage whose every wrong cell is what another stage in the place of one of its operands gives is made of
// that one: where it is read from its array is the place.

// otherStage makes the line that reads the array of another stage the place of a suspect, where all wrong
// cells of its stage look like made of that one; false where they do not, or no line is found.
func (q *inquiry) otherStage(s *suspect, st probes.Stage) (bool, error) {
	doc := q.doc.Stage(st.String())
	if doc == nil || doc.FirstBad == nil {
		return false, nil
	}
	p := pattern(doc)
	if p == nil || p.Name != "operand" || p.Explains < 1 {
		return false, nil
	}
	is, right, ok := strings.Cut(p.Value, " in place of ")
	other := q.run.Plan.Stage(probes.Stage(is))
	if !ok || other == nil || other.Array == "" {
		return false, nil
	}
	b := doc.FirstBad
	ops, err := q.base.Slice(q.ctx, st, b.Block, max(b.KVTile, 0), q.wrongCells(st, b))
	if err != nil {
		return false, q.fatal(err)
	}
	fn := q.run.Entry()
	var loads []int
	for _, o := range ops {
		if in := fn.Body[o.At]; in.Kind().Loads() && !in.Loc.Within(target.IsProbe) {
			loads = append(loads, o.At)
		}
	}
	list, _, err := q.base.Reaches(q.ctx, b.Block, loads)
	if err != nil {
		return false, q.fatal(err)
	}
	var at *report.Source
	for _, o := range loads { // the nearest to the cell first
		for _, r := range list {
			if r.At == o && r.Base == other.Array && at == nil {
				at = blame(fn, o)
			}
		}
	}
	if at == nil {
		return false, nil
	}
	out := at.Outermost()
	s.because(fmt.Sprintf("%s is made of %s where %s belongs (in %s), which is read at %s", st, is, right,
		explained(doc, p), callText(at)))
	s.cause.Place.Source, s.cause.Place.Other = at, nil
	s.cause.Advice = q.citing(fmt.Sprintf("take %s in place of %s at %s", right, is, out.At()), ": ", &out)
	return true, nil
}
