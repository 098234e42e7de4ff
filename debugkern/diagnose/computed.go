package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// A cell is often stored by another line than the one that computes it. Where neither its operands nor an
// edit say what is wrong, the operation that computes it is the last one that can be.

// placed are fingerprints of cells whose values may be right and in the wrong place, or pass through the
// wrong type on the way there: where they are stored is the place to look at.
var placed = []string{
	"permuted", "transposed", "shifted", "repeated", "previous-tile", "warp-rows", "zero", "rounded",
}

// counted matches a factor that is a size: "C (203)".
var counted = regexp.MustCompile(`^\w+ \(\d+\)`)

// computedAt makes the place of a stage's cause that of the operation that computes its first wrong cell; of
// several stages the operation whose result goes into the first wrong cells of all of them. Nothing changes
// where the cause has another place than where the cell is stored.
func (q *inquiry) computedAt(s *suspect) error {
	first := q.doc.Stage(s.cause.Stage)
	if s.cause.Kind != kindStage || len(s.stages) == 0 || first == nil || first.FirstBad == nil ||
		first.FirstBad.Source == nil || s.cause.Place.Source != first.FirstBad.Source || s.origin != nil {
		return nil
	}
	if p := pattern(first); p != nil && slices.Contains(placed, p.Name) {
		return nil
	}
	var cells []debugkern.Cell
	for _, st := range s.stages {
		doc := q.doc.Stage(st.String())
		if doc == nil || doc.FirstBad == nil || doc.FirstBad.Block != first.FirstBad.Block ||
			doc.FirstBad.KVTile != first.FirstBad.KVTile {
			continue
		}
		b := doc.FirstBad
		cells = append(cells, debugkern.Cell{
			Place: debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)},
			Row:   b.Row, Col: b.Col,
		})
	}
	at, err := q.run.MadeAt(q.ctx, cells...)
	if err == nil && at == nil && len(cells) > 1 {
		at, err = q.run.MadeAt(q.ctx, cells[0])
	}
	if err != nil || at == nil {
		return q.fatal(err)
	}
	if p := pattern(first); p != nil && p.Name == "factor" && counted.MatchString(p.Value) && at.Calls != "" {
		return nil // what a function gives is not divided by a count behind its call
	}
	if s.lacksOwn() { // what is added to belongs where the result of a function is taken
		out := at.Outermost()
		at = &out
		if right := q.manifestFormula(s.stages[0]); right != "" {
			s.because(fmt.Sprintf("the manifest has %s = %s", s.stages[0], right))
		}
	}
	q.movePlace(s, first, at)
	return nil
}

// lacksOwn reports whether all that the first wrong cell of a suspect lacks is what its stage was in the tile
// before.
func (s *suspect) lacksOwn() bool {
	if s.contrast == nil || len(s.contrast.Missing) == 0 || len(s.contrast.Foreign) > 0 {
		return false
	}
	return !slices.ContainsFunc(s.contrast.Missing, func(o debugkern.Operands) bool {
		return o.Of != s.cause.Stage || !strings.Contains(o.Text, "@")
	})
}

// movePlace makes a line the place of a stage's cause, in place of where the first wrong cell is stored.
func (q *inquiry) movePlace(s *suspect, doc *report.Stage, at *report.Source) {
	if at.At() == doc.FirstBad.Source.At() && at.Calls == doc.FirstBad.Source.Calls {
		return
	}
	s.cause.Place.Source = at
	s.cause.Title += "; computed at " + callText(at)
	was := stageAdvice(s.cause.Stage, doc, doc.FirstBad.Source)
	now := q.citing(stageAdvice(s.cause.Stage, doc, at), ": ", at)
	s.cause.Advice = strings.Replace(s.cause.Advice, was, now, 1)
}
