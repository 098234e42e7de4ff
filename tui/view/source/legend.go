package source

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	at := view.Mark{Glyph: g.Pointer, Text: "what the warp that is stepped executes next"}
	stop := view.Mark{Glyph: g.Dot, Text: "a breakpoint"}
	stops := []view.Mark{
		at, {Glyph: "Δ", Text: "what wrote the cell whose change stopped the block, which stands behind it"},
		stop, {Glyph: "?", Text: "a breakpoint with a condition"},
		{Glyph: g.Ring, Text: "a breakpoint that is disabled"},
	}
	switch p {
	case partCode:
		return append(stops, view.Mark{Glyph: g.Left, Text: "the pane's own cursor"})
	case partPTX:
		return append(stops, view.Mark{Glyph: g.Left, Text: "the pane's own cursor"},
			view.Mark{Glyph: g.V, Text: "an instruction of the source line where the warp stands, or chosen"},
			view.Mark{Glyph: "1-9", Text: "how many other warps execute this next (9: or more)"})
	case partRegisters:
		return []view.Mark{
			{Glyph: g.Pointer, Text: "the instruction that the warp executes next reads or writes it"},
			{Glyph: g.V, Text: "another instruction of the same source line does; all others are listed below"},
			{Glyph: "Δ", Text: "changed since the stop before"},
			{Glyph: g.Equal, Text: "the same as in the first lane that is shown; in a strip: a lane not active"},
			{Glyph: "@3", Text: "in lane 3; before the values of all lanes: that of the cursor's lane in full"},
			{Glyph: "= 2.5", Text: "before the values of all lanes: what every active lane holds, in full"},
		}
	case partShared:
		return []view.Mark{{Glyph: g.Left + " " + g.Right, Text: "the pane's own cursor"}, stop}
	case partWarps:
		return []view.Mark{
			{Glyph: g.Dot, Text: "the warp that is stepped"},
			{Glyph: g.Spark[len(g.Spark)-1], Text: "a lane that executes"}, {Glyph: g.Equal,
				Text: "a lane that does not"},
		}
	}
	return nil
}
