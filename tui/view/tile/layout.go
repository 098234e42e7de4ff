package tile

import (
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// sizes are what a person added to the computed sizes.
type sizes struct{ rail, source int }

// layout is where the view's panes stand, computed from its size. A width or height of 0 leaves a pane out.
type layout struct {
	body   int // lines of the view
	rail   int // columns at the left
	tile   int // columns in the middle
	tileH  int // lines of the tile
	source int // lines of source below it
	side   int // columns at the right: minimap and facts
}

// compute lays out w×body.
func compute(w, body int, s sizes) layout {
	l := layout{body: body, tile: w}
	if w >= 112 {
		l.rail = max(20, 24+s.rail)
	}
	if w >= 176 && body >= 37 {
		l.side = 52
	}
	l.tile = w - l.rail - l.side
	l.tileH = l.body
	if body >= 31 {
		l.source = max(5, min(l.body/3+s.source, l.body-16))
		l.tileH = l.body - l.source
	}
	return l
}

// alone lays out one part.
func alone(w, body int, at view.Part) layout {
	l := layout{body: body}
	switch at {
	case partRail:
		l.rail = w
	case partSource:
		l.tile, l.source = w, body
	default:
		l.tile, l.tileH = w, body
	}
	return l
}

// mapWidth is the width at which three heat maps of 32 columns stand beside each other, with labels and
// borders.
const mapWidth = 3*(32+5) + 4

// widen takes the rail away where only that leaves a heat map room for 32 columns.
func (l *layout) widen() {
	if l.tile < mapWidth && l.tile+l.rail >= mapWidth {
		l.tile, l.rail = l.tile+l.rail, 0
	}
}

// SetSize implements view.View.
func (v *Controller) SetSize(w, h int) {
	v.w, v.frame = w, compute(w, h, v.sizes)
	if v.pane.Settings().Heat == HeatMap {
		v.frame.widen()
	}
	v.whole = v.frame
	if v.zoomed && v.at != "" {
		v.frame = alone(w, h, v.at)
	}
	f := v.frame
	v.Side = f.side
	if f.tileH > 0 {
		v.pane.SetSize(f.tile, f.tileH)
	}
	v.rail.SetSize(f.rail, f.body)
	v.source.SetSize(f.tile, f.source)
	v.tree.SetSize(f.tile, f.tileH)
	if f.side > 0 {
		v.mini.SetSize(f.side, v.miniHeight())
	}
}

// Lines joins the view's panes.
func (v *Controller) Lines() []string {
	switch {
	case v.frame.tile == 0:
		return v.rail.View()
	case v.frame.tileH == 0:
		return v.source.View()
	}
	middle := v.pane.View()
	if v.how.open {
		middle = v.tree.View()
	}
	if v.frame.source > 0 {
		middle = append(append(make([]string, 0, v.frame.body), middle...), v.source.View()...)
	}
	if v.frame.rail == 0 {
		return middle
	}
	columns := [][]string{v.rail.View(), middle}
	if v.frame.side > 0 {
		columns = append(columns, v.side())
	}
	return theme.Beside(columns...)
}
