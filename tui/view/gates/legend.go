package gates

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	marks := []view.Mark{
		{Glyph: g.OK, Text: "green: the gate is passed"}, {Glyph: g.Wrong, Text: "red: it is not"},
		{Glyph: g.Off, Text: "not judged, or not to be judged here"},
	}
	if man, _ := v.Manifest(); man != nil && v.partGates(man) != "" {
		marks = append(marks, view.Mark{Glyph: "gate", Text: v.partGates(man)})
	}
	return marks
}
