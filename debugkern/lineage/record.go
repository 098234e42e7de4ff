package lineage

import (
	"context"
	"fmt"
	"math/bits"
	"sort"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Trace is the record of one block's execution. It is not changed by walks, and safe for concurrent use.
type Trace struct {
	id     probes.Dim3
	launch *target.Launch
	warps  int
	funcs  []*ptx.Func
	base   map[*ptx.Func]int32 // PC of each function's first instruction
	flows  []flow              // by PC
	owner  []int32             // by PC: index in funcs

	steps    chunked[step]
	accesses chunked[access]
	rows     chunked[[32]uint32]
	passes   [][]target.Passed
	allocs   []alloc // by address
	capture  uint64  // address of the capture buffer
	products []target.Product
	landings map[uint32]int   // steps of bulk operations that read: those in which they wrote
	combined map[uint32]uint8 // steps of bulk reductions: the bytes of an element
	foreign  bool             // blocks of the launch share memory
	mutable  bool             // it reads global memory that the kernel may write
	// others: words of global memory that had other contents than before the launch when they were read
	others map[uint64]bool
	taken  map[tile]taken
	shared []Variable
	idx    index
	cut    bool // Options ended the recording before the block ended
}

// tile is a captured tile.
type tile struct {
	stage probes.Stage
	kv    int
}

// taken is a tile that the executor captured out of shared memory: before step at, cells where address says.
type taken struct {
	at      int
	address func(row, col int) uint64
}

// Variable is a variable in shared memory: bytes [Lo, Hi). Dims and DType are 0 where nobody declared them.
type Variable struct {
	Name   string
	Lo, Hi uint64
	Dims   []int
	DType  probes.DType
}

// step is one executed warp instruction.
type step struct {
	clock uint32
	pc    int32
	mask  uint32
	aux   uint32 // first of its accesses, or what stepKind says
	warp  uint16
	n     uint8 // accesses
	kind  stepKind
}

// stepKind says what a step is, and what aux is of it.
type stepKind uint8

const (
	stepPlain stepKind = iota // an instruction; aux: its accesses, a row, or the lanes of a predicate
	stepLand                  // bytes of a cp.async landed; aux: the step that issued it
	stepPass                  // a call copies parameters or results; aux: index in passes
)

// access is where the lanes of a step read or write memory: one event of the executor.
type access struct {
	base    uint64
	mask    uint32
	stride  int32 // lane l accesses base + l·stride, or (table) base + rows[stride][l]
	bytes   uint16
	element uint16 // of a fragment: the first element that it moves
	space   target.Space
	table   bool
}

// Bytes that a step and an access take.
const (
	stepBytes   = 20
	accessBytes = 24
	rowBytes    = 128
)

// alloc is an allocation of global memory.
type alloc struct {
	lo, hi uint64
	arg    int // index in Launch.Args, -1
	name   string
	dtype  probes.DType
	size   int // bytes of an element
}

// addr is where lane l accesses.
func (t *Trace) addr(a *access, l int) uint64 {
	if a.table {
		return a.base + uint64(int64(int32(t.rows.at(int(a.stride))[l])))
	}
	return a.base + uint64(int64(a.stride)*int64(l))
}

// Record executes block id of a launch and notes what its warp instructions did. The kernel must be a
// target.Stepper. A block that does not end (a deadlock, a trap) is recorded as far as it came. Errors are
// those of target.Stepper.Open and Block.Run, and *budget.Exhausted where the trace takes more memory than
// the launch's budget has.
func Record(
	ctx context.Context, k target.Kernel, l *target.Launch, id probes.Dim3, opt Options,
) (*Trace, error) {
	s, ok := k.(target.Stepper)
	if !ok {
		return nil, target.ErrNoTracer
	}
	one := *l
	one.Observe, one.Discard = nil, nil
	b, err := s.Open(&one, id)
	if err != nil {
		return nil, fmt.Errorf("record block %s: %w", id, err)
	}
	r := &recorder{t: &Trace{id: id, launch: l, base: map[*ptx.Func]int32{}}, opt: opt}
	b.Observe(r)
	stop := context.Context(ctx)
	stop, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	if opt.Until > 0 {
		if w, ok := b.(target.Walkable); ok {
			_, err = w.RunTo(stop, opt.Until, nil)
			r.t.cut = true
		} else {
			return nil, target.ErrNoTracer
		}
	} else {
		_, err = b.Run(stop, nil)
	}
	if r.err != nil {
		err = r.err
	}
	if f, fault := err.(*target.Fault); fault && f.Err == nil { // the kernel's block ended
		err = nil
	}
	if err != nil {
		r.release()
		return nil, err
	}
	r.variables(b)
	sort.Slice(r.t.allocs, func(i, j int) bool { return r.t.allocs[i].lo < r.t.allocs[j].lo })
	releases := r.releases // r leads to the trace, which would then never be given back
	budget.Until(l.Memory, r.t, func() {
		for _, f := range releases {
			f()
		}
	})
	return r.t, nil
}

// Len is the number of steps.
func (t *Trace) Len() int { return t.steps.n }

// Step returns step i. The step in which a cp.async's bytes land, and those in which a call passes
// parameters, have the instruction that caused them.
func (t *Trace) Step(i int) Step {
	s := t.steps.at(i)
	f := t.funcs[t.owner[s.pc]]
	return Step{
		Index: i, Clock: uint64(s.clock), Warp: int(s.warp), PC: int(s.pc), Func: f, Instr: t.flows[s.pc].in,
		Mask: s.mask,
	}
}

// At returns the index of the first step whose clock is not before clock; Len where there is none.
func (t *Trace) At(clock uint64) int {
	return sort.Search(t.Len(), func(i int) bool { return uint64(t.steps.at(i).clock) >= clock })
}

// Launch is what was executed.
func (t *Trace) Launch() *target.Launch { return t.launch }

// recorder is the observer that makes a trace.
type recorder struct {
	t        *Trace
	opt      Options
	view     target.View
	cancel   context.CancelFunc
	err      error
	releases []func()
	taken    int64
	last     *step
	lastAt   int
	flying   [][]flight       // by warp: copies that have not landed
	bulk     map[uint64][]int // bulk operations that have read and not written: their steps
	near     []nearby         // by PC
	calls    bool
	stacks   [][32][]callee // by warp and lane
	passed   map[passing]uint32
}

// flight is a cp.async of which lanes have not landed.
type flight struct {
	step  int
	lanes uint32
}

// nearby is addresses that an instruction may access, as far as they were looked at: one
// allocation, or shared memory.
type nearby struct{ lo, hi uint64 }

// callee is a call that has not returned.
type callee struct {
	pc int32
	f  *ptx.Func // nil until a step of it is seen
}

// release gives back the memory of the trace.
func (r *recorder) release() {
	for _, f := range r.releases {
		f()
	}
	r.releases = nil
}

// more reserves memory for n bytes.
func (r *recorder) more(n int64) bool {
	if r.err != nil {
		return false
	}
	if r.opt.Memory > 0 && r.taken+n > r.opt.Memory {
		r.err = &budget.Exhausted{}
		r.cancel()
		return false
	}
	release, err := r.t.launch.Memory.Reserve(fmt.Sprintf("the record of block %s", r.t.id), n)
	if err != nil {
		r.err = err
		r.cancel()
		return false
	}
	r.taken += n
	r.releases = append(r.releases, release)
	return true
}

func (r *recorder) moreSteps() bool    { return r.more(chunkSize * stepBytes) }
func (r *recorder) moreAccesses() bool { return r.more(chunkSize * accessBytes) }
func (r *recorder) moreRows() bool     { return r.more(chunkSize * rowBytes) }

// View implements target.Viewer.
func (r *recorder) View(v target.View) {
	r.view = v
	t := r.t
	t.warps = (v.Launch().Block.Count() + 31) / 32
	t.funcs = v.Program()
	for i, f := range t.funcs {
		t.base[f] = int32(len(t.flows))
		for _, in := range f.Body {
			t.flows = append(t.flows, flowOf(f, in))
			t.owner = append(t.owner, int32(i))
			r.calls = r.calls || in.Kind() == isa.Call
		}
		t.flows = append(t.flows, flow{in: &ptx.Instr{Op: "ret", Index: len(f.Body)}})
		t.owner = append(t.owner, int32(i))
	}
	t.capture, t.foreign, t.taken = v.Capture(), v.InOrder(), map[tile]taken{}
	t.others, t.combined, t.landings = map[uint64]bool{}, map[uint32]uint8{}, map[uint32]int{}
	r.bulk = map[uint64][]int{}
	r.flying = make([][]flight, t.warps)
	r.near = make([]nearby, len(t.flows))
	if r.calls {
		r.stacks, r.passed = make([][32][]callee, t.warps), map[passing]uint32{}
	}
}

// Took implements target.Taker.
func (r *recorder) Took(s probes.Stage, kv int, address func(row, col int) uint64) {
	r.t.taken[tile{s, kv}] = taken{r.t.steps.n, address}
}

// variables lists what lies in shared memory: the arrays that the launch names, and the
// variables around them.
func (r *recorder) variables(b target.Block) {
	t := r.t
	if w, ok := b.(target.Walkable); ok {
		for _, a := range t.launch.Shared {
			if lo, ok := w.Array(a); ok {
				t.shared = append(t.shared, Variable{
					a.Name, uint64(lo), uint64(lo + a.Bytes), a.Dims, a.DType,
				})
			}
		}
	}
	named := len(t.shared)
	const step = 16 // what variables are aligned to, but for small ones
	for lo := uint64(0); lo < uint64(r.view.SharedBytes()); lo += step {
		if name, _ := r.view.Name(target.SpaceShared, lo); name == "" {
			continue
		} else if n := len(t.shared); n > named && t.shared[n-1].Name == name && t.shared[n-1].Hi == lo {
			t.shared[n-1].Hi += step
		} else {
			t.shared = append(t.shared, Variable{Name: name, Lo: lo, Hi: lo + step})
		}
	}
}

// Variable is what lies at an address of shared memory; nil where nothing does that has a name.
func (t *Trace) Variable(addr uint64) *Variable {
	for i := range t.shared {
		if v := &t.shared[i]; addr >= v.Lo && addr < v.Hi {
			return v
		}
	}
	return nil
}

// Captured is the place of a captured cell in a trace: offset and size are those of the cell's bytes in the
// capture buffer; row and column serve tiles that the executor took out of shared memory by itself. ok is
// false where the block captured no such tile.
func (t *Trace) Captured(s probes.Stage, kv, row, col int, offset uint64, size int) (p Place, ok bool) {
	if x, ok := t.taken[tile{s, kv}]; ok {
		return Place{Space: target.SpaceShared, Addr: x.address(row, col), N: size, At: x.at}, true
	}
	if t.capture == 0 {
		return p, false
	}
	p = Place{Space: target.SpaceGlobal, Addr: t.capture + offset, N: size, At: -1}
	return p, t.allocAt(p.Addr) >= 0
}

// Interests implements target.Interested.
func (r *recorder) Interests() target.ClassSet {
	return target.AllClasses&^target.Classes(target.ClassBarrierDone, target.ClassFence,
		target.ClassAsyncCommit, target.ClassAsyncWait, target.ClassWarpSync, target.ClassBulk,
		target.ClassWgmma) | target.Classes(target.ClassBulkRead, target.ClassBulkLand, target.ClassWgmmaLand)
}

// Event implements target.Observer.
func (r *recorder) Event(e *target.Event) {
	if r.err != nil {
		return
	}
	switch e.Class {
	case target.ClassAsyncLand:
		r.land(e)
		return
	case target.ClassBulkRead:
		r.bulkRead(e)
		return
	case target.ClassBulkLand:
		r.bulkLand(e)
		return
	case target.ClassWgmmaLand:
		r.product(e)
		return
	}
	if s := r.last; s != nil && uint64(s.clock) == e.Step && int(s.pc) == e.PC && int(s.warp) == e.Warp &&
		s.kind == stepPlain {
		s.mask |= e.Mask // lanes with addresses of another space, or the next part of a matrix
		r.access(s, e)
		return
	}
	if r.calls {
		r.enter(e)
	}
	x := &r.t.flows[e.PC]
	if e.Class == target.ClassBarrier && len(x.dst) == 0 {
		return
	}
	s := r.step(e, stepPlain)
	if s == nil {
		return
	}
	switch {
	case e.Addr != nil:
		s.aux = uint32(r.t.accesses.n)
		// the event's lanes are those that point at rows
		if x.kind == flowLoadRows || x.kind == flowStoreRows {
			s.mask = ^uint32(0)
		}
		r.access(s, e)
	case x.kind == flowSelect && x.control[0].reg >= 0:
		s.aux = r.view.Predicate(e.Warp, e.Func, x.control[0].reg)
		if e.Instr.Args[3].Neg {
			s.aux = ^s.aux
		}
	case x.kind == flowShuffle && x.lanes == nil:
		r.shuffled(s, e, x)
	case x.kind == flowPermute:
		r.row(s, func(row *[32]uint32) {
			for i, v := range r.view.Register(e.Warp, e.Func, x.src[2].reg) {
				row[i] = uint32(v)
			}
		})
	}
	if r.calls {
		r.leave(s, e)
	}
}

// step appends a step.
func (r *recorder) step(e *target.Event, kind stepKind) *step {
	if e.Step >= 1<<32 || r.t.steps.n >= 1<<32-1 {
		r.err = fmt.Errorf("record block %s: more than %d warp instructions", r.t.id, uint64(1)<<32)
		r.cancel()
		return nil
	}
	s := r.t.steps.add(r.moreSteps)
	if s == nil {
		return nil
	}
	*s = step{clock: uint32(e.Step), pc: int32(e.PC), mask: e.Mask, warp: uint16(e.Warp), kind: kind}
	r.last, r.lastAt = s, r.t.steps.n-1
	return s
}

// row gives a step a row of 32 words.
func (r *recorder) row(s *step, fill func(*[32]uint32)) {
	s.aux = uint32(r.t.rows.n)
	if row := r.t.rows.add(r.moreRows); row != nil {
		fill(row)
	}
}

// shuffled notes the source lanes of a shuffle that are in registers.
func (r *recorder) shuffled(s *step, e *target.Event, x *flow) {
	b, c := r.operand(e, &e.Instr.Args[2]), r.operand(e, &e.Instr.Args[3])
	r.row(s, func(row *[32]uint32) {
		for i := range row {
			row[i] = uint32(shuffleSource(e.Instr, i, int(b[i]), int(c[i])))
		}
	})
}

func (r *recorder) operand(e *target.Event, op *ptx.Operand) [32]uint64 {
	if op.Kind == ptx.OpReg {
		return r.view.Register(e.Warp, e.Func, op.Reg)
	}
	var v [32]uint64
	for i := range v {
		v[i] = op.Imm
	}
	return v
}

// access appends where a step reads or writes.
func (r *recorder) access(s *step, e *target.Event) {
	if e.Addr == nil {
		return
	}
	s.n++
	r.place(e.Space, e.Addr, e.Mask, e.Bytes, int(e.Value), e.PC)
	if e.Addr2 != nil {
		s.n++
		r.place(target.SpaceGlobal, e.Addr2, e.Mask, e.Bytes, 0, e.PC)
		r.flying[e.Warp] = append(r.flying[e.Warp], flight{r.lastAt, e.Mask})
		if n, fewer := r.copied(e); fewer {
			s.n++
			r.place(target.SpaceNone, &n, e.Mask, e.Bytes, 0, e.PC)
		}
	}
}

// copied is how many bytes of the source each lane of a cp.async copies, where the text does not say.
func (r *recorder) copied(e *target.Event) (n [32]uint64, fewer bool) {
	for i := range n {
		n[i] = uint64(e.Bytes)
	}
	for i := 3; i < len(e.Instr.Args); i++ {
		op := &e.Instr.Args[i]
		switch {
		case op.Kind == ptx.OpReg && e.Func.Regs[op.Reg].Type == ptx.Pred:
			p := r.view.Predicate(e.Warp, e.Func, op.Reg)
			if op.Neg {
				p = ^p
			}
			for m := p; m != 0; m &= m - 1 {
				n[bits.TrailingZeros32(m)&31] = 0
			}
		case op.Kind == ptx.OpReg && e.Func.Regs[op.Reg].Type.Bits() == 64: // a cache policy
			continue
		default:
			for l, v := range r.operand(e, op) {
				n[l] = min(n[l], v&0xffffffff)
			}
		}
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		fewer = fewer || n[bits.TrailingZeros32(m)&31] != uint64(e.Bytes)
	}
	return n, fewer
}

// place appends an access: as a base and a stride where the lanes' addresses are that.
func (r *recorder) place(space target.Space, addr *[32]uint64, mask uint32, bytes, element, pc int) {
	a := r.t.accesses.add(r.moreAccesses)
	if a == nil || mask == 0 {
		return
	}
	*a = access{mask: mask, bytes: uint16(bytes), element: uint16(element), space: space}
	first := bits.TrailingZeros32(mask) & 31
	rest := mask &^ (1 << first)
	lo, hi := addr[first], addr[first]
	if rest != 0 {
		second := bits.TrailingZeros32(rest) & 31
		step := int64(addr[second]-addr[first]) / int64(second-first)
		straight := step == int64(int32(step))
		for m := rest; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m) & 31
			straight = straight && addr[l] == addr[first]+uint64(step*int64(l-first))
			lo, hi = min(lo, addr[l]), max(hi, addr[l])
		}
		if a.base, a.stride = addr[first]-uint64(step*int64(first)), int32(step); !straight {
			r.scatter(a, addr, mask, lo, hi)
		}
	} else {
		a.base = addr[first]
	}
	if space != target.SpaceNone {
		r.bounds(a, lo, hi+uint64(bytes), pc)
	}
	if r.t.foreign && space == target.SpaceGlobal && r.t.flows[pc].reads() {
		r.changed(a)
	}
}

// changed notes words of arguments that have other contents than before the launch: what the block did not
// write, another one did.
func (r *recorder) changed(a *access) {
	var now [16]byte
	for m := a.mask; m != 0; m &= m - 1 {
		at := r.t.addr(a, bits.TrailingZeros32(m)&31)
		for i := range r.t.allocs {
			x := &r.t.allocs[i]
			if at < x.lo || at >= x.hi || x.arg < 0 {
				continue
			}
			n := r.view.Memory(target.SpaceGlobal, at, 0, 0, now[:min(int(a.bytes), len(now))])
			buf := r.t.launch.Args[x.arg].Buffer
			for k := range n {
				off := int(at-x.lo) + k
				if old := off < len(buf.Init) && (buf.Written == nil || buf.Written[off] != 0); old &&
					buf.Init[off] != now[k] ||
					!old && r.view.Written(target.SpaceGlobal, at+uint64(k), 0, 0, 1) {
					r.t.others[(at+uint64(k))&^3] = true
				}
			}
		}
	}
}

// scatter notes addresses one by one, as distances from the lowest.
func (r *recorder) scatter(a *access, addr *[32]uint64, mask uint32, lo, hi uint64) {
	if hi-lo >= 1<<31 { // lanes in different allocations: those far away get an access of their own
		var near, far uint32
		for m := mask; m != 0; m &= m - 1 {
			if l := bits.TrailingZeros32(m) & 31; addr[l]-lo < 1<<31 {
				near |= 1 << l
			} else {
				far |= 1 << l
			}
		}
		b := *a
		a.mask, hi = near, lo
		for m := near; m != 0; m &= m - 1 {
			hi = max(hi, addr[bits.TrailingZeros32(m)&31])
		}
		if r.last != nil {
			r.last.n++
		}
		defer r.place(b.space, addr, far, int(b.bytes), int(b.element), int(r.last.pc))
	}
	a.base, a.table, a.stride = lo, true, int32(r.t.rows.n)
	row := r.t.rows.add(r.moreRows)
	if row == nil {
		return
	}
	for m := a.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		row[l] = uint32(addr[l] - lo)
	}
}

// bounds drops the lanes whose access has left what it may access, and so took no effect, and notes the
// allocation of the others.
func (r *recorder) bounds(a *access, lo, hi uint64, pc int) {
	x := &r.t.flows[pc]
	if n := uint64(a.bytes); x.f.d == nil && n&(n-1) == 0 && (lo|uint64(int64(a.stride)))&(n-1) != 0 {
		for m := a.mask; m != 0; m &= m - 1 { // an access that is not aligned is a finding, too
			if l := bits.TrailingZeros32(m) & 31; r.t.addr(a, l)&(n-1) != 0 {
				a.mask &^= 1 << l
			}
		}
	}
	n := &r.near[pc]
	if lo >= n.lo && hi <= n.hi {
		return
	}
	global := a.space == target.SpaceGlobal || a.space == target.SpaceConst
	if global {
		from, to, writable := r.view.Extent(lo)
		if from < to && hi <= to && !r.view.Strays(pc, a.space, lo) {
			*n = nearby{from, to}
			r.known(from, to)
			r.t.mutable = r.t.mutable || writable && x.reads()
			return
		}
	} else if !r.view.Strays(pc, a.space, lo) && !r.view.Strays(pc, a.space, hi-1) {
		return
	}
	for m := a.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		at := r.t.addr(a, l)
		stray := r.view.Strays(pc, a.space, at)
		if global && !stray {
			from, to, writable := r.view.Extent(at)
			if stray = from == to || at+uint64(a.bytes) > to; !stray {
				r.known(from, to)
				r.t.mutable = r.t.mutable || writable && x.reads()
			}
		}
		if stray {
			a.mask &^= 1 << l
		}
	}
}

// reads reports whether an instruction reads what it accesses; of a cp.async the global side is meant.
func (x *flow) reads() bool {
	switch x.kind {
	case flowLoad, flowLoadRows, flowLoadTile, flowAtomic, flowCopy:
		return true
	}
	return false
}

// ReadsWritable reports whether the block reads global memory that some instruction of the kernel may write:
// another block may have.
func (t *Trace) ReadsWritable() bool { return t.mutable }

// known notes an allocation.
func (r *recorder) known(lo, hi uint64) {
	for i := range r.t.allocs {
		if r.t.allocs[i].lo == lo {
			return
		}
	}
	a := alloc{lo: lo, hi: hi, arg: -1, size: 1}
	a.name, _ = r.view.Name(target.SpaceGlobal, lo)
	for i := range r.t.launch.Args {
		if x := &r.t.launch.Args[i]; x.Buffer != nil && x.Name == a.name && a.arg < 0 {
			a.arg, a.dtype, a.size = i, x.Buffer.DType, max(x.Buffer.DType.Size(), 1)
		}
	}
	r.t.allocs = append(r.t.allocs, a)
}

// land notes that bytes of a cp.async arrived.
func (r *recorder) land(e *target.Event) {
	fly := r.flying[e.Warp]
	for i := range fly {
		f := &fly[i]
		s := r.t.steps.at(f.step)
		if s.pc != int32(e.PC) || f.lanes&e.Mask != e.Mask || s.n == 0 {
			continue
		}
		l := bits.TrailingZeros32(e.Mask) & 31
		if r.t.addr(r.t.accesses.at(int(s.aux)), l) != e.Addr[l] {
			continue
		}
		clock := e.Step
		if clock > 0 {
			e.Step-- // the clock counts the instruction during which the bytes land
		}
		x := r.step(e, stepLand)
		e.Step = clock
		if x == nil {
			return
		}
		x.aux = uint32(f.step)
		if f.lanes &^= e.Mask; f.lanes == 0 {
			r.flying[e.Warp] = append(fly[:i:i], fly[i+1:]...)
		}
		return
	}
}

// enter notes the parameters that a call passed, at the first step of the callee.
func (r *recorder) enter(e *target.Event) {
	for m := e.Mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		st := r.stacks[e.Warp][l]
		if n := len(st); n > 0 && st[n-1].f == nil {
			from := r.t.funcs[r.t.owner[st[n-1].pc]]
			if from == e.Func { // a call of what the executor provides: nothing is passed that is followed
				r.stacks[e.Warp][l] = st[:n-1]
				continue
			}
			st[n-1].f = e.Func
			r.pass(e, passing{st[n-1].pc, e.Func, false}, 1<<l)
		}
	}
}

// leave notes calls and returns.
func (r *recorder) leave(s *step, e *target.Event) {
	switch e.Instr.Kind() {
	case isa.Call:
		for m := e.Mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m) & 31
			r.stacks[e.Warp][l] = append(r.stacks[e.Warp][l], callee{pc: s.pc})
		}
	case isa.Return:
		for m := e.Mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m) & 31
			st := r.stacks[e.Warp][l]
			if n := len(st); n > 0 {
				r.stacks[e.Warp][l] = st[:n-1]
				r.pass(e, passing{st[n-1].pc, e.Func, true}, 1<<l)
			}
		}
	}
}

// passing is what a call of a function copies: the parameters, or the results.
type passing struct {
	pc      int32
	callee  *ptx.Func
	results bool
}

// pass notes what one lane's call copies; lanes that do the same at once share a step.
func (r *recorder) pass(e *target.Event, p passing, lane uint32) {
	i, known := r.passed[p]
	if !known {
		args, results := r.view.Passed(int(p.pc), p.callee)
		if p.results {
			args = results
		}
		i = uint32(len(r.t.passes))
		r.passed[p] = i
		r.t.passes = append(r.t.passes, args)
	}
	if s := r.last; s != nil && s.kind == stepPass && s.aux == i && int(s.warp) == e.Warp &&
		uint64(s.clock) == e.Step {
		s.mask |= lane
		return
	}
	c := *e
	c.PC, c.Mask = int(p.pc), lane
	if s := r.step(&c, stepPass); s != nil {
		s.aux = i
	}
}
