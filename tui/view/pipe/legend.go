package pipe

import (
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	if p == partDetail {
		return []view.Mark{
			{Glyph: "local",
				Text: "errors of the stage alone: its reference is made of the kernel's own earlier tiles"},
			{Glyph: "global", Text: "errors of earlier stages included: the reference is made of the inputs"},
			{Glyph: "worst error", Text: view.WorstErrorHelp},
			{Glyph: "max error", Text: view.MaxErrorHelp},
			{Glyph: "stored at",
				Text: "the line that stored the first bad cell, or at which a probe captured it; \"computed at\" is " +
					"the line before it that made the value. What made it wrong, a diagnosis finds " +
					"(" + v.Keys.LabelIn(view.Pipe, keymap.Diagnose) + ")"},
			{Glyph: "digest",
				Text: "SHA-256 of all captured tiles and the output: equal where two runs have the " +
					"same bits"},
		}
	}
	return []view.Mark{
		{Glyph: g.OK, Text: "every cell is within its bound"},
		{Glyph: g.Wrong,
			Text: "wrong, made in this stage: with the number of bad cells, or of bad tiles of all blocks"},
		{Glyph: g.Taint, Text: "wrong because an earlier stage is: with the number of bad cells"},
		{Glyph: g.Absent, Text: "right, but for so many cells of all tiles that were not captured"},
		{Glyph: g.Off, Text: "not judged: off, or not reached"},
		{Glyph: g.Injected, Text: "injected by the gate: the kernel did not compute it"},
		{Glyph: "0 9",
			Text: "in the map of a tile without a reference: the value, from the least to the greatest"},
		{Glyph: g.Left + " " + g.Right, Text: "the cursor: Enter opens this tile"},
		{Glyph: "local bound",
			Text: "worst error of the stage alone, over all tiles, and that cell's bound: the error that is " +
				"the largest share of its bound; what earlier stages add is \"global\", below"},
	}
}
