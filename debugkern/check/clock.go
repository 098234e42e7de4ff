package check

import "math/bits"

// Time. Every access of a warp carries a stamp; stamps are given out in increasing order over the whole
// block, and each belongs to one warp, so that "everything a warp did up to here" is one number.
// Happens-before is kept in three tiers, each looked at only where the one before it does not settle the
// matter:
//
//	blockEpoch  a barrier of all threads that are left: everything stamped up to here comes before everything after it
//	joined      a bar.warp.sync of all lanes: the same within one warp
//	rows        a vector of stamps for each thread: up to which stamp it is ordered after each other thread, above
//	            blockEpoch; by partial and named barriers, bar.warp.sync of some lanes, releases that were acquired
//
// A row is never changed once made, so threads that leave a barrier share one.
type clocks struct {
	now        uint32 // the last stamp given out
	blockEpoch uint32
	warps      []warpClock
	// rows: by thread; nil where a thread is ordered after no more than blockEpoch and joined give
	rows [][]uint32

	// What would hold if the last barrier of all threads were not there: see redundant.go.
	low uint32
	// before: blockEpoch at the last barrier of all threads that is another instruction than the last one
	before uint32
	last   int // PC of the last barrier of all threads, -1: none yet, or several instructions

	// shared: what all threads have of rows behind the stamps of threads (bulk.go); nil: rows have no more
	shared []uint32

	single bool // single threads have learned of others: not all order is by whole warps and blocks

	moments []moment // by stamp less first
	first   uint32
}

// moment says where a warp was when it took a stamp.
type moment struct{ tile, iteration, loop int32 }

// maxMoments bounds what is remembered of a block with very many iterations.
const maxMoments = 1 << 20

// warpClock is one warp's time.
type warpClock struct {
	time    uint32 // stamp of its accesses
	joined  uint32
	fresh   bool // the next access takes a new stamp
	alive   uint32
	touched uint32 // lanes that accessed anything after blockEpoch
	at      moment

	lowJoined    uint32 // joined, if the last bar.warp.sync were not there
	beforeJoined uint32 // joined at the last bar.warp.sync that is another instruction than the last one
	last         int    // PC of the last bar.warp.sync of all lanes
}

// begin starts a block of n threads whose first stamp follows from.
func (c *clocks) begin(n int, from uint32) {
	*c = clocks{
		now: from, blockEpoch: from, low: from, before: from, last: -1, first: from + 1,
		moments: c.moments[:0],
	}
	c.warps = make([]warpClock, (n+31)/32)
	c.rows = make([][]uint32, 32*len(c.warps))
	for i := range c.warps {
		w := &c.warps[i]
		*w = warpClock{
			time: from, joined: from, lowJoined: from, beforeJoined: from, last: -1, fresh: true,
			alive: allLanes,
		}
		if rest := n - 32*i; rest < 32 {
			w.alive = 1<<rest - 1
		}
	}
}

const allLanes = ^uint32(0)

// stamp is the time of a warp's access at a place in its loops.
func (c *clocks) stamp(w *warpClock, at moment) uint32 {
	if w.fresh || w.at != at {
		c.now++
		w.time, w.at, w.fresh = c.now, at, false
		c.moments = append(c.moments, at)
	}
	return w.time
}

// moment is where a warp was at a stamp of this block.
func (c *clocks) moment(stamp uint32) moment {
	if i := int(stamp) - int(c.first); i >= 0 && i < len(c.moments) {
		return c.moments[i]
	}
	return moment{-1, -1, -1}
}

// rowOrders reports whether the row of thread t orders it after what thread u did at a stamp. The caller
// compares blockEpoch and joined, which order the threads of a whole block and of a warp.
func (c *clocks) rowOrders(t, u int, stamp uint32) bool {
	r := c.rows[t]
	return r != nil && r[u] >= stamp
}

// ordered reports whether what lane of warp w does now comes after what another lane did at a stamp.
func (c *clocks) ordered(stamp uint32, warp, lane, nowWarp, nowLane int) bool {
	if stamp <= c.blockEpoch || warp == nowWarp && (lane == nowLane || stamp <= c.warps[warp].joined) {
		return true
	}
	return c.rowOrders(nowWarp*32+nowLane, warp*32+lane, stamp)
}

// arrival is some lanes of a warp at a barrier, with what they knew then.
type arrival struct {
	warp, pc int
	mask     uint32
	waits    bool // not bar.arrive
	time     uint32
	joined   uint32
	rows     [32][]uint32
}

// arrive notes that lanes come to a barrier.
func (c *clocks) arrive(warp, pc int, mask uint32, waits bool) arrival {
	w := &c.warps[warp]
	a := arrival{warp: warp, pc: pc, mask: mask, waits: waits, time: w.time, joined: w.joined}
	copy(a.rows[:], c.rows[32*warp:])
	w.fresh = true
	return a
}

// full reports whether a barrier ordered all accesses after blockEpoch: every thread that is left arrived and
// waited, and no thread that has exited made one.
func (c *clocks) full(as []arrival) bool {
	var came [32]uint32
	for i := range as {
		if !as[i].waits {
			return false
		}
		came[as[i].warp] |= as[i].mask
	}
	for i := range c.warps {
		if w := &c.warps[i]; came[i]&w.alive != w.alive || w.touched&^w.alive != 0 {
			return false
		}
	}
	return true
}

// raise makes everything up to now come before everything later: a barrier of all threads completed.
func (c *clocks) raise(pc int, needed bool) {
	if pc != c.last || pc < 0 {
		c.before = c.blockEpoch
	}
	c.last, c.blockEpoch = pc, c.now
	c.low = c.before
	if needed || pc < 0 {
		c.low = c.blockEpoch
	}
	if c.shared != nil {
		c.keepShared()
	}
	clear(c.rows)
	if len(c.moments) > maxMoments { // those before blockEpoch are read only for messages about other blocks
		c.moments, c.first = c.moments[:0], c.now+1
	}
	for i := range c.warps {
		c.warps[i].touched, c.warps[i].fresh = 0, true
	}
}

// exchange lets those who waited at a barrier know what all who came to it knew.
func (c *clocks) exchange(as []arrival) {
	row := make([]uint32, len(c.rows))
	for i := range as {
		as[i].publishClock(row)
	}
	for i := range as {
		if !as[i].waits {
			continue
		}
		c.joinClock(as[i].warp, as[i].mask, row)
	}
}

// publishClock raises a row, a vector of stamps by thread, to the clocks that the lanes of an arrival had
// when they arrived.
func (a *arrival) publishClock(row []uint32) {
	var previous []uint32
	for m := a.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		if r := a.rows[lane]; r != nil && (previous == nil || &r[0] != &previous[0]) {
			maximum(row, r)
			previous = r
		}
		row[32*a.warp+lane] = max(row[32*a.warp+lane], a.time)
	}
	for i := range row[32*a.warp:][:32] {
		row[32*a.warp+i] = max(row[32*a.warp+i], a.joined)
	}
}

// joinClock replaces the rows of some lanes of a warp by one that is at least theirs in every component.
func (c *clocks) joinClock(warp int, mask uint32, row []uint32) {
	for m := mask; m != 0; m &= m - 1 {
		c.rows[32*warp+bits.TrailingZeros32(m)] = row
	}
	c.single, c.warps[warp].fresh = true, true
}

// merge raises the row of one thread to another row's stamps.
func (c *clocks) merge(thread int, row []uint32) {
	if old := c.rows[thread]; old != nil {
		row = append([]uint32(nil), row...)
		maximum(row, old)
	}
	c.rows[thread] = row
	c.single, c.warps[thread/32].fresh = true, true
}

func maximum(to, from []uint32) {
	for i, v := range from {
		to[i] = max(to[i], v)
	}
}

// sync orders the lanes of a warp that pass a bar.warp.sync together.
func (c *clocks) sync(warp, pc int, mask uint32, needed bool) {
	w := &c.warps[warp]
	rows := c.rows[32*warp:][:32]
	if (w.alive|w.touched)&^mask == 0 {
		if pc != w.last {
			w.beforeJoined = w.joined
		}
		w.last, w.joined = pc, w.time
		w.lowJoined = w.beforeJoined
		if needed {
			w.lowJoined = w.joined
		}
		w.fresh = true
		one := true
		for m := mask; m != 0; m &= m - 1 {
			one = one && same(rows[bits.TrailingZeros32(m)], rows[bits.TrailingZeros32(mask)])
		}
		if one {
			return
		}
	}
	a := c.arrive(warp, pc, mask, true)
	row := make([]uint32, len(c.rows))
	a.publishClock(row)
	c.joinClock(warp, mask, row)
}

func same(a, b []uint32) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// existing is the lanes that a warp has, or had.
func (w *warpClock) existing() uint32 { return w.alive | w.touched }
