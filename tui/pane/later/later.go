// Package later is the pane of a view that is still to come: one line saying what will be there.
//
// The one idea: a view never is an empty screen. It must not know anything else.
package later

import "tilescope/tui/theme"

// View fills w×h with a title and what will be there.
func View(th *theme.Theme, title, text string, w, h int) []string {
	if w < 4 || h < 3 {
		return th.Blank(w, h)
	}
	var lines []string
	for _, s := range th.Wrap(text, w-4) {
		lines = append(lines, th.Line(w-2).Space(1).Add(th.Text, s).Done())
	}
	return th.Box(title, "to come", lines, w, h, false)
}

// Facts fills w×h with lines of name and value.
func Facts(th *theme.Theme, title string, facts [][2]string, w, h int) []string {
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
