package tile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// detail is the three lines below the tile: the cell, its writer, the tile.
func (p *Pane) detail() []string {
	w := p.W - 2
	if p.data.View == nil || !p.judge.Known() {
		return p.Theme.Blank(w, detailLines-1)
	}
	writer := p.note
	if p.wrote != nil {
		writer = p.writerText(p.wrote, w)
	}
	return []string{p.cellLine(w), p.Theme.Line(w).Add(p.Theme.Text, p.Theme.Fit(writer, w)).Done(),
		p.tileLine(w)}
}

// alignedFrom is the width from which the cell's line keeps its fields in their columns, so that a move
// changes digits and little else.
const alignedFrom = 112

// cellLine: q17,k9  k 2.6250 0x4140 │ r 1.3125 0x3D40 │ Δ +1.3125 = +1024 ulp  ✗ > bound 4.9e-04
func (p *Pane) cellLine(w int) string {
	x := p.judge.At(p.row, p.col)
	t := p.data.View.Got.DType
	l := p.Theme.Line(w)
	name, digits := 0, 0
	if w >= alignedFrom {
		name, digits = 8, 10
	}
	l.Add(p.Theme.Strong, fmt.Sprintf("%-*s", name, cell.Name(p.plan(), p.row, p.col)))
	bar := " " + p.Theme.Glyph.V + " "
	if p.unreferenced() && p.choice() == Usual {
		return p.aloneLine(l, x, digits).Done()
	}
	if p.choice() != Usual {
		return p.crossLine(l, x).Done()
	}
	if absent := x.Absent && p.data.View.Valid(p.row, p.col); absent {
		l.Add(p.Theme.Taint, "  "+p.Theme.Glyph.Absent+" not captured")
		return l.Add(p.Theme.Border, bar).
			Add(p.Theme.Text, fmt.Sprintf("r %*s 0x%s", digits, cell.Long(x.Want),
				cell.HexText(t, x.RefBits))).Done()
	}
	l.Add(p.Theme.Text, fmt.Sprintf("  k %*s 0x%s", digits, cell.Long(x.Got), cell.HexText(t, x.Bits)))
	l.Add(p.Theme.Border, bar)
	l.Add(p.Theme.Text, fmt.Sprintf("r %*s 0x%s", digits, cell.Long(x.Want), cell.HexText(t, x.RefBits)))
	if !p.data.View.Valid(p.row, p.col) {
		return l.Add(p.Theme.Border, bar).Add(p.Theme.Dim, "outside the compared cells").Done()
	}
	l.Add(p.Theme.Border, bar)
	if !p.judge.Judged(p.row, p.col) {
		return l.Add(p.Theme.Dim, "not judged: what it is computed from was not captured").Done()
	}
	return p.verdict(l, x, digits).Done()
}

// crossLine: q17,k9  g 2.6250 0x4140 │ e 2.6250 0x4140 ✓ equal │ r 1.3125 0x3D40 │ ✗ > 4.9e-04
func (p *Pane) crossLine(l *theme.Line, x cell.Cell) *theme.Line {
	t := p.data.View.Got.DType
	bar := " " + p.Theme.Glyph.V + " "
	own, other := "g", "e"
	if p.data.A != "" {
		own, other = "B", "A"
	}
	text := fmt.Sprintf("  %s %s 0x%s", own, cell.Long(x.Got), cell.HexText(t, x.Bits))
	if x.Absent {
		text = fmt.Sprintf("  %s %s not captured", own, p.Theme.Glyph.Absent)
	}
	l.Add(p.Theme.Text, text).Add(p.Theme.Border, bar)
	if !p.data.View.Other.Reached() {
		l.Add(p.Theme.Taint, other+" not reached")
	} else if !p.data.View.Other.Captured(p.row, p.col) {
		l.Add(p.Theme.Taint, other+" not captured")
	} else {
		l.Add(p.Theme.Text, fmt.Sprintf("%s %s 0x%s ", other, cell.Long(t.Value(x.Other)),
			cell.HexText(t, x.Other)))
		if x.Differs && x.Absent {
			l.Add(p.Theme.Taint, p.Theme.Glyph.Differs)
		} else if x.Differs {
			l.Add(p.Theme.Taint, fmt.Sprintf("%s %+d ulp", p.Theme.Glyph.Differs,
				p.judge.AgainstOther(p.row, p.col).ULP))
		} else {
			l.Add(p.Theme.OK, p.Theme.Glyph.OK+" equal")
		}
	}
	l.Add(p.Theme.Border, bar).
		Add(p.Theme.Text, fmt.Sprintf("r %s 0x%s", cell.Long(x.Want), cell.HexText(t, x.RefBits))).
		Add(p.Theme.Border, bar)
	switch {
	case !p.data.View.Valid(p.row, p.col), x.Absent, !p.judge.Judged(p.row, p.col):
		return l.Add(p.Theme.Dim, "not compared")
	case x.Bad:
		return l.Add(p.Theme.Wrong, p.Theme.Glyph.Wrong+" > bound")
	}
	return l.Add(p.Theme.OK, p.Theme.Glyph.OK+" in bound")
}

// CellText is the cell under the cursor in words, for copying.
func (p *Pane) CellText() string {
	if p.data.View == nil || !p.judge.Known() {
		return ""
	}
	x, t := p.judge.At(p.row, p.col), p.data.View.Got.DType
	if p.unreferenced() && !x.Absent {
		return fmt.Sprintf("%s (0x%s)", cell.Long(x.Got), cell.HexText(t, x.Bits))
	}
	if x.Absent {
		return fmt.Sprintf("not captured, reference %s %s (0x%s)", p.judge.Name(), cell.Long(x.Want),
			cell.HexText(t, x.RefBits))
	}
	return fmt.Sprintf("%s (0x%s), reference %s %s (0x%s), error %s, bound %s", cell.Long(x.Got),
		cell.HexText(t, x.Bits), p.judge.Name(),
		cell.Long(x.Want), cell.HexText(t, x.RefBits), strings.TrimSpace(x.DeltaText(0)),
		strconv.FormatFloat(x.Bound, 'e', 3, 64))
}

func (p *Pane) verdict(l *theme.Line, x cell.Cell, digits int) *theme.Line {
	g := p.Theme.Glyph
	if x.Equal && !x.Bad && digits == 0 {
		return l.Add(p.Theme.OK, "equal "+g.OK)
	}
	limit := strconv.FormatFloat(x.Bound, 'e', 1, 64)
	if p.set.Bound > 0 {
		limit = p.set.Bound.String()
	}
	if math.IsNaN(x.Delta) || math.IsInf(x.Delta, 0) {
		l.Add(p.Theme.Text, "Δ not finite  ")
	} else {
		l.Add(p.Theme.Text, fmt.Sprintf("Δ %s  ", x.DeltaText(digits)))
	}
	style, mark := p.Theme.OK, g.OK+" ≤ "
	if x.Bad {
		style, mark = p.Theme.Wrong, g.Wrong+" > "
	}
	l.Add(style, mark)
	if p.Theme.Width("bound "+limit) <= l.Left() {
		l.Add(p.Theme.Text, "bound ")
	}
	return l.Add(p.Theme.Text, limit)
}

// tileLine: bad 37/1024 ▁▂▃█▃▁ · factor exp(m_new-m_old) by row explains 98 %
func (p *Pane) tileLine(w int) string {
	if p.unreferenced() {
		return p.aloneTileLine(w)
	}
	l := p.Theme.Line(w)
	style := p.Theme.OK
	if p.stats.Bad > 0 {
		style = p.Theme.Wrong
	}
	l.Add(style, fmt.Sprintf("bad %d/%d ", p.stats.Bad, p.stats.Cells))
	for _, n := range p.stats.Bins {
		l.Glyph(p.Theme.Accent, p.Theme.Glyph.Spark[spark(n, p.stats.Cells, len(p.Theme.Glyph.Spark))])
	}
	if n := p.stats.Absent; n > 0 {
		l.Add(p.Theme.Dim, " · ").Add(p.Theme.Taint, fmt.Sprintf("%s %d not captured",
			p.Theme.Glyph.Absent, n))
	}
	verdict := p.data.View.Verdict.Verdict
	if p.judge.Crossed() && p.stats.Differing > 0 {
		from := "the emulator"
		if p.data.A != "" {
			from = "A"
		}
		l.Add(p.Theme.Dim, " · ").Add(p.Theme.Taint, fmt.Sprintf("%s%d/%d from %s", p.Theme.Glyph.Differs,
			p.stats.Differing, p.stats.Cells, from))
	}
	l.Add(p.Theme.Dim, " · ")
	l.Add(p.Theme.Verdict(verdict), p.Theme.VerdictMark(verdict)+" "+verdict)
	if note := cell.Pattern(p.data.Stage); note != "" {
		l.Add(p.Theme.Dim, " · ").Add(p.Theme.Text, p.Theme.Fit(note, l.Left()))
	} else if d := p.data.View.Verdict; d.MaxAbs > 0 && verdict != report.Tainted {
		l.Add(p.Theme.Dim, " · max ").Add(p.Theme.Text, cell.Long(d.MaxAbs))
	}
	return l.Done()
}

// spark scales a count to a bar's height: logarithmic, and never empty for a count above zero.
func spark(n, total, levels int) int {
	if n <= 0 || total <= 0 {
		return 0
	}
	f := math.Log1p(float64(n)) / math.Log1p(float64(total))
	return max(1, min(levels-1, int(f*float64(levels-1)+0.5)))
}

// writerText is the line about a cell's writer, in the longest form that w columns have room for: with the PTX
// instruction, with the file of the store, with its line alone.
func (p *Pane) writerText(x *target.WriteSite, w int) string {
	if w >= fullWriter {
		return WriterText(x)
	}
	if text := writerText(x, "%d") + storedAt(x); p.Theme.Width(text) <= w || x.Source == nil {
		return text
	}
	return fmt.Sprintf("%s · %s at line %d", writerText(x, "%d"), stores(x), x.Source.Line)
}

// fullWriter is the width from which the line has the PTX instruction, and its fields keep their places.
const fullWriter = 120

// WriterText is the whole line about a cell's writer: who stored it, where to, and by which line and
// instruction. That line is the store's: a wrong value may come from elsewhere.
func WriterText(x *target.WriteSite) string {
	return fmt.Sprintf("%s%s · step %d · ptx %d: %s", writerText(x, "%2d"), storedAt(x), x.Step, x.PTXLine,
		x.Instr)
}

// writerText is who wrote a cell and where to; number formats lanes and banks.
func writerText(x *target.WriteSite, number string) string {
	text := fmt.Sprintf("warp %d lane "+number, x.Warp, x.Lane)
	if x.Fragment != "" {
		text += " " + x.Fragment
	}
	switch space := x.Space.String(); space {
	case "shared":
		text += fmt.Sprintf(" · smem 0x%04x bank "+number, x.Addr, x.Addr/4%32)
	case "":
	default:
		text += fmt.Sprintf(" · %s 0x%x", space, x.Addr)
	}
	return text
}

func storedAt(x *target.WriteSite) string {
	if x.Source == nil {
		return ""
	}
	return fmt.Sprintf(" · %s at %s:%d", stores(x), x.Source.File, x.Source.Line)
}

// stores is the verb for a write: a register is set.
func stores(x *target.WriteSite) string {
	if x.Space == target.SpaceNone {
		return "set"
	}
	return "stored"
}
