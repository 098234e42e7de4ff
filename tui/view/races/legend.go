package races

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	switch p {
	case partFindings:
		return []view.Mark{
			{Glyph: g.Wrong, Text: "an error"}, {Glyph: g.Taint, Text: "advice"}, {Glyph: g.OK,
				Text: "a cause with its proof"},
			{Glyph: "4 pairs",
				Text: "what has this one cause: pairs of accesses of a race; else accesses, reads, elements, cells, " +
					"or times"},
			{Glyph: "9 needed",
				Text: "so many of the kernel's barriers and waits (synchronisations) cannot be taken " +
					"away without a race"},
		}
	case partWriters:
		if v.pane.Hanging() {
			return []view.Mark{
				{Glyph: g.Dot, Text: "warps that wait at a barrier, and how much of it has arrived"},
				{Glyph: g.V, Text: "what they need"}, {Glyph: g.Below, Text: "those who owe it wait below"},
				{Glyph: g.TeeL + g.Pointer, Text: "those who owe it wait there, drawn above"},
				{Glyph: g.Wrong, Text: "no thread will do it, and why"},
				{Glyph: g.TL + g.V + g.BL, Text: "a cycle: its last wait needs its first"},
			}
		}
		return []view.Mark{
			{Glyph: "7", Text: "the warp that wrote the cell last (a is 10, v is 31)"},
			{Glyph: "!", Text: "two warps touched it in no defined order"},
			{Glyph: g.Equal, Text: "never written"},
			{Glyph: g.Left + " " + g.Right + " +",
				Text: "the finding's element: in brackets, or marked by + where room is short"},
		}
	case partSchedule:
		return []view.Mark{
			{Glyph: g.H, Text: "the warp runs"}, {Glyph: g.V, Text: "a barrier is passed by all"},
			{Glyph: ">", Text: "the warp arrives at a barrier"}, {Glyph: ":",
				Text: "a synchronisation of the warp"},
			{Glyph: "w", Text: "a wait for an asynchronous copy"}, {Glyph: "x",
				Text: "an access to the variable"},
			{Glyph: "A B", Text: "the two sides of the finding"},
		}
	}
	return nil
}
