package flags

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	if p == partAbout {
		return []view.Mark{
			{Glyph: "max error", Text: view.MaxErrorHelp}, {Glyph: "worst error", Text: view.WorstErrorHelp},
		}
	}
	return []view.Mark{
		{Glyph: "[" + g.Check + "]", Text: "on: a flag or a fault"},
		{Glyph: "(" + g.Dot + ")", Text: "chosen: one of a variant, a gate, a shape"},
		{Glyph: "*", Text: "not what the variant has"},
		{Glyph: g.Off, Text: "refused now: the text at the right says why"},
		{Glyph: "<", Text: "what the search matches"},
	}
}
