// Package shared is the pane that shows a shared array at a moment, and who wrote the cell under the cursor.
//
// The one idea: it is the tile as the block sees it now, cell for cell under the same cursor
// as the captured one.
//
// It must not know runs, walks or keys.
package shared

import (
	"fmt"
	"strconv"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// Data is what is shown.
type Data struct {
	View     walk.SharedView
	Row, Col int // under the cursor
	Changed  map[int]bool
	Watched  map[int]bool // cells with a breakpoint, by row·cols + col
	Writes   []target.WriteSite
	At       int    // of Writes, the one that was gone to, -1
	Stands   bool   // the block still stands at it
	Empty    string // instead of cells
}

// Pane draws a shared array.
type Pane struct {
	theme.Frame[bool]
	data      Data
	format    cell.Format
	top, left int
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.scroll()
	}
}

// SetFormat changes how numbers are written.
func (p *Pane) SetFormat(f cell.Format) {
	if f != p.format {
		p.format, p.Changed = f, true
		p.scroll()
	}
}

// SetData shows another state.
func (p *Pane) SetData(d Data) {
	p.data, p.Changed = d, true
	p.scroll()
}

// SetCursor moves the cursor; it is clamped to the array.
func (p *Pane) SetCursor(row, col int) bool {
	t := p.data.View.Tile
	row, col = max(0, min(row, t.Rows-1)), max(0, min(col, t.Cols-1))
	moved := row != p.data.Row || col != p.data.Col
	p.data.Row, p.data.Col, p.Changed = row, col, true
	p.scroll()
	return moved
}

// Current is the array and cell under the cursor.
func (p *Pane) Current() (array string, row, col int, ok bool) {
	return p.data.View.Array.Name, p.data.Row, p.data.Col, p.data.View.Tile.Data != nil
}

// Hit is the cell drawn at x, y.
func (p *Pane) Hit(x, y int) (row, col int, ok bool) {
	row, col = p.top+y-2, p.left+(x-1-labelWidth)/p.cell()
	return row, col, y >= 2 && y < 2+p.rows() && x > labelWidth && row < p.data.View.Tile.Rows &&
		col < p.data.View.Tile.Cols
}

const labelWidth = 5

func (p *Pane) cell() int { return p.format.Width(p.data.View.Tile.DType, true) + 2 }

// below is the lines under the cells: a rule, the cell, the last write, and more of them where there is room.
func (p *Pane) below() int { return 2 + min(len(p.data.Writes), max(1, (p.H-3)/3-2)) }

func (p *Pane) rows() int { return max(1, p.H-3-p.below()) }
func (p *Pane) cols() int { return max(1, (p.W-2-labelWidth)/p.cell()) }

func (p *Pane) scroll() {
	p.top = theme.Into(p.top, p.data.Row, p.rows(), p.data.View.Tile.Rows)
	p.left = theme.Into(p.left, p.data.Col, p.cols(), p.data.View.Tile.Cols)
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w, t, v := max(p.W-2, 0), p.Theme, &p.data.View
	if v.Tile.Data == nil {
		var lines []string
		for _, s := range t.Wrap(p.data.Empty, w-2) {
			lines = append(lines, t.Line(w).Space(1).Add(t.Dim, s).Done())
		}
		return t.Box("SHARED", "", lines, p.W, p.H, p.Focus)
	}
	head := t.Line(w).Pad(labelWidth)
	for i := range min(p.cols(), v.Tile.Cols-p.left) {
		style := t.Dim
		if p.left+i == p.data.Col {
			style = t.Strong
		}
		head.Right(style, strconv.Itoa(p.left+i), labelWidth+(i+1)*p.cell()-1)
	}
	out := []string{head.Done()}
	for r := p.top; r < p.top+p.rows(); r++ {
		if r < v.Tile.Rows {
			out = append(out, p.row(r, w))
		} else {
			out = append(out, t.Line(w).Done())
		}
	}
	out = append(out, p.detail(w)...)
	written := 0
	for _, on := range v.Written {
		if on {
			written++
		}
	}
	note := fmt.Sprintf("written %d/%d", written, len(v.Written))
	return t.Box(fmt.Sprintf("SHARED %s %s", v.Array.Name, v.Tile.DType), note, out, p.W, p.H, p.Focus)
}

func (p *Pane) row(r, w int) string {
	t, v := p.Theme, &p.data.View
	l := t.Line(w)
	label := t.Dim
	if r == p.data.Row {
		label = t.Strong
	}
	l.Right(label, strconv.Itoa(r), labelWidth-1).Space(1)
	for i := range min(p.cols(), v.Tile.Cols-p.left) {
		p.value(l, r, p.left+i, labelWidth+i*p.cell())
	}
	return l.Done()
}

// value writes a cell from column at on: a mark or bracket, the number, a bracket.
func (p *Pane) value(l *theme.Line, r, c, at int) {
	t, v := p.Theme, &p.data.View
	i := r*v.Tile.Cols + c
	width := p.cell() - 2
	text, style := "?", t.Off
	if i < len(v.Written) && v.Written[i] {
		text, style = p.format.Text(v.Tile.DType, v.Tile.Bits(r, c), width), t.Text
	}
	if p.data.Changed[i] {
		style = t.Taint
	}
	l.Pad(at)
	here := r == p.data.Row && c == p.data.Col
	switch {
	case here:
		l.Glyph(t.Mark, t.Glyph.Left)
	case p.data.Watched[i]:
		l.Glyph(t.Wrong, t.Glyph.Dot)
	case p.data.Changed[i]:
		l.Add(t.Taint, "Δ")
	default:
		l.Space(1)
	}
	if here && p.Focus {
		style = t.Here
	}
	l.Right(style, text, at+1+width)
	if here {
		l.Glyph(t.Mark, t.Glyph.Right)
	}
}

// detail is the cell's value and place, and its writes, the one gone to in the middle.
func (p *Pane) detail(w int) []string {
	t, d, v := p.Theme, &p.data, &p.data.View
	out := []string{t.Line(w).Repeat(t.Border, t.Glyph.H, w).Done()}
	l := t.Line(w).Space(1)
	at := fmt.Sprintf("[%d][%d] ", d.Row, d.Col)
	if len(v.Array.Dims) == 1 && v.Tile.Cols == 1 {
		at = fmt.Sprintf("[%d] ", d.Row)
	}
	l.Add(t.Strong, t.Fit(v.Array.Name+at, l.Left()))
	if i := d.Row*v.Tile.Cols + d.Col; i < len(v.Written) && v.Written[i] {
		bits := v.Tile.Bits(d.Row, d.Col)
		value := cell.Typed(v.Tile.DType, v.Tile.At(d.Row, d.Col))
		l.Add(t.Text, t.Fit(value+" "+cell.HexText(v.Tile.DType, bits), l.Left()))
	} else {
		l.Add(t.Off, t.Fit("not written yet", l.Left()))
	}
	out = append(out, l.Done())
	n := p.below() - len(out)
	first := theme.Into(0, max(d.At, 0), max(n, 1), len(d.Writes))
	if d.At < 0 {
		first = max(0, len(d.Writes)-n)
	}
	for i := first; i < min(first+n, len(d.Writes)); i++ {
		l := t.Line(w)
		style, here := t.Dim, d.Stands && i == d.At
		l.Pointer(here)
		if here {
			style = t.Text
		}
		out = append(out, l.Add(style, t.Fit(fmt.Sprintf("write %d: %s", i+1, WriteText(&d.Writes[i])), w-1)).
			Done())
	}
	return out
}

// WriteText words a write: step 3513 warp 0 lane 14 acc[0] of mma #3 line 493
func WriteText(x *target.WriteSite) string {
	out := fmt.Sprintf("step %d warp %d lane %d", x.Step, x.Warp, x.Lane)
	if x.Fragment != "" {
		out += " " + x.Fragment
	}
	if x.Source != nil {
		out += fmt.Sprintf(" line %d", x.Source.Line)
	}
	return out
}
