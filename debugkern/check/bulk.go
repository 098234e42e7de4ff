package check

import (
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Asynchronous bulk operations, and mbarriers.
//
// An operation is no thread: what it reads and writes lies between its issue, which comes after all that its
// thread is ordered after, and its completion, which a thread learns of by a wait at the mbarrier that it
// completes on, by a wait for its bulk group, or from a thread that has learned of it. So each is a record
// (bulkRecord) of a range of bytes: whoever touches these without having learned of the completion races with
// the operation.
//
// What threads have learned is part of their rows, which every synchronisation hands on: behind the stamps of
// the block's threads a row has, for programs with such operations,
//
//	proxied     by thread, up to which stamp its writes are visible to the async proxy: a fence.proxy.async
//	            stands between them and whoever has the row
//	epoch       the same for all threads: a stamp that was blockEpoch at such a fence
//	completed   by completion mechanism (an mbarrier, or the bulk groups of a thread), the stamp of the last
//	            completion
//
// A barrier of all threads drops rows; this part of them is kept in clocks.shared then.
//
// An mbarrier hands on what threads had done and knew when they arrived (release), to those whose wait sees
// the phase complete (acquire); what earlier phases handed on comes with it.

// mechanisms is how many completion mechanisms have a clock of their own; further ones share the last.
const mechanisms = 64

// bulkRecord is a range of bytes that an asynchronous operation reads or writes.
type bulkRecord struct {
	space        target.Space
	lo, hi       uint64
	writes       bool
	combines     bool // a reduction: the bytes are read and written as one access
	at           uint32
	lane         int
	when         moment
	mechanism    int
	mbar         int // address, -1: a bulk group
	group        uint32
	parts        []target.Range // of a tensor copy in global memory, and of a wgmma: its bytes; nil: lo to hi
	tile         uint64         // of a tensor copy: its address in shared memory, plus one
	landed, done bool
	stamp        uint32 // of the completion, where done
}

func (r *bulkRecord) warp() int { return int(r.at & 31) }
func (r *bulkRecord) pc() int   { return int(r.at >> 5) }

// bulkState follows the asynchronous operations and mbarriers of one block.
type bulkState struct {
	live  []bulkRecord
	known map[int]int // mechanism by address of an mbarrier, or by minus the thread less one
	open  [][32]uint32
	// products is, by warp, the number of the group that its next wgmma.commit_group closes
	products []uint32
	phases   map[int]*phaseClock
	inits    map[int]*mbarrierInit   // by address
	maps     map[uint64][]mapAcquire // fences that acquired tensor maps, by address of the map
}

// mbarrierInit is the initialisation of an mbarrier. The async proxy, which completes copies on it, sees that
// only behind a fence.mbarrier_init by the same thread, or a fence.proxy.async (PTX ISA, "Async proxy").
type mbarrierInit struct {
	stamp            uint32
	when             moment
	pc, warp, lane   int
	fenced, reported bool
}

// initFenced notes a fence.mbarrier_init of some lanes.
func (s *bulkState) initFenced(e *target.Event) {
	for _, x := range s.inits {
		x.fenced = x.fenced || x.warp == e.Warp && e.Mask>>x.lane&1 != 0
	}
}

// unseenInit reports a copy by a lane that completes on an mbarrier whose initialisation no fence has made
// visible to the async proxy.
func (u *races) unseenInit(mbar, lane int) {
	x := u.bulk.inits[mbar]
	if x == nil || x.fenced || x.reported {
		return
	}
	if !u.unproxied(x.stamp, x.warp, x.lane, lane) {
		return
	}
	x.reported = true
	space, addr := u.space, u.addr
	u.space, u.addr = target.SpaceShared, uint64(mbar)
	u.record(side{pc: x.pc, warp: x.warp, lane: x.lane, writes: true, when: x.when}, u.now(lane), pairProxy)
	u.space, u.addr = space, addr
}

// unproxied reports whether a write of a thread, by its stamp, is ordered before what a lane of the current
// warp does, and no fence.proxy.async makes it visible to the async proxy in between.
func (u *races) unproxied(stamp uint32, warp, other, lane int) bool {
	proxied, epoch, _ := u.clk.extension()
	t := 32*u.e.Warp + lane
	return stamp > u.clk.component(t, epoch) && stamp > u.clk.component(t, proxied+32*warp+other) &&
		u.clk.ordered(stamp, warp, other, u.e.Warp, lane)
}

// phaseClock is what an mbarrier hands on.
type phaseClock struct {
	arrived, done []uint32
	passes        phasePasses
}

// startBulk prepares for a program that uses mbarriers, bulk operations or wgmma; for others it does nothing.
func (u *races) startBulk() {
	uses := slices.ContainsFunc(u.sites, func(s site) bool {
		switch s.in.Kind() {
		case isa.MBarrier, isa.BulkCopy, isa.ArriveAsync, isa.WaitBulk, isa.WgmmaMultiply:
			return true
		}
		return false
	})
	if !uses {
		return
	}
	u.bulk = &bulkState{
		known: map[int]int{}, open: make([][32]uint32, len(u.clk.warps)), phases: map[int]*phaseClock{},
		products: make([]uint32, len(u.clk.warps)), inits: map[int]*mbarrierInit{},
		maps: map[uint64][]mapAcquire{},
	}
	n := 2*u.clk.threads() + 1 + mechanisms
	if usesMaps(u.sites) {
		n += u.clk.threads() + 1
	}
	u.clk.rows = make([][]uint32, n)
	u.clk.shared = make([]uint32, n)
}

// threads is the number of threads of whole warps.
func (c *clocks) threads() int { return 32 * len(c.warps) }

// extension is where a row's proxied stamps, their epoch and its completions begin.
func (c *clocks) extension() (proxied, epoch, completed int) {
	n := c.threads()
	return n, 2 * n, 2*n + 1
}

// mapExtension is where the part of a row begins that programs with tensor maps in memory have: by thread, up
// to which stamp its writes are released to the tensormap proxy, and as epoch does for proxied.
func (c *clocks) mapExtension() (released, epoch int) {
	_, _, completed := c.extension()
	n := completed + mechanisms
	return n, n + c.threads()
}

// component is a thread's stamp in the extension of its row.
func (c *clocks) component(thread, i int) uint32 {
	v := c.shared[i]
	if r := c.rows[thread]; r != nil {
		v = max(v, r[i])
	}
	return v
}

// keepShared keeps the extensions of rows that a barrier of all threads drops.
func (c *clocks) keepShared() {
	from, _, _ := c.extension()
	var last []uint32
	for _, r := range c.rows[:c.threads()] {
		if r != nil && !same(r, last) {
			maximum(c.shared[from:], r[from:])
			last = r
		}
	}
}

// setComponent raises one stamp of a thread's row.
func (c *clocks) setComponent(thread, i int, v uint32) {
	row := make([]uint32, len(c.rows))
	copy(row, c.rows[thread])
	row[i] = max(row[i], v)
	c.rows[thread] = row
	c.single, c.warps[thread/32].fresh = true, true
}

// proxyFenced makes what a thread has done, and is ordered after, visible to the async proxy.
func (c *clocks) proxyFenced(warp, lane int) {
	proxied, epoch, _ := c.extension()
	c.visible(warp, lane, proxied, epoch)
}

// visible raises the part of a thread's row that says what a proxy sees, with its epoch, to what the thread
// has done and is ordered after.
func (c *clocks) visible(warp, lane, part, epoch int) {
	t := 32*warp + lane
	row := make([]uint32, len(c.rows))
	copy(row, c.rows[t])
	for i := range c.threads() {
		row[part+i] = max(row[part+i], row[i])
	}
	w := &c.warps[warp]
	for i := range 32 {
		row[part+32*warp+i] = max(row[part+32*warp+i], w.joined)
	}
	row[part+t] = max(row[part+t], w.time)
	row[epoch] = max(row[epoch], c.blockEpoch)
	c.rows[t] = row
}

// event is a new stamp, which belongs to no warp.
func (c *clocks) event() uint32 {
	c.now++
	c.moments = append(c.moments, moment{-1, -1, -1})
	for i := range c.warps {
		c.warps[i].fresh = true
	}
	return c.now
}

// proxyFence reports whether a fence is one between the generic and the async proxy, which orders no threads.
func proxyFence(in *ptx.Instr) bool {
	return in.Kind() == isa.Fence && in.Has("proxy") && in.Has("async")
}

// bulkEvent takes an event of bulk operations or mbarriers.
func (u *races) bulkEvent(e *target.Event) {
	if u.bulk == nil {
		return
	}
	switch e.Class {
	case target.ClassBulk:
		u.issueBulk(e)
	case target.ClassBulkLand:
		u.landBulk(e)
	case target.ClassBulkCommit:
		for m := e.Mask; m != 0; m &= m - 1 {
			u.bulk.open[e.Warp][bits.TrailingZeros32(m)&31]++
		}
	case target.ClassBulkWait:
		u.waitBulk(e)
	case target.ClassWgmma:
		u.issueWgmma(e)
	case target.ClassWgmmaCommit:
		u.bulk.products[e.Warp]++
	case target.ClassWgmmaWait:
		u.waitWgmma(e)
	case target.ClassMBarrier:
		u.mbarrier(e)
	case target.ClassMBarrierDone:
		u.phaseDone(e)
	case target.ClassMBarrierPass:
		u.phasePassed(e)
	}
}

// mechanism numbers the completion mechanism of an mbarrier, or of a thread's bulk groups.
func (s *bulkState) mechanism(key int) int {
	i, ok := s.known[key]
	if !ok {
		i = min(len(s.known), mechanisms-1)
		s.known[key] = i
	}
	return i
}

// touches returns the first byte of [lo, hi) that the operation accesses; ok is false where there is none.
func (r *bulkRecord) touches(lo, hi uint64) (at uint64, ok bool) {
	if r.lo >= hi || r.hi <= lo {
		return 0, false
	}
	if r.parts == nil {
		return max(lo, r.lo), true
	}
	i := slices.IndexFunc(r.parts, func(p target.Range) bool { return p.Lo < hi && p.Hi > lo })
	if i < 0 {
		return 0, false
	}
	return max(lo, r.parts[i].Lo), true
}

// wgmma reports whether the operation is a product of a warpgroup.
func (r *bulkRecord) wgmma() bool { return r.parts != nil && r.tile == 0 }

// again reports whether a product is an earlier one executed again, with the same operands. It is complete
// later: whoever races with the earlier one races with it.
func (r *bulkRecord) again(o *bulkRecord) bool {
	return r.wgmma() && o.wgmma() && o.at == r.at && o.lane == r.lane && o.lo == r.lo && o.hi == r.hi &&
		o.writes == r.writes && o.mechanism == r.mechanism && slices.Equal(o.parts, r.parts)
}

// ranges are the bytes that the operation accesses.
func (r *bulkRecord) ranges() []target.Range {
	if r.parts != nil {
		return r.parts
	}
	return []target.Range{{Lo: r.lo, Hi: r.hi}}
}

// issueTile is issueBulk of a tensor copy.
func (u *races) issueTile(e *target.Event, lane int) {
	u.begin(e)
	stores := e.Space == target.SpaceGlobal
	near := e.Addr[lane]
	if stores {
		near = e.Addr2[lane]
	}
	key := e.Barrier
	if key < 0 {
		key = -1 - (32*e.Warp + lane)
	}
	sh := bulkRecord{
		space: target.SpaceShared, lo: near, hi: near + uint64(e.Bytes), writes: !stores, at: u.at,
		lane: lane, when: u.clk.warps[e.Warp].at, mechanism: u.bulk.mechanism(key), mbar: e.Barrier,
		group: u.bulk.open[e.Warp][lane], tile: near + 1,
	}
	if near%tensormapAlign != 0 || !u.inside(&sh) {
		return // found elsewhere, and without effect
	}
	u.readMap(e, lane)
	u.unseenInit(e.Barrier, lane)
	u.heldBack(e.Barrier, lane)
	far := sh
	far.space, far.writes, far.combines = target.SpaceGlobal, stores, e.Instr.Has("reduce")
	rs := []*bulkRecord{&sh}
	if n := len(e.Ranges); n > 0 {
		far.lo, far.hi, far.parts = e.Ranges[0].Lo, e.Ranges[n-1].Hi, slices.Clone(e.Ranges)
		if stores && !far.combines && u.repeated(&far) {
			return
		}
		if rs = append(rs, &far); !stores {
			rs[0], rs[1] = rs[1], rs[0]
		}
	}
	u.beginRecords(e, lane, rs)
}

// repeated reports whether another lane of the warp stores the same box from the same place with the same
// instruction: bytes that are the same, whoever writes them last.
func (u *races) repeated(r *bulkRecord) bool {
	return slices.ContainsFunc(u.bulk.live, func(o bulkRecord) bool {
		return o.writes && !o.done && o.at == r.at && o.lane != r.lane && o.when == r.when &&
			o.tile == r.tile && slices.Equal(o.parts, r.parts)
	})
}

// tensormapAlign is what the shared address of a tensor copy is a multiple of.
const tensormapAlign = 128

// issueBulk compares an operation with what was before it, and begins its records.
func (u *races) issueBulk(e *target.Event) {
	lane := bits.TrailingZeros32(e.Mask) & 31
	if e.Ranges != nil {
		u.issueTile(e, lane)
		return
	}
	u.begin(e)
	mbar := e.Barrier
	key := mbar
	if mbar < 0 {
		key = -1 - (32*e.Warp + lane)
	}
	to := bulkRecord{
		space: e.Space, lo: e.Addr[lane], hi: e.Addr[lane] + uint64(e.Bytes), writes: true,
		combines: e.Instr.Has("reduce"), at: u.at, lane: lane, when: u.clk.warps[e.Warp].at,
		mechanism: u.bulk.mechanism(key), mbar: mbar, group: u.bulk.open[e.Warp][lane],
	}
	from := to
	from.space, from.writes, from.combines = target.SpaceShared, false, false
	from.lo, from.hi = e.Addr2[lane], e.Addr2[lane]+uint64(e.Bytes)
	if e.Space == target.SpaceShared && e.Instr.Has("global") {
		from.space = target.SpaceGlobal
	}
	if e.Bytes <= 0 || e.Bytes%16 != 0 || to.lo%16 != 0 || from.lo%16 != 0 || !u.inside(&to) ||
		!u.inside(&from) {
		return // found elsewhere, and without effect
	}
	u.unseenInit(mbar, lane)
	u.heldBack(mbar, lane)
	u.beginRecords(e, lane, []*bulkRecord{&from, &to})
}

// beginRecords compares what an operation reads, then what it writes, with what was before it.
func (u *races) beginRecords(e *target.Event, lane int, rs []*bulkRecord) {
	for _, r := range rs {
		if r.space == target.SpaceGlobal && !u.watched(r.lo) {
			continue
		}
		u.space, u.bulkWrites = r.space, r.writes
		for _, p := range r.ranges() {
			if u.overBulk(r.space, p.Lo, p.Hi, lane, r.writes, r.combines) {
				break
			}
		}
		u.overCells(r, lane)
		u.bulk.live = slices.DeleteFunc(u.bulk.live, func(o bulkRecord) bool {
			over := r.writes && r.parts == nil && o.space == r.space && o.lo >= r.lo && o.hi <= r.hi
			return over && o.done || r.again(&o)
		})
		u.bulk.live = append(u.bulk.live, *r)
	}
	u.bulkWrites = false
	u.clk.warps[e.Warp].fresh = true
}

// inside reports whether a record lies in memory.
func (u *races) inside(r *bulkRecord) bool {
	if r.space == target.SpaceShared {
		return r.hi <= u.bytes
	}
	_, hi, _ := u.b.view.Extent(r.lo)
	return hi >= r.hi
}

// overCells compares an operation that is being issued with ordinary accesses before it.
func (u *races) overCells(r *bulkRecord, lane int) {
	who := uint32(1) << lane
	visit := func(c *cell, l *list) {
		u.unfenced(&c.w, lane)
		switch {
		case r.combines && r.space == target.SpaceGlobal:
			if !u.settled(&c.w, who) {
				u.conflict(&c.w, who, true)
			}
		case r.writes:
			u.write(c, who, l)
			if r.space == target.SpaceShared {
				c.w = access{} // from here on its record says who may touch the bytes
			}
		case r.space == target.SpaceGlobal:
			u.read(c, who, l)
		default:
			if !u.settled(&c.w, who) {
				u.conflict(&c.w, who, true)
			}
		}
	}
	if r.space == target.SpaceGlobal {
		for _, p := range r.ranges() {
			if u.grid != nil && !r.combines {
				u.grid.across(u, p.Lo, int(p.Hi-p.Lo), lane, nil)
			}
			for at := p.Lo; at < p.Hi; {
				n := looks(at, p.Hi)
				u.eachGlobal(at, n, func(c *cell) { visit(c, &u.glob.list) })
				at += uint64(n)
			}
		}
		return
	}
	u.each(r.lo, int(r.hi-r.lo), func(c *cell) { visit(c, &u.mem.list) })
}

// looks is how many bytes from lo on, before hi, a look at cells may take at once: what lo is a multiple of.
func looks(lo, hi uint64) int {
	n := uint64(lineSize)
	if lo%n == 0 {
		return int(max((hi-lo)&^(n-1), min(n, 1<<(bits.Len64(hi-lo)-1))))
	}
	return int(min(lo&-lo, 1<<(bits.Len64(hi-lo)-1)))
}

// unfenced reports an ordinary write that is ordered before an operation, and for which no fence.proxy.async
// stands between the two.
func (u *races) unfenced(a *access, lane int) {
	if a.stamp == 0 || a.stamp == underWay || a.stamp < u.clk.first {
		return // of an earlier block, or not ordered
	}
	if u.sites[a.pc()].in.Kind() == isa.BulkCopy {
		return // the async proxy's own
	}
	for o := a.mask & u.clk.warps[a.warp()].existing(); o != 0; o &= o - 1 {
		other := bits.TrailingZeros32(o) & 31
		if !u.unproxied(a.stamp, a.warp(), other, lane) {
			continue
		}
		u.record(side{pc: a.pc(), warp: a.warp(), lane: other, writes: true, when: u.clk.moment(a.stamp)},
			u.now(lane), pairProxy)
		return
	}
}

// overBulk compares an access of one lane with the operations under way, or completed without the lane having
// learned of it. It reports whether it found one.
func (u *races) overBulk(space target.Space, lo, hi uint64, lane int, writes, combines bool) bool {
	_, _, completed := u.clk.extension()
	t := 32*u.e.Warp + lane
	for i := range u.bulk.live {
		r := &u.bulk.live[i]
		if r.space != space || !writes && !r.writes || combines && r.combines ||
			r.done && r.stamp <= u.clk.component(t, completed+r.mechanism) {
			continue
		}
		at, ok := r.touches(lo, hi)
		if !ok {
			continue
		}
		u.addr = at
		u.record(side{pc: r.pc(), warp: r.warp(), lane: r.lane, writes: r.writes, when: r.when}, u.now(lane),
			pairBulk)
		return true
	}
	return false
}

// bulkAccess compares an ordinary access with the operations. It returns the lanes that race with none.
func (u *races) bulkAccess(e *target.Event) (left uint32) {
	if u.bulk == nil || len(u.bulk.live) == 0 || e.Probe {
		return e.Mask
	}
	u.begin(e)
	left = e.Mask
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		lo := e.Addr[lane]
		if u.overBulk(e.Space, lo, lo+uint64(e.Bytes), lane, u.s.writes, false) {
			left &^= 1 << lane
		}
	}
	return left
}

// landBulk notes that an operation has read and written what it does.
func (u *races) landBulk(e *target.Event) {
	lane := bits.TrailingZeros32(e.Mask) & 31
	at := uint32(e.PC)<<5 | uint32(e.Warp)
	var to, from bool
	for i := range u.bulk.live {
		r := &u.bulk.live[i]
		if r.at != at || r.lane != lane || r.landed || r.mbar != e.Barrier {
			continue
		}
		if r.tile > 0 {
			near := e.Addr[lane]
			if e.Space == target.SpaceGlobal {
				near = e.Addr2[lane]
			}
			r.landed = r.landed || e.Ranges != nil && r.tile == near+1
			continue
		}
		if r.writes && !to && r.lo == e.Addr[lane] {
			r.landed, to = true, true
		} else if !r.writes && !from && r.lo == e.Addr2[lane] {
			r.landed, from = true, true
		}
	}
}

// waitBulk completes the operations of the bulk groups that lanes wait for.
func (u *races) waitBulk(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	reads := e.Instr.Has("read")
	stamp := u.clk.event()
	_, _, completed := u.clk.extension()
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		some, mechanism := false, 0
		for i := range u.bulk.live {
			r := &u.bulk.live[i]
			if r.mbar >= 0 || r.wgmma() || r.warp() != e.Warp || r.lane != lane || r.done ||
				reads && r.writes || r.group+uint32(e.Value) >= u.bulk.open[e.Warp][lane] {
				continue
			}
			r.done, r.stamp, some, mechanism = true, stamp, true, r.mechanism
		}
		if some {
			u.clk.setComponent(32*e.Warp+lane, completed+mechanism, stamp)
		}
	}
}

// phase is what the mbarrier at an address hands on.
func (u *races) phase(addr int) *phaseClock {
	p := u.bulk.phases[addr]
	if p == nil {
		p = &phaseClock{arrived: make([]uint32, len(u.clk.rows))}
		u.bulk.phases[addr] = p
	}
	return p
}

// mbarrier is an instruction of mbarriers.
func (u *races) mbarrier(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	u.begin(e)
	in := e.Instr
	copies := in.Kind() == isa.ArriveAsync
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		if addr+8 > u.bytes || addr%8 != 0 {
			continue
		}
		u.each(addr, 8, func(c *cell) {
			if u.s.strong {
				u.strong(c, 1<<lane, &u.mem.list)
			} else {
				u.write(c, 1<<lane, &u.mem.list)
			}
		})
		switch {
		case copies:
			u.copiesArrive(e, lane)
		case in.Has("init"):
			delete(u.bulk.phases, int(addr))
			u.bulk.inits[int(addr)] = &mbarrierInit{
				stamp: u.stamp, when: u.clk.warps[e.Warp].at, pc: e.PC, warp: e.Warp, lane: lane,
			}
		case (in.Has("arrive") || in.Has("arrive_drop")) && !in.Has("relaxed"):
			u.publishLane(lane, u.phase(int(addr)).arrived)
			u.heldBack(int(addr), lane)
		case in.Has("arrive"), in.Has("arrive_drop"), in.Has("expect_tx"), in.Has("complete_tx"):
			u.heldBack(int(addr), lane)
		}
	}
}

// copiesArrive makes the cp.async that a lane has under way operations that complete on an mbarrier.
func (u *races) copiesArrive(e *target.Event, lane int) {
	addr := int(e.Addr[lane])
	u.heldBack(addr, lane)
	for i := range u.async.copies[e.Warp] {
		c := &u.async.copies[e.Warp][i]
		if c.mask>>lane&1 == 0 {
			continue
		}
		c.mask &^= 1 << lane
		u.each(c.dst[lane], c.bytes, func(k *cell) {
			if k.w.stamp == underWay && k.w.at == c.at {
				k.w = access{}
			}
		})
		u.sourceRead(c, 1<<lane)
		u.bulk.live = slices.DeleteFunc(u.bulk.live, func(o bulkRecord) bool {
			return o.done && o.space == target.SpaceShared && o.lo >= c.dst[lane] &&
				o.hi <= c.dst[lane]+uint64(c.bytes)
		})
		u.bulk.live = append(u.bulk.live, bulkRecord{
			space: target.SpaceShared, lo: c.dst[lane], hi: c.dst[lane] + uint64(c.bytes), writes: true,
			at: c.at, lane: lane, when: c.when, mechanism: u.bulk.mechanism(addr), mbar: addr,
			group: c.group[lane], landed: true,
		})
	}
}

// copiesWaited gives a lane that waits for its cp.async what it has learned of those that complete on an
// mbarrier.
func (u *races) copiesWaited(e *target.Event, all bool) {
	if u.bulk == nil {
		return
	}
	_, _, completed := u.clk.extension()
	for i := range u.bulk.live {
		r := &u.bulk.live[i]
		if r.mbar < 0 || r.done || r.warp() != e.Warp || e.Mask>>r.lane&1 == 0 || !u.sites[r.pc()].async ||
			!all && r.group+uint32(e.Value) >= u.async.open[e.Warp][r.lane] {
			continue
		}
		r.done, r.stamp = true, u.clk.event()
		u.clk.setComponent(32*e.Warp+r.lane, completed+r.mechanism, r.stamp)
	}
}

// phaseDone completes the operations that have landed, and hands on what threads arrived with.
func (u *races) phaseDone(e *target.Event) {
	p := u.phase(e.Barrier)
	_, _, completed := u.clk.extension()
	stamp := uint32(0)
	for i := range u.bulk.live {
		r := &u.bulk.live[i]
		if r.mbar != e.Barrier || !r.landed || r.done {
			continue
		}
		if stamp == 0 {
			stamp = u.clk.event()
		}
		r.done, r.stamp = true, stamp
		p.arrived[completed+r.mechanism] = stamp
	}
	p.done = slices.Clone(p.arrived)
	u.overtaken(e.Barrier, p)
}

// phasePassed gives lanes what the last phase of the mbarriers that they have waited at hands on.
func (u *races) phasePassed(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	defer u.passed(e)
	if e.Instr.Has("relaxed") {
		return
	}
	for m := e.Mask; m != 0; {
		lane := bits.TrailingZeros32(m) & 31
		addr, old := e.Addr[lane], u.clk.rows[32*e.Warp+lane]
		alike := uint32(0)
		for l := m; l != 0; l &= l - 1 {
			i := bits.TrailingZeros32(l) & 31
			if e.Addr[i] == addr && same(u.clk.rows[32*e.Warp+i], old) {
				alike |= 1 << i
			}
		}
		m &^= alike
		p := u.bulk.phases[int(addr)]
		if p == nil || p.done == nil {
			continue
		}
		row := slices.Clone(p.done)
		if old != nil {
			maximum(row, old)
		}
		u.clk.joinClock(e.Warp, alike, row)
	}
}

// dropKnown drops the operations that all threads have learned of at a barrier.
func (u *races) dropKnown() {
	_, _, completed := u.clk.extension()
	u.bulk.live = slices.DeleteFunc(u.bulk.live, func(r bulkRecord) bool {
		return r.done && r.stamp <= u.clk.shared[completed+r.mechanism]
	})
}
