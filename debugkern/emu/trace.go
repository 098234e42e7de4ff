package emu

import (
	"context"
	"fmt"
	"math/bits"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// write is the last write to one byte.
type write struct {
	step    uint64
	pc      int32
	warp    int16 // plus one; 0: never written
	lane    uint8
	element uint8  // of a fragment store
	mma     uint32 // plus one: the warp's mma that made the fragment
}

// tracer follows one block and remembers who wrote each byte of shared memory, and what a probe copies where.
type tracer struct {
	b       *block
	cell    target.TracedCell
	lo, hi  uint64 // the cell's addresses in global memory
	shared  []write
	lastMMA []uint32           // by warp: how many it has executed
	made    []map[int32]uint32 // by warp: first destination slot of an mma -> its number
	loads   map[[2]int]uint64  // by warp and lane: the shared address that its probe last read
	makers  map[int]bool       // instructions that make registers which are captured where they are read
	last    map[[2]int]uint64  // by warp and such an instruction: the step of its last execution
	found   write
	space   target.Space
	addr    uint64
}

func newTracer(b *block) *tracer {
	t := &tracer{
		b: b, shared: make([]write, len(b.shared)), loads: map[[2]int]uint64{},
		lastMMA: make([]uint32, len(b.warps)),
	}
	for range b.warps {
		t.made = append(t.made, map[int32]uint32{})
	}
	return t
}

// Interests implements target.Interested.
func (t *tracer) Interests() target.ClassSet {
	return target.AllClasses | target.Classes(target.ClassBulkLand)
}

// WhoWrote executes the block again, up to its end, and says who wrote the cell before it was captured last.
func (k *Kernel) WhoWrote(
	ctx context.Context, l *target.Launch, id probes.Dim3, cell target.TracedCell,
) (*target.WriteSite, error) {
	one := *l
	one.Observe = nil
	s, err := k.open(&one, id)
	if err != nil {
		return nil, err
	}
	b := s.b
	t := newTracer(b)
	t.cell = cell
	if err := t.locate(); err != nil {
		return nil, err
	}
	if b.watch != nil {
		b.watch.onTake = t.taken
	}
	if b.gather != nil {
		t.followRegisters(b.gather)
	}
	// before the watch, which captures what was written up to now
	b.obs = append([]observer{{Observer: t, wants: target.AllClasses}}, b.obs...)
	if _, err := s.Run(ctx, nil); err != nil {
		if f, ok := err.(*target.Fault); !ok || f.Err != nil { // else the kernel's block ended
			return nil, err
		}
	}
	return t.site(), nil
}

// locate finds the cell in global memory.
func (t *tracer) locate() error {
	a, n := t.b.mem.capture, uint64(0)
	if a != nil {
		n = t.b.l.Probe.Layout.CaptureBytes
	}
	if t.cell.Arg != "" {
		a = nil
		for _, c := range t.b.mem.allocs {
			if c.arg != nil && c.name == t.cell.Arg {
				a, n = c, uint64(len(c.data))
			}
		}
	}
	if a == nil || t.cell.Size < 1 || t.cell.Offset+uint64(t.cell.Size) > n {
		return fmt.Errorf("trace %s+%d: no such cell in this launch", t.cell.Arg, t.cell.Offset)
	}
	t.lo = a.base + t.cell.Offset
	t.hi = t.lo + uint64(t.cell.Size)
	return nil
}

// Event implements target.Observer.
func (t *tracer) Event(e *target.Event) {
	if t.makers[e.PC] {
		t.last[[2]int{e.Warp, e.PC}] = e.Step
	}
	switch e.Class {
	case target.ClassMMA:
		t.lastMMA[e.Warp]++
		t.made[e.Warp][t.b.p.code[e.PC].mma.frag.regs[0]] = t.lastMMA[e.Warp]
	case target.ClassLoad:
		if !e.Probe {
			return
		}
		for m := e.Mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			if e.Space == target.SpaceShared {
				t.loads[[2]int{e.Warp, lane}] = e.Addr[lane]
			}
		}
	case target.ClassStore, target.ClassAtomic, target.ClassAsyncLand, target.ClassBulkLand:
		for m := e.Mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			switch e.Space {
			case target.SpaceShared:
				t.sharedWrite(e, lane)
			case target.SpaceGlobal:
				t.globalWrite(e, lane)
			}
		}
	}
}

// record describes the write of one lane.
func (t *tracer) record(e *target.Event, lane int) write {
	w := write{step: e.Step, pc: int32(e.PC), warp: int16(e.Warp + 1), lane: uint8(lane)}
	if e.Class == target.ClassAsyncLand || e.Class == target.ClassBulkLand {
		w.step-- // the clock counts the instruction during which the bytes land
	}
	if in := &t.b.p.code[e.PC]; in.mma != nil && e.Class == target.ClassStore {
		w.element = uint8(e.Value)
		w.mma = t.lastMMA[e.Warp]
		if n, ok := t.made[e.Warp][in.mma.frag.regs[0]]; ok {
			w.mma = n
		}
	}
	return w
}

func (t *tracer) sharedWrite(e *target.Event, lane int) {
	w := t.record(e, lane)
	size := e.Bytes
	if in := &t.b.p.code[e.PC]; in.mma != nil && w.mma > 0 {
		size = in.mma.size
	}
	for i := range e.Bytes {
		if at := e.Addr[lane] + uint64(i); at < uint64(len(t.shared)) {
			v := w
			v.element += uint8(i / size)
			t.shared[at] = v
		}
	}
}

// globalWrite finds the store that fills the cell: a probe's copy of shared memory is
// traced to who wrote that.
func (t *tracer) globalWrite(e *target.Event, lane int) {
	lo := e.Addr[lane]
	key := [2]int{e.Warp, lane}
	from, copied := t.loads[key]
	if e.Probe {
		delete(t.loads, key)
	}
	if lo >= t.hi || lo+uint64(e.Bytes) <= t.lo {
		return
	}
	if e.Probe && copied {
		at := from + (t.lo - lo)
		if t.lo < lo {
			at = from
		}
		t.fromShared(at)
		return
	}
	t.found, t.space, t.addr = t.record(e, lane), target.SpaceGlobal, lo
	if w := &t.found; w.mma > 0 && t.lo > lo {
		w.element += uint8((t.lo - lo) / uint64(t.b.p.code[e.PC].mma.size))
	}
}

// fromShared makes the last writer of a shared byte the answer.
func (t *tracer) fromShared(at uint64) {
	if at < uint64(len(t.shared)) {
		t.found, t.space, t.addr = t.shared[at], target.SpaceShared, at
	}
}

// taken is called for captures that the emulator makes itself.
func (t *tracer) taken(p *watchPlace, kv int) {
	if t.cell.Arg != "" {
		return
	}
	off, ok := t.b.l.Probe.Layout.Slot(p.w.Stage, t.b.id, kv)
	size := uint64(p.w.Array.DType.Size())
	if !ok || t.cell.Offset < off || t.cell.Offset >= off+uint64(p.w.Rows*p.w.Cols)*size {
		return
	}
	i := int((t.cell.Offset - off) / size)
	t.fromShared(uint64(p.cell(i/p.w.Cols, i%p.w.Cols)) + (t.cell.Offset-off)%size)
}

// site describes the write found, nil where there was none.
func (t *tracer) site() *target.WriteSite {
	if t.found.warp == 0 {
		return nil
	}
	s, in := t.b.describe(t.found, t.space, t.addr), &t.b.p.code[t.found.pc]
	s.Computed, s.Probe = target.ComputedAt(in.fn, int(in.index)), in.src.Loc.Within(target.IsProbe)
	return s
}

// describe says what is known of a write.
func (b *block) describe(w write, space target.Space, addr uint64) *target.WriteSite {
	in := &b.p.code[w.pc]
	s := &target.WriteSite{
		Step: w.step, Warp: int(w.warp - 1), Lane: int(w.lane), PC: int(w.pc),
		Instr: in.fn.InstrString(in.src), PTXLine: in.src.Pos.Line, Source: in.source(), Space: space,
		Addr: addr,
	}
	if in.mma != nil && w.mma > 0 {
		s.Fragment = fmt.Sprintf("acc[%d] of mma #%d", w.element, w.mma-1)
	}
	return s
}

var (
	_ target.Kernel     = (*Kernel)(nil)
	_ target.Stepper    = (*Kernel)(nil)
	_ target.CellTracer = (*Kernel)(nil)
	_ target.Backend    = (*Backend)(nil)
	_ target.Block      = (*stepper)(nil)
)
