package gates

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	return []view.Mark{
		{Glyph: g.OK, Text: "green: the gate is passed"}, {Glyph: g.Wrong, Text: "red: it is not"},
		{Glyph: g.Off, Text: "not judged, or not to be judged here"},
	}
}
