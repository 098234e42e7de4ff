package pipeline

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/theme"
)

// labelWidth is the columns before the chart.
const labelWidth = 9

// axis is the columns of a chart in w columns: the rest says what is so now.
func (p *Pane) axis(w int) int { return max(8, w-2-labelWidth-p.nowWidth(w)) }

func (p *Pane) nowWidth(w int) int {
	switch {
	case w >= 160:
		return 44
	case w >= 100:
		return 34
	}
	return 24
}

// strip: block 0,0,0 · step 23713 of 338785 · event 7 of 102 · warp 4 · kv 0 · by event
func (p *Pane) strip() string {
	t, d := p.Theme, &p.data
	l := t.Line(p.W)
	if d.Empty != "" && d.Line == nil {
		return l.Done()
	}
	add := func(style theme.Style, text string) {
		if l.Left() < 5 {
			return
		}
		if l.Col() > 0 {
			l.Add(t.Dim, " · ")
		}
		l.Add(style, t.FitWords(text, l.Left()))
	}
	add(t.Text, "block "+d.Pos.Block.String())
	step := "step " + strconv.FormatUint(d.Pos.Step, 10)
	if d.Line != nil {
		step += " of " + strconv.FormatUint(d.Line.Steps, 10)
	}
	add(t.Strong, step)
	if c := p.chart; c != nil {
		add(t.Text, fmt.Sprintf("event %d of %d", c.column(d.Pos.Step), len(c.cols)-1))
	}
	warp := fmt.Sprintf("warp %d", d.Pos.Warp)
	if d.Pos.Source != nil && d.Pos.Source.Line > 0 {
		warp += fmt.Sprintf(" at %s:%d", path.Base(d.Pos.Source.File), d.Pos.Source.Line)
	}
	add(t.Text, warp)
	if d.Iteration != "" {
		add(t.Text, d.Iteration)
	}
	add(t.Dim, "by "+d.Unit)
	switch d.Pos.Stop {
	case "end", "start":
		add(t.Accent, d.Pos.Stop)
	case "deadlock", "fault":
		add(t.Wrong, t.Glyph.Wrong+" "+d.Pos.Stop)
	}
	return l.Done()
}

// timeline is the chart: the axis, the rows, and what is under the cursor.
func (p *Pane) timeline(w, h int) []string {
	const title = "TIMELINE"
	if p.chart == nil {
		text := "recording the block's timeline"
		return p.Theme.Box(title, "", []string{
			p.Theme.Line(w-2).Space(1).Add(p.Theme.Running, text).Done(),
		}, w, h, p.Focus == Timeline)
	}
	n := p.axis(w)
	lines := []string{p.head(w, n)}
	now := p.chart.column(p.data.Pos.Step)
	for i := p.top; i < min(p.top+max(1, h-4), len(p.chart.rows)); i++ {
		lines = append(lines, p.chartRow(i, now, n, w-2))
	}
	for len(lines) < h-3 {
		lines = append(lines, p.Theme.Line(w-2).Done())
	}
	lines = append(lines, p.under(w-2))
	return p.Theme.Box(title, p.extent(n, h-4, w-len(title)-6), lines, w, h, p.Focus == Timeline)
}

// extent says which of the chart's columns and rows are shown, where not all are, and what a column is, as
// far as w columns have room for it.
func (p *Pane) extent(cols, rows, w int) string {
	var parts []string
	if all := len(p.chart.cols); all > cols {
		parts = append(parts, fmt.Sprintf("columns %d-%d of %d", p.left+1, min(p.left+cols, all), all))
	}
	if all := len(p.chart.rows); all > rows {
		parts = append(parts, fmt.Sprintf("rows %d-%d of %d", p.top+1, min(p.top+rows, all), all))
	}
	parts = append(parts, "a column: the steps up to the next asynchronous event")
	if all := strings.Join(parts, " · "); len(parts) == 1 || p.Theme.Width(all) <= w {
		return all
	}
	return strings.Join(parts[:len(parts)-1], " · ")
}

// head is the axis: the moments at its ends, an ellipsis where columns are left out, and a mark over the
// column in which the block stands. The column next to the chart says what each row does there.
func (p *Pane) head(w, n int) string {
	t, c := p.Theme, p.chart
	l := t.Line(w-2).Right(t.Dim, "step", labelWidth-1)
	cut := func(out bool) {
		if out {
			l.Glyph(t.Dim, t.Glyph.Ellipsis)
		} else {
			l.Space(1)
		}
	}
	cut(p.left > 0)
	now, last := c.column(p.data.Pos.Step), min(p.left+n, len(c.cols))-1
	from, to := strconv.FormatUint(c.cols[p.left], 10), strconv.FormatUint(c.cols[last], 10)
	at := now - p.left
	for i := 0; i < n; i++ {
		switch end := last - p.left + 1; {
		case i == at:
			l.Glyph(t.Wrong, t.Glyph.Below)
		case i < len(from):
			l.Add(t.Dim, from[i:i+1])
		case i >= end-len(to) && i < end && end > 2*len(to)+len(from):
			l.Add(t.Dim, to[i-end+len(to):i-end+len(to)+1])
		default:
			l.Space(1)
		}
	}
	cut(p.left+n < len(c.cols))
	return l.Space(1).Add(t.Dim, t.Fit(fmt.Sprintf("now, at step %d", p.data.Pos.Step), l.Left()-1)).Done()
}

// chartRow: w4-7     ──────·ww──▒▒   k_full[1] phase 0
func (p *Pane) chartRow(i, now, n, w int) string {
	t, r := p.Theme, &p.chart.rows[i]
	l := t.Line(w)
	label := t.Text
	if i == p.row && p.Focus == Timeline {
		label = t.Select
	}
	l.Add(label, t.Fit(r.label, labelWidth-1)).Pad(labelWidth)
	for col := p.left; col < p.left+n; col++ {
		if col >= len(r.cells) {
			l.Space(1)
			continue
		}
		glyph, style := p.glyph(r.cells[col])
		if i == p.row && col == p.col && p.Focus == Timeline {
			style = t.Here
		}
		l.Glyph(style, glyph)
	}
	text, style := p.now(r, now)
	return l.Space(2).Add(style, t.Fit(text, l.Left())).Done()
}

// glyph is how a mark is drawn.
func (p *Pane) glyph(m mark) (string, theme.Style) {
	t := p.Theme
	switch m {
	case markReady:
		return t.Glyph.Equal, t.Dim
	case markRun:
		return t.Glyph.H, t.Accent
	case markWait:
		return "w", t.Taint
	case markBlock:
		return "b", t.Dim
	case markIssue:
		return t.Glyph.Pointer, t.Strong
	case markLand:
		return t.Glyph.Dot, t.OK
	case markOwner + mark(walk.Empty):
		return t.Glyph.Equal, t.Dim
	case markOwner + mark(walk.Filling):
		return t.Glyph.Shade[1], t.Accent
	case markOwner + mark(walk.Full):
		return t.Glyph.Shade[4], t.OK
	case markOwner + mark(walk.InUse):
		return "=", t.Text
	case markOwner + mark(walk.Clash):
		return "!", t.Wrong
	case markNone:
		return " ", t.Text
	}
	return strconv.Itoa(int(m - markFlight)), t.Text
}

// now is what a row is doing where the block stands.
func (p *Pane) now(r *row, now int) (string, theme.Style) {
	t := p.Theme
	switch r.kind {
	case rowWarps:
		return p.warpsNow(r)
	case rowOperations:
		n := 0
		for i := range p.data.State.Operations {
			o := &p.data.State.Operations[i]
			if o.Kind == r.op && (o.Kind != target.OpWgmma || o.Warp == r.warps[0]) {
				n++
			}
		}
		if n == 0 {
			return "none pending", t.Dim
		}
		return fmt.Sprintf("%d pending", n), t.Strong
	}
	s := &p.data.Line.Buffers[r.buffer]
	o := s.At(p.data.Pos.Step)
	return o.Owner.String(), p.ownerStyle(o.Owner)
}

func (p *Pane) ownerStyle(o walk.Owner) theme.Style {
	_, style := p.glyph(markOwner + mark(o))
	return style
}

// warpsNow says what the warps of a row wait at, or where they stand: of several, what the first does that is
// not like the others, and how many.
func (p *Pane) warpsNow(r *row) (string, theme.Style) {
	var texts []string
	waits, ended := 0, 0
	for _, w := range r.warps {
		if w >= len(p.data.Warps) {
			continue
		}
		switch x := &p.data.Warps[w]; {
		case len(x.Groups) == 0:
			ended++
		case x.Wait != "":
			waits++
			text := strings.TrimPrefix(x.Wait, "mbarrier ")
			if len(texts) == 0 || texts[len(texts)-1] != text {
				texts = append(texts, text)
			}
		}
	}
	switch n := len(r.warps); {
	case ended == n:
		return "ended", p.Theme.Off
	case waits == 0:
		return "can go on", p.Theme.Dim
	case waits < n-ended:
		return fmt.Sprintf("%d of %d wait at %s", waits, n, strings.Join(texts, ", ")), p.Theme.Text
	default:
		return "waits at " + strings.Join(texts, ", "), p.Theme.Taint
	}
}

// under is the chart's cursor in words: the steps of its column, and what its row does in them.
func (p *Pane) under(w int) string {
	t, c := p.Theme, p.chart
	l := t.Line(w).Space(1)
	if len(c.rows) == 0 {
		return l.Add(t.Dim, "no warps").Done()
	}
	r, span := &c.rows[p.row], c.within(p.col)
	l.Add(t.Strong, stepsText(span)).Add(t.Dim, ": ").Add(t.Text, r.label+" ")
	text := p.story(r, span, true)
	if t.Width(text) >= l.Left() {
		text = p.story(r, span, false)
	}
	return l.Add(t.Text, t.Fit(text, l.Left()-1)).Done()
}

// story says what a row does within a column. full adds when waits begin and end.
func (p *Pane) story(r *row, span walk.Span, full bool) string {
	c := p.chart
	switch r.kind {
	case rowWarps:
		return c.doing(r, span, full)
	case rowOperations:
		return flightText(c.flying(r, p.col), span)
	}
	s := &c.line.Buffers[r.buffer]
	o := s.At(span.From)
	out := fmt.Sprintf("%s since step %d", o.Owner, o.From)
	for i := len(c.line.Flights) - 1; i >= 0; i-- {
		if f := &c.line.Flights[i]; f.Buffer == r.buffer && f.Issued <= span.From {
			return out + " · " + f.Name
		}
	}
	return out
}

// flightText words the operations of a cell: what is issued or lands there, else what is under way.
func flightText(all []*walk.Flight, span walk.Span) string {
	var issued, landed, flying []string
	for _, f := range all {
		switch {
		case f.Issued == span.From:
			issued = append(issued, f.Name+" issued")
		case f.Landed == span.From:
			landed = append(landed, f.Name+" landed")
		default:
			flying = append(flying, f.Name)
		}
	}
	list := append(issued, landed...)
	if len(list) == 0 {
		list = flying
	}
	switch len(list) {
	case 0:
		return "none pending"
	case 1:
		return list[0]
	}
	return fmt.Sprintf("%s, and %d more", list[0], len(list)-1)
}
