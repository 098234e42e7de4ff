package emu

const allLanes = ^uint32(0)

// warp is 32 lanes: their registers, and the groups that they run in.
type warp struct {
	blk     *block
	id      int
	r32     []row32
	r64     []row64
	u32     []uint8 // slot states
	u64     []uint8
	pred    []uint32
	exists  uint32 // lanes that the block has
	alive   uint32 // of those, lanes that have not exited
	groups  []group
	cur     int
	loops   []int32     // how often the back edge of each outermost loop was taken by all lanes together
	ahead   [][32]int32 // and how often more by each lane, in a part of the warp; nil until that happens
	async   asyncQueue
	wgmma   *wgmmaWarp // nil: the program has no wgmma
	spins   int        // backward branches since the warp was scheduled
	backs   int        // and since its state was last looked at (wait.go)
	cycle   cycle
	timed   timedCycle
	cluster clusterLanes

	sp    [32]uint32   // stack pointers
	saved [32][]uint64 // what calls have saved of the lanes' registers

	t32 row32 // a result of which only some lanes are stored
	t64 row64

	lastPoll *inst // the load or atomic that it may wait with
	pollers  uint32
}

// yieldAfter is how many backward branches a group takes before the others go first.
const yieldAfter = 64

// turn says how a warp's run ended.
type turn uint8

const (
	turnOver           turn = iota // others may go first
	turnKept                       // stopped between two groups: the turn goes on with the choice of one
	stoppedBeforeInstr             // stopped before an instruction of the current group
)

// run executes until no group can go on, the block's clock reaches its limit, or the warp should let others
// go first. from is how its turn was interrupted, turnOver where it has a new one.
func (w *warp) run(from turn) turn {
	b := w.blk
	code := b.p.code
	if from == turnOver {
		w.spins = 0
	}
	for {
		if from != stoppedBeforeInstr && !w.pick() {
			return turnOver
		}
		from = turnOver
		g := &w.groups[w.cur]
		pc, mask := g.pc, g.mask
		until := w.reconvergencePC()
		for pc < until {
			if b.clock >= b.limit && !(b.clock == b.stepTo && w.onlyWaits(&code[pc], mask)) {
				g.pc = pc
				return stoppedBeforeInstr
			}
			in := &code[pc]
			m := w.guarded(in, mask)
			if b.watched && b.observedClasses.Has(in.class) && !w.observe(in, m, pc) {
				g.pc = pc
				return stoppedBeforeInstr
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

// guarded is the lanes of mask that an instruction's guard lets execute it.
func (w *warp) guarded(in *inst, mask uint32) uint32 {
	if in.guard < 0 {
		return mask
	}
	if in.guardNeg {
		return mask &^ w.pred[in.guard]
	}
	return mask & w.pred[in.guard]
}

// turnAfter says whether the instruction that stopped the warp ended its turn, or only somebody
// who wanted to look.
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

// onlyWaits reports whether a .sync instruction would not execute yet, but wait for lanes that are not here:
// it does not count, and a block stops in front of one that does. A time slice ends in front of either.
func (w *warp) onlyWaits(in *inst, mask uint32) bool {
	s := &w.blk.sched
	if !in.flow.whole() || s.until > 0 && w.blk.clock >= s.until {
		return false
	}
	m := w.guarded(in, mask)
	if m == 0 {
		return false
	}
	need := w.named(in, m) & w.alive
	return need&^mask != 0 && !(in.bar != nil && in.bar.op == barWarp && need&^w.gathered() == 0)
}
