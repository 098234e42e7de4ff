package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
)

// hunt is a search through a stage's tiles in the background.
type hunt struct {
	seq    int
	cancel context.CancelFunc
	active bool
	took   debugkern.Cell // where the last one has led the cursor to
	answer string         // shown in the status line, for the run that was searched
}

func (h *hunt) stop() {
	if h.cancel != nil {
		h.cancel()
		h.cancel = nil
	}
	h.active = false
}

// Found is what a hunt came to.
type Found struct {
	seq    int
	gen    int
	cell   debugkern.Cell
	ok     bool
	guilty bool // nothing in the stage: the cell is a guilty stage's
	from   debugkern.Cell
	dir    int
	what   string
}

// NextBad goes to the next or previous bad cell of the stage, or where it has none, to a guilty stage's
// first.
func (x *Context) NextBad(dir int) tea.Cmd {
	if x.Root.Failing() {
		return x.Root.NextReason(dir)
	}
	if !x.Movable() {
		return x.NothingYet()
	}
	if !x.Run.Report.Referenced() {
		x.Say(fmt.Sprintf("no reference, so no cell is bad: %s looks for values, %s go on, view Races has the findings",
			x.Keys.Label(keymap.Search), x.stageKeys()))
		return nil
	}
	if x.Fresh && dir > 0 {
		x.Fresh = false
		x.answer("first bad cell: " + x.Named(x.PlaceOf(x.Cursor)))
		return nil
	}
	set := x.Numbers
	if set.Bound > 0 { // the bound on screen is not the verdict's
		return x.searchCells(cell.BadCells(), "bad cell by bound "+set.Bound.String(), dir)
	}
	from, run := x.PlaceOf(x.Cursor), x.Run
	return x.launch(dir, func(ctx context.Context, msg Found) Found {
		msg.what = "bad cell"
		if msg.cell, msg.ok = run.Viewer.NextBad(from, dir); msg.ok {
			return msg
		}
		for _, g := range run.Report.Guilty {
			if c, ok := run.BadOf(g.Stage); ok && c.Stage != from.Stage {
				msg.cell, msg.ok, msg.guilty = c, true, true
				break
			}
		}
		return msg
	})
}

// NextDiffering goes to the next or previous cell of the stage that two backends computed differently.
func (x *Context) NextDiffering(dir int) tea.Cmd {
	from, run := x.PlaceOf(x.Cursor), x.Run
	crossed, ok := run.Viewer.(debugkern.Crossed)
	if !ok {
		return x.NextBad(dir)
	}
	return x.launch(dir, func(_ context.Context, msg Found) Found {
		msg.what = "cell where GPU and emulator differ"
		if run.Pair != nil {
			msg.what = "cell where A and B differ"
		}
		msg.cell, msg.ok = crossed.NextDiffering(from, dir)
		return msg
	})
}

// launch starts a hunt from the cursor on (dir 1) or back, in place of the one before.
func (x *Context) launch(dir int, find func(context.Context, Found) Found) tea.Cmd {
	x.hunt.stop()
	ctx, cancel := context.WithCancel(x.Ctx)
	x.hunt = hunt{seq: x.hunt.seq + 1, cancel: cancel, active: true, took: x.hunt.took}
	msg := Found{seq: x.hunt.seq, gen: x.Gen, from: x.PlaceOf(x.Cursor), dir: dir}
	return func() tea.Msg {
		defer cancel()
		return find(ctx, msg)
	}
}

// SearchCells goes to the next or previous cell of the stage that matches.
func (x *Context) SearchCells(match *cell.Match, dir int) tea.Cmd {
	return x.searchCells(match, "match for "+match.Text, dir)
}

// searchCells is SearchCells with what the cells are called.
func (x *Context) searchCells(match *cell.Match, what string, dir int) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	from, run, set := x.PlaceOf(x.Cursor), x.Run, x.Numbers
	return x.launch(dir, func(ctx context.Context, msg Found) Found {
		msg.what = what
		msg.cell, msg.ok = run.find(ctx, match, set, from, dir)
		return msg
	})
}

// find looks through the stage's tiles in the contract's order (kv tile, block, row, column), from a cell on
// and around.
func (r *Run) find(ctx context.Context, match *cell.Match, set Numbers, from debugkern.Cell,
	dir int) (debugkern.Cell, bool) {
	places := r.Places(from.Stage)
	first := slices.Index(places, from.Place)
	if first < 0 {
		return from, false
	}
	n := len(places)
	for k := 0; k <= n && ctx.Err() == nil; k++ {
		p := places[((first+dir*k)%n+n)%n]
		v, err := r.Viewer.View(p)
		if err != nil || v == nil || !v.Got.Reached() {
			continue
		}
		row, col := -1, 0
		if dir < 0 {
			row = v.Got.Rows
		}
		if k == 0 {
			row, col = from.Row, from.Col
		}
		if r, c, ok := match.Find(v, set.Ref, set.Bound, row, col, dir); ok {
			return debugkern.Cell{Place: p, Row: r, Col: c}, true
		}
	}
	return from, false
}

// Found moves the cursor to what a hunt found.
func (x *Context) TakeFound(msg Found) tea.Cmd {
	if msg.seq != x.hunt.seq || msg.gen != x.Gen {
		return nil
	}
	x.hunt.stop()
	switch {
	case !msg.ok:
		x.answer(fmt.Sprintf("no %s in %s", msg.what, x.Cursor.Stage))
		return nil
	case x.PlaceOf(x.Cursor) == x.PlaceOf(msg.cell):
		x.answer(fmt.Sprintf("the only %s: %s", msg.what, x.Named(msg.cell)))
		return nil
	}
	text := msg.what + ": " + x.Named(msg.cell)
	switch {
	case x.Run.wrapped(msg) && msg.dir > 0:
		text += "; from the top again"
	case x.Run.wrapped(msg):
		text += "; from the bottom again"
	case msg.guilty:
		text = fmt.Sprintf("no bad cell in %s; guilty is %s", x.Cursor.Stage, x.Named(msg.cell))
	}
	cmd := x.GoTo(msg.cell)
	x.hunt.took = x.Cursor
	x.answer(text)
	return cmd
}

// wrapped reports whether what a hunt found lies behind where it began: it went round the end of the stage.
func (r *Run) wrapped(msg Found) bool {
	if msg.guilty || msg.cell.Stage != msg.from.Stage {
		return false
	}
	places := r.Places(msg.from.Stage)
	order := cmp.Or(slices.Index(places, msg.cell.Place)-slices.Index(places, msg.from.Place),
		msg.cell.Row-msg.from.Row, msg.cell.Col-msg.from.Col)
	return order*msg.dir < 0
}

// answer says what a hunt has found.
func (x *Context) answer(text string) {
	x.Say(text)
	x.hunt.answer = text
}

// DropAnswer clears the status line where it still has what a hunt found in a run that another takes the
// place of.
func (x *Context) DropAnswer() {
	if x.hunt.answer != "" && x.Status.Text == x.hunt.answer {
		x.Clear()
	}
	x.hunt.answer = ""
}

// AtFound reports whether the cursor is where the last hunt took it.
func (x *Context) AtFound() bool { return x.hunt.took.Stage != "" && x.hunt.took == x.Cursor }
