package pipe

import (
	"fmt"
	"strconv"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// errors is the table of a stage's errors over all tiles: a line for those of the stage alone, one that has
// those of earlier stages in it. Where there is no room for columns they are sentences.
//
//	errors   worst error  its bound  ratio    max error  bad of 65536 cells
//	local    1.84e-01     3.83e-06   ×47k     1.18e+01   17472
//	global   3.49e-01     4.89e-04   ×714     1.18e+01   17088
func (p *Pane) errors(d *report.Stage, say sayer) {
	head := errorsRow("worst error", "its bound", "ratio", "max error",
		fmt.Sprintf("bad of %d cells", max(d.Local.Cells, d.Global.Cells)))
	local, global := errorsOf(&d.Local), errorsOf(&d.Global)
	room := p.innerWidth() - nameWidth - 1
	for _, s := range []string{head, local, global} {
		if p.Theme.Width(s) > room {
			all := "all " + theme.Count(d.Tiles, "tile")
			say("local", p.statsStyle(d.Local), "%s: %s", all, statsText(d.Local))
			say("global", p.statsStyle(d.Global), "%s: %s · errors of earlier stages included", all,
				statsText(d.Global))
			return
		}
	}
	say("errors", p.Theme.Dim, "%s", head)
	say("local", p.statsStyle(d.Local), "%s", local)
	say("global", p.statsStyle(d.Global), "%s", global)
	say("", p.Theme.Dim, "local: this stage alone; global: earlier stages' errors too")
}

// errorsOf is a line of the table.
func errorsOf(s *report.ErrorStats) string {
	bad := "none"
	if s.Cells == 0 {
		return errorsRow("", "", "", "", "no cell is compared")
	}
	if s.Bad > 0 {
		bad = strconv.Itoa(s.Bad)
	}
	if s.Nonfinite > 0 {
		bad += ", " + s.Odd()
	}
	return errorsRow(errorFigure(s, s.Error), figure(float64(s.Bound)), shareText(s),
		errorFigure(s, s.MaxAbs), bad)
}

// errorsRow puts the columns of the table in their places.
func errorsRow(worst, bound, ratio, most, bad string) string {
	return fmt.Sprintf("%-11s  %-9s  %-7s  %-9s  %s", worst, bound, ratio, most, bad)
}
