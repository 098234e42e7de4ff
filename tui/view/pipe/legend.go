package pipe

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	return []view.Mark{
		{Glyph: g.OK, Text: "every cell is within its bound"},
		{Glyph: g.Wrong, Text: "wrong, made in this stage: with the number of bad cells, or of bad tiles of all blocks"},
		{Glyph: g.Taint, Text: "wrong because an earlier stage is: with the number of bad cells"},
		{Glyph: g.Off, Text: "not judged: off, or not reached"},
		{Glyph: g.Left + " " + g.Right, Text: "the cursor: Enter opens this tile"},
	}
}
