package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// Fences. A strong write that follows a fence of its thread (or is a release) hands on what the thread
// did and knew before the fence; a strong read that sees the value, followed by a fence (or being an
// acquire), takes it over (PTX ISA, "Memory consistency model": release and acquire patterns). What a
// location hands on is kept by address and follows the writes to it: a strong read always sees the last
// one, since the emulator executes one access after the other. An atomic continues what it reads (a
// release sequence), any other write ends it.
//
// Between blocks the fence and both accesses need a scope of the device. A fence whose thread then meets the
// one that writes the flag at a barrier counts for it too: __threadfence(), __syncthreads(), one atomic. So
// does, on the side that reads, a fence of a thread that has met the one that read the flag: one atomic,
// __syncthreads(), __threadfence(). The model's text wants that fence in the thread that read the flag;
// kernels rely on both orders, and the hardware keeps both.

// fenceKey is a location.
type fenceKey struct {
	space target.Space
	addr  uint64
}

// handed is what the last strong write of a location hands on. Blocks keep a reach, threads of one a row.
type handed struct {
	bytes  uint64 // of the location
	row    []uint32
	reach  reach
	narrow int32  // PC plus one of an instruction on the way whose scope is the block, 0: none
	write  uint64 // the number of the write, of those between blocks
}

// hides reports whether a plain write of the n bytes at to touches the location at addr.
func (h *handed) hides(addr, to uint64, n int) bool { return addr < to+uint64(n) && to < addr+h.bytes }

// widest is the most bytes of one location.
const widest = 16

// released is what a thread had done and knew at its last fence.
type released struct {
	arrival
	blockEpoch uint32
	scope      scope
	reach      reach
	pc         int // of the fence
}

// fenceState is what the threads of one block have released and may acquire.
type fenceState struct {
	last    map[int]released // by thread: at its last fence
	pending map[int][]uint32 // by thread: what its strong reads have seen since its last fence
	at      map[fenceKey]handed

	observed observations

	// Other blocks.
	acquired
	// awaited: by thread: what its strong reads, and those of threads that it met at a barrier, have seen
	awaited map[int]reach
	open    reach        // the same of all threads that a block barrier has followed
	met     snap         // fences of threads that a block barrier has followed
	meets   map[int]snap // by thread: fences of threads that it has met since, at barriers of some
	wide    acquired     // as if all scopes were the device's, and every strong access had its fence
	before  reach        // of wide, of the thread at hand before its strong access
	narrow  int32        // PC plus one of a scope that was the block's on the way to wide, 0: none
	// seen: by thread: what its last strong read of global memory saw, which may come again and again
	seen map[int]sight
}

// acquired is what a block's threads have acquired from other blocks.
type acquired struct {
	all   reach // what every thread has
	reach map[int]reach
}

func (f *fenceState) begin() {
	if f.last == nil {
		f.last, f.pending, f.at = map[int]released{}, map[int][]uint32{}, map[fenceKey]handed{}
		f.reach, f.awaited, f.wide.reach, f.seen = map[int]reach{}, map[int]reach{}, map[int]reach{},
			map[int]sight{}
		f.meets = map[int]snap{}
	}
}

// fenced is a fence of some lanes.
func (u *races) fenced(e *target.Event) {
	f, s := &u.fence, &u.sites[e.PC]
	if u.b.checker.ignored[e.PC] {
		return
	}
	if u.bulk != nil && e.Instr.Has("mbarrier_init") {
		u.bulk.initFenced(e)
	}
	if proxyFence(e.Instr) { // it orders proxies, not threads
		if u.bulk != nil {
			for m := e.Mask; m != 0; m &= m - 1 {
				u.clk.proxyFenced(e.Warp, bits.TrailingZeros32(m)&31)
			}
			u.clk.warps[e.Warp].fresh = true
		}
		return
	}
	if mapFence(e.Instr) {
		u.fenceMaps(e)
	}
	f.begin()
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		t := 32*e.Warp + lane
		if row := f.pending[t]; row != nil {
			u.clk.merge(t, row)
			delete(f.pending, t)
		}
		if r := f.awaited[t].join(f.open); s.scope >= scopeDevice && r != nil {
			f.reach[t] = f.reach[t].join(r)
			delete(f.awaited, t)
		}
		r := u.release(e.Warp, lane, s.scope)
		r.pc = e.PC
		f.last[t] = r
	}
}

// release is a copy of a thread's clock: what it has done, and what it is ordered after.
func (u *races) release(warp, lane int, s scope) released {
	return released{
		u.clk.arrive(warp, 0, 1<<lane, true), u.clk.blockEpoch, s,
		u.fence.all.join(u.fence.reach[32*warp+lane]), -1,
	}
}

// access is a strong access of one lane to a location.
func (f *fenceState) access(u *races, key fenceKey, lane int) {
	s := u.s
	foreign := u.grid != nil && key.space == target.SpaceGlobal && s.scope >= scopeDevice
	if u.grid != nil && key.space == target.SpaceGlobal {
		f.begin()
		f.before = f.wide.reach[32*u.e.Warp+lane]
		if !s.writes && f.polledAgain(32*u.e.Warp+lane, sight{u.grid.wide[key.addr].write, u.e.PC}) {
			u.grid.polled[key.addr] = true
			return
		}
		f.widely(u, key.addr, lane)
		if s.writes && !foreign { // no other block synchronises with what the location holds now
			delete(u.grid.at, key.addr)
		}
	}
	if foreign || u.grid == nil || key.space != target.SpaceGlobal {
		u.observations(key.space).strong(u, key, lane)
	}
	if f.last == nil && !s.release && (!foreign || len(u.grid.at) == 0) {
		return
	}
	f.begin()
	t := 32*u.e.Warp + lane
	mine, ok := f.last[t]
	if s.release {
		mine, ok = u.release(u.e.Warp, lane, s.scope), true
	}
	if foreign {
		f.between(u, key.addr, t, mine, ok)
	}
	seen := f.at[key].row
	if s.returns && seen != nil {
		if s.acquire {
			u.clk.merge(t, seen)
		} else {
			f.pending[t] = joined(f.pending[t], seen)
		}
	}
	switch {
	case !s.writes:
	case ok:
		row := make([]uint32, len(u.clk.rows))
		copy(row, seen)
		if !s.reads {
			clear(row)
		}
		mine.publishClock(row)
		f.at[key] = handed{bytes: uint64(s.element), row: row}
	case !s.reads:
		delete(f.at, key)
	}
}

// between is a strong access that blocks may meet at.
func (f *fenceState) between(u *races, addr uint64, t int, mine released, ok bool) {
	g, s := u.grid, u.s
	seen := g.at[addr].reach
	if s.returns && seen != nil {
		u.clk.single = true
		if s.acquire {
			f.reach[t] = f.reach[t].join(seen)
		} else {
			f.awaited[t] = f.awaited[t].join(seen)
		}
	}
	if !s.writes {
		return
	}
	out := reach{}
	if s.reads {
		out = seen
	}
	own := f.met.union(f.meets[t])
	if ok && mine.scope >= scopeDevice {
		out = out.join(mine.reach)
		row := make([]uint32, len(u.clk.rows))
		copy(row, own.row)
		own.row = row
		own.add(&mine)
	}
	if own.blockEpoch > 0 || own.row != nil {
		out = out.join(reach{g.number[u.b]: own})
	}
	if len(out) == 0 {
		delete(g.at, addr)
		return
	}
	u.clk.single = true // whoever acquires this relies on the barriers before it
	g.at[addr] = handed{bytes: uint64(s.element), reach: out}
}

// sight is a write, by its number, and the instruction that read it.
type sight struct {
	write uint64
	pc    int
}

// polledAgain reports whether a thread's strong read sees, by the same instruction, the write that its last
// one saw: nothing that it had not acquired then.
func (f *fenceState) polledAgain(t int, s sight) bool {
	again := s.write > 0 && f.seen[t] == s
	f.seen[t] = s
	return again
}

// widely is the same access for the wide reach.
func (f *fenceState) widely(u *races, addr uint64, lane int) {
	g, s, t := u.grid, u.s, 32*u.e.Warp+lane
	seen := g.wide[addr]
	narrow := int32(0)
	switch last, ok := f.last[t]; {
	case s.scope < scopeDevice:
		narrow = int32(u.e.PC) + 1
	case ok && last.scope < scopeDevice:
		narrow = int32(last.pc) + 1
	}
	if s.returns && seen.reach != nil {
		f.wide.reach[t] = f.wide.reach[t].join(seen.reach)
		f.narrow = max(seen.narrow, narrow)
	}
	if !s.writes {
		return
	}
	mine := u.release(u.e.Warp, lane, scopeDevice)
	row := make([]uint32, len(u.clk.rows))
	mine.publishClock(row)
	out := f.wide.all.join(f.wide.reach[t]).join(reach{g.number[u.b]: snap{mine.blockEpoch, row}})
	if s.reads {
		out, narrow = out.join(seen.reach), max(narrow, seen.narrow)
	}
	g.writes++
	g.wide[addr] = handed{bytes: uint64(s.element), reach: out, narrow: narrow, write: g.writes}
}

// joined is the union of two rows.
func joined(a, b []uint32) []uint32 {
	if a == nil {
		return b
	}
	row := append([]uint32(nil), a...)
	maximum(row, b)
	return row
}

// overwritten ends what a plain write to a location's bytes hides.
func (f *fenceState) overwritten(k fenceKey, n int) {
	f.observed.overwritten(k, n)
	if len(f.at) == 0 {
		return
	}
	for a := k.addr - min(k.addr, widest-1); a < k.addr+uint64(n); a++ {
		if h, ok := f.at[fenceKey{k.space, a}]; ok && h.hides(a, k.addr, n) {
			delete(f.at, fenceKey{k.space, a})
		}
	}
}

// sync joins what the lanes of a warp have acquired from other blocks.
func (f *fenceState) sync(u *races, warp int, mask uint32) {
	f.exchange(u, []arrival{{warp: warp, mask: mask, waits: true}})
}

// exchange does the same at a barrier of some threads.
func (f *fenceState) exchange(u *races, as []arrival) {
	if u.grid != nil && len(f.last) > 0 {
		f.meet(u, as)
	}
	share(f.reach, as)
	share(f.wide.reach, as)
	share(f.awaited, as)
}

// meet gives the threads that wait at a barrier the fences of all that come to it.
func (f *fenceState) meet(u *races, as []arrival) {
	s, some := snap{row: make([]uint32, len(u.clk.rows))}, false
	for i := range as {
		for m := as[i].mask; m != 0; m &= m - 1 {
			t := 32*as[i].warp + bits.TrailingZeros32(m)
			if r, ok := f.last[t]; ok && r.scope >= scopeDevice {
				s.add(&r)
				some = true
			}
			if o, ok := f.meets[t]; ok {
				s, some = s.union(o), true
			}
		}
	}
	if !some {
		return
	}
	for i := range as {
		for m := as[i].mask; m != 0 && as[i].waits; m &= m - 1 {
			f.meets[32*as[i].warp+bits.TrailingZeros32(m)] = s
		}
	}
}

// add adds what a fence releases. The row must be s's own.
func (s *snap) add(r *released) {
	s.blockEpoch = max(s.blockEpoch, r.blockEpoch)
	r.publishClock(s.row)
}

// share gives the threads that wait at a barrier what any thread has that comes to it.
func share(by map[int]reach, as []arrival) {
	if len(by) == 0 {
		return
	}
	var r reach
	for i := range as {
		for m := as[i].mask; m != 0; m &= m - 1 {
			r = r.join(by[32*as[i].warp+bits.TrailingZeros32(m)])
		}
	}
	for i := range as {
		for m := as[i].mask; m != 0 && as[i].waits && r != nil; m &= m - 1 {
			by[32*as[i].warp+bits.TrailingZeros32(m)] = r
		}
	}
}

// everyone does the same at a barrier of all threads.
func (k *acquired) everyone() {
	for _, r := range k.reach {
		k.all = k.all.join(r)
	}
	clear(k.reach)
}

// everyone does the same at a barrier of all threads. Within the block the barrier orders all
// that a fence could.
func (f *fenceState) everyone(u *races) {
	f.acquired.everyone()
	f.wide.everyone()
	for _, r := range f.awaited {
		f.open = f.open.join(r)
	}
	clear(f.awaited)
	clear(f.meets)
	if u.grid == nil || len(f.last) == 0 {
		clear(f.last)
		return
	}
	met := snap{f.met.blockEpoch, make([]uint32, len(u.clk.rows))}
	copy(met.row, f.met.row)
	for _, r := range f.last {
		if r.scope >= scopeDevice {
			met.add(&r)
		}
	}
	f.met = met
	clear(f.last)
}
