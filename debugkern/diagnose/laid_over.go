package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// laidOver is the departure of a cell that has what belongs to a stage which its own is not computed from,
// and which the line stored there that stores that stage: two arrays share memory while both are in use. nil
// where it is none.
func (q *inquiry) laidOver(st probes.Stage, b *report.BadCell, c *debugkern.Contrast) *difference {
	sp := q.run.Plan.Stage(st)
	if sp == nil || sp.Array == "" || b.Source == nil || len(c.Foreign) == 0 || len(c.Missing) == 0 {
		return nil
	}
	over := probes.Stage(c.Foreign[0].Of)
	if q.run.Plan.Stage(over) == nil || over == st || q.ancestors(st).Has(over) ||
		slices.ContainsFunc(c.Foreign, func(o debugkern.Operands) bool { return o.Of != over.String() }) {
		return nil
	}
	w, err := q.run.Writer(q.ctx, debugkern.Cell{
		Place: debugkern.Place{Stage: over, Block: b.Block, KVTile: max(b.KVTile, 0)},
	})
	if err != nil || w == nil {
		return nil
	}
	own := report.SourceOf(w.Source)
	if own == nil || own.At() != b.Source.At() || own.Calls != b.Source.Calls {
		return nil // it stores the cell's own stage, made of something else
	}
	at := callText(b.Source)
	return &difference{
		at: b.Source,
		text: fmt.Sprintf("%s is made of %s, which %s stores in %s, where %s belongs",
			q.cell(st, b.Row, b.Col), operandTexts(c.Foreign), at, sp.Array, operandTexts(c.Missing)),
		look: fmt.Sprintf("give %s a place of its own: %s stores it over %s, which is still used", over, at, st),
	}
}
