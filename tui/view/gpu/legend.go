package gpu

import "tilescope/tui/view"

// Legend implements view.Explained.
func (v *Controller) Legend(p view.Part) []view.Mark {
	g := v.Theme.Glyph
	if p == partDevices {
		return []view.Mark{
			{Glyph: g.Dot, Text: "runs go to this device"}, {Glyph: g.Ring,
				Text: "another device: Enter runs there"},
		}
	}
	if p == partChecks {
		return []view.Mark{{Glyph: g.OK, Text: "found"}, {Glyph: g.Wrong,
			Text: "missing, with what to install"}}
	}
	return nil
}
