package diagnose

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// misplaced is the departure of a cell that has another cell's terms, computed right, in the place of its
// own: the index that is wrong is that of what is stored or added to.
func (q *inquiry) misplaced(cell string, c *debugkern.Contrast, at *report.Source) difference {
	home := q.cellPlace(c.Cell.Stage, c.Home[0], c.Home[1])
	return difference{
		at: at,
		text: fmt.Sprintf("%s gets at %s what belongs to cell %s, made of %s, and not its own, of %s", cell,
			callText(at), home, operandTexts(c.Foreign), operandTexts(c.Missing)),
		look: fmt.Sprintf("look at the index of the cell that %s stores or adds to: what goes to %s "+
			"belongs to %s", callText(at), q.cellPlace(c.Cell.Stage, c.Cell.Row, c.Cell.Col), home),
	}
}
