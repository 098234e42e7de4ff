package check

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Races between blocks of a cluster on shared memory. The blocks of a cluster execute by turns, so their
// units share one state (clusterState) without a lock. Only accesses of two different blocks are compared:
// those of one block among themselves are the matter of race.go.
//
// Order is kept by vector clocks. What has a clock is called an agent: each warp of each block, and for each
// block the asynchronous operations that it issues, as one agent more. What orders agents: block barriers,
// barrier.cluster, mbarriers (arrivals of any block, bytes of asynchronous operations), and strong accesses
// of one place.
//
// Three approximations, each of which can hide a race and none of which invents one:
//
//   - Lanes of a warp count as ordered. So a fence by one lane counts for what all lanes of its warp did
//     before. It does where a __syncwarp stands before the fence; where none does, a race of another
//     lane's access is not found.
//   - A strong write hands on all that its warp did before, and a strong read takes that over, also where
//     they are relaxed and have no fence.
//   - A word remembers its last write and the last maxClusterReads reads since.

// clusterKind watches launches with clusters of several blocks.
func clusterKind() kind {
	return kind{
		set: Races, start: startCluster,
		findings: func(_ *Checker, us []unit) []target.Finding {
			var all []*causes
			for _, u := range us {
				all = append(all, &u.(*clusterUnit).found)
			}
			return mergeCauses(all)
		},
	}
}

// clusterState is what the units of a cluster share.
type clusterState struct {
	units  []*clusterUnit // by rank; nil: not begun
	warps  int            // of a block
	clocks [][]uint32     // by agent: up to which time of every agent it is ordered
	strong map[strongKey][]uint32
	mbars  map[mbarKey]*clusterPhase
	// arrived is the clock of all arrivals at barrier.cluster so far, done as it was when the latest phase
	// that somebody has seen complete ended
	arrived, done []uint32
	phase         uint64      // the number of that phase
	at            probes.Dim3 // the cluster's place in the grid of clusters
	ended         int         // blocks that have
}

// strongKey is a place of strong accesses: in global memory, with rank -1, or in a block's shared memory.
type strongKey struct {
	rank int
	addr uint64
}

// mbarKey is an mbarrier in the shared memory of a block of the cluster.
type mbarKey struct {
	rank int
	addr uint64
}

// clusterPhase is what an mbarrier hands on: the clock of all arrivals so far, and of those of complete
// phases.
type clusterPhase struct{ arrived, done []uint32 }

// clusterAccess is an access to some bytes of one word of shared memory.
type clusterAccess struct {
	agent, pc       int32
	time            uint32 // of the agent's clock
	bytes           uint8  // of the word, a bit each
	strong          bool
	lane            int8
	tile            int32
	loop, iteration int32 // as in target.Event
}

// remoteAccess is an access to shared memory of another block.
type remoteAccess struct {
	clusterAccess
	addr uint64 // in that block's shared memory
}

// clusterCell is the last accesses to a word.
type clusterCell struct {
	write clusterAccess // time 0: none
	reads []clusterAccess
}

// maxClusterReads bounds the reads that a word remembers.
const maxClusterReads = 8

// clusterUnit watches one block of a cluster.
type clusterUnit struct {
	b     *block
	sites []site
	c     *clusterState
	rank  int
	cells []clusterCell // of its shared memory
	bars  [16]clusterBar
	// fenced is, by warp, its clock at its last fence, which relaxed arrivals hand on; nil before
	fenced [][]uint32
	alive  []uint32 // by warp: the lanes that have not exited
	// remote is, by agent of another block, its last access to this block's shared memory
	remote map[int32]remoteAccess
	found  causes
}

// clusterBar is who waits at a block barrier, and what those who arrived hand on.
type clusterBar struct {
	clock []uint32
	warps []int
}

func startCluster(b *block) unit {
	l := b.view.Launch()
	dims := l.ClusterOf(b.view.Program()[0])
	if dims.Count() < 2 {
		return nil
	}
	var first probes.Dim3
	for i := range first {
		first[i] = b.id[i] / dims[i]
	}
	n := l.Block.Count()
	u := &clusterUnit{
		b: b, sites: b.checker.program(b.view), remote: map[int32]remoteAccess{},
		rank:  dims.Linear(probes.Dim3{b.id[0] % dims[0], b.id[1] % dims[1], b.id[2] % dims[2]}),
		cells: make([]clusterCell, (b.view.SharedBytes()+3)/4),
	}
	for i := 0; i < n; i += 32 {
		u.alive = append(u.alive, uint32(1<<min(32, n-i)-1))
	}
	u.fenced = make([][]uint32, len(u.alive))
	u.c = b.checker.cluster(first, dims.Count(), len(u.alive))
	u.c.units[u.rank] = u
	return u
}

// cluster is the state of the cluster at a place in the grid of clusters.
func (c *Checker) cluster(at probes.Dim3, blocks, warps int) *clusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clusters == nil {
		c.clusters = map[probes.Dim3]*clusterState{}
	}
	s := c.clusters[at]
	if s == nil {
		n := blocks * (warps + 1)
		s = &clusterState{
			at: at, units: make([]*clusterUnit, blocks), warps: warps, strong: map[strongKey][]uint32{},
			mbars: map[mbarKey]*clusterPhase{}, arrived: make([]uint32, n), done: make([]uint32, n),
		}
		for i := range n {
			s.clocks = append(s.clocks, make([]uint32, n))
			s.clocks[i][i] = 1
		}
		c.clusters[at] = s
	}
	return s
}

// End implements target.Ender. What accesses are compared with is of no use after the cluster's last block: a
// launch may have many clusters, and each takes many times the shared memory of its blocks.
func (u *clusterUnit) End() {
	c := u.c
	if c.ended++; c.ended < len(c.units) {
		return
	}
	for _, x := range c.units {
		if x != nil {
			*x = clusterUnit{b: x.b, found: x.found}
		}
	}
	checker := u.b.checker
	checker.mu.Lock()
	defer checker.mu.Unlock()
	delete(checker.clusters, c.at)
}

// agent numbers a warp of a block, and the block's asynchronous operations as its warp number warps.
func (c *clusterState) agent(rank, warp int) int32 { return int32(rank*(c.warps+1) + warp) }

// join makes a clock no earlier than another.
func join(a, b []uint32) {
	for i, v := range b {
		a[i] = max(a[i], v)
	}
}

// release hands on what an agent is ordered after, and itself; what it does from now on is later.
func (c *clusterState) release(agent int32, to []uint32) {
	join(to, c.clocks[agent])
	c.clocks[agent][agent]++
}

func (c *clusterState) mbar(rank int, addr uint64) *clusterPhase {
	k := mbarKey{rank, addr}
	p := c.mbars[k]
	if p == nil {
		n := len(c.clocks)
		p = &clusterPhase{make([]uint32, n), make([]uint32, n)}
		c.mbars[k] = p
	}
	return p
}

// Interests implements unit.
func (u *clusterUnit) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsyncLand,
		target.ClassBarrier, target.ClassBarrierDone, target.ClassFence, target.ClassExit,
		target.ClassMBarrier,
		target.ClassBulkLand, target.ClassMBarrierDone, target.ClassMBarrierPass,
		target.ClassClusterBarrier, target.ClassClusterPass)
}

// Event implements unit.
func (u *clusterUnit) Event(e *target.Event) {
	c, me := u.c, u.c.agent(u.rank, e.Warp)
	switch e.Class {
	case target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsyncLand:
		if !e.Probe {
			u.accesses(e, me)
		}
	case target.ClassFence:
		u.fence(e, me)
	case target.ClassBarrier:
		s := &u.bars[e.Barrier]
		if s.clock == nil {
			s.clock = make([]uint32, len(c.clocks))
		}
		c.release(me, s.clock)
		if !e.Instr.Has("arrive") {
			s.warps = append(s.warps, e.Warp)
		}
	case target.ClassBarrierDone:
		s := &u.bars[e.Barrier]
		for _, w := range s.warps {
			join(c.clocks[c.agent(u.rank, w)], s.clock)
		}
		s.clock, s.warps = nil, s.warps[:0]
	case target.ClassClusterBarrier:
		if e.Instr.Has("arrive") && !u.ignores(e.PC) {
			if clock := u.handsOn(e, me); clock != nil {
				join(c.arrived, clock)
				c.clocks[me][me]++
			}
		}
	case target.ClassClusterPass:
		if e.Value > c.phase {
			c.phase = e.Value
			join(c.done, c.arrived)
		}
		if !u.ignores(e.PC) {
			join(c.clocks[me], c.done)
		}
	case target.ClassMBarrier, target.ClassMBarrierDone, target.ClassMBarrierPass:
		u.mbarrier(e, me)
	case target.ClassBulkLand:
		u.landed(e, me)
	case target.ClassExit:
		u.exit(e)
	}
}

// fence keeps the warp's clock for relaxed arrivals after it. Fences of the block's scope do not reach other
// blocks; those of proxies and of initialisations order no accesses of threads.
func (u *clusterUnit) fence(e *target.Event, me int32) {
	if u.sites[e.PC].scope == scopeBlock || e.Instr.Has("proxy") || e.Instr.Has("mbarrier_init") ||
		u.ignores(e.PC) {
		return
	}
	u.fenced[e.Warp] = slices.Clone(u.c.clocks[me])
	u.c.clocks[me][me]++
}

// handsOn is the clock that an arrival hands on: the warp's, or where it is relaxed that of its last fence,
// nil where there was none.
func (u *clusterUnit) handsOn(e *target.Event, me int32) []uint32 {
	if e.Instr.Has("relaxed") {
		return u.fenced[e.Warp]
	}
	return u.c.clocks[me]
}

func (u *clusterUnit) ignores(pc int) bool { return u.b.checker.ignored[pc] }

// place splits an address of shared memory.
func (u *clusterUnit) place(space target.Space, addr uint64) (rank int, off uint64) {
	if space != target.SpaceCluster {
		return u.rank, addr
	}
	return target.SplitDistributed(addr)
}

// mbarrier follows arrivals at mbarriers, of any block of the cluster, and who has seen a phase complete.
func (u *clusterUnit) mbarrier(e *target.Event, me int32) {
	c := u.c
	var clock []uint32
	switch e.Class {
	case target.ClassMBarrierDone:
		p := c.mbar(u.rank, uint64(e.Barrier))
		join(p.done, p.arrived)
		return
	case target.ClassMBarrier:
		arrives := e.Instr.Has("arrive") || e.Instr.Has("arrive_drop")
		if clock = u.handsOn(e, me); !arrives || clock == nil {
			return
		}
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		rank, off := u.place(e.Space, e.Addr[bits.TrailingZeros32(m)&31])
		if p := c.mbar(rank, off); e.Class == target.ClassMBarrierPass {
			join(c.clocks[me], p.done)
		} else {
			join(p.arrived, clock)
			if rank != u.rank && rank < len(c.units) && c.units[rank] != nil {
				c.units[rank].remoteArrived(off)
			}
		}
	}
	if e.Class == target.ClassMBarrier {
		c.clocks[me][me]++
	}
}

// remoteArrived hands an arrival of another block at the block's mbarrier to what follows its own threads.
func (u *clusterUnit) remoteArrived(addr uint64) {
	for _, x := range u.b.units {
		if r, ok := x.(*races); ok {
			r.remoteArrived(addr)
		}
	}
}

// landed follows an asynchronous operation that writes shared memory: it comes after what its thread is
// ordered after, and whoever has seen its bytes arrive comes after it.
func (u *clusterUnit) landed(e *target.Event, me int32) {
	if e.Space != target.SpaceShared && e.Space != target.SpaceCluster || e.Barrier < 0 {
		return
	}
	c, lane := u.c, bits.TrailingZeros32(e.Mask)&31
	rank, off := u.place(e.Space, e.Addr[lane])
	agent := c.agent(u.rank, c.warps)
	join(c.clocks[agent], c.clocks[me])
	u.access(e, agent, rank, off, e.Bytes, true, false, lane)
	_, bar := target.SplitDistributed(uint64(e.Barrier))
	c.release(agent, c.mbar(rank, bar).arrived)
}

// accesses follows the loads and stores of a warp.
func (u *clusterUnit) accesses(e *target.Event, me int32) {
	c, s := u.c, &u.sites[e.PC]
	strong := s.strong && e.Class != target.ClassAsyncLand
	shared := e.Space == target.SpaceShared || e.Space == target.SpaceCluster
	if strong && (shared || e.Space == target.SpaceGlobal) {
		for m := e.Mask; m != 0; m &= m - 1 {
			rank, off := -1, e.Addr[bits.TrailingZeros32(m)&31]
			if e.Space != target.SpaceGlobal {
				rank, off = u.place(e.Space, off)
			}
			k := strongKey{rank: rank, addr: off}
			p := c.strong[k]
			if p == nil {
				p = make([]uint32, len(c.clocks))
				c.strong[k] = p
			}
			if e.Class != target.ClassStore {
				join(c.clocks[me], p)
			}
			if e.Class != target.ClassLoad {
				join(p, c.clocks[me])
			}
		}
		if e.Class != target.ClassLoad {
			defer func() { c.clocks[me][me]++ }()
		}
	}
	if !shared {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		rank, off := u.place(e.Space, e.Addr[lane])
		u.access(e, me, rank, off, e.Bytes, e.Class != target.ClassLoad, strong, lane)
	}
}

// access compares an access of an agent with those of other blocks to the same bytes, and remembers it.
func (u *clusterUnit) access(
	e *target.Event, agent int32, rank int, off uint64, n int, writes, strong bool, lane int,
) {
	if rank < 0 || rank >= len(u.c.units) || u.c.units[rank] == nil {
		return
	}
	owner := u.c.units[rank]
	a := clusterAccess{
		agent: agent, pc: int32(e.PC), time: u.c.clocks[agent][agent], strong: strong, lane: int8(lane),
		tile: int32(e.KVTile), loop: int32(e.Loop), iteration: int32(e.Iteration),
	}
	if rank != u.rank {
		owner.remote[agent] = remoteAccess{a, off}
	}
	for end := off + uint64(n); off < end; {
		word, from := off/4, off%4
		k := min(4-from, end-off)
		if word >= uint64(len(owner.cells)) {
			return
		}
		a.bytes = uint8((1<<k - 1) << from)
		u.word(owner, &owner.cells[word], a, writes, off)
		off += k
	}
}

// word compares an access to a word of owner's shared memory, at address off there, with the last ones.
func (u *clusterUnit) word(owner *clusterUnit, cell *clusterCell, a clusterAccess, writes bool, off uint64) {
	if w := &cell.write; w.time > 0 && u.races(w, &a) {
		u.race(owner, w, &a, true, writes, off)
	}
	if !writes {
		for i := range cell.reads {
			if r := &cell.reads[i]; r.agent == a.agent && r.bytes == a.bytes {
				*r = a
				return
			}
		}
		if len(cell.reads) == maxClusterReads {
			cell.reads = append(cell.reads[:0], cell.reads[1:]...)
		}
		cell.reads = append(cell.reads, a)
		return
	}
	for i := range cell.reads {
		if r := &cell.reads[i]; u.races(r, &a) {
			u.race(owner, r, &a, false, true, off)
		}
	}
	cell.write, cell.reads = a, cell.reads[:0]
}

// races reports whether an earlier access and one of this unit's agents are of different blocks, touch the
// same bytes, and are not ordered.
func (u *clusterUnit) races(old, a *clusterAccess) bool {
	n := int32(u.c.warps + 1)
	return old.agent/n != a.agent/n && old.bytes&a.bytes != 0 && !(old.strong && a.strong) &&
		u.c.clocks[a.agent][old.agent] < old.time
}

// async reports whether an agent stands for asynchronous operations, not for a warp.
func (c *clusterState) async(agent int32) bool { return int(agent)%(c.warps+1) == c.warps }

// who names an agent for a message.
func (u *clusterUnit) who(agent int32) string {
	n := int32(u.c.warps + 1)
	if u.c.async(agent) {
		return fmt.Sprintf("an asynchronous operation of block rank %d", agent/n)
	}
	return fmt.Sprintf("warp %d of block rank %d", agent%n, agent/n)
}

// before reports whether a comes before b in the program: the earlier iteration of a loop, then the earlier
// instruction.
func (a *clusterAccess) before(b *clusterAccess) bool {
	if a.loop == b.loop && a.loop >= 0 && a.iteration != b.iteration {
		return a.iteration < b.iteration
	}
	return a.pc < b.pc
}

// race adds a race between two blocks: of the access that was executed first, old, and of a. The finding has
// them in the order of the program, because which is executed first is the schedule's choice.
func (u *clusterUnit) race(owner *clusterUnit, old, a *clusterAccess, wrote, writes bool, off uint64) {
	name, index := u.b.view.Name(target.SpaceShared, off)
	type cause struct {
		low, high int32
		name      string
	}
	first, second := old, a
	if a.before(old) {
		first, second, wrote, writes = a, old, writes, wrote
	}
	verbs := map[bool]string{true: "write", false: "read"}
	from, to := u.sites[first.pc].source(), u.sites[second.pc].source()
	key := cause{min(old.pc, a.pc), max(old.pc, a.pc), name}
	u.found.add(key, target.Finding{
		Kind: target.Race, Variable: name, Index: index, Space: target.SpaceCluster.String(), Block: u.b.id,
		Warps: u.warpOf(second.agent), Lanes: []int{int(second.lane)}, KVTile: int(second.tile),
		Source: to, Other: from, Across: true,
		Message: fmt.Sprintf("the %s of %s of block rank %d by %s at %s and the %s by %s at %s are not ordered",
			verbs[wrote], placeName(name, index, target.SpaceShared), owner.rank, u.who(first.agent),
			from.Place(), verbs[writes], u.who(second.agent), to.Place()),
		Missing: u.missing(first, from, to),
	})
}

// missing says what would order two accesses. An asynchronous operation is over for those alone who have
// waited at its mbarrier: a barrier of threads does not wait for it.
func (u *clusterUnit) missing(first *clusterAccess, from, to *target.Source) string {
	if u.c.async(first.agent) {
		return fmt.Sprintf("%s that the operation at %s completes on, before %s", target.MBarrierWait, from,
			to)
	}
	return fmt.Sprintf("cluster.sync() (%s) between %s and %s", clusterBarriers, from, to)
}

// clusterBarriers is what cluster.sync() of CUDA is in PTX.
const clusterBarriers = "barrier.cluster.arrive and barrier.cluster.wait"

// warpOf is the warp of an agent, for a finding; nil for asynchronous operations.
func (u *clusterUnit) warpOf(agent int32) []int {
	if u.c.async(agent) {
		return nil
	}
	return []int{int(agent) % (u.c.warps + 1)}
}

// exit looks, when the last threads of the block exit, for accesses of other blocks that nothing orders
// before it: they may come when its shared memory belongs to another block. Accesses that are executed after
// the exit are findings of the emulator.
func (u *clusterUnit) exit(e *target.Event) {
	u.alive[e.Warp] &^= e.Mask
	for _, alive := range u.alive {
		if alive != 0 {
			return
		}
	}
	seen := make([]uint32, len(u.c.clocks))
	for w := range u.alive {
		join(seen, u.c.clocks[u.c.agent(u.rank, w)])
	}
	for agent := range int32(len(u.c.clocks)) {
		a, ok := u.remote[agent]
		if !ok || seen[agent] >= a.time {
			continue
		}
		name, index := u.b.view.Name(target.SpaceShared, a.addr)
		src := u.sites[a.pc].source()
		type cause struct {
			pc   int32
			name string
		}
		u.found.add(cause{a.pc, name}, target.Finding{
			Kind: target.Cluster, Variable: name, Index: index,
			Space: target.SpaceCluster.String(), Block: u.b.id,
			Warps: u.warpOf(agent), Lanes: []int{int(a.lane)}, KVTile: int(a.tile), Source: src,
			Other: u.sites[e.PC].source(),
			Message: fmt.Sprintf("block rank %d may exit before %s accesses %s of block rank %d at %s", u.rank,
				u.who(agent), placeName(name, index, target.SpaceShared), u.rank, src.Place()),
			Missing: fmt.Sprintf("cluster.sync() (%s) between %s and the end of the kernel", clusterBarriers,
				src),
			Consequence: "the shared memory of a block that has exited is no longer its own",
		})
	}
}
