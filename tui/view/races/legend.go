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
		var out []view.Mark
		for _, x := range []struct {
			mark uint8
			view.Mark
		}{
			{markRun, view.Mark{Glyph: g.H, Text: "the warp runs"}},
			{markDone, view.Mark{Glyph: g.V, Text: "a barrier is passed by all"}},
			{markArrive, view.Mark{Glyph: ">", Text: "the warp arrives at a barrier"}},
			{markWarp, view.Mark{Glyph: ":", Text: "a synchronisation of the warp"}},
			{markWait, view.Mark{Glyph: "w", Text: "a wait for an asynchronous copy"}},
			{markAccess, view.Mark{Glyph: "x", Text: "an access to the variable"}},
			{markA, view.Mark{Glyph: "A B", Text: "the two sides of the finding"}},
		} {
			if seen := v.pane.seen; seen == nil || seen[x.mark] {
				out = append(out, x.Mark)
			}
		}
		return out
	}
	return nil
}
