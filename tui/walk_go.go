package tui

import (
	"context"
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/shared"
)

// whoHere goes to the last write, before this moment, of the shared cell or register under the cursor. Asked again from
// there, it goes to the write before.
func (m *Model) whoHere() tea.Cmd {
	if r, lane, ok := m.pane.regs.Current(); ok && m.focused() == partRegisters {
		return m.motion("looking for who wrote "+r.Name, func(ctx context.Context, w debugkern.Walk) (answer, error) {
			warp := w.Position().Warp
			list, err := w.RegisterWrites(ctx, r.Name, lane)
			return toLast(ctx, w, writes{list: list}, fmt.Sprintf("%s in lane %d of warp %d", r.Name, lane, warp), err)
		})
	}
	array, row, col, ok := m.pane.shared.Current()
	if !ok {
		m.say("no shared cell or register here: Tab goes to SHARED or REGISTERS")
		return nil
	}
	return m.motion(fmt.Sprintf("looking for who wrote %s[%d][%d]", array, row, col), func(ctx context.Context, w debugkern.Walk) (answer, error) {
		list, err := w.Writes(ctx, array, row, col)
		return toLast(ctx, w, writes{array: array, row: row, col: col, list: list}, fmt.Sprintf("%s[%d][%d]", array, row, col), err)
	})
}

// toLast goes to the last of some writes.
func toLast(ctx context.Context, w debugkern.Walk, ws writes, what string, err error) (answer, error) {
	ws.at = len(ws.list) - 1
	switch {
	case err != nil:
		return answer{lane: -1}, err
	case ws.at < 0:
		return answer{said: "nothing has written " + what + " before this moment", lane: -1}, nil
	}
	x := &ws.list[ws.at]
	if _, err := w.Seek(ctx, x.Step); err != nil {
		return answer{lane: -1}, err
	}
	w.SetWarp(x.Warp)
	return answer{said: fmt.Sprintf("write %d of %s: %s; w goes to the one before", ws.at+1, what, shared.WriteText(x)), writes: &ws, lane: x.Lane}, nil
}

// inSource shows the Source view and goes to a place in the cursor's block.
func (m *Model) inSource(what string, do func(ctx context.Context, w debugkern.Walk) (answer, error)) tea.Cmd {
	m.view = keymap.Source
	m.resize(m.w, m.h)
	s := &m.walk
	if s.walk != nil && s.owner == m.run && s.block == m.cursor.Block {
		return tea.Batch(m.motion(what, do), m.changed())
	}
	cmd := m.openWith(do)
	m.showWalk(true)
	return tea.Batch(cmd, m.changed())
}

// goToWriter is w in the Tile view once the writer is known: the moment of the write, in Source.
func (m *Model) goToWriter(x *debugkern.Writer) tea.Cmd {
	c := m.placeOf(m.cursor)
	return m.inSource("going to the write", func(ctx context.Context, w debugkern.Walk) (answer, error) { return toWrite(ctx, w, x, c) })
}

// goToLine is a finding's place in Source: the moment at which the first warp of its block comes to the line in its kv tile.
func (m *Model) goToLine(file string, line int, block probes.Dim3, kv int) tea.Cmd {
	if m.run == nil {
		return m.nothingYet()
	}
	if slices.Contains(m.run.viewer.Blocks(), block) {
		m.cursor.Block = block
	}
	b, at := debugkern.Breakpoint{File: path.Base(file), Line: line}, m.cursor.Block
	kept := m.walk.breaks
	return m.inSource("going to "+breakText(b), func(ctx context.Context, w debugkern.Walk) (answer, error) {
		defer w.SetBreakpoints(kept)
		w.SetBreakpoints([]debugkern.Breakpoint{b})
		p, err := w.Seek(ctx, 0)
		for err == nil && (p.Stop != "breakpoint" || p.KVTile < kv) && p.Stop != "end" && p.Stop != "deadlock" && p.Stop != "fault" {
			p, err = w.Continue(ctx)
		}
		if err == nil && p.Stop == "end" {
			_, err = w.Seek(ctx, 0)
			return answer{said: fmt.Sprintf("%s is not executed by block %s", breakText(b), at), lane: -1}, err
		}
		return answer{said: standing(p, p), lane: -1}, err
	})
}

// openHere is Enter in Source: run to the line, step another warp, open the cell in Tile.
func (m *Model) openHere() tea.Cmd {
	switch m.focused() {
	case partWarps:
		return m.setWarp(m.pane.warps.Chosen())
	case partShared:
		if held, _ := m.ofStage(); held {
			return m.show(keymap.Tile)
		}
		m.say("this array holds no captured stage: J K choose one that does")
		return nil
	}
	b, ok := m.breakHere()
	if !ok || !m.hasCode(b) {
		m.say("no instruction belongs to this line")
		return nil
	}
	kept := slices.Clone(m.walk.breaks)
	return m.moveWalk("running to "+breakText(b), func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) {
		w.SetBreakpoints(append(kept, b))
		return w.Continue(ctx)
	})
}
