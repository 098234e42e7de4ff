package emu

import "math/bits"

// Bits of a slot's state.
const (
	stUniform = 1 // lane 0 stands for all lanes
	stFilled  = 2 // every lane is filled in
)

const allLanes = ^uint32(0)

// warp is 32 lanes: their registers, and the groups that they run in.
type warp struct {
	blk    *block
	id     int
	r32    []row32
	r64    []row64
	u32    []uint8 // slot states
	u64    []uint8
	pred   []uint32
	exists uint32 // lanes that the block has
	alive  uint32 // of those, lanes that have not exited
	groups []group
	cur    int
	loops  []int32     // how often the back edge of each outermost loop was taken by all lanes together
	ahead  [][32]int32 // and how often more by each lane, in a part of the warp; nil until that happens
	async  asyncQueue
	spins  int // backward branches since the warp was scheduled
}

// group is the lanes that share a PC (and a call stack).
type group struct {
	pc      int32
	mask    uint32
	need    uint32 // waitLanes: the lanes that must be here
	back    int32  // backward branches taken since it was last alone or yielded
	wait    waitKind
	yielded bool
	barrier uint8
	stack   []int32
}

type waitKind uint8

const (
	waitNone    waitKind = iota
	waitLanes            // a .sync instruction, for lanes
	waitBarrier          // a block barrier
)

// yieldAfter is how many backward branches a group takes before the others go first.
const yieldAfter = 64

// fill32 makes a slot valid in every lane.
func (w *warp) fill32(s int32) {
	r := &w.r32[s]
	v := r[0]
	for i := range r {
		r[i] = v
	}
	w.u32[s] |= stFilled
}

func (w *warp) fill64(s int32) {
	r := &w.r64[s]
	v := r[0]
	for i := range r {
		r[i] = v
	}
	w.u64[s] |= stFilled
}

// full32 returns a slot with every lane valid.
func (w *warp) full32(s int32) *row32 {
	if w.u32[s]&stFilled == 0 {
		w.fill32(s)
	}
	return &w.r32[s]
}

func (w *warp) full64(s int32) *row64 {
	if w.u64[s]&stFilled == 0 {
		w.fill64(s)
	}
	return &w.r64[s]
}

// present is a slot with zeroes in the lanes that are not in mask, for instructions that look across lanes: what a lane
// holds that is not there is undefined.
func (w *warp) present(s int32, mask uint32) *row32 {
	r := w.full32(s)
	if mask == allLanes {
		return r
	}
	var t row32
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		t[i] = r[i]
	}
	return &t
}

// store32 merges v into the lanes of mask.
func (w *warp) store32(s int32, v *row32, mask uint32) {
	d := w.full32(s)
	w.u32[s] = stFilled
	if mask == allLanes {
		*d = *v
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = v[i]
	}
}

func (w *warp) store64(s int32, v *row64, mask uint32) {
	d := w.full64(s)
	w.u64[s] = stFilled
	if mask == allLanes {
		*d = *v
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = v[i]
	}
}

// set32 gives the lanes of mask one value.
func (w *warp) set32(s int32, v uint32, mask uint32) {
	if mask == w.alive {
		w.r32[s][0] = v
		w.u32[s] = stUniform
		return
	}
	d := w.full32(s)
	w.u32[s] = stFilled
	for m := mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)&31] = v
	}
}

func (w *warp) set64(s int32, v uint64, mask uint32) {
	if mask == w.alive {
		w.r64[s][0] = v
		w.u64[s] = stUniform
		return
	}
	d := w.full64(s)
	w.u64[s] = stFilled
	for m := mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)&31] = v
	}
}

// setPred gives the lanes of mask their bits of v.
func (w *warp) setPred(p int32, v, mask uint32) {
	if p >= 0 {
		w.pred[p] = w.pred[p]&^mask | v&mask
	}
}

// predicate reads the instruction's source predicate.
func (w *warp) predicate(in *inst) uint32 {
	v := allLanes
	if in.pc >= 0 {
		v = w.pred[in.pc]
	}
	if in.negC {
		v = ^v
	}
	return v
}

// lane32 and lane64 read one lane of a slot.
func (w *warp) lane32(s int32, lane int) uint32 {
	if w.u32[s]&stFilled == 0 {
		lane = 0
	}
	return w.r32[s][lane&31]
}

func (w *warp) lane64(s int32, lane int) uint64 {
	if w.u64[s]&stFilled == 0 {
		lane = 0
	}
	return w.r64[s][lane&31]
}

// turn says how a warp's run ended.
type turn uint8

const (
	turnOver turn = iota // others may go first
	turnKept             // stopped between two groups: the turn goes on with the choice of one
	turnHeld             // stopped in front of an instruction of the current group
)

// run executes until no group can go on, the block's clock reaches its limit, or the warp should let others go first. from
// is how its turn was interrupted, turnOver where it has a new one.
func (w *warp) run(from turn) turn {
	b := w.blk
	code := b.p.code
	if from == turnOver {
		w.spins = 0
	}
	for {
		if from != turnHeld && !w.pick() {
			return turnOver
		}
		from = turnOver
		g := &w.groups[w.cur]
		pc, mask := g.pc, g.mask
		meet := w.meet()
		for pc < meet {
			if b.clock >= b.limit && !(b.clock == b.stepTo && w.onlyWaits(&code[pc], mask)) {
				g.pc = pc
				return turnHeld
			}
			in := &code[pc]
			m := mask
			if in.guard >= 0 {
				p := w.pred[in.guard]
				if in.guardNeg {
					p = ^p
				}
				m &= p
			}
			if b.watched && b.heeded.Has(in.class) && !w.observe(in, m, pc) {
				g.pc = pc
				return turnHeld
			}
			b.clock++
			if in.flow == flowNext {
				if m != 0 {
					in.run(w, in, m)
				}
				pc++
				continue
			}
			if in.flow == flowBranch && m == mask {
				if in.target > pc { // forward, all lanes: the common case
					pc = in.target
					if len(w.groups) > 1 {
						break
					}
					continue
				}
			} else if in.flow == flowBranch && m == 0 {
				pc++
				continue
			}
			g.pc = pc
			pc = -1
			if w.control(in, m) {
				return w.turnAfter(in)
			}
			break
		}
		if pc >= 0 {
			w.groups[w.cur].pc = pc
		}
	}
}

// turnAfter says whether the instruction that stopped the warp ended its turn, or only somebody who wanted to look.
func (w *warp) turnAfter(in *inst) turn {
	switch b := w.blk; in.flow {
	case flowBarrier:
		if !b.released || !b.sched.eager {
			return turnKept
		}
	case flowBranch, flowBrx:
		if w.spins < yieldAfter {
			return turnKept
		}
	}
	return turnOver
}

// onlyWaits reports whether a .sync instruction would not execute yet, but wait for lanes that are not here: it does not
// count, and a block stops in front of one that does. A time slice ends in front of either.
func (w *warp) onlyWaits(in *inst, mask uint32) bool {
	s := &w.blk.sched
	if in.flow != flowSync || s.until > 0 && w.blk.clock >= s.until {
		return false
	}
	m := mask
	if in.guard >= 0 {
		p := w.pred[in.guard]
		if in.guardNeg {
			p = ^p
		}
		m &= p
	}
	if m == 0 {
		return false
	}
	need := w.named(in, m) & w.alive
	return need&^mask != 0 && !(in.bar != nil && in.bar.op == barWarp && need&^w.gathered() == 0)
}

// meet returns the PC at which the current group has to look at the others again.
func (w *warp) meet() int32 {
	meet := int32(1<<31 - 1)
	if len(w.groups) > 1 {
		pc := w.groups[w.cur].pc
		for i := range w.groups {
			if q := w.groups[i].pc; i != w.cur && q > pc && q < meet {
				meet = q
			}
		}
	}
	return meet
}

// pick merges groups that stand together and chooses the one to run: the lowest PC of those that have not yielded. It
// reports false where none can run.
func (w *warp) pick() bool {
	if len(w.groups) == 1 {
		w.cur = 0
		g := &w.groups[0]
		return g.wait == waitNone || w.satisfied(g)
	}
	w.merge()
	best, yielded := -1, false
	for pass := 0; pass < 2 && best < 0; pass++ {
		for i := range w.groups {
			g := &w.groups[i]
			if g.wait != waitNone && !w.satisfied(g) {
				continue
			}
			if g.yielded {
				yielded = true
				continue
			}
			if best < 0 || g.pc < w.groups[best].pc {
				best = i
			}
		}
		if best < 0 && yielded {
			for i := range w.groups {
				w.groups[i].yielded = false
			}
		}
	}
	if best < 0 {
		return false
	}
	w.cur = best
	return true
}

// satisfied reports whether a waiting group may go on, and lets it.
func (w *warp) satisfied(g *group) bool {
	if g.wait == waitLanes && g.need&w.alive&^g.mask == 0 {
		g.wait = waitNone
		return true
	}
	return false
}

// merge joins groups with equal PC, wait and call stack.
func (w *warp) merge() {
	for i := 0; i < len(w.groups); i++ {
		g := &w.groups[i]
		for j := i + 1; j < len(w.groups); {
			h := &w.groups[j]
			if h.pc != g.pc || !sameStack(g.stack, h.stack) || (g.wait == waitBarrier) != (h.wait == waitBarrier) {
				j++
				continue
			}
			if flow := w.blk.p.code[g.pc].flow; w.blk.sched.apart && flow != flowSync && flow != flowBarrier {
				j++
				continue
			}
			g.mask |= h.mask
			g.need |= h.need
			g.back = max(g.back, h.back)
			if g.wait != h.wait {
				// One came to a .sync instruction that the other already waits at; both look again.
				g.wait, g.need = waitNone, 0
			}
			g.yielded = g.yielded && h.yielded
			w.groups = append(w.groups[:j], w.groups[j+1:]...)
		}
	}
}

func sameStack(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
