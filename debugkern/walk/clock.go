package walk

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// walker is a block on the emulator, stopped at a step of the block's clock. A motion finds the step to go to
// by executing (forwards from the current step, backwards from snapshots taken at barriers), and then
// executes from a snapshot to that step. So the state at a step does not depend on the direction of the
// motion.
type walker struct {
	block    target.Walkable
	kernel   target.Kernel
	program  target.Program
	launch   *target.Launch
	lines    []int32        // by PC: number of its source line
	calls    []target.Calls // by PC: what it was inlined through
	heads    []int          // by PC: the first instruction of its basic block
	entries  []entry        // by PC, of source lines
	listing  []Listing
	rows     []int          // by PC: its row of the listing
	names    map[string]int // of the entry's registers
	regTypes []string
	marks    []mark
	gap      uint64 // the least number of steps between two marks
	passed   []int32
	came     []int32 // by warp: what it executed before it came to its basic block, -1: nothing
	turn     int     // the warp that executed last, -1: none
	moved    []bool  // by warp: it has begun another line in this round
	round    bool    // the event at hand ends the round
	tallies  map[string]*tally
	lastOver stepped
	hand     target.Stop // the next instruction
	warp     int
	pos      Position
	breaks   []Breakpoint
	places   []breakPlace   // by breakpoint
	usable   []map[int]bool // by breakpoint: see holding
	counted  []bool         // by breakpoint: its tally is brought up to date by the motion under way
	captured []capture
	happened []target.AsyncEvent // since they were last looked at, while somebody listens
	fault    *target.Fault
	clock    atomic.Uint64 // read by Clock, from any goroutine

	// of the functions that instructions lie in, and of the function's own body
	innermost, outermost lineMap
}

// mark is a snapshot. passed is the last instruction that each warp had executed, -1: none.
type mark struct {
	step   uint64
	snap   target.Snapshot
	passed []int32
	came   []int32
	turn   int
	moved  []bool
}

// capture is a tile that was captured, and when.
type capture struct {
	stage probes.Stage
	kv    int
	step  uint64
}

// Snapshots are taken at barriers, and after many steps without one. Where there are too many, every second
// is removed.
const (
	maxMarks   = 40
	firstGap   = 256
	longestGap = 1 << 16
)

// Open opens a block of a launch for stepping, at its start. The kernel has to be one that can be stepped
// (target.Stepper, target.Program): the emulator's. What the launch captures and injects, the block does too.
func Open(k target.Kernel, l *target.Launch, id probes.Dim3) (Walk, error) {
	stepper, ok := k.(target.Stepper)
	program, known := k.(target.Program)
	if !ok || !known {
		return nil, errors.New("walk: this backend cannot be stepped: run on the emulator (--backend emu)")
	}
	one := *l
	one.Observe, one.Only = nil, nil
	b, err := stepper.Open(&one, id)
	if err != nil {
		return nil, fmt.Errorf("walk: %w", err)
	}
	block, ok := b.(target.Walkable)
	if !ok {
		return nil, errors.New("walk: this backend's blocks cannot be stopped at a step of their clock")
	}
	w := &walker{block: block, kernel: k, program: program, launch: &one, gap: firstGap}
	w.list()
	w.passed = make([]int32, len(block.Warps()))
	for i := range w.passed {
		w.passed[i] = -1
	}
	w.came = slices.Clone(w.passed)
	w.turn, w.moved, w.tallies = -1, make([]bool, len(w.passed)), map[string]*tally{}
	block.OnCapture(func(s probes.Stage, kv int) {
		w.captured = append(w.captured, capture{s, kv, block.Steps()})
	})
	if err := w.begin(); err != nil {
		return nil, err
	}
	return w, nil
}

// begin goes to the moment before the first instruction.
func (w *walker) begin() error {
	stop, err := w.block.RunTo(context.Background(), 0, nil)
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	w.hand, w.warp = stop, stop.Warp
	w.marks = []mark{w.here()}
	w.place("start", "")
	return nil
}

// here takes a mark at the current step.
func (w *walker) here() mark {
	return mark{
		w.block.Steps(), w.block.Snapshot(), slices.Clone(w.passed), slices.Clone(w.came), w.turn,
		slices.Clone(w.moved),
	}
}

// restore sets the block to the state of a mark.
func (w *walker) restore(m mark) {
	w.block.Restore(m.snap)
	w.passed, w.moved = append(w.passed[:0], m.passed...), append(w.moved[:0], m.moved...)
	w.came, w.turn = append(w.came[:0], m.came...), m.turn
	w.captured, w.happened, w.fault = nil, nil, nil
}

// base returns the index of the latest mark that is not after a step.
func (w *walker) base(step uint64) int {
	i := len(w.marks) - 1
	for i > 0 && w.marks[i].step > step {
		i--
	}
	return i
}

// run executes from the current step up to another and takes marks on the way. see gets every event,
// with what each warp executed last still in w.passed; where it returns true execution stops there.
func (w *walker) run(ctx context.Context, to uint64, see func(*target.Event) bool) (seen bool, err error) {
	for {
		last := w.marks[len(w.marks)-1].step
		far := last + max(longestGap, w.gap)
		limit := min(to, far)
		var done, marking bool
		n := 0
		w.hand, err = w.block.RunTo(ctx, limit, func(e *target.Event) bool {
			if n++; n&255 == 0 {
				w.clock.Store(e.Step)
				if ctx.Err() != nil {
					return true
				}
			}
			w.round = w.endsRound(e)
			if see != nil && see(e) {
				done = true
				return true
			}
			if e.Class == target.ClassBarrierDone {
				marking = e.Step >= last+w.gap
				return marking
			}
			if e.Class != target.ClassAsyncLand {
				w.executed(e)
			}
			return false
		})
		var fault *target.Fault
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.As(err, &fault):
			w.fault = fault
			return done, nil
		case err != nil || done:
			return done, err
		case marking:
			// After the barrier, but not yet at the step's own state.
			if w.hand, err = w.block.RunTo(ctx, w.block.Steps(), nil); err != nil {
				return false, err
			}
		}
		if !w.over() && (marking || w.block.Steps() >= far) {
			w.mark()
		}
		if w.over() || w.block.Steps() >= to {
			return false, nil
		}
	}
}

// endsRound reports whether the event is the one with which every warp that can execute has begun another
// line since the last such event.
func (w *walker) endsRound(e *target.Event) bool {
	if !executes(e) || !w.enters(e, w.lines) {
		return false
	}
	for warp, moved := range w.moved {
		if !moved && warp != e.Warp {
			return w.othersEnded(e.Warp)
		}
	}
	return true
}

// othersEnded reports whether all warps but one have begun another line or ended.
func (w *walker) othersEnded(warp int) bool {
	for _, x := range w.block.Warps() {
		if x.Index != warp && !w.moved[x.Index] && len(x.Groups) > 0 {
			return false
		}
	}
	return true
}

// executed notes what the event's instruction changes of what the walk follows.
func (w *walker) executed(e *target.Event) {
	if w.round {
		clear(w.moved)
	} else if w.enters(e, w.lines) {
		w.moved[e.Warp] = true
	}
	if w.heads[e.PC] == e.PC {
		w.came[e.Warp] = w.passed[e.Warp]
	}
	w.passed[e.Warp], w.turn = int32(e.PC), e.Warp
}

// over reports whether the block cannot continue: it ended, faulted, trapped or is in a deadlock.
func (w *walker) over() bool {
	return w.fault != nil || w.hand.Reason == "end" || w.hand.Reason == "deadlock" || w.hand.Reason == "trap"
}

// mark appends a snapshot.
func (w *walker) mark() {
	w.marks = append(w.marks, w.here())
	if len(w.marks) <= maxMarks {
		return
	}
	kept := w.marks[:1]
	for i := 2; i < len(w.marks); i += 2 {
		kept = append(kept, w.marks[i])
	}
	clear(w.marks[len(kept):])
	w.marks = kept
	w.gap *= 2
}

// seek brings the block to a moment, or to its end where that is earlier. from is a mark to start from where
// it is nearer than those kept.
func (w *walker) seek(ctx context.Context, step uint64, from *mark) error {
	m := w.marks[w.base(step)]
	if from != nil && from.step <= step && from.step >= m.step {
		m = *from
	}
	w.restore(m)
	_, err := w.run(ctx, step, nil)
	return err
}

// moving runs a motion. Where it fails or is cancelled, the block is restored to the step before it.
func (w *walker) moving(ctx context.Context, motion func(from mark) error) (Position, error) {
	if err := ctx.Err(); err != nil {
		return w.pos, err
	}
	from, hand, warp, fault := w.here(), w.hand, w.warp, w.fault
	if err := motion(from); err != nil {
		w.restore(from)
		w.hand, w.warp, w.fault = hand, warp, fault
		return w.pos, err
	}
	return w.pos, nil
}

// trapped is the message of the trap that ended the block.
func (w *walker) trapped() string {
	for _, f := range w.block.Findings() {
		if f.Kind == target.Trap {
			return f.Message + " at " + f.Source.String()
		}
	}
	return "trap"
}

// place fills in the position.
func (w *walker) place(stop, note string) {
	p := Position{
		Block: w.block.ID(), Step: w.block.Steps(), Warp: w.warp, PC: -1, Listing: -1, KVTile: -1, Stop: stop,
		Note: note, Lane: -1, Breakpoint: -1,
	}
	switch {
	case w.fault != nil:
		p.Stop, p.Note = "fault", w.fault.Error()
	case w.hand.Reason == "trap":
		p.Stop, p.Note = "fault", w.trapped()
	case w.hand.Reason == "deadlock":
		p.Stop = "deadlock"
	case w.hand.Reason == "end":
		p.Stop = "end"
	}
	p.PC, p.Mask = w.at(w.warp)
	if p.PC >= 0 && p.PC < len(w.rows) {
		p.Listing = w.rows[p.PC]
		p.Source = w.program.Source(p.PC)
		p.KVTile = w.block.KVTile(w.warp, p.PC)
	}
	w.pos, w.lastOver = p, stepped{}
}

// at is where a warp stands: the group whose turn it is, else its first group that can run, else its first.
func (w *walker) at(warp int) (pc int, mask uint32) {
	ws := w.block.Warps()
	if warp < 0 || warp >= len(ws) || len(ws[warp].Groups) == 0 {
		return -1, 0
	}
	gs := slices.Clone(ws[warp].Groups)
	slices.SortStableFunc(gs, func(a, b target.Group) int { return a.PC - b.PC })
	if warp == w.hand.Warp && !w.over() {
		for _, g := range gs {
			if g.PC == w.hand.PC {
				return g.PC, g.Mask
			}
		}
	}
	return gs[0].PC, gs[0].Mask
}

// Position returns the current position.
func (w *walker) Position() Position { return w.pos }

// Clock returns, approximately, the step that a motion under way has reached.
func (w *walker) Clock() uint64 { return w.clock.Load() }

// SetWarp changes whose instructions and lines are stepped. Nothing executes.
func (w *walker) SetWarp(warp int) {
	if warp >= 0 && warp < len(w.passed) && warp != w.pos.Warp {
		w.warp = warp
		was := w.pos
		w.place(w.pos.Stop, w.pos.Note)
		w.pos.Breakpoint, w.pos.Writer = was.Breakpoint, was.Writer
	}
}

// SetBreakpoints replaces the breakpoints.
func (w *walker) SetBreakpoints(bs []Breakpoint) {
	w.breaks, w.counted = slices.Clone(bs), make([]bool, len(bs))
	w.usable, w.places = make([]map[int]bool, len(bs)), make([]breakPlace, len(bs))
	for i := range w.breaks {
		w.places[i] = w.placeOf(&w.breaks[i])
		w.usable[i] = w.holding(&w.breaks[i], &w.places[i])
	}
}

// Warps describes every warp.
func (w *walker) Warps() []target.Warp { return w.block.Warps() }

// Close releases the block.
func (w *walker) Close() { w.marks = nil }

// baseName is the base name of a source file, as breakpoints name it.
func baseName(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
