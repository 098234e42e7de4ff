package source

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/walk"
)

// breakHere is the breakpoint that the focused pane's cursor stands for.
func (v *Controller) breakHere() (walk.Breakpoint, bool) {
	switch v.at {
	case partShared:
		array, row, col, ok := v.shared.Current()
		return walk.Breakpoint{Array: array, Row: row, Col: col}, ok
	case partPTX:
		r, ok := v.ptx.Current()
		return walk.Breakpoint{File: path.Base(r.File), Line: r.Line}, ok && r.Line > 0
	case partCode:
		file, line := v.code.Cursor()
		return walk.Breakpoint{File: path.Base(file), Line: line}, file != "" && line > 0
	}
	p := v.walk.shot.pos
	if p.Source == nil {
		return walk.Breakpoint{}, false
	}
	return walk.Breakpoint{File: path.Base(p.Source.File), Line: p.Source.Line}, true
}

// breakText words a breakpoint.
func breakText(b walk.Breakpoint) string {
	switch {
	case b.Array != "":
		return fmt.Sprintf("%s[%d][%d] changes", b.Array, b.Row, b.Col)
	case b.Stage != "":
		return b.Stage + " is captured"
	}
	return fmt.Sprintf("%s:%d", b.File, b.Line)
}

// toggleBreak sets or clears a breakpoint where the focused pane's cursor is.
func (v *Controller) toggleBreak(string) tea.Cmd {
	b, ok := v.breakHere()
	if !ok {
		v.Say("no line or cell here to stop at")
		return nil
	}
	if b.Line > 0 && !v.hasCode(b) {
		v.Complain(breakText(b) + " has no instruction: choose a line that has")
		return nil
	}
	v.setBreak(b)
	return nil
}

// hasCode reports whether some instruction belongs to a breakpoint's line.
func (v *Controller) hasCode(b walk.Breakpoint) bool {
	return slices.ContainsFunc(v.walk.shot.listing, func(l walk.Listing) bool {
		return l.PC >= 0 && l.Line == b.Line && path.Base(l.File) == b.File
	})
}

// setBreak puts a breakpoint in, or takes it out where it is.
func (v *Controller) setBreak(b walk.Breakpoint) {
	s := &v.walk
	if i := slices.Index(s.breaks, b); i >= 0 {
		s.breaks = slices.Delete(s.breaks, i, i+1)
		v.Say("no longer stops where " + breakText(b))
	} else {
		s.breaks = append(s.breaks, b)
		v.Say(fmt.Sprintf("r and R stop where %s (breakpoint %d)", breakText(b), len(s.breaks)))
	}
	v.showWalk(false)
}

// breakCommand is :break LINE, STAGE, ARRAY[ROW][COL], list or clear.
func (v *Controller) breakCommand(arg string) tea.Cmd {
	s := &v.walk
	switch {
	case arg == "clear":
		s.breaks = nil
		v.Say("no breakpoints")
		v.showWalk(false)
		return nil
	case arg == "list":
		var all []string
		for _, b := range s.breaks {
			all = append(all, breakText(b))
		}
		v.Say("breakpoints: " + strings.Join(all, ", "))
		return nil
	}
	if !v.Movable() {
		return v.NothingYet()
	}
	if n, err := strconv.Atoi(arg); err == nil {
		file, _ := v.code.Cursor()
		b := walk.Breakpoint{File: path.Base(file), Line: n}
		if len(v.walk.shot.listing) > 0 && !v.hasCode(b) {
			v.Complain(breakText(b) + " has no instruction: choose a line that has")
			return nil
		}
		v.setBreak(b)
		return nil
	}
	if array, row, col, ok := cellOf(arg); ok {
		if err := v.noSuchCell(array, row, col); err != "" {
			v.Complain(err)
			return nil
		}
		v.setBreak(walk.Breakpoint{Array: array, Row: row, Col: col})
		return nil
	}
	for i := range v.Run.Plan.Stages {
		if name := v.Run.Plan.Stages[i].Stage.String(); name == arg {
			v.setBreak(walk.Breakpoint{Stage: name})
			return nil
		}
	}
	v.Complain(fmt.Sprintf("break %q: expected a line, a stage, ARRAY[ROW][COL], list or clear", arg))
	return nil
}

// noSuchCell is why a shared array has no such cell, "" where it has.
func (v *Controller) noSuchCell(array string, row, col int) string {
	for _, a := range v.Run.Plan.Shared {
		if a.Name != array {
			continue
		}
		dims := [2]int{1, 1}
		copy(dims[:], a.Dims)
		if row >= dims[0] || col >= dims[1] {
			return fmt.Sprintf("%s has no cell [%d][%d]: it is %d×%d", array, row, col, dims[0], dims[1])
		}
		return ""
	}
	return fmt.Sprintf("the kernel has no shared array %q", array)
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

// breakpoints completes break: what it does, and the stages that it stops at.
func (v *Controller) breakpoints() []string {
	return append([]string{"list", "clear"}, v.StageNames()...)
}
