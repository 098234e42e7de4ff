package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// mostInFormula is how many operations a formula of a story has at most.
const mostInFormula = 14

// formula adds to the reason of a suspect by which formula its first wrong cell is computed, where few
// operations make it, and which the manifest has. It is asked where nothing else says what is wrong.
func (q *inquiry) formula(s *suspect, st probes.Stage, b *report.BadCell) error {
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil || len(cells) == 0 {
		return q.fatal(err)
	}
	text, ok := cells[0].Formula(mostInFormula)
	ok = ok && strings.ContainsAny(text, "+-*/^(")
	right := ""
	if n := q.run.Plan.Stage(st).Op; n != nil && n.Op != "load" {
		right = debugkern.Formula(n)
	}
	says := ""
	switch {
	case ok && right != "":
		says = fmt.Sprintf("cell (%d,%d) of %s is computed as %s, and the manifest has %s", b.Row, b.Col, st, text,
			right)
	case ok:
		says = fmt.Sprintf("cell (%d,%d) of %s is computed as %s", b.Row, b.Col, st, text)
	case right != "" && s.cause.why == "":
		says = fmt.Sprintf("the manifest has %s = %s", st, right)
	}
	if says != "" && !slices.Contains(s.cause.Proof, says) {
		s.because(says)
	}
	return nil
}
