package races

import (
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern/scene"
	"tilescope/tui/theme"
)

// waiting fills a part for which there is no scene.
func (p *Pane) waiting(part int, title string, w, h int) []string {
	var lines []string
	text := p.look.Note
	if text == "" {
		text = "nothing to show for this finding"
	}
	for _, s := range p.Theme.Wrap(text, w-4) {
		lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, s).Done())
	}
	return p.box(part, title, "", lines, w, h)
}

// digits name warps in one column.
const digits = "0123456789abcdefghijklmnopqrstuv"

// grid is a shared array as it is laid out on screen: a long column is folded into rows.
type grid struct {
	w    *scene.Writers
	rows int
	cols int
}

func (g grid) cell(row, col int) *scene.CellWriters {
	if i := row*g.cols + col; i < len(g.w.Cells) {
		return &g.w.Cells[i]
	}
	return nil
}

// fold lays an array of one dimension out in rows of as many cells as fit, a multiple of eight.
func fold(w *scene.Writers, fit int) grid {
	if w.Cols > 1 || w.Rows < 16 {
		return grid{w, w.Rows, w.Cols}
	}
	cols := 8
	for cols*2 <= fit && cols < 32 {
		cols *= 2
	}
	return grid{w, (w.Rows + cols - 1) / cols, cols}
}

const labelWidth = 5

// cells is the variable: a digit for the warp that wrote each cell last, a mark where two warps
// touched it unordered.
func (p *Pane) cells(w, h int) []string {
	sc := p.look.Scene
	if sc == nil || sc.Writers == nil {
		name := "CELLS"
		if sc != nil && sc.Request.Variable != "" {
			return p.Theme.Box(name+" "+sc.Request.Variable, "",
				[]string{
					p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, "not a shared array: no map of it").Done(),
				}, w, h, p.Focus == Cells)
		}
		return p.waiting(Cells, name, w, h)
	}
	room := w - 2 - labelWidth
	g := fold(sc.Writers, (room-1)/2)
	wide := 2*g.cols+1 <= room
	fit := g.cols
	if !wide {
		fit = min(g.cols, room)
	}
	at := p.element(g)
	left := max(0, min(at[1]-fit/2, g.cols-fit))
	body := max(1, h-3) // a legend at the end
	limit := max(0, g.rows-body)
	top := max(0, min(at[0]-body/2, limit))
	p.scroll[Cells] = max(-top, min(p.scroll[Cells], limit-top))
	top += p.scroll[Cells]
	var lines []string
	for r := top; r < min(top+body, g.rows); r++ {
		l := p.Theme.Line(w-2).Right(p.Theme.Dim, p.label(g, r), labelWidth-1).Space(1)
		for c := left; c < left+fit; c++ {
			if x := g.cell(r, c); x != nil {
				p.writerCell(l, x, wide, [2]int{r, c} == at, [2]int{r, c - 1} == at && c > left)
			}
		}
		if wide && at == [2]int{r, left + fit - 1} {
			l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
		}
		lines = append(lines, l.Done())
	}
	for len(lines) < body {
		lines = append(lines, p.Theme.Line(w-2).Done())
	}
	lines = append(lines[:min(body, h-3)], p.legend(sc.Writers, wide, w-2))
	note := "all iterations"
	if k := sc.Request.KVTile; k >= 0 && !p.data.Work.Once {
		note = p.data.Work.At(k)
	}
	return p.Theme.Box(fmt.Sprintf("CELLS %s %s", sc.Request.Variable, shape(sc.Writers)), note, lines, w, h,
		p.Focus == Cells)
}

func (p *Pane) label(g grid, row int) string {
	if g.cols != g.w.Cols {
		return strconv.Itoa(row * g.cols)
	}
	return strconv.Itoa(row)
}

func shape(w *scene.Writers) string {
	out := make([]string, len(w.Array.Dims))
	for i, d := range w.Array.Dims {
		out[i] = strconv.Itoa(d)
	}
	return strings.Join(out, "×")
}

// element is where the finding's element lies on screen, {-1, -1} for none.
func (p *Pane) element(g grid) [2]int {
	index := p.look.Scene.Request.Index
	dims := g.w.Array.Dims
	if len(index) != len(dims) || len(dims) == 0 {
		return [2]int{-1, -1}
	}
	i := 0
	for k, d := range dims {
		i = i*d + index[k]
	}
	return [2]int{i / g.cols, i % g.cols}
}

// writerCell draws one cell: a column that carries brackets or the mark of a contested cell,
// then its last writer.
func (p *Pane) writerCell(l *theme.Line, x *scene.CellWriters, wide, here, after bool) {
	text, style := p.Theme.Glyph.Equal, p.Theme.Off
	if x.Warp >= 0 {
		text, style = digits[x.Warp&31:x.Warp&31+1], p.Theme.Value[p.shade(x.Warp)]
	}
	if wide {
		switch {
		case here:
			l.Glyph(p.Theme.Mark, p.Theme.Glyph.Left)
		case after:
			l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
		case x.Contested:
			l.Glyph(p.Theme.Wrong, "!")
		default:
			l.Space(1)
		}
	} else if x.Contested {
		text, style = "!", p.Theme.Wrong
	}
	if here {
		style = p.Theme.Here
		if !wide {
			text = "+"
		}
	}
	l.Glyph(style, text)
}

// shade spreads the block's warps over the palette.
func (p *Pane) shade(warp int) int {
	n := max(1, p.look.Scene.Warps-1)
	return min(len(p.Theme.Value)-1, warp*(len(p.Theme.Value)-1)/n)
}

func (p *Pane) legend(w *scene.Writers, wide bool, width int) string {
	contested := 0
	for i := range w.Cells {
		if w.Cells[i].Contested {
			contested++
		}
	}
	mark := "contested"
	if w.Flight {
		mark = "from both lines"
	}
	marked := ""
	if contested > 0 { // of a race within a warp no cell is
		marked = fmt.Sprintf(", ! %s (%s)", mark, theme.Count(contested, "cell"))
	}
	text := fmt.Sprintf("last writer%s, %s none", marked, p.Theme.Glyph.Equal)
	if !wide {
		text = fmt.Sprintf("last writer%s, + here", marked)
	}
	return p.Theme.Line(width).Space(1).Add(p.Theme.Dim, p.Theme.Fit(text, width-1)).Done()
}

// window is the part of the block's time that is drawn: the barrier interval of the conflict and
// a little around it.
func window(sc *scene.Scene) (lo, hi uint64) {
	if sc.Pair[0] < 0 {
		return 0, sc.Steps
	}
	first, last := sc.Accesses[sc.Pair[0]].Step, sc.Accesses[sc.Pair[1]].Step
	if last < first {
		first, last = last, first
	}
	lo, hi = 0, sc.Steps
	for _, s := range sc.Syncs {
		if s.Kind != scene.SyncDone {
			continue
		}
		if s.Step <= first {
			lo = s.Step
		}
		if s.Step >= last {
			hi = s.Step
			break
		}
	}
	margin := (hi - lo) / 12
	return lo - min(lo, margin), min(sc.Steps, hi+margin)
}

// Marks of the strip, later ones over earlier ones in a column that holds several: what a finding is about is
// never hidden by a synchronisation.
const (
	markNone = iota
	markRun
	markWait
	markWarp
	markArrive
	markDone
	markAccess
	markA
	markB
)

// stripMarks are which of the marks are on screen.
type stripMarks [markB + 1]bool

// strip is warps × time: who ran, where they synchronised, where the two sides meet.
func (p *Pane) strip(w, h int) []string {
	sc := p.look.Scene
	if sc == nil {
		return p.waiting(Strip, "SCHEDULE", w, h)
	}
	cols := w - 2 - labelWidth
	lo, hi := window(sc)
	span := hi - lo + 1
	column := func(step uint64) (int, bool) {
		if step < lo || step > hi {
			return 0, false
		}
		return int((step - lo) * uint64(cols) / span), true
	}
	marks := p.marks(sc, cols, column)
	body := max(1, h-2-2) // a legend of two lines
	order := p.warpOrder(sc, body)
	var seen stripMarks
	var lines []string
	for _, warp := range order {
		l := p.Theme.Line(w-2).Right(p.Theme.Dim, "w"+strconv.Itoa(warp), labelWidth-1).Space(1)
		for _, m := range marks[warp] {
			p.stripMark(l, m)
			seen[m] = true
		}
		lines = append(lines, l.Done())
	}
	for len(lines) < body {
		lines = append(lines, p.Theme.Line(w-2).Done())
	}
	seen[markA] = seen[markA] || seen[markB] // one may lie over the other
	p.seen = &seen
	lines = append(lines[:body],
		p.Theme.Line(w-2).Space(1).
			Add(p.Theme.Wrong, p.Theme.Fit(p.meeting(sc, seen[markAccess]), w-4)).Done(),
		p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, p.Theme.Fit(p.stripLegend(&seen), w-4)).Done())
	note := fmt.Sprintf("steps %d-%d of %d · %s", lo, hi, sc.Steps, sc.Schedule)
	return p.Theme.Box("SCHEDULE block "+sc.Request.Block.String(), note, lines, w, h, p.Focus == Strip)
}

// stripLegend explains the marks that are on screen.
func (p *Pane) stripLegend(seen *stripMarks) string {
	g := p.Theme.Glyph
	var out []string
	for _, x := range []struct {
		mark uint8
		text string
	}{
		{markRun, g.H + " runs"}, {markDone, g.V + " barrier"}, {markArrive, "> at it"},
		{markWarp, ": warp sync"},
		{markWait, "w async wait"}, {markAccess, "x access"},
	} {
		if seen[x.mark] {
			out = append(out, x.text)
		}
	}
	return strings.Join(out, " · ")
}

// meeting says what of a finding is seen in the strip: its two sides, or the accesses of one, which are drawn
// unless the warps that make them are not on screen.
func (p *Pane) meeting(sc *scene.Scene, drawn bool) string {
	name := sc.Request.Variable
	switch {
	case sc.Pair[0] < 0 && len(sc.Accesses) == 0 && name == "": // of a barrier or a hang
		return "the whole block"
	case sc.Pair[0] < 0 && len(sc.Accesses) == 0 && sc.Writers != nil && sc.Writers.Flight:
		return "the whole block; asynchronous operations access " + name + ", issued at other lines"
	case sc.Pair[0] < 0 && len(sc.Accesses) == 0:
		return "the whole block; nothing of " + name + " is touched from this line"
	case sc.Request.Sides[1] == nil && sc.Request.Sides[0] != nil:
		line := sc.Request.Sides[0].Line
		text := fmt.Sprintf("%s of line %d to %s", accesses(len(sc.Accesses)), line, name)
		if !drawn {
			return text + ", by warps that are not on screen"
		}
		return "x: " + text
	case sc.Pair[0] >= 0:
		return "A " + p.doing(0) + " · B " + p.doing(1)
	case sc.Request.Across && !drawn:
		return "accesses of " + name + " by warps that are not on screen; the other side is another block's"
	case sc.Request.Across:
		return "x: accesses of " + name + "; the other side is another block's"
	}
	return "the two sides do not meet in this execution"
}

// accesses counts them: 1 access, 2 accesses.
func accesses(n int) string {
	if n == 1 {
		return "1 access"
	}
	return fmt.Sprintf("%d accesses", n)
}

// warpOrder is which warps are drawn: all, or those of the conflict and the first ones.
func (p *Pane) warpOrder(sc *scene.Scene, n int) []int {
	first := max(0, min(p.scroll[Strip], sc.Warps-n))
	p.scroll[Strip] = first
	var out []int
	if sc.Warps > n && sc.Pair[0] >= 0 && first == 0 {
		out = append(out, sc.Accesses[sc.Pair[0]].Warp)
		if b := sc.Accesses[sc.Pair[1]].Warp; b != out[0] {
			out = append(out, b)
		}
	}
	pinned := len(out)
	for warp := first; warp < sc.Warps && len(out) < n; warp++ {
		if pinned > 0 && warp == out[0] || pinned > 1 && warp == out[1] {
			continue
		}
		out = append(out, warp)
	}
	return out[:min(n, len(out))]
}

// marks fills a grid of warps × columns.
func (p *Pane) marks(sc *scene.Scene, cols int, column func(uint64) (int, bool)) [][]uint8 {
	marks := make([][]uint8, max(1, sc.Warps))
	for i := range marks {
		marks[i] = make([]uint8, cols)
	}
	put := func(warp int, step uint64, m uint8) {
		if c, ok := column(step); ok && warp >= 0 && warp < len(marks) && marks[warp][c] < m {
			marks[warp][c] = m
		}
	}
	lo, hi := window(sc)
	for _, s := range sc.Stretches {
		if s.To < lo || s.From > hi || s.Warp >= len(marks) {
			continue
		}
		a, _ := column(max(s.From, lo))
		b, _ := column(min(s.To, hi))
		for c := a; c <= b; c++ {
			marks[s.Warp][c] = max(marks[s.Warp][c], markRun)
		}
	}
	for _, s := range sc.Syncs {
		switch s.Kind {
		case scene.SyncDone:
			for warp := range marks {
				put(warp, s.Step, markDone)
			}
		case scene.SyncArrive:
			put(s.Warp, s.Step, markArrive)
		case scene.SyncWarp:
			put(s.Warp, s.Step, markWarp)
		case scene.SyncWait:
			put(s.Warp, s.Step, markWait)
		}
	}
	for i := range sc.Accesses {
		put(sc.Accesses[i].Warp, sc.Accesses[i].Step, markAccess)
	}
	if sc.Pair[0] >= 0 {
		a, b := &sc.Accesses[sc.Pair[0]], &sc.Accesses[sc.Pair[1]]
		if !a.Side[0] {
			a, b = b, a
		}
		put(a.Warp, a.Step, markA)
		put(b.Warp, b.Step, markB)
	}
	return marks
}

func (p *Pane) stripMark(l *theme.Line, m uint8) {
	g := p.Theme.Glyph
	switch m {
	case markNone:
		l.Space(1)
	case markRun:
		l.Glyph(p.Theme.Accent, g.H)
	case markAccess:
		l.Glyph(p.Theme.Taint, "x")
	case markWait:
		l.Glyph(p.Theme.Text, "w")
	case markWarp:
		l.Glyph(p.Theme.Text, ":")
	case markArrive:
		l.Glyph(p.Theme.Dim, ">")
	case markDone:
		l.Glyph(p.Theme.Strong, g.V)
	case markA:
		l.Glyph(p.Theme.Wrong, "A")
	case markB:
		l.Glyph(p.Theme.Wrong, "B")
	}
}
