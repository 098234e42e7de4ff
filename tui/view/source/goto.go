package source

import (
	"context"
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
	"tilescope/tui/view/source/shared"
)

// whoHere goes to the last write, before this moment, of the shared cell or register under the cursor. Asked
// again from there, it goes to the write before. On a low screen SHARED may be hidden by REGISTERS: then it
// is the register's, wherever the focus is.
func (v *Controller) whoHere() tea.Cmd {
	if r, lane, ok := v.regs.Current(); ok && (v.at == partRegisters || v.shared.W == 0) {
		return v.motion("looking for who wrote "+r.Name,
			func(ctx context.Context, w walk.Walk) (answer, error) {
				warp := w.Position().Warp
				list, err := w.RegisterWrites(ctx, r.Name, lane)
				return v.toLast(ctx, w, writes{list: list}, fmt.Sprintf("%s in lane %d of warp %d", r.Name,
					lane, warp), err)
			})
	}
	array, row, col, ok := v.shared.Current()
	if !ok {
		v.Say("no shared cell or register here: Tab goes to SHARED or REGISTERS")
		return nil
	}
	return v.motion(fmt.Sprintf("looking for who wrote %s[%d][%d]", array, row, col),
		func(ctx context.Context, w walk.Walk) (answer, error) {
			list, err := w.Writes(ctx, array, row, col)
			return v.toLast(ctx, w, writes{array: array, row: row, col: col, list: list},
				fmt.Sprintf("%s[%d][%d]", array, row, col), err)
		})
}

// toLast goes to the last of some writes.
func (v *Controller) toLast(ctx context.Context, w walk.Walk, ws writes, what string, err error) (answer,
	error) {
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
	return answer{said: fmt.Sprintf("write %d of %s: %s; %s goes to the one before", ws.at+1, what,
		shared.WriteText(x), v.Keys.Label(keymap.Who)), writes: &ws, lane: x.Lane}, nil
}

// inSource shows the Source view and goes to a place in the cursor's block.
func (v *Controller) inSource(what string, do func(ctx context.Context, w walk.Walk) (answer,
	error)) tea.Cmd {
	v.Root.Switch(view.Source)
	s := &v.walk
	if s.walk != nil && s.owner == v.Run && s.block == v.Cursor.Block {
		return tea.Batch(v.motion(what, do), v.Root.Changed())
	}
	cmd := v.openWith(do)
	v.showWalk(true)
	return tea.Batch(cmd, v.Root.Changed())
}

// ToWrite is w in the Tile view once the writer is known: the moment of the write.
func (v *Controller) ToWrite(x *target.WriteSite) tea.Cmd {
	what := v.Named(v.PlaceOf(v.Cursor))
	if x.Block != nil {
		v.Cursor.Block = *x.Block
	}
	return v.inSource("going to the write", func(ctx context.Context, w walk.Walk) (answer,
		error) {
		return toWrite(ctx, w, x, what)
	})
}

// ToStep is Enter in the lineage of a cell: the moment before a lane executes the operation that what names.
func (v *Controller) ToStep(block probes.Dim3, step uint64, warp, lane int, what string) tea.Cmd {
	v.Cursor.Block = block
	return v.inSource("going to the operation", func(ctx context.Context, w walk.Walk) (answer, error) {
		if _, err := w.Seek(ctx, step); err != nil {
			return answer{lane: -1}, err
		}
		w.SetWarp(warp)
		return answer{said: fmt.Sprintf("before warp %d lane %d: %s", warp, lane, what), lane: lane}, nil
	})
}

// lineal is a run that can say what a cell is made of.
type lineal interface {
	Lineage(ctx context.Context, c debugkern.Cell, ask debugkern.LineageRequest) (*report.Lineage, error)
}

// ToLine implements races.Stepper: the moment at which the line is executed for the cell, where there is one:
// the operation of the line among those that its value is made of, else the last time that the line was
// executed before the cell was written. Without a cell it is the first moment at which the warp comes to the
// line in its kv tile.
func (v *Controller) ToLine(m view.Moment) tea.Cmd {
	if v.Run == nil {
		return v.NothingYet()
	}
	if slices.Contains(v.Run.Viewer.Blocks(), m.Block) {
		v.Cursor.Block = m.Block
	} else {
		m.Cell = nil
	}
	b, viewer := walk.Breakpoint{File: path.Base(m.File), Line: m.Line}, v.Run.Viewer
	kept := placesOf(v.walk.enabled())
	return v.inSource("going to "+breakText(b), func(ctx context.Context, w walk.Walk) (answer, error) {
		defer w.SetBreakpoints(kept)
		if m.Cell != nil {
			if a, ok, err := toOperation(ctx, w, viewer, b, *m.Cell); ok || err != nil {
				return a, err
			}
		}
		return toArrival(ctx, w, b, m)
	})
}

// toOperation goes to the moment at which a line is executed for a cell; ok is false where that is not known.
func toOperation(ctx context.Context, w walk.Walk, viewer debugkern.Viewer, b walk.Breakpoint,
	c debugkern.Cell) (a answer, ok bool, err error) {
	name := fmt.Sprintf("%s cell %d,%d", c.Stage, c.Row, c.Col)
	if run, can := viewer.(lineal); can {
		doc, err := run.Lineage(ctx, c, debugkern.LineageRequest{})
		if ctx.Err() != nil {
			return answer{lane: -1}, false, ctx.Err()
		}
		if n := operationOn(doc, b); err == nil && n != nil {
			if _, err := w.Seek(ctx, n.At.Step); err != nil {
				return answer{lane: -1}, false, err
			}
			w.SetWarp(n.At.Warp)
			return answer{lane: n.At.Lane, said: fmt.Sprintf(
				"line %d for %s: before warp %d lane %d executes %s", b.Line, name, n.At.Warp, n.At.Lane,
				n.Op)}, true, nil
		}
	}
	x, err := viewer.Writer(ctx, c)
	if ctx.Err() != nil || err != nil || x == nil || x.Block != nil {
		return answer{lane: -1}, false, ctx.Err() // who wrote it is not known
	}
	for _, when := range []string{fmt.Sprintf("if warp == %d", x.Warp), ""} {
		if _, err := w.Seek(ctx, x.Step+1); err != nil {
			return answer{lane: -1}, false, err
		}
		if p, err := arrival(ctx, w, b, when, walk.Walk.Reverse); err != nil || p.Stop == "breakpoint" {
			return answer{lane: x.Lane, said: fmt.Sprintf(
				"line %d in warp %d, the last time before warp %d lane %d writes %s", b.Line, p.Warp, x.Warp,
				x.Lane, name)}, err == nil, err
		}
	}
	return answer{lane: -1}, false, nil
}

// operationOn is the first operation of a lineage that a line is the place of, from the cell on; nil where
// there is none.
func operationOn(doc *report.Lineage, b walk.Breakpoint) *report.LineageNode {
	if doc == nil {
		return nil
	}
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		if n.At != nil && n.Block == nil && n.Source != nil && path.Base(n.Source.File) == b.File &&
			n.Source.Line <= b.Line && b.Line <= max(n.Source.Line, n.Line) {
			return n
		}
	}
	return nil
}

// arrival runs on or back to a line, under a condition.
func arrival(ctx context.Context, w walk.Walk, b walk.Breakpoint, when string,
	run func(walk.Walk, context.Context) (walk.Position, error)) (p walk.Position, err error) {
	if b.When, err = expr.ParseCondition(when); err != nil {
		panic("BUG: " + err.Error())
	}
	w.SetBreakpoints([]walk.Breakpoint{b})
	return run(w, ctx)
}

// toArrival goes to the first moment at which the warp comes to a line in its kv tile, else any warp.
func toArrival(ctx context.Context, w walk.Walk, b walk.Breakpoint, m view.Moment) (answer, error) {
	var tries []string
	if m.Warp >= 0 && m.Lane >= 0 {
		tries = append(tries, fmt.Sprintf("if warp == %d && lane == %d", m.Warp, m.Lane))
	}
	if m.Warp >= 0 {
		tries = append(tries, fmt.Sprintf("if warp == %d", m.Warp))
	}
	for _, when := range append(tries, "") {
		p, err := w.Seek(ctx, 0)
		for err == nil && (p.Stop != "breakpoint" || p.KVTile < m.KVTile) && p.Stop != "end" &&
			p.Stop != "deadlock" && p.Stop != "fault" {
			p, err = arrival(ctx, w, b, when, walk.Walk.Continue)
		}
		if err != nil {
			return answer{lane: -1}, err
		}
		if p.Stop != "end" {
			return answer{said: standing(p, p), lane: m.Lane}, nil
		}
	}
	block := w.Position().Block
	_, err := w.Seek(ctx, 0)
	return answer{said: fmt.Sprintf("%s is not executed by block %s", breakText(b), block), lane: -1}, err
}

// openHere is Enter in Source: run to the line, step another warp, open the cell in Tile.
func (v *Controller) openHere() tea.Cmd {
	switch v.at {
	case partList:
		return v.openListed()
	case partWatches:
		if i := v.watches.Current(); i >= 0 {
			v.Say(v.printed(v.walk.watches[i].e))
		}
		return nil
	case partWarps:
		return v.setWarp(v.warps.Chosen())
	case partShared:
		if has, _ := v.ofStage(); has {
			return v.Root.Open(view.Tile)
		}
		v.Say("this array holds no captured stage: J K choose one that does")
		return nil
	}
	return v.until("")
}

// until is :until, and Enter on a line: it runs to the line under the cursor, or to another, or to the
// breakpoint that comes before.
func (v *Controller) until(arg string) tea.Cmd {
	if !v.Movable() {
		return v.NothingYet()
	}
	if arg != "" && !v.isOpen() { // which lines have instructions is known of an open block
		return tea.Batch(v.toSource(), v.whenOpen(func() tea.Cmd { return v.until(arg) }))
	}
	b, ok := v.breakHere()
	if arg != "" {
		var err error
		if b, err = v.readBreak(arg); err != nil {
			v.Complain("until: " + err.Error())
			return nil
		}
		ok = b.Line == 0 || v.hasCode(b)
	} else if b.Line > 0 {
		ok = v.hasCode(b)
	}
	switch {
	case !ok && b.Line > 0:
		v.Complain("until: " + v.noCode(b))
		return nil
	case !ok:
		v.Say("no instruction belongs to this line")
		return nil
	}
	kept := placesOf(v.walk.enabled())
	return tea.Batch(v.toSource(), v.moveWalk("running to "+conditionText(b),
		func(ctx context.Context, w walk.Walk) (walk.Position, error) {
			w.SetBreakpoints(append(kept, b))
			return w.Continue(ctx)
		}))
}
