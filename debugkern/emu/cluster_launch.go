package emu

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A launch in clusters executes cluster after cluster, or several at a time on as many cores. Where clusters
// share global memory they execute one after the other, each to its end, in the order in which the schedule
// begins blocks (order.go). A cluster that waits for another is refused.

// want says whose results are asked for; nil: all.
func (r *launch) want(only []probes.Dim3) {
	if only == nil {
		return
	}
	r.wanted = map[probes.Dim3]bool{}
	for _, id := range only {
		r.wanted[id] = true
	}
}

// clusterIDs lists the blocks of the clusters of which the launch asks for some block, cluster by cluster.
func (k *Kernel) clusterIDs(l *target.Launch, dims probes.Dim3) []probes.Dim3 {
	if l.Only == nil {
		return clustered(l.Grid, dims)
	}
	var ids []probes.Dim3
	for _, id := range l.Only {
		if c := clusterBlocks(id, dims); !slices.Contains(ids, c[0]) {
			ids = append(ids, c...)
		}
	}
	return ids
}

// workClusters is work for a launch in clusters.
func (r *launch) workClusters(changes func(*alloc) bool) {
	c := newCluster(r.k.p, r.l, r.mem)
	c.stop = &r.stop
	foot := newFootprint(r.mem, changes)
	for _, b := range c.blocks {
		b.note(foot)
	}
	n := int64(r.cluster)
	for {
		i := (r.next.Add(1) - 1) * n
		if i >= r.limit.Load() || r.stop.Load() {
			return
		}
		foot.clear()
		r.execute(c, int(i))
		if r.all.add(foot) || c.waits {
			r.shares.Store(true)
			r.stop.Store(true)
		}
		if c.err != nil {
			r.lower(i + n)
		}
	}
}

// execute runs the cluster whose first block is ids[i].
func (r *launch) execute(c *cluster, i int) {
	c.begin(r.ids[i], func(id probes.Dim3) bool { return r.wanted != nil && !r.wanted[id] })
	c.run(nil)
	for rank, b := range c.blocks {
		b.checkPasses()
		b.checkGathers()
		b.replace.finish()
		b.end()
		if r.wants(i + rank) {
			r.done[i+rank] = r.outcome(b)
		} else if b.err != nil {
			r.done[i+rank].err = b.err
		}
	}
}

// lower keeps blocks from n on from starting.
func (r *launch) lower(n int64) {
	for {
		old := r.limit.Load()
		if n >= old || r.limit.CompareAndSwap(old, n) {
			return
		}
	}
}

// clustersInOrder executes the clusters of the whole grid one after the other.
func (k *Kernel) clustersInOrder(ctx context.Context, l *target.Launch) (*target.Result, error) {
	r, err := k.begin(l, clustered(l.Grid, k.p.clusterOf(l)))
	if err != nil {
		return nil, err
	}
	r.want(l.Only)
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	if err := r.clusterByCluster(nil); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res, fault := r.result()
	if fault != nil {
		return nil, fault
	}
	res.Ordered = true
	return res, nil
}

// clusterByCluster executes the launch's clusters one after the other. It ends in front of that for which
// before reports true; nil: none.
func (r *launch) clusterByCluster(before func(first probes.Dim3) bool) error {
	c := newCluster(r.k.p, r.l, r.mem)
	c.stop = &r.stop
	for _, b := range c.blocks {
		b.ordered = true
	}
	for _, unit := range newOrder(r).units(r.cluster) {
		i := unit * r.cluster
		if before != nil && before(r.ids[i]) || r.stop.Load() {
			return nil
		}
		if i >= int(r.limit.Load()) {
			continue
		}
		r.execute(c, i)
		if c.err != nil {
			r.lower(int64(i + r.cluster))
		}
		if c.waits {
			return fmt.Errorf("launch %s: the cluster of block %s waits for another cluster: that is not modelled "+
				"for clusters of several blocks", r.k.p.entry.Name, r.ids[i])
		}
	}
	return nil
}

// units is the order in which clusters of n blocks begin: that of their first blocks.
func (o *blockOrder) units(n int) []int {
	var out []int
	for _, i := range o.seq {
		if i%n == 0 {
			out = append(out, i/n)
		}
	}
	return out
}

// openCluster makes the cluster of block id for a stepper. one is l with that block alone.
func (k *Kernel) openCluster(p *program, l, one *target.Launch, mem *memory, id probes.Dim3) (*block, error) {
	c := newCluster(p, one, mem)
	dims := c.dims
	if k.orders(l) {
		inputs, err := k.replayClusters(l, id)
		if err != nil {
			return nil, err
		}
		for _, b := range c.blocks {
			b.ordered = true
		}
		c.blocks[0].receive(inputs)
	}
	c.begin(id, func(x probes.Dim3) bool { return x != id })
	return c.blocks[rankOf(id, dims)], nil
}

// replayClusters executes the clusters of a launch that come before that of block id, and returns what they
// leave in global memory.
func (k *Kernel) replayClusters(l *target.Launch, id probes.Dim3) ([]patch, error) {
	all := *l
	all.Only, all.Observe, all.Ordered = nil, nil, true
	dims := k.p.clusterOf(l)
	r, err := k.begin(&all, clustered(l.Grid, dims))
	if err != nil {
		return nil, err
	}
	first := clusterBlocks(id, dims)[0]
	if err := r.clusterByCluster(func(x probes.Dim3) bool { return x == first }); err != nil {
		return nil, err
	}
	h := history{mem: r.mem}
	h.resume(&block{})
	return h.patches, nil
}

// single begins block id of a launch, with its cluster where it has one, and returns what executes it.
func single(
	p *program, l *target.Launch, mem *memory, id probes.Dim3, stop *atomic.Bool,
) (b *block, run func()) {
	if p.clusterOf(l).Count() > 1 {
		c := newCluster(p, l, mem)
		c.stop = stop
		c.begin(id, func(x probes.Dim3) bool { return x != id })
		b = c.blocks[rankOf(id, c.dims)]
		return b, func() { c.run(b) }
	}
	b = newBlock(p, l, mem)
	b.stop = stop
	b.begin(id)
	return b, b.run
}
