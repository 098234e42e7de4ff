package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// walker is offered by runs whose blocks can be stepped.
type walker interface {
	Walk(ctx context.Context, block probes.Dim3) (walk.Walk, error)
}

// walking is the block under a person's hand. A walk is used by one command at a time: while a motion is
// under way nothing else touches it, and what the panes show is the copy that the motion answered with.
type walking struct {
	seq    int // of the motion asked for last: what others report is stale
	busy   bool
	what   string
	cancel context.CancelFunc

	walk  walk.Walk
	owner *view.Run // the run it is of
	block probes.Dim3
	shot  shot
	line  *walk.Timeline // of the block, once it has been recorded
	said  string         // why there is nothing to see
	unit  target.Unit
	stopSet
	moved   []string           // what became of breakpoints in the source of the run on screen
	kernel  string             // that stopSet is of; "" before the first run
	others  map[string]stopSet // of other kernels
	trail   trail
	pending []func() tea.Cmd // what waits for a block to be open

	array   string // chosen by name; "" is the one of the cursor's stage
	row     int    // of the array, under the cursor
	col     int
	writes  writes
	files   map[string][]string // source text of filesOf's run
	filesOf *view.Run
	slot    view.Part // the pane that small screens show below: registers or shared
}

// stopSet is the breakpoints and watches of one kernel: those of another would name lines and arrays that it
// does not have.
type stopSet struct {
	breaks  []stop
	watches []watch
	// numbers of the breakpoint and the watch that were set last
	lastBreak, lastWatch int
}

// turnTo takes up the breakpoints and watches of a kernel, and keeps those of the kernel before for when it
// comes back. What was set before the first run is the first kernel's.
func (s *walking) turnTo(kernel string) {
	if kernel == s.kernel {
		return
	}
	if s.kernel != "" {
		s.others[s.kernel] = s.stopSet
		s.stopSet = stopSet{}
	}
	s.kernel = kernel
	s.add(s.others[kernel])
	delete(s.others, kernel)
}

// add appends others, which get numbers of their own.
func (s *stopSet) add(more stopSet) {
	for _, b := range more.breaks {
		s.lastBreak++
		b.id = s.lastBreak
		s.breaks = append(s.breaks, b)
	}
	for _, w := range more.watches {
		s.lastWatch++
		s.watches = append(s.watches, watch{s.lastWatch, w.e})
	}
}

// shot is everything that panes show of a moment.
type shot struct {
	pos     walk.Position
	warps   []target.Warp
	regs    []walk.Register
	listing []walk.Listing
	lines   []int // by PC
	ptx     []int // lines of the PTX, by PC
	texts   []string
	frames  []walk.Frame
	values  walk.Values // what expressions read
	before  walk.Values // at the stop before, nil where there was none
	// beforeWarp is the warp that before is of
	beforeWarp int
	arrays     []probes.SharedArray
	shared     walk.SharedView
	stop       string // which breakpoint it was stopped by, "": by none
	async      target.AsyncState
	isAsync    bool            // the kernel has asynchronous operations
	changed    map[string]bool // registers that differ from the shot before
	cells      map[int]bool    // cells of the array that do
}

// writes are who wrote a cell or register, and which of them was gone to.
type writes struct {
	array    string // "" for a register
	row, col int
	list     []target.WriteSite
	at       int
}

// walkedMsg is a motion that ended.
type walkedMsg struct {
	seq    int
	opened bool
	walk   walk.Walk
	shot   *shot
	said   string
	writes *writes
	line   *walk.Timeline    // where it was recorded
	lane   int               // to show, -1
	hits   map[int]walk.Hits // of breakpoints by number, where they were counted
	cell   *walk.Breakpoint  // whose cell has changed, which stopped the block
	from   stand             // of a motion
	trace  func()            // answer.retraced
	err    error
}

// walkTickMsg asks for the progress of a motion to be drawn.
type walkTickMsg struct{ seq int }

func (s *walking) stop() {
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
}

// drop lets the walk go; breakpoints and units stay.
func (s *walking) drop() {
	s.stop()
	if s.walk != nil && !s.busy {
		s.walk.Close()
	}
	s.seq++
	s.busy, s.walk, s.owner, s.shot, s.line, s.said, s.writes = false, nil, nil, shot{}, nil, "", writes{}
	s.pending, s.trail = nil, trail{}
}

// answer is what a motion reports besides the position.
type answer struct {
	said   string
	writes *writes
	lane   int
	runs   bool // it ran to a breakpoint of those that were set before it
	line   *walk.Timeline
	// retraced takes the place that was gone to from the trail; nil where the motion is one to go back from
	retraced func()
}

// motion carries something out on the walk, in the background.
func (v *Controller) motion(what string, do func(ctx context.Context, w walk.Walk) (answer,
	error)) tea.Cmd {
	s := &v.walk
	switch {
	case s.busy:
		v.Say(s.what + ": " + v.Keys.Label(keymap.Cancel) + " cancels")
		return nil
	case s.walk == nil:
		return v.openWalk()
	}
	ctx, cancel := context.WithCancel(v.Ctx)
	s.stop()
	s.seq++
	s.busy, s.what, s.cancel = true, what, cancel
	w, seq, array, before, stops := s.walk, s.seq, v.arrayName(), s.shot, s.enabled()
	lane, loop, skipped := v.regs.Lane(), v.ownLoop(), v.skipped()
	var counted []stop
	if v.list == listBreaks {
		counted = slices.Clone(s.breaks)
	}
	return tea.Batch(func() tea.Msg {
		defer cancel()
		w.SetBreakpoints(placesOf(stops))
		from := stand{w.Position().Step, w.Position().Warp}
		a, err := do(ctx, w)
		p := w.Position()
		if err == nil && a.lane < 0 && p.Step != from.step {
			a.lane = p.Lane
		}
		by, stopped := stop{}, false
		if at := p.Breakpoint; err == nil && a.runs && p.Stop == "breakpoint" && at >= 0 && at < len(stops) {
			by, stopped = stops[at], true
		}
		var changed *walk.Breakpoint
		if by.Array != "" {
			array, changed = by.Array, &by.Breakpoint
		}
		shot := look(w, array, &before)
		hits := count(ctx, w, counted)
		switch {
		case stopped:
			maps.Copy(hits, count(ctx, w, []stop{by}))
			if n, ok := hits[by.id]; ok {
				by.hits = &n
			}
			if a.lane < 0 && p.Mask != 0 && p.Mask>>lane&1 == 0 { // registers of one that stands there
				a.lane = bits.TrailingZeros32(p.Mask)
			}
			shot.stop = by.stopText(p, loop)
			a.said = fmt.Sprintf("%s%s · step %d", shot.stop, by.arrivedText(p), p.Step)
		case err == nil && a.runs && (p.Stop == "start" || p.Stop == "end"):
			a.said += uncounted(stops) + skipped
		}
		return walkedMsg{seq: seq, walk: w, shot: shot, said: a.said, writes: a.writes, line: a.line,
			lane: a.lane, hits: hits, cell: changed, from: from, trace: a.retraced, err: err}
	}, v.walkTick())
}

// count returns how often breakpoints have been hit up to now, by number: all at once, or where the kernel
// does not have the place of one, each on its own. It is empty where that was cancelled.
func count(ctx context.Context, w walk.Walk, stops []stop) map[int]walk.Hits {
	out := map[int]walk.Hits{}
	if len(stops) == 0 {
		return out
	}
	w.SetBreakpoints(placesOf(stops))
	if hits, err := w.Hits(ctx); err == nil {
		for i, n := range hits {
			out[stops[i].id] = n
		}
		return out
	}
	for _, b := range stops {
		w.SetBreakpoints([]walk.Breakpoint{b.Breakpoint})
		if n, err := w.Hits(ctx); err == nil {
			out[b.id] = n[0]
		}
	}
	return out
}

// walkTick asks to be drawn again while a motion is under way.
func (v *Controller) walkTick() tea.Cmd {
	seq := v.walk.seq
	return tea.Tick(2*v.Pace.Quiet, func(time.Time) tea.Msg { return walkTickMsg{seq} })
}

func (v *Controller) walkTicked(msg walkTickMsg) tea.Cmd {
	if msg.seq != v.walk.seq || !v.walk.busy {
		return nil
	}
	return v.walkTick()
}

// openWalk opens the cursor's block: at the write of the run's first bad cell where the run diverged and the
// cell lies in it, else at its start. Where the cursor is on another bad cell of that stage, it is that
// one's write.
func (v *Controller) openWalk() tea.Cmd {
	if v.Run == nil {
		v.walk.drop()
		v.walk.said = v.Idle()
		return nil
	}
	viewer := v.Run.Viewer
	bad, has := v.Run.FirstBad()
	has = has && bad.Block == v.Cursor.Block
	bad = v.PlaceOf(bad)
	where := v.Where(bad)
	own := v.PlaceOf(v.Cursor)
	ownWhere := v.Where(own)
	return v.openWith(func(ctx context.Context, w walk.Walk) (answer, error) {
		if !has {
			return answer{said: "block " + w.Position().Block.String() + " from its start", lane: -1}, nil
		}
		if own.Stage == bad.Stage && own != bad && isBad(viewer, own) {
			bad, where = own, ownWhere
		}
		x, err := viewer.Writer(ctx, bad)
		switch {
		case errors.Is(err, context.Canceled):
			return answer{lane: -1}, err
		case err != nil || x == nil: // no backend that can tell, or nothing wrote it
			return answer{
				said: "block " + bad.Block.String() + " from its start: who wrote " + where +
					" is not known", lane: -1,
			}, nil
		}
		return toWrite(ctx, w, x, where)
	})
}

// isBad reports whether a cell exceeds its bound.
func isBad(viewer debugkern.Viewer, c debugkern.Cell) bool {
	t, err := viewer.View(c.Place)
	return err == nil && t != nil && t.Got.Reached() && t.Bad(c.Row, c.Col, t.Verdict.Bad > 0)
}

// openWith opens the cursor's block in place of the one on screen and goes to a first place in it.
func (v *Controller) openWith(first func(ctx context.Context, w walk.Walk) (answer, error)) tea.Cmd {
	s := &v.walk
	s.drop()
	viewer, ok := v.Run.Viewer.(walker)
	if !ok {
		s.said = "this run cannot be stepped"
		return nil
	}
	ctx, cancel := context.WithCancel(v.Ctx)
	s.busy, s.what, s.cancel = true, "opening block "+v.Cursor.Block.String(), cancel
	s.owner, s.block = v.Run, v.Cursor.Block
	for i := range s.breaks { // a moment of another block's clock
		s.breaks[i].From = 0
	}
	block, seq, array := s.block, s.seq, v.arrayName()
	return tea.Batch(func() tea.Msg {
		defer cancel()
		msg := walkedMsg{seq: seq, opened: true, lane: -1}
		if msg.walk, msg.err = viewer.Walk(ctx, block); msg.err != nil {
			return msg
		}
		var a answer
		a, msg.err = first(ctx, msg.walk)
		msg.said, msg.lane, msg.shot = a.said, a.lane, look(msg.walk, array, nil)
		return msg
	}, v.walkTick())
}

// toWrite goes to the moment before a cell is written.
func toWrite(ctx context.Context, w walk.Walk, x *target.WriteSite, what string) (answer, error) {
	if _, err := w.Seek(ctx, x.Step); err != nil {
		return answer{lane: -1}, err
	}
	w.SetWarp(x.Warp)
	return answer{said: fmt.Sprintf("before %s is written by warp %d lane %d", what, x.Warp, x.Lane),
		lane: x.Lane}, nil
}

// look copies what the panes show of where a walk stands.
func look(w walk.Walk, array string, before *shot) *shot {
	s := &shot{pos: w.Position(), warps: w.Warps(), regs: w.Registers(), arrays: w.Arrays(),
		frames: w.Frames(), values: w.State(), changed: map[string]bool{}, cells: map[int]bool{}}
	s.shared, _ = w.Shared(array)
	if a, ok := w.(walk.Asynchronous); ok {
		s.async, s.isAsync = a.Async()
	}
	if before != nil && before.listing != nil {
		s.listing, s.lines, s.ptx, s.texts = before.listing, before.lines, before.ptx, before.texts
	} else {
		s.listing = w.Listing()
		for _, l := range s.listing {
			if l.PC >= 0 {
				s.lines, s.texts = append(s.lines, l.Line), append(s.texts, l.Text)
				s.ptx = append(s.ptx, l.PTX)
			}
		}
	}
	if before == nil {
		return s
	}
	s.before, s.beforeWarp = before.values, before.pos.Warp
	if before.pos.Step == s.pos.Step && before.pos.Warp == s.pos.Warp { // it has not moved
		s.before, s.beforeWarp, s.stop = before.before, before.beforeWarp, before.stop
		maps.Copy(s.changed, before.changed)
		if before.shared.Array.Name == s.shared.Array.Name {
			s.cells = before.cells
		}
		return s
	}
	if before.pos.Warp == s.pos.Warp && before.pos.Step != s.pos.Step {
		for _, r := range s.regs {
			i := slices.IndexFunc(before.regs, func(b walk.Register) bool { return b.Name == r.Name })
			s.changed[r.Name] = i >= 0 && before.regs[i].Bits != r.Bits
		}
	}
	if a, b := before.shared, s.shared; a.Array.Name == b.Array.Name && len(a.Tile.Data) == len(b.Tile.Data) {
		n := b.Tile.DType.Size()
		for i := range b.Written {
			s.cells[i] = string(a.Tile.Data[i*n:(i+1)*n]) != string(b.Tile.Data[i*n:(i+1)*n]) ||
				a.Written[i] != b.Written[i]
		}
	}
	return s
}

// walked shows where a motion led, unless another was asked for since.
func (v *Controller) walked(msg walkedMsg) tea.Cmd {
	s := &v.walk
	if msg.seq != s.seq {
		if msg.opened && msg.walk != nil {
			msg.walk.Close()
		}
		return nil
	}
	var show tea.Cmd
	s.busy = false
	if msg.opened {
		s.walk = msg.walk
	}
	if msg.shot != nil {
		s.shot = *msg.shot
	}
	for i := range s.breaks {
		s.breaks[i].hits = nil
		if n, ok := msg.hits[s.breaks[i].id]; ok {
			s.breaks[i].hits = &n
		}
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		v.Say("cancelled: the block is where it was")
	case msg.err != nil && msg.opened:
		s.said = view.OneLine(msg.err)
		v.Complain(s.said)
	case msg.err != nil:
		v.Complain(view.OneLine(msg.err))
	case msg.said != "":
		v.Say(msg.said)
	}
	switch {
	case msg.opened || msg.err != nil || msg.shot == nil:
	case msg.trace != nil:
		msg.trace()
	case msg.shot.pos.Step != msg.from.step:
		s.trail.push(msg.from)
	}
	if msg.writes != nil {
		s.writes = *msg.writes
	}
	if msg.line != nil {
		s.line = msg.line
	}
	if msg.err == nil && msg.lane >= 0 {
		v.regs.SetLane(msg.lane)
	}
	if c := msg.cell; c != nil {
		s.shot.cells[c.Row*s.shot.shared.Tile.Cols+c.Col] = true
		show = v.showCell(c.Array, c.Row, c.Col)
	}
	v.showWalk(true)
	return tea.Batch(show, v.followTile(), v.Root.Announce(view.Walked{}), v.carryOut(msg.err))
}

// followTile has the cursor's kv tile follow the block, so that the Tile view shows the tile that it works
// on.
func (v *Controller) followTile() tea.Cmd {
	kv := v.walk.shot.pos.KVTile
	if !v.Follow || kv < 0 || kv == v.Cursor.KVTile || v.walk.owner != v.Run || v.Run == nil {
		return nil
	}
	lo, n := v.Run.Viewer.Tiles(v.Cursor.Block)
	if kv < lo || kv >= lo+n {
		return nil
	}
	c := v.Cursor
	c.KVTile = kv
	return v.Set(c)
}

// loadWalk opens the block under the cursor, where the walk is of another.
func (v *Controller) loadWalk() tea.Cmd {
	if !v.followed() {
		return nil
	}
	s := &v.walk
	if s.owner == nil || s.owner != v.Run || s.block != v.Cursor.Block {
		cmd := v.openWalk()
		v.showWalk(true)
		return cmd
	}
	if s.walk != nil && !s.busy && s.shot.shared.Array.Name != v.arrayName() {
		return v.motion("reading "+v.arrayName(), func(context.Context, walk.Walk) (answer,
			error) {
			return answer{lane: -1}, nil
		})
	}
	v.showWalk(false)
	return nil
}

// arrayName is the shared array on screen: the one chosen, else the one that holds the cursor's stage, else
// the first.
func (v *Controller) arrayName() string {
	if v.walk.array != "" {
		return v.walk.array
	}
	if v.Run == nil {
		return ""
	}
	if sp := v.Run.Plan.Stage(v.Cursor.Stage); sp != nil && sp.Array != "" {
		return sp.Array
	}
	if len(v.Run.Plan.Shared) > 0 {
		return v.Run.Plan.Shared[0].Name
	}
	return ""
}

// ofStage reports whether the array on screen holds the cursor's stage, and whether transposed.
func (v *Controller) ofStage() (has, transposed bool) {
	if v.Run == nil {
		return false, false
	}
	sp := v.Run.Plan.Stage(v.Cursor.Stage)
	return sp != nil && sp.Array != "" && sp.Array == v.arrayName(), sp != nil && sp.Transposed
}

// cellHere is the cell of the array under the cursor: the Tile view's where the array holds its stage.
func (v *Controller) cellHere() (row, col int) {
	has, transposed := v.ofStage()
	switch {
	case !has:
		return v.walk.row, v.walk.col
	case transposed:
		return v.Cursor.Col, v.Cursor.Row
	}
	return v.Cursor.Row, v.Cursor.Col
}
