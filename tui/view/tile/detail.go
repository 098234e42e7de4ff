package tile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
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

// cellLine: q17,k9  k 2.6250 0x4140 │ r 1.3127, as f16 1.3125 0x3D40 │ Δ +1.3123 = +1024 ulp  ✗ > bound
// 4.9e-04
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
			Add(p.Theme.Text, fmt.Sprintf("r %*s 0x%s", digits, cell.Typed(t, x.Want),
				cell.HexText(t, x.RefBits))).Done()
	}
	got := fmt.Sprintf("  k %*s 0x%s", digits, cell.Typed(t, x.Got), cell.HexText(t, x.Bits))
	var rest []styled
	switch {
	case !p.data.View.Valid(p.row, p.col):
		rest = []styled{{p.Theme.Dim, "outside the compared cells"}}
	case !p.judge.Judged(p.row, p.col):
		rest = []styled{{p.Theme.Dim, "not judged: what it is computed from was not captured"}}
	default:
		rest = p.verdict(x, digits)
	}
	room := l.Left() - p.Theme.Width(got) - 2*p.Theme.Width(bar)
	for _, s := range rest {
		room -= p.Theme.Width(s.text)
	}
	want := p.reference(x, t, digits, room)
	if room < p.Theme.Width(want) {
		rest = slices.DeleteFunc(rest, func(s styled) bool { return s.text == boundWord })
		room += p.Theme.Width(boundWord)
	}
	// the verdict stays; bits are also what v shows
	if room < p.Theme.Width(want) {
		want, got = fmt.Sprintf("r %*s", digits, cell.Typed(t, t.Value(x.RefBits))),
			fmt.Sprintf("  k %*s", digits, cell.Typed(t, x.Got))
	}
	l.Add(p.Theme.Text, got).Add(p.Theme.Border, bar).Add(p.Theme.Text, want).Add(p.Theme.Border, bar)
	for _, s := range rest {
		l.Add(s.style, s.text)
	}
	return l.Done()
}

// styled is a piece of a line.
type styled struct {
	style theme.Style
	text  string
}

// reference is a cell's reference rounded to the type of the tile, which is what its bits are compared with;
// the unrounded value, which the error and the bound are about, stands before it where it is another number
// and w columns have room for both.
func (p *Pane) reference(x cell.Cell, t probes.DType, digits, w int) string {
	rounded, exact := cell.Typed(t, t.Value(x.RefBits)), cell.Typed(t, x.Want)
	short := fmt.Sprintf("r %*s 0x%s", digits, rounded, cell.HexText(t, x.RefBits))
	switch {
	case digits > 0 && (p.W < fullWriter || t.Size() > 2):
		return short
	case digits > 0: // aligned, whatever the values
		return fmt.Sprintf("r %*s, as %s %*s 0x%s", digits, exact, t, digits, rounded,
			cell.HexText(t, x.RefBits))
	case rounded == exact:
		return short
	}
	both := fmt.Sprintf("%*s, as %s %s 0x%s", digits, exact, t, rounded, cell.HexText(t, x.RefBits))
	for _, name := range []string{"reference ", "r "} {
		if p.Theme.Width(name+both) <= w {
			return name + both
		}
	}
	return short
}

// crossLine: q17,k9  g 2.6250 0x4140 │ e 2.6250 0x4140 ✓ equal │ r 1.3125 0x3D40 │ ✗ > 4.9e-04
func (p *Pane) crossLine(l *theme.Line, x cell.Cell) *theme.Line {
	t := p.data.View.Got.DType
	bar := " " + p.Theme.Glyph.V + " "
	own, other := "g", "e"
	if p.data.A != "" {
		own, other = "B", "A"
	}
	text := fmt.Sprintf("  %s %s 0x%s", own, cell.Typed(t, x.Got), cell.HexText(t, x.Bits))
	if x.Absent {
		text = fmt.Sprintf("  %s %s not captured", own, p.Theme.Glyph.Absent)
	}
	l.Add(p.Theme.Text, text).Add(p.Theme.Border, bar)
	if !p.data.View.Other.Reached() {
		l.Add(p.Theme.Taint, other+" not reached")
	} else if !p.data.View.Other.Captured(p.row, p.col) {
		l.Add(p.Theme.Taint, other+" not captured")
	} else {
		l.Add(p.Theme.Text, fmt.Sprintf("%s %s 0x%s ", other, cell.Typed(t, t.Value(x.Other)),
			cell.HexText(t, x.Other)))
		if x.Differs && x.Absent {
			l.Add(p.Theme.Taint, p.Theme.Glyph.Differs)
		} else if x.Differs {
			l.Add(p.Theme.Taint, p.Theme.Glyph.Differs+" "+
				strings.TrimSpace(p.judge.AgainstOther(p.row, p.col).ULPText(0)))
		} else {
			l.Add(p.Theme.OK, p.Theme.Glyph.OK+" equal")
		}
	}
	l.Add(p.Theme.Border, bar).
		Add(p.Theme.Text, fmt.Sprintf("r %s 0x%s", cell.Typed(t, x.Want), cell.HexText(t, x.RefBits))).
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
		return fmt.Sprintf("%s (0x%s)", cell.Typed(t, x.Got), cell.HexText(t, x.Bits))
	}
	if x.Absent {
		return fmt.Sprintf("not captured, reference %s %s (0x%s)", p.judge.Name(), cell.Typed(t, x.Want),
			cell.HexText(t, x.RefBits))
	}
	return fmt.Sprintf("%s (0x%s), reference %s %s, as %s %s (0x%s), error %s, bound %s", cell.Typed(t, x.Got),
		cell.HexText(t, x.Bits), p.judge.Name(), cell.Typed(t, x.Want), t, cell.Typed(t, t.Value(x.RefBits)),
		cell.HexText(t, x.RefBits), strings.TrimSpace(x.DeltaText(0)),
		strconv.FormatFloat(x.Bound, 'e', 3, 64))
}

// verdict is a cell's error and how it stands to its bound. A cell whose bits are the rounded reference's has
// no other error than that rounding.
func (p *Pane) verdict(x cell.Cell, digits int) []styled {
	g, text := p.Theme.Glyph, p.Theme.Text
	if x.Equal && !x.Bad && digits == 0 {
		if x.Delta == 0 {
			return []styled{{p.Theme.OK, "equal " + g.OK}}
		}
		return []styled{{p.Theme.OK, fmt.Sprintf("equal as %s %s", p.data.View.Got.DType, g.OK)}}
	}
	limit := x.BoundText()
	if p.set.Bound > 0 {
		limit = p.set.Bound.String()
	}
	delta := styled{text, fmt.Sprintf("Δ %s  ", x.DeltaText(digits))}
	if math.IsNaN(x.Delta) || math.IsInf(x.Delta, 0) {
		delta.text = "Δ " + cell.Odd(x.Delta) + "  "
	}
	style, mark := p.Theme.OK, g.OK+" ≤ "
	if x.Bad {
		style, mark = p.Theme.Wrong, g.Wrong+" > "
	}
	return []styled{delta, {style, mark}, {text, boundWord}, {text, limit}}
}

// boundWord is left out of a cell's line that has no room for it.
const boundWord = "bound "

// wideTileLine is the width from which the line names the ends of its histogram's scale, and always has it.
const wideTileLine = 90

// tileLine: bad 37/1024 ÷ bound -4 ▁▂▃█▃▁ 4 · factor exp(m_new-m_old) by row explains 98 %
//
// A narrow line has its histogram where nothing is cut for it.
func (p *Pane) tileLine(w int) string {
	if p.unreferenced() {
		return p.aloneTileLine(w)
	}
	line, whole := p.judgedTileLine(w, true)
	if !whole && w < wideTileLine {
		line, _ = p.judgedTileLine(w, false)
	}
	return line
}

// judgedTileLine is the line of a tile with a reference, with its histogram or without; whole is false where
// something had no room.
func (p *Pane) judgedTileLine(w int, bars bool) (line string, whole bool) {
	l := p.Theme.Line(w)
	style := p.Theme.OK
	if p.stats.Bad > 0 {
		style = p.Theme.Wrong
	}
	l.Add(style, fmt.Sprintf("bad %d/%d", p.stats.Bad, p.stats.Cells))
	low, high := "÷ bound ", ""
	if w >= wideTileLine {
		low, high = "÷ bound -4 ", " 4"
	}
	if bars {
		l.Space(1).Add(p.Theme.Accent, low)
		for _, n := range p.stats.Bins {
			l.Glyph(p.Theme.Accent, p.Theme.Glyph.Spark[spark(n, p.stats.Cells, len(p.Theme.Glyph.Spark))])
		}
		l.Add(p.Theme.Dim, high)
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
		l.Add(p.Theme.Dim, " · ")
		whole = p.Theme.Width(note) <= l.Left()
		return l.Add(p.Theme.Text, p.Theme.Fit(note, l.Left())).Done(), whole
	}
	if share := cell.OfBound(p.stats.Worst); share != "" && verdict != report.Tainted {
		const worst = " · worst error "
		whole = p.Theme.Width(worst+share) <= l.Left()
		return l.Add(p.Theme.Dim, worst).Add(p.Theme.Text, share).Done(), whole
	}
	return l.Done(), l.Left() > 0
}

// spark scales a count to a bar's height: logarithmic, and never empty for a count above zero.
func spark(n, total, levels int) int {
	if n <= 0 || total <= 0 {
		return 0
	}
	f := math.Log1p(float64(n)) / math.Log1p(float64(total))
	return max(1, min(levels-1, int(f*float64(levels-1)+0.5)))
}

// writerText is the line about a cell's writer, in the longest form that w columns have room for: with the
// PTX instruction, with the file of the store, with its line alone.
func (p *Pane) writerText(x *target.WriteSite, w int) string {
	if w >= fullWriter {
		return WriterText(x)
	}
	if text := writerText(x, "%d") + storedAt(x); p.Theme.Width(text) <= w || x.Source == nil {
		return text
	}
	who, stored := writerText(x, "%d")+" · ", fmt.Sprintf("%s at line %d", stores(x), x.Source.Line)
	if x.Computed != nil {
		both := fmt.Sprintf("computed at line %d, %s at %d", x.Computed.Line, stores(x), x.Source.Line)
		if p.Theme.Width(who+both) <= w { // else the line of the store, which SOURCE shows
			stored = both
		}
	}
	return who + stored
}

// fullWriter is the width from which the line has the PTX instruction, and its fields keep their places.
const fullWriter = 120

// WriterText is the whole line about a cell's writer: who stored it, where to, and by which line and
// instruction. That line is the store's: a wrong value may come from elsewhere.
func WriterText(x *target.WriteSite) string {
	return writerText(x, "%2d") + storedAt(x) + " · " + instructionText(x)
}

// instructionText is the step and the instruction of a write.
func instructionText(x *target.WriteSite) string {
	return fmt.Sprintf("step %d · ptx %d: %s", x.Step, x.PTXLine, x.Instr)
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
	return " · " + report.WrittenAt(report.SourceOf(x.Computed), report.SourceOf(x.Source), stores(x))
}

// stores is the verb for a write: a register is set, and a probe captures what the kernel does not store.
func stores(x *target.WriteSite) string {
	switch {
	case x.Space == target.SpaceNone:
		return "set"
	case x.Probe:
		return "captured"
	}
	return "stored"
}
