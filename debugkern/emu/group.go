package emu

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
	waitNone      waitKind = iota
	waitLanes              // a .sync instruction, for lanes
	waitBarrier            // a block barrier
	waitMBarrier           // an mbarrier
	waitCluster            // the barrier of the cluster
	waitWarpgroup          // a wgmma, for the other warps of the warpgroup
	waitRegisters          // a setmaxnreg.inc, for registers of the block
)

// arrived reports whether a group that waits so has executed the instruction that it stands at.
func (k waitKind) arrived() bool { return k >= waitBarrier }

// reconvergencePC returns the lowest PC above the current group's at which another group of the warp stands:
// the current group runs alone up to it. Without such a group it returns the largest int32.
func (w *warp) reconvergencePC() int32 {
	lowest := int32(1<<31 - 1)
	if len(w.groups) > 1 {
		pc := w.groups[w.cur].pc
		for i := range w.groups {
			if q := w.groups[i].pc; i != w.cur && q > pc && q < lowest {
				lowest = q
			}
		}
	}
	return lowest
}

// pick merges groups that stand together and chooses the one to run, of those that have not yielded: that
// with the most calls under way, so that lanes which called a function come back to the others before these
// go on, and the lowest PC of several. It reports false where none can run.
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
			if best < 0 || g.before(&w.groups[best]) {
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

// before reports whether a group runs before another.
func (g *group) before(o *group) bool {
	if len(g.stack) != len(o.stack) {
		return len(g.stack) > len(o.stack)
	}
	return g.pc < o.pc
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
			if h.pc != g.pc || !sameStack(g.stack, h.stack) ||
				(g.wait.arrived() || h.wait.arrived()) && g.wait != h.wait {
				j++
				continue
			}
			if w.blk.sched.apart && !w.blk.p.code[g.pc].flow.gathers() {
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
