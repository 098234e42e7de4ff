package source

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	at := view.Mark{Glyph: g.Pointer, Text: "what the warp that is stepped executes next"}
	stop := view.Mark{Glyph: g.Dot, Text: "a breakpoint"}
	switch p {
	case partCode, partPTX:
		return []view.Mark{at, stop, {Glyph: g.Left, Text: "the pane's own cursor"}}
	case partRegisters:
		return []view.Mark{{Glyph: g.Equal, Text: "not written yet"}}
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
