package diagnose

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// misplaced is the departure of a cell that has another cell's terms, computed right, in the place of its
// own: the index that is wrong is that of what is stored or added to.
func misplaced(cell string, c *debugkern.Contrast, at *report.Source) difference {
	home := fmt.Sprintf("(%d,%d)", c.Home[0], c.Home[1])
	return difference{
		at: at,
		text: fmt.Sprintf("%s gets at %s what belongs to cell %s, made of %s, and not its own, of %s", cell,
			callText(at), home, operandTexts(c.Foreign), operandTexts(c.Missing)),
		look: fmt.Sprintf("look at the index of the cell that %s stores or adds to: what goes to (%d,%d) "+
			"belongs to %s", callText(at), c.Cell.Row, c.Cell.Col, home),
	}
}
