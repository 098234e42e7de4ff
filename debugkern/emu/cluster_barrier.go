package emu

import (
	"fmt"
	"math/bits"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// barrier.cluster (PTX ISA 9.7.13.4): a thread arrives, and later waits until all threads of the cluster that
// have not exited have arrived. A thread arrives once in a phase, and waits for the phase that it has arrived
// in.

// clusterBarrier is the barrier of a cluster. Which lanes have arrived is in their warps.
type clusterBarrier struct {
	phase uint64
}

func (s *clusterBarrier) begin(*cluster) { *s = clusterBarrier{} }

// clusterLanes is what the lanes of a warp have done at the barrier of the cluster.
type clusterLanes struct {
	arrived uint32 // in the current phase
	owes    uint32 // a wait, for a phase that they have arrived in
	passed  uint32 // have seen a phase complete, ever
}

// clusterBarrier decodes barrier.cluster.arrive and barrier.cluster.wait.
func (d *decoder) clusterBarrier() {
	o := d.out
	d.p.clusterSync = true
	o.class, o.aligned = target.ClassClusterBarrier, d.has("aligned")
	arrive, wait := d.has("arrive"), d.has("wait")
	if arrive == wait {
		d.fail("%s: one of .arrive and .wait is expected", d.in.Opcode())
	}
	for _, m := range d.in.Mods {
		switch m {
		case "cluster", "arrive", "wait", "aligned":
		case "release", "relaxed", "acquire":
			if (m == "acquire") != wait {
				d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
			}
		default:
			d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
		}
	}
	if len(d.in.Args) > 0 {
		d.fail("%s takes no operands", d.in.Opcode())
	}
	if arrive {
		o.flow, o.run = flowAsync, arriveInCluster
		return
	}
	o.flow = flowCluster
}

// arriveInCluster is barrier.cluster.arrive.
func arriveInCluster(w *warp, in *inst, m uint32) {
	b := w.blk
	b.counts.Barriers++
	c := &w.cluster
	if again := c.owes & m; again != 0 {
		b.report(w, in, bits.TrailingZeros32(again), target.Barrier, variable{}, place{},
			fmt.Sprintf("%s is executed by lanes %s again before barrier.cluster.wait: the result is undefined",
				in.src.Opcode(), laneRanges(again)), "")
	}
	c.arrived |= m
	c.owes |= m
	b.completeCluster()
}

// clusterWait is barrier.cluster.wait of the lanes m of the current group.
func (w *warp) clusterWait(in *inst, m uint32) {
	g := &w.groups[w.cur]
	if m == 0 {
		g.pc++
		return
	}
	b, c := w.blk, &w.cluster
	if no := m &^ c.owes; no != 0 {
		b.report(w, in, bits.TrailingZeros32(no), target.Barrier, variable{}, place{},
			fmt.Sprintf("%s is executed by lanes %s, which have not arrived: the result is undefined",
				in.src.Opcode(), laneRanges(no)), "")
	}
	rest := m & c.arrived
	if rest != m {
		c.owes &^= m &^ rest
		c.passed |= m &^ rest
		w.clusterPassed(in, m&^rest)
	}
	switch {
	case rest == 0:
		g.pc++
		return
	case rest != g.mask:
		other := group{
			pc: g.pc + 1, mask: g.mask &^ rest, back: g.back, stack: append([]int32(nil), g.stack...),
		}
		g.mask = rest
		g.wait = waitCluster
		w.groups = append(w.groups, other)
		return
	}
	g.wait = waitCluster
}

// completeCluster ends the phase of the cluster's barrier where all threads that have not exited have
// arrived. A block without a cluster is one of its own.
func (b *block) completeCluster() {
	one := [1]*block{b}
	blocks, barrier := one[:], &b.alone
	if c := b.cluster; c != nil {
		blocks, barrier = c.blocks, &c.barrier
	}
	some := false
	for _, x := range blocks {
		for _, w := range x.warps {
			if w.alive&^w.cluster.arrived != 0 {
				return
			}
			some = some || w.cluster.arrived != 0
		}
	}
	if !some {
		return
	}
	barrier.phase++
	for _, x := range blocks {
		x.released = true
		for _, w := range x.warps {
			w.cluster.arrived = 0
			for i := range w.groups {
				if g := &w.groups[i]; g.wait == waitCluster {
					w.cluster.owes &^= g.mask
					w.cluster.passed |= g.mask
					w.clusterPassed(&b.p.code[g.pc], g.mask)
					g.wait = waitNone
					g.pc++
				}
			}
		}
		if x.async != nil {
			x.async.stall = stall{}
		}
	}
}

// clusterPassed reports that lanes have seen a phase of the cluster's barrier complete.
func (w *warp) clusterPassed(in *inst, lanes uint32) {
	b := w.blk
	if !b.watched || lanes == 0 {
		return
	}
	var e target.Event
	w.describe(&e, in, w.pcOf(in), lanes)
	e.Class, e.Value = target.ClassClusterPass, b.alone.phase
	if b.cluster != nil {
		e.Value = b.cluster.barrier.phase
	}
	b.deliver(&e)
}

// stuck ends a cluster in which nobody can go on: one finding, at the first block that waits.
func (c *cluster) stuck() {
	for _, b := range c.blocks {
		if b.ended() {
			continue
		}
		ws := b.waiters()
		if len(ws) == 0 {
			continue
		}
		if b.registerHang(ws) {
			break
		}
		b.endWith(target.Deadlock, "no thread can go on: "+b.whoWaits(ws)+b.absent()+c.missing(b), ws)
		break
	}
	c.end()
}

// hang ends a cluster that waits for what nothing can bring: findings at the mbarriers that blocks wait at,
// and where there is none, at the barrier of the cluster.
func (c *cluster) hang() {
	some := false
	for _, b := range c.blocks {
		if !b.ended() && (len(b.awaitings()) > 0 || b.starved()) {
			some = true
			b.hang()
		}
	}
	if !some {
		c.stuck()
	}
	c.end()
}

// end marks all blocks as ended by a finding.
func (c *cluster) end() {
	for _, b := range c.blocks {
		b.broken = b.broken || !b.ended()
	}
	c.cur = -1
}

// missing says, for a block that waits at barrier.cluster, who has not arrived there; "" where none waits
// there.
func (c *cluster) missing(b *block) string {
	if !b.waitsInCluster() {
		return ""
	}
	var parts []string
	for _, x := range c.blocks {
		var late []int
		for _, w := range x.warps {
			if w.alive&^w.cluster.arrived != 0 {
				late = append(late, w.id)
			}
		}
		if len(late) == 0 {
			continue
		}
		s := fmt.Sprintf("%s of block %s (rank %d)", warpList(late), x.id, x.rank)
		if ws := x.waiters(); len(ws) > 0 && x != b {
			s += ", which wait: " + x.whoWaits(ws)
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; barrier.cluster lacks the arrival of " + strings.Join(parts, ", and ")
}

// clusterAddress decodes mapa and getctarank (PTX ISA 9.7.9.23, 9.7.9.24).
func (d *decoder) clusterAddress() {
	o := d.out
	d.p.mapa = true
	wide := d.typ().Bits() == 64
	generic := !d.has("shared::cluster")
	src := d.srcOf(1, d.typ())
	if d.in.Op == "getctarank" {
		o.d, o.a = d.dst32(0), src
		o.run = func(w *warp, in *inst, mask uint32) {
			var out row32
			for m := mask; m != 0; m &= m - 1 {
				lane := bits.TrailingZeros32(m) & 31
				rank, _ := target.SplitDistributed(w.sharedOperand(in.a, wide, lane))
				if rank < 0 {
					rank = w.blk.rank
				}
				out[lane] = uint32(rank)
			}
			w.store32(in.d, &out, mask)
		}
		return
	}
	o.a, o.b = src, d.src32(2, 32)
	dst := regSlot{bank32, 0}
	if wide {
		dst = regSlot{bank64, d.dst64(0)}
	} else {
		dst.slot = d.dst32(0)
	}
	if generic && !wide || d.typ() != ptx.U32 && d.typ() != ptx.U64 {
		d.unmodelled()
	}
	o.run = func(w *warp, in *inst, mask uint32) {
		var out row64
		for m := mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			rank := int(w.lane32(in.b, lane))
			if n := w.blk.clusterCount(); rank < 0 || rank >= n {
				w.blk.report(w, in, lane, target.Cluster, variable{}, place{space: target.SpaceCluster},
					fmt.Sprintf("%s names block rank %d of a cluster of %d", in.src.Opcode(), rank, n), "")
				rank = maxCluster
			}
			_, off := target.SplitDistributed(w.sharedOperand(in.a, wide, lane))
			out[lane] = target.DistributedAddress(rank, off)
			if generic {
				out[lane] |= sharedWindow
			}
		}
		w.storeAny(dst, &out, mask)
	}
}

// sharedOperand is an address of shared memory in a register, without the window of generic addresses.
func (w *warp) sharedOperand(slot int32, wide bool, lane int) uint64 {
	if wide {
		return w.lane64(slot, lane) & (windowSize - 1)
	}
	return uint64(w.lane32(slot, lane))
}

// clusterCount is the number of blocks of the block's cluster.
func (b *block) clusterCount() int {
	if b.cluster == nil {
		return 1
	}
	return len(b.cluster.blocks)
}

// maps reports whether addresses of shared memory may be those of a block of the cluster.
func (b *block) maps() bool { return b.cluster != nil || b.p.mapa }

// distributed resolves an address of shared memory: the block that it lies in, and the offset there. It is
// nil where the cluster has no such block.
func (b *block) distributed(addr uint64) (*block, uint64) {
	rank, off := target.SplitDistributed(addr)
	switch {
	case rank < 0 || rank == b.rank:
		return b, off
	case b.cluster == nil || rank >= len(b.cluster.blocks):
		return nil, off
	}
	return b.cluster.blocks[rank], off
}

// noRank reports an access by an address that belongs to no block of the cluster.
func (b *block) noRank(w *warp, in *inst, lane int, p place) {
	rank, _ := target.SplitDistributed(p.addr)
	p.space = target.SpaceCluster
	b.report(w, in, lane, target.Cluster, variable{}, p,
		fmt.Sprintf("%s accesses %s address %#x, of block rank %d of a cluster of %d", in.src.Opcode(), p.space,
			p.addr, rank, b.clusterCount()), "")
}

// reachPeer reports an access to shared memory of a block that may not be there: one that has exited, or that
// nothing shows to have begun.
func (b *block) reachPeer(w *warp, in *inst, x *access, lane int, peer *block, p place) {
	why := ""
	switch {
	case peer.ended():
		why = "which has exited: its shared memory may belong to another block; barrier.cluster before the exit " +
			"of the block keeps it"
	case w.cluster.passed>>lane&1 == 0 && !b.clusterSeen():
		why = "which may not have begun: barrier.cluster.arrive and barrier.cluster.wait before the first access " +
			"make sure of it"
	default:
		return
	}
	v := b.variableOf(x, p, x.size)
	if v.name == "" {
		v = b.variableAt(target.SpaceShared, p.addr)
	}
	p.space = target.SpaceCluster
	b.report(w, in, lane, target.Cluster, v, p,
		fmt.Sprintf("%s accesses %s of block rank %d of the cluster, %s", in.src.Opcode(), v, peer.rank,
			why), "")
}

// clusterSeen reports whether some thread of the block has seen a phase of the cluster's barrier complete.
func (b *block) clusterSeen() bool {
	for _, w := range b.warps {
		if w.cluster.passed != 0 {
			return true
		}
	}
	return false
}
