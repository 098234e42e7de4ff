package pipeline

import (
	"fmt"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/tui/theme"
)

// Shared memory is drawn in lines of all its banks, in units of 16 bytes, which is what a swizzle exchanges.
const (
	bankBytes  = 4
	unitBytes  = 16
	lineBytes  = 128
	lineUnits  = lineBytes / unitBytes
	cellWidth  = 7
	swizzleTop = 9 // columns before the cells
)

// layoutTable is the tile of the buffer under RING's cursor as it is stored and as it is meant: which row and
// column each unit of 16 bytes holds, and where each unit of a row lies.
func (p *Pane) layoutTable(w, h int) []string {
	t := p.Theme
	focused := p.Focus == Layout
	say := func(text string) []string {
		line := t.Line(w-2).Space(1).Add(t.Dim, t.Fit(text, w-3)).Done()
		return t.Box("LAYOUT", "", []string{line}, w, h, focused)
	}
	buffers := p.buffers()
	if len(buffers) == 0 {
		return say("no operation fills shared memory")
	}
	b := &buffers[p.at[Ring]]
	if b.Layout == nil {
		return say(b.Name + " is filled by no tensor copy: its rows lie one after the other")
	}
	lines := p.layoutHead(b.Layout, b.Reader, w-2)
	stored, meant := p.asStored(b.Layout, b.Lo), p.asMeant(b.Layout, b.Lo)
	if wide := swizzleTop + lineUnits*cellWidth; 2*wide+2 <= w-2 {
		for i := range stored {
			lines = append(lines, t.Line(w-2).Raw(stored[i], wide).Space(2).Raw(meant[i], wide).Done())
		}
	} else {
		for _, s := range append(stored, meant...) {
			lines = append(lines, t.Line(w-2).Raw(s, wide).Done())
		}
	}
	rest := max(0, len(lines)-(h-2))
	p.first[Layout] = max(0, min(p.at[Layout], rest))
	p.at[Layout] = p.first[Layout]
	note := ""
	if rest > 0 {
		note = fmt.Sprintf("line %d of %d", p.first[Layout]+1, len(lines))
	}
	return t.Box("LAYOUT "+b.Name, note, lines[p.first[Layout]:], w, h, focused)
}

// swizzleName is 128B, or none.
func swizzleName(x *target.TileLayout) string {
	if x.Swizzle == 0 {
		return "no swizzle"
	}
	return fmt.Sprintf("%dB swizzle", x.Swizzle)
}

// layoutHead says by whom the tile is laid out, whether its reader takes it so, and what the swizzle is good
// for: in how many groups of banks the units of a column lie.
func (p *Pane) layoutHead(x, reader *target.TileLayout, w int) []string {
	t := p.Theme
	line := func(style theme.Style, text string) string {
		return t.Line(w).Space(1).Add(style, t.Fit(text, w-2)).Done()
	}
	unit := "units of 16 bytes stay where they are"
	if n := x.Swizzle / unitBytes; n > 0 {
		unit = fmt.Sprintf("unit u of line n lies at u XOR (n mod %d)", n)
	}
	out := []string{line(t.Text, fmt.Sprintf("written by %s: %s, %s", x.By, swizzleName(x), unit))}
	switch {
	case reader == nil:
		out = append(out, line(t.Dim, "read by no product"))
	case reader.Swizzle == x.Swizzle:
		out = append(out, line(t.OK, fmt.Sprintf("%s read by %s, %s: the same", t.Glyph.OK, reader.By,
			swizzleName(reader))))
	default:
		out = append(out, line(t.Wrong, fmt.Sprintf("%s read by %s, %s: another order", t.Glyph.Wrong,
			reader.By, swizzleName(reader))))
	}
	groups := map[uint64]bool{}
	rows := min(lineUnits, x.Rows)
	for row := range rows {
		groups[x.Address(row, 0)%lineBytes/unitBytes] = true
	}
	return append(out, line(t.Dim, fmt.Sprintf("the first units of rows 0-%d lie in %s of banks", rows-1,
		theme.Count(len(groups), "group"))))
}

// banks is the head of a table: the banks of each unit of a line.
func (p *Pane) banks(name string) string {
	t := p.Theme
	l := t.Line(swizzleTop + lineUnits*cellWidth).Space(1)
	l.Add(t.Dim, t.Fit(name, swizzleTop-1)).Pad(swizzleTop)
	for u := range lineUnits {
		first := u * unitBytes / bankBytes
		l.Right(t.Dim, fmt.Sprintf("%d-%d", first, first+unitBytes/bankBytes-1), swizzleTop+(u+1)*cellWidth)
	}
	return l.Done()
}

// asStored is the first lines of the tile in shared memory: the row and first column of what lies in each
// unit.
func (p *Pane) asStored(x *target.TileLayout, base uint64) []string {
	t := p.Theme
	at := map[uint64][2]int{}
	for row := range x.Rows {
		for b := 0; b < x.RowBytes; b += unitBytes {
			at[x.Address(row, b)-base] = [2]int{row, b / max(1, x.Element)}
		}
	}
	out := []string{p.banks("stored")}
	for n := range uint64(lineUnits) {
		l := t.Line(swizzleTop + lineUnits*cellWidth).Space(1)
		l.Add(t.Dim, fmt.Sprintf("+0x%03x", n*lineBytes)).Pad(swizzleTop)
		for u := range uint64(lineUnits) {
			text, style := "–", t.Dim
			if c, ok := at[n*lineBytes+u*unitBytes]; ok {
				text, style = fmt.Sprintf("%d:%d", c[0], c[1]), p.shade(c[1]*x.Element/unitBytes)
			}
			l.Right(style, text, swizzleTop+int(u+1)*cellWidth)
		}
		out = append(out, l.Done())
	}
	return out
}

// asMeant is the first rows of the tile: where each unit lies, as offset in the buffer.
func (p *Pane) asMeant(x *target.TileLayout, base uint64) []string {
	t := p.Theme
	l := t.Line(swizzleTop+lineUnits*cellWidth).Space(1).Add(t.Dim, "meant").Pad(swizzleTop)
	for u := 0; u < min(lineUnits, x.RowBytes/unitBytes); u++ {
		l.Right(t.Dim, fmt.Sprintf("col %d", u*unitBytes/max(1, x.Element)), swizzleTop+(u+1)*cellWidth)
	}
	out := []string{l.Done()}
	for row := range min(lineUnits, x.Rows) {
		l := t.Line(swizzleTop + lineUnits*cellWidth).Space(1)
		l.Add(t.Dim, fmt.Sprintf("row %d", row)).Pad(swizzleTop)
		for u := 0; u < min(lineUnits, x.RowBytes/unitBytes); u++ {
			at := fmt.Sprintf("+%#x", x.Address(row, u*unitBytes)-base)
			l.Right(p.shade(u), at, swizzleTop+(u+1)*cellWidth)
		}
		out = append(out, l.Done())
	}
	return out
}

// shade is the colour of a column of units, the same in both tables.
func (p *Pane) shade(unit int) theme.Style {
	v := p.Theme.Value
	if len(v) == 0 || slices.Contains(v, "") {
		return p.Theme.Text
	}
	return v[min(len(v)-1, unit%lineUnits*(len(v)-1)/(lineUnits-1))]
}
