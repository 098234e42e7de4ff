package tile

import (
	"strings"

	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	if p == partAncestry {
		return v.ancestryLegend()
	}
	return append(v.legend(p), v.settingsLegend()...)
}

// ancestryLegend explains the words of the tree of a cell's lineage.
func (v *Controller) ancestryLegend() []view.Mark {
	return []view.Mark{
		{Glyph: "#6", Text: "an operation that is an operand in several places: it stands in full once, " +
			"else (above)"},
		{Glyph: "5 values",
			Text: "one operation of the source made them: of how many lanes, and how often a lane"},
	}
}

// settingsLegend explains the right end of the tab line: how numbers are written and what counts as bad.
func (v *Controller) settingsLegend() []view.Mark {
	k := func(a keymap.Action) string { return v.Keys.LabelIn(view.Tile, a) }
	s := v.pane.Settings()
	diff, bound := s.notes(v.noteWidth())
	marks := []view.Mark{
		{Glyph: s.Format.String(), Text: "how numbers are written: " + k(keymap.Format) +
			" goes on to the next"},
		{Glyph: "2k 5m",
			Text: "units where room is short: k M G thousands, millions and so on; m u n thousandths, " +
				"millionths and so on"},
		{Glyph: diff,
			Text: "how the error column measures: " + k(keymap.Diff)},
		{Glyph: "ulp", Text: view.ULPHelp},
		{Glyph: bound,
			Text: "where a cell is bad. derived: above the bound " +
				"that follows from the stage's arithmetic, cell by cell; else above so many ulp: " +
				k(keymap.BoundUp) + " " + k(keymap.BoundDown)},
	}
	if v.pane.unreferenced() {
		return marks[:2]
	}
	return marks
}

// legend explains the marks of a part.
func (v *Controller) legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	cursor := view.Mark{Glyph: g.Left + " " + g.Right, Text: "the cursor, on the same cell in every column"}
	switch p {
	case partSource:
		return []view.Mark{{Glyph: g.Pointer,
			Text: "the line that stored the cell: a value that is wrong may " +
				"come from elsewhere"}}
	case partRail:
		return []view.Mark{
			{Glyph: g.OK, Text: "every cell of the stage is within its bound"}, {Glyph: g.Wrong,
				Text: "wrong"},
			{Glyph: "9 bad", Text: "so many bad cells of the stage in all blocks and iterations; below the tile: " +
				"of this tile"},
			{Glyph: "worst", Text: view.WorstErrorHelp},
			{Glyph: "max error", Text: view.MaxErrorHelp},
			{Glyph: g.Taint, Text: "wrong because an earlier stage is"}, {Glyph: g.Off, Text: "not judged"},
		}
	case partReference:
		return []view.Mark{cursor,
			{Glyph: "local", Text: "the stage alone: made of the kernel's own earlier tiles"},
			{Glyph: "global", Text: "made of the inputs, as if every earlier stage were right"},
			{Glyph: "mirrored", Text: "made of the inputs in the kernel's own arithmetic"},
		}
	}
	if v.pane.unreferenced() {
		return []view.Mark{cursor,
			{Glyph: g.Differs, Text: "two backends, or A and B, computed it differently"},
			{Glyph: g.Absent, Text: "not captured: no thread stored the cell"}}
	}
	marks := []view.Mark{cursor}
	if v.pane.Settings().Heat == HeatMap {
		marks = append(marks, view.Mark{Glyph: v.Theme.Scale(),
			Text: "in the map: the value, from the least of the tile to its greatest"})
	}
	return append(marks, []view.Mark{
		{Glyph: g.Above, Text: "too large: above the reference by more than the bound"},
		{Glyph: g.Below, Text: "too small: below the reference by more than the bound"},
		{Glyph: g.NaN, Text: "NaN where the reference is a number"},
		{Glyph: g.Inf, Text: "infinite where the reference is not"},
		{Glyph: "+ -",
			Text: "within the bound: above, below the reference; a bad cell's mark is its sign where " +
				"room is short"},
		{Glyph: "+/-", Text: "so many ulp that they say no more than that the sign is the other one"},
		{Glyph: g.Equal,
			Text: "0 ulp (in the error column): the reference, rounded to the tile's type, has the " +
				"same bits"},
		{Glyph: g.Differs, Text: "two backends, or A and B, computed it differently"},
		{Glyph: g.Absent, Text: "not captured: no thread stored the cell"},
		{Glyph: strings.Join(g.Spark[1:6], ""),
			Text: "below the tile: how many cells have an error of which " +
				"multiple of their bound: below -4, -4 to -1, -1 to 0, 0, 0 to 1, 1 to 4, above 4"},
		{Glyph: "bad 3/9", Text: "below the tile: 3 of the 9 compared cells of this tile are bad"},
	}...)
}
