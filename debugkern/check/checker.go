package check

import (
	"slices"
	"sort"
	"sync"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Options say what a Checker watches.
type Options struct {
	Set Set
	// Ignore lists synchronisation instructions (target.Event.PC) that are taken to order nothing: what a
	// barrier is needed for is what becomes a finding without it.
	Ignore []int
	// Block is the one block that Precision studies; the other checkers watch every block.
	Block probes.Dim3
	// Harmed is called, with Reach, as soon as a value of a source does harm, from any goroutine that
	// executes a block, at most once for each source and block; nil: nobody waits for it.
	Harmed func(Reached)
}

// Checker watches one launch, on as many cores as it has: Observer goes into target.Launch.Observe and
// Discard into target.Launch.Discard, or Observer's result into target.Block.Observe. A Checker is used
// for one launch only.
type Checker struct {
	options Options
	ignored map[int]bool
	defined definitions

	mu     sync.Mutex
	blocks []*block
	sites  []site // of the program, once a block has begun
	behind *behindBarriers
	grid   *gridState
	spare  []*shadow
	stamps []uint32 // the last stamp given out in each spare

	covered *Covered // by blocks that have ended; nil before the first

	clusters map[probes.Dim3]*clusterState // by place in the grid of clusters; nil: the launch has none
}

// kind is one family of checkers: it watches with one unit a block, and makes findings of what the
// units of all blocks saw.
type kind struct {
	set Set // any of these switches it on
	// start makes the unit of a block, once the block's view is there. It may return nil: nothing to
	// watch in this block.
	start func(b *block) unit
	// findings is called when the launch is over, or for what was seen so far, with the units of
	// all blocks in the order of their linear block index, on one goroutine. What it returns must
	// depend on nothing else.
	findings func(c *Checker, us []unit) []target.Finding
}

// unit watches one block, for one kind. Event is called for the classes of Interests only, those of the probe
// header (Event.Probe) among them.
type unit interface {
	target.Observer
	target.Interested
}

// Units that implement target.Ender are called when their block is over; from then on the
// view must not be used.

// kinds lists every kind of checker there is, in the order in which their findings stand where
// nothing else orders them.
func kinds() []kind {
	return []kind{
		raceKind(), clusterKind(), noncoherentKind(), barrierKind(), registerKind(), overlapKind(),
		bankKind(), sectorKind(), originKind(), precisionKind(), reachKind(), coverageKind(),
	}
}

// New makes a checker for one launch.
func New(o Options) *Checker {
	c := &Checker{options: o, ignored: map[int]bool{}}
	for _, pc := range o.Ignore {
		c.ignored[pc] = true
	}
	return c
}

// Observer returns the observer of one block, nil where nothing is to be watched. It may be called from
// several goroutines, for different blocks.
func (c *Checker) Observer(id probes.Dim3) target.Observer {
	if c.options.Set == 0 {
		return nil
	}
	b := &block{id: id, checker: c}
	c.mu.Lock()
	c.blocks = append(c.blocks, b)
	c.mu.Unlock()
	return b
}

// Discard forgets all that was watched so far: the launch starts over (target.Launch.Discard).
func (c *Checker) Discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks, c.grid, c.spare, c.stamps, c.covered, c.clusters = nil, nil, nil, nil, nil, nil
}

// Findings returns what is wrong with the blocks watched so far, one finding a cause, in an order and
// with contents that depend on the launch alone and not on the number of cores. It must not be called
// while a block executes.
func (c *Checker) Findings() []target.Finding {
	var out []target.Finding
	for i, k := range kinds() {
		if us := c.unitsAt(i); len(us) > 0 {
			out = append(out, k.findings(c, us)...)
		}
	}
	if blocks := c.begun(); len(blocks) > 0 {
		order(out, blocks[0].grid)
	}
	return out
}

// begun lists the blocks that have begun, by linear index.
func (c *Checker) begun() []*block {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocks := make([]*block, 0, len(c.blocks))
	for _, b := range c.blocks {
		if b.view != nil {
			blocks = append(blocks, b)
		}
	}
	sort.SliceStable(blocks, func(i, j int) bool { return blocks[i].linear() < blocks[j].linear() })
	return blocks
}

// unitsOf lists the units of the kind that a set switches on, by linear block index.
func (c *Checker) unitsOf(set Set) []unit {
	var us []unit
	for i, k := range kinds() {
		if k.set == set {
			us = append(us, c.unitsAt(i)...)
		}
	}
	return us
}

// unitsAt lists the units of the kind at an index in kinds, by linear block index.
func (c *Checker) unitsAt(i int) []unit {
	var us []unit
	for _, b := range c.begun() {
		if u := b.units[i]; u != nil {
			us = append(us, u)
		}
	}
	return us
}

// order sorts findings: errors before advice, then by block, place and kind. Advice of a kind keeps its
// order: the dearest first.
func order(fs []target.Finding, grid probes.Dim3) {
	place := func(s *target.Source) (string, int) {
		if s == nil {
			return "", 0
		}
		return s.File, s.Line
	}
	sort.SliceStable(fs, func(i, j int) bool {
		a, b := &fs[i], &fs[j]
		if a.Severity != b.Severity {
			return a.Severity == target.SeverityError
		}
		if a.Severity == target.SeverityAdvice {
			return a.Kind < b.Kind
		}
		if x, y := grid.Linear(a.Block), grid.Linear(b.Block); x != y {
			return x < y
		}
		fa, la := place(a.Source)
		fb, lb := place(b.Source)
		switch {
		case fa != fb:
			return fa < fb
		case la != lb:
			return la < lb
		case a.Kind != b.Kind:
			return a.Kind < b.Kind
		}
		return a.Variable < b.Variable
	})
}

// block is one block under observation: what its units share. It is a target.Observer and hands events on.
type block struct {
	id   probes.Dim3
	view target.View // nil before the block begins; units must not use it once the block has ended

	checker *Checker
	grid    probes.Dim3
	units   []unit // by index in kinds; nil where the kind is off
	by      [32][]unit
	wants   target.ClassSet
	follows target.ClassSet
}

// View implements target.Viewer: the block begins.
func (b *block) View(v target.View) {
	b.view, b.grid = v, v.Launch().Grid
	for _, k := range kinds() {
		var u unit
		if b.checker.options.Set&k.set != 0 {
			u = k.start(b)
		}
		b.units = append(b.units, u)
		if u == nil {
			continue
		}
		b.wants |= u.Interests()
		if f, ok := u.(target.Follower); ok {
			b.follows |= f.Follows()
		}
		for c := range b.by {
			if u.Interests().Has(target.Class(c)) {
				b.by[c] = append(b.by[c], u)
			}
		}
	}
}

// Follows implements target.Follower.
func (b *block) Follows() target.ClassSet { return b.follows }

// After implements target.Follower.
func (b *block) After(e *target.Event) {
	for _, u := range b.units {
		if f, ok := u.(target.Follower); ok && f.Follows().Has(e.Class) {
			f.After(e)
		}
	}
}

// Interests implements target.Interested.
func (b *block) Interests() target.ClassSet { return b.wants }

// Event implements target.Observer.
func (b *block) Event(e *target.Event) {
	for _, u := range b.by[e.Class] {
		u.Event(e)
	}
}

// End implements target.Ender.
func (b *block) End() {
	for _, u := range b.units {
		if e, ok := u.(target.Ender); ok {
			e.End()
		}
	}
}

// Pause implements target.Pauser.
func (b *block) Pause() {
	for _, u := range b.units {
		if p, ok := u.(target.Pauser); ok {
			p.Pause()
		}
	}
}

// linear is the block's linear index in the grid.
func (b *block) linear() int { return b.grid.Linear(b.id) }

// program describes the instructions of what is executed.
func (c *Checker) program(v target.View) []site {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sites == nil {
		c.sites = sitesOf(v.Program())
	}
	return c.sites
}

// takeShadow hands out the shadow of a block that has ended, or a new one, with the last stamp that is in it.
func (c *Checker) takeShadow() (*shadow, uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.spare)
	if n == 0 {
		return &shadow{}, 0
	}
	s, last := c.spare[n-1], c.stamps[n-1]
	c.spare, c.stamps = c.spare[:n-1], c.stamps[:n-1]
	if last > maxStamp {
		return &shadow{}, 0
	}
	return s, last
}

// maxStamp is where a shadow is given up, long before stamps run out within a block.
const maxStamp = 1 << 30

// giveShadow takes back the shadow of a block that has ended.
func (c *Checker) giveShadow(s *shadow, last uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.list = list{}
	for i := range s.cells {
		c := &s.cells[i]
		if c.more = 0; c.w.stamp == underWay {
			c.w = access{}
		}
	}
	c.spare, c.stamps = append(c.spare, s), append(c.stamps, last)
}

// causes collects the findings of one kind, one a cause: the first of a key is the finding, those after
// it only count and add their warps and lanes. Units that need no more than this keep one each and hand
// them to mergeCauses.
type causes struct {
	byKey map[any]*target.Finding
	order []any
}

// add counts a finding, or makes it the first of its cause. f.Count 0 counts as 1.
func (cs *causes) add(key any, f target.Finding) {
	f.Count = max(f.Count, 1)
	if f.Severity == "" {
		f.Severity = f.Kind.Severity()
	}
	old := cs.byKey[key]
	if old == nil {
		if cs.byKey == nil {
			cs.byKey = map[any]*target.Finding{}
		}
		cs.byKey[key] = &f
		cs.order = append(cs.order, key)
		return
	}
	old.Count += f.Count
	old.Warps, old.Lanes = union(old.Warps, f.Warps), union(old.Lanes, f.Lanes)
}

// seen returns the finding of a cause so far, nil for a new one: a cheap way to only count what
// was described before.
func (cs *causes) seen(key any) *target.Finding { return cs.byKey[key] }

// mergeCauses adds up the causes of blocks, in order.
func mergeCauses(blocks []*causes) []target.Finding {
	var all causes
	for _, cs := range blocks {
		for _, key := range cs.order {
			f := *cs.byKey[key]
			f.Warps, f.Lanes = union(nil, f.Warps), union(nil, f.Lanes)
			all.add(key, f)
		}
	}
	out := make([]target.Finding, 0, len(all.order))
	for _, key := range all.order {
		out = append(out, *all.byKey[key])
	}
	return out
}

// union merges sorted lists.
func union(a, b []int) []int {
	out := append(append([]int{}, a...), b...)
	sort.Ints(out)
	return slices.Compact(out)
}
