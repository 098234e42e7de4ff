package check

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A cause is what one change would put right: all pairs on a variable that one synchronisation, at one place,
// would order. A place between two accesses is an interval of the program; pairs whose intervals have a place
// in common are one cause. Where an access conflicts with itself, in the same iteration, there is no such
// place: it has to be made exclusive.
type cause struct {
	pairs     []*pair
	lo, hi    int // a synchronisation belongs after instruction lo and not after hi; hi < lo: around the loop
	warp      bool
	exclusive bool
}

// raceFindings groups the pairs of all blocks.
func raceFindings(c *Checker, us []unit) []target.Finding {
	var all []*pair
	byKey := map[pairKey]*pair{}
	var sites []site
	var grid probes.Dim3
	var between []*pair
	if c.options.Set.Has(Races) && c.grid != nil {
		between = c.grid.order
	}
	contested := map[string]bool{} // by blocks: another may have written between two stores of one
	for _, p := range between {
		contested[p.variable] = true
	}
	for _, v := range us {
		u := v.(*races)
		sites, grid = u.sites, u.b.grid
		for _, p := range u.order {
			q := *p
			q.same = q.same && !(q.space == target.SpaceGlobal && contested[q.variable])
			if old := byKey[q.pairKey]; old != nil {
				old.count += q.count
				old.observed = old.observed || q.observed
				continue
			}
			byKey[q.pairKey] = &q
			all = append(all, &q)
		}
	}
	all = append(all, between...)
	var out []target.Finding
	graphs := map[*ptx.Func]*wayGraph{}
	for _, name := range variables(all) {
		var mine []*pair
		for _, p := range all {
			if p.variable == name {
				mine = append(mine, p)
			}
		}
		out = append(out, spell(group(mine, sites), sites, graphs, grid)...)
	}
	onlyAlone(out)
	return append(out, adviceOf(c, us, sites)...)
}

// spell makes findings of the causes on one variable. Causes that ask for the same between the same lines are
// one: the compiler unrolled a loop.
func spell(cs []*cause, sites []site, graphs map[*ptx.Func]*wayGraph, grid probes.Dim3) []target.Finding {
	var out []target.Finding
next:
	for _, c := range cs {
		apart := c.apart(sites, graphs)
		f := c.finding(sites, grid, apart)
		if !apart {
			fits := true
			if f.Remedy, fits = c.remedy(sites, graphs); !fits {
				f.Missing = c.unfit(sites)
			}
		}
		for i := range out {
			if o := &out[i]; o.Kind == f.Kind && o.Missing == f.Missing {
				o.Count += f.Count
				o.Pairs = addPairs(o.Pairs, f.Pairs...)
				if f.Severity == target.SeverityError {
					o.Severity, o.Consequence = f.Severity, f.Consequence
				}
				if o.Remedy = append(o.Remedy, f.Remedy...); f.Remedy == nil {
					o.Remedy = nil
				}
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// variables lists the variables of pairs, in the order in which they were first seen.
func variables(ps []*pair) []string {
	var names []string
	for _, p := range ps {
		if !slices.Contains(names, p.variable) {
			names = append(names, p.variable)
		}
	}
	return names
}

// group makes causes of the pairs on one variable.
func group(ps []*pair, sites []site) []*cause {
	var out []*cause
	bulk := of(ps, pairBulk)
	ps = slices.DeleteFunc(ps, func(p *pair) bool { // a cp.async that completes on an mbarrier is a bulk pair
		return p.kind == pairUnpublished && slices.ContainsFunc(bulk, func(q *pair) bool {
			return q.first == p.first && q.second == p.second
		})
	})
	for _, some := range [][]*pair{
		append(of(ps, pairEarly), of(ps, pairUnpublished)...), of(ps, pairBlocks),
		of(ps, pairBulk), of(ps, pairProxy),
	} {
		if len(some) > 0 {
			p := some[0]
			out = append(out, &cause{
				pairs: some, lo: p.one.pc, hi: p.two.pc, warp: p.warp, exclusive: p.kind == pairBlocks,
			})
		}
	}
	rest := of(ps, pairRace)
	rest, ex := exclusive(rest, sites)
	if ex != nil {
		out = append(out, ex)
	}
	sort.SliceStable(rest, func(i, j int) bool { return rest[i].before(rest[j]) })
	var gaps []*cause
	for _, p := range rest {
		gaps = add(gaps, p)
	}
	return append(out, gaps...)
}

// of selects pairs of a kind.
func of(ps []*pair, k pairKind) []*pair {
	var out []*pair
	for _, p := range ps {
		if p.kind == k {
			out = append(out, p)
		}
	}
	return out
}

// before orders pairs for grouping: between warps first, so that what orders warps takes with it what it
// orders within them; those of one iteration by where their interval ends, then those around a loop.
func (p *pair) before(q *pair) bool {
	switch {
	case p.warp != q.warp:
		return q.warp
	case p.wrapped != q.wrapped:
		return q.wrapped
	case p.second != q.second:
		return p.second < q.second
	}
	return p.first > q.first
}

// add puts a pair into the first cause that has a place in common with it, or a new one.
func add(cs []*cause, p *pair) []*cause {
	for _, c := range cs {
		if c.take(p) {
			c.pairs = append(c.pairs, p)
			return cs
		}
	}
	return append(cs, &cause{pairs: []*pair{p}, lo: p.one.pc, hi: p.two.pc, warp: p.warp})
}

// take narrows a cause's interval to what it shares with a pair's; false where they share nothing.
func (c *cause) take(p *pair) bool {
	lo, hi := p.one.pc, p.two.pc
	if c.pairs[0].loop != p.loop && (c.hi <= c.lo || p.wrapped) {
		return false // around different loops
	}
	switch {
	case c.hi > c.lo && !p.wrapped:
		lo, hi = max(lo, c.lo), min(hi, c.hi)
		if lo >= hi {
			return false
		}
	case c.hi <= c.lo && p.wrapped: // both around the loop: they share at least its back edge
		lo, hi = max(lo, c.lo), min(hi, c.hi)
		if lo < hi {
			lo, hi = max(p.one.pc, c.lo), min(p.two.pc, c.hi)
		}
	default:
		in, around := c, [2]int{lo, hi}
		if c.hi <= c.lo {
			in, around = &cause{lo: lo, hi: hi}, [2]int{c.lo, c.hi}
		}
		switch { // the part behind the first access, or the part in front of the second
		case around[0] < in.hi:
			lo, hi = max(in.lo, around[0]), in.hi
		case in.lo < around[1]:
			lo, hi = in.lo, min(in.hi, around[1])
		default:
			return false
		}
	}
	c.lo, c.hi = lo, hi
	return true
}

// exclusive takes out the pairs that no synchronisation between two places can order: an instruction that
// conflicts with itself in the same iteration, and the reads before it whose value it replaces.
func exclusive(ps []*pair, sites []site) (rest []*pair, ex *cause) {
	lines := map[target.Source]bool{}
	for _, p := range ps {
		if p.symmetric(sites) {
			lines[*sites[p.second].source()] = true
		}
	}
	if len(lines) == 0 {
		return ps, nil
	}
	ex = &cause{exclusive: true}
	for _, p := range ps {
		if p.symmetric(sites) || !p.wrapped && p.writes && lines[*sites[p.second].source()] {
			ex.pairs = append(ex.pairs, p)
			continue
		}
		rest = append(rest, p)
	}
	sort.SliceStable(ex.pairs, func(i, j int) bool {
		return ex.pairs[i].symmetric(sites) && !ex.pairs[j].symmetric(sites)
	})
	ex.lo, ex.hi, ex.warp = ex.pairs[0].one.pc, ex.pairs[0].two.pc, ex.pairs[0].warp
	return rest, ex
}

// symmetric reports whether both accesses are writes by the same line in the same iteration.
func (p *pair) symmetric(sites []site) bool {
	if !p.wrote || !p.writes || p.wrapped || p.kind != pairRace {
		return false
	}
	return p.first == p.second || *sites[p.first].source() == *sites[p.second].source()
}

// finding describes a cause by its narrowest pair.
func (c *cause) finding(sites []site, grid probes.Dim3, apart bool) target.Finding {
	p, count := c.pairs[0], 0
	same := true
	for _, q := range c.pairs {
		count += q.count
		same = same && q.same
		if !c.exclusive && q.kind == pairRace && q.wrapped == p.wrapped &&
			q.two.pc-q.one.pc < p.two.pc-p.one.pc {
			p = q
		}
	}
	first, second := sites[p.first].source(), sites[p.second].source()
	f := target.Finding{
		Kind: target.Race, Variable: p.variable, Index: p.index, Space: p.space.String(),
		Block: grid.At(p.block[1]), Warps: union([]int{p.one.warp}, []int{p.two.warp}),
		Lanes: union([]int{p.one.lane}, []int{p.two.lane}), KVTile: int(p.two.when.tile), Source: first,
		Other: second, Count: count, Across: p.kind == pairBlocks, Pairs: c.byHazard(sites),
	}
	if p.kind == pairEarly || p.kind == pairUnpublished {
		f.Kind = target.CpAsync
	}
	if p.kind == pairProxy {
		f.Kind = target.ProxyFence
	}
	f.Severity = f.Kind.Severity()
	if f.Consequence = because(c.pairs); f.Consequence != "" {
		f.Severity = target.SeverityAdvice
	} else if c.relaxed(sites) {
		f.Consequence = "both accesses are volatile or relaxed, which orders neither with the flag: the reader may see " +
			"the flag and not yet the value"
	} else if c.readersFence(sites) {
		f.Consequence = "the writer's fence is there, the reader's alone is missing: volatile and atomic reads have " +
			"been seen to work without it, but the memory model asks for it (PTX ISA, release and acquire patterns)"
	}
	f.Missing = c.missing(p, sites)
	if apart {
		f.Missing +=
			", which cannot both execute: a barrier that both reach, or bar.arrive after the one and bar.sync before the other"
	}
	f.Message = c.message(p, sites[p.first].place(), sites[p.second].place(), same, grid)
	return f
}

// readersFence reports whether nothing but the reader's fence is missing between blocks, and the reads are
// strong: the last block that adds up, which reads the others' results through a volatile pointer.
func (c *cause) readersFence(sites []site) bool {
	return !slices.ContainsFunc(c.pairs, func(p *pair) bool {
		return p.kind != pairBlocks || p.lacks.scope > 0 || !p.lacks.acquire || p.two.writes ||
			!sites[p.second].strong
	})
}

// relaxed reports whether all accesses between blocks are strong: each sees a whole value, but in no order
// with others.
func (c *cause) relaxed(sites []site) bool {
	return !slices.ContainsFunc(c.pairs, func(p *pair) bool {
		return p.kind != pairBlocks || p.lacks.scope > 0 || p.lacks.acquire || !sites[p.first].strong ||
			!sites[p.second].strong
	})
}

// byHazard counts a cause's pairs by hazard and places.
func (c *cause) byHazard(sites []site) []target.Pairs {
	var out []target.Pairs
	for _, p := range c.pairs {
		out = addPairs(out, target.Pairs{
			Hazard: p.hazard(), First: *sites[p.first].source(), Second: *sites[p.second].source(),
			Later: p.wrapped, OneWarp: p.warp, Count: p.count,
		})
	}
	return out
}

// addPairs adds pairs to a list that has each hazard and each two places once.
func addPairs(list []target.Pairs, more ...target.Pairs) []target.Pairs {
	for _, p := range more {
		i := slices.IndexFunc(list, func(o target.Pairs) bool {
			o.Count = p.Count
			return o == p
		})
		if i < 0 {
			list = append(list, p)
		} else {
			list[i].Count += p.Count
		}
	}
	return list
}

// hazard names the order that a pair needs.
func (p *pair) hazard() string {
	switch {
	case !p.wrote:
		return "write-after-read"
	case !p.writes:
		return "read-after-write"
	}
	return "write-after-write"
}

// element writes what a pair is about: m_smem[5].
func (p *pair) element() string { return placeName(p.variable, p.index, p.space) }

func (s side) by() string { return fmt.Sprintf("warp %d lane %d", s.warp, s.lane) }

func (s side) verb() string {
	if s.writes {
		return "writes"
	}
	return "reads"
}

// message says what is wrong.
func (c *cause) message(p *pair, first, second string, same bool, grid probes.Dim3) string {
	switch p.kind {
	case pairEarly:
		return fmt.Sprintf("%s: %s %s it at %s before the cp.async at %s (%s) is waited for", p.element(),
			p.two.by(), p.two.verb(), second, first, p.one.by())
	case pairUnpublished:
		return fmt.Sprintf(
			"%s: %s reads at %s what the cp.async at %s brought; its issuer (%s) has waited for it, but there is no barrier between",
			p.element(), p.two.by(), second, first, p.one.by())
	}
	one, two := p.one.by(), p.two.by()
	switch p.kind {
	case pairBulk:
		verb := "read"
		if p.one.writes {
			verb = "write"
		}
		return fmt.Sprintf(
			"%s race on %s: the %s that %s issued at %s may still %s it when %s %s it at %s",
			p.hazard(), p.element(), p.operation(), one, first, verb, two, p.two.verb(), second)
	case pairProxy:
		if p.init {
			return fmt.Sprintf(
				"%s: %s initialises it at %s, and the %s that %s issues at %s completes on it: no fence.mbarrier_init stands between them, so the asynchronous copy need not see it",
				p.element(), one, first, p.operation(), two, second)
		}
		return fmt.Sprintf(
			"%s: %s writes it at %s, and the %s that %s issues at %s need not see that: no fence.proxy.async stands between them",
			p.element(), one, first, p.operation(), two, second)
	}
	if p.kind == pairBlocks {
		one, two = fmt.Sprintf("block %s, %s", grid.At(p.block[0]), one),
			fmt.Sprintf("block %s, %s", grid.At(p.block[1]), two)
	}
	s := fmt.Sprintf("%s race on %s: %s, and nothing orders them", p.hazard(), p.element(),
		bothAccess(one, p.one.verb(), first, two, p.two.verb(), second))
	if same {
		s += "; both write the same value"
	}
	return s
}

// operation names what is asynchronous in a pair.
func (p *pair) operation() string {
	if p.product {
		return "wgmma"
	}
	return "asynchronous copy"
}

// bothAccess says which two threads access a cell and where, one place once.
func bothAccess(one, does, first, two, alsoDoes, second string) string {
	switch {
	case first != second:
		return fmt.Sprintf("%s %s it at %s, %s %s it at %s", one, does, first, two, alsoDoes, second)
	case does != alsoDoes:
		return fmt.Sprintf("%s %s it and %s %s it at %s", one, does, two, alsoDoes, first)
	}
	return fmt.Sprintf("%s and %s both %s it at %s", one, two, strings.TrimSuffix(does, "s"), first)
}

// Unfit is what stands in what is missing where no place is known between the accesses of a race that every
// thread of a block, or lane of a warp, comes to.
const Unfit = "which way is taken there may depend on the thread"

// unfit is what is missing then.
func (c *cause) unfit(sites []site) string {
	from, to := between(&sites[c.lo], &sites[c.hi])
	who := "a barrier of the threads that come there (__syncthreads() where it is the whole block, else " +
		"bar.sync with their number)"
	if c.warp {
		who = "a barrier of the lanes that come there (__syncwarp() where it is the whole warp, else with " +
			"their mask)"
	}
	return who + " " + betweenPlaces(from, to) + ": " + Unfit +
		"; or let all of them take the same way, or keep apart what is read and written"
}

// betweenPlaces is where something belongs that orders accesses of two places, or of one.
func betweenPlaces(from, to string) string {
	if from == to {
		return "between the accesses of " + from
	}
	return fmt.Sprintf("between %s and %s", from, to)
}

// missing names what would put it right, and where.
func (c *cause) missing(p *pair, sites []site) string {
	from, to := between(&sites[c.lo], &sites[c.hi])
	between := betweenPlaces(from, to)
	if c.hi <= c.lo && p.wrapped && backwards(from, to) {
		between += " of the next iteration"
	}
	switch p.kind {
	case pairBulk:
		if one, two := p.one, p.two; p.first == p.second && one.warp == two.warp && one.lane != two.lane {
			return "exclusive access: one lane that issues the copy at " + from +
				", by elect.sync or a condition"
		}
		how := target.MBarrierWait + " that the copy completes on"
		if in := sites[p.first].in; p.product {
			how = "wgmma.wait_group by the warpgroup that issued it, and a barrier,"
		} else if in.Has("bulk_group") && p.wrote {
			how = "cp.async.bulk.wait_group by the thread that issued it, and a barrier,"
		} else if in.Has("bulk_group") {
			how = "cp.async.bulk.wait_group.read by the thread that issued it, and a barrier,"
		}
		return how + " " + between
	case pairProxy:
		if p.init {
			return "fence.mbarrier_init.release.cluster by the thread that initialises it, " + between
		}
		return "fence.proxy.async by the thread that writes " + between
	}
	barrier := "__syncthreads()"
	if c.warp {
		barrier = "__syncwarp()"
	}
	switch {
	case p.kind == pairEarly && p.alone(sites):
		return "cp.async.wait_group " + between
	case p.kind == pairEarly:
		return "cp.async.wait_group and " + barrier + " " + between
	case p.lacks.scope > 0:
		s := &sites[p.lacks.scope-1]
		return fmt.Sprintf(
			target.WiderScope+" for the %s at %s, which reaches its own block only (__threadfence(), not __threadfence_block(); cuda::thread_scope_device): between %s and %s",
			s.in.Opcode(), s.source(), sites[p.lacks.from].source(), sites[p.lacks.to].source())
	case p.lacks.acquire:
		return fmt.Sprintf("%s between the read of the flag and %s", target.MemoryFence,
			sites[p.lacks.to].source())
	case p.lacks.some:
		return fmt.Sprintf(
			target.MemoryFence+" between %s and the write of the flag (and one between the read of the flag and %s, where there is none)",
			sites[p.lacks.from].source(), sites[p.lacks.to].source())
	case p.kind == pairBlocks:
		at := fmt.Sprint(sites[p.first].source())
		if second := fmt.Sprint(sites[p.second].source()); second != at {
			at += " and " + second
		}
		return "exclusive access at " + at + ": one block as the owner, an atomic, a merge in a launch of its own, " +
			"or a grid barrier in a cooperative launch; a barrier of a block does not order blocks"
	case c.exclusive:
		who := fmt.Sprintf("warps %d and %d", p.one.warp, p.two.warp)
		if p.warp {
			who = fmt.Sprintf("lanes %d and %d of warp %d", p.one.lane, p.two.lane, p.one.warp)
		}
		return fmt.Sprintf("exclusive access at %s, where %s both update it: one of them as the owner, an atomic "+
			"or a merge", sites[p.second].source(), who)
	}
	return barrier + " " + between
}
