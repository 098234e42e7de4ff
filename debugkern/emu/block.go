package emu

import (
	"math/bits"
	"sync/atomic"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// defaultBudget is how many warp instructions a block may execute where the launch does not say.
const defaultBudget = 100_000_000

// block is one thread block in execution. A worker of a launch reuses one for block after block.
type block struct {
	p      *program
	l      *target.Launch
	mem    *memory
	id     probes.Dim3
	warps  []*warp
	shared []byte
	swrit  []byte
	own    int // bytes of shared that are no reserved ones
	local  []byte
	lwrit  []byte

	regions   []region // by access set
	slots     slotMemory
	heap      heapMemory
	barriers  [16]barrierState
	async     *asyncBlock    // nil: the program has no mbarriers and no bulk operations
	registers *registerPool  // nil: the program has no setmaxnreg
	cluster   *cluster       // nil: the block has none, or is all of it
	rank      int            // in the cluster
	polled    bool           // of a cluster's block: it lets the others go first
	alone     clusterBarrier // of a block without a cluster

	clock, limit, budget uint64
	counts               target.Counts
	multiply             fp.WarpMMA // of the multiplication under way
	found                findings
	quick                map[target.Kind]quick
	err                  *target.Fault
	broken               bool // a barrier or deadlock finding ended the block
	released             bool // a barrier completed: warps that waited can run

	// What other blocks of the launch have to do with this one.
	quiet       bool       // nobody asks for its results
	ordered     bool       // they run in the defined order, one at a time
	foot        *footprint // where accesses to global memory are noted; nil: nowhere
	wrote       uint64     // stores to any memory, and atomics that changed it
	wroteGlobal uint64     // those to global memory
	polls       uint64     // strong loads of global memory, and atomics that changed nothing
	wait        *waiting   // nil: it never gives way to them
	inputs      []patch    // what they change while this block waits; nil where it is not executed again
	applied     int        // how many of those have been

	stop      *atomic.Bool
	sched     scheduler
	printed   []byte
	watched   bool
	obs       []observer
	follows   target.ClassSet // what observers want reported again once it has executed
	outcome   target.Event    // the instruction under way, where executed says that it is one of those
	executed  bool
	watch     *watcher
	gather    *gatherer
	onAsync   func(target.AsyncEvent) // what is asynchronous and happens; nil: nobody asks
	replace   *replacer
	last      int // warp that ran last
	event     target.Event
	emit      func(*target.Event) // deliver, bound once
	eventInst *inst               // of the event under way
	eventWarp *warp
	addr      [32]uint64
	addr2     [32]uint64
	halt      func(*target.Event) bool
	halted    bool
	resume    uint64 // clock at which halt is not asked again
	stepTo    uint64 // the clock to stop at, noStep: none
	paused    *warp  // the warp that was stopped within its turn: it goes on with it
	pausedAs  turn
	onCapture func(probes.Stage, int)
	filling   []filled // slots that a probe has begun to fill

	gatherPoints []resolvedGather // of the launch
	unresolved   error            // why they could not be found

	observedClasses target.ClassSet // what observers or a breakpoint want reported
}

// noStep is a clock that no block comes to.
const noStep = ^uint64(0)

// newBlock makes a block for a launch, without an identity yet.
func newBlock(p *program, l *target.Launch, mem *memory) *block {
	b := &block{p: p, l: l, mem: mem, budget: l.Budget}
	if b.budget == 0 {
		b.budget = defaultBudget
	}
	own, n := p.sharedBytes(l.DynShared)
	b.own, b.shared, b.swrit = own, make([]byte, n), make([]byte, n)
	threads := l.Block.Count()
	warps := (threads + 31) / 32
	b.local, b.lwrit = make([]byte, warps*32*p.frame), make([]byte, warps*32*p.frame)
	for i := range warps {
		w := &warp{
			blk: b, id: i, r32: make([]row32, p.n32), r64: make([]row64, p.n64), u32: make([]uint8, p.n32),
			u64: make([]uint8, p.n64), pred: make([]uint32, p.npred), loops: make([]int32, p.nloops),
		}
		w.exists = allLanes
		if rest := threads - 32*i; rest < 32 {
			w.exists = 1<<rest - 1
		}
		b.warps = append(b.warps, w)
	}
	b.emit = b.deliver
	b.resolve()
	b.gathers()
	b.limit = b.budget
	return b
}

// begin makes b block id, before its first instruction.
func (b *block) begin(id probes.Dim3) {
	b.id = id
	fill(b.shared, 0xff)
	clear(b.swrit)
	if n := sharedUnits(b.own); n < len(b.shared) { // reserved shared memory
		clear(b.shared[n:])
		fill(b.swrit[n:], 0xff)
	}
	fill(b.local, 0xff)
	clear(b.lwrit)
	b.barriers = [16]barrierState{}
	b.clock, b.limit = 0, b.budget
	b.counts = target.Counts{}
	b.found, b.quick = findings{}, nil
	b.err, b.broken, b.released = nil, false, false
	b.halted, b.resume, b.stepTo, b.last = false, noStep, noStep, 0
	b.paused, b.pausedAs, b.filling = nil, turnOver, nil
	b.printed, b.alone = nil, clusterBarrier{}
	b.wrote, b.wroteGlobal, b.polls, b.applied = 0, 0, 0, 0
	if b.wait != nil {
		b.wait.begin(b)
	}
	b.slots.begin(b)
	b.heap.begin(b.l.Grid.Linear(id))
	for _, w := range b.warps {
		w.begin()
	}
	b.beginAsync()
	b.beginRegisters()
	b.sched.begin(b.l.Schedule, b)
	b.obs, b.halt, b.watched, b.observedClasses, b.follows, b.executed = nil, nil, false, 0, 0, false
	b.replace, b.watch, b.gather = nil, nil, nil
	if b.quiet {
		return
	}
	if b.l.Observe != nil {
		if o := b.l.Observe(id); o != nil {
			b.observe(o)
		}
	}
	if o := newWatcher(b); o != nil {
		b.observe(o)
	}
	if b.gather = newGatherer(b); b.gather != nil {
		b.observe(b.gather)
	}
	if b.unresolved != nil {
		b.err = &target.Fault{Kind: "capture", Msg: b.unresolved.Error(), Block: b.id, Err: b.unresolved}
	}
	if b.replace = newReplacer(b); b.replace != nil {
		b.observe(b.replace)
	}
}

func fill(p []byte, v byte) {
	for i := range p {
		p[i] = v
	}
}

// begin puts every lane at the entry with fresh registers.
func (w *warp) begin() {
	p := w.blk.p
	for i := range w.u32 {
		w.u32[i] = stUniform
		w.r32[i][0] = 0
	}
	for i := range w.u64 {
		w.u64[i] = stUniform
		w.r64[i][0] = 0
	}
	for _, c := range p.consts {
		if c.bank == bank64 {
			w.r64[c.slot][0] = c.value
		} else {
			w.r32[c.slot][0] = uint32(c.value)
		}
	}
	clear(w.pred)
	clear(w.loops)
	w.ahead = nil
	w.alive = w.exists
	w.groups = append(w.groups[:0], group{mask: w.exists})
	w.cur, w.spins, w.backs, w.cycle, w.timed = 0, 0, 0, cycle{}, timedCycle{}
	w.async = asyncQueue{spare: w.async.spare}
	w.cluster = clusterLanes{}
	w.beginStack()
	w.specials()
	w.fill32(0)
	w.fill64(0)
	for _, c := range p.consts {
		if c.bank == bank64 {
			w.fill64(c.slot)
		} else {
			w.fill32(c.slot)
		}
	}
}

// cancelled reports whether the launch was called off.
func (b *block) cancelled() bool { return b.stop != nil && b.stop.Load() }

// frame is the local memory of one thread and its written state.
func (b *block) frame(thread int) (data, written []byte) {
	n := b.p.frame
	return b.local[thread*n : (thread+1)*n], b.lwrit[thread*n : (thread+1)*n]
}

// run executes until the block ends, cannot go on, or its clock reaches its limit. Stopping changes nothing
// about what comes later: a warp that was stopped within its turn goes on with it.
func (b *block) run() {
	for b.err == nil && !b.broken && !b.halted {
		w, from := b.paused, b.pausedAs
		b.paused, b.pausedAs = nil, turnOver
		if w != nil {
			b.limit = b.sched.limit(b)
		} else {
			if b.async != nil {
				b.landSome()
			}
			if w = b.sched.next(b); w == nil {
				if b.cluster != nil {
					if b.ended() {
						b.drain()
					}
					return
				}
				if b.async != nil && b.unblock() {
					continue
				}
				if !b.ended() && !b.broken {
					b.stuck()
				}
				return
			}
			b.released = false
		}
		t := w.run(from)
		b.last = w.id
		if b.err != nil {
			return
		}
		switch {
		case t == stoppedBeforeInstr && !b.halted && b.patch():
			b.paused, b.pausedAs = w, t
		case t == turnOver, t == stoppedBeforeInstr && !b.halted && b.sched.quantum(b):
			b.sched.ran(b, w)
			if b.async != nil && b.polling() {
				if b.cluster != nil {
					b.polled = true
					return
				}
				b.unblock()
			}
			if b.cancelled() || b.wait != nil && b.wait.over(b) {
				return
			}
		case t == stoppedBeforeInstr && !b.halted && b.clock >= b.budget:
			b.overBudget(w)
			return
		default:
			b.paused, b.pausedAs = w, t
			return
		}
	}
}

// ended reports whether every thread has exited.
func (b *block) ended() bool {
	for _, w := range b.warps {
		if w.alive != 0 {
			return false
		}
	}
	return true
}

// runnable reports whether the warp has a group that can go on.
func (w *warp) runnable() bool {
	for i := range w.groups {
		g := &w.groups[i]
		if g.wait == waitNone || g.wait == waitLanes && g.need&w.alive&^g.mask == 0 {
			return true
		}
		if g.wait == waitLanes && w.together(i) {
			return true
		}
	}
	return false
}

// together reports whether a group that waits for lanes would merge with another that
// stands at the same place.
func (w *warp) together(i int) bool {
	g := &w.groups[i]
	for j := range w.groups {
		h := &w.groups[j]
		if j != i && h.pc == g.pc && !h.wait.arrived() && sameStack(g.stack, h.stack) {
			return true
		}
	}
	return false
}

// overBudget ends an endless block.
func (b *block) overBudget(w *warp) {
	if len(w.groups) > 0 {
		w.cur = min(w.cur, len(w.groups)-1)
	}
	b.fault("budget", "the instruction budget is used up: the kernel does not end", w, allLanes)
}

// fault ends the launch at the current instruction of a warp.
func (b *block) fault(kind, msg string, w *warp, mask uint32) {
	f := &target.Fault{Kind: kind, Msg: msg, Block: b.id, Warp: w.id}
	if len(w.groups) > 0 {
		in := &b.p.code[w.groups[w.cur].pc]
		f.Pos = in.src.Pos.String()
		f.Source = w.called(in)
		f.Lane = bits.TrailingZeros32(mask & w.groups[w.cur].mask)
	}
	b.err = f
}

// result adds up what the block left, after it ended.
func (b *block) finished() target.Counts {
	c := b.counts
	c.WarpInstructions = b.clock
	return c
}
