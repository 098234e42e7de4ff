// Package source is the pane that shows the CUDA source around a line.
//
// The one idea: it follows a line that somebody else points at, and scrolls on its own when it has the focus.
// Where lines are chosen in it, it has a cursor of its own.
//
// It must not know runs or keys.
package source

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tilescope/tui/code"
	"tilescope/tui/theme"
)

// Pane draws a file.
type Pane struct {
	theme.Frame[bool]
	file   string
	text   *code.Text // nil: not at hand
	line   int        // from 1; 0 where nothing is pointed at
	cur    int        // the chosen line, from 1; 0 where none is
	top    int
	left   int // columns scrolled out
	note   string
	marks  map[int]Mark
	wrote  []int // from 1
	patch  Patch
	search string
	syntax *theme.Syntax
}

// Mark is what stands before a line's number.
type Mark uint8

// The marks.
const (
	Plain       Mark = iota + 1 // a breakpoint
	Conditional                 // one with a condition or a count
	Off                         // one that is disabled
)

// New returns an empty pane.
func New(th *theme.Theme) *Pane {
	return &Pane{Frame: theme.NewFrame(th, false), syntax: th.Syntax()}
}

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.Frame.SetTheme(th)
	p.syntax = th.Syntax()
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.reveal()
	}
}

// Show points at a line of a file. A nil text says that the file is not available.
func (p *Pane) Show(file string, text []string, line int, note string) {
	same := (text == nil) == (p.text == nil) && (text == nil || p.text.Is(text))
	if file == p.file && line == p.line && note == p.note && same {
		return
	}
	if !same {
		p.text, p.left = nil, 0
		if text != nil {
			p.text = code.New(code.CUDA, text)
			p.text.Search(p.search)
		}
	}
	p.file, p.line, p.note, p.Changed = file, line, note, true
	p.reveal()
}

// SetMarks marks lines, as those with breakpoints.
func (p *Pane) SetMarks(lines map[int]Mark) { p.marks, p.Changed = lines, true }

// SetWrote marks the lines whose instruction has changed what stopped a motion: it stands behind them.
func (p *Pane) SetWrote(lines []int) {
	p.Changed = p.Changed || !slices.Equal(lines, p.wrote)
	p.wrote = lines
}

// Patch is what patches have changed of a file; it is empty of a file as it lies on the disk.
type Patch struct {
	By    string // the faults whose patches they are
	Lines []int  // from 1
}

// Note is what the title of a patched source ends with; "" for one that no fault has changed.
func (x Patch) Note() string {
	if x.By == "" {
		return ""
	}
	return patchedBy + x.By
}

const patchedBy = " as patched by "

// SetPatch says which lines of the file that is shown patches have changed.
func (p *Pane) SetPatch(x Patch) {
	p.Changed = p.Changed || x.By != p.patch.By || !slices.Equal(x.Lines, p.patch.Lines)
	p.patch = x
}

// title: SOURCE sdpa.cu:487 as patched by p-stale-m.
func (p *Pane) title() string {
	if p.file == "" {
		return "SOURCE"
	}
	name, rest := p.file, ""
	if p.cur > 0 {
		name = path.Base(p.file)
	}
	if p.line > 0 {
		rest = ":" + strconv.Itoa(p.line)
	}
	if p.patch.By == "" {
		return "SOURCE " + name + rest
	}
	return Title(p.Theme, "SOURCE ", name, rest+p.patch.Note(), p.W)
}

// Title is the title of a pane w columns wide that shows a file. Where it is too long the words before the
// names of patches go first, then the file's name loses its front, so that the line and the patches stay.
func Title(th *theme.Theme, lead, name, rest string, w int) string {
	const frame = 4 // corners, and a border on each side
	if th.Width(lead+name+rest) > w-frame {
		rest = strings.Replace(rest, patchedBy, " · ", 1)
	}
	if over := th.Width(lead+name+rest) - (w - frame); over > 0 {
		runes := []rune(name)
		keep := max(0, len(runes)-over-th.Width(th.Glyph.Ellipsis))
		name = th.Glyph.Ellipsis + string(runes[len(runes)-keep:])
	}
	return lead + name + rest
}

// SetCursor chooses a line and scrolls so that it is seen.
func (p *Pane) SetCursor(line int) {
	p.cur, p.Changed = max(1, min(line, p.text.Len())), true
	if n := p.body(); p.cur-1 < p.top+min(2, n/4) || p.cur-1 >= p.top+n-min(2, n/4) {
		p.top = p.cur - 1 - n/2
	}
	p.top = max(0, min(p.top, p.text.Len()-p.body()))
}

// Cursor is the file and the chosen line.
func (p *Pane) Cursor() (string, int) { return p.file, p.cur }

// Here returns what puts the cursor and the window back to where they are now.
func (p *Pane) Here() (back func()) {
	cur, top, left := p.cur, p.top, p.left
	return func() {
		p.cur, p.left, p.Changed = min(cur, p.text.Len()), left, true
		p.top = max(0, min(top, p.text.Len()-p.body()))
	}
}

// Move moves the chosen line by n and reports whether it moved.
func (p *Pane) Move(n int) bool {
	was := p.cur
	p.cur = max(1, min(p.cur+n, p.text.Len()))
	p.top = theme.Into(p.top, p.cur-1, p.body(), p.text.Len())
	p.Changed = true
	return p.cur != was
}

// Hit chooses the line drawn at y.
func (p *Pane) Hit(y int) {
	if rows := p.rows(); y >= 1 && y <= len(rows) {
		p.cur, p.Changed = rows[y-1].Line+1, true
	}
}

// Point points at another line of the file without scrolling.
func (p *Pane) Point(line int) { p.line, p.Changed = line, true }

// Pointed is the file and line pointed at.
func (p *Pane) Pointed() (string, int) { return p.file, p.line }

// Scroll moves by n lines and reports whether it moved.
func (p *Pane) Scroll(n int) bool {
	was := p.top
	p.top = max(0, min(p.top+n, p.text.Len()-p.body()))
	p.Changed = p.Changed || p.top != was
	return p.top != was
}

func (p *Pane) body() int { return max(1, p.H-2) }

// reveal scrolls so that the line stands in the middle.
func (p *Pane) reveal() {
	if p.line > 0 {
		p.top = max(0, min(p.line-1-p.body()/2, p.text.Len()-p.body()))
	}
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	title := p.title()
	w := p.W - 2
	if p.text == nil {
		text := "the source appears with the first run"
		if p.file != "" {
			text = fmt.Sprintf("%s is not available", p.file)
		}
		line := p.Theme.Line(max(w, 0)).Space(1).Add(p.Theme.Dim, p.Theme.Fit(text, w-1)).Done()
		return p.Theme.Box(title, "", []string{line}, p.W, p.H, p.Focus)
	}
	var out []string
	least := p.indent(w)
	for _, r := range p.rows() {
		out = append(out, p.row(r, w, least))
	}
	return p.Theme.Box(title, p.note, out, p.W, p.H, p.Focus)
}

// gutter is the columns before a line's text: mark, pointer, number, a blank.
func (p *Pane) gutter() int {
	n := len(strconv.Itoa(p.text.Len())) + 2
	if p.cur > 0 {
		n++
	}
	return n
}

// long is the line that is wrapped where it is longer than the pane, from 0: the chosen one where lines are
// chosen, else the one that is pointed at.
func (p *Pane) long() int {
	if p.Focus && p.cur > 0 {
		return p.cur - 1
	}
	return p.line - 1
}

// rows are what the pane's rows show.
func (p *Pane) rows() []code.Row {
	at, w := p.long(), p.W-2-p.gutter()
	return code.Window(p.top, p.body(), p.text.Len(), at, p.parts(at, w))
}

// parts is how many rows the wrapped line takes in w columns; one where it was scrolled sideways.
func (p *Pane) parts(i, w int) int {
	if p.text == nil || i < 0 || i >= p.text.Len() || p.left > p.indent(p.W-2) {
		return 1
	}
	return p.text.Parts(i, p.leftOf(i, p.indent(p.W-2)), w, max(1, p.body()/2))
}

// leftOf is how many columns of a line are scrolled out.
func (p *Pane) leftOf(i, indent int) int {
	if p.left > indent { // else only blanks are; #if has none
		return p.left
	}
	line := p.text.Line(i)
	return min(indent, len(line)-len(strings.TrimLeft(line, " ")))
}

func (p *Pane) row(r code.Row, w, indent int) string {
	i := r.Line
	l := p.Theme.Line(w)
	num, text := p.Theme.SourceNum, p.Theme.SourceLine
	mark := " "
	chosen := i+1 == p.cur && p.Focus
	switch {
	case i+1 == p.line:
		num, text, mark = p.Theme.KernelLine, p.Theme.KernelLine, p.Theme.Glyph.Pointer
	case chosen:
		num, text, mark = p.Theme.Select, p.Theme.Select, p.Theme.Glyph.Left
	}
	switch m := p.marks[i+1]; {
	case m != 0 && r.Part == 0:
		DrawMark(p.Theme, l, m)
	case p.cur > 0:
		l.Space(1)
	}
	switch {
	case mark != " ":
	case slices.Contains(p.wrote, i+1):
		num, mark = p.Theme.Taint, "Δ"
	case slices.Contains(p.patch.Lines, i+1):
		num, mark = p.Theme.Taint, "+"
	}
	number := strconv.Itoa(i + 1)
	if r.Part > 0 { // blanks in the style of the line
		mark, number = " ", strings.Repeat(" ", len(strconv.Itoa(p.text.Len())))
	}
	l.Add(num, mark).Right(num, number, l.Col()+len(strconv.Itoa(p.text.Len()))).Add(num, " ")
	on, left, width := i+1 == p.line || chosen, p.leftOf(i, indent), l.Left()
	parts := 1
	if i == p.long() {
		parts = p.parts(i, width)
	}
	p.text.Draw(p.Theme, l, i, code.Look{
		Syntax: p.syntax, Base: text, Plain: on, Left: left + r.Part*width, Width: width,
		Above: r.Part > 0, Below: r.Part+1 < parts,
	})
	if on {
		return l.DoneIn(text)
	}
	return l.Done()
}

// Glyph is the mark of a breakpoint: ●, ? for one with a condition, ○ for one that is disabled.
func (m Mark) Glyph(t *theme.Theme) string {
	switch m {
	case Conditional:
		return "?"
	case Off:
		return t.Glyph.Ring
	}
	return t.Glyph.Dot
}

// DrawMark writes the mark of a breakpoint.
func DrawMark(t *theme.Theme, l *theme.Line, m Mark) {
	switch m {
	case Plain, Conditional:
		l.Glyph(t.Wrong, m.Glyph(t))
	case Off:
		l.Glyph(t.Off, m.Glyph(t))
	}
}

// indent is the blanks that all lines on screen begin with, where they would otherwise be cut at their end.
// Only a pane with a cursor moves its text: one that merely points shows it as it is written.
func (p *Pane) indent(w int) int {
	least, longest := 1<<30, 0
	for i := p.top; i < min(p.top+p.body(), p.text.Len()); i++ {
		if s := p.text.Line(i); s != "" && s[0] != '#' {
			least, longest = min(least, len(s)-len(strings.TrimLeft(s, " "))), max(longest, len(s))
		}
	}
	if p.cur == 0 || longest <= w-p.gutter() || least == 1<<30 {
		return 0
	}
	return least
}

// Slide scrolls sideways by n columns and reports whether it moved.
func (p *Pane) Slide(n int) bool {
	if p.text == nil {
		return false
	}
	indent := p.indent(p.W - 2) // scrolled out already
	was := max(p.left, indent)
	now := min(was+n, p.text.Widest()-(p.W-2-p.gutter()))
	if p.left = max(0, now); now <= indent {
		p.left = 0
	}
	moved := max(p.left, indent) != was
	p.Changed = p.Changed || moved
	return moved
}

// End scrolls sideways to the end of the line that is chosen or pointed at, and reports whether it moved.
func (p *Pane) End() bool {
	if p.text == nil {
		return false
	}
	indent := p.indent(p.W - 2)
	return p.Slide(max(p.text.End(p.long(), p.W-2-p.gutter()), indent) - max(p.left, indent))
}

// Search looks for text in the file and returns how many lines match. "" ends it.
func (p *Pane) Search(text string) int {
	p.search, p.Changed = text, true
	return p.text.Search(text)
}

// Matches is how many lines match.
func (p *Pane) Matches() int { return p.text.Matches() }

// FindNext goes to the next line that matches, or the one before.
func (p *Pane) FindNext(dir int) (code.Match, bool) {
	m, ok := p.text.Next(p.cur-1, dir)
	if ok {
		p.SetCursor(m.Line + 1)
		if w := p.W - 2 - p.gutter(); m.Col >= p.left+w || m.Col < p.left {
			p.left = max(0, min(m.Col-w/2, p.text.Widest()-w))
		}
	}
	return m, ok
}
