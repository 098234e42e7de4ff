package theme

// Box draws a border around lines that are w-2 columns wide already; missing lines are filled, surplus ones
// dropped. The result is h lines of w columns. title stands in the top border, note at its right end.
func (t *Theme) Box(title, note string, lines []string, w, h int, focused bool) []string {
	if w < 2 || h < 2 {
		return t.Blank(w, h)
	}
	g, edge := t.Glyph, t.Border
	if focused {
		edge = t.Focus
	}
	out := make([]string, 0, h)
	out = append(out, t.Rule(g.TL, g.TR, title, note, w, focused))
	blank := ""
	for i := range h - 2 {
		l := t.Line(w).Glyph(edge, g.V)
		if i < len(lines) {
			l.Raw(lines[i], w-2)
		} else {
			l.Raw(blank, 0)
		}
		out = append(out, l.Pad(w-1).Glyph(edge, g.V).Done())
	}
	return append(out, t.Line(w).Glyph(edge, g.BL).Repeat(edge, g.H, w-2).Glyph(edge, g.BR).Done())
}

// Rule is a horizontal border from left to right with a title in it and a note at its right end.
func (t *Theme) Rule(left, right, title, note string, w int, focused bool) string {
	edge, name := t.Border, t.Title
	if focused {
		edge = t.Focus
	}
	g := t.Glyph
	l := t.Line(w).Glyph(edge, left)
	if title != "" {
		l.Add(name, t.Fit(title, w-3))
	}
	if n := t.Width(note); note != "" && n < l.Left()-3 {
		l.Repeat(edge, g.H, l.Left()-n-2)
		l.Add(t.Dim, note)
	}
	return l.Repeat(edge, g.H, l.Left()-1).Glyph(edge, right).Done()
}

// Blank is h empty lines of w columns.
func (t *Theme) Blank(w, h int) []string {
	if w < 0 || h < 0 {
		return nil
	}
	out := make([]string, h)
	for i := range out {
		out[i] = t.Line(w).Done()
	}
	return out
}

// Beside joins columns of equal height line by line.
func Beside(columns ...[]string) []string {
	if len(columns) == 0 {
		return nil
	}
	out := make([]string, len(columns[0]))
	for i := range out {
		n := 0
		for _, c := range columns {
			n += len(c[i])
		}
		b := make([]byte, 0, n)
		for _, c := range columns {
			b = append(b, c[i]...)
		}
		out[i] = string(b)
	}
	return out
}
