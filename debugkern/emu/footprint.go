package emu

import (
	"math/bits"
	"sync"
)

// A footprint is the bytes of global memory that one block has read and written, exactly: a bit a byte, in
// pages that are made where the block touches them. What probes do is left out: a slot of the capture buffer
// belongs to one block.
type footprint struct {
	allocs []*allocPrint // by allocation; nil where nothing is noted
}

// allocPrint is the part of a footprint that lies in one allocation.
type allocPrint struct {
	pages   []*pagePrint
	touched []int // pages with a bit, in order of first touch
}

// printWords is the 64-bit words of a page's bit maps.
const printWords = 1 << pageBits / 64

// pagePrint is one page: words lo to hi-1 may hold bits.
type pagePrint struct {
	lo, hi        int
	read, written [printWords]uint64
}

// newFootprint notes accesses to the allocations that wanted selects.
func newFootprint(m *memory, wanted func(*alloc) bool) *footprint {
	f := &footprint{allocs: make([]*allocPrint, len(m.allocs))}
	for i, a := range m.allocs {
		if wanted(a) {
			f.allocs[i] = &allocPrint{pages: make([]*pagePrint, (len(a.data)+1<<pageBits-1)>>pageBits)}
		}
	}
	return f
}

// mark notes an access to the n bytes at off.
func (p *allocPrint) mark(off, n int, write bool) {
	for n > 0 {
		i, at := off>>pageBits, off&(1<<pageBits-1)
		k := min(n, 1<<pageBits-at)
		p.page(i).mark(at, k, write)
		off, n = off+k, n-k
	}
}

// page returns a page of the footprint, made where it is new.
func (p *allocPrint) page(i int) *pagePrint {
	g := p.pages[i]
	if g == nil {
		g = &pagePrint{}
		p.pages[i] = g
	}
	if g.hi == 0 {
		g.lo, p.touched = printWords, append(p.touched, i)
	}
	return g
}

func (g *pagePrint) mark(at, n int, write bool) {
	set := &g.read
	if write {
		set = &g.written
	}
	first, last := at>>6, (at+n-1)>>6
	g.lo, g.hi = min(g.lo, first), max(g.hi, last+1)
	for i := first; i <= last; i++ {
		from, to := max(at-i<<6, 0), min(at+n-i<<6, 64)
		set[i&(printWords-1)] |= ^uint64(0) >> (64 - (to - from)) << from
	}
}

// lanes notes the accesses of the lanes of mask, total bytes each, at rel.
func (p *allocPrint) lanes(rel *row32, mask uint32, total int, contiguous, write bool) {
	if contiguous && mask == allLanes {
		p.mark(int(rel[0]), 32*total, write)
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		p.mark(int(rel[bits.TrailingZeros32(m)&31]), total, write)
	}
}

// clear forgets everything.
func (f *footprint) clear() {
	for _, p := range f.allocs {
		if p != nil {
			p.clear()
		}
	}
}

func (p *allocPrint) clear() {
	for _, i := range p.touched {
		g := p.pages[i]
		clear(g.read[g.lo:g.hi])
		clear(g.written[g.lo:g.hi])
		g.lo, g.hi = 0, 0
	}
	p.touched = p.touched[:0]
}

// union is the footprints of all blocks of a launch that have ended. Safe for concurrent use.
type union struct {
	mu  sync.Mutex
	all *footprint
}

// add takes in the footprint of a block and clears it. It reports whether the block shares: it read or wrote
// a byte that another block has written, or wrote a byte that another has read.
func (u *union) add(f *footprint) (shares bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, p := range f.allocs {
		if p == nil {
			continue
		}
		for _, k := range p.touched {
			shares = u.all.allocs[i].page(k).join(p.pages[k]) || shares
		}
		p.clear()
	}
	return shares
}

// join adds the bits of a page and reports whether they conflict with those that are there.
func (g *pagePrint) join(o *pagePrint) bool {
	g.lo, g.hi = min(g.lo, o.lo), max(g.hi, o.hi)
	conflict := uint64(0)
	for i := o.lo; i < o.hi; i++ {
		r, w := o.read[i], o.written[i]
		conflict |= w&(g.read[i]|g.written[i]) | r&g.written[i]
		g.read[i] |= r
		g.written[i] |= w
	}
	return conflict != 0
}

// byteRange is bytes of one allocation.
type byteRange struct {
	alloc  int
	off, n int
}

// reads lists the bytes that were read, at most limit ranges; false where there are more.
func (f *footprint) reads(limit int) (out []byteRange, ok bool) {
	for i, p := range f.allocs {
		if p == nil {
			continue
		}
		for _, k := range p.touched {
			g := p.pages[k]
			for w := g.lo; w < g.hi; w++ {
				for b := g.read[w]; b != 0; {
					from := bits.TrailingZeros64(b)
					n := bits.TrailingZeros64(^(b >> from))
					if len(out) == limit {
						return nil, false
					}
					out = append(out, byteRange{i, k<<pageBits + w<<6 + from, n})
					b &^= ^uint64(0) >> (64 - n) << from
				}
			}
		}
	}
	return out, true
}
