// Package minimap is the pane that shows a whole tile's errors, one column or less a cell.
//
// The one idea: a glyph stands for a group of cells and says the worst of them, so nothing bad can
// hide between columns.
//
// It must not know runs or keys.
package minimap

import (
	"fmt"
	"strconv"

	"tilescope/debugkern"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// Pane draws the map.
type Pane struct {
	theme.Frame[bool]
	view     *debugkern.TileView
	ref      cell.Ref
	bound    cell.Bound
	row, col int
	title    string

	sr, sc int      // cells a glyph stands for, by row and column
	marks  [][]byte // the worst of each group
	levels [][]int  // of a tile without a reference: the first value of each group among the theme's
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false), title: "MINIMAP"} }

// SetTitle changes the title.
func (p *Pane) SetTitle(title string) {
	if title != p.title {
		p.title, p.Changed = title, true
	}
}

// Height is the number of lines that a map of rows rows takes in at most h lines, borders included.
func Height(rows, h int) int {
	if rows <= 0 || h < 3 {
		return 0
	}
	step := (rows + h - 3) / (h - 2)
	return (rows+step-1)/step + 2
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.gather()
	}
}

// SetView shows another tile, or the same under other settings.
func (p *Pane) SetView(v *debugkern.TileView, ref cell.Ref, bound cell.Bound) {
	if v != p.view || ref != p.ref || bound != p.bound {
		p.view, p.ref, p.bound = v, ref, bound
		p.gather()
	}
}

// SetCursor moves the cursor; a negative row shows none.
func (p *Pane) SetCursor(row, col int) {
	if row != p.row || col != p.col {
		p.row, p.col, p.Changed = row, col, true
	}
}

const (
	none = iota
	right
	absent
	bad
)

// gather finds the worst of each group.
func (p *Pane) gather() {
	p.Changed = true
	p.marks = nil
	if p.view == nil || !p.view.Got.Reached() || p.W < 4 || p.H < 3 {
		return
	}
	t := p.view.Got
	p.sr = max(1, (t.Rows+p.H-3)/(p.H-2))
	p.sc = max(1, (t.Cols+p.W-3)/(p.W-2))
	p.marks = make([][]byte, (t.Rows+p.sr-1)/p.sr)
	for i := range p.marks {
		p.marks[i] = make([]byte, (t.Cols+p.sc-1)/p.sc)
	}
	for r := range p.view.ValidRows {
		for c := range p.view.ValidCols {
			mark := &p.marks[r/p.sr][c/p.sc]
			if *mark = max(*mark, right); !t.Captured(r, c) {
				*mark = absent
			}
		}
	}
	if p.levels = nil; !p.view.Referenced() {
		p.shade()
		return
	}
	m := cell.BadCells()
	for r, c := -1, 0; ; {
		var ok bool
		if r, c, ok = m.Find(p.view, p.ref, p.bound, r, c, 1); !ok {
			return
		}
		p.marks[r/p.sr][c/p.sc] = bad
	}
}

// shade places the first value of each group between the least and the greatest value.
func (p *Pane) shade() {
	j := cell.NewJudge(p.view, p.ref, p.bound)
	s, n := j.Stats(), len(p.Theme.Value)
	if !p.Theme.Rich() {
		n = len(p.Theme.Glyph.Shade)
	}
	for i := range p.marks {
		line := make([]int, len(p.marks[i]))
		for k := range line {
			line[k] = s.Level(j.At(i*p.sr, k*p.sc).Got, n)
		}
		p.levels = append(p.levels, line)
	}
}

// Hit is the cell drawn at a place.
func (p *Pane) Hit(x, y int) (row, col int, ok bool) {
	if p.marks == nil || y < 1 || y > len(p.marks) || x < 1 || x > len(p.marks[0]) {
		return 0, 0, false
	}
	return (y - 1) * p.sr, (x - 1) * p.sc, true
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	var out []string
	for i, line := range p.marks {
		l := p.Theme.Line(p.W - 2)
		for j, m := range line {
			switch {
			case p.row >= 0 && i == p.row/p.sr && j == p.col/p.sc:
				l.Glyph(p.Theme.Here, "+")
			case m == bad:
				l.Glyph(p.Theme.Wrong, p.Theme.Glyph.Wrong)
			case m == absent:
				l.Glyph(p.Theme.Taint, p.Theme.Glyph.Absent)
			case m == right && p.levels != nil && p.Theme.Rich():
				level := p.levels[i][j] // its digit stands where colours are not seen
				l.Glyph(p.Theme.Value[level], strconv.Itoa(level*9/max(1, len(p.Theme.Value)-1)))
			case m == right && p.levels != nil:
				l.Glyph(p.Theme.Text, p.Theme.Glyph.Shade[p.levels[i][j]])
			case m == right:
				l.Glyph(p.Theme.Text, p.Theme.Glyph.Equal)
			default:
				l.Space(1)
			}
		}
		out = append(out, l.Done())
	}
	note := ""
	if p.sr*p.sc > 1 {
		note = fmt.Sprintf("%d×%d cells a mark", p.sr, p.sc)
	}
	return p.Theme.Box(p.title, note, out, p.W, p.H, p.Focus)
}
