package frag

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/tui/view"
)

// Move implements view.View: grid and tile move the one cursor, the strip scrolls.
func (v *Controller) Move(rows, cols int) tea.Cmd { return v.moveIn(v.Focused(), rows, cols) }

// moveIn moves in one of the view's panes.
func (v *Controller) moveIn(at view.Part, rows, cols int) tea.Cmd {
	p := v.pane
	moved := false
	switch at {
	case partBanks:
		if cols != 0 {
			return v.stepLD(cols)
		}
		return v.Scrolled(p.Phases(rows))
	case partGrid:
		moved = p.MoveGrid(rows, cols)
	case partCells:
		if v.hasCell(v.Cursor.Row+rows, v.Cursor.Col+cols) && v.onCursor() {
			return v.Nudge(rows, cols)
		}
		moved = p.MoveCell(rows, cols)
	}
	if !moved {
		v.Say(v.Worded("edge of the map: H L other kv tiles, J K other stages, o another fragment"))
		return nil
	}
	return v.fragMoved()
}

// Wheel is Move for what is under the mouse, wherever the focus is.
func (v *Controller) Wheel(x, y, rows, cols int) tea.Cmd {
	part, _, _, _ := v.pane.Hit(x, y)
	return v.Quietly(func() tea.Cmd { return v.moveIn(parts[part], view.Sign(rows), cols) })
}

// hasCell reports whether the run's tile at the cursor has a cell.
func (v *Controller) hasCell(row, col int) bool {
	if !v.Movable() {
		return false
	}
	sp := v.Run.Plan.Stage(v.Cursor.Stage)
	return sp != nil && row >= 0 && col >= 0 && row < sp.Rows && col < sp.Cols
}

// onCursor reports whether the map's cell is the cursor's: a tile narrower than the map does not have them
// all.
func (v *Controller) onCursor() bool {
	row, col := v.pane.Place()
	return row == v.Cursor.Row && col == v.Cursor.Col
}

// fragMoved takes the run's cursor to where the map's went, as far as the tile has it.
func (v *Controller) fragMoved() tea.Cmd {
	row, col := v.pane.Place()
	if !v.Movable() {
		return nil
	}
	c := v.Cursor
	c.Row, c.Col = row, col
	to := v.Run.Nearest(c)
	to.KVTile = v.Cursor.KVTile
	if to == v.Cursor {
		v.showLive()
		return nil
	}
	return v.Set(to)
}

// Edge goes to the first or last lane, element, row or column.
func (v *Controller) Edge(rows, cols int) tea.Cmd {
	const far = 1 << 12
	p := v.pane
	moved := false
	switch v.Focused() {
	case partBanks:
		moved = p.Phases(far * (rows + cols))
	case partGrid:
		moved = p.MoveGrid(far*rows, far*cols)
	default:
		moved = p.MoveCell(far*rows, far*cols)
	}
	if !moved {
		v.Say("there already")
		return nil
	}
	return v.fragMoved()
}

// fragNext is n and N: the next entry that the kernel's table has wrong, else the next bad cell.
func (v *Controller) fragNext(dir int) tea.Cmd {
	if v.pane.NextWrong(dir) {
		v.Say("table and hardware disagree: " + v.pane.CellText())
		return v.fragMoved()
	}
	return v.NextBad(dir)
}

func (v *Controller) nextFragment(n int) tea.Cmd {
	name := v.pane.Next(n)
	if name == "" {
		v.Say("no fragment maps yet")
		return nil
	}
	v.Say("fragment: " + name)
	return nil
}

// otherBackend introspects on the GPU in place of the emulator, or the other way round.
func (v *Controller) otherBackend(string) tea.Cmd {
	now := "emu"
	if doc := v.known.docs[v.fragBackend()]; doc != nil {
		now = doc.Backend.Name
	}
	return v.introspectOn(map[bool]string{true: "cuda", false: "emu"}[now == "emu"])
}

func (v *Controller) introspectOn(backend string) tea.Cmd {
	v.known.backend = backend
	v.Say("fragments as read back on " + backend)
	v.showFragments()
	return v.askMaps()
}

func (v *Controller) toggleTable() tea.Cmd {
	table, ok := v.pane.ToggleTable()
	switch {
	case !ok:
		v.Say("the kernel has no table of its own for this fragment")
	case table:
		v.Say("the grid shows the table " + v.pane.Table().Name)
	default:
		v.Say("the grid shows the hardware's map")
	}
	return nil
}

func (v *Controller) stepLD(n int) tea.Cmd {
	v.Say(fmt.Sprintf("leading dimension %d", v.pane.StepLD(n)))
	return nil
}

// Click focuses what is under the mouse and moves the cursor there.
func (v *Controller) Click(x, y int) tea.Cmd {
	part, i, j, ok := v.pane.Hit(x, y)
	v.Root.Focus(parts[part])
	if !ok {
		return nil
	}
	if part == Grid {
		v.pane.Go(i, j)
	} else {
		v.pane.GoCell(i, j)
	}
	return v.fragMoved()
}
