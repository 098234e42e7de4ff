package races

import (
	"fmt"

	"tilescope/debugkern/walk"
	"tilescope/tui/theme"
)

// hanging reports whether findings of a kind are explained as a graph of waits.
func hanging(kind string) bool { return kind == "hang" || kind == "deadlock" }

// Hanging reports whether the finding under the cursor has a graph. It takes the room of cells and schedule.
func (p *Pane) Hanging() bool { return p.look.Hang != nil }

// hang is the graph of a block that cannot continue: who waits at what, and what would have to come. A cycle
// stands first, with a line at its side that leads back to its first wait; what no thread will do is marked.
func (p *Pane) hang(w, h int) []string {
	g := &hangGraph{p: p, h: p.look.Hang, w: w - 2, shown: map[int]bool{}}
	title := "HANG what is missing will not come"
	if n := len(g.h.Cycle); n > 0 {
		title = fmt.Sprintf("HANG a cycle: %d waits need each other", n)
		g.cycle()
	}
	for _, i := range g.roots() {
		for i >= 0 && !g.shown[i] {
			g.node("  ", i)
			i = g.debts("  ", i, -1)
		}
	}
	return p.box(Cells, title, fmt.Sprintf("step %d", g.h.Step), g.lines, w, h)
}

// hangGraph is a graph that is being drawn, line by line.
type hangGraph struct {
	p     *Pane
	h     *walk.Hang
	w     int
	lines []string
	shown map[int]bool // waits that have been drawn
}

// roots are the waits in the order in which their chains are drawn: first those that no other one needs.
func (g *hangGraph) roots() []int {
	needed := map[int]bool{}
	for i := range g.h.Waits {
		for _, d := range g.h.Waits[i].Debts {
			for _, n := range d.Needs {
				needed[n] = true
			}
		}
	}
	var first, rest []int
	for i := range g.h.Waits {
		if needed[i] {
			rest = append(rest, i)
		} else {
			first = append(first, i)
		}
	}
	return append(first, rest...)
}

// cycle draws the waits of the cycle, each above the one that it needs.
func (g *hangGraph) cycle() {
	t := g.p.Theme.Glyph
	for k, i := range g.h.Cycle {
		lead := t.V + " "
		if k == 0 {
			lead = t.TL + t.H
		}
		g.node(lead, i)
		g.debts(t.V+" ", i, g.h.Cycle[(k+1)%len(g.h.Cycle)])
	}
	g.add(t.BL+t.H, g.p.Theme.Wrong, t.H+" which needs the first wait again")
}

// add writes a line: lead at its side, then text.
func (g *hangGraph) add(lead string, style theme.Style, text string) {
	t := g.p.Theme
	l := t.Line(g.w).Space(1).Add(t.Wrong, lead)
	g.lines = append(g.lines, l.Add(style, t.Fit(text, l.Left()-1)).Done())
}

// node draws a wait: ● warps 4-7 wait at k_full[0] (line 192), phase 2: 0 of 1 arrivals, 0 of 8192 bytes
func (g *hangGraph) node(lead string, i int) {
	g.shown[i] = true
	s := &g.h.Waits[i]
	text := fmt.Sprintf("%s %s", g.p.Theme.Glyph.Dot, waits(s))
	if s.MBarrier != nil {
		text += fmt.Sprintf(", phase %d", s.MBarrier.Phase)
	}
	if s.Expected > 0 {
		text += fmt.Sprintf(": %d of %d arrived", s.Arrived, s.Expected)
	}
	if m := s.MBarrier; m != nil && (m.Promised > 0 || m.Arrived > 0) {
		text += fmt.Sprintf(", %d of %d bytes", m.Arrived, m.Promised)
	}
	g.add(lead, g.p.Theme.Strong, text)
}

// waits names a wait: warps 4-7 wait at k_full[0] (line 192)
func waits(s *walk.Stuck) string {
	out := fmt.Sprintf("warp %d waits at %s", s.Warps[0], s.At)
	if len(s.Warps) > 1 {
		out = fmt.Sprintf("warps %s wait at %s", theme.Numbers(s.Warps), s.At)
	}
	if s.Source != nil && s.Source.Line > 0 {
		out += fmt.Sprintf(" (line %d)", s.Source.Line)
	}
	return out
}

// debts draws what wait i needs, and returns the wait that its chain continues with: one that has not been
// drawn; -1 where there is none. Of a cycle, only what leads to next is drawn as an arrow.
func (g *hangGraph) debts(lead string, i, next int) (then int) {
	t := g.p.Theme
	then = -1
	for _, d := range g.h.Waits[i].Debts {
		g.add(lead, t.Text, t.Glyph.V+" needs "+owed(&d))
		if d.Why != "" {
			g.add(lead, t.Wrong, t.Glyph.Wrong+" "+d.Why)
		}
		for _, n := range d.Needs {
			switch {
			case n == next || then < 0 && next < 0 && !g.shown[n]:
				then = n
			default:
				g.add(lead, t.Dim, t.Glyph.TeeL+t.Glyph.Pointer+" "+waits(&g.h.Waits[n]))
			}
		}
		if then >= 0 {
			g.add(lead, t.Text, t.Glyph.Below)
		}
	}
	return then
}

// owed words a debt: 8 of 8 arrivals of warps 4-11 (line 205, which they have not reached)
func owed(d *walk.Debt) string {
	out := d.What
	if len(d.Warps) > 0 {
		name := "warps "
		if len(d.Warps) == 1 {
			name = "warp "
		}
		out += " of " + name + theme.Numbers(d.Warps)
	}
	switch {
	case d.Source == nil || d.Source.Line == 0:
	case d.Ahead:
		out += fmt.Sprintf(" (line %d, not reached yet)", d.Source.Line)
	default:
		out += fmt.Sprintf(" (line %d)", d.Source.Line)
	}
	return out
}
