package lineage

import (
	"math/bits"
	"sort"

	"tilescope/debugkern/target"
)

// shadow is the abstract bytes of memory.
type shadow struct {
	shared []uint32
	local  [][]uint32 // by thread
	global []map[uint64]*[pageSize]uint32
	params []param
}

const pageSize = 4096

// unwritten is a byte of global memory that the block did not write.
const unwritten = ^uint32(0)

// param is a kernel parameter.
type param struct{ offset, size, arg int }

func (h *shadow) init(t *Trace) {
	h.local = make([][]uint32, 32*t.warps)
	h.global = make([]map[uint64]*[pageSize]uint32, len(t.allocs))
	h.params = t.params()
}

// params lists the entry's parameters.
func (t *Trace) params() []param {
	var out []param
	for i, v := range t.funcs[0].Params {
		out = append(out, param{v.Offset, v.Size, i})
	}
	return out
}

// allocAt is the allocation that an address is in, -1 for none.
func (t *Trace) allocAt(addr uint64) int {
	i := sort.Search(len(t.allocs), func(i int) bool { return t.allocs[i].hi > addr })
	if i == len(t.allocs) || t.allocs[i].lo > addr {
		return -1
	}
	return i
}

// grown returns at least n bytes.
func grown(b []uint32, n int) []uint32 {
	if len(b) < n {
		b = append(b, make([]uint32, max(n-len(b), 4096))...)
	}
	return b
}

// read writes the bytes at an address.
func (x *interpreter[T]) read(space target.Space, addr uint64, thread int, to []uint32) {
	switch space {
	case target.SpaceShared:
		readFrom(x.mem.shared, addr, to)
	case target.SpaceLocal:
		readFrom(x.mem.local[thread], addr, to)
	case target.SpaceParam:
		x.readParam(int(addr), to)
	case target.SpaceGlobal, target.SpaceConst:
		x.readGlobal(addr, to)
	default:
		clear(to)
	}
}

func readFrom(b []uint32, addr uint64, to []uint32) {
	n := 0
	if addr < uint64(len(b)) {
		n = copy(to, b[addr:])
	}
	clear(to[n:])
}

// readParam reads scalar arguments.
func (x *interpreter[T]) readParam(addr int, to []uint32) {
	clear(to)
	for _, p := range x.mem.params {
		if addr < p.offset || addr >= p.offset+p.size {
			continue
		}
		if p.arg >= len(x.t.launch.Args) || x.t.launch.Args[p.arg].Buffer != nil {
			return
		}
		at := scalarAt{p.arg, addr - p.offset, len(to)}
		id, ok := x.scalar[at]
		if !ok {
			id = x.value(x.d.Scalar(at.arg, at.offset, at.n), at.n, false)
			x.scalar[at] = id
		}
		x.bytesOf(id, 0, to)
		return
	}
}

// leaf is the value of an element of an argument.
func (x *interpreter[T]) leaf(arg, element, size int) uint32 {
	k := leafPage{arg, element / leafPageSize}
	p := x.pages[k]
	if p == nil {
		p = new([leafPageSize]uint32)
		x.pages[k] = p
	}
	id := &p[element%leafPageSize]
	if *id == 0 {
		*id = x.value(x.d.Leaf(arg, element), size, true)
	}
	return *id
}

func (x *interpreter[T]) readGlobal(addr uint64, to []uint32) {
	i := x.t.allocAt(addr)
	if i < 0 {
		clear(to)
		return
	}
	a := &x.t.allocs[i]
	pages := x.mem.global[i]
	for k := range to {
		off := addr - a.lo + uint64(k)
		if pages != nil {
			if p := pages[off/pageSize]; p != nil && p[off%pageSize] != unwritten {
				to[k] = p[off%pageSize]
				continue
			}
		}
		if to[k] = 0; a.arg >= 0 && a.size <= 8 {
			e := int(off) / a.size
			to[k] = x.leaf(a.arg, e, a.size)<<3 | uint32(int(off)%a.size)
		}
	}
}

// write puts bytes at an address.
func (x *interpreter[T]) write(space target.Space, addr uint64, thread int, b []uint32) {
	end := int(addr) + len(b)
	switch space {
	case target.SpaceShared:
		x.mem.shared = grown(x.mem.shared, end)
		copy(x.mem.shared[addr:], b)
	case target.SpaceLocal:
		x.mem.local[thread] = grown(x.mem.local[thread], end)
		copy(x.mem.local[thread][addr:], b)
	case target.SpaceGlobal:
		i := x.t.allocAt(addr)
		if i < 0 {
			return
		}
		if x.mem.global[i] == nil {
			x.mem.global[i] = map[uint64]*[pageSize]uint32{}
		}
		for k, v := range b {
			off := addr - x.t.allocs[i].lo + uint64(k)
			p := x.mem.global[i][off/pageSize]
			if p == nil {
				p = new([pageSize]uint32)
				for j := range p {
					p[j] = unwritten
				}
				x.mem.global[i][off/pageSize] = p
			}
			p[off%pageSize] = v
		}
	}
}

// memory interprets a step that reads or writes memory.
func (x *interpreter[T]) memory(i int, s *step, f *flow) {
	switch f.kind {
	case flowLoad:
		x.load(s, f)
	case flowStore:
		x.store(s, f)
	case flowLoadRows:
		x.loadRows(s, f)
	case flowStoreRows:
		x.storeRows(s, f)
	case flowLoadTile:
		x.loadTile(s, f)
	case flowStoreTile:
		x.storeTile(s, f)
	case flowAtomic:
		x.atomic(s, f)
	case flowCopy:
		x.issue(i, s)
	}
}

// lanes calls do for every lane of every access of a step, with the address.
func (x *interpreter[T]) lanes(s *step, do func(a *access, lane, thread int, addr uint64)) {
	for k := range int(s.n) {
		a := x.t.accesses.at(int(s.aux) + k)
		for m := a.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			do(a, lane, int(s.warp)*32+lane, x.t.addr(a, lane))
		}
	}
}

func (x *interpreter[T]) load(s *step, f *flow) {
	var b [8]uint32
	size := min(f.size, 8)
	var done uint32
	x.lanes(s, func(a *access, lane, thread int, addr uint64) {
		done |= 1 << lane
		for k, d := range f.dst {
			if d.reg < 0 {
				continue
			}
			x.read(a.space, addr+uint64(k*size), thread, b[:size])
			x.put(s, d.reg, lane, x.join(b[:size]))
		}
	})
	for _, d := range f.dst { // out of bounds
		if d.reg >= 0 {
			x.clear(s, d.reg, s.mask&^done)
		}
	}
}

func (x *interpreter[T]) store(s *step, f *flow) {
	var b [8]uint32
	size := min(f.size, 8)
	x.lanes(s, func(a *access, lane, thread int, addr uint64) {
		for k := range f.src {
			x.bytesOf(x.get(s, &f.src[k], lane), 0, b[:size])
			x.keep(s, a.space, addr+uint64(k*size), lane, b[:size])
		}
	})
}

// keep writes the bytes that a lane stores, and reports them.
func (x *interpreter[T]) keep(s *step, space target.Space, addr uint64, lane int, b []uint32) {
	x.write(space, addr, int(s.warp)*32+lane, b)
	if space != target.SpaceGlobal || x.stored == nil {
		return
	}
	step := x.t.Step(x.op.Index)
	x.op.Step, x.op.Lane = step, lane
	for len(b) > 0 {
		st := Store{Step: step, Lane: lane, Arg: -1, Addr: addr, Bytes: len(b)}
		if i := x.t.allocAt(addr); i >= 0 {
			a := &x.t.allocs[i]
			if st.Offset = int(addr - a.lo); a.arg >= 0 { // element by element
				st.Arg, st.Element = a.arg, st.Offset/a.size
				st.Bytes = min(len(b), a.size-st.Offset%a.size)
			}
		}
		x.stored(&st, x.joined(b[:st.Bytes]))
		addr, b = addr+uint64(st.Bytes), b[st.Bytes:]
	}
}

// loadRows is ldmatrix: half c of row r of matrix k lies 2c bytes behind where lane 8k+r points.
func (x *interpreter[T]) loadRows(s *step, f *flow) {
	var from [32]uint64
	var space [32]target.Space
	x.lanes(s, func(a *access, lane, _ int, addr uint64) { from[lane], space[lane] = addr, a.space })
	for k, d := range f.dst {
		if d.reg < 0 {
			continue
		}
		for m := s.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			var b [4]uint32
			for e := range 2 {
				row, col := f.f.d.Cell(lane, e)
				at := (8*k + row) & 31
				x.read(space[at], from[at]+uint64(2*col), int(s.warp)*32+at, b[2*e:2*e+2])
			}
			x.put(s, d.reg, lane, x.join(b[:]))
		}
	}
}

// storeRows is stmatrix.
func (x *interpreter[T]) storeRows(s *step, f *flow) {
	var from [32]uint64
	var space [32]target.Space
	x.lanes(s, func(a *access, lane, _ int, addr uint64) { from[lane], space[lane] = addr, a.space })
	for k := range f.src {
		for m := s.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			var b [4]uint32
			x.bytesOf(x.get(s, &f.src[k], lane), 0, b[:])
			for e := range 2 {
				row, col := f.f.d.Cell(lane, e)
				at := (8*k + row) & 31
				x.keep(s, space[at], from[at]+uint64(2*col), at, b[2*e:2*e+2])
			}
		}
	}
}

// loadTile is wmma.load: each access is some elements of each lane's fragment that lie side by side.
func (x *interpreter[T]) loadTile(s *step, f *flow) {
	frag := f.f.d
	regs := make([][32][8]uint32, frag.Distinct())
	x.lanes(s, func(a *access, lane, thread int, addr uint64) {
		f.tileParts(a, func(reg, lo, n, off int) {
			x.read(a.space, addr+uint64(off), thread, regs[reg][lane][lo:lo+n])
		})
	})
	size := max(frag.Bits/8*frag.PerRegister, 4)
	for r, d := range f.dst {
		if d.reg < 0 {
			continue
		}
		for m := s.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			x.put(s, d.reg, lane, x.join(regs[r%len(regs)][lane][:size]))
		}
	}
}

// tileParts calls do for the elements of an access to a fragment: bytes lo to lo+n of register reg lie off
// bytes behind the address.
func (f *flow) tileParts(a *access, do func(reg, lo, n, off int)) {
	step, size := f.f.d.Moved()
	for k := range int(a.bytes) / size {
		reg, part := f.f.d.Register(int(a.element) + k*step)
		do(reg, part*f.f.d.Bits/8, size, k*size)
	}
}

func (x *interpreter[T]) storeTile(s *step, f *flow) {
	x.lanes(s, func(a *access, lane, _ int, addr uint64) {
		f.tileParts(a, func(reg, lo, n, off int) {
			var b [8]uint32
			x.bytesOf(x.get(s, &f.src[reg], lane), lo, b[:n])
			x.keep(s, a.space, addr+uint64(off), lane, b[:n])
		})
	})
}

// atomic is atom and red: lanes one after the other.
func (x *interpreter[T]) atomic(s *step, f *flow) {
	size := min(f.size, 8)
	swap := f.in.Has("exch")
	described := false
	var old [32]uint32
	x.lanes(s, func(a *access, lane, thread int, addr uint64) {
		var b [8]uint32
		x.read(a.space, addr, thread, b[:size])
		was := x.join(b[:size])
		old[lane] = was
		data := x.isData(was)
		if swap {
			x.bytesOf(x.get(s, &f.src[0], lane), 0, b[:size])
			x.keep(s, a.space, addr, lane, b[:size])
			return
		}
		x.in = append(x.in[:0], x.taken(was, 0, size))
		for i := range f.src {
			id := x.get(s, &f.src[i], lane)
			x.in = append(x.in, x.taken(id, 0, min(size, int(f.src[i].n))))
			data = data || x.isData(id)
		}
		if f.integer && !data {
			clear(b[:size])
		} else {
			if !described {
				x.about(s, f)
				described = true
			}
			x.op.Lane, x.op.Bytes = lane, size
			in := x.in
			x.bytesOf(x.made(in, size, data), 0, b[:size])
		}
		x.keep(s, a.space, addr, lane, b[:size])
	})
	for _, d := range f.dst {
		for m := s.mask; d.reg >= 0 && m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			x.put(s, d.reg, lane, old[lane])
		}
	}
}

// issue is a cp.async: the bytes are read now, and written when they land.
func (x *interpreter[T]) issue(i int, s *step) {
	c := &copying{}
	to, from := x.t.accesses.at(int(s.aux)), x.t.accesses.at(int(s.aux)+1)
	c.lanes = to.mask
	for m := to.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		n := x.t.copiedBytes(s, lane)
		if from.mask>>lane&1 != 0 { // of no bytes, the address may be of nothing
			x.read(from.space, x.t.addr(from, lane), 0, c.bytes[lane][:n])
		} else if x.t.flows[s.pc].bulk { // filled by the tensor map
			n = 0
		}
		for k := n; k < int(to.bytes); k++ {
			c.bytes[lane][k] = zeroByte
		}
	}
	x.flying[i] = c
}

// copiedBytes is how many bytes a lane of a cp.async copies; the rest is zero.
func (t *Trace) copiedBytes(s *step, lane int) int {
	to := t.accesses.at(int(s.aux))
	if s.n < 3 {
		return int(to.bytes)
	}
	return min(int(t.addr(t.accesses.at(int(s.aux)+2), lane)), int(to.bytes))
}

// land writes bytes of a cp.async.
func (x *interpreter[T]) land(s *step) {
	at := int(s.aux)
	c, to := x.flying[at], x.t.accesses.at(int(x.t.steps.at(at).aux))
	if c == nil {
		return
	}
	for m := s.mask & to.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		b := c.bytes[lane][:to.bytes]
		if size := x.t.combined[s.aux]; size > 0 {
			var old [pieceBytes]uint32
			x.read(to.space, x.t.addr(to, lane), 0, old[:len(b)])
			x.combine(s, &x.t.flows[s.pc], old[:len(b)], b, int(size))
		}
		if f := &x.t.flows[s.pc]; f.bulk {
			x.keep(s, to.space, x.t.addr(to, lane), x.t.lane(s, lane), b)
			continue
		}
		x.write(to.space, x.t.addr(to, lane), 0, b)
	}
	if c.lanes &^= s.mask; c.lanes == 0 {
		delete(x.flying, at)
	}
}

// pass copies the parameters or results of a call.
func (x *interpreter[T]) pass(s *step) {
	for m := s.mask; m != 0; m &= m - 1 {
		thread := int(s.warp)*32 + bits.TrailingZeros32(m)&31
		for _, p := range x.t.passes[s.aux] {
			b := make([]uint32, p.Size)
			x.read(target.SpaceLocal, p.From, thread, b)
			x.write(target.SpaceLocal, p.To, thread, b)
		}
	}
}
