package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// mostInFormula is how many operations a formula of a story has at most.
const mostInFormula = 14

// formula adds to the reason of a suspect by which formula its first wrong cell is computed, and what the
// manifest has, where few operations make it and nothing else says what is wrong with them.
func (q *inquiry) formula(s *suspect, st probes.Stage, b *report.BadCell) error {
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil || len(cells) == 0 {
		return q.fatal(err)
	}
	text, ok := cells[0].Formula(mostInFormula)
	if !ok || !strings.ContainsAny(text, "+-*/^(") {
		return nil
	}
	says := fmt.Sprintf("cell (%d,%d) of %s is computed as %s", b.Row, b.Col, st, text)
	if op := q.run.Plan.Stage(st).Op; op != nil && op.Op == "map" {
		says += ", and the manifest has " + op.Params.Word["expr"]
	}
	if !slices.Contains(s.cause.Proof, says) {
		s.because(says)
	}
	return nil
}
