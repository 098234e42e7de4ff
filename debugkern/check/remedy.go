package check

import (
	"slices"

	"tilescope/debugkern/ptx"
)

// apart reports whether the accesses of a cause stand in branches that exclude each other, so that there is
// no place between them.
func (c *cause) apart(sites []site, graphs map[*ptx.Func]*wayGraph) bool {
	p := c.pairs[0]
	if c.exclusive || p.kind != pairRace || p.wrapped || p.first == p.second ||
		sites[p.first].fn != sites[p.second].fn {
		return false
	}
	return !waysIn(graphs, sites[p.first].fn).Follows(sites[p.first].index, sites[p.second].index)
}

// unfit reports whether there are places that cut every way of some pairs, and allowed accepts none of them.
func (g *wayGraph) unfit(ways [][2]int, allowed func(at int) bool) bool {
	if _, ok := g.place(ways, allowed); ok {
		return false
	}
	_, anywhere := g.place(ways, func(int) bool { return true })
	return anywhere
}

// remedy is the edit of the PTX that orders every pair of a cause, nil where no single place does: the
// accesses are in different functions, or in branches that exclude each other. fits is false where there are
// places, and at none of them all threads come together that a barrier needs.
func (c *cause) remedy(sites []site, graphs map[*ptx.Func]*wayGraph) (edits []ptx.Edit, fits bool) {
	p := c.pairs[0]
	if c.exclusive || p.kind == pairBlocks || p.kind == pairBulk || p.kind == pairProxy {
		return nil, true
	}
	fn := sites[p.first].fn
	g := waysIn(graphs, fn)
	var ways [][2]int
	wait, others := false, false
	for _, q := range c.pairs {
		if sites[q.first].fn != fn || sites[q.second].fn != fn {
			return nil, true
		}
		from, to := sites[q.first].index, sites[q.second].index
		if q.kind == pairUnpublished {
			from = g.lastWait(from, to) // a barrier in front of it would publish nothing
		}
		ways = append(ways, [2]int{from, to})
		wait = wait || q.kind == pairEarly
		others = others || !q.alone(sites)
	}
	together := g.uniform.Block
	switch {
	case wait && !others:
		together = func(int) bool { return true } // each thread waits for its own copies
	case c.warp:
		together = g.uniform.Warp
	}
	at, ok := g.place(ways, together)
	if !ok {
		return nil, !slices.ContainsFunc(ways, func(w [2]int) bool { return g.unfit([][2]int{w}, together) })
	}
	edit := func(k ptx.EditKind) ptx.Edit { return ptx.Edit{Kind: k, Func: fn.Name, At: at} }
	barrier := edit(ptx.InsertBarrier)
	if c.warp {
		barrier = edit(ptx.InsertWarpSync)
	}
	switch {
	case wait && others:
		return []ptx.Edit{edit(ptx.InsertWaitAll), barrier}, true
	case wait:
		return []ptx.Edit{edit(ptx.InsertWaitAll)}, true
	}
	return []ptx.Edit{barrier}, true
}

// alone reports whether both accesses are one lane's.
func (p *pair) alone(sites []site) bool {
	return p.one.warp == p.two.warp && p.one.lane == p.two.lane && !sites[p.first].whole &&
		!sites[p.second].whole
}
