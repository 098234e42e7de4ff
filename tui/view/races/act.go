package races

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/view"
)

// moveIn moves the cursor of the list, or scrolls another part.
func (v *Controller) moveIn(part, n int) tea.Cmd {
	if part != List {
		return v.Scrolled(v.pane.Scroll(part, n))
	}
	if !v.pane.Move(n) {
		return v.Scrolled(false)
	}
	return v.askScene()
}

// nextFinding goes to the next finding, or to the next match of a search.
func (v *Controller) nextFinding(dir int) tea.Cmd {
	switch {
	case v.search != "" && !v.pane.Find(v.search, dir):
		v.Complain("no match for " + v.search)
		return nil
	case v.search != "":
		return v.askScene()
	case !v.pane.Next(dir):
		v.Say("no other finding")
		return nil
	}
	return v.askScene()
}

func (v *Controller) foldAdvice() tea.Cmd {
	what, open, ok := v.pane.Fold()
	switch {
	case !ok:
		v.Say("there is no " + what)
	case open:
		v.Say(what + " unfolded")
	default:
		v.Say(what + " folded")
	}
	return v.askScene()
}

// openFinding is Enter: the line in the Source view, at the moment of the conflict where that is known, or
// what is folded.
func (v *Controller) openFinding() tea.Cmd {
	if v.pane.OnFold() {
		return v.foldAdvice()
	}
	at := v.underCursor()
	m := view.Moment{Block: v.Cursor.Block, KVTile: -1, Warp: -1, Lane: -1}
	if f := v.selected(); f != nil {
		if sc := v.lookOf(v.lookKey()).Scene; sc != nil && sc.Pair[0] >= 0 && v.Run != nil &&
			slices.Contains(v.Run.Viewer.Blocks(), f.Block) {
			return v.stepper.ToConflict(sc)
		}
		m.Block, m.KVTile = f.Block, f.KVTile
		if len(f.Warps) > 0 {
			m.Warp = f.Warps[0]
		}
		if len(f.Lanes) > 0 {
			m.Lane = f.Lanes[0]
		}
	} else if c := v.pane.Cause(); c != nil {
		m.Block, m.KVTile = c.Place.Block, c.Place.KVTile
		if c.Stage != "" && c.Place.Row >= 0 && c.Place.Col >= 0 {
			m.Cell = &debugkern.Cell{Row: c.Place.Row, Col: c.Place.Col, Place: debugkern.Place{
				Stage: probes.Stage(c.Stage), Block: c.Place.Block, KVTile: max(0, c.Place.KVTile)}}
		}
	}
	if at == nil {
		v.Say("no finding to open here")
		return nil
	}
	m.File, m.Line = at.File, at.Line
	return v.stepper.ToLine(m)
}

// findingTile opens the Tile view where the finding, or its cause, shows.
func (v *Controller) findingTile() tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	c := v.Cursor
	f, cause := v.selected(), v.pane.Cause()
	if f == nil && cause == nil {
		v.Say("no finding here")
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
		if s, ok := v.stageOf(f.Variable); ok {
			c.Stage, known = s, true
			switch len(f.Index) {
			case 1:
				c.Row, c.Col = f.Index[0], 0
			case 2:
				c.Row, c.Col = f.Index[0], f.Index[1]
			}
		}
	}
	cmd := tea.Batch(v.GoTo(c), v.Root.Open(view.Tile))
	if !known {
		v.Say(v.Worded("the finding belongs to no stage's tile: its block and kv tile are shown"))
	}
	return cmd
}

// stageOf is the stage whose tile lies in a shared array: as the manifest says, else by the array's name.
func (v *Controller) stageOf(variable string) (probes.Stage, bool) {
	for i := range v.Run.Plan.Stages {
		if sp := &v.Run.Plan.Stages[i]; variable != "" && sp.Capture.Shared == variable {
			return sp.Stage, true
		}
	}
	s := probes.Stage(strings.TrimSuffix(strings.TrimPrefix(variable, "s"), "_smem"))
	return s, v.Run.Plan.Stage(s) != nil
}

// whatIf tries, virtually, what would put the finding right.
func (v *Controller) whatIf() tea.Cmd {
	f, cause, barrier, run := v.selected(), v.pane.Cause(), v.pane.Barrier(), v.executed()
	switch {
	case f == nil && cause == nil && barrier == nil && v.race.active:
		v.Say("no finding yet: the diagnosis is running")
		return nil
	case f == nil && cause == nil && barrier == nil:
		v.Say("no finding here to fix")
		return nil
	case run == nil || v.inquirer == nil:
		v.Say("this run's blocks cannot be executed again")
		return nil
	}
	if v.race.stopIf != nil {
		v.race.stopIf()
	}
	ctx, cancel := context.WithCancel(v.Ctx)
	v.race.trying, v.race.stopIf, v.race.tried, v.race.triedFor = true, cancel, v.Now(), 0
	seq, key, who := v.race.seq, v.lookKey(), v.inquirer
	v.pane.Stay()
	var lead *report.Finding
	if i, ok := v.pane.Lead(); ok && i < len(v.race.shown) {
		lead = &v.race.shown[i]
	}
	of := ""
	if f != nil && f.Other != nil { // several races may be one cause's, and be put right at other lines
		one := *f
		one.Warps, one.KVTile, one.Count = nil, -1, 0
		of = title(&one, nil)
	}
	v.Say(map[bool]string{true: "taking it away", false: "trying what would fix it"}[barrier != nil])
	return func() tea.Msg {
		defer cancel()
		var text []string
		var err error
		switch {
		case f != nil:
			text, err = who.WhatIf(ctx, run, f)
			if err != nil && lead != nil { // what puts its cause right puts it right as well
				if of, failed := who.WhatIf(ctx, run, lead); failed == nil {
					text, err = of, nil
				}
			}
		case cause != nil:
			text, err = who.WhatIfRight(ctx, run, cause)
		default:
			text, err = who.WhatIfWithout(ctx, run, barrier)
		}
		if of != "" && len(text) > 0 {
			text[0] = "for " + of + ": " + text[0]
		}
		return triedMsg{seq, key, text, err}
	}
}
