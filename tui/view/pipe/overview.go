package pipe

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/pane/minimap"
	"tilescope/tui/theme"
)

// The right column, where the screen has room for one (mapWidth), is the overview: the stage over all blocks,
// the errors of the tile under the cursor as a map and as a histogram. Of a kernel without stages it is the
// map of the argument alone. Where lines are free below the detail, they have the source of the first wrong
// cell.

const (
	histogramHeight = 2 + len(ratioNames)
	leastBlocks     = 5  // lines of the map of all blocks, borders included
	leastMap        = 6  // lines of the map of the tile, the same
	leastSource     = 10 // lines that have to be free below the detail
)

// split divides the right column: the heights of the map of all blocks, the map of the tile and the
// histogram, 0 where one has no place.
func (p *Pane) split() (blocks, tile, histogram int) {
	h, rows := p.H, 0
	if v := p.data.Tile; v != nil && v.Got.Reached() {
		rows = v.Got.Rows
	}
	if p.ofLaunch() {
		return 0, max(minimap.Height(rows, h), min(leastMap, h)), 0
	}
	if rows == 0 || h < leastBlocks+leastMap {
		return h, 0, 0
	}
	if p.data.Tile.Referenced() && h >= leastBlocks+leastMap+histogramHeight {
		histogram = histogramHeight
	}
	wanted := leastBlocks
	if s := p.data.Summary; s != nil {
		wanted = min(len(s.Blocks)+2, max(leastBlocks, h/3))
	}
	tile = minimap.Height(rows, h-histogram-wanted)
	return h - tile - histogram, tile, histogram
}

// SetTile shows the errors of the tile under the cursor; nil where it is not known.
func (p *Pane) SetTile(v *debugkern.TileView) {
	if v == p.data.Tile {
		return
	}
	p.data.Tile = v
	p.setTile()
	p.refresh()
}

// setTile gives the map its place and tile, and counts the histogram.
func (p *Pane) setTile() {
	_, tile, _ := p.split()
	p.tile.SetSize(p.mapWidth(), tile)
	p.tile.SetView(p.data.Tile, cell.Auto, 0)
	p.tile.SetCursor(-1, -1)
	p.stats = cell.Stats{}
	if v := p.data.Tile; v != nil && v.Got.Reached() {
		j := cell.NewJudge(v, cell.Auto, 0)
		p.stats, p.judged = j.Stats(), j.Name()
		p.tile.SetTitle(strings.TrimSpace("TILE " + p.tileName() + " " + j.Name()))
	}
}

// tileName is the tile under the cursor: P kv 1.
func (p *Pane) tileName() string {
	r := p.row(p.at.Stage)
	if r == nil || !r.plan.PerTile {
		return p.at.Stage.String()
	}
	return p.at.Stage.String() + " " + p.iteration(p.at.KVTile)
}

// overview is the right column.
func (p *Pane) overview(w, h int) []string {
	blocks, tile, histogram := p.split()
	var out []string
	if blocks > 0 {
		out = p.blocks(w, blocks)
	}
	if tile > 0 {
		out = append(out, p.tile.View()...)
	}
	if histogram > 0 {
		out = append(out, p.histogramBox(w)...)
	}
	return append(out, p.Theme.Blank(w, max(0, h-len(out)))...)[:h]
}

// ratioNames are the classes of cell.Stats.Bins: the error as a multiple of the bound.
var ratioNames = [...]string{"< -4", "-4 … -1", "-1 … 0", "0", "0 … 1", "1 … 4", "> 4"}

// histogramBox is how many cells of the tile have an error of which multiple of their bounds.
func (p *Pane) histogramBox(w int) []string {
	const label, number = 10, 8
	var lines []string
	for i, n := range p.stats.Bins {
		style := p.Theme.OK
		switch {
		case n == 0:
			style = p.Theme.Dim
		case i < 2 || i > 4:
			style = p.Theme.Wrong
		}
		l := p.Theme.Line(w-2).Right(p.Theme.Dim, ratioNames[i], label)
		l.Right(style, fmt.Sprint(n), label+number).Space(1)
		p.bar(l, style, n, p.stats.Cells, w-2-label-number-2)
		lines = append(lines, l.Done())
	}
	note := ""
	if p.stats.Absent > 0 {
		note = theme.Count(p.stats.Absent, "cell") + " not captured"
	}
	title := "ERROR ÷ BOUND OF THE TILE " + theme.Count(p.stats.Cells, "cell")
	return p.Theme.Box(title, note, lines, w, histogramHeight, false)
}

// bar draws n of total as a bar of at most w columns, one where n is not 0.
func (p *Pane) bar(l *theme.Line, style theme.Style, n, total, w int) {
	if n <= 0 || total <= 0 || w <= 0 {
		return
	}
	l.Repeat(style, p.Theme.Glyph.Spark[len(p.Theme.Glyph.Spark)-1], max(1, n*w/total))
}

// sourceHeight is the number of lines below the detail that the source of the first wrong cell has, borders
// included; 0 where it has none.
func (p *Pane) sourceHeight() int {
	free := p.H - 3 - p.timelineHeight() - len(p.detail)
	if free < leastSource || p.grow > 0 || p.Zoomed || p.sourceFile == "" {
		return 0
	}
	return min(free, 24)
}

// setSource shows the source line of a kernel without stages that has the first error; of others the line
// that stored the first wrong cell of the stage under the cursor, or else of the first guilty stage.
func (p *Pane) setSource() {
	p.sourceFile = ""
	if p.data.Viewer == nil || p.data.Run.Report() == nil {
		return
	}
	if f := p.firstError(); f != nil {
		p.showSource(f.Source, strings.TrimSpace(f.Kind+" "+f.Variable))
		return
	}
	x := p.row(p.at.Stage)
	if g := p.data.Run.Report().Guilty; (x == nil || x.doc == nil || x.doc.FirstBad == nil) && len(g) > 0 {
		for i := range p.rows {
			if p.rows[i].plan.Stage.String() == g[0].Stage {
				x = &p.rows[i]
			}
		}
	}
	if x == nil || x.doc == nil || x.doc.FirstBad == nil || x.doc.FirstBad.Source == nil {
		return
	}
	p.showSource(x.doc.FirstBad.Source, fmt.Sprintf("stores the first wrong cell of %s", x.plan.Stage))
}

// firstError is the first finding of severity error that has a source line, of a kernel without stages; nil
// where there is none, and for other kernels.
func (p *Pane) firstError() *report.Finding {
	if !p.ofLaunch() {
		return nil
	}
	for i := range p.data.Run.Report().Findings {
		if f := &p.data.Run.Report().Findings[i]; f.Severity == "error" && f.Source != nil {
			return f
		}
	}
	return nil
}

// showSource shows a line below the detail.
func (p *Pane) showSource(at *report.Source, note string) {
	text := p.data.Viewer.Source(at.File)
	if text == nil {
		return
	}
	p.sourceFile = at.File
	p.source.Show(at.File, text, at.Line, note)
	if p.data.Patch != nil {
		p.source.SetPatch(p.data.Patch(at.File))
	}
}
