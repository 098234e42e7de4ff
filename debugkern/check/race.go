package check

import (
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

// raceKind orders accesses by happens-before: races, cp.async read too early, barriers that order nothing.
func raceKind() kind {
	return kind{
		set: Races | Async | Redundant, start: startRaces,
		findings: func(c *Checker, us []unit) []target.Finding {
			out := raceFindings(c, us)
			return slices.Concat(out, phaseFindings(us, out), mapFindings(us))
		},
	}
}

// races watches the accesses of one block.
type races struct {
	b     *block
	sites []site
	clk   clocks
	mem   *shadow
	bytes uint64 // of shared memory; mem has whole lines
	glob  globalShadow
	grid  *gridState // nil where blocks share no memory
	bar   [16][]arrival
	met   []arrival // at barrier.cluster, of the block's threads in the current phase
	last  uint64    // the last phase of it that was complete
	async asyncState
	fence fenceState
	bulk  *bulkState // nil: the program has no mbarriers, bulk operations or wgmma
	need  needs
	turns turns
	early causes // of phases of mbarriers (phases.go) and named barriers (turns.go) that may overtake a wait

	mapFound causes // of tensor maps in memory (tensormap.go)

	pairs     map[pairKey]*pair
	order     []*pair
	raised    int                 // how many there were at the last barrier of all threads
	contested map[uint64]*contest // by byte of shared memory
	touched   []touch             // global memory, for other blocks
	left      uint32              // the last stamp of those that they know
	values    map[int]*stored     // by PC: what global stores wrote
	names     []int32             // by shared word: number of the variable, 0: not looked up yet
	titles    []string
	made      map[[2]int]bool // by the PCs of a load and a store: what inPlace found

	// The access under way.
	e     *target.Event
	s     *site
	stamp uint32
	at    uint32
	space target.Space // of addr: a cp.async has one address in each
	addr  uint64
	lowJ  uint32

	bulkWrites bool // of a bulk operation: it is its destination that is looked at
}

func startRaces(b *block) unit {
	n := b.view.Launch().Block.Count()
	u := &races{b: b, sites: b.checker.program(b.view), pairs: map[pairKey]*pair{}, titles: []string{""}}
	var from uint32
	u.mem, from = b.checker.takeShadow()
	u.bytes = uint64(b.view.SharedBytes())
	u.mem.begin(b.view.SharedBytes())
	u.names = make([]int32, (b.view.SharedBytes()+3)/4)
	u.clk.begin(n, from)
	u.need.begin()
	u.startBulk()
	u.startTurns()
	u.startGlobal()
	return u
}

// Interests implements unit.
func (u *races) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync,
		target.ClassAsyncCommit,
		target.ClassAsyncWait, target.ClassBarrier, target.ClassBarrierDone, target.ClassWarpSync,
		target.ClassFence, target.ClassExit, target.ClassMBarrier, target.ClassBulk, target.ClassBulkCommit,
		target.ClassBulkWait, target.ClassBulkLand, target.ClassMBarrierDone, target.ClassMBarrierPass,
		target.ClassWgmma, target.ClassWgmmaCommit, target.ClassWgmmaWait, target.ClassClusterBarrier,
		target.ClassClusterPass, target.ClassTensorMap)
}

// Event implements unit.
func (u *races) Event(e *target.Event) {
	switch e.Class {
	case target.ClassLoad, target.ClassStore, target.ClassAtomic:
		u.access(e)
	case target.ClassTensorMap:
		u.mapAccess(e)
	case target.ClassAsync:
		u.issue(e)
	case target.ClassAsyncCommit:
		u.async.commit(e)
	case target.ClassAsyncWait:
		u.wait(e)
	case target.ClassBarrier:
		if !u.b.checker.ignored[e.PC] {
			waits := !e.Instr.Has("arrive")
			u.turn(e, waits)
			u.bar[e.Barrier] = append(u.bar[e.Barrier], u.clk.arrive(e.Warp, e.PC, e.Mask, waits))
		}
	case target.ClassBarrierDone:
		u.completed(e)
	case target.ClassClusterBarrier:
		u.arriveInCluster(e)
	case target.ClassClusterPass:
		u.passedInCluster(e)
	case target.ClassWarpSync:
		if !u.b.checker.ignored[e.PC] {
			u.need.executed(e.PC)
			u.clk.sync(e.Warp, e.PC, e.Mask, u.need.known(e.PC) != nil)
			u.fence.sync(u, e.Warp, e.Mask)
		}
	case target.ClassFence:
		if !e.Probe {
			u.fenced(e)
		}
	case target.ClassMBarrier, target.ClassBulk, target.ClassBulkCommit, target.ClassBulkWait,
		target.ClassBulkLand, target.ClassMBarrierDone, target.ClassMBarrierPass, target.ClassWgmma,
		target.ClassWgmmaCommit, target.ClassWgmmaWait:
		u.bulkEvent(e)
	case target.ClassExit:
		u.clk.warps[e.Warp].alive &^= e.Mask
	}
}

// access is an ordinary access to memory.
func (u *races) access(e *target.Event) {
	if u.bulk != nil {
		all := e.Mask
		if e.Mask = u.bulkAccess(e); e.Mask == 0 {
			e.Mask = all
			return
		}
		defer func() { e.Mask = all }()
	}
	switch e.Space {
	case target.SpaceShared:
		u.shared(e)
	case target.SpaceGlobal:
		u.global(e)
	}
}

// End implements target.Ender.
func (u *races) End() {
	u.dropStuck()
	u.need.single = u.clk.single
	u.endGlobal()
	u.b.checker.giveShadow(u.mem, u.clk.now)
	u.mem, u.clk, u.names, u.fence, u.contested, u.bulk = nil, clocks{}, nil, fenceState{}, nil, nil
}

// dropStuck forgets what was first seen since the last barrier of all threads, where somebody waits at one
// that never completed: it is the barrier that is wrong, and the others went on without it.
func (u *races) dropStuck() {
	for _, as := range u.bar {
		if len(as) > 0 && as[0].waits {
			u.order = u.order[:u.raised]
			return
		}
	}
}

// completed is the end of a block barrier.
func (u *races) completed(e *target.Event) {
	as := u.bar[e.Barrier]
	u.bar[e.Barrier] = as[:0]
	u.turned(e.Barrier)
	if len(as) == 0 {
		return // all of it is ignored
	}
	pc := as[0].pc
	for i := range as {
		if as[i].pc != pc {
			pc = -1
		}
	}
	if !u.clk.full(as) {
		for i := range as {
			u.need.partial(as[i].pc)
		}
		u.fence.exchange(u, as)
		u.clk.exchange(as)
		return
	}
	if pc < 0 {
		for i := range as {
			u.need.partial(as[i].pc)
		}
	} else {
		u.need.executed(pc)
	}
	u.fence.everyone(u)
	u.raised = len(u.order)
	u.clk.raise(pc, pc >= 0 && u.need.known(pc) != nil)
	if u.bulk != nil {
		u.dropKnown()
	}
}

// begin sets what the accesses of an event have in common.
func (u *races) begin(e *target.Event) {
	w := &u.clk.warps[e.Warp]
	u.e, u.s, u.space = e, &u.sites[e.PC], e.Space
	u.stamp = u.clk.stamp(w, moment{int32(e.KVTile), int32(e.Iteration), int32(e.Loop)})
	u.at = uint32(e.PC)<<5 | uint32(e.Warp)
	u.lowJ = max(w.lowJoined, u.clk.low)
	w.touched |= e.Mask
}

// arriveInCluster notes that threads arrive at barrier.cluster. A relaxed arrival hands on what the thread's
// last fence does.
func (u *races) arriveInCluster(e *target.Event) {
	if !e.Instr.Has("arrive") || u.b.checker.ignored[e.PC] {
		return
	}
	if !e.Instr.Has("relaxed") {
		u.met = append(u.met, u.clk.arrive(e.Warp, e.PC, e.Mask, true))
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		if r, ok := u.fence.last[32*e.Warp+bits.TrailingZeros32(m)]; ok {
			u.met = append(u.met, r.arrival)
		}
	}
}

// passedInCluster orders the block's threads where the first of them sees a phase of barrier.cluster
// complete.
func (u *races) passedInCluster(e *target.Event) {
	if e.Value <= u.last {
		return
	}
	u.last = e.Value
	row := make([]uint32, len(u.clk.rows))
	for i := range u.met {
		u.met[i].publishClock(row)
	}
	for i := range u.met {
		for m := u.met[i].mask; m != 0; m &= m - 1 {
			u.clk.merge(32*u.met[i].warp+bits.TrailingZeros32(m), row)
		}
	}
	u.met = u.met[:0]
}

// remoteArrived is an arrival of another block of the cluster at an mbarrier: it may hand on whatever threads
// of this block have done, by way of that block.
func (u *races) remoteArrived(addr uint64) {
	if u.bulk == nil {
		return
	}
	row := u.phase(int(addr)).arrived
	for t := range u.clk.threads() {
		row[t] = max(row[t], u.clk.now)
	}
	for i := range u.clk.warps {
		u.clk.warps[i].fresh = true
	}
}
