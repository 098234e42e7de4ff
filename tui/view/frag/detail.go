package frag

import (
	"fmt"
	"math"
	"path"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// detail is the lines at the bottom: the map's and the table's verdict, the cell under the
// cursor, who wrote it.
func (p *Pane) detail(h int) []string {
	lines := []string{p.verdictLine(), p.cellLine()}
	if h > 2 {
		lines = append(lines, p.writerLine())
	}
	return lines[:min(h, len(lines))]
}

// coverage says how often the map names each cell.
func (p *Pane) coverage() string {
	least, most := 1<<30, 0
	rows, cols := p.extents()
	for i := range rows * cols {
		n := len(p.holders[report.Cell16{i / cols, i % cols}])
		least, most = min(least, n), max(most, n)
	}
	switch {
	case least != most:
		return fmt.Sprintf("%d to %d times each cell", least, most)
	case least == 1:
		return "each cell once"
	case least == 2:
		return "each cell twice"
	}
	return fmt.Sprintf("each cell %d times", least)
}

// roomy is the width from which the verdict is written in full.
const roomy = 110

// verdictLine: acc f32 row on emulator: each cell once · table WMMA_ACCUM_LUT ✗ covers every cell, order
// wrong: sorted by row
func (p *Pane) verdictLine() string {
	l := p.Theme.Line(p.W).Space(1)
	l.Add(p.Theme.Strong, p.choice())
	if device, _, _ := strings.Cut(p.data.Backend, " ("); p.W >= roomy && p.fragment().doc.Instruction == "" {
		l.Add(p.Theme.Text, " on "+device)
	} else if p.W >= roomy {
		l.Add(p.Theme.Text, " by the PTX ISA")
	}
	l.Add(p.Theme.Text, ": "+p.coverage())
	l.Add(p.Theme.Dim, " · ")
	t := p.ownTable()
	switch {
	case t == nil && p.data.Target == "":
		return l.Add(p.Theme.Dim, "no run yet").Done()
	case t == nil && len(p.data.Tables) > 0:
		return l.Add(p.Theme.Dim, p.Theme.Fit(fmt.Sprintf("%s is of %s: :table shows it",
			p.data.Tables[0].Name,
			p.name(p.namedBy(&p.data.Tables[0]))), l.Left())).Done()
	case t == nil:
		return l.Add(p.Theme.Dim, p.data.Target+" has no table of its own").Done()
	}
	verdict := "right"
	style, mark := p.Theme.OK, p.Theme.Glyph.OK
	if !*t.Covered || !*t.Ordered {
		style, mark = p.Theme.Wrong, p.Theme.Glyph.Wrong
		order := fmt.Sprintf("order wrong in %d of %d:", len(t.Wrong), len(t.Cells)*len(t.Cells[0]))
		verdict = strings.Replace(t.Explanation, "order wrong:", order, 1)
		counted := fmt.Sprintf("%s %d entries are wrong:", order, len(t.Wrong))
		verdict = strings.Replace(verdict, counted, order, 1)
		if !*t.Covered {
			verdict = fmt.Sprintf("%d of %d entries wrong", len(t.Wrong), len(t.Cells)*len(t.Cells[0]))
			if n := len(t.Missing); n > 0 {
				verdict += ", " + theme.Count(n, "cell") + " with no owner"
			}
			if n := len(t.Duplicate); n > 0 {
				verdict += fmt.Sprintf(", %d with too many", n)
			}
			verdict += "; " + strings.TrimPrefix(t.Explanation, "does not cover every cell: ")
		}
		// that it covers every cell goes without saying where the order is what is wrong
		if p.W < roomy && *t.Covered {
			verdict = strings.TrimPrefix(t.Explanation, "covers every cell, ")
		}
	}
	l.Add(style, mark+" ").Add(p.Theme.Text, t.Name+" ")
	if p.Theme.Width(verdict) > l.Left() {
		verdict, _, _ = strings.Cut(verdict, ";")
	}
	return l.Add(style, p.Theme.Fit(verdict, l.Left())).Done()
}

// cellLine: lane 4 element 5 = (9,9) · q17,k9 k 2.6250 r 1.3125 Δ +1024 ulp ✗ > bound 4.9e-04
func (p *Pane) cellLine() string {
	x, ok := p.holder()
	l := p.Theme.Line(p.W).Space(1)
	if !ok {
		return l.Add(p.Theme.Wrong, fmt.Sprintf("no element holds (%s)", pair(p.cell))).Done()
	}
	holds, says := "lane %d element %d holds %s", " %s table says %s"
	if p.otherwise() {
		holds = "lane %d element %d would hold %s"
	}
	if p.W < roomy {
		holds, says = "lane %d e%d %s", " %s table %s"
	}
	l.Add(p.Theme.Strong, fmt.Sprintf(holds, x.lane, x.element, pair(p.cell)))
	start := l.Col()
	if t := p.ownTable(); t != nil {
		if c := t.Cells[x.lane][x.element]; c != p.cell {
			l.Add(p.Theme.Wrong, fmt.Sprintf(says, p.Theme.Glyph.Wrong, pair(c)))
		}
	}
	if list := p.ownersOf(p.cell); p.owners != nil && len(list) != len(p.holders[p.cell]) {
		l.Add(p.Theme.Wrong, " "+p.Theme.Glyph.Wrong+" "+ownersText(p.cell, list))
	}
	// where the table is wrong, that has the room of the bank
	if pattern := p.pattern(p.fragment()); p.refused == nil && p.W >= roomy && l.Col() == start {
		l.Add(p.Theme.Text, fmt.Sprintf(" bank %d", pattern.Bank(p.cell)))
	}
	v, ok := p.value(p.cell)
	if !ok {
		return l.Add(p.Theme.Dim, " · "+p.absent()).Done()
	}
	l.Add(p.Theme.Dim, " · ").Add(p.Theme.Text, fmt.Sprintf("k %s r %s ", cell.Long(v.Got),
		cell.Long(v.Want)))
	return p.errorText(l, v).Done()
}

// ownersText: 3,4 has 2 owners: lane 5 e2, lane 17 e0
func ownersText(c report.Cell16, list []at) string {
	if len(list) == 0 {
		return pair(c) + " has no owner"
	}
	text := fmt.Sprintf("%s has %s:", pair(c), theme.Count(len(list), "owner"))
	for i, x := range list {
		if i == 3 {
			return text + fmt.Sprintf(" and %d more", len(list)-i)
		}
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" lane %d e%d", x.lane, x.element)
	}
	return text
}

func (p *Pane) errorText(l *theme.Line, v cell.Cell) *theme.Line {
	if math.IsNaN(v.Delta) || math.IsInf(v.Delta, 0) {
		l.Add(p.Theme.Text, "Δ "+cell.Odd(v.Delta)+" ")
	} else {
		l.Add(p.Theme.Text, fmt.Sprintf("Δ %s ", v.ULPText(0)))
	}
	style, mark := p.Theme.OK, p.Theme.Glyph.OK+" ≤ "
	if v.Bad {
		style, mark = p.Theme.Wrong, p.Theme.Glyph.Wrong+" > "
	}
	limit := v.BoundText()
	if p.live.Bound > 0 {
		limit = p.live.Bound.String()
	}
	return l.Add(style, mark).Add(p.Theme.Text, "bound "+limit)
}

// absent says why the cell has no value.
func (p *Pane) absent() string {
	v := p.live.View
	switch {
	case v == nil && p.live.Note != "":
		return p.live.Note
	case v == nil:
		return "no tile at the cursor"
	case !v.Got.Reached():
		return v.Stage.String() + " was not reached"
	}
	if row, col := p.origin[0]+p.cell[0], p.origin[1]+p.cell[1]; v.Valid(row, col) && row < v.Got.Rows &&
		col < v.Got.Cols {
		return fmt.Sprintf("%s %s was not captured", p.Theme.Glyph.Absent, cell.Name(v.Plan, row, col))
	}
	return fmt.Sprintf("%s has no compared cell there (%d×%d)", v.Stage, v.ValidRows, v.ValidCols)
}

// writerLine is who wrote the cell, beside who the map says holds it.
func (p *Pane) writerLine() string {
	l := p.Theme.Line(p.W).Space(1)
	if v := p.live.View; v != nil {
		rows, cols := p.extents()
		blocks := max(1, v.Got.Rows/rows) * max(1, v.Got.Cols/cols)
		at := fmt.Sprintf("%s block %s", v.Stage, v.Block)
		if p.live.Tile != "" {
			at += " " + p.live.Tile
		}
		l.Add(p.Theme.Text, fmt.Sprintf("%s: %d×%d block %d of %d", at, rows, cols, p.block()+1, blocks))
		if p.live.Raw && rows == cols {
			l.Add(p.Theme.Text, fmt.Sprintf(", the accumulator of warp %d", p.block()))
		}
		l.Add(p.Theme.Dim, " · ")
	}
	switch w := p.live.Writer; {
	case w != nil:
		l.Add(p.Theme.Text, fmt.Sprintf("written by warp %d lane %d", w.Warp, w.Lane))
		if w.Fragment != "" {
			l.Add(p.Theme.Text, " "+w.Fragment)
		}
		if w.Source != nil {
			at := " · " + report.WrittenAt(report.SourceOf(w.Computed), report.SourceOf(w.Source), "stored")
			if p.Theme.Width(at) > l.Left() {
				at = fmt.Sprintf(" · stored at %s:%d", path.Base(w.Source.File), w.Source.Line)
			}
			if p.Theme.Width(at) > l.Left() {
				at = fmt.Sprintf(" · stored at line %d", w.Source.Line)
			}
			l.Add(p.Theme.Text, at)
		}
	case p.live.Note != "" && p.live.View == nil:
	case p.live.Note != "":
		l.Add(p.Theme.Dim, p.live.Note)
	default:
		l.Add(p.Theme.Dim, "the writer is looked for once the cursor rests")
	}
	return l.Done()
}
