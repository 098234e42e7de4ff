package pipe

import (
	"fmt"
	"math"
	"strconv"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// column is a column of the summary over all blocks, at the right of the timeline.
type column struct {
	head  string
	width int  // of it, with the blanks before it
	left  bool // its text begins at its left edge; else it ends at its right edge
	spare bool // it is left out where too few kv tiles would be left
	// cell is the column's text for a stage. Its doc is nil where the report has no errors of the stage.
	cell func(p *Pane, r row, tiles *view.StageSummary) (theme.Style, string)
}

// columns are those of the summary, from left to right. Counts of tiles are of view.Summary, figures of
// the run's document.
var columns = []column{
	{head: "all tiles", width: 10, left: true, cell: (*Pane).tilesCell},
	{
		head: "local   ", width: 9,
		cell: ofErrors(func(p *Pane, e *report.ErrorStats, _ bool) (theme.Style, string) {
			return p.Theme.Text, errorFigure(e, e.Error)
		}),
	},
	{
		head: "bound   ", width: 11,
		cell: ofErrors(func(p *Pane, e *report.ErrorStats, wrong bool) (theme.Style, string) {
			if wrong {
				return p.Theme.Wrong, "> " + figure(float64(e.Bound))
			}
			return p.Theme.Dim, figure(float64(e.Bound))
		}),
	},
	{
		head: "of bound", width: 10, spare: true,
		cell: ofErrors(func(p *Pane, e *report.ErrorStats, wrong bool) (theme.Style, string) {
			if wrong {
				return p.Theme.Wrong, shareText(e)
			}
			return p.Theme.Dim, shareText(e)
		}),
	},
}

// figure writes a number with three significant digits so that the decimal points of a column, which ends at
// its right edge, stand below each other.
func figure(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%-8s", strconv.FormatFloat(v, 'g', -1, 64))
	}
	return fmt.Sprintf("%.2e", v)
}

// errorFigure is the figure of one of some errors, which has none where a NaN or Inf takes part.
func errorFigure(e *report.ErrorStats, n report.Number) string {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%-8s", e.Size(n, "%g"))
	}
	return figure(float64(n))
}

// ofErrors is a column about a stage's local errors: empty where there are none.
func ofErrors(
	text func(p *Pane, e *report.ErrorStats, wrong bool) (theme.Style, string),
) func(*Pane, row, *view.StageSummary) (theme.Style, string) {
	return func(p *Pane, r row, _ *view.StageSummary) (theme.Style, string) {
		if r.doc == nil || r.doc.Unreached() || r.doc.Local.Cells == 0 && r.doc.Unwritten {
			return p.Theme.Text, ""
		}
		return text(p, &r.doc.Local, r.doc.Verdict == report.Wrong)
	}
}

// tilesCell is how many tiles are not right, of how many; or how many cells were not captured; or how many
// tiles are right.
func (p *Pane) tilesCell(r row, st *view.StageSummary) (theme.Style, string) {
	g, total := p.Theme.Glyph, st.OK+st.Wrong+st.Tainted+st.Off
	switch {
	case p.injected(r.plan.Stage):
		return p.Theme.Notice, g.Injected + " injected"
	case st.Wrong > 0:
		return p.Theme.Wrong, fmt.Sprintf("%s%d/%d", g.Wrong, st.Wrong, total)
	case st.Tainted > 0:
		return p.Theme.Taint, fmt.Sprintf("%s%d/%d", g.Taint, st.Tainted, total)
	case st.Off == total && r.doc != nil && r.doc.Unreached():
		return p.Theme.Off, "unreached"
	case st.Off == total:
		return p.Theme.Off, g.Off + "off"
	case r.doc != nil && r.doc.NotCaptured > 0: // the cells that were captured are right
		return p.Theme.Taint, g.Absent + cell.Count(r.doc.NotCaptured)
	}
	return p.Theme.OK, fmt.Sprintf("%s%d", g.OK, st.OK)
}

// shareText is how much of its bound the worst cell's error takes (cell.Share), "exact" where both are 0, ""
// where the error has no size.
func shareText(e *report.ErrorStats) string {
	if e.Error == 0 && e.Bound == 0 {
		return "exact"
	}
	return cell.Share(float64(e.Error) / float64(e.Bound))
}

// enoughTiles is how many kv tiles stay in view next to a column that is not always shown, where
// a block has so many.
const enoughTiles = 8

// shown are the columns that there is room for, and their width together.
func (p *Pane) shown() (list []column, width int) {
	room := p.innerWidth() - timelineWidth(min(p.mostTiles(), enoughTiles))
	for _, c := range columns {
		if c.spare && width+c.width > room {
			continue
		}
		list, width = append(list, c), width+c.width
	}
	return list, width
}

// summaryHead writes the columns' heads.
func (p *Pane) summaryHead(l *theme.Line) {
	list, _ := p.shown()
	for _, c := range list {
		p.column(l, c, p.Theme.Dim, c.head)
	}
}

// summaryOf writes the columns for a stage.
func (p *Pane) summaryOf(l *theme.Line, r row) {
	if p.data.Summary == nil || p.data.Summary.Stages[r.plan.Stage] == nil {
		return
	}
	st := p.data.Summary.Stages[r.plan.Stage]
	if st.OK+st.Wrong+st.Tainted == 0 && (r.doc == nil || !r.doc.Unreached()) {
		r.doc = nil
	}
	list, _ := p.shown()
	for _, c := range list {
		style, text := c.cell(p, r, st)
		p.column(l, c, style, text)
	}
}

func (p *Pane) column(l *theme.Line, c column, style theme.Style, text string) {
	end := l.Col() + c.width
	if c.left {
		l.Add(style, text).Pad(end)
		return
	}
	l.Right(style, text, end)
}
