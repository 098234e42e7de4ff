package check

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// side is one access of a pair.
type side struct {
	pc, warp, lane int
	writes         bool
	when           moment
}

// pairKind says what is wrong with a pair of accesses.
type pairKind uint8

const (
	pairRace        pairKind = iota // unordered
	pairEarly                       // the first is a cp.async that was not waited for
	pairUnpublished                 // the first is a cp.async, waited for by its issuer, and no barrier since
	pairBlocks                      // unordered, in different blocks
	pairBulk                        // the first is a bulk operation that the second does not know complete
	pairProxy                       // ordered, but no fence.proxy.async makes the first visible to the second
)

// pairKey is what pairs have in common that differ in element, lane and block only. The first access is the
// one that comes first in the program: the earlier iteration, then the earlier instruction; which of them
// executed first is chance.
type pairKey struct {
	kind          pairKind
	first, second int32 // PCs
	wrote, writes bool  // the first, the second writes
	warp          bool  // both in one warp
	wrapped       bool  // the second is in a later iteration of the loop around both
	same          bool  // both write the same value
	variable      string
}

// pair is a pair of accesses that nothing orders, and how often it was seen.
type pair struct {
	pairKey
	one, two side // the first time, and where
	index    []int
	space    target.Space
	block    [2]int // linear index of each side's block
	loop     int32
	count    int
	// observed: of two writes in shared memory by one warp: something read the cell while
	// their order was open
	observed bool
	lacks    lack // between blocks
	product  bool // of pairBulk and pairProxy: the operation is a wgmma
	init     bool // of pairProxy: the first initialises the mbarrier that the second completes on
}

// now is the access under way, of one lane.
func (u *races) now(lane int) side {
	return side{
		pc: u.e.PC, warp: u.e.Warp, lane: lane,
		writes: u.bulkWrites || u.s.writes && (!u.s.async || u.space == target.SpaceShared),
		when:   u.clk.warps[u.e.Warp].at,
	}
}

// found is a race of a past access of a lane with the one under way.
func (u *races) found(a *access, other, lane int, wrote bool) {
	if u.afterRead(a, other, lane) {
		return
	}
	u.record(side{pc: a.pc(), warp: a.warp(), lane: other, writes: wrote, when: u.clk.moment(a.stamp)},
		u.now(lane), pairRace)
}

// before reports whether a comes before b in the program.
func before(a, b side) bool {
	if a.when.loop == b.when.loop && a.when.loop >= 0 && a.when.iteration != b.when.iteration {
		return a.when.iteration < b.when.iteration
	}
	return a.pc < b.pc
}

// record counts a pair: a past access and the one under way. Of pairEarly the past one is a copy under way.
func (u *races) record(past, now side, kind pairKind) {
	v := u.b.view
	// an mbarrier is not what the address of the copy that completes on it is of
	init := kind == pairProxy && u.sites[past.pc].in.Kind() == isa.MBarrier
	if v.Strays(past.pc, u.space, u.addr) || !init && v.Strays(now.pc, u.space, u.addr) {
		return
	}
	first, second := past, now
	bulk := u.e.Class == target.ClassBulk || u.e.Class == target.ClassWgmma
	// of warps that have loops of their own, the text does not say what comes first
	apart := (bulk || kind == pairBulk) && past.when.loop != now.when.loop
	if kind != pairProxy && !apart && before(now, past) {
		if first, second, kind = now, past, pairRace; bulk {
			kind = pairBulk
		}
	}
	fixed := kind == pairBulk || kind == pairProxy
	if !fixed && first.pc == second.pc && first.when == second.when && second.warp < first.warp {
		first, second = second, first // neither comes first
	}
	if async := first.writes && u.sites[first.pc].async; kind == pairRace && async && !second.writes {
		kind = pairUnpublished
	}
	if set := u.b.checker.options.Set; (kind == pairRace || fixed) && !set.Has(Races) ||
		kind != pairRace && !fixed && !set.Has(Async) {
		return
	}
	k := pairKey{
		kind: kind, first: int32(first.pc), second: int32(second.pc), wrote: first.writes,
		writes: second.writes, warp: first.warp == second.warp,
		wrapped:  first.when.loop == second.when.loop && first.when.iteration < second.when.iteration,
		variable: u.variable(),
	}
	k.same = first.writes && second.writes && kind == pairRace && u.sameValue(past, now)
	if p := u.pairs[k]; p != nil {
		p.count++
		u.undecided(p)
		return
	}
	p := &pair{pairKey: k, one: first, two: second, space: u.space, count: 1, loop: -1}
	p.block = [2]int{u.b.linear(), u.b.linear()}
	p.init = init
	p.product = u.sites[first.pc].product() || kind == pairProxy && u.sites[second.pc].product()
	if first.when.loop == second.when.loop {
		p.loop = first.when.loop
	}
	_, p.index = v.Name(u.space, u.addr)
	u.pairs[k] = p
	u.order = append(u.order, p)
	u.undecided(p)
}

// undecided follows what becomes of the cell under way, where two lanes of a warp wrote it in an order that
// may have no effect.
func (u *races) undecided(p *pair) {
	if p.warp && p.wrote && p.writes && p.kind == pairRace && u.space == target.SpaceShared && !p.observed {
		u.contend(p)
	}
}

// variable names what lies at the address under way.
func (u *races) variable() string {
	if u.space != target.SpaceShared {
		name, _ := u.b.view.Name(u.space, u.addr)
		return name
	}
	i := u.addr / 4
	if u.names[i] == 0 {
		name, _ := u.b.view.Name(u.space, u.addr)
		u.titles = append(u.titles, name)
		u.names[i] = int32(len(u.titles) - 1)
	}
	return u.titles[u.names[i]]
}

// sameValue reports whether a store writes what the past write, the last one to these bytes, wrote.
func (u *races) sameValue(past, now side) bool {
	if o := &u.sites[past.pc]; u.e.Class != target.ClassStore || u.s.whole || o.whole || o.reads || o.async {
		return false
	}
	var mine, theirs [64]byte
	n := u.b.view.Stored(now.lane, mine[:])
	off := int(u.addr - u.e.Addr[now.lane])
	if n == 0 || off >= n {
		return false
	}
	size := n - off
	if u.space == target.SpaceShared {
		size = min(size, 1<<u.mem.unit[u.addr>>lineBits])
	}
	if past.pc == now.pc && past.warp == now.warp && u.e.Mask>>past.lane&1 != 0 &&
		u.e.Addr[past.lane] == u.e.Addr[now.lane] {
		u.b.view.Stored(past.lane, theirs[:]) // the same instruction: nothing is written yet
		return string(mine[off:off+size]) == string(theirs[off:off+size])
	}
	return u.b.view.Memory(u.space, u.addr, now.warp, now.lane, theirs[:size]) == size &&
		string(mine[off:off+size]) == string(theirs[:size])
}
