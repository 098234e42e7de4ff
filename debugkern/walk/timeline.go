package walk

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Never is the moment of what does not happen in a block.
const Never = math.MaxUint64

// Timeline is one block's whole execution as far as it is asynchronous. Moments are those of the block's
// clock; a thing holds from its moment on.
type Timeline struct {
	Block     probes.Dim3
	Steps     uint64 // the clock at the end
	End       string // Position.Stop there: "end", "deadlock", "fault"
	Warps     []WarpTime
	Flights   []Flight // in the order of their issue
	MBarriers []MBarrierTime
	Buffers   []Buffer // by address
	Last      target.AsyncState
	barriers  [16]blockBarrier
	ahead     [][]Arrive // by warp, of a block that cannot go on: what it might still do
	barAhead  [][]Arrive // the same of the block's barriers
}

// Span is moments From up to To, To not included.
type Span struct{ From, To uint64 }

// WarpTime is when a warp executed, and what it waited at.
type WarpTime struct {
	Runs  []Span
	Waits []Wait
	// Ended: it has exited at the end of the timeline
	Ended bool
}

// Wait is a stretch in which lanes of a warp wait at an mbarrier or a block barrier.
type Wait struct {
	Span     // To is Never for one that does not end
	At       string
	MBarrier int    // address, -1: a block barrier
	Barrier  int    // its id, -1: an mbarrier
	Number   uint64 // the phase that is waited for
	PC       int
	Source   *target.Source
}

// Flight is one asynchronous operation from its issue to its landing.
type Flight struct {
	target.Operation
	Issued, Landed uint64 // Landed is Never for one that does not land
	Name           string // as StepAsync words it
	Buffer         int    // of Timeline.Buffers, that it writes; -1: none
}

// MBarrierTime is what happened at an mbarrier.
type MBarrierTime struct {
	Addr     uint64
	Name     string
	Phases   []uint64 // when each was complete
	Arrivals []Arrive
	Passes   []Pass
}

// Pass is lanes of a warp that found a phase of an mbarrier complete, whether or not they waited before.
type Pass struct {
	Step   uint64
	Warp   int
	PC     int
	Number uint64 // of the phase
	Lanes  uint32
	Source *target.Source
}

// Arrive is an arrival at an mbarrier, or a promise of bytes.
type Arrive struct {
	Step    uint64
	Warp    int
	PC      int
	Number  uint64 // of the phase
	Count   int    // arrivals, or bytes
	Promise bool   // bytes are expected
	Source  *target.Source
}

// MBarrier is the index in MBarriers of an address, -1 where it has none.
func (t *Timeline) MBarrier(addr uint64) int {
	return slices.IndexFunc(t.MBarriers, func(m MBarrierTime) bool { return m.Addr == addr })
}

// blockBarrier is a barrier of the block that some warps have come to.
type blockBarrier struct {
	threads, arrived int
	warps            uint32
	by               uint32 // warps that have come to it at any time
}

// recording is a timeline that is being made.
type recording struct {
	w       *walker
	t       *Timeline
	flying  map[uint64]int // flights by the operations' numbers
	reads   []sharedRead
	passed  map[int]uint64 // by warp: the mbarrier whose phase it saw complete last
	waiting []int          // by warp: the wait that is open, -1
	asks    []map[uint64]int
}

// sharedRead is a read of shared memory, and when.
type sharedRead struct {
	Span
	ranges []target.Range
}

// Record implements Asynchronous.
func (w *walker) Record(ctx context.Context) (*Timeline, error) {
	defer w.listen()()
	r := &recording{
		w: w, t: &Timeline{Block: w.block.ID(), Warps: make([]WarpTime, len(w.passed))},
		flying: map[uint64]int{}, passed: map[int]uint64{}, waiting: make([]int, len(w.passed)),
	}
	for i := range r.waiting {
		r.waiting[i] = -1
		r.asks = append(r.asks, map[uint64]int{})
	}
	_, err := w.moving(ctx, func(from mark) error {
		w.restore(w.marks[0])
		w.happened = nil
		if _, err := w.run(ctx, math.MaxUint64, r.event); err != nil {
			return err
		}
		r.end()
		hand, fault := w.hand, w.fault
		if err := w.seek(ctx, from.step, &from); err != nil {
			return err
		}
		if w.block.Steps() == r.t.Steps { // the end itself: why execution ended is no part of a mark
			w.hand, w.fault = hand, fault
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.t, nil
}

// event takes up an instruction, and what happened before it.
func (r *recording) event(e *target.Event) bool {
	r.takeUp()
	switch {
	case e.Class == target.ClassBarrierDone:
		r.completed(e)
		return false
	case !executes(e):
		return false
	}
	warp := &r.t.Warps[e.Warp]
	if n := len(warp.Runs); n > 0 && warp.Runs[n-1].To == e.Step {
		warp.Runs[n-1].To++
	} else if n == 0 || warp.Runs[n-1].To < e.Step {
		warp.Runs = append(warp.Runs, Span{e.Step, e.Step + 1})
	}
	if i := r.waiting[e.Warp]; i >= 0 { // it goes on: what it came to was no wait
		if warp.Waits[i].To == Never {
			warp.Waits = slices.Delete(warp.Waits, i, i+1)
		}
		r.waiting[e.Warp] = -1
	}
	switch {
	case e.Class == target.ClassBarrier && e.Mask != 0:
		r.arrived(e)
	case e.Class == target.ClassLoad && e.Space == target.SpaceShared && e.Addr != nil:
		r.read(e)
	}
	return false
}

// read notes a read of shared memory.
func (r *recording) read(e *target.Event) {
	if len(r.t.Buffers) == 0 {
		return
	}
	if n := len(r.reads); n == 0 || r.reads[n-1].From != e.Step { // else rows of one matrix instruction
		r.reads = append(r.reads, sharedRead{Span: Span{e.Step, e.Step + 1}})
	}
	x := &r.reads[len(r.reads)-1]
	for m := e.Mask; m != 0; m &= m - 1 {
		at := e.Addr[bits.TrailingZeros32(m)&31]
		if n := len(x.ranges); n > 0 && x.ranges[n-1].Lo <= at && at <= x.ranges[n-1].Hi {
			x.ranges[n-1].Hi = max(x.ranges[n-1].Hi, at+uint64(e.Bytes))
			continue
		}
		x.ranges = append(x.ranges, target.Range{Lo: at, Hi: at + uint64(e.Bytes)})
	}
}

// arrived notes that a warp has come to a block barrier, where it waits unless its next instruction shows
// that it does not.
func (r *recording) arrived(e *target.Event) {
	b := &r.t.barriers[e.Barrier&15]
	b.threads, b.arrived = e.Threads, b.arrived+bits.OnesCount32(e.Mask)
	b.warps |= 1 << e.Warp
	b.by |= 1 << e.Warp
	waits := &r.t.Warps[e.Warp].Waits
	r.waiting[e.Warp] = len(*waits)
	*waits = append(*waits, Wait{
		Span: Span{e.Step + 1, Never}, At: fmt.Sprintf("barrier %d", e.Barrier), MBarrier: -1,
		Barrier: e.Barrier, PC: e.PC, Source: r.w.lineOf(e.PC),
	})
}

// completed ends the waits at a block barrier.
func (r *recording) completed(e *target.Event) {
	r.t.barriers[e.Barrier&15].warps, r.t.barriers[e.Barrier&15].arrived = 0, 0
	for warp := range r.t.Warps {
		if i := r.waiting[warp]; i >= 0 && r.t.Warps[warp].Waits[i].Barrier == e.Barrier {
			r.t.Warps[warp].Waits[i].To = e.Step
			r.waiting[warp] = -1
		}
	}
}

// takeUp adds what has happened since the last event.
func (r *recording) takeUp() {
	for i := range r.w.happened {
		e := &r.w.happened[i]
		switch e.Kind {
		case target.AsyncIssued:
			r.issued(e)
		case target.AsyncLanded:
			if i, ok := r.flying[e.Operation.ID]; ok {
				r.t.Flights[i].Landed = e.Step
				delete(r.flying, e.Operation.ID)
			}
		case target.AsyncPhase:
			m := r.mbarrier(e.MBarrier)
			m.Phases = append(m.Phases, e.Step)
		case target.AsyncArrives, target.AsyncExpects:
			m := r.mbarrier(e.MBarrier)
			m.Arrivals = append(m.Arrivals, Arrive{
				Step: e.Step, Warp: e.Warp, PC: e.PC, Number: e.Number, Count: e.Count,
				Promise: e.Kind == target.AsyncExpects, Source: r.w.lineOf(e.PC),
			})
		case target.AsyncWaits:
			r.asked(e)
		case target.AsyncPasses:
			r.passed[e.Warp] = e.MBarrier
			m := r.mbarrier(e.MBarrier)
			m.Passes = append(m.Passes, Pass{
				Step: e.Step, Warp: e.Warp, PC: e.PC, Number: e.Number, Lanes: e.Lanes,
				Source: r.w.lineOf(e.PC),
			})
			if i, ok := r.asks[e.Warp][e.MBarrier]; ok {
				r.t.Warps[e.Warp].Waits[i].To = e.Step
				delete(r.asks[e.Warp], e.MBarrier)
			}
		}
	}
	r.w.happened = r.w.happened[:0]
}

// asked begins a wait at an mbarrier, unless the warp waits there already.
func (r *recording) asked(e *target.AsyncEvent) {
	if _, ok := r.asks[e.Warp][e.MBarrier]; ok {
		return
	}
	waits := &r.t.Warps[e.Warp].Waits
	r.asks[e.Warp][e.MBarrier] = len(*waits)
	*waits = append(*waits, Wait{
		Span: Span{e.Step, Never}, At: r.mbarrier(e.MBarrier).Name, MBarrier: int(e.MBarrier), Barrier: -1,
		Number: e.Number, PC: e.PC, Source: r.w.lineOf(e.PC),
	})
}

// mbarrier is what is known of an mbarrier.
func (r *recording) mbarrier(addr uint64) *MBarrierTime {
	i := r.t.MBarrier(addr)
	if i < 0 {
		i = len(r.t.MBarriers)
		r.t.MBarriers = append(r.t.MBarriers, MBarrierTime{Addr: addr, Name: r.w.mbarrierName(addr)})
	}
	return &r.t.MBarriers[i]
}

// issued adds a flight.
func (r *recording) issued(e *target.AsyncEvent) {
	f := Flight{
		Operation: *e.Operation, Issued: e.Step, Landed: Never, Name: r.w.wordOf(e.Operation), Buffer: -1,
	}
	f.Source = r.w.lineOf(f.PC)
	if len(f.Writes) > 0 {
		f.Buffer = r.buffer(r.w.bufferAt(f.Writes[0]))
		s := &r.t.Buffers[f.Buffer]
		if f.MBarrier >= 0 {
			s.Full = r.mbarrier(uint64(f.MBarrier)).Name
		}
		if m, ok := r.passed[f.Warp]; ok {
			s.waited(r.mbarrier(m).Name)
		}
		if len(f.Layouts) > 0 {
			s.Layout = &f.Layouts[0]
		}
	}
	r.flying[f.ID] = len(r.t.Flights)
	r.t.Flights = append(r.t.Flights, f)
}

// end completes the timeline where the block's execution has ended.
func (r *recording) end() {
	r.takeUp()
	t := r.t
	t.Steps, t.End = r.w.block.Steps(), r.w.hand.Reason
	if r.w.fault != nil {
		t.End = "fault"
	}
	t.Last, _ = r.w.Async()
	for _, m := range t.Last.MBarriers { // also one that nobody has come to
		r.mbarrier(m.Addr)
	}
	for i, x := range r.w.block.Warps() {
		t.Warps[i].Ended = len(x.Groups) == 0
		r.otherWait(&t.Warps[i], x)
	}
	slices.SortFunc(t.MBarriers, func(a, b MBarrierTime) int { return cmp.Compare(a.Addr, b.Addr) })
	r.own()
	if t.End == "deadlock" {
		r.findAhead()
	}
}

// otherWait adds what a warp waits at when execution has ended, where that is no barrier: the warps of its
// warpgroup, or lanes of its own.
func (r *recording) otherWait(w *WarpTime, x target.Warp) {
	n := len(w.Runs)
	if x.Wait == "" || len(x.Groups) == 0 || n == 0 ||
		slices.ContainsFunc(w.Waits, func(y Wait) bool { return y.To == Never }) {
		return
	}
	w.Waits = append(w.Waits, Wait{
		Span: Span{w.Runs[n-1].To, Never}, At: x.Wait, MBarrier: -1, Barrier: -1, PC: x.Groups[0].PC,
		Source: r.w.lineOf(x.Groups[0].PC),
	})
}
