package emu

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// The capture buffer of a launch is one range of addresses, but not one piece of memory. A block in
// execution has memory for its own slots, with a byte of written state for each byte; no other block has
// business there, and an access to the slots of another is out of bounds. When the block has ended, which
// cells are missing is worked out, the written state is used for the next block, and the slots go to the
// launch. Slots with the same bytes as an earlier block's are stored once: blocks that load the same
// tiles capture the same bits of them.

// slotMemory is the memory of a block's slots. It implements probes.Captured and probes.Stores for the block.
type slotMemory struct {
	base    uint64   // of the capture buffer
	spans   []*alloc // by captured stage; none where the block is not captured
	regions []region // of the spans
	spare   []*alloc // what spans is made of
}

// begin makes the slots of the block empty; their memory is used again.
func (s *slotMemory) begin(b *block) {
	s.spans, s.regions = s.spans[:0], s.regions[:0]
	if b.mem.capture == nil {
		return
	}
	s.base = b.mem.capture.base
	for i, x := range b.l.Probe.Layout.Spans(b.id) {
		if i == len(s.spare) {
			s.spare = append(s.spare, &alloc{
				name: b.mem.capture.name, space: target.SpaceGlobal, capture: true,
			})
		}
		a := s.spare[i]
		a.base = s.base + x.Lo
		a.data, a.written = emptied(a.data, x.Hi-x.Lo), emptied(a.written, x.Hi-x.Lo)
		if b.mem.private {
			a.dirty = map[int]struct{}{}
		}
		s.spans = append(s.spans, a)
		if len(a.data) < 1<<32 {
			s.regions = append(s.regions, region{lo: a.base, data: a.data, written: a.written, alloc: a})
		}
	}
}

// emptied returns n zeros, in the memory of p where that has as many bytes.
func emptied(p []byte, n uint64) []byte {
	if uint64(len(p)) != n {
		return make([]byte, n)
	}
	clear(p)
	return p
}

// nowhere is the region of an address outside a block's slots.
var nowhere region

// region returns the slots that hold an address.
func (s *slotMemory) region(addr uint64) *region {
	for i := range s.regions {
		if r := &s.regions[i]; addr >= r.lo && addr-r.lo < uint64(len(r.data)) {
			return r
		}
	}
	return &nowhere
}

// at returns the slots that hold an address, and the offset in them; nil where it lies in
// none of this block's.
func (s *slotMemory) at(addr uint64) (*alloc, uint64) {
	for _, a := range s.spans {
		if off := addr - a.base; addr >= a.base && off < uint64(len(a.data)) {
			return a, off
		}
	}
	return nil, 0
}

// Bytes implements probes.Captured.
func (s *slotMemory) Bytes(lo, hi uint64) []byte {
	a, off := s.at(s.base + lo)
	return a.data[off : off+hi-lo]
}

func (s *slotMemory) written(lo, hi uint64) []byte {
	a, off := s.at(s.base + lo)
	return a.written[off : off+hi-lo]
}

// Whole implements probes.Stores.
func (s *slotMemory) Whole(lo, hi uint64, _ int) bool { return allWritten(s.written(lo, hi)) }

// Untouched implements probes.Stores.
func (s *slotMemory) Untouched(lo, hi uint64) bool {
	return !slices.ContainsFunc(s.written(lo, hi), func(v byte) bool { return v != 0 })
}

// Stored implements probes.Stores.
func (s *slotMemory) Stored(lo, hi uint64) bool { return allWritten(s.written(lo, hi)) }

// captures is what the blocks of a launch have captured. It is safe for concurrent use.
type captures struct {
	pieces *probes.Pieces
	seed   maphash.Seed
	mu     sync.Mutex
	known  map[uint64][][]byte // by hash
}

func newCaptures(l *probes.Layout) *captures {
	return &captures{pieces: l.NewPieces(), seed: maphash.MakeSeed(), known: map[uint64][][]byte{}}
}

// take takes in the slots of a block that has ended.
func (c *captures) take(s *slotMemory) {
	for _, a := range s.spans {
		lo := a.base - s.base
		data, fresh := c.once(a.data)
		c.pieces.Set(probes.Span{Lo: lo, Hi: lo + uint64(len(data))}, data)
		if fresh {
			a.data = nil // the launch's now
		}
	}
}

// once returns data (fresh), or the slice stored before that has the same bytes.
func (c *captures) once(data []byte) (stored []byte, fresh bool) {
	h := maphash.Bytes(c.seed, data)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.known[h] {
		if bytes.Equal(k, data) {
			return k, false
		}
	}
	c.known[h] = append(c.known[h], data)
	return data, true
}
