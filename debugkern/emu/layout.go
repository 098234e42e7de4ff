package emu

import (
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// Layouts. Bytes that a tensor copy brings lie in shared memory as its map swizzles them, and whoever reads
// them has to swizzle them alike: the descriptors of a wgmma, and the map of a tensor store. So each 16 bytes
// remember the copy that wrote them last, and with it the line and the chunk of its box that they are. What
// threads write has no layout that is known, and is left alone.

// layouts stores in which layout each part of a block's shared memory was written.
type layouts struct {
	owner  []int32 // by 16 bytes: index in boxes plus one; 0: no copy's, or not known
	boxes  []boxLayout
	groups []boxGroup
	chains map[chainKey]int // by accumulator: how often it was begun anew
}

// boxLayout is a box that a tensor copy has brought.
type boxLayout struct {
	lo, hi       uint64 // shared memory that it spans
	swizzle      tensormap.Swizzle
	pitch, lines int
	bytes        int // of a line
	in           *inst
	name         string // of the map
	group        int
	read         []bool // by chunk of 16 bytes, line after line: a wgmma has read it
	slices       []sliceRead
}

// boxGroup is the boxes that one phase of an mbarrier brings by one map: a tile.
type boxGroup struct {
	mbar  uint64
	name  string
	boxes []int
	used  bool // a wgmma has read of it
	again *againRead
}

// chainKey is the accumulator of a warpgroup: the slot of its first register.
type chainKey struct {
	warpgroup int
	slot      int32
}

// sliceRead is the read of a slice along k by a product: where it begins, and of which sum the product is a
// part.
type sliceRead struct {
	operand     string
	line, chunk int
	chain       chainKey
	begun       int
}

// againRead is a slice that two products of one sum have read.
type againRead struct {
	in       *inst
	warp     int
	operand  string
	addr     uint64
	products int
	chain    sliceRead // of the sum that is counted
	major    bool
	lines    int // of a slice, where it is MN-major
}

// unit is 16 bytes of a box.
type unit struct {
	box         int
	line, chunk int
}

// tracksLayouts reports whether a program has both tensor copies that bring tiles and readers of layouts.
func (p *program) tracksLayouts() bool {
	loads, reads := false, false
	for i := range p.code {
		in := &p.code[i]
		if in.bulk != nil && in.bulk.tensor != nil {
			loads = loads || !in.bulk.tensor.stores
			reads = reads || in.bulk.tensor.stores
		}
		reads = reads || in.wgmma != nil
	}
	return loads && reads
}

// watchLayouts has the stores of a program that tracks layouts say what they overwrite.
func (p *program) watchLayouts() {
	if p.layouts = p.tracksLayouts(); !p.layouts {
		return
	}
	for i := range p.code {
		in := &p.code[i]
		if in.mem == nil || in.run == nil ||
			in.mem.space != target.SpaceShared && in.mem.space != target.SpaceNone {
			continue
		}
		switch in.class {
		case target.ClassStore, target.ClassAtomic, target.ClassAsync, target.ClassTensorMap:
			run := in.run
			in.run = func(w *warp, in *inst, mask uint32) {
				w.overwrites(in, mask)
				run(w, in, mask)
			}
		}
	}
}

// overwrites forgets the layout of what lanes are about to write.
func (w *warp) overwrites(in *inst, mask uint32) {
	b, x := w.blk, in.mem
	n := uint64(x.total())
	switch {
	case in.src.Kind() == isa.StoreFragment:
		b.async.layout.forget(0, uint64(len(b.shared))) // its cells are not worth finding
		return
	case in.mma != nil && in.mma.matrix > 0:
		n = descriptorUnit
	case in.class == target.ClassAsync:
		n = uint64(x.size)
	}
	for lane := range 32 {
		if mask>>lane&1 == 0 {
			continue
		}
		space, addr := x.space, w.address(x, lane)
		if space == target.SpaceNone {
			if space, addr = ungeneric(addr); space != target.SpaceShared {
				continue
			}
		}
		at := b
		if addr &= windowSize - 1; addr>>24 != 0 && b.maps() {
			if at, addr = b.distributed(addr); at == nil {
				continue
			}
		}
		at.async.layout.forget(addr, addr+n)
	}
}

// forget drops what is known of the bytes from lo up to hi.
func (l *layouts) forget(lo, hi uint64) {
	if l == nil || lo >= hi || l.boxes == nil {
		return
	}
	last := min((hi-1)/descriptorUnit+1, uint64(len(l.owner)))
	for i := lo / descriptorUnit; i < last; i++ {
		l.owner[i] = 0
	}
}

// landed notes the layout of what an operation has written to shared memory.
func (b *block) landedLayout(o *operation) {
	at := o.receiver(b)
	l := at.async.layout
	if l == nil || o.to.space != target.SpaceShared {
		return
	}
	t := o.tile
	if t == nil {
		l.forget(o.to.addr, o.to.addr+uint64(o.to.size))
		return
	}
	if l.owner == nil {
		l.owner = make([]int32, (len(at.shared)+descriptorUnit-1)/descriptorUnit)
	}
	at.neverRead(o.to.addr, o.to.addr+uint64(o.to.size))
	i := l.place(boxLayout{
		lo: o.to.addr, hi: o.to.addr + uint64(o.to.size), swizzle: t.m.Swizzle, pitch: t.m.Pitch(),
		lines: t.m.Rows(), bytes: t.m.RowBytes(), in: o.in, name: t.m.name,
		read: make([]bool, t.m.Rows()*t.m.RowBytes()/descriptorUnit),
	})
	l.join(i, o.done.mbar)
	for line := range t.m.Rows() {
		t.chunks(line, 0, t.m.RowBytes(), func(addr uint64, from, to int) {
			for at := addr; at < addr+uint64(to-from); at += descriptorUnit {
				l.owner[at/descriptorUnit] = int32(i + 1)
			}
		})
	}
}

// place gives a box its number: that of the box before at the same place, or a new one.
func (l *layouts) place(x boxLayout) int {
	i := slices.IndexFunc(l.boxes, func(o boxLayout) bool { return o.lo == x.lo && o.hi == x.hi })
	if i < 0 {
		l.boxes = append(l.boxes, x)
		return len(l.boxes) - 1
	}
	l.boxes[i] = x
	return i
}

// join puts a box into the group of those that come with it: by the same map, for the same mbarrier, and not
// read of yet.
func (l *layouts) join(box int, mbar uint64) {
	name := l.boxes[box].name
	i := slices.IndexFunc(l.groups, func(g boxGroup) bool {
		return g.mbar == mbar && g.name == name && !g.used && !slices.Contains(g.boxes, box)
	})
	if i < 0 {
		if i = slices.IndexFunc(l.groups, func(g boxGroup) bool { return g.boxes == nil }); i < 0 {
			l.groups = append(l.groups, boxGroup{})
			i = len(l.groups) - 1
		}
		l.groups[i] = boxGroup{mbar: mbar, name: name}
	}
	l.groups[i].boxes = append(l.groups[i].boxes, box)
	l.boxes[box].group = i
}

// at returns the 16 bytes of a box that lie at an address; ok is false where no copy's do.
func (l *layouts) at(addr uint64) (u unit, ok bool) {
	i := addr / descriptorUnit
	if i >= uint64(len(l.owner)) || l.owner[i] == 0 {
		return u, false
	}
	u.box = int(l.owner[i]) - 1
	x := &l.boxes[u.box]
	off := int(x.swizzle.Address(addr) - x.lo)
	u.line, u.chunk = off/x.pitch, off%x.pitch/descriptorUnit
	return u, true
}

// index is the number of 16 bytes in their box.
func (x *boxLayout) index(u unit) int { return u.line*x.bytes/descriptorUnit + u.chunk }

// clone copies the state, for a snapshot.
func (l *layouts) clone() *layouts {
	if l == nil {
		return nil
	}
	t := &layouts{
		owner: slices.Clone(l.owner), boxes: slices.Clone(l.boxes), groups: slices.Clone(l.groups),
		chains: map[chainKey]int{},
	}
	for i := range t.boxes {
		x := &t.boxes[i]
		x.read, x.slices = slices.Clone(x.read), slices.Clone(x.slices)
	}
	for i := range t.groups {
		g := &t.groups[i]
		if g.boxes = slices.Clone(g.boxes); g.again != nil {
			again := *g.again
			g.again = &again
		}
	}
	for k, n := range l.chains {
		t.chains[k] = n
	}
	return t
}
