package tui

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/races"
)

// racing is what keys do in the Races view where that is something else than in others.
func racing() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Open:    func(m *Model, _ string) tea.Cmd { return m.openFinding() },
		keymap.Diff:    func(m *Model, _ string) tea.Cmd { return m.diagnose() },
		keymap.BoundUp: func(m *Model, _ string) tea.Cmd { return m.findingTile() },
		keymap.NextBad: func(m *Model, _ string) tea.Cmd { return m.nextFinding(1) },
		keymap.PrevBad: func(m *Model, _ string) tea.Cmd { return m.nextFinding(-1) },
		keymap.Toggle:  func(m *Model, _ string) tea.Cmd { return m.foldAdvice() },
		keymap.WhatIf:  func(m *Model, _ string) tea.Cmd { return m.whatIf() },
		keymap.Replay:  func(m *Model, _ string) tea.Cmd { return m.replay() },
	}
}

// moveRaces moves the cursor of the list, or scrolls another part.
func (m *Model) moveRaces(part, n int) tea.Cmd {
	if part != races.List {
		return m.scrolled(m.pane.races.Scroll(part, n))
	}
	if !m.pane.races.Move(n) {
		return m.scrolled(false)
	}
	return m.askScene()
}

func (m *Model) nextFinding(dir int) tea.Cmd {
	if !m.pane.races.Next(dir) {
		m.say("no other finding")
		return nil
	}
	return m.askScene()
}

func (m *Model) foldAdvice() tea.Cmd {
	what, open, ok := m.pane.races.Fold()
	switch {
	case !ok:
		m.say("there is no " + what)
	case open:
		m.say(what + " unfolded")
	default:
		m.say(what + " folded")
	}
	return m.askScene()
}

// openFinding is Enter: the line in the Source view, at the moment of the conflict where that is known, or what is folded.
func (m *Model) openFinding() tea.Cmd {
	if m.pane.races.OnFold() {
		return m.foldAdvice()
	}
	block, kv, at := m.cursor.Block, -1, m.underCursor()
	if f := m.selected(); f != nil {
		block, kv = f.Block, f.KVTile
		if sc := m.lookOf(m.lookKey()).Scene; sc != nil && sc.Pair[0] >= 0 && m.run != nil && slices.Contains(m.run.viewer.Blocks(), block) {
			return m.openConflict(sc)
		}
	} else if c := m.pane.races.Cause(); c != nil {
		block, kv = c.Place.Block, c.Place.KVTile
	}
	if at == nil {
		m.say("no finding to open here")
		return nil
	}
	return m.goToLine(at.File, at.Line, block, kv)
}

// openConflict steps the block to the earlier side of a conflict, before its access.
func (m *Model) openConflict(sc *debugkern.Scene) tea.Cmd {
	a := sc.Accesses[min(sc.Pair[0], sc.Pair[1])]
	b := sc.Accesses[max(sc.Pair[0], sc.Pair[1])]
	c := m.cursor
	c.Block, c.KVTile = sc.Request.Block, max(0, a.KVTile)
	m.past.push(m.cursor)
	m.cursor = m.run.nearest(c)
	if sc.Writers != nil {
		m.walk.array, m.walk.row, m.walk.col = sc.Request.Variable, 0, 0
		if index := sc.Request.Index; len(index) > 0 {
			m.walk.row = index[0]
			if len(index) > 1 {
				m.walk.col = index[1]
			}
		}
	}
	said := fmt.Sprintf("before the conflict on %s: warp %d here, warp %d at step %d", sc.Request.Variable, a.Warp, b.Warp, b.Step)
	return m.inSource("going to the conflict", func(ctx context.Context, w debugkern.Walk) (answer, error) {
		if _, err := w.Seek(ctx, a.Step); err != nil {
			return answer{lane: -1}, err
		}
		w.SetWarp(a.Warp)
		return answer{said: said, lane: bits.TrailingZeros32(a.Lanes)}, nil
	})
}

// findingTile opens the Tile view where the finding, or its cause, shows.
func (m *Model) findingTile() tea.Cmd {
	if !m.movable() {
		return m.nothingYet()
	}
	c := m.cursor
	f, cause := m.selected(), m.pane.races.Cause()
	if f == nil && cause == nil {
		m.say("no finding here")
		return nil
	}
	known := false
	if cause != nil {
		if cause.Stage != "" {
			c.Stage, known = probes.Stage(cause.Stage), true
		}
		c.Block, c.KVTile = cause.Place.Block, max(0, cause.Place.KVTile)
		if cause.Place.Row >= 0 {
			c.Row, c.Col = cause.Place.Row, max(0, cause.Place.Col)
		}
	}
	if f != nil {
		c.Block, c.KVTile = f.Block, max(0, f.KVTile)
		if s, ok := m.stageOf(f.Variable); ok {
			c.Stage, known = s, true
			switch len(f.Index) {
			case 1:
				c.Row, c.Col = f.Index[0], 0
			case 2:
				c.Row, c.Col = f.Index[0], f.Index[1]
			}
		}
	}
	cmd := tea.Batch(m.goTo(c), m.show(keymap.Tile))
	if !known {
		m.say("the finding belongs to no stage's tile: its block and kv tile are shown")
	}
	return cmd
}

// stageOf is the stage whose tile lies in a shared array: as the manifest says, else by the array's name.
func (m *Model) stageOf(variable string) (probes.Stage, bool) {
	for i := range m.run.plan.Stages {
		if sp := &m.run.plan.Stages[i]; variable != "" && sp.Capture.Shared == variable {
			return sp.Stage, true
		}
	}
	s := probes.Stage(strings.TrimSuffix(strings.TrimPrefix(variable, "s"), "_smem"))
	return s, m.run.plan.Stage(s) != nil
}

// whatIf tries, virtually, what would put the finding right.
func (m *Model) whatIf() tea.Cmd {
	f, cause, barrier, run := m.selected(), m.pane.races.Cause(), m.pane.races.Barrier(), m.executed()
	switch {
	case f == nil && cause == nil && barrier == nil:
		m.say("no finding here to put right")
		return nil
	case run == nil || m.opt.races == nil:
		m.say("this run's blocks cannot be executed again")
		return nil
	}
	if m.race.stopIf != nil {
		m.race.stopIf()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.race.trying, m.race.stopIf = true, cancel
	seq, key, who := m.race.seq, m.lookKey(), m.opt.races
	m.say(map[bool]string{true: "taking it away", false: "trying what would put it right"}[barrier != nil])
	return func() tea.Msg {
		defer cancel()
		var text []string
		var err error
		switch {
		case f != nil:
			text, err = who.WhatIf(ctx, run, f)
		case cause != nil:
			text, err = who.WhatIfRight(ctx, run, cause)
		default:
			text, err = who.WhatIfWithout(ctx, run, barrier)
		}
		return triedMsg{seq, key, text, err}
	}
}

// replay runs once under the schedule that changes most; the run after it is under the schedule that stood before.
func (m *Model) replay() tea.Cmd {
	if !m.diagnosed() {
		m.say(fmt.Sprintf("schedules are explored by a diagnosis: %s starts it", m.keys.Label(keymap.Diff)))
		return nil
	}
	worst, tried := m.worst()
	if worst == "" {
		m.say(fmt.Sprintf("no schedule of %d changed the output: nothing to replay", tried))
		return nil
	}
	req := m.nextRequest()
	was := replay{true, req.Schedule, req.Backend}
	req.Schedule, req.Backend = worst, "emu"
	cmd := m.choose(req, fmt.Sprintf("replaying schedule %s once; the next run is %s again", worst, normal(m.nextRequest()).Schedule))
	if cmd != nil {
		m.replaying = was
		m.requestChanged()
	}
	return cmd
}

// worst is the schedule that changes most for the finding under the cursor, else for any.
func (m *Model) worst() (schedule string, tried int) {
	at, ok := m.pane.races.Finding()
	most := -1.0
	for _, s := range m.race.doc.Schedules {
		tried = max(tried, s.Tried)
		if s.Worst == "" {
			continue
		}
		if ok && s.Finding == at {
			return s.Worst, tried
		}
		if v := float64(s.MaxAbs); v > most || schedule == "" {
			schedule, most = s.Worst, v
		}
	}
	return schedule, tried
}
