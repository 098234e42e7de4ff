package emu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Thread block clusters (PTX ISA 2.2.2). The blocks of a cluster are resident together and execute by turns,
// one at a time: cluster.run owns them. A block's turn lasts until none of its warps can go on, it polls
// without effect, or its slice of instructions ends; which block comes next is the schedule's choice, and
// which warp of the block its own scheduler's. A launch without clusters has none of this: block.cluster is
// nil.
//
// An address of shared::cluster memory is the byte offset in a block's shared memory with the block's rank,
// plus one, from bit 24 on (target.DistributedAddress); 0 there is the block that executes, so that addresses
// of the block's own shared memory are addresses of shared::cluster memory too. The same bits lie in the
// shared window of generic addresses.

// cluster is the blocks that execute together, and what they share.
type cluster struct {
	blocks []*block // by rank
	dims   probes.Dim3
	stop   *atomic.Bool
	only   bool // the launch has no other cluster
	waits  bool // nothing but another cluster could let it go on

	clusterState
	src *rand.PCG
	rng *rand.Rand
}

// clusterState is what of a cluster a snapshot saves, its blocks aside.
type clusterState struct {
	cur     int    // rank of the block that has its turn, -1: none
	last    int    // rank of the block that had the turn before
	until   uint64 // clock of that block at which its turn ends
	favour  int    // ahead: the block that runs whenever it can
	barrier clusterBarrier
	stall   clusterStall
	err     *target.Fault
}

// clusterStall finds a state of the whole cluster that comes again (stall.go has that of one block).
type clusterStall struct {
	polls, hash            uint64
	power, length, repeats int
}

// clusterSlice is how many instructions a block executes before the others go on.
const clusterSlice = 1 << 16

// maxCluster is how many blocks a cluster may have, with a size that is not portable.
const maxCluster = 16

// clusters reads the size of clusters that an entry is compiled for.
func (d *decoder) clusters() {
	f := d.p.entry
	c, ok := f.Directive("reqnctapercluster")
	_, explicit := f.Directive("explicitcluster")
	d.p.cluster = ok || explicit
	if !ok {
		return
	}
	for i, x := range c.Args {
		if i > 2 || x < 1 || x > maxCluster {
			e := &ptx.Error{
				Pos: f.Pos, Msg: fmt.Sprintf(".reqnctapercluster %d: 1 to %d blocks", x, maxCluster),
			}
			if d.refused == nil {
				panic(e)
			}
			*d.refused = append(*d.refused, e)
			return
		}
	}
}

// clusterOf is the blocks of a cluster of a launch.
func (p *program) clusterOf(l *target.Launch) probes.Dim3 { return l.ClusterOf(p.entry) }

// badCluster says why no device takes a launch with its clusters, "" where one does.
func (p *program) badCluster(l *target.Launch) string {
	c := p.clusterOf(l)
	if l.Cluster != (probes.Dim3{}) && l.Cluster != c && l.Cluster != (probes.Dim3{1, 1, 1}) {
		return fmt.Sprintf("clusters of %s blocks, and the kernel is compiled for %s (.reqnctapercluster)",
			l.Cluster, c)
	}
	for i := range c {
		if c[i] < 1 {
			return fmt.Sprintf("clusters of %s blocks: every extent must be positive", c)
		}
		if l.Grid[i]%c[i] != 0 {
			return fmt.Sprintf("a grid of %s blocks is no multiple of clusters of %s", l.Grid, c)
		}
	}
	if n := c.Count(); n > maxCluster {
		return fmt.Sprintf("clusters of %d blocks, at most %d", n, maxCluster)
	}
	return ""
}

// steer sets what ends the execution of all blocks early.
func (c *cluster) steer(stop *atomic.Bool) {
	for _, b := range c.blocks {
		b.stop = stop
	}
}

// errClusterWaits ends the stepping of a cluster that waits for another.
var errClusterWaits = errors.New("the cluster waits for another cluster: that is not modelled for clusters of " +
	"several blocks")

// rankOf is the rank of a block in its cluster.
func rankOf(id, dims probes.Dim3) int {
	return dims.Linear(probes.Dim3{id[0] % dims[0], id[1] % dims[1], id[2] % dims[2]})
}

// clusterBlocks lists the blocks of the cluster of a block, by rank.
func clusterBlocks(id, dims probes.Dim3) []probes.Dim3 {
	out := make([]probes.Dim3, dims.Count())
	for rank := range out {
		at := dims.At(rank)
		for i := range at {
			out[rank][i] = id[i] - id[i]%dims[i] + at[i]
		}
	}
	return out
}

// clustered lists the blocks of a grid, cluster by cluster.
func clustered(grid, dims probes.Dim3) []probes.Dim3 {
	var ids []probes.Dim3
	for _, id := range linearly(grid) {
		if rankOf(id, dims) == 0 {
			ids = append(ids, clusterBlocks(id, dims)...)
		}
	}
	return ids
}

// newCluster makes the blocks of a cluster for a launch, without identities yet.
func newCluster(p *program, l *target.Launch, mem *memory) *cluster {
	c := &cluster{dims: p.clusterOf(l)}
	c.only = c.dims.Count() == l.Grid.Count()
	for range c.dims.Count() {
		b := newBlock(p, l, mem)
		b.cluster = c
		c.blocks = append(c.blocks, b)
	}
	return c
}

// begin makes c the cluster of the block with an identity, before its first instruction. quiet says of which
// blocks nobody asks for results; nil: of none.
func (c *cluster) begin(id probes.Dim3, quiet func(probes.Dim3) bool) {
	l := c.blocks[0].l
	c.src = rand.NewPCG(l.Schedule.Seed^uint64(l.Grid.Linear(id)), 0x636c_7573_7465_7273)
	c.rng = rand.New(c.src)
	c.waits = false
	c.clusterState = clusterState{cur: -1, last: -1}
	for rank, x := range clusterBlocks(id, c.dims) {
		b := c.blocks[rank]
		b.rank, b.polled, b.stop = rank, false, c.stop
		b.quiet = quiet != nil && quiet(x)
		b.begin(x)
	}
	switch n := len(c.blocks); l.Schedule.Policy {
	case "reverse":
		c.last = n
	case "ahead":
		c.favour = c.rng.IntN(n)
	}
	c.barrier.begin(c)
}

// run executes until every block has ended, none can go on, or a breakpoint or the end of a step stops one.
// With a focus it also stops when that block has ended.
func (c *cluster) run(focus *block) {
	for c.err == nil && !c.waits && !(focus != nil && (focus.ended() || focus.broken)) {
		b := c.turn()
		if b == nil {
			if !c.unblock() {
				return
			}
			continue
		}
		stepTo := b.stepTo
		b.stepTo = min(stepTo, c.until)
		b.run()
		b.stepTo = stepTo
		switch {
		case b.err != nil || b.broken:
			c.fail(b)
			return
		case b.halted || b.cancelled():
			return
		case b.paused == nil || b.clock >= c.until:
			c.last, c.cur = c.cur, -1
		}
		if b.clock >= stepTo {
			return
		}
	}
}

// fail ends all blocks with one that has ended before its last instruction.
func (c *cluster) fail(b *block) {
	c.err = b.err
	for _, x := range c.blocks {
		if x != b && !x.ended() {
			x.broken = true
		}
	}
	if c.err == nil { // a finding says why
		c.cur = -1
		b.broken = true
	}
}

// turn is the block whose turn it is, nil where none can go on.
func (c *cluster) turn() *block {
	if c.cur >= 0 {
		return c.blocks[c.cur]
	}
	n, ready := len(c.blocks), 0
	for _, b := range c.blocks {
		if b.ready() {
			ready++
		}
	}
	if ready == 0 {
		return nil
	}
	policy := c.blocks[0].l.Schedule.Policy
	start, step, slice := c.last+1, 1, uint64(clusterSlice)
	switch policy {
	case "reverse":
		start, step = c.last-1+n, n-1
	case "ahead":
		slice = 256
		if b := c.blocks[c.favour]; b.ready() {
			return c.grant(c.favour, clusterSlice)
		}
	case "random", "priority":
		start = c.rng.IntN(n)
		slice = 1 + c.rng.Uint64N(1<<(4+c.rng.IntN(10)))
	}
	for i := range n {
		if k := (start + i*step) % n; c.blocks[k].ready() {
			return c.grant(k, slice)
		}
	}
	return nil
}

// grant gives a block its turn.
func (c *cluster) grant(rank int, slice uint64) *block {
	b := c.blocks[rank]
	c.cur, c.until = rank, b.clock+slice
	return b
}

// ready reports whether a block of a cluster can go on, and has not let others go first.
func (b *block) ready() bool {
	if b.polled || b.broken || b.err != nil {
		return false
	}
	if b.paused != nil {
		return true
	}
	for _, w := range b.warps {
		if w.alive != 0 && w.runnable() {
			return true
		}
	}
	return false
}

// over reports whether all blocks have ended.
func (c *cluster) over() bool {
	return !slices.ContainsFunc(c.blocks, func(b *block) bool { return !b.ended() })
}

// unblock makes something happen where no block can go on, or all that can poll. It reports false where
// nothing can, or everything is over.
func (c *cluster) unblock() bool {
	switch {
	case c.landNext():
		return true
	case c.over():
		return false
	case c.hangs():
		if c.waits {
			return false
		}
		c.hang()
		return false
	}
	timeOut(c.blocks)
	some := false
	for _, b := range c.blocks {
		some = b.expire() || some
		if b.polled && !b.ended() {
			b.polled, some = false, true
		}
	}
	if !some {
		c.stuck()
	}
	return some
}

// landNext lets the operation of some block land that comes first: one that somebody waits for before others.
func (c *cluster) landNext() bool {
	var with []*block
	for _, b := range c.blocks {
		if len(b.async.flights) > 0 {
			with = append(with, b)
		}
	}
	switch {
	case len(with) == 0:
		return false
	case with[0].async.random:
		with[c.rng.IntN(len(with))].landNext()
		return true
	}
	for _, b := range c.blocks {
		b.noteAwaited()
	}
	for _, b := range with {
		if i := b.firstAwaited(); i >= 0 {
			b.landFlight(i)
			return true
		}
	}
	with[0].landFlight(0)
	return true
}

// hangs reports whether the cluster is in a state in which it was before, as block.hangs does. Where other
// clusters could change what it polls, it waits for them.
func (c *cluster) hangs() bool {
	s := &c.stall
	var h, polls uint64
	waits, round := false, true
	for _, b := range c.blocks {
		h = (h ^ b.wrote) * 0x9e3779b97f4a7c15
		polls += b.polls
		waits = waits || b.waitsAtMBarrier() || b.waitsInCluster()
		for _, w := range b.warps {
			h = (h ^ w.hash()) * 0x9e3779b97f4a7c15
			h ^= h >> 29
			if w.alive != 0 && (w.runnable() || w.suspended()) && b.async.stall.went>>(w.id&31)&1 == 0 {
				round = false
			}
		}
	}
	switch {
	case s.power == 0:
		s.power = 1
	case h == s.hash && round && polls != s.polls && !c.only:
		if s.repeats++; s.repeats > 1 {
			c.waits = true
			return true
		}
	case h == s.hash && round && waits:
		if s.repeats++; s.repeats > 1 {
			return true
		}
	default:
		if s.length++; s.length < s.power {
			return false
		}
		s.power *= 2
		s.length, s.repeats = 0, 0
	}
	s.hash, s.polls = h, polls
	for _, b := range c.blocks {
		b.async.stall.went = 0
	}
	return false
}

// waitsInCluster reports whether a thread of the block waits at barrier.cluster.
func (b *block) waitsInCluster() bool {
	return slices.ContainsFunc(b.warps, func(w *warp) bool {
		return slices.ContainsFunc(w.groups, func(g group) bool { return g.wait == waitCluster })
	})
}

// blocksAtOnce is how many blocks execute at a time, for n workers.
func (p *program) blocksAtOnce(l *target.Launch, n, blocks int64) int64 {
	return min(budget.Mul(n, int64(p.clusterOf(l).Count())), blocks)
}
