package lineage

import (
	"context"
	"math/bits"
	"slices"

	"tilescope/debugkern/ptx"
)

// Interpret executes a trace with abstract values of d. see, which may be nil, is called for each destination
// register that a Domain's operation gave a value (Op and Dot; of a packed one for each part), store, which
// may be nil, for each value stored to global memory. Both are called in the order of execution. The only
// error is that of ctx.
func Interpret[T any](
	ctx context.Context, t *Trace, d Domain[T], see func(op *Op, x T), store func(s *Store, x T),
) error {
	x := newInterpreter(t, d)
	x.see, x.stored = see, store
	for i := range t.steps.n {
		if i&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.step(i)
	}
	return nil
}

// An interpreter holds for every register of every lane, and for every byte of memory, an abstract value.
//
// A value is a number: 0 is an index, made of no argument; other numbers are values that the Domain made, or
// packs, whose bytes are of several values. A byte is a value's number times eight, and which of its bytes it
// is; bytes past a value's own are zero.
type interpreter[T any] struct {
	t      *Trace
	d      Domain[T]
	sel    Selector[T] // d, where it is one
	see    func(op *Op, x T)
	stored func(s *Store, x T)
	index  T
	vals   []T
	width  []uint8 // bytes of each value
	data   []bool  // made of an element of a buffer
	zeros  []bool  // a constant whose bytes are zero: its parts are one, too
	packs  []pack
	regs   [][]*row // by warp and register of the program
	first  []int32  // by function: its first register
	mem    shadow
	pages  map[leafPage]*[leafPageSize]uint32
	scalar map[scalarAt]uint32
	consts map[constAt]uint32
	flying map[int]*copying
	op     Op
	in     []T
	mats   [3]matrix[T]
	pieces []Piece[T]
}

// pack is the bytes of a register that are of several values.
type pack [8]uint32

// row is one register of a warp: the values' numbers, and in which lanes it has one, and one made of data.
type row struct {
	ids       [32]uint32
	set, data uint32
}

const (
	packed   = 1 << 31
	zeroByte = 1 << 3 // a byte that is zero: the first byte of value 1, which nobody has
	firstVal = 2
)

type scalarAt struct{ arg, offset, n int }

type constAt struct {
	bits uint64
	typ  ptx.Type
}

// leafPage is a page of an argument's elements.
type leafPage struct{ arg, page int }

const leafPageSize = 1024

// copying is a cp.async under way: the bytes of each lane, and the lanes that have not landed.
type copying struct {
	bytes [32][16]uint32
	lanes uint32
}

func newInterpreter[T any](t *Trace, d Domain[T]) *interpreter[T] {
	x := &interpreter[T]{
		t: t, d: d, index: d.Index(), vals: make([]T, firstVal), width: make([]uint8, firstVal),
		data: make([]bool, firstVal), zeros: make([]bool, firstVal),
		pages: map[leafPage]*[leafPageSize]uint32{}, scalar: map[scalarAt]uint32{},
		consts: map[constAt]uint32{}, flying: map[int]*copying{},
	}
	x.sel, _ = d.(Selector[T])
	n := int32(0)
	for _, f := range t.funcs {
		x.first = append(x.first, n)
		n += int32(len(f.Regs))
	}
	for range t.warps {
		x.regs = append(x.regs, make([]*row, n))
	}
	x.mem.init(t)
	return x
}

// value adds a value of n bytes.
func (x *interpreter[T]) value(v T, n int, data bool) uint32 {
	x.vals, x.width, x.data, x.zeros = append(x.vals, v), append(x.width, uint8(n)), append(x.data, data),
		append(x.zeros, false)
	return uint32(len(x.vals) - 1)
}

// number is the value of a constant of n bytes.
func (x *interpreter[T]) number(at constAt, n int) uint32 {
	id, ok := x.consts[at]
	if !ok {
		id = x.value(x.d.Const(at.bits, at.typ), n, false)
		x.consts[at], x.zeros[id] = id, at.bits == 0
	}
	return id
}

// isData reports whether a value is made of data.
func (x *interpreter[T]) isData(id uint32) bool {
	if id&packed == 0 {
		return x.data[id]
	}
	for _, b := range x.packs[id&^packed] {
		if x.data[b>>3] {
			return true
		}
	}
	return false
}

// bytesOf writes bytes lo to lo+len(to) of a value.
func (x *interpreter[T]) bytesOf(id uint32, lo int, to []uint32) {
	switch {
	case id == 0:
		clear(to)
	case id&packed == 0 && x.zeros[id]:
		for i := range to {
			to[i] = zeroByte
		}
	case id&packed != 0:
		p := &x.packs[id&^packed]
		for i := range to {
			to[i] = zeroByte
			if lo+i < 8 {
				to[i] = p[lo+i]
			}
		}
	default:
		w := int(x.width[id])
		for i := range to {
			if to[i] = zeroByte; lo+i < w {
				to[i] = id<<3 | uint32(lo+i)
			}
		}
	}
}

// whole is the value whose bytes these are, if they are one's.
func (x *interpreter[T]) whole(b []uint32) (id uint32, ok bool) {
	id = b[0] >> 3
	if id < firstVal || b[0]&7 != 0 {
		return 0, false
	}
	w := int(x.width[id])
	if w > len(b) {
		return 0, false
	}
	for i := 1; i < len(b); i++ {
		if i < w && b[i] != b[0]+uint32(i) || i >= w && b[i] != zeroByte {
			return 0, false
		}
	}
	return id, true
}

// join is the value that bytes make.
func (x *interpreter[T]) join(b []uint32) uint32 {
	if id, ok := x.whole(b); ok {
		return id
	}
	any, zero := false, true
	var p pack
	for i := range p {
		if p[i] = zeroByte; i < len(b) {
			p[i] = b[i]
			any = any || b[i]>>3 >= firstVal
			zero = zero && b[i] == zeroByte
		}
	}
	switch {
	case zero && zeroType[len(b)] != 0:
		return x.zero(len(b))
	case !any:
		return 0
	}
	x.packs = append(x.packs, p)
	return uint32(len(x.packs)-1) | packed
}

// zero is the value of n bytes that are zero: those that a copy fills up with.
func (x *interpreter[T]) zero(n int) uint32 {
	return x.number(constAt{typ: zeroType[n]}, n)
}

var zeroType = [9]ptx.Type{1: ptx.B8, 2: ptx.B16, 4: ptx.B32, 8: ptx.B64}

// taken is bytes lo to lo+n of a value as an operation takes them.
func (x *interpreter[T]) taken(id uint32, lo, n int) T {
	if id == 0 {
		return x.index
	}
	if id&packed == 0 && lo == 0 && n >= int(x.width[id]) {
		return x.vals[id]
	}
	var b [8]uint32
	x.bytesOf(id, lo, b[:n])
	return x.joined(b[:n])
}

// joined is what the Domain makes of bytes.
func (x *interpreter[T]) joined(b []uint32) T {
	if id, ok := x.whole(b); ok {
		return x.vals[id]
	}
	x.pieces = x.pieces[:0]
	for i := 0; i < len(b); {
		id, n := b[i]>>3, 1
		for i+n < len(b) && b[i+n] == b[i]+uint32(n) {
			n++
		}
		if id >= firstVal {
			x.pieces = append(x.pieces, Piece[T]{Of: x.vals[id], From: int(b[i] & 7), At: i, N: n})
		}
		i += n
	}
	if len(x.pieces) == 0 {
		if !slices.ContainsFunc(b, func(v uint32) bool { return v != zeroByte }) && zeroType[len(b)] != 0 {
			return x.vals[x.zero(len(b))]
		}
		return x.index
	}
	return x.d.Join(&x.op, x.pieces)
}

// reg is a register's row; nil where it has only indices.
func (x *interpreter[T]) reg(s *step, reg int32) *row {
	return x.regs[s.warp][x.first[x.t.owner[s.pc]]+reg]
}

// to is the row that a destination is written to.
func (x *interpreter[T]) to(s *step, reg int32) *row {
	r := &x.regs[s.warp][x.first[x.t.owner[s.pc]]+reg]
	if *r == nil {
		*r = new(row)
	}
	return *r
}

// clear makes a destination an index in the lanes of mask.
func (x *interpreter[T]) clear(s *step, reg int32, mask uint32) {
	if r := x.reg(s, reg); r != nil {
		r.set &^= mask
		r.data &^= mask
	}
}

// put gives a register of a lane its value.
func (x *interpreter[T]) put(s *step, reg int32, lane int, id uint32) {
	if reg < 0 {
		return
	}
	bit := uint32(1) << lane
	if id == 0 {
		x.clear(s, reg, bit)
		return
	}
	r := x.to(s, reg)
	r.ids[lane] = id
	r.set |= bit
	if r.data &^= bit; x.isData(id) {
		r.data |= bit
	}
}

// get is the value of a source in a lane.
func (x *interpreter[T]) get(s *step, src *source, lane int) uint32 {
	if src.reg < 0 {
		return x.constant(src)
	}
	r := x.reg(s, src.reg)
	if r == nil || r.set>>lane&1 == 0 {
		return 0
	}
	return r.ids[lane]
}

// constant is the value of an immediate, 0 of a special register.
func (x *interpreter[T]) constant(src *source) uint32 {
	if src.form != fromImmediate {
		return 0
	}
	return x.number(constAt{src.bits, src.typ}, int(src.n))
}

// lanesWith is the lanes in which some register source has a value, or (data) one made of data.
func (x *interpreter[T]) lanesWith(s *step, src []source, data bool) (m uint32) {
	for i := range src {
		if src[i].reg < 0 {
			continue
		}
		switch r := x.reg(s, src[i].reg); {
		case r == nil:
		case data:
			m |= r.data
		default:
			m |= r.set
		}
	}
	return m & s.mask
}

// step interprets step i.
func (x *interpreter[T]) step(i int) {
	s := x.t.steps.at(i)
	switch s.kind {
	case stepLand:
		x.op.Index = i
		x.land(s)
		return
	case stepPass:
		x.pass(s)
		return
	}
	f := &x.t.flows[s.pc]
	x.op.Index = i
	switch f.kind {
	case flowNone:
		for _, d := range f.dst {
			if d.reg >= 0 {
				x.clear(s, d.reg, s.mask)
			}
		}
	case flowCompute:
		x.compute(s, f)
	case flowBytes:
		x.moved(s, f)
	case flowPermute:
		x.permuted(s, f)
	case flowSelect:
		x.selected(s, f)
	case flowShuffle:
		x.shuffled(s, f)
	case flowVote:
		x.voted(s, f)
	case flowProduct:
		x.product(s, f)
	case flowAsyncProduct:
		x.asyncProduct(s, f)
	case flowTranspose:
		x.transposed(s, f)
	case flowLoad, flowStore, flowLoadRows, flowStoreRows, flowLoadTile, flowStoreTile, flowAtomic, flowCopy:
		x.memory(i, s, f)
	}
}

// about describes the operation for the Domain.
func (x *interpreter[T]) about(s *step, f *flow) {
	at := x.op.Index
	x.op = Op{Step: x.t.Step(at), Form: f.form, Parts: 1}
}

// made asks the Domain and reports what it says.
func (x *interpreter[T]) made(in []T, n int, data bool) uint32 {
	v := x.d.Op(&x.op, in)
	if x.see != nil {
		x.see(&x.op, v)
	}
	return x.value(v, n, data)
}

// compute is arithmetic.
func (x *interpreter[T]) compute(s *step, f *flow) {
	data := x.lanesWith(s, f.src, true)
	live := s.mask
	if f.integer {
		live = data
	}
	for i := range f.dst {
		if d := f.dst[i]; d.reg >= 0 && s.mask != live {
			x.clear(s, d.reg, s.mask&^live)
		}
	}
	if live == 0 {
		return
	}
	x.about(s, f)
	x.op.Parts = f.parts
	for m := live; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		x.op.Lane = lane
		isData := data>>lane&1 != 0
		var ids [4]uint32 // of each destination, before any is written: it may be a source
		for j, d := range f.dst {
			if d.reg < 0 {
				continue
			}
			x.op.Dest = j
			if f.parts == 1 {
				x.op.Part, x.op.Bytes = 0, int(d.bytes)
				ids[j&3] = x.made(x.inputs(s, f, lane, 0), int(d.bytes), isData)
				continue
			}
			n := int(d.bytes) / f.parts
			var b [8]uint32
			for p := range f.parts {
				x.op.Part, x.op.Bytes = p, n
				id := x.made(x.inputs(s, f, lane, p), n, isData)
				for k := range n {
					b[p*n+k] = id<<3 | uint32(k)
				}
			}
			ids[j&3] = x.join(b[:n*f.parts])
		}
		for j, d := range f.dst {
			x.put(s, d.reg, lane, ids[j&3])
		}
	}
}

// inputs is the operands of a part.
func (x *interpreter[T]) inputs(s *step, f *flow, lane, part int) []T {
	x.in = x.in[:0]
	if f.spread {
		src := &f.src[f.parts-1-part]
		return append(x.in, x.taken(x.get(s, src, lane), 0, int(src.n)))
	}
	for i := range f.src {
		src := &f.src[i]
		id := x.get(s, src, lane)
		n := int(src.n) / f.parts
		switch {
		case f.parts == 1:
			x.in = append(x.in, x.taken(id, int(src.lo), int(src.n)))
		case src.reg < 0: // a constant for both
			x.in = append(x.in, x.taken(id, 0, int(src.n)))
		default:
			x.in = append(x.in, x.taken(id, part*n, n))
		}
	}
	return x.in
}

// selected is selp.
func (x *interpreter[T]) selected(s *step, f *flow) {
	if x.sel != nil {
		x.about(s, f)
	}
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		src, other := &f.src[1], &f.src[0]
		if s.aux>>lane&1 != 0 {
			src, other = other, src
		}
		id := x.get(s, src, lane)
		if x.sel != nil {
			id = x.between(f, lane, id, x.get(s, other, lane))
		}
		x.put(s, f.dst[0].reg, lane, id)
	}
}

// between asks the Domain about a select between two whole values.
func (x *interpreter[T]) between(f *flow, lane int, chosen, other uint32) uint32 {
	if chosen == other || chosen < firstVal || other < firstVal || (chosen|other)&packed != 0 {
		return chosen
	}
	n := int(f.dst[0].bytes)
	x.op.Lane, x.op.Bytes = lane, n
	if v, ok := x.sel.Select(&x.op, x.vals[chosen], x.vals[other]); ok {
		return x.value(v, n, x.data[chosen] || x.data[other])
	}
	return chosen
}

// shuffled is shfl.
func (x *interpreter[T]) shuffled(s *step, f *flow) {
	var ids [32]uint32
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		if from := x.t.from(s, f, lane); s.mask>>from&1 != 0 {
			ids[lane] = x.get(s, &f.src[0], from)
		}
	}
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		x.put(s, f.dst[0].reg, lane, ids[lane])
	}
	for _, d := range f.dst[1:] {
		if d.reg >= 0 {
			x.clear(s, d.reg, s.mask)
		}
	}
}

// from is the lane that a lane of a shuffle takes its value from.
func (t *Trace) from(s *step, f *flow, lane int) int {
	if f.lanes != nil {
		return int(f.lanes[lane])
	}
	return int(t.rows.at(int(s.aux))[lane]) & 31
}

// voted is vote, match and redux: made of all lanes.
func (x *interpreter[T]) voted(s *step, f *flow) {
	if x.lanesWith(s, f.src, true) == 0 {
		for _, d := range f.dst {
			if d.reg >= 0 {
				x.clear(s, d.reg, s.mask)
			}
		}
		return
	}
	x.about(s, f)
	x.in = x.in[:0]
	for i := range f.src {
		for m := s.mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			x.in = append(x.in, x.taken(x.get(s, &f.src[i], lane), 0, int(f.src[i].n)))
		}
	}
	in := x.in
	for m := s.mask; m != 0; m &= m - 1 {
		x.op.Lane = bits.TrailingZeros32(m) & 31
		for j, d := range f.dst {
			if d.reg >= 0 {
				x.op.Dest, x.op.Bytes = j, int(d.bytes)
				x.put(s, d.reg, x.op.Lane, x.made(in, int(d.bytes), true))
			}
		}
	}
}
