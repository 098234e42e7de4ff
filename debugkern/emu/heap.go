package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"tilescope/debugkern/target"
)

// The device heap: malloc and free. Each block has a heap of its own, so that addresses do not depend on what
// other blocks do: an access to what another block has allocated ends the launch as not modelled. Addresses
// are given out once, in the order of the block's calls, with gaps between them: a freed one is never in use
// again, and an offset that leaves its allocation lands nowhere.

const (
	// heapBytes is what a block may have allocated at once: the heap of a launch, by default (CUDA C++
	// Programming Guide, "Heap Memory Allocation").
	heapBytes = 8 << 20
	heapAlign = 16 // of what malloc returns (the same)
	heapGap   = 256
	heapBase  = uint64(1) << 47 // above every window
	heapBits  = 32              // of a block's addresses
)

// heapPiece is what one call of malloc returned.
type heapPiece struct {
	*alloc
	size        int
	made, freed *inst // the calls; freed is nil while it is allocated
}

// heapMemory is a block's heap: pieces by rising address.
type heapMemory struct {
	base   uint64
	next   uint64 // where the next piece may begin
	live   int    // bytes that are allocated
	pieces []heapPiece
}

// begin empties the heap for a block of the launch.
func (h *heapMemory) begin(block int) {
	*h = heapMemory{base: heapBase + uint64(block)<<heapBits}
	h.next = h.base + heapGap
}

// onHeap reports whether an address belongs to the heap of some block.
func onHeap(addr uint64) bool { return addr >= heapBase }

// piece returns the piece that begins at an address or below it, nil for none.
func (h *heapMemory) piece(addr uint64) *heapPiece {
	i := sort.Search(len(h.pieces), func(i int) bool { return h.pieces[i].base > addr })
	if i == 0 {
		return nil
	}
	return &h.pieces[i-1]
}

// at returns the allocation that holds an address, and the offset in it; nil where it is not allocated.
func (h *heapMemory) at(addr uint64) (*alloc, uint64) {
	if p := h.piece(addr); p != nil && p.freed == nil && addr-p.base < uint64(p.size) {
		return p.alloc, addr - p.base
	}
	return nil, 0
}

// malloc allocates n bytes, and returns their address, 0 where there is no room.
func (h *heapMemory) malloc(in *inst, n uint64) uint64 {
	if n == 0 || n > uint64(heapBytes-h.live) || h.next-h.base > 1<<heapBits-2*heapBytes {
		return 0
	}
	a := &alloc{
		base: h.next, data: make([]byte, n), written: make([]byte, n), name: "malloc at " + in.where(),
		space: target.SpaceGlobal, heap: true,
	}
	fill(a.data, 0xff)
	h.pieces = append(h.pieces, heapPiece{alloc: a, size: int(n), made: in})
	h.next = (h.next + n + heapGap + heapAlign - 1) / heapAlign * heapAlign
	h.live += int(n)
	return a.base
}

// free takes back what begins at an address; it returns what is wrong with that, "" for nothing.
func (h *heapMemory) free(in *inst, addr uint64) string {
	p := h.piece(addr)
	switch {
	case addr == 0:
		return ""
	case p == nil || p.base != addr:
		return fmt.Sprintf("free of %#x, which malloc did not return", addr)
	case p.freed != nil:
		return fmt.Sprintf("free of what %s was freed at %s", p.returned(), p.freed.where())
	}
	h.live -= p.size
	p.data, p.written, p.freed = nil, nil, in
	return ""
}

// returned names a piece for a message.
func (p *heapPiece) returned() string {
	return fmt.Sprintf("malloc of %d bytes at %s returned and", p.size, p.made.where())
}

// around says what of the heap is near an address where nothing is, "" for nothing.
func (h *heapMemory) around(addr uint64) string {
	p := h.piece(addr)
	switch {
	case p == nil:
		return ""
	case addr-p.base < uint64(p.size):
		return fmt.Sprintf("in the %d bytes of malloc at %s, which were freed at %s", p.size, p.made.where(),
			p.freed.where())
	case addr-p.base < uint64(p.size)+heapGap:
		return fmt.Sprintf("at byte %d of the %d of malloc at %s", addr-p.base, p.size, p.made.where())
	}
	return ""
}

// clone copies the heap.
func (h *heapMemory) clone() heapMemory {
	c := *h
	c.pieces = slices.Clone(h.pieces)
	for i := range c.pieces {
		a := *c.pieces[i].alloc
		a.data, a.written = slices.Clone(a.data), slices.Clone(a.written)
		c.pieces[i].alloc = &a
	}
	return c
}

// mallocCall is malloc(bytes) in each lane.
func mallocCall(w *warp, in *inst, m uint32) {
	c := in.call
	for ; m != 0; m &= m - 1 {
		frame, written := w.argFrame(c, bits.TrailingZeros32(m)&31)
		n := scalarAt(frame[c.copies[0].from:], c.copies[0].size)
		at := w.blk.heap.malloc(in, n)
		if len(c.results) > 0 {
			to := c.results[0].to
			le.PutUint64(frame[to:], at)
			fill(written[to:to+8], 0xff)
		}
	}
}

// freeCall is free(address) in each lane.
func freeCall(w *warp, in *inst, m uint32) {
	b := w.blk
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		frame, _ := w.argFrame(in.call, lane)
		addr := le.Uint64(frame[in.call.copies[0].from:])
		if b.foreign(w, in, addr, lane) {
			return
		}
		if msg := b.heap.free(in, addr); msg != "" {
			b.report(w, in, lane, target.OutOfBounds, b.variableAt(target.SpaceGlobal, addr),
				place{space: target.SpaceGlobal, addr: addr}, msg, "")
		}
	}
}

// foreign ends the launch where an address is of another block's heap.
func (b *block) foreign(w *warp, in *inst, addr uint64, lane int) bool {
	other := (addr - heapBase) >> heapBits
	if !b.p.heap || !onHeap(addr) || addr>>heapBits == b.heap.base>>heapBits ||
		other >= uint64(b.l.Grid.Count()) {
		return false
	}
	if b.err != nil {
		return true
	}
	b.err = &target.Fault{
		Kind: "unmodelled",
		Msg:  "what malloc returned to another block is accessed: device memory that blocks or launches hand to each other is not modelled",
		Pos:  in.src.Pos.String(), Block: b.id, Warp: w.id, Lane: lane, Source: w.called(in),
	}
	return true
}

// leaks reports what a block leaves on the heap.
func (b *block) leaks() {
	for i := range b.heap.pieces {
		p := &b.heap.pieces[i]
		if p.freed != nil || p.made.probe {
			continue
		}
		src := p.made.source()
		b.found.add(findingKey{kind: target.NotModelled, source: *src, name: p.name}, target.Finding{
			Kind: target.NotModelled, Severity: target.NotModelled.Severity(), Block: b.id, KVTile: -1,
			Source: src, Count: 1,
			Message: "what malloc returned here is never freed: it takes room on the device heap (8 MiB by default) after the launch, " +
				"and what it holds is not modelled beyond that",
		})
	}
}
