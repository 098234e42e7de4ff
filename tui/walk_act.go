package tui

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/shared"
)

// stepping is what the Source view's own actions do.
func stepping() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Step:       func(m *Model, _ string) tea.Cmd { return m.stepUnit(1) },
		keymap.StepBack:   func(m *Model, _ string) tea.Cmd { return m.stepUnit(-1) },
		keymap.StepOver:   func(m *Model, _ string) tea.Cmd { return m.stepOver(1) },
		keymap.OverBack:   func(m *Model, _ string) tea.Cmd { return m.stepOver(-1) },
		keymap.RunOn:      func(m *Model, _ string) tea.Cmd { return m.runWalk(1) },
		keymap.RunBack:    func(m *Model, _ string) tea.Cmd { return m.runWalk(-1) },
		keymap.Breakpoint: (*Model).toggleBreak,
		keymap.Unit:       (*Model).nextUnit,
		keymap.NextWarp:   func(m *Model, _ string) tea.Cmd { return m.turnWarp(1) },
		keymap.PrevWarp:   func(m *Model, _ string) tea.Cmd { return m.turnWarp(-1) },
	}
}

var unitNames = map[target.Unit]string{
	target.StepInstruction: "instruction", target.StepLine: "line", target.StepBarrier: "barrier", target.StepProbe: "probe",
}

// units in the order of their key; the first is a line.
var units = []target.Unit{target.StepLine, target.StepInstruction, target.StepBarrier, target.StepProbe}

func (m *Model) unit() target.Unit { return units[int(m.walk.unit)%len(units)] }

func (m *Model) nextUnit(string) tea.Cmd {
	m.walk.unit = target.Unit((int(m.walk.unit) + 1) % len(units))
	m.say("s and < step by " + unitNames[m.unit()])
	return nil
}

// setUnit chooses a unit by name.
func (m *Model) setUnit(name string) tea.Cmd {
	for i, u := range units {
		if strings.HasPrefix(unitNames[u], name) {
			m.walk.unit = target.Unit(i)
			m.say("s and < step by " + unitNames[u])
			return nil
		}
	}
	m.complain(fmt.Sprintf("no unit %q (units: line, instruction, barrier, probe)", name))
	return nil
}

// moveWalk is a motion that ends at a position, and says it.
func (m *Model) moveWalk(what string, move func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error)) tea.Cmd {
	return m.motion(what, func(ctx context.Context, w debugkern.Walk) (answer, error) {
		before := w.Position()
		p, err := move(ctx, w)
		return answer{said: standing(before, p), lane: -1}, err
	})
}

// standing words where a motion ended, where that is not what it looked for.
func standing(before, p debugkern.Position) string {
	switch {
	case p.Stop == "end":
		return "the block has ended"
	case p.Stop == "start" && before.Step == 0:
		return "the block's start"
	case p.Stop == "start":
		return "back at the block's start"
	case p.Stop == "deadlock":
		return "no thread can go on: deadlock"
	case p.Stop == "fault":
		return p.Note
	}
	out := "step " + strconv.FormatUint(p.Step, 10)
	if p.Source != nil {
		out += fmt.Sprintf(" · %s:%d", path.Base(p.Source.File), p.Source.Line)
	}
	if p.Note != "" {
		out += " · " + p.Note
	}
	return out
}

func (m *Model) stepUnit(n int) tea.Cmd {
	u := m.unit()
	return m.moveWalk("stepping by "+unitNames[u], func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Step(ctx, u, n) })
}

func (m *Model) stepOver(n int) tea.Cmd {
	return m.moveWalk("stepping over", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.StepOver(ctx, n) })
}

func (m *Model) runWalk(n int) tea.Cmd {
	if n < 0 {
		return m.moveWalk("running back", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Reverse(ctx) })
	}
	return m.moveWalk("running", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Continue(ctx) })
}

// seekWalk goes to a moment by number, or to the start or end.
func (m *Model) seekWalk(arg string) tea.Cmd {
	to := uint64(math.MaxUint64)
	switch arg {
	case "start":
		to = 0
	case "end":
	default:
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			m.complain(fmt.Sprintf("moment %q: expected a number of steps, start or end", arg))
			return nil
		}
		to = n
	}
	return tea.Batch(m.toSource(), m.moveWalk("seeking", func(ctx context.Context, w debugkern.Walk) (debugkern.Position, error) { return w.Seek(ctx, to) }))
}

// toSource shows the Source view.
func (m *Model) toSource() tea.Cmd {
	if m.view == keymap.Source {
		return nil
	}
	return m.show(keymap.Source)
}

// turnWarp makes another warp the current one.
func (m *Model) turnWarp(n int) tea.Cmd {
	all := len(m.walk.shot.warps)
	if all == 0 {
		return m.setWarp(0)
	}
	return m.setWarp(((m.walk.shot.pos.Warp+n)%all + all) % all)
}

func (m *Model) setWarp(warp int) tea.Cmd {
	return m.motion("choosing a warp", func(_ context.Context, w debugkern.Walk) (answer, error) {
		w.SetWarp(warp)
		return answer{said: fmt.Sprintf("warp %d is stepped", warp), lane: -1}, nil
	})
}

// breakHere is the breakpoint that the focused pane's cursor stands for.
func (m *Model) breakHere() (debugkern.Breakpoint, bool) {
	switch m.focused() {
	case partShared:
		array, row, col, ok := m.pane.shared.Current()
		return debugkern.Breakpoint{Array: array, Row: row, Col: col}, ok
	case partPTX:
		r, ok := m.pane.ptx.Current()
		return debugkern.Breakpoint{File: path.Base(r.File), Line: r.Line}, ok && r.Line > 0
	case partCode:
		file, line := m.pane.code.Cursor()
		return debugkern.Breakpoint{File: path.Base(file), Line: line}, file != "" && line > 0
	}
	p := m.walk.shot.pos
	if p.Source == nil {
		return debugkern.Breakpoint{}, false
	}
	return debugkern.Breakpoint{File: path.Base(p.Source.File), Line: p.Source.Line}, true
}

// breakText words a breakpoint.
func breakText(b debugkern.Breakpoint) string {
	switch {
	case b.Array != "":
		return fmt.Sprintf("%s[%d][%d] changes", b.Array, b.Row, b.Col)
	case b.Stage != "":
		return b.Stage + " is captured"
	}
	return fmt.Sprintf("%s:%d", b.File, b.Line)
}

// toggleBreak sets or clears a breakpoint where the focused pane's cursor is.
func (m *Model) toggleBreak(string) tea.Cmd {
	b, ok := m.breakHere()
	if !ok {
		m.say("no line or cell here to stop at")
		return nil
	}
	if b.Line > 0 && !m.hasCode(b) {
		m.complain(breakText(b) + " has no instruction: choose a line that has")
		return nil
	}
	m.setBreak(b)
	return nil
}

// hasCode reports whether some instruction belongs to a breakpoint's line.
func (m *Model) hasCode(b debugkern.Breakpoint) bool {
	return slices.ContainsFunc(m.walk.shot.listing, func(l debugkern.Listing) bool {
		return l.PC >= 0 && l.Line == b.Line && path.Base(l.File) == b.File
	})
}

// setBreak puts a breakpoint in, or takes it out where it is.
func (m *Model) setBreak(b debugkern.Breakpoint) {
	s := &m.walk
	if i := slices.Index(s.breaks, b); i >= 0 {
		s.breaks = slices.Delete(s.breaks, i, i+1)
		m.say("no longer stops where " + breakText(b))
	} else {
		s.breaks = append(s.breaks, b)
		m.say(fmt.Sprintf("r and R stop where %s (breakpoint %d)", breakText(b), len(s.breaks)))
	}
	m.showWalk(false)
}

// breakCommand is :break LINE, STAGE, ARRAY[ROW][COL], list or clear.
func (m *Model) breakCommand(arg string) tea.Cmd {
	s := &m.walk
	switch {
	case arg == "clear":
		s.breaks = nil
		m.say("no breakpoints")
		m.showWalk(false)
		return nil
	case arg == "list":
		var all []string
		for _, b := range s.breaks {
			all = append(all, breakText(b))
		}
		m.say("breakpoints: " + strings.Join(all, ", "))
		return nil
	}
	if m.run == nil || m.run.plan == nil {
		return m.nothingYet()
	}
	if n, err := strconv.Atoi(arg); err == nil {
		file, _ := m.pane.code.Cursor()
		m.setBreak(debugkern.Breakpoint{File: path.Base(file), Line: n})
		return nil
	}
	if array, row, col, ok := cellOf(arg); ok {
		m.setBreak(debugkern.Breakpoint{Array: array, Row: row, Col: col})
		return nil
	}
	for i := range m.run.plan.Stages {
		if name := m.run.plan.Stages[i].Stage.String(); name == arg {
			m.setBreak(debugkern.Breakpoint{Stage: name})
			return nil
		}
	}
	m.complain(fmt.Sprintf("break %q: expected a line, a stage, ARRAY[ROW][COL], list or clear", arg))
	return nil
}

// cellOf reads ARRAY[ROW][COL] or ARRAY[ROW].
func cellOf(arg string) (array string, row, col int, ok bool) {
	parts := strings.Split(strings.ReplaceAll(arg, "]", ""), "[")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return "", 0, 0, false
	}
	row, err := strconv.Atoi(parts[1])
	if err == nil && len(parts) == 3 {
		col, err = strconv.Atoi(parts[2])
	}
	return parts[0], row, col, err == nil && row >= 0 && col >= 0
}

// chooseArray shows a shared array by name; "stage" goes back to the cursor's stage's.
func (m *Model) chooseArray(name string) tea.Cmd {
	m.walk.array = name
	if name == "stage" {
		m.walk.array = ""
	}
	m.walk.row, m.walk.col, m.walk.writes = 0, 0, writes{}
	return tea.Batch(m.toSource(), m.loadWalk())
}

func (m *Model) arrayNames() []string {
	out := []string{"stage\tof the stage under the cursor"}
	if m.run != nil && m.run.plan != nil {
		for _, a := range m.run.plan.Shared {
			out = append(out, fmt.Sprintf("%s\t%s %v", a.Name, a.DType, a.Dims))
		}
	}
	return out
}

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
	if m.run == nil || m.run.viewer == nil {
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

// walkMove is hjkl in the Source view.
func (m *Model) walkMove(rows, cols int) tea.Cmd {
	moved := false
	switch m.focused() {
	case partCode:
		if moved = m.pane.code.Move(rows + cols); moved && m.follow {
			m.pane.ptx.Point(m.pane.code.Cursor())
		}
	case partPTX:
		if moved = m.pane.ptx.Move(rows + cols); moved && m.follow {
			m.followPTX()
		}
	case partRegisters:
		moved = m.pane.regs.Move(rows, cols)
	case partWarps:
		moved = m.pane.warps.Move(rows + cols)
	case partShared:
		return m.nudgeShared(rows, cols)
	}
	return m.scrolled(moved)
}

// followPTX has the source show the line of the instruction under the cursor.
func (m *Model) followPTX() {
	r, ok := m.pane.ptx.Current()
	if !ok || r.Line == 0 || m.run == nil || m.run.viewer == nil {
		return
	}
	if file, _ := m.pane.code.Cursor(); path.Base(file) == path.Base(r.File) {
		m.pane.code.SetCursor(r.Line)
	}
}

// nudgeShared moves the cell under the cursor: the one cursor of all views, where the array holds its stage.
func (m *Model) nudgeShared(rows, cols int) tea.Cmd {
	_, row, col, ok := m.pane.shared.Current()
	if !ok {
		return m.scrolled(false)
	}
	return m.goToShared(row+rows, col+cols)
}

func (m *Model) goToShared(row, col int) tea.Cmd {
	if !m.pane.shared.SetCursor(row, col) {
		return m.scrolled(false)
	}
	_, row, col, _ = m.pane.shared.Current()
	m.walk.row, m.walk.col, m.walk.writes = row, col, writes{}
	if held, transposed := m.ofStage(); held {
		if transposed {
			row, col = col, row
		}
		c := m.cursor
		c.Row, c.Col = row, col
		m.cursor = m.run.nearest(c)
		return m.moved()
	}
	m.showWalk(false)
	return nil
}
