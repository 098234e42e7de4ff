package tile

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	cursor := view.Mark{Glyph: g.Left + " " + g.Right, Text: "the cursor, on the same cell in every column"}
	switch p {
	case partSource:
		return []view.Mark{{Glyph: g.Pointer, Text: "the line that stored the cell: a value that is wrong may come from elsewhere"}}
	case partRail:
		return []view.Mark{
			{Glyph: g.OK, Text: "every cell of the stage is within its bound"}, {Glyph: g.Wrong,
				Text: "wrong"},
			{Glyph: g.Taint, Text: "wrong because an earlier stage is"}, {Glyph: g.Off, Text: "not judged"},
		}
	case partAncestry:
		return nil
	case partReference:
		return []view.Mark{cursor}
	}
	return []view.Mark{
		cursor, {Glyph: g.Above, Text: "too large: above the reference by more than the bound"},
		{Glyph: g.Below, Text: "too small: below the reference by more than the bound"},
		{Glyph: g.NaN, Text: "NaN where the reference is a number"},
		{Glyph: g.Inf, Text: "infinite where the reference is not"},
		{Glyph: g.Equal, Text: "no error at all (in the error column)"},
		{Glyph: g.Differs, Text: "two backends computed it differently"},
		{Glyph: g.Absent, Text: "not captured: no thread stored the cell"},
	}
}
