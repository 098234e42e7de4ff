package check

import "tilescope/debugkern/ptx"

// apart reports whether the accesses of a cause stand in branches that exclude each other, so that there is no place between
// them.
func (c *cause) apart(sites []site, graphs map[*ptx.Func]*graph) bool {
	p := c.pairs[0]
	if c.exclusive || p.kind != pairRace || p.wrapped || p.first == p.second || sites[p.first].fn != sites[p.second].fn {
		return false
	}
	return !graphIn(graphs, sites[p.first].fn).follows(sites[p.first].index, sites[p.second].index)
}

// graphIn makes a function's graph, once.
func graphIn(graphs map[*ptx.Func]*graph, fn *ptx.Func) *graph {
	g := graphs[fn]
	if g == nil {
		g = graphOf(fn)
		graphs[fn] = g
	}
	return g
}

// remedy is the edit of the PTX that orders every pair of a cause, nil where no single place does: the accesses are in different
// functions, or in branches that exclude each other.
func (c *cause) remedy(sites []site, graphs map[*ptx.Func]*graph) []ptx.Edit {
	p := c.pairs[0]
	if c.exclusive || p.kind == pairBlocks {
		return nil
	}
	fn := sites[p.first].fn
	var ways [][2]int
	for _, q := range c.pairs {
		if sites[q.first].fn != fn || sites[q.second].fn != fn {
			return nil
		}
		from, to := sites[q.first].index, sites[q.second].index
		if q.kind == pairUnpublished {
			from = graphIn(graphs, fn).lastWait(from, to) // a barrier in front of it would publish nothing
		}
		ways = append(ways, [2]int{from, to})
	}
	at, ok := graphIn(graphs, fn).place(ways)
	if !ok {
		return nil
	}
	edit := func(k ptx.EditKind) ptx.Edit { return ptx.Edit{Kind: k, Func: fn.Name, At: at} }
	barrier := edit(ptx.InsertBarrier)
	if c.warp {
		barrier = edit(ptx.InsertWarpSync)
	}
	wait, others := false, false
	for _, q := range c.pairs {
		wait = wait || q.kind == pairEarly
		others = others || !q.alone(sites)
	}
	switch {
	case wait && others:
		return []ptx.Edit{edit(ptx.InsertWaitAll), barrier}
	case wait:
		return []ptx.Edit{edit(ptx.InsertWaitAll)}
	}
	return []ptx.Edit{barrier}
}

// alone reports whether both accesses are one lane's.
func (p *pair) alone(sites []site) bool {
	return p.one.warp == p.two.warp && p.one.lane == p.two.lane && !sites[p.first].whole && !sites[p.second].whole
}
