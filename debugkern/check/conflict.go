package check

import "math/bits"

// settled reports whether a past access is certain to come before one by lanes who of the warp under way,
// whatever single barrier is taken away that is not known to be needed.
func (u *races) settled(a *access, who uint32) bool {
	return a.stamp <= u.clk.low || (a.at^u.at)&31 == 0 &&
		(a.stamp <= u.lowJ || a.mask == who && who&(who-1) == 0)
}

// replaceable reports whether a new access by lanes who can take the place of a past one: whatever is ordered
// after the new one comes after the past one too.
func (u *races) replaceable(a *access, who uint32) bool {
	return a.stamp <= u.clk.low || (a.at^u.at)&31 == 0 && (a.stamp <= u.lowJ || a.mask&^who == 0)
}

// readFast is a plain read where nothing stands in its way: the usual case. It reports false, with
// nothing done, for others.
func (u *races) readFast(c *cell, who uint32) bool {
	if w := &c.w; w.stamp > u.clk.low && !u.settled(w, who) {
		return false
	}
	if c.r.at == u.at && c.r.stamp == u.stamp {
		c.r.mask |= who
		return true
	}
	if u.replaceable(&c.r, who) {
		c.r = access{u.stamp, who, u.at}
		return true
	}
	if c.r2.at == u.at && c.r2.stamp == u.stamp {
		c.r2.mask |= who
		return true
	}
	if u.replaceable(&c.r2, who) {
		c.r2 = access{u.stamp, who, u.at}
		return true
	}
	return false
}

// read is a plain read of a cell by lanes who.
func (u *races) read(c *cell, who uint32, l *list) {
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	for i := c.more; i != 0; i = l.nodes[i].next {
		if n := &l.nodes[i]; n.writes && !u.settled(&n.access, who) {
			u.conflict(&n.access, who, true)
		}
	}
	for _, r := range []*access{&c.r, &c.r2} {
		if (r.at^u.at)&31 == 0 && (r.at != u.at || r.stamp != u.stamp) {
			r.mask &^= who // what the same lanes did before is covered by what they do now
		}
		if u.replaceable(r, who) {
			*r = access{u.stamp, who, u.at}
			return
		}
		if r.at == u.at && r.stamp == u.stamp {
			r.mask |= who
			return
		}
	}
	u.list(c, who, l, false, false)
}

// list adds an access to a cell's list, in the place of those that it makes superfluous.
func (u *races) list(c *cell, who uint32, l *list, strong, writes bool) {
	for link := &c.more; *link != 0; {
		n := &l.nodes[*link]
		if n.strong != strong || n.writes != writes {
			if n.stamp > u.clk.low {
				link = &n.next
				continue
			}
			l.remove(link)
			continue
		}
		if n.at == u.at && n.stamp == u.stamp {
			n.mask |= who
			return
		}
		if (n.at^u.at)&31 == 0 {
			n.mask &^= who
		}
		if u.replaceable(&n.access, who) {
			l.remove(link)
			continue
		}
		link = &n.next
	}
	l.push(&c.more, access{u.stamp, who, u.at}, strong, writes)
}

// write is a plain write of a cell by lanes who.
func (u *races) write(c *cell, who uint32, l *list) {
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	if !u.settled(&c.r, who) {
		u.conflict(&c.r, who, false)
	}
	if !u.settled(&c.r2, who) {
		u.conflict(&c.r2, who, false)
	}
	if c.more != 0 {
		for i := c.more; i != 0; i = l.nodes[i].next {
			if n := &l.nodes[i]; !u.settled(&n.access, who) {
				u.conflict(&n.access, who, n.writes)
			}
		}
		l.drop(&c.more)
	}
	c.w = access{u.stamp, who, u.at}
	c.r, c.r2 = access{}, access{}
}

// strong is a strong access of a cell by one lane.
func (u *races) strong(c *cell, who uint32, l *list) {
	writes := u.s.writes
	if !u.settled(&c.w, who) {
		u.conflict(&c.w, who, true)
	}
	if writes {
		if !u.settled(&c.r, who) {
			u.conflict(&c.r, who, false)
		}
		if !u.settled(&c.r2, who) {
			u.conflict(&c.r2, who, false)
		}
	}
	for i := c.more; i != 0; i = l.nodes[i].next {
		n := &l.nodes[i]
		if !n.writes && !writes || n.strong && u.compatible(&u.sites[n.pc()]) || u.settled(&n.access, who) {
			continue
		}
		u.conflict(&n.access, who, n.writes)
	}
	u.list(c, who, l, true, writes)
}

// compatible reports whether another strong access of the same block is morally strong with the one under
// way: scopes always reach within a block, so what is left is that they overlap completely.
func (u *races) compatible(o *site) bool { return o.element == u.s.element }

// conflict is a pair of accesses, one of them a write, that is not settled: the full order decides, and where
// it holds by one barrier alone, that barrier is needed.
func (u *races) conflict(a *access, who uint32, wrote bool) {
	warp, now := a.warp(), u.e.Warp
	if a.stamp == underWay {
		u.tooEarly(a, who)
		return
	}
	if warp == now && (a.mask == who && who&(who-1) == 0 || !wrote && u.inPlace(a.pc())) {
		return
	}
	c := &u.clk
	byBlock, byWarp := a.stamp <= c.blockEpoch, warp == now && a.stamp <= c.warps[now].joined
	switch {
	case byBlock && byWarp:
		return
	case byBlock:
		if a.stamp > c.before && c.last >= 0 {
			u.needed(c.last, a, wrote)
			c.low = c.blockEpoch
			u.lowJ = max(u.lowJ, c.low)
		}
		return
	case byWarp:
		if w := &c.warps[now]; a.stamp > w.beforeJoined {
			u.needed(w.last, a, wrote)
			w.lowJoined = w.joined
			u.lowJ = max(u.lowJ, w.lowJoined)
		}
		return
	}
	for m := who; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		for o := a.mask & c.warps[warp].existing(); o != 0; o &= o - 1 {
			other := bits.TrailingZeros32(o)
			if !c.ordered(a.stamp, warp, other, now, lane) &&
				!(wrote && u.sites[a.pc()].strong && u.observed(u.space, u.addr, u.b, a, 1<<other, lane)) {
				u.found(a, other, lane, wrote)
				return
			}
		}
	}
}
