package source

import (
	"context"
	"fmt"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
	"tilescope/tui/view/source/shared"
)

// whoHere goes to the last write, before this moment, of the shared cell or register under the cursor. Asked
// again from there, it goes to the write before.
func (v *Controller) whoHere() tea.Cmd {
	if r, lane, ok := v.regs.Current(); ok && v.at == partRegisters {
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

// ToLine implements races.Stepper: the moment at which the first warp of its block comes to the line in its
// kv tile.
func (v *Controller) ToLine(file string, line int, block probes.Dim3, kv int) tea.Cmd {
	if v.Run == nil {
		return v.NothingYet()
	}
	if slices.Contains(v.Run.Viewer.Blocks(), block) {
		v.Cursor.Block = block
	}
	b, at := walk.Breakpoint{File: path.Base(file), Line: line}, v.Cursor.Block
	kept := placesOf(v.walk.enabled())
	return v.inSource("going to "+breakText(b), func(ctx context.Context, w walk.Walk) (answer, error) {
		defer w.SetBreakpoints(kept)
		w.SetBreakpoints([]walk.Breakpoint{b})
		p, err := w.Seek(ctx, 0)
		for err == nil && (p.Stop != "breakpoint" || p.KVTile < kv) && p.Stop != "end" &&
			p.Stop != "deadlock" &&
			p.Stop != "fault" {
			p, err = w.Continue(ctx)
		}
		if err == nil && p.Stop == "end" {
			_, err = w.Seek(ctx, 0)
			return answer{
				said: fmt.Sprintf("%s is not executed by block %s", breakText(b), at), lane: -1,
			}, err
		}
		return answer{said: standing(p, p), lane: -1}, err
	})
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
	if !ok {
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
