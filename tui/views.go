package tui

import (
	"tilescope/tui/view"
	"tilescope/tui/view/flags"
	"tilescope/tui/view/frag"
	"tilescope/tui/view/gates"
	"tilescope/tui/view/gpu"
	"tilescope/tui/view/pipe"
	"tilescope/tui/view/pipeline"
	"tilescope/tui/view/races"
	"tilescope/tui/view/source"
	"tilescope/tui/view/tile"
)

// views makes every view, in the order of their number keys, and connects those that do something for others.
func views(c *view.Context) []view.View {
	g, d, s, t := gates.New(c), gpu.New(c), source.New(c), tile.New(c)
	r, f := races.New(c, s), frag.New(c, t)
	t.Connect(tile.Others{Stepper: s, Gates: g, Device: d, Lanes: f})
	return []view.View{
		pipe.New(c, r),
		t,
		f,
		flags.New(c),
		r,
		g,
		d,
		s,
		pipeline.New(c, s),
	}
}
