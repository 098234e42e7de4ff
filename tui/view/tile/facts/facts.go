// Package facts is the pane of a few facts by name: the gates and the device beside a tile,
// where there is room.
//
// It must not know what the facts are about.
package facts

import "tilescope/tui/theme"

// View fills w×h with lines of name and value.
func View(th *theme.Theme, title string, facts [][2]string, w, h int) []string {
	if w < 4 || h < 3 {
		return th.Blank(w, h)
	}
	var lines []string
	for _, f := range facts {
		for i, s := range th.Wrap(f[1], w-2-12) {
			name := f[0]
			if i > 0 {
				name = ""
			}
			lines = append(lines, th.Line(w-2).Space(1).Add(th.Dim, name).Pad(11).Add(th.Text, s).Done())
		}
	}
	return th.Box(title, "", lines, w, h, false)
}
