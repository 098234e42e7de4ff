// Package scene executes one block of a run again around a finding and records what happened: which warp ran
// when, who touched which cell of the variable, where the finding's two sides meet; and, of a race, which
// cells both sides wrote (contested.go).
//
// The one idea: a block executes again as it did, so that whatever a drawing or an explanation needs is
// observed then. It must not know how it is drawn.
package scene

import (
	"context"
	"math/bits"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Request asks what happened around a finding.
type Request struct {
	Block    probes.Dim3
	Variable string
	Index    []int // the element; nil: any
	KVTile   int   // the iteration that Writers are of; -1: all of them
	Sides    [2]*report.Source
	Warps    []int  // preferred for the conflicting pair
	Schedule string // POLICY:SEED; "" as the run's
	Across   bool   // the sides are of two blocks: in the one that executes they do not meet
}

// Scene is one block's execution as it can be drawn: which warp ran when, where it synchronised,
// which accesses of a variable came from the two lines of a finding, and who wrote and read each
// cell of that variable.
type Scene struct {
	Request   Request
	Schedule  string
	Warps     int
	Steps     uint64    // the block's clock at its end
	Stretches []Stretch // in order; what one warp executed without another between
	Syncs     []Sync    // in order
	Accesses  []Access  // in order
	// Pair is the conflict: indices of Accesses, the element's own where there are any, of two warps
	// or of two lanes of one, the first of which writes or is overwritten; -1 where the two do not
	// meet in this execution.
	Pair    [2]int
	Writers *Writers // nil where the variable is no shared array
}

// Stretch is warp instructions From to To (the block's clock, both included) of one warp.
type Stretch struct {
	Warp     int
	From, To uint64
}

// SyncKind is what synchronised.
type SyncKind uint8

// The kinds of Sync.
const (
	SyncArrive SyncKind = iota // a warp arrived at a block barrier
	SyncDone                   // a block barrier completed; Warp is -1
	SyncWarp                   // bar.warp.sync
	SyncWait                   // cp.async.wait
)

// Sync is one synchronisation.
type Sync struct {
	Kind   SyncKind
	Step   uint64
	Warp   int
	KVTile int
	Source *report.Source
}

// Access is one warp instruction that touched the variable from one of the two lines.
type Access struct {
	Step  uint64
	Warp  int
	Lanes uint32
	Write bool
	Async bool // cp.async or a bulk copy: the bytes land later
	// Flight: it goes on after its instruction, or orders others: of a bulk copy, a wgmma or an mbarrier.
	// No block barrier bounds it.
	Flight bool
	Side   [2]bool // of which of the two lines
	KVTile int
	Phase  int  // block barriers completed before it
	Here   bool // it touched the element
}

// Writers is who touched each cell of a shared array, in the iteration that was asked for, row-major. An
// array of one dimension is a column.
type Writers struct {
	Array      probes.SharedArray
	Rows, Cols int
	// Flight: bulk copies, wgmma or mbarrier instructions access it. Block barriers do not order these, so
	// that a contested cell is then one that both of the finding's lines access, one of them writing.
	Flight bool
	Cells  []CellWriters
}

// CellWriters is who touched one cell. Contested: two warps did between two block barriers, one of them
// writing, and one of them in the iteration that was asked for; Line is the last writer's.
type CellWriters struct {
	Warp, Lane, Line int // the last writer; Warp -1: nobody wrote it
	Wrote, Read      uint32
	Contested        bool
}

// At is one cell.
func (w *Writers) At(row, col int) *CellWriters { return &w.Cells[row*w.Cols+col] }

// Play executes one block of a run again, on the emulator, and records what happened around a finding.
// Errors are those of Try.
func Play(ctx context.Context, r *debugkern.Run, req Request) (*Scene, error) {
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{req.Block}, Schedule: req.Schedule})
	if err != nil {
		return nil, err
	}
	s, _, err := Under(ctx, a, r.Plan, req, a.Schedule(), 0)
	if err != nil {
		return nil, a.Explain(err)
	}
	return s, nil
}

// Under is Play of an attempt on the request's block under another schedule, with what the launch left:
// several may be under way at once. budget is how many warp instructions the block may execute, 0: as many
// as in the run. The error is the backend's.
func Under(ctx context.Context, a *debugkern.Attempt, p *probes.Plan, req Request, s target.Schedule,
	budget uint64) (*Scene, *debugkern.Outcome, error) {
	rec := newRecorder(req, p)
	out, err := a.Launch(ctx, func(l *target.Launch) {
		l.Schedule, l.Observe = s, func(probes.Dim3) target.Observer { return rec }
		if budget > 0 {
			l.Budget = budget
		}
	})
	if err != nil {
		return nil, nil, err
	}
	rec.scene.Schedule = s.String()
	rec.contest()
	rec.pair()
	return rec.scene, out, nil
}

// Raced reports whether the two accesses of a scene's pair come, in an execution of the block that may be
// another, in the order that a synchronisation between the finding's lines would exclude: that of the second
// line first. Of two accesses of one line any order but the scene's own is that. It is false where they are
// not both there, and of two lanes of one instruction.
func (s *Scene) Raced(o *Scene) bool {
	if s.Pair[0] < 0 || s.Pair[0] == s.Pair[1] {
		return false
	}
	a, b := &s.Accesses[s.Pair[0]], &s.Accesses[s.Pair[1]]
	first, second := o.same(s, s.Pair[0]), o.same(s, s.Pair[1])
	if first == nil || second == nil {
		return false
	}
	if a.Side[1] && b.Side[0] && !(a.Side[0] && b.Side[1]) {
		return first.Step < second.Step
	}
	return second.Step < first.Step
}

// same is the access that is, in this execution, another one's access of an index: of the same warp, the same
// in turn. nil where there is none.
func (s *Scene) same(o *Scene, at int) *Access {
	turn := 0
	for i := range at {
		if o.Accesses[i].Warp == o.Accesses[at].Warp {
			turn++
		}
	}
	for i := range s.Accesses {
		if s.Accesses[i].Warp != o.Accesses[at].Warp {
			continue
		}
		if turn == 0 {
			return &s.Accesses[i]
		}
		turn--
	}
	return nil
}

// recorder is the observer of a scene.
type recorder struct {
	scene *Scene
	view  target.View
	base  map[*ptx.Func]int // first PC of each function
	lines map[int]*report.Source
	names map[uint64]cellAt
	phase int
	seen  []phaseUse // by cell: who touched it in the phase
	sides []sideUse  // by cell: which of the lines touched it
}

// cellAt is what lies at a shared address: a cell of the variable, or -1.
type cellAt struct {
	cell int
	here bool
}

// phaseUse is who touched a cell between two block barriers, in any iteration and in the one that was asked
// for: a race may lie between an iteration and the next.
type phaseUse struct {
	phase      int
	any, asked use
}

// use is the warps that wrote and read a cell.
type use struct{ wrote, read uint32 }

// contested reports whether two warps touched the cell, one of them writing, and one of them in the iteration
// that was asked for.
func (u *phaseUse) contested() bool {
	writes := u.asked.wrote != 0 && bits.OnesCount32(u.any.wrote|u.any.read) > 1
	reads := u.asked.read != 0 && u.any.wrote != 0 && bits.OnesCount32(u.asked.read|u.any.wrote) > 1
	return writes || reads
}

// sideUse is which of the finding's two lines touched a cell, and by which warps; wrote: one of them did.
type sideUse struct {
	by    [2]uint32
	wrote bool
}

func newRecorder(req Request, p *probes.Plan) *recorder {
	rec := &recorder{
		scene: &Scene{Request: req, Pair: [2]int{-1, -1}, Warps: (p.Block.Count() + 31) / 32},
		base:  map[*ptx.Func]int{}, lines: map[int]*report.Source{}, names: map[uint64]cellAt{},
	}
	i := slices.IndexFunc(p.Shared, func(s probes.SharedArray) bool { return s.Name == req.Variable })
	if i < 0 || len(p.Shared[i].Dims) == 0 {
		return rec
	}
	w := &Writers{Array: p.Shared[i], Rows: 1, Cols: 1}
	dims := w.Array.Dims
	for _, d := range dims[:len(dims)-1] {
		w.Rows *= d
	}
	if w.Cols = dims[len(dims)-1]; len(dims) == 1 {
		w.Rows, w.Cols = dims[0], 1
	}
	w.Cells = make([]CellWriters, w.Rows*w.Cols)
	for i := range w.Cells {
		w.Cells[i].Warp = -1
	}
	rec.seen = make([]phaseUse, len(w.Cells))
	rec.sides = make([]sideUse, len(w.Cells))
	rec.scene.Writers = w
	return rec
}

// View implements target.Viewer.
func (rec *recorder) View(v target.View) {
	rec.view = v
	n := 0
	for _, f := range v.Program() {
		rec.base[f] = n
		n += len(f.Body) + 1 // the return at its end
	}
}

// Event implements target.Observer.
func (rec *recorder) Event(e *target.Event) {
	s := rec.scene
	s.Steps = max(s.Steps, e.Step)
	switch e.Class {
	case target.ClassBarrierDone:
		s.Syncs = append(s.Syncs, Sync{SyncDone, e.Step, -1, e.KVTile, rec.source(e)})
		rec.phase++
		return
	case target.ClassAsyncLand:
		return
	case target.ClassBarrier:
		s.Syncs = append(s.Syncs, Sync{SyncArrive, e.Step, e.Warp, e.KVTile, rec.source(e)})
	case target.ClassWarpSync:
		s.Syncs = append(s.Syncs, Sync{SyncWarp, e.Step, e.Warp, e.KVTile, rec.source(e)})
	case target.ClassAsyncWait:
		s.Syncs = append(s.Syncs, Sync{SyncWait, e.Step, e.Warp, e.KVTile, rec.source(e)})
	}
	if n := len(s.Stretches); n > 0 && s.Stretches[n-1].Warp == e.Warp {
		s.Stretches[n-1].To = e.Step
	} else {
		s.Stretches = append(s.Stretches, Stretch{e.Warp, e.Step, e.Step})
	}
	if (e.Addr != nil || e.Class == target.ClassWgmma) && !e.Probe {
		rec.touch(e)
	}
}

// source is the line that an instruction is blamed on.
func (rec *recorder) source(e *target.Event) *report.Source {
	if at, ok := rec.lines[e.PC]; ok {
		return at
	}
	var at *report.Source
	if e.Func != nil {
		at = report.SourceOf(target.Blame(e.Func, e.PC-rec.base[e.Func]))
	}
	rec.lines[e.PC] = at
	return at
}

// touch records an access to the variable.
func (rec *recorder) touch(e *target.Event) {
	acc := Access{Step: e.Step, Warp: e.Warp, KVTile: e.KVTile, Phase: rec.phase}
	space, addr := e.Space, e.Addr
	switch e.Class {
	case target.ClassLoad:
	case target.ClassStore, target.ClassAtomic:
		acc.Write = true
	case target.ClassAsync:
		acc.Write, acc.Async = true, true
	case target.ClassBulk: // from its issue on: the bytes of a tile in shared memory are one range
		acc.Flight = true
		if acc.Write = space == target.SpaceShared; acc.Write {
			acc.Async = true
		} else {
			space, addr = target.SpaceShared, e.Addr2
		}
	case target.ClassMBarrier:
		acc.Flight, acc.Write = true, !strings.Contains(e.Instr.Opcode(), "wait")
	case target.ClassWgmma:
		acc.Flight = true
	default:
		return
	}
	at := rec.source(e)
	for i, side := range rec.scene.Request.Sides {
		acc.Side[i] = samePlace(at, side)
	}
	line := 0
	if at != nil {
		line = at.Line
	}
	if e.Class == target.ClassWgmma {
		lane := bits.TrailingZeros32(e.Mask)
		for _, r := range e.Ranges {
			if rec.bytes(e, &acc, target.SpaceShared, r.Lo, int(r.Hi-r.Lo), lane, line) {
				acc.Lanes = e.Mask
			}
		}
	} else if addr != nil {
		size := e.Bytes
		if e.Class == target.ClassMBarrier {
			size = mbarrierBytes
		}
		for m := e.Mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			if rec.bytes(e, &acc, space, addr[lane], size, lane, line) {
				acc.Lanes |= 1 << lane
			}
		}
	}
	if acc.Lanes != 0 && (acc.Side[0] || acc.Side[1]) {
		rec.add(acc)
	}
}

const mbarrierBytes = 8

// bytes records that a lane touches bytes from an address on, and reports whether they are the variable's.
func (rec *recorder) bytes(e *target.Event, acc *Access, space target.Space, addr uint64, n, lane,
	line int) bool {
	counted := rec.scene.Request.KVTile < 0 || e.KVTile == rec.scene.Request.KVTile || e.KVTile < 0
	step, any := rec.element(), false
	for off := 0; off < n; off += step {
		c := rec.cell(space, addr+uint64(off))
		if c.cell == noCell {
			if acc.Flight {
				continue // a copy may fill several variables
			}
			break
		}
		any = true
		acc.Here = acc.Here || c.here
		if c.cell >= 0 {
			rec.inPhase(e, acc, c.cell, counted)
		}
		if counted && c.cell >= 0 {
			rec.use(e, acc, c.cell, lane, line)
		}
	}
	return any
}

// add appends an access; the row segments of one matrix instruction are one access.
func (rec *recorder) add(a Access) {
	list := &rec.scene.Accesses
	if n := len(*list); n > 0 && (*list)[n-1].Step == a.Step && (*list)[n-1].Warp == a.Warp {
		last := &(*list)[n-1]
		last.Lanes |= a.Lanes
		last.Here = last.Here || a.Here
		return
	}
	*list = append(*list, a)
}

// samePlace compares lines whatever directory the compiler was given.
func samePlace(a, b *report.Source) bool {
	return a != nil && b != nil && a.Line == b.Line && path.Base(a.File) == path.Base(b.File)
}

// element is how many bytes apart an access is looked at.
func (rec *recorder) element() int {
	if w := rec.scene.Writers; w != nil {
		return max(1, w.Array.DType.Size())
	}
	return 4
}

const noCell = -2 // another variable; -1: the variable, but no cell of a shared array with a shape

// cell is what lies at an address.
func (rec *recorder) cell(space target.Space, addr uint64) cellAt {
	key := addr<<3 | uint64(space)
	if c, ok := rec.names[key]; ok {
		return c
	}
	c := cellAt{cell: noCell}
	if name, index := rec.view.Name(space, addr); name == rec.scene.Request.Variable && name != "" {
		c.cell = -1
		c.here = len(rec.scene.Request.Index) == 0 || slices.Equal(index, rec.scene.Request.Index)
		if w := rec.scene.Writers; w != nil && len(index) == len(w.Array.Dims) {
			c.cell = 0
			for i, d := range w.Array.Dims {
				c.cell = c.cell*d + index[i]
			}
			if c.cell < 0 || c.cell >= len(w.Cells) {
				c.cell = -1
			}
		}
	}
	rec.names[key] = c
	return c
}

// inPhase notes that a warp touched a cell between two block barriers; asked: in the iteration that was asked
// for.
func (rec *recorder) inPhase(e *target.Event, acc *Access, cell int, asked bool) {
	u := &rec.seen[cell]
	if u.phase != rec.phase+1 {
		*u = phaseUse{phase: rec.phase + 1}
	}
	me := uint32(1) << (e.Warp & 31)
	for _, x := range []struct {
		use *use
		so  bool
	}{{&u.any, true}, {&u.asked, asked}} {
		if x.so && acc.Write {
			x.use.wrote |= me
		}
		if x.so && (!acc.Write || e.Class == target.ClassAtomic) {
			x.use.read |= me
		}
	}
	if c := &rec.scene.Writers.Cells[cell]; !c.Contested {
		c.Contested = u.contested()
	}
}

// use notes that a warp touched a cell in the iteration that was asked for.
func (rec *recorder) use(e *target.Event, acc *Access, cell, lane, line int) {
	w := rec.scene.Writers
	c, both := &w.Cells[cell], &rec.sides[cell]
	w.Flight = w.Flight || acc.Flight
	me := uint32(1) << (e.Warp & 31)
	if acc.Write {
		c.Warp, c.Lane, c.Line = e.Warp, lane, line
		c.Wrote |= me
	}
	if !acc.Write || e.Class == target.ClassAtomic {
		c.Read |= me
	}
	for i, is := range acc.Side {
		if is {
			both.by[i] |= me
			both.wrote = both.wrote || acc.Write
		}
	}
}

// contest marks the contested cells of a variable whose accesses block barriers do not order.
func (rec *recorder) contest() {
	w := rec.scene.Writers
	if w == nil || !w.Flight {
		return
	}
	for i := range w.Cells {
		s := &rec.sides[i]
		w.Cells[i].Contested = s.wrote && s.by[0] != 0 && s.by[1] != 0 &&
			bits.OnesCount32(s.by[0]|s.by[1]) > 1
	}
}

// pair finds the two accesses that conflict: of the two lines, in one phase, one of them writing, by
// two warps or else two lanes of one; those of the element, of the iteration and of the warps that
// were named before others.
func (rec *recorder) pair() {
	s := rec.scene
	if s.Request.Across {
		return
	}
	best := -1
	for i := range s.Accesses {
		a := &s.Accesses[i]
		for j := i; j < len(s.Accesses); j++ {
			b := &s.Accesses[j]
			if b.Phase != a.Phase && !a.Flight && !b.Flight {
				if s.Writers == nil || !s.Writers.Flight {
					break
				}
				continue
			}
			if score := s.conflict(a, b); score > best {
				best, s.Pair = score, [2]int{i, j}
			}
			if best == surest {
				return
			}
		}
	}
}

// surest is the strongest result of conflict for two accesses.
const surest = 31

// conflict rates two accesses as the conflict of the request, -1 where they are none.
func (s *Scene) conflict(a, b *Access) int {
	sides := a.Side[0] && b.Side[1] || a.Side[1] && b.Side[0]
	if !sides || !a.Write && !b.Write || a == b && bits.OnesCount32(a.Lanes) < 2 {
		return -1
	}
	score := 0
	flight := a.Flight || b.Flight
	if flight && !(a.Side[0] && b.Side[1]) {
		score-- // the second line's before the first's: that is the order that synchronisation gives
	}
	named := func(x *Access) bool { return slices.Contains(s.Request.Warps, x.Warp) }
	for _, better := range []struct {
		so     bool
		weight int
	}{
		{a.Here && b.Here, 16},
		{s.Request.KVTile < 0 || a.KVTile == s.Request.KVTile || flight && a.KVTile < 0, 8},
		{named(a) && named(b), 4},
		{(a.Warp != b.Warp) == (len(s.Request.Warps) != 1), 2}, {a != b, 1},
	} {
		if better.so {
			score += better.weight
		}
	}
	return score
}

// linear is the row-major place of an index in an array, ok is false where it has no such element.
func linear(index, dims []int) (at int, ok bool) {
	if len(index) != len(dims) {
		return 0, false
	}
	for i, x := range index {
		if x < 0 || x >= dims[i] {
			return 0, false
		}
		at = at*dims[i] + x
	}
	return at, true
}
