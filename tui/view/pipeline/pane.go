// Package pipeline is the Pipeline view: an asynchronous kernel's warps and operations over time, the buffers
// of its rings with who owns each, its mbarriers, and the operations that have not landed, at the moment at
// which the block of view Source stands.
//
// The one idea: time is counted in asynchronous events. A column of the chart is what the block executes from
// one event to the next, so that a tile of thousands of instructions and the issue of one copy take a column
// each, and a step by event is a step of one column.
//
// It must not know how a block is executed, nor stepped: a Stepper is, and has the only walk.
package pipeline

import (
	"cmp"
	"maps"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/tui/theme"
)

// Parts of the pane, as focus counts them.
const (
	Timeline = iota
	Ring
	Barriers
	Operations
	Layout
	numParts
)

// Data is what is shown.
type Data struct {
	Pos       walk.Position
	Warps     []target.Warp
	State     target.AsyncState
	Line      *walk.Timeline // nil: it has not been recorded
	Unit      string
	Iteration string // of the loop over tiles; "" outside
	Empty     string // the text where there is nothing to show
}

// Pane draws the view.
type Pane struct {
	theme.Frame[int]
	data  Data
	chart *chart
	shown int // the part below the chart that a small screen shows

	row, col int // the cursor in the chart
	top      int // first row shown
	left     int // first column shown
	at       [numParts]int
	first    [numParts]int
	drawn    [numParts]drawnPart
	moved    int // the part in which alone the cursor has moved since; -1: more has changed
}

// drawnPart is what a part looked like when it was drawn last.
type drawnPart struct {
	place rect
	focus bool
	lines []string
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane {
	return &Pane{Frame: theme.NewFrame(th, Timeline), shown: Barriers, moved: -1}
}

// SetData shows another moment. The cursor goes there where the block has moved.
func (p *Pane) SetData(d Data) {
	moved := d.Pos.Step != p.data.Pos.Step || d.Line != p.data.Line
	if d.Line != p.data.Line {
		if p.chart = nil; d.Line != nil {
			p.chart = newChart(d.Line)
		}
		p.row, p.top, p.left = 0, 0, 0
	}
	p.data, p.Changed, p.moved = d, true, -1
	if moved && p.chart != nil {
		p.col = p.chart.column(d.Pos.Step)
		p.reveal()
	}
	p.clamp()
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.reveal()
	}
}

// SetFocus says which part has the focus, -1 for none.
func (p *Pane) SetFocus(part int) {
	p.Frame.SetFocus(part)
	if part > Timeline && part != p.shown {
		p.shown, p.Changed = part, true
	}
}

// SetZoom has the focused part drawn alone.
func (p *Pane) SetZoom(on bool) {
	p.Frame.SetZoom(on)
	p.reveal()
}

// rect is a place in the pane.
type rect struct{ x, y, w, h int }

// smallest pane that shows all parts at once, and the one that has them in three columns.
const (
	wholeWidth  = 100
	wholeHeight = 33
	bothWidth   = 160 // from which the layout is drawn next to the operations
	// Where half of the pane is less than the ring's columns take, the barriers give up what theirs leave.
	ringWidth     = 70
	barriersWidth = 52
	strip         = 1
)

// layout is where the parts stand.
func (p *Pane) layout() map[int]rect {
	h := p.H - strip
	if p.Zoomed && p.Focus >= 0 {
		return map[int]rect{p.Focus: {0, strip, p.W, h}}
	}
	need := 4 // borders, the axis, and what is under the cursor
	if p.chart != nil {
		need += len(p.chart.rows)
	}
	if p.W < wholeWidth || p.H < wholeHeight {
		below := max(6, h-need)
		return map[int]rect{Timeline: {0, strip, p.W, h - below}, p.shown: {0, strip + h - below, p.W, below}}
	}
	upper := max(10, min(need, h-16))
	low := h - upper
	tables := max(6, low*3/5)
	if p.W >= bothWidth { // a layout is long
		tables = max(6, low*2/5)
	}
	left := max(p.W/2, min(ringWidth, p.W-barriersWidth))
	out := map[int]rect{
		Timeline: {0, strip, p.W, upper}, Ring: {0, strip + upper, left, tables},
		Barriers: {left, strip + upper, p.W - left, tables},
	}
	last := rect{0, strip + upper + tables, p.W, low - tables}
	switch {
	case p.W >= bothWidth:
		last.w = left
		out[Operations] = last
		out[Layout] = rect{left, last.y, p.W - left, last.h}
	case p.shown == Layout:
		out[Layout] = last
	default:
		out[Operations] = last
	}
	return out
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 40 || p.H < 8 {
		return p.Theme.Blank(p.W, p.H)
	}
	out := append(make([]string, 0, p.H), p.strip())
	if p.data.Empty != "" {
		return append(out, p.empty()...)
	}
	all := p.layout()
	order := slices.Collect(maps.Keys(all))
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].y, all[b].y), cmp.Compare(all[a].x, all[b].x))
	})
	for i := 0; i < len(order); {
		y, beside := all[order[i]].y, [][]string{}
		for ; i < len(order) && all[order[i]].y == y; i++ {
			beside = append(beside, p.kept(order[i], all[order[i]]))
		}
		out = append(out, theme.Beside(beside...)...)
	}
	p.moved = numParts
	return out
}

// kept is a part as it was drawn last, drawn again where something of it may have changed: the cursor of RING
// chooses what LAYOUT shows, and no other part depends on another's cursor.
func (p *Pane) kept(part int, r rect) []string {
	d := &p.drawn[part]
	focus := p.Focus == part
	changed := p.moved < 0 || p.moved == part || p.moved == Ring && part == Layout
	if changed || d.lines == nil || d.place != r || d.focus != focus {
		*d = drawnPart{r, focus, p.part(part, r.w, r.h)}
	}
	return d.lines
}

// touch notes that the cursor of a part has moved.
func (p *Pane) touch(part int) {
	p.Changed = true
	if p.moved == numParts || p.moved == part {
		p.moved = part
	} else {
		p.moved = -1
	}
}

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.Frame.SetTheme(th)
	p.moved = -1
}

// empty is a box that says why there is nothing to see.
func (p *Pane) empty() []string {
	var lines []string
	for _, s := range p.Theme.Wrap(p.data.Empty, p.W-4) {
		lines = append(lines, p.Theme.Line(p.W-2).Space(1).Add(p.Theme.Dim, s).Done())
	}
	return p.Theme.Box("PIPELINE", "", lines, p.W, p.H-strip, p.Focus >= 0)
}

func (p *Pane) part(part, w, h int) []string {
	switch part {
	case Ring:
		return p.ring(w, h)
	case Barriers:
		return p.barriers(w, h)
	case Operations:
		return p.operations(w, h)
	case Layout:
		return p.layoutTable(w, h)
	}
	return p.timeline(w, h)
}

// Under is the part drawn at a place of the pane.
func (p *Pane) Under(x, y int) (int, rect) {
	for part, r := range p.layout() {
		if x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h {
			return part, r
		}
	}
	return Timeline, rect{}
}

// Hit moves the cursor of a part to the row, and in the chart to the column, drawn at a place.
func (p *Pane) Hit(x, y int) int {
	part, r := p.Under(x, y)
	p.touch(part)
	if part != Timeline {
		p.at[part] = p.first[part] + y - r.y - 2
		p.clamp()
		return part
	}
	if p.chart == nil {
		return part
	}
	if i := p.top + y - r.y - 2; i >= 0 && i < len(p.chart.rows) && y < r.y+r.h-2 {
		p.row = i
	}
	if i := x - r.x - 1 - labelWidth; i >= 0 && i < p.axis(r.w) {
		p.col = min(p.left+i, len(p.chart.cols)-1)
	}
	return part
}

// Move moves the cursor of a part and reports whether it moved.
func (p *Pane) Move(part, rows, cols int) bool {
	p.touch(part)
	if part != Timeline {
		was := p.at[part]
		p.at[part] += rows + cols
		if p.clamp(); part == Layout {
			p.View() // drawing clamps it
		}
		return p.at[part] != was
	}
	if p.chart == nil {
		return false
	}
	row, col := p.row, p.col
	p.row = max(0, min(p.row+rows, len(p.chart.rows)-1))
	p.col = max(0, min(p.col+cols, len(p.chart.cols)-1))
	p.reveal()
	return p.row != row || p.col != col
}

// Moment is the moment at which the column under the chart's cursor begins; ok is false without a chart.
func (p *Pane) Moment() (step uint64, ok bool) {
	if p.chart == nil {
		return 0, false
	}
	return p.chart.cols[p.col], true
}

// reveal scrolls the chart so that its cursor is seen.
func (p *Pane) reveal() {
	if p.chart == nil || p.W < 40 || p.H < 8 {
		return
	}
	r, ok := p.layout()[Timeline]
	if !ok {
		return
	}
	p.top = theme.Into(p.top, p.row, r.h-4, len(p.chart.rows))
	n := p.axis(r.w)
	if p.col < p.left || p.col >= p.left+n { // by half a chart, so that steps do not scroll each time
		p.left = p.col - n/2
	}
	p.left = max(0, min(p.left, len(p.chart.cols)-n))
}

// clamp keeps the cursors of the lists within them.
func (p *Pane) clamp() {
	for part, n := range map[int]int{
		Ring: len(p.buffers()), Barriers: len(p.data.State.MBarriers),
		Operations: len(p.data.State.Operations),
	} {
		p.at[part] = max(0, min(p.at[part], n-1))
	}
}

// buffers are the buffers of shared memory, none before the block's timeline has been recorded.
func (p *Pane) buffers() []walk.Buffer {
	if p.data.Line == nil {
		return nil
	}
	return p.data.Line.Buffers
}
