package lineage

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// Asynchronous operations are recorded when they read and write, not when they are issued: a bulk copy as
// steps of up to 32 pieces where it reads, and their landings where it writes; a wgmma as one step of each
// warp of its warpgroup where it lands. The steps have the instruction that issued the operation. Lanes of a
// step of a bulk copy are pieces of at most 16 bytes; access.element is the lane that issued it.

// pieceBytes is the most bytes of a piece of a bulk copy.
const pieceBytes = 16

// pieces is a step of a bulk copy that is being put together.
type pieces struct {
	to, from [32]uint64
	sources  uint32 // pieces that are not filled
	count, n int    // pieces, and the bytes of each
}

// bulkRead notes what a bulk operation read.
func (r *recorder) bulkRead(e *target.Event) {
	var p pieces
	e.Transfer.Pieces(func(to, from uint64, n int) {
		for off := 0; off < n; off += pieceBytes {
			m := min(n-off, pieceBytes)
			if p.count == 32 || p.count > 0 && (m != p.n || !p.near(to, from)) {
				r.moved(e, &p)
			}
			p.to[p.count], p.n = to+uint64(off), m
			if from != target.Filled {
				p.from[p.count] = from + uint64(off)
				p.sources |= 1 << p.count
			}
			p.count++
		}
	})
	r.moved(e, &p)
}

// near reports whether addresses are near enough to those of a step to be noted as distances.
func (p *pieces) near(to, from uint64) bool {
	const most = 1 << 30
	if d := int64(to - p.to[0]); d > most || d < -most {
		return false
	}
	if p.sources == 0 || from == target.Filled {
		return true
	}
	d := int64(from - p.from[bits.TrailingZeros32(p.sources)&31])
	return d < most && d > -most
}

// moved appends the step of some pieces, and begins anew.
func (r *recorder) moved(e *target.Event, p *pieces) {
	defer func() { *p = pieces{} }()
	if p.count == 0 || r.err != nil {
		return
	}
	one := *e
	one.Step, one.Mask = max(e.Step, 1)-1, uint32(1)<<p.count-1
	s := r.step(&one, stepPlain)
	if s == nil {
		return
	}
	at := r.lastAt
	s.aux, s.n = uint32(r.t.accesses.n), 2
	lane := bits.TrailingZeros32(e.Mask)
	r.piece(e.Transfer.To, &p.to, one.Mask, p.n, lane)
	if a := r.piece(e.Transfer.From, &p.from, p.sources, p.n, lane); a != nil && a.mask != 0 &&
		a.space == target.SpaceGlobal && r.t.foreign {
		r.changed(a)
	}
	if e.Transfer.Element > 0 {
		r.t.combined[uint32(at)] = uint8(e.Transfer.Element)
	}
	r.bulk[e.Value] = append(r.bulk[e.Value], at)
}

// piece appends one side of a bulk copy.
func (r *recorder) piece(space target.Space, addr *[32]uint64, mask uint32, n, lane int) *access {
	a := r.t.accesses.add(r.moreAccesses)
	if a == nil {
		return nil
	}
	*a = access{mask: mask, bytes: uint16(n), element: uint16(lane), space: space}
	if mask == 0 {
		return a
	}
	lo := ^uint64(0)
	for m := mask; m != 0; m &= m - 1 {
		at := addr[bits.TrailingZeros32(m)&31]
		lo = min(lo, at)
		if space == target.SpaceGlobal {
			if from, to, writable := r.view.Extent(at); from < to {
				r.known(from, to)
				r.t.mutable = r.t.mutable || writable
			}
		}
	}
	a.base, a.table, a.stride = lo, true, int32(r.t.rows.n)
	if row := r.t.rows.add(r.moreRows); row != nil {
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m) & 31
			row[l] = uint32(addr[l] - lo)
		}
	}
	return a
}

// bulkLand notes that a bulk operation has written.
func (r *recorder) bulkLand(e *target.Event) {
	for _, at := range r.bulk[e.Value] {
		one := *e
		one.Step, one.Mask = max(e.Step, 1)-1, r.t.steps.at(at).mask
		s := r.step(&one, stepLand)
		if s == nil {
			return
		}
		s.aux = uint32(at)
		r.t.landings[uint32(at)] = r.lastAt
	}
	delete(r.bulk, e.Value)
}

// product notes that a wgmma is about to land in a warp. A copy of an accumulator lets it land first: the
// step of that copy comes after it.
func (r *recorder) product(e *target.Event) {
	one := *e
	one.Step = max(e.Step, 1) - 1
	move := r.last != nil && r.last.kind == stepPlain && uint64(r.last.clock) == one.Step &&
		r.t.flows[r.last.pc].in.Kind() == isa.Move
	before := r.lastAt
	s := r.step(&one, stepPlain)
	if s == nil {
		return
	}
	s.aux = uint32(len(r.t.products))
	r.t.products = append(r.t.products, *e.Product)
	if move {
		was := r.t.steps.at(before)
		*was, *s = *s, *was
	}
}

// lane is the lane of the warp that a lane of a step is of.
func (t *Trace) lane(s *step, lane int) int {
	if s.kind == stepLand {
		s = t.steps.at(int(s.aux))
	}
	if t.flows[s.pc].bulk && s.n > 0 {
		return int(t.accesses.at(int(s.aux)).element)
	}
	return lane
}

// Lane is the lane of the warp that made a value: of what a bulk copy brought, that which issued the copy.
func (t *Trace) Lane(r Ref) int { return t.lane(t.steps.at(int(r.Step)), int(r.Lane)) }

// landing is the step in which what a bulk operation read was written; the end of the trace where none is.
func (t *Trace) landing(issue int) int {
	if at, ok := t.landings[uint32(issue)]; ok {
		return at
	}
	return t.steps.n
}

// wgmma reads a wgmma.
func (r *reader) wgmma() {
	x, in := r.x, r.x.in
	d, a, n, k, ok := isa.Wgmma(in.Mods)
	if !ok {
		return
	}
	x.kind, x.dst = flowAsyncProduct, nil
	r.dests(&in.Args[0])
	x.f = fragments{d: d, c: d, n: n, k: k}
	r.operand(&in.Args[0], 0, &x.src)
	x.f.at[0] = len(x.src)
	r.operand(&in.Args[1], 1, &x.src)
	if len(x.src) > x.f.at[0]+1 {
		x.f.a = a
	} else { // a descriptor
		x.addr = append(x.addr, x.src[x.f.at[0]:]...)
		x.src = x.src[:x.f.at[0]]
	}
	r.operand(&in.Args[2], 2, &x.addr)
	r.operand(&in.Args[3], 3, &x.control)
}

// element is the bytes of an element of A and B: a row of either has 32.
func (f *fragments) element() int { return 32 / f.k }

// asyncProduct is elements of D: each is made of a row of A, a column of B and the accumulator before.
func (w *walker) asyncProduct(i int, s *step, f *flow, lane, dst, lo, n int) {
	d, p := f.f.d, &w.t.products[s.aux]
	size, each := d.Bits/8, f.f.element()
	shared := func(at uint64, operand int) {
		w.bytes(Place{target.SpaceShared, at, each, int(s.warp)*32 + lane, i}, ByValue, operand)
	}
	for e := lo / size; e <= (lo+n-1)/size && e < d.PerRegister; e++ {
		row, col := d.Cell(lane, dst*d.PerRegister+e)
		for k := range f.f.k {
			if p.A != nil {
				shared(p.A(int(s.warp)%4*16+row, k), 1)
			} else {
				w.cell(i, s, f, f.f.a, f.f.at[0], row, k)
			}
			shared(p.B(col, k), 2)
		}
		if !p.Fresh {
			w.register(i, s, &f.src[dst], lane, e*size, size, ByValue)
		}
	}
}

// asyncProduct gathers the operands of a wgmma that lands.
func (x *interpreter[T]) asyncProduct(s *step, f *flow) {
	p := &x.t.products[s.aux]
	a, b, c := &x.mats[0], &x.mats[1], &x.mats[2]
	if p.A != nil {
		x.tile(f, a, 16, func(row, k int) uint64 { return p.A(int(s.warp)%4*16+row, k) })
	} else {
		x.gather(s, f, f.f.a, f.f.at[0], a)
	}
	x.tile(f, b, f.f.n, p.B)
	x.gather(s, f, f.f.c, 0, c)
	if p.Fresh {
		none := x.vals[x.number(constAt{0, f.in.Types()[0]}, f.f.d.Bits/8)]
		for i := range c.cells {
			c.cells[i] = none
		}
		c.data = false
	}
	x.about(s, f)
	x.multiply(s, f)
}

// tile reads rows of an operand from shared memory.
func (x *interpreter[T]) tile(f *flow, m *matrix[T], rows int, at func(row, k int) uint64) {
	cols, size := f.f.k, f.f.element()
	if cap(m.cells) < rows*cols {
		m.cells = make([]T, rows*cols)
	}
	m.cells, m.cols, m.data = m.cells[:rows*cols], cols, false
	var b [8]uint32
	for row := range rows {
		for k := range cols {
			x.read(target.SpaceShared, at(row, k), 0, b[:size])
			id := x.join(b[:size])
			m.cells[row*cols+k] = x.taken(id, 0, size)
			m.data = m.data || id != 0 && x.isData(id)
		}
	}
}

// combine makes what a reduction leaves of what memory had and what was copied.
func (x *interpreter[T]) combine(s *step, f *flow, old, v []uint32, size int) {
	x.about(s, f)
	for k := 0; k+size <= len(v); k += size {
		a, b := x.join(old[k:k+size]), x.join(v[k:k+size])
		x.op.Bytes = size
		in := []T{x.taken(a, 0, size), x.taken(b, 0, size)}
		x.bytesOf(x.made(in, size, x.isData(a) || x.isData(b)), 0, v[k:k+size])
	}
}
