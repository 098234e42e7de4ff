package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A stage whose every wrong cell is what another stage in the place of one of its operands gives is made of
// that one: where it is read from its array is the place.

// mostLoads is of how many loads it is asked which array they read.
const mostLoads = 12

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
	var at *report.Source
	for n, o := range loads { // the nearest to the cell first
		if n == mostLoads || at != nil {
			break
		}
		list, _, err := q.base.Reaches(q.ctx, b.Block, []int{o})
		if err != nil {
			return false, q.fatal(err)
		}
		if slices.ContainsFunc(list, func(r debugkern.Reach) bool { return r.Base == other.Array }) {
			at = blame(fn, o)
		}
	}
	if w := b.Source; at != nil && w != nil && hasName(bare(q.quoted(w)), other.Array) {
		own := *w // a compiler reads once what two lines name
		at = &own
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
