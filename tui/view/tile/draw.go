package tile

import (
	"fmt"
	"math"
	"strconv"

	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 10 || p.H < 3+detailLines {
		return p.Theme.Blank(p.W, p.H)
	}
	g := p.Theme.Glyph
	out := make([]string, 0, p.H)
	out = append(out, p.heads())
	body := p.H - 2 - detailLines
	if v := p.data.View; v == nil || !v.Got.Reached() {
		out = append(out, p.message(body)...)
	} else {
		out = append(out, p.columnHeads())
		for i := range body - 1 {
			out = append(out, p.rowLine(p.top+i, i < p.nrows))
		}
	}
	out = append(out, p.junction(g.TeeL, g.TeeB, g.TeeR))
	for _, l := range p.detail() {
		out = append(out, p.Theme.Line(p.W).Glyph(p.Theme.Border, g.V).Raw(l, p.W-2).
			Glyph(p.Theme.Border, g.V).Done())
	}
	return append(out, p.Theme.Line(p.W).Glyph(p.Theme.Border, g.BL).Repeat(p.Theme.Border, g.H, p.W-2).
		Glyph(p.Theme.Border, g.BR).Done())
}

// heads is the top border with the columns' titles.
func (p *Pane) heads() string {
	g := p.Theme.Glyph
	l := p.Theme.Line(p.W)
	for i, z := range p.zones {
		corner := g.TeeT
		if i == 0 {
			corner = g.TL
		}
		l.Glyph(p.Theme.Border, corner)
		edge, title := p.Theme.Border, p.Theme.Title
		if z.kind == p.Focus {
			edge, title = p.Theme.Focus, p.Theme.Focus
		}
		end := l.Col() + z.w
		l.Add(title, p.Theme.Fit(p.title(z.kind), z.w))
		l.Repeat(edge, g.H, end-l.Col())
	}
	return l.Glyph(p.Theme.Border, g.TR).Done()
}

func (p *Pane) title(kind int) string {
	switch kind {
	case Kernel:
		name := "KERNEL"
		if p.choice() != Usual {
			name = "GPU"
		}
		if p.data.A != "" {
			name = "B " + p.data.B
		}
		v := p.data.View
		switch {
		case v == nil:
			return name
		case v.Plan.OfLaunch() && p.data.A == "":
			return v.Plan.Help + " " + cell.TypeText(v.Plan)
		case v.Injected:
			return fmt.Sprintf(
				"%s INJECTED %s, not computed by the kernel",
				p.Theme.Glyph.Injected,
				v.Got.DType,
			)
		case p.unreferenced():
			return fmt.Sprintf("%s %s, no reference", name, v.Got.DType)
		}
		return fmt.Sprintf("%s %s", name, v.Plan.DType)
	case Emulator:
		name := "EMULATOR"
		if p.data.A != "" {
			name = "A " + p.data.A
		}
		if n := p.stats.Differing; n > 0 {
			return fmt.Sprintf("%s %s%d", name, p.Theme.Glyph.Differs, n)
		}
		return name + " " + p.Theme.Glyph.OK + " equal"
	case Reference:
		if p.unreferenced() {
			return "BEFORE"
		}
		if p.judge.Name() != "" {
			return "REFERENCE " + p.judge.Name()
		}
		return "REFERENCE"
	}
	if p.unreferenced() && p.choice() == Usual {
		return "CHANGE " + p.set.Diff.String()
	}
	if p.choice() == Crosswise {
		if p.data.A != "" {
			return "B - A " + p.set.Diff.String()
		}
		return "GPU - EMULATOR " + p.set.Diff.String()
	}
	return "ERROR signed " + p.set.Diff.String()
}

func (p *Pane) junction(left, mid, right string) string {
	g := p.Theme.Glyph
	l := p.Theme.Line(p.W)
	for i, z := range p.zones {
		corner := mid
		if i == 0 {
			corner = left
		}
		l.Glyph(p.Theme.Border, corner).Repeat(p.Theme.Border, g.H, z.w)
	}
	return l.Glyph(p.Theme.Border, right).Done()
}

// message fills the tile's place with text.
func (p *Pane) message(h int) []string {
	text := p.data.Message
	if v := p.data.View; v != nil && !v.Got.Reached() && text == "" {
		text = "execution did not reach this tile"
		if v.Plan.Capture.Kind == probes.CaptureNone {
			text = "the values of this stage are not captured: the manifest says capture: none"
		}
	}
	if text == "" {
		text = "nothing has run yet"
	}
	lines := p.Theme.Wrap(text, p.W-6)
	first := max(0, (h-len(lines))/2)
	out := make([]string, h)
	for i := range out {
		l := p.Theme.Line(p.W).Glyph(p.Theme.Border, p.Theme.Glyph.V)
		if k := i - first; k >= 0 && k < len(lines) {
			l.Pad((p.W-p.Theme.Width(lines[k]))/2).Add(p.Theme.Dim, lines[k])
		}
		out[i] = l.Pad(p.W-1).Glyph(p.Theme.Border, p.Theme.Glyph.V).Done()
	}
	return out
}

func (p *Pane) columnHeads() string {
	l := p.Theme.Line(p.W)
	_, letter := cell.Axes(p.plan())
	for _, z := range p.zones {
		l.Glyph(p.Theme.Border, p.Theme.Glyph.V)
		start := l.Col()
		l.Space(p.labels)
		for c := p.left; c < p.left+p.ncols; c++ {
			p.columnHead(l, z, letter, c)
		}
		l.Pad(start + z.w)
	}
	return l.Glyph(p.Theme.Border, p.Theme.Glyph.V).Done()
}

func (p *Pane) columnHead(l *theme.Line, z zone, letter string, c int) {
	name := p.data.Place.Stage.String()
	if letter != "" || p.plan() != nil && p.plan().OfLaunch() {
		name = letter + strconv.Itoa(c)
	}
	if p.set.Heat == HeatMap { // one column a cell: every eighth is named
		if c == p.left {
			l.Space(1)
		}
		if c%8 == 0 && c+len(name) <= p.left+p.ncols {
			l.Add(p.Theme.Dim, name)
		} else if c%8 >= len(name) || c < 8*((p.left+7)/8) {
			l.Space(1)
		}
		return
	}
	end := l.Col() + z.cell
	l.Right(p.Theme.Dim, p.Theme.Fit(name, z.cell-1), end-1).Pad(end)
}

// rowLine draws one row of the tile in every zone.
func (p *Pane) rowLine(row int, in bool) string {
	l := p.Theme.Line(p.W)
	for _, z := range p.zones {
		l.Glyph(p.Theme.Border, p.Theme.Glyph.V)
		start := l.Col()
		if in {
			l.Add(p.Theme.Dim, p.Theme.Fit(p.rowName(row), p.labels)).Pad(start + p.labels)
			if p.set.Heat == HeatMap {
				l.Space(1)
				for c := p.left; c < p.left+p.ncols; c++ {
					p.mapCell(l, z.kind, row, c)
				}
			} else {
				p.numberCells(l, z, row)
			}
		}
		l.Pad(start + z.w)
	}
	return l.Glyph(p.Theme.Border, p.Theme.Glyph.V).Done()
}

// numberCells writes a row's numbers: a separator that carries the cursor's brackets, then the number on its
// ground. Only separators change when the cursor moves.
func (p *Pane) numberCells(l *theme.Line, z zone, row int) {
	here := row == p.row
	for c := p.left; c < p.left+p.ncols; c++ {
		switch {
		case here && c == p.col:
			l.Glyph(p.Theme.Mark, p.Theme.Glyph.Left)
		case here && c == p.col+1 && c > p.left:
			l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
		case z.kind == Emulator && p.judge.Known() && p.data.View.Valid(row, c) && p.judge.At(row, c).Differs:
			l.Glyph(p.Theme.Taint, p.Theme.Glyph.Differs)
		default:
			l.Space(1)
		}
		p.number(l, z, row, c)
	}
	if here && p.col == p.left+p.ncols-1 {
		l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
	}
}

func (p *Pane) number(l *theme.Line, z zone, row, c int) {
	end := l.Col() + z.cell - 1
	if !p.judge.Known() {
		t := p.data.View.Got
		if z.kind == Kernel {
			l.Right(p.Theme.Text, p.set.Format.Text(t.DType, t.Bits(row, c), z.cell-1), end)
		}
		l.Pad(end)
		return
	}
	x := p.judge.At(row, c)
	valid := p.data.View.Valid(row, c)
	if !valid && p.data.View.Elems > 0 {
		l.Pad(end) // past the end of the list
		return
	}
	if x.Absent && valid && (z.kind == Kernel || z.kind == Error) {
		l.Right(p.Theme.Taint, p.Theme.Glyph.Absent, end)
		return
	}
	if f := p.set.Filter; f != nil && !(valid && !x.Absent && f.Hit(x)) {
		l.Right(p.Theme.Off, p.Theme.Glyph.Equal, end)
		return
	}
	switch z.kind {
	case Emulator:
		p.emulated(l, x, valid, z.cell-1, end)
	case Kernel, Reference:
		bits := x.Bits
		if z.kind == Reference {
			bits = x.RefBits
		}
		p.right(l, p.ground(z.kind, x, valid), p.set.Format.Text(p.data.View.Got.DType, bits, z.cell-1), end)
	case Error:
		if p.choice() == Crosswise {
			x = p.judge.AgainstOther(row, c)
		}
		p.errorNumber(l, x, valid, end)
	}
}

// emulated writes what the emulator has where the GPU has something. That it is not the same is shown by the
// mark before it, and by its style.
func (p *Pane) emulated(l *theme.Line, x cell.Cell, valid bool, w, end int) {
	if !p.data.View.Other.Reached() {
		l.Right(p.Theme.Off, p.Theme.Glyph.Off, end)
		return
	}
	t := p.data.View.Got.DType
	o := x
	o.Got, o.Bits = t.Value(x.Other), x.Other
	style := p.ground(Emulator, o, valid)
	if x.Differs && valid && (p.set.Heat == HeatOff || !p.Theme.Colours()) {
		style = p.Theme.Taint
	}
	p.right(l, style, p.set.Format.Text(t, x.Other, w), end)
}

// right writes text right-aligned up to column end, its ground from the current column on.
func (p *Pane) right(l *theme.Line, s theme.Style, text string, end int) {
	l.Repeat(s, " ", end-l.Col()-p.Theme.Width(text)).Add(s, text)
}

// errorNumber writes the error and its mark: above, below, equal, or a blank within the bound.
func (p *Pane) errorNumber(l *theme.Line, x cell.Cell, valid bool, end int) {
	if !valid {
		l.Pad(end)
		return
	}
	s := p.ground(Error, x, valid)
	if x.Equal && !x.Bad {
		p.right(l, s, p.Theme.Glyph.Equal+" ", end)
		return
	}
	mark, style := p.Theme.ErrorMark(x.Standing())
	text, marked := p.set.Diff.ErrorText(x, end-l.Col())
	if !marked && p.Theme.Width(text) == end-l.Col() {
		p.right(l, s, text, end)
		return
	}
	if p.right(l, s, text, end-1); !marked && x.Bad {
		mark = p.Theme.Glyph.Within
	}
	if p.set.Heat == HeatTint && p.Theme.Colours() {
		style = s
	}
	l.Glyph(style, mark)
}

// ground is a cell's style: the heat colour under tint, else its verdict.
func (p *Pane) ground(kind int, x cell.Cell, valid bool) theme.Style {
	if !valid {
		return p.Theme.Off
	}
	if p.set.Heat != HeatOff && p.Theme.Colours() {
		if kind == Error {
			if x.Equal && !x.Bad {
				return p.Theme.Dim
			}
			return p.Theme.ErrorHeat(p.judge.Ratio(x))
		}
		return p.valueHeat(x, kind)
	}
	switch {
	case x.Bad:
		return p.Theme.Wrong
	case kind == Error:
		return p.Theme.Dim
	}
	return p.Theme.Text
}

func (p *Pane) valueHeat(x cell.Cell, kind int) theme.Style {
	v := x.Got
	if kind == Reference {
		v = x.Want
	}
	return p.Theme.Value[p.stats.Level(v, len(p.Theme.Value))]
}

// mapCell draws a cell in one column: colour for its value or error, a glyph for what colour
// must not say alone.
func (p *Pane) mapCell(l *theme.Line, kind, row, c int) {
	if row == p.row && c == p.col {
		l.Glyph(p.Theme.Here, "+")
		return
	}
	if !p.judge.Known() || !p.data.View.Valid(row, c) {
		l.Glyph(p.Theme.Off, p.Theme.Glyph.Off)
		return
	}
	x := p.judge.At(row, c)
	if x.Absent && (kind == Kernel || kind == Error) {
		l.Glyph(p.Theme.Taint, p.Theme.Glyph.Absent)
		return
	}
	if f := p.set.Filter; f != nil && (x.Absent || !f.Hit(x)) {
		l.Space(1)
		return
	}
	switch {
	case kind == Emulator && x.Differs:
		l.Glyph(p.Theme.Taint, p.Theme.Glyph.Differs)
		return
	case kind == Emulator:
		x.Got = p.data.View.Got.DType.Value(x.Other)
	case kind == Error && p.choice() == Crosswise:
		x = p.judge.AgainstOther(row, c)
	}
	mark, style := p.Theme.ErrorMark(x.Standing())
	if p.Theme.Colours() {
		style = p.ground(kind, x, true)
	}
	if kind == Error {
		l.Glyph(style, mark)
		return
	}
	v := x.Got
	if kind == Reference {
		v = x.Want
	}
	switch {
	case math.IsNaN(v):
		l.Glyph(style, p.Theme.Glyph.NaN)
	case math.IsInf(v, 0):
		l.Glyph(style, p.Theme.Glyph.Inf)
	case !p.Theme.Rich():
		l.Glyph(style, p.Theme.Glyph.Shade[p.stats.Level(v, len(p.Theme.Glyph.Shade))])
	default: // the digit says what the ground does
		l.Glyph(style, strconv.Itoa(p.stats.Level(v, 10)))
	}
}
