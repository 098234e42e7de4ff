package check

import (
	"math/bits"

	"tilescope/debugkern/target"
)

// What a launch executed and stored, for reports that say how much a clean result covers: which instructions
// of the entry and of the functions that it calls, and which bytes of each argument. It finds nothing.

func coverageKind() kind {
	none := func(*Checker, []unit) []target.Finding { return nil }
	return kind{set: Coverage, start: startCoverage, findings: none}
}

// Covered is what the blocks that have ended executed and stored.
type Covered struct {
	// Executed is by instruction: the entry's in order, then those of the functions that it calls.
	Executed []bool
	Written  map[string]Bytes // by the name of a global variable or argument
}

// pageBytes is how many bytes a page of Bytes stands for, a bit each.
const pageBytes = 4096

// Bytes is a set of offsets into an allocation, by page.
type Bytes map[uint64]*[pageBytes / 64]uint64

// Add adds n bytes from an offset on.
func (b Bytes) Add(off uint64, n int) {
	for n > 0 { // a word of bits at a time
		p := b[off/pageBytes]
		if p == nil {
			p = new([pageBytes / 64]uint64)
			b[off/pageBytes] = p
		}
		k := min(n, 64-int(off%64))
		p[off%pageBytes/64] |= (1<<k - 1) << (off % 64)
		off, n = off+uint64(k), n-k
	}
}

// Merge adds all of another set, whose pages it may keep.
func (b Bytes) Merge(o Bytes) {
	for k, page := range o {
		p := b[k]
		if p == nil {
			b[k] = page
			continue
		}
		for i, w := range page {
			p[i] |= w
		}
	}
}

// Whole counts the elements of 1, 2, 4 or 8 bytes all of whose bytes are in the set.
func (b Bytes) Whole(size int) int {
	first := uint64(0)
	for i := 0; i < 64; i += size {
		first |= 1 << i
	}
	n := 0
	for _, p := range b {
		for _, w := range p {
			for s := 1; s < size; s *= 2 { // a bit remains where the bits of the whole element are set
				w &= w >> s
			}
			n += bits.OnesCount64(w & first)
		}
	}
	return n
}

// Covered returns what was covered so far, with Coverage. It must not be called while a block executes.
func (c *Checker) Covered() Covered {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.covered == nil {
		return Covered{}
	}
	return *c.covered
}

// coverageUnit watches one block.
type coverageUnit struct {
	checker  *Checker
	view     target.View
	executed []bool // by target.Event.PC
	sites    []site
	allocs   []*written
}

// written is what a block stored to one allocation.
type written struct {
	lo, hi uint64
	name   string
	bytes  Bytes
}

func startCoverage(b *block) unit {
	sites := b.checker.program(b.view)
	return &coverageUnit{checker: b.checker, view: b.view, executed: make([]bool, len(sites)), sites: sites}
}

func (u *coverageUnit) Interests() target.ClassSet {
	return target.AllClasses | target.Classes(target.ClassBulkLand)
}

// Event implements target.Observer.
func (u *coverageUnit) Event(e *target.Event) {
	u.executed[e.PC] = true
	switch e.Class {
	case target.ClassStore, target.ClassAtomic, target.ClassBulkLand:
	default:
		return
	}
	if e.Space != target.SpaceGlobal || e.Addr == nil {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		addr := e.Addr[bits.TrailingZeros32(m)]
		if a := u.alloc(addr); a != nil && addr+uint64(e.Bytes) <= a.hi &&
			!u.view.Strays(e.PC, e.Space, addr) {
			a.bytes.Add(addr-a.lo, e.Bytes)
		}
	}
}

// alloc is the allocation around an address, nil where nothing is.
func (u *coverageUnit) alloc(addr uint64) *written {
	for _, a := range u.allocs {
		if addr >= a.lo && addr < a.hi {
			return a
		}
	}
	lo, hi, _ := u.view.Extent(addr)
	if lo == hi {
		return nil
	}
	name, _ := u.view.Name(target.SpaceGlobal, lo)
	a := &written{lo: lo, hi: hi, name: name, bytes: Bytes{}}
	u.allocs = append(u.allocs, a)
	return a
}

// End implements target.Ender: the block's part joins that of the launch.
func (u *coverageUnit) End() {
	c := u.checker
	c.mu.Lock()
	defer c.mu.Unlock()
	var executed []bool
	for pc, done := range u.executed {
		// not the return at a function's end that nobody wrote
		if s := &u.sites[pc]; s.index < len(s.fn.Body) {
			executed = append(executed, done)
		}
	}
	if c.covered == nil {
		c.covered = &Covered{Executed: make([]bool, len(executed)), Written: map[string]Bytes{}}
	}
	for i, done := range executed {
		c.covered.Executed[i] = c.covered.Executed[i] || done
	}
	for _, a := range u.allocs {
		if c.covered.Written[a.name] == nil {
			c.covered.Written[a.name] = Bytes{}
		}
		c.covered.Written[a.name].Merge(a.bytes)
	}
	u.executed, u.allocs = nil, nil
}
