package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/pane/tile"
)

// hunt is a search through a stage's tiles in the background.
type hunt struct {
	seq    int
	cancel context.CancelFunc
	active bool
}

func (h *hunt) stop() {
	if h.cancel != nil {
		h.cancel()
		h.cancel = nil
	}
	h.active = false
}

// foundMsg is what a hunt came to.
type foundMsg struct {
	seq    int
	gen    int
	cell   debugkern.Cell
	ok     bool
	guilty bool // nothing in the stage: the cell is a guilty stage's
	what   string
}

// nextBad goes to the next or previous bad cell of the stage, or where it has none, to a guilty stage's first.
func (m *Model) nextBad(dir int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	if m.fresh && dir > 0 {
		m.fresh = false
		m.say("first bad cell: " + where(m.placeOf(m.cursor)))
		return nil
	}
	set := m.pane.tile.Settings()
	if set.Bound > 0 { // the bound on screen is not the verdict's
		return m.searchCells(cell.BadCells(), dir)
	}
	from, run := m.placeOf(m.cursor), m.run
	return m.launch(func(ctx context.Context, msg foundMsg) foundMsg {
		msg.what = "bad cell"
		if msg.cell, msg.ok = run.viewer.NextBad(from, dir); msg.ok {
			return msg
		}
		for _, g := range run.report.Guilty {
			if c, ok := run.badOf(g.Stage); ok && c.Stage != from.Stage {
				msg.cell, msg.ok, msg.guilty = c, true, true
				break
			}
		}
		return msg
	})
}

// nextDiffering goes to the next or previous cell of the stage that two backends computed differently.
func (m *Model) nextDiffering(dir int) tea.Cmd {
	from, run := m.placeOf(m.cursor), m.run
	crossed, ok := run.viewer.(debugkern.Crossed)
	if !ok {
		return m.nextBad(dir)
	}
	return m.launch(func(_ context.Context, msg foundMsg) foundMsg {
		msg.what = "cell where GPU and emulator differ"
		if run.pair != nil {
			msg.what = "cell where A and B differ"
		}
		msg.cell, msg.ok = crossed.NextDiffering(from, dir)
		return msg
	})
}

// launch starts a hunt in place of the one before.
func (m *Model) launch(find func(context.Context, foundMsg) foundMsg) tea.Cmd {
	m.hunt.stop()
	ctx, cancel := context.WithCancel(m.ctx)
	m.hunt = hunt{seq: m.hunt.seq + 1, cancel: cancel, active: true}
	msg := foundMsg{seq: m.hunt.seq, gen: m.loaded.gen}
	return func() tea.Msg {
		defer cancel()
		return find(ctx, msg)
	}
}

// searchCells goes to the next or previous cell of the stage that matches.
func (m *Model) searchCells(match *cell.Match, dir int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	from, run, set := m.placeOf(m.cursor), m.run, m.pane.tile.Settings()
	return m.launch(func(ctx context.Context, msg foundMsg) foundMsg {
		msg.what = "match for " + match.Text
		msg.cell, msg.ok = run.find(ctx, match, set, from, dir)
		return msg
	})
}

// find looks through the stage's tiles in the contract's order (kv tile, block, row, column), from a cell on and around.
func (s *shown) find(ctx context.Context, match *cell.Match, set tile.Settings, from debugkern.Cell, dir int) (debugkern.Cell, bool) {
	places := s.places(from.Stage)
	first := slices.Index(places, from.Place)
	if first < 0 {
		return from, false
	}
	n := len(places)
	for k := 0; k <= n && ctx.Err() == nil; k++ {
		p := places[((first+dir*k)%n+n)%n]
		v, err := s.viewer.View(p)
		if err != nil || v == nil || !v.Got.Reached() {
			continue
		}
		row, col := -1, 0
		if dir < 0 {
			row = v.Got.Rows
		}
		if k == 0 {
			row, col = from.Row, from.Col
		}
		if r, c, ok := match.Find(v, set.Ref, set.Bound, row, col, dir); ok {
			return debugkern.Cell{Place: p, Row: r, Col: c}, true
		}
	}
	return from, false
}

// places lists a stage's tiles in the contract's order.
func (s *shown) places(stage probes.Stage) []debugkern.Place {
	blocks := s.viewer.Blocks()
	sp := s.plan.Stage(stage)
	var out []debugkern.Place
	if sp == nil || !sp.PerTile {
		for _, b := range blocks {
			out = append(out, debugkern.Place{Stage: stage, Block: b})
		}
		return out
	}
	lo, hi := 1<<30, 0
	for _, b := range blocks {
		l, n := s.viewer.Tiles(b)
		lo, hi = min(lo, l), max(hi, l+n)
	}
	for kv := lo; kv < hi; kv++ {
		for _, b := range blocks {
			if l, n := s.viewer.Tiles(b); kv >= l && kv < l+n {
				out = append(out, debugkern.Place{Stage: stage, Block: b, KVTile: kv})
			}
		}
	}
	return out
}

// found moves the cursor to what a hunt found.
func (m *Model) found(msg foundMsg) tea.Cmd {
	if msg.seq != m.hunt.seq || msg.gen != m.loaded.gen {
		return nil
	}
	m.hunt.stop()
	switch {
	case !msg.ok:
		m.say(fmt.Sprintf("no %s in %s", msg.what, m.cursor.Stage))
		return nil
	case m.placeOf(m.cursor) == m.placeOf(msg.cell):
		m.say(fmt.Sprintf("the only %s: %s", msg.what, where(msg.cell)))
		return nil
	}
	text := msg.what + ": " + where(msg.cell)
	if msg.guilty {
		text = fmt.Sprintf("no bad cell in %s; guilty is %s", m.cursor.Stage, where(msg.cell))
	}
	cmd := m.goTo(msg.cell)
	m.say(text)
	return cmd
}
