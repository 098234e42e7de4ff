package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
)

// history is where the cursor was before it jumped, and where it came back from.
type history struct {
	back, forward []debugkern.Cell
}

const maxHistory = 200

func (h *history) push(c debugkern.Cell) {
	if n := len(h.back); n > 0 && h.back[n-1] == c {
		return
	}
	h.back = append(h.back, c)
	if len(h.back) > maxHistory {
		h.back = slices.Delete(h.back, 0, len(h.back)-maxHistory)
	}
	h.forward = nil
}

// step takes the last of from and puts c on to.
func step(from, to *[]debugkern.Cell, c debugkern.Cell) (debugkern.Cell, bool) {
	n := len(*from)
	if n == 0 {
		return c, false
	}
	out := (*from)[n-1]
	*from = (*from)[:n-1]
	*to = append(*to, c)
	return out, true
}

// At is the cursor's place as the viewer counts it: stages taken once a block have no kv tile.
func (x *Context) At() debugkern.Place { return x.PlaceOf(x.Cursor).Place }

// PlaceOf is c with the kv tile that its stage has, and block 0,0,0 where the launch has one tile of it.
func (x *Context) PlaceOf(c debugkern.Cell) debugkern.Cell {
	if x.Run != nil {
		if sp := x.Run.Plan.Stage(c.Stage); sp != nil && !sp.PerTile {
			c.KVTile = 0
			if sp.OfLaunch() {
				c.Block = probes.Dim3{}
			}
		}
	}
	return c
}

// Named writes a cell of the run on screen out: P block 3,1,0 kv 2 cell 17,9, or out[3,5].
func (x *Context) Named(c debugkern.Cell) string {
	if x.Run != nil && x.Run.Plan != nil {
		if sp := x.Run.Plan.Stage(c.Stage); sp != nil && sp.OfLaunch() {
			return cell.Name(sp, c.Row, c.Col)
		}
	}
	return x.Where(c)
}

// Iteration names one iteration of the loop over tiles as the manifest of the run on screen does: kv 2.
func (x *Context) Iteration(n int) string {
	if x.Run == nil || x.Run.Plan == nil {
		return "kv " + strconv.Itoa(n)
	}
	return x.Run.Plan.Work.At(n)
}

// LoopTile is what one iteration is called in a sentence: kv tile, k tile.
func (x *Context) LoopTile() string {
	if x.Run == nil || x.Run.Plan == nil {
		return kvTile
	}
	return x.Run.Plan.Work.TileName()
}

const kvTile = "kv tile"

// Worded is a text of keys and commands, which says kv tile, with the name that the kernel on screen has for
// an iteration.
func (x *Context) Worded(text string) string { return WordedFor(text, x.LoopTile()) }

// WordedFor is Worded with a name of an iteration.
func WordedFor(text, tile string) string { return strings.ReplaceAll(text, kvTile, tile) }

// TileText names the iteration in which a stage's tile is computed: kv 2; "" of a stage that is computed
// outside of the loop over tiles, and of a kernel that has no such loop.
func TileText(plan *probes.Plan, sp *probes.StagePlan, n int) string {
	if sp == nil || !sp.PerTile || plan.Work.Once {
		return ""
	}
	return plan.Work.At(n)
}

// Where writes a cell out: P block 3,1,0 kv 2 cell 17,9.
func (x *Context) Where(c debugkern.Cell) string {
	tile := x.Iteration(c.KVTile)
	if x.Run != nil && x.Run.Plan != nil {
		tile = TileText(x.Run.Plan, x.Run.Plan.Stage(c.Stage), c.KVTile)
	}
	if tile != "" {
		tile += " "
	}
	return fmt.Sprintf("%s block %s %scell %d,%d", c.Stage, c.Block, tile, c.Row, c.Col)
}

// GoTo moves the cursor to c, remembering where it was.
func (x *Context) GoTo(c debugkern.Cell) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	to := x.Run.Nearest(c)
	if sp := x.Run.Plan.Stage(to.Stage); sp != nil && !sp.PerTile {
		to.KVTile = x.Cursor.KVTile // it comes back into force with the next stage that has kv tiles
	}
	if to == x.Cursor {
		return nil
	}
	x.past.push(x.Cursor)
	x.Cursor = to
	return x.moved()
}

// Nudge moves the cursor by a cell; that is not worth remembering.
func (x *Context) Nudge(rows, cols int) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	c := x.Cursor
	c.Row, c.Col = c.Row+rows, c.Col+cols
	to := x.Run.Nearest(c)
	if to == x.Cursor {
		if sp := x.Run.Plan.Stage(c.Stage); sp != nil && sp.OfLaunch() {
			x.Say("edge of the argument: " + x.stageKeys() + " other arguments")
		} else {
			x.Say("edge of the tile: H L other " + x.Run.Plan.Work.TileName() + "s, { } other blocks")
		}
		return nil
	}
	x.Cursor = to
	return x.moved()
}

// moved announces that the cursor has moved.
func (x *Context) moved() tea.Cmd {
	x.Fresh = x.Fresh && x.onFirstBad()
	return tea.Batch(x.Root.Announce(Moved{}), x.Root.Changed())
}

func (x *Context) onFirstBad() bool {
	if x.Run == nil {
		return false
	}
	c, ok := x.Run.FirstBad()
	return ok && x.PlaceOf(c) == x.PlaceOf(x.Cursor)
}

// StepStage moves to the stage n further on.
func (x *Context) StepStage(n int) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	list := x.Stages()
	i := within(slices.Index(list, x.Cursor.Stage), n, len(list))
	if i < 0 || i >= len(list) {
		x.Say(fmt.Sprintf("%s is the %s stage", x.Cursor.Stage,
			map[bool]string{true: "first", false: "last"}[i < 0]))
		return nil
	}
	c := x.Cursor
	c.Stage = list[i]
	return x.GoTo(c)
}

// stageKeys are the keys of the next and previous stage, as help writes them.
func (x *Context) stageKeys() string {
	return x.Keys.Label(keymap.NextStage) + " " + x.Keys.Label(keymap.PrevStage)
}

// within is i+n; more than one step ends at the first or last of count places, unless i is there already.
func within(i, n, count int) int {
	if to := max(0, min(i+n, count-1)); to != i && (n < -1 || n > 1) {
		return to
	}
	return i + n
}

// StepTile moves to the kv tile n further on.
func (x *Context) StepTile(n int) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	sp := x.Run.Plan.Stage(x.Cursor.Stage)
	if sp != nil && sp.OfLaunch() {
		x.Say(fmt.Sprintf("%s belongs to the launch, not to a block: %s other arguments", sp.Capture.Output,
			x.stageKeys()))
		return nil
	}
	if sp != nil && !sp.PerTile {
		x.Say(fmt.Sprintf("%s is captured once a block: %s other stages, %s %s other blocks", x.Cursor.Stage,
			x.stageKeys(), x.Keys.Label(keymap.PrevBlock), x.Keys.Label(keymap.NextBlock)))
		return nil
	}
	lo, count := x.Run.Viewer.Tiles(x.Cursor.Block)
	c := x.Cursor
	if c.KVTile = lo + within(c.KVTile-lo, n, count); c.KVTile < lo || c.KVTile >= lo+count {
		x.Say(fmt.Sprintf("block %s has %ss %d to %d", c.Block, x.Run.Plan.Work.TileName(), lo, lo+count-1))
		return nil
	}
	return x.GoTo(c)
}

// StepBlock moves to the captured block n further on in launch order.
func (x *Context) StepBlock(n int) tea.Cmd {
	if !x.Movable() {
		return x.NothingYet()
	}
	all := x.Run.Viewer.Blocks()
	i := within(slices.Index(all, x.Cursor.Block), n, len(all))
	if i < 0 || i >= len(all) {
		x.Say(fmt.Sprintf("%s is the %s captured block of %d", x.Cursor.Block,
			map[bool]string{true: "first", false: "last"}[i < 0], len(all)))
		return nil
	}
	c := x.Cursor
	c.Block = all[i]
	return x.GoTo(c)
}

// Movable reports whether there are tiles on screen for the cursor to move in.
func (x *Context) Movable() bool { return x.Run != nil && !x.Root.Failing() }

// Stages lists the stages of the run on screen, before the first those that the request will have.
func (x *Context) Stages() []probes.Stage {
	var plan *probes.Plan
	if x.Run != nil {
		plan = x.Run.Plan
	} else {
		plan = x.Outline()
	}
	if plan == nil {
		return nil
	}
	var out []probes.Stage
	for _, sp := range plan.Tiles() {
		out = append(out, sp.Stage)
	}
	return out
}

// History goes back (dir < 0) or forward to where the cursor was.
func (x *Context) History(dir int) tea.Cmd {
	from, to := &x.past.forward, &x.past.back
	if dir < 0 {
		from, to = to, from
	}
	c, ok := step(from, to, x.Cursor)
	switch {
	case !ok:
		x.Say("no further in the cursor's history")
		return nil
	case x.Run == nil:
		return x.NothingYet()
	}
	x.Cursor = x.Run.Nearest(c)
	return x.moved()
}

// Set moves the cursor without a word and without remembering where it was, and has everybody follow.
func (x *Context) Set(c debugkern.Cell) tea.Cmd {
	x.Cursor = c
	return x.moved()
}

// Here returns what puts the cursor and its history back to what they are now.
func (x *Context) Here() (back func() tea.Cmd) {
	at, fresh := x.Cursor, x.Fresh
	past := history{slices.Clone(x.past.back), slices.Clone(x.past.forward)}
	return func() tea.Cmd {
		x.hunt.stop()
		x.hunt.seq++
		x.past = history{slices.Clone(past.back), slices.Clone(past.forward)}
		var cmd tea.Cmd
		if x.Run != nil && x.Cursor != at {
			cmd = x.Set(x.Run.Nearest(at))
		}
		x.Fresh = fresh
		return cmd
	}
}

// Jump remembers where the cursor was and puts it somewhere else; what follows from it is up to the caller.
func (x *Context) Jump(c debugkern.Cell) {
	x.past.push(x.Cursor)
	x.Cursor = c
}

// PlaceFirstBad puts the cursor where a run that has just ended asks for it: on its first bad cell, unless
// keep, or as near as possible to where it was. From a stage that the run's gate leaves out it goes to what
// the gate injects, else to the first stage that it judges.
func (x *Context) PlaceFirstBad(keep bool) {
	x.Fresh = false
	c, ok := x.Run.FirstBad()
	switch s := x.Run.gated(x.Cursor.Stage); {
	case !keep && ok:
		x.Fresh = true
	case !keep && s != x.Cursor.Stage:
		c = x.Cursor
		c.Stage = s
	default:
		c = x.Cursor
	}
	if c != x.Cursor {
		x.past.push(x.Cursor)
	}
	x.Cursor = x.Run.Nearest(c)
}

// Hunting reports whether cells are being searched; CancelHunt ends that, and says so.
func (x *Context) Hunting() bool { return x.hunt.active }

// CancelHunt ends a search through the tiles.
func (x *Context) CancelHunt() {
	x.hunt.stop()
	x.hunt.seq++
	x.Say("search cancelled")
}

// StopJobs ends what runs for the context in the background.
func (x *Context) StopJobs() {
	x.Job.Stop()
	x.hunt.stop()
	x.Task.Stop()
}

// StageNames lists the stages of the run on screen, before the first those of the target's manifest.
func (x *Context) StageNames() []string {
	if x.Run != nil && x.Run.Plan != nil {
		var out []string
		for _, sp := range x.Run.Plan.Tiles() {
			out = append(out, sp.Stage.String())
		}
		return out
	}
	if man, _ := x.Manifest(); man != nil {
		return man.StageNames()
	}
	return nil
}

// StartCursor puts a cursor that was nowhere yet on the first stage of the target's manifest.
func (x *Context) StartCursor() {
	if man, _ := x.Manifest(); man != nil && x.Cursor.Stage == "" && len(man.Stages) > 0 {
		x.Cursor.Stage = man.Stages[0].Stage
	}
}

// Formula is a stage's name with what it computes.
func (x *Context) Formula(s probes.Stage) string {
	if x.Run != nil && x.Run.Plan != nil {
		if sp := x.Run.Plan.Stage(s); sp != nil && sp.Help != "" {
			return sp.Help
		}
	}
	return s.String()
}
