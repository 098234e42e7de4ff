// Package ptx is the pane that lists a kernel's PTX: where the warp stands, where the others do,
// breakpoints, branch targets.
//
// The one idea: the listing never changes, so a place is a row of it; what moves are marks.
//
// It must not know runs, walks or keys.
package ptx

import (
	"strconv"
	"strings"

	"tilescope/debugkern/walk"
	"tilescope/tui/code"
	"tilescope/tui/pane/source"
	"tilescope/tui/theme"
)

// Data is what is shown.
type Data struct {
	Rows   []walk.Listing
	At     int                 // row of the current warp, -1 where it stands nowhere
	Others map[int]int         // row → warps that stand there, besides the current one
	Breaks map[int]source.Mark // rows that begin a line with a breakpoint
	File   string              // the source place whose instructions are pointed out
	Line   int
	Wrote  int // row whose instruction changed the cell that stopped the block, -1: none
	Note   string
	Empty  string // instead of rows
}

// Pane draws a listing.
type Pane struct {
	theme.Frame[bool]
	data   Data
	text   *code.Text // of the rows
	cur    int
	top    int
	left   int // columns scrolled out
	search string
	syntax *theme.Syntax
	lines  []int // of the PTX, by PC
	last   int   // the greatest of them
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane {
	return &Pane{Frame: theme.NewFrame(th, false), data: Data{At: -1, Wrote: -1}, syntax: th.Syntax()}
}

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.Frame.SetTheme(th)
	p.syntax = th.Syntax()
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.Reveal(p.cur)
	}
}

// SetData shows another state. With follow the cursor goes where the warp stands.
func (p *Pane) SetData(d Data, follow bool) {
	if len(d.Rows) != len(p.data.Rows) || len(d.Rows) > 0 && &d.Rows[0] != &p.data.Rows[0] {
		lines := make([]string, len(d.Rows))
		p.lines, p.last = p.lines[:0], 0
		for i := range d.Rows {
			lines[i] = d.Rows[i].Text
			if d.Rows[i].PC >= 0 {
				p.lines, p.last = append(p.lines, d.Rows[i].PTX), max(p.last, d.Rows[i].PTX)
			}
		}
		p.text, p.left = code.New(code.PTX, lines), 0
		p.text.Search(p.search)
	}
	p.data, p.Changed = d, true
	if follow && d.At >= 0 {
		p.Reveal(d.At)
	}
	p.cur = max(0, min(p.cur, len(d.Rows)-1))
}

// Reveal puts the cursor on a row and scrolls so that it is seen, in the middle where it was not.
func (p *Pane) Reveal(row int) {
	p.cur, p.Changed = row, true
	if n := p.body(); row < p.top+min(2, n/4) || row >= p.top+n-min(2, n/4) {
		p.top = row - n/2
	}
	p.top = max(0, min(p.top, len(p.data.Rows)-p.body()))
}

// Point puts the cursor on the first instruction of a source line, and points that line's instructions out.
func (p *Pane) Point(file string, line int) {
	p.data.File, p.data.Line, p.Changed = file, line, true
	for i, r := range p.data.Rows {
		if r.PC >= 0 && r.Line == line && r.File == file {
			p.Reveal(i)
			return
		}
	}
}

// Here returns what puts the cursor and the window back to where they are now, and points out the source line
// that is pointed out now.
func (p *Pane) Here() (back func()) {
	cur, top, left, file, line := p.cur, p.top, p.left, p.data.File, p.data.Line
	return func() {
		n := len(p.data.Rows)
		p.cur, p.top, p.left = max(0, min(cur, n-1)), max(0, min(top, n-p.body())), left
		p.data.File, p.data.Line, p.Changed = file, line, true
	}
}

// Current is the row under the cursor.
func (p *Pane) Current() (walk.Listing, bool) {
	if p.cur >= len(p.data.Rows) {
		return walk.Listing{}, false
	}
	return p.data.Rows[p.cur], true
}

// Move moves the cursor by n rows and reports whether it moved.
func (p *Pane) Move(n int) bool {
	was := p.cur
	p.cur = max(0, min(p.cur+n, len(p.data.Rows)-1))
	p.top = theme.Into(p.top, p.cur, p.body(), len(p.data.Rows))
	p.Changed = p.Changed || p.cur != was
	return p.cur != was
}

// Hit puts the cursor on the row drawn on line y.
func (p *Pane) Hit(y int) {
	if rows := p.rows(); y >= 1 && y <= len(rows) {
		p.cur, p.Changed = rows[y-1].Line, true
	}
}

func (p *Pane) body() int { return max(1, p.H-2) }

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w := p.W - 2
	if len(p.data.Rows) == 0 {
		return p.Theme.Box("PTX", "", []string{
			p.Theme.Line(max(w, 0)).Space(1).Add(p.Theme.Dim, p.Theme.Fit(p.data.Empty, w-1)).Done(),
		}, p.W, p.H, p.Focus)
	}
	digits := p.digits()
	var out []string
	for _, r := range p.rows() {
		out = append(out, p.row(r, w, digits))
	}
	return p.Theme.Box("PTX", p.data.Note, out, p.W, p.H, p.Focus)
}

// long is the row that is wrapped where it is longer than the pane: the chosen one, else the warp's.
func (p *Pane) long() int {
	if p.Focus {
		return p.cur
	}
	return p.data.At
}

// rows are what the pane's rows show.
func (p *Pane) rows() []code.Row {
	at := p.long()
	return code.Window(p.top, p.body(), len(p.data.Rows), at, p.parts(at))
}

// parts is how many rows the wrapped one takes; one where it was scrolled sideways.
func (p *Pane) parts(i int) int {
	if i < 0 || i >= len(p.data.Rows) || p.left > 0 {
		return 1
	}
	w := p.W - 2 - 2
	if r := &p.data.Rows[i]; r.PC >= 0 {
		w -= p.digits() + 1
	}
	return p.text.Parts(i, 0, w-p.Theme.Width(p.target(i))-1, max(1, p.body()/2))
}

// target: →1512, "" of what is no branch.
func (p *Pane) target(i int) string {
	if line := p.line(p.data.Rows[i].Target); line > 0 {
		return "→" + strconv.Itoa(line)
	}
	return ""
}

// row: ●▸1851 wmma.store…        →1512, with lines of the PTX file
func (p *Pane) row(part code.Row, w, digits int) string {
	i := part.Line
	r, t := &p.data.Rows[i], p.Theme
	l := t.Line(w)
	text, num := t.SourceLine, t.SourceNum
	switch {
	case i == p.data.At:
		text, num = t.KernelLine, t.KernelLine
	case i == p.cur && p.Focus:
		text, num = t.Select, t.Select
	case r.PC < 0 || r.Probe:
		text = t.Dim
	}
	switch {
	case part.Part > 0:
		l.Space(1)
	case p.data.Breaks[i] != 0:
		source.DrawMark(t, l, p.data.Breaks[i])
	case r.PC >= 0 && r.Line > 0 && r.Line == p.data.Line && r.File == p.data.File:
		l.Glyph(t.Accent, t.Glyph.V)
	default:
		l.Space(1)
	}
	switch n := p.data.Others[i]; {
	case part.Part > 0:
		l.Space(1)
	case i == p.data.At:
		l.Glyph(num, t.Glyph.Pointer)
	case i == p.data.Wrote:
		l.Add(t.Taint, "Δ")
	case n > 0:
		l.Add(t.Accent, strconv.Itoa(min(n, 9)))
	case i == p.cur && p.Focus:
		l.Glyph(t.Focus, t.Glyph.Left)
	default:
		l.Space(1)
	}
	switch {
	case r.PTX > 0 && part.Part == 0:
		l.Right(num, strconv.Itoa(r.PTX), l.Col()+digits).Add(num, " ")
	case r.PC >= 0: // the return that ends a function has no line
		l.Add(num, strings.Repeat(" ", digits+1))
	default:
		l.Add(num, "")
	}
	target := p.target(i)
	width := max(0, l.Left()-t.Width(target)-1)
	parts := 1
	if i == p.long() {
		parts = p.parts(i)
	}
	on := i == p.data.At || i == p.cur && p.Focus
	p.text.Draw(t, l, i, code.Look{
		Syntax: p.syntax, Base: text, Plain: on || r.PC < 0 || r.Probe, Left: p.left + part.Part*width,
		Width: width, Above: part.Part > 0, Below: part.Part+1 < parts,
	})
	if target != "" && part.Part == 0 && l.Left() > t.Width(target) {
		l.Repeat(text, " ", l.Left()-t.Width(target)).Add(t.Accent, target)
	}
	if on {
		return l.DoneIn(text)
	}
	return l.Done()
}

// line is the PTX line of an instruction, 0 where there is none.
func (p *Pane) line(pc int) int {
	if pc < 0 || pc >= len(p.lines) {
		return 0
	}
	return p.lines[pc]
}

// digits is the columns of the greatest line number, and of the space that parts it from a count of warps.
func (p *Pane) digits() int { return 1 + len(strconv.Itoa(p.last)) }

// width is the columns that instructions have.
func (p *Pane) width() int { return max(1, p.W-2-3-p.digits()-1) }

// Slide scrolls sideways by n columns and reports whether it moved.
func (p *Pane) Slide(n int) bool {
	if p.text == nil {
		return false
	}
	was := p.left
	p.left = max(0, min(p.left+n, p.text.Widest()-p.width()))
	p.Changed = p.Changed || p.left != was
	return p.left != was
}

// End scrolls sideways to the end of the row that is chosen or executed next, and reports whether it moved.
func (p *Pane) End() bool { return p.Slide(p.text.End(p.long(), p.width()) - p.left) }

// Search looks for text in the listing and returns how many rows match. "" ends it.
func (p *Pane) Search(text string) int {
	p.search, p.Changed = text, true
	return p.text.Search(text)
}

// Matches is how many lines match.
func (p *Pane) Matches() int { return p.text.Matches() }

// FindNext goes to the next row that matches, or the one before.
func (p *Pane) FindNext(dir int) (code.Match, bool) {
	m, ok := p.text.Next(p.cur, dir)
	if ok {
		p.Reveal(m.Line)
		if w := p.width(); m.Col >= p.left+w || m.Col < p.left {
			p.left = max(0, min(m.Col-w/2, p.text.Widest()-w))
		}
	}
	return m, ok
}
