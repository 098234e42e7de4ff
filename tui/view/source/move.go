package source

import (
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/probes"
)

// Move implements view.View. Source and PTX are scrolled sideways.
func (v *Controller) Move(rows, cols int) tea.Cmd {
	moved := false
	switch v.at {
	case partCode:
		if cols != 0 {
			return v.slid(v.code.Slide(slide(cols)))
		}
		if moved = v.code.Move(rows); moved && v.Follow {
			v.ptx.Point(v.code.Cursor())
		}
	case partPTX:
		if cols != 0 {
			return v.slid(v.ptx.Slide(slide(cols)))
		}
		if moved = v.ptx.Move(rows); moved && v.Follow {
			v.followPTX()
		}
	case partRegisters:
		moved = v.regs.Move(rows, cols)
		v.showWatches() // of this lane
	case partWatches:
		moved = v.watches.Move(rows, cols)
	case partList:
		moved = v.lists.Move(rows, cols)
	case partWarps:
		moved = v.warps.Move(rows + cols)
	case partShared:
		return v.nudgeShared(rows, cols)
	}
	return v.Scrolled(moved)
}

// slide is how far a key scrolls sideways: a few columns, or as far as it goes.
func slide(cols int) int { return cols * 8 }

// slid says so where nothing more is cut on that side.
func (v *Controller) slid(moved bool) tea.Cmd {
	if !moved {
		v.Say("nothing is cut on that side")
	}
	return nil
}

// ended says so where the end of the line is on screen already.
func (v *Controller) ended(moved bool) tea.Cmd {
	if !moved {
		v.Say("the end of the line is on screen")
	}
	return nil
}

// followPTX has the source show the line of the instruction under the cursor.
func (v *Controller) followPTX() {
	r, ok := v.ptx.Current()
	if !ok || r.Line == 0 || v.Run == nil {
		return
	}
	if file, _ := v.code.Cursor(); path.Base(file) == path.Base(r.File) {
		v.code.SetCursor(r.Line)
	}
}

// nudgeShared moves the cell under the cursor: the one cursor of all views, where the array holds its stage.
func (v *Controller) nudgeShared(rows, cols int) tea.Cmd {
	_, row, col, ok := v.shared.Current()
	if !ok {
		return v.Scrolled(false)
	}
	return v.goToShared(row+rows, col+cols)
}

func (v *Controller) goToShared(row, col int) tea.Cmd {
	if !v.shared.SetCursor(row, col) {
		return v.Scrolled(false)
	}
	array, row, col, _ := v.shared.Current()
	if cmd := v.showCell(array, row, col); cmd != nil {
		return cmd
	}
	v.showWalk(false)
	return nil
}

// showCell puts SHARED's cursor on a cell of an array. Of the array that holds the cursor's stage it is the
// cursor of view Tile, which the command moves; nil for others.
func (v *Controller) showCell(array string, row, col int) tea.Cmd {
	if array != v.arrayName() {
		v.walk.array = array
	}
	v.walk.row, v.walk.col, v.walk.writes = row, col, writes{}
	has, transposed := v.ofStage()
	if !has {
		return nil
	}
	if transposed {
		row, col = col, row
	}
	c := v.Cursor
	c.Row, c.Col = row, col
	return v.Set(v.Run.Nearest(c))
}

// chooseArray shows a shared array by name; "stage" goes back to the cursor's stage's.
func (v *Controller) chooseArray(name string) tea.Cmd {
	if v.Run != nil && name != "stage" && !slices.ContainsFunc(v.Run.Plan.Shared,
		func(a probes.SharedArray) bool { return a.Name == name }) {
		v.Complain(fmt.Sprintf("this build has no shared array %q: Tab lists them", name))
		return nil
	}
	v.walk.array = name
	if name == "stage" {
		v.walk.array = ""
	}
	v.walk.row, v.walk.col, v.walk.writes = 0, 0, writes{}
	return tea.Batch(v.toSource(), v.loadWalk())
}

func (v *Controller) arrayNames() []string {
	out := []string{"stage\tof the stage under the cursor"}
	if v.Run != nil {
		for _, a := range v.Run.Plan.Shared {
			out = append(out, fmt.Sprintf("%s\t%s %v", a.Name, a.DType, a.Dims))
		}
	}
	return out
}
