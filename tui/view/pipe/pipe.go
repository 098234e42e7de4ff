// Package pipe is the Pipe view's pane: the stages of one block as a timeline over its kv tiles, a verdict in
// every place, the same over all blocks, and what the report says of the stage under the cursor.
//
// The one idea: the timeline's cells are the places of the run, so the cursor here is the cursor everywhere;
// Enter only changes the view.
//
// It must not know sessions, keys or how a verdict is reached.
package pipe

import (
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/outcome"
	"tilescope/tui/pane/minimap"
	"tilescope/tui/pane/source"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// Data is one run.
type Data struct {
	Run     outcome.Outcome
	Plan    *probes.Plan
	Viewer  debugkern.Viewer
	Summary *view.Summary
	Message string              // where there is no run
	Tile    *debugkern.TileView // under the cursor; nil: not read

	Causes    []diagnose.Cause // of a diagnosis of this run, as far as there is one
	Diagnosed bool             // it is over
	Hint      string           // how to come by one

	Changes []debugkern.Difference         // of captured values from the run before
	Patch   func(file string) source.Patch // what patches have changed of a source; nil: nothing
}

// Panes of the view, as focus counts them.
const (
	Timeline = iota
	Detail
)

// Pane draws the view.
type Pane struct {
	theme.Frame[int] // focus -1: elsewhere
	data             Data
	at               debugkern.Place
	grow             int // extra lines of the detail part

	first  int // first kv tile shown
	scroll int // first detail line shown
	match  string
	filter string

	rows   []row
	detail []entry

	tile       *minimap.Pane
	stats      cell.Stats // of data.Tile
	judged     string     // by which errors: local, global
	source     *source.Pane
	sourceFile string // shown in source; "": nothing
}

// row is one stage of the timeline.
type row struct {
	plan *probes.StagePlan
	doc  *report.Stage
}

// NewPane returns an empty pane.
func NewPane(th *theme.Theme) *Pane {
	return &Pane{Frame: theme.NewFrame(th, 0), tile: minimap.New(th), source: source.New(th)}
}

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.Frame.SetTheme(th)
	p.tile.SetTheme(th)
	p.source.SetTheme(th)
	p.refresh()
}

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if p.Resize(w, h) {
		p.setTile()
		p.refresh()
	}
}

// SetFocus says which part has the focus, -1 for none.
func (p *Pane) SetFocus(part int) {
	p.Frame.SetFocus(part)
	if p.Zoomed {
		p.refresh()
	}
}

// SetZoom has the part that has the focus drawn alone, or both parts.
func (p *Pane) SetZoom(on bool) {
	p.Frame.SetZoom(on)
	p.refresh()
}

// alone reports whether a part is drawn alone.
func (p *Pane) alone(part int) bool { return p.Zoomed && p.Focus == part && len(p.rows) > 0 }

// SetData shows another run.
func (p *Pane) SetData(d Data) {
	p.data = d
	p.rows = p.rows[:0]
	if d.Plan != nil {
		for _, sp := range d.Plan.Tiles() {
			r := row{plan: sp}
			if report := d.Run.Report(); report != nil {
				r.doc = report.Stage(sp.Stage.String())
			}
			p.rows = append(p.rows, r)
		}
	}
	p.scroll = 0
	p.setTile()
	p.setSource()
	p.refresh()
}

// SetCauses shows what a diagnosis of the run has found so far, and whether it is over.
func (p *Pane) SetCauses(causes []diagnose.Cause, over bool) {
	p.data.Causes, p.data.Diagnosed = causes, over
	p.refresh()
}

// SetPlace moves the cursor.
func (p *Pane) SetPlace(at debugkern.Place) {
	if at == p.at {
		return
	}
	if at.Stage != p.at.Stage {
		p.scroll = 0
	}
	p.at = at
	p.setSource()
	p.refresh()
}

// SetMatch marks detail lines that contain text, "" for none.
func (p *Pane) SetMatch(text string) {
	p.match, p.Changed = text, true
}

// SetFilter shows only detail lines that contain text, "" for all.
func (p *Pane) SetFilter(text string) {
	p.filter = text
	p.refresh()
}

// Text is the detail part as plain text, for copying.
func (p *Pane) Text() string {
	var b strings.Builder
	b.WriteString(p.detailTitle() + "\n")
	for _, e := range p.detail {
		b.WriteString(strings.TrimRight(e.name+"\t"+e.plain, "\t") + "\n")
	}
	return b.String()
}

// Grow gives the detail part n lines more or fewer.
func (p *Pane) Grow(n int) {
	p.grow = max(-6, min(12, p.grow+n))
	p.refresh()
}

// Scroll moves the detail part by n lines and reports whether it moved.
func (p *Pane) Scroll(n int) bool {
	was := p.scroll
	p.scroll = max(0, min(p.scroll+n, len(p.detail)-p.detailHeight()))
	p.Changed = p.Changed || p.scroll != was
	return p.scroll != was
}

// Here returns what scrolls the detail back to where it is now.
func (p *Pane) Here() (back func()) {
	scroll := p.scroll
	return func() { p.scroll, p.Changed = max(0, min(scroll, len(p.detail)-1)), true }
}

// FindDetail scrolls to the next (dir 1) or previous detail line that contains text and reports
// whether there is one.
func (p *Pane) FindDetail(text string, dir int) bool {
	n := len(p.detail)
	for k := 1; k <= n; k++ {
		i := ((p.scroll+dir*k)%n + n) % n
		if p.detail[i].has(text) {
			p.scroll, p.Changed = i, true
			return true
		}
	}
	return false
}

func (p *Pane) refresh() {
	p.Changed = true
	p.detail = p.describe(p.innerWidth())
	if p.filter != "" {
		p.detail = slices.DeleteFunc(p.detail, func(e entry) bool {
			return !e.has(p.filter)
		})
	}
	p.scroll = max(0, min(p.scroll, len(p.detail)-p.detailHeight()))
	p.source.SetSize(p.innerWidth()+2, p.sourceHeight())
	lo, n := p.tiles()
	p.first = theme.Into(p.first, p.at.KVTile-lo, p.fit(), n)
}

func (p *Pane) tiles() (lo, n int) {
	if p.ofLaunch() {
		return 0, 0
	}
	if p.data.Viewer == nil {
		if p.data.Plan != nil {
			return 0, p.data.Plan.Work.MaxTiles
		}
		return 0, 0
	}
	return p.data.Viewer.Tiles(p.at.Block)
}

// Geometry of the pane.
const (
	labelWidth = 9   // stage name and dtype
	cellWidth  = 6   // of the timeline: separator, mark, count
	gapWidth   = 2   // before the summary's columns (summary.go)
	wideFrom   = 112 // the width from which the map of all blocks is shown
	widerFrom  = 160 // and that of an argument, whose lines are longer
)

// mapWidth is the width of the all-blocks map at the right, 0 where there is none.
func (p *Pane) mapWidth() int {
	if p.W < wideFrom || p.ofLaunch() && p.W < widerFrom || p.alone(Detail) || p.alone(Timeline) {
		return 0
	}
	return p.W / 3
}

func (p *Pane) innerWidth() int { return max(0, p.W-p.mapWidth()-2) }

// timelineWidth is the width of a line with n kv tiles up to the summary: label, input column, tiles,
// output column, gap.
func timelineWidth(n int) int { return labelWidth + (n+2)*cellWidth + gapWidth }

// fit is how many kv tiles the timeline shows: what the input and output columns and the summary leave.
func (p *Pane) fit() int {
	_, summary := p.shown()
	return max(1, (p.innerWidth()-timelineWidth(0)-summary)/cellWidth)
}

// mostTiles is how many kv tiles a block of the run has at most, so that a column that depends on it does not
// come and go with the cursor.
func (p *Pane) mostTiles() int {
	_, n := p.tiles()
	if p.data.Plan != nil {
		return max(n, p.data.Plan.Work.MaxTiles)
	}
	return n
}

// ofLaunch reports whether the kernel has no stages: its arguments are listed, which belong to no block.
func (p *Pane) ofLaunch() bool {
	return p.data.Plan != nil && p.data.Plan.Stageless() && len(p.data.Plan.Memory) > 0
}

// timelineHeight is the number of lines of verdict, heads, stages, and the legend where there is one.
func (p *Pane) timelineHeight() int {
	if p.ofLaunch() {
		return len(p.rows) + 2
	}
	return len(p.rows) + 3
}

func (p *Pane) detailHeight() int {
	if p.alone(Detail) {
		return max(1, p.H-2)
	}
	return max(1, p.H-3-p.timelineHeight()+min(0, p.grow)-p.sourceHeight())
}

// Hit maps a place on the pane to the timeline's cell drawn there, or to the block and tile of the map of all
// blocks; part is which part it lies in.
func (p *Pane) Hit(x, y int) (at debugkern.Place, part int, ok bool) {
	at, part = p.at, Detail
	if p.alone(Detail) {
		return at, part, false
	}
	if at, ok = p.hitBlock(x, y); ok {
		return at, Timeline, true
	}
	if y <= p.timelineHeight() && x < p.innerWidth()+2 {
		part = Timeline
	}
	i := y - 3
	if part != Timeline || i < 0 || i >= len(p.rows) {
		return at, part, false
	}
	lo, n := p.tiles()
	at.Stage = p.rows[i].plan.Stage
	if c := (x-1-labelWidth)/cellWidth - 1; c >= 0 && c < min(n, p.fit()) {
		at.KVTile = lo + p.first + c
	}
	return at, part, true
}
