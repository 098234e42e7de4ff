package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// Fences. A strong write that follows a fence of its thread (or is a release) hands on what the thread did and knew before the
// fence; a strong read that sees the value, followed by a fence (or being an acquire), takes it over (PTX ISA, "Memory
// consistency model": release and acquire patterns). What a location hands on is kept by address and follows the writes to it:
// a strong read always sees the last one, since the emulator executes one access after the other. An atomic continues what it
// reads (a release sequence), any other write ends it.
//
// Between blocks the fence and both accesses need a scope of the device. A fence whose thread then meets the one that writes
// the flag at a block barrier counts for it too: __threadfence(), __syncthreads(), one atomic.

// fenceKey is a location.
type fenceKey struct {
	space target.Space
	addr  uint64
}

// handed is what the last strong write of a location hands on. Blocks keep a reach, threads of one a row.
type handed struct {
	bytes uint64 // of the location
	row   []uint32
	reach reach
}

// hides reports whether a plain write of the n bytes at to touches the location at addr.
func (h *handed) hides(addr, to uint64, n int) bool { return addr < to+uint64(n) && to < addr+h.bytes }

// widest is the most bytes of one location.
const widest = 16

// released is what a thread had done and knew at its last fence.
type released struct {
	arrival
	floor uint32
	scope scope
	reach reach
}

// fenceState is what the threads of one block have released and may acquire.
type fenceState struct {
	last    map[int]released // by thread: at its last fence
	pending map[int][]uint32 // by thread: what its strong reads have seen since its last fence
	at      map[fenceKey]handed

	// Other blocks.
	all     reach // what every thread knows
	reach   map[int]reach
	awaited map[int]reach
	met     snap // fences of threads that a block barrier has followed
}

func (f *fenceState) begin() {
	if f.last == nil {
		f.last, f.pending, f.at = map[int]released{}, map[int][]uint32{}, map[fenceKey]handed{}
		f.reach, f.awaited = map[int]reach{}, map[int]reach{}
	}
}

// fenced is a fence of some lanes.
func (u *races) fenced(e *target.Event) {
	f, s := &u.fence, &u.sites[e.PC]
	if u.b.checker.ignored[e.PC] {
		return
	}
	f.begin()
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		t := 32*e.Warp + lane
		if row := f.pending[t]; row != nil {
			u.clk.merge(t, row)
			delete(f.pending, t)
		}
		if s.scope >= scopeDevice && f.awaited[t] != nil {
			f.reach[t] = f.reach[t].join(f.awaited[t])
			delete(f.awaited, t)
		}
		f.last[t] = u.release(e.Warp, lane, s.scope)
	}
}

// release is what a thread has done and knows now.
func (u *races) release(warp, lane int, s scope) released {
	return released{u.clk.arrive(warp, 0, 1<<lane, true), u.clk.floor, s, u.fence.all.join(u.fence.reach[32*warp+lane])}
}

// access is a strong access of one lane to a location.
func (f *fenceState) access(u *races, key fenceKey, lane int) {
	s := u.s
	foreign := u.grid != nil && key.space == target.SpaceGlobal && s.scope >= scopeDevice
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
		mine.tell(row)
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
	own := f.met
	if ok && mine.scope >= scopeDevice {
		out = out.join(mine.reach)
		row := make([]uint32, len(u.clk.rows))
		copy(row, own.row)
		mine.tell(row)
		own = snap{max(mine.floor, own.floor), row}
	}
	if own.floor > 0 || own.row != nil {
		out = out.join(reach{g.number[u.b]: own})
	}
	if len(out) == 0 {
		delete(g.at, addr)
		return
	}
	u.clk.single = true // whoever acquires this relies on the barriers before it
	g.at[addr] = handed{bytes: uint64(s.element), reach: out}
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
	if len(f.at) == 0 {
		return
	}
	for a := k.addr - min(k.addr, widest-1); a < k.addr+uint64(n); a++ {
		if h, ok := f.at[fenceKey{k.space, a}]; ok && h.hides(a, k.addr, n) {
			delete(f.at, fenceKey{k.space, a})
		}
	}
}

// sync joins what the lanes of a warp know of other blocks.
func (f *fenceState) sync(warp int, mask uint32) {
	if len(f.reach) == 0 {
		return
	}
	var r reach
	for m := mask; m != 0; m &= m - 1 {
		r = r.join(f.reach[32*warp+bits.TrailingZeros32(m)])
	}
	for m := mask; m != 0 && r != nil; m &= m - 1 {
		f.reach[32*warp+bits.TrailingZeros32(m)] = r
	}
}

// exchange does the same at a barrier of some threads.
func (f *fenceState) exchange(as []arrival) {
	if len(f.reach) == 0 {
		return
	}
	var r reach
	for i := range as {
		for m := as[i].mask; m != 0; m &= m - 1 {
			r = r.join(f.reach[32*as[i].warp+bits.TrailingZeros32(m)])
		}
	}
	for i := range as {
		for m := as[i].mask; m != 0 && as[i].waits && r != nil; m &= m - 1 {
			f.reach[32*as[i].warp+bits.TrailingZeros32(m)] = r
		}
	}
}

// everyone does the same at a barrier of all threads. Within the block the barrier orders all that a fence could.
func (f *fenceState) everyone(u *races) {
	for _, r := range f.reach {
		f.all = f.all.join(r)
	}
	clear(f.reach)
	if u.grid == nil || len(f.last) == 0 {
		clear(f.last)
		return
	}
	row := make([]uint32, len(u.clk.rows))
	copy(row, f.met.row)
	for _, r := range f.last {
		if r.scope < scopeDevice {
			continue
		}
		f.met.floor = max(f.met.floor, r.floor)
		r.tell(row)
	}
	f.met.row = row
	clear(f.last)
}
