package frag

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	cursor := view.Mark{Glyph: g.Left + " " + g.Right, Text: "the cursor: the same cell in grid and tile"}
	switch p {
	case partBanks:
		return append(v.pane.bankLegend(),
			view.Mark{Glyph: "1", Text: "words of that bank in one access: more than one is a conflict"},
			view.Mark{Glyph: g.Equal, Text: "the access does not touch the bank"},
		)
	case partCells:
		return []view.Mark{
			cursor, {Glyph: g.Wrong, Text: "the kernel's table or the run's value is wrong here"},
			{Glyph: g.Off, Text: "no value: outside the problem"}, {Glyph: g.NaN, Text: "NaN"},
			{Glyph: g.Inf, Text: "infinite"},
			{Glyph: "0 2", Text: "as owners: how many elements of the fragment hold the cell"},
			{Glyph: "ulp", Text: view.ULPHelp},
		}
	}
	return []view.Mark{
		{Glyph: "3,1", Text: "row and column of the block that the lane of this row holds in that element"},
		cursor, {Glyph: g.Wrong, Text: "the kernel's table says another cell, or the run's value is wrong"},
		{Glyph: ":table", Text: "the kernel's own lookup tables, found by their content"},
		{Glyph: ":header", Text: "a table from a file; `tilescope lut --header` prints one that is right"},
		{Glyph: ":fragment", Text: "another instruction's fragment: WMMA, mma.sync, ldmatrix"},
	}
}
