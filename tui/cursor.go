package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
)

// history is where the cursor was before it jumped, and where it came back from.
type history struct {
	back, forward []debugkern.Cell
}

const maxHistory = 200

func (h *history) push(c debugkern.Cell) {
	if n := len(h.back); n > 0 && h.back[n-1] == c {
		return
	}
	h.back = append(h.back, c)
	if len(h.back) > maxHistory {
		h.back = slices.Delete(h.back, 0, len(h.back)-maxHistory)
	}
	h.forward = nil
}

// step takes the last of from and puts c on to.
func step(from, to *[]debugkern.Cell, c debugkern.Cell) (debugkern.Cell, bool) {
	n := len(*from)
	if n == 0 {
		return c, false
	}
	out := (*from)[n-1]
	*from = (*from)[:n-1]
	*to = append(*to, c)
	return out, true
}

// startCursor puts a cursor that was nowhere yet on the first stage of the target's manifest.
func (m *Model) startCursor() {
	if man, _ := m.manifest(); man != nil && m.cursor.Stage == "" && len(man.Stages) > 0 {
		m.cursor.Stage = man.Stages[0].Stage
	}
}

// at is the cursor's place as the viewer counts it: stages taken once a block have no kv tile.
func (m *Model) at() debugkern.Place { return m.placeOf(m.cursor).Place }

// placeOf is c with the kv tile that its stage has.
func (m *Model) placeOf(c debugkern.Cell) debugkern.Cell {
	if m.run != nil {
		if sp := m.run.plan.Stage(c.Stage); sp != nil && !sp.PerTile {
			c.KVTile = 0
		}
	}
	return c
}

// goTo moves the cursor to c, remembering where it was.
func (m *Model) goTo(c debugkern.Cell) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	to := m.run.nearest(c)
	if sp := m.run.plan.Stage(to.Stage); sp != nil && !sp.PerTile {
		to.KVTile = m.cursor.KVTile // it comes back into force with the next stage that has kv tiles
	}
	if to == m.cursor {
		return nil
	}
	m.past.push(m.cursor)
	m.cursor = to
	return m.moved()
}

// nudge moves the cursor by a cell; that is not worth remembering.
func (m *Model) nudge(rows, cols int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	c := m.cursor
	c.Row, c.Col = c.Row+rows, c.Col+cols
	to := m.run.nearest(c)
	if to == m.cursor {
		m.say("edge of the tile: H L other kv tiles, { } other blocks")
		return nil
	}
	m.cursor = to
	return m.moved()
}

func (m *Model) nothingYet() tea.Cmd {
	if m.job.active {
		m.say("nothing to move in yet: the first run is on its way")
	} else {
		m.say("nothing to move in: no run has ended well; x runs again")
	}
	return nil
}

// moved tells the panes where the cursor is and fetches what they lack.
func (m *Model) moved() tea.Cmd {
	m.fresh = m.fresh && m.onFirstBad()
	m.pane.pipe.SetPlace(m.at())
	m.pane.rail.SetStage(m.cursor.Stage)
	load := m.loadTile()
	m.pane.tile.SetCursor(m.cursor.Row, m.cursor.Col)
	m.pane.mini.SetCursor(m.cursor.Row, m.cursor.Col)
	return tea.Batch(load, m.askWriter(), m.loadWalk(), m.changed())
}

func (m *Model) onFirstBad() bool {
	if m.run == nil {
		return false
	}
	c, ok := m.run.firstBad()
	return ok && m.placeOf(c) == m.placeOf(m.cursor)
}

// stage moves to the stage n further on.
func (m *Model) stage(n int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	list := m.pane.pipe.Stages()
	i := slices.Index(list, m.cursor.Stage) + n
	if i < 0 || i >= len(list) {
		m.say(fmt.Sprintf("%s is the %s stage", m.cursor.Stage, map[bool]string{true: "first", false: "last"}[i < 0]))
		return nil
	}
	c := m.cursor
	c.Stage = list[i]
	return m.goTo(c)
}

// kv moves to the kv tile n further on.
func (m *Model) kv(n int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	if sp := m.run.plan.Stage(m.cursor.Stage); sp != nil && !sp.PerTile {
		m.say(fmt.Sprintf("%s is taken once a block: J K other stages, { } other blocks", m.cursor.Stage))
		return nil
	}
	lo, count := m.run.viewer.Tiles(m.cursor.Block)
	c := m.cursor
	if c.KVTile += n; c.KVTile < lo || c.KVTile >= lo+count {
		m.say(fmt.Sprintf("block %s has kv tiles %d to %d", c.Block, lo, lo+count-1))
		return nil
	}
	return m.goTo(c)
}

// block moves to the captured block n further on in launch order.
func (m *Model) block(n int) tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	all := m.run.viewer.Blocks()
	i := slices.Index(all, m.cursor.Block) + n
	if i < 0 || i >= len(all) {
		m.say(fmt.Sprintf("%s is the %s captured block of %d", m.cursor.Block, map[bool]string{true: "first", false: "last"}[i < 0], len(all)))
		return nil
	}
	c := m.cursor
	c.Block = all[i]
	return m.goTo(c)
}

// setMark remembers the cursor under a letter.
func (m *Model) setMark(name string) tea.Cmd {
	c := m.placeOf(m.cursor)
	m.marks[name] = configs.Bookmark{Target: m.req.Target, Cursor: remember(c)}
	m.say(fmt.Sprintf("bookmark %s: %s", name, where(c)))
	return m.changed()
}

func (m *Model) goMark(name string) tea.Cmd {
	b, ok := m.marks[name]
	if !ok {
		m.complain(fmt.Sprintf("no bookmark %s: m %s sets it", name, name))
		return nil
	}
	c, ok := recall(b.Cursor)
	if !ok {
		m.complain(fmt.Sprintf("bookmark %s names stage %q, which there is not", name, b.Stage))
		return nil
	}
	cmd := m.goTo(c)
	text := fmt.Sprintf("bookmark %s: %s", name, where(m.placeOf(m.cursor)))
	if b.Target != "" && b.Target != m.req.Target {
		text += " (it was set in " + b.Target + ")"
	}
	m.say(text)
	return cmd
}

func remember(c debugkern.Cell) configs.Cursor {
	return configs.Cursor{Stage: c.Stage.String(), Block: c.Block, Tile: c.KVTile, Row: c.Row, Col: c.Col}
}

func recall(c configs.Cursor) (debugkern.Cell, bool) {
	return debugkern.Cell{Place: debugkern.Place{Stage: probes.Stage(c.Stage), Block: c.Block, KVTile: c.Tile}, Row: c.Row, Col: c.Col}, c.Stage != ""
}

// where writes a cell out: P 3,1,0 kv 2 17,9.
func where(c debugkern.Cell) string {
	return fmt.Sprintf("%s block %s kv %d cell %d,%d", c.Stage, c.Block, c.KVTile, c.Row, c.Col)
}
