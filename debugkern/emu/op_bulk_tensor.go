package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// Tensor copies (PTX ISA 9.7.9.27): a box of a tensor in global memory, which a tensor map describes, to or
// from shared memory. The instruction names the map by its address, and the box by the coordinates of its
// first element. Elements of the box that lie outside the tensor are filled on the way in, and left out on
// the way out; the bytes that complete on an mbarrier are those of the whole box.

// tensorOp is what a tensor copy has beyond a bulkOp: inst.mem and its second are the shared address and the
// map, in the order of the copy.
type tensorOp struct {
	coords []int32 // slots, dimension 0 first
	stores bool    // to global memory
	reduce string  // operation of a cp.reduce, "" for a copy
}

// tensorMap is a tensor map that copies are made by.
type tensorMap struct {
	*target.TensorMap
	name   string // of the parameter, or of the place in memory
	offset int    // in the parameter block; -1: it lies in memory
	alloc  *alloc
}

// which names a map for a message.
func (m *tensorMap) which() string {
	if m.offset < 0 {
		return "the tensor map in " + m.name
	}
	return "parameter " + m.name
}

// tensorBox is the box that one operation copies. It is never changed.
type tensorBox struct {
	m      *tensorMap
	at     []int32
	shared uint64 // address of its first byte, swizzle apart
}

// tensorCopy is the effect of a tensor copy.
type tensorCopy struct {
	combine func(old, v uint64) uint64 // of a reduction
}

// tensorMods refuses by name the forms of tensor copies that are not modelled, and what none has.
func (d *decoder) tensorMods() {
	for _, m := range d.in.Mods {
		switch m {
		case "im2col", "im2col::w", "im2col::w::128", "im2col_no_offs", "tile::gather4", "tile::scatter4",
			"cta_group::1", "cta_group::2":
			d.fail("%s: .%s is not modelled", d.in.Opcode(), m)
		case "async", "bulk", "reduce", "prefetch", "tensor", "tile", "global", "shared::cta",
			"shared::cluster", "L2", "L2::cache_hint", "bulk_group", "mbarrier::complete_tx::bytes",
			"multicast::cluster", "1d", "2d", "3d", "4d", "5d",
			"add", "min", "max", "inc", "dec", "and", "or", "xor":
		default:
			d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
		}
	}
}

// rank is the number of dimensions that the instruction names, 1 to 5.
func (d *decoder) rank() int {
	for n, m := range []string{"1d", "2d", "3d", "4d", "5d"} {
		if d.has(m) {
			return n + 1
		}
	}
	d.fail("%s: .1d to .5d is missing", d.in.Opcode())
	return 0
}

// tensor decodes a tensor copy or reduction.
func (d *decoder) tensor() {
	o := d.out
	d.tensorMods()
	d.p.async = true
	to, _ := d.bulkSpaces()
	t := &tensorOp{stores: to == target.SpaceGlobal}
	if d.has("reduce") {
		t.reduce = d.reduction()
	}
	mapped, sharing, rest := d.arg(1), d.arg(0), 2
	if t.stores {
		mapped, sharing = sharing, mapped
	}
	for _, c := range d.tensorPlace(mapped) {
		t.coords = append(t.coords, d.source(&c, bank32, 32))
	}
	m, s := d.access(mapped, target.SpaceNone), d.access(sharing, target.SpaceShared)
	m.size, m.n, s.size, s.n = tensormap.Bytes, 1, tensormap.SharedAlign, 1
	x, y := s, m
	if t.stores {
		x, y = m, s
	}
	x.second, y.nth = y, 1
	op := &bulkOp{group: d.has("bulk_group"), tensor: t, mask: -1}
	if !op.group {
		z := d.access(d.arg(2), target.SpaceShared)
		z.size, z.n, z.nth = mbarrierBytes, 1, 2
		y.second, rest = z, 3
	}
	d.bulkTail(op, rest)
	o.mem, o.bulk, o.class, o.flow, o.run = x, op, target.ClassBulk, flowAsync, runTensor
}

// tensorPlace is the coordinates of an operand [map, {c0, ...}].
func (d *decoder) tensorPlace(op *ptx.Operand) []ptx.Operand {
	if op.Kind != ptx.OpAddr || len(op.Elems) != 1 || op.Elems[0].Kind != ptx.OpVec {
		d.fail("%s: a tensor map and coordinates are expected, [map, {c0, ...}]", d.in.Opcode())
	}
	coords := op.Elems[0].Elems
	if n := d.rank(); len(coords) != n {
		d.fail("%s: %d coordinates for %d dimensions", d.in.Opcode(), len(coords), n)
	}
	return coords
}

// reduction is the operation of a cp.reduce of tensors; its type is the map's.
func (d *decoder) reduction() string {
	for _, m := range d.in.Mods {
		switch m {
		case "add", "min", "max", "inc", "dec", "and", "or", "xor":
			return m
		}
	}
	d.fail("%s: the operation is missing", d.in.Opcode())
	return ""
}

// reducible are the types of elements that a cp.reduce combines (PTX ISA 9.7.9.27.1.3).
var reducible = map[string][]tensormap.DType{
	"add": {
		tensormap.U32, tensormap.I32, tensormap.U64, tensormap.F16, tensormap.BF16, tensormap.F32,
		tensormap.F64,
	},
	"min": {
		tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64, tensormap.F16, tensormap.BF16,
	},
	"max": {
		tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64, tensormap.F16, tensormap.BF16,
	},
	"inc": {tensormap.U32}, "dec": {tensormap.U32},
	"and": {tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64},
	"or":  {tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64},
	"xor": {tensormap.U32, tensormap.I32, tensormap.U64, tensormap.I64},
}

// scalars are the types of PTX that elements are combined as.
var scalars = map[tensormap.DType]ptx.Type{
	tensormap.U32: ptx.U32, tensormap.I32: ptx.S32, tensormap.U64: ptx.U64, tensormap.I64: ptx.S64,
	tensormap.F16: ptx.F16, tensormap.BF16: ptx.BF16, tensormap.F32: ptx.F32, tensormap.F64: ptx.F64,
}

// mapPlace is the address of the tensor map that one lane names.
func (w *warp) mapPlace(x *access, lane int) (target.Space, uint64) {
	addr := w.address(x, lane)
	if x.space != target.SpaceNone {
		return x.space, addr
	}
	return ungeneric(addr)
}

// parameterMap is the parameter that a lane names as its tensor map, nil where it names none.
func (w *warp) parameterMap(x *access, lane int) *tensorMap {
	space, addr := w.mapPlace(x, lane)
	maps := w.blk.mem.maps
	i := slices.IndexFunc(maps, func(m tensorMap) bool { return uint64(m.offset) == addr })
	if space != target.SpaceParam || i < 0 {
		return nil
	}
	return &maps[i]
}

// peekMap is the tensor map that one lane names, nil where it names none; where it lies in memory, its place.
func (w *warp) peekMap(x *access, lane int) (*tensorMap, *target.MapPlace) {
	if m := w.parameterMap(x, lane); m != nil {
		return m, nil
	}
	p := place{}
	if p.space, p.addr = w.mapPlace(x, lane); p.space == target.SpaceParam || p.addr%tensormap.Align != 0 {
		return nil, nil
	}
	w.blk.bounds(w, x, lane, &p, tensormap.Bytes)
	if p.data == nil || p.written != nil && !allWritten(p.written) {
		return nil, nil
	}
	m, _ := w.blk.mapInMemory(&p)
	return m, &target.MapPlace{Space: p.space, Addr: p.addr}
}

// mapAt is peekMap, and reports what is wrong with the map that a lane names; with a parameter that is none,
// execution cannot go on.
func (w *warp) mapAt(in *inst, x *access, lane int) *tensorMap {
	if m := w.parameterMap(x, lane); m != nil {
		return m
	}
	if space, addr := w.mapPlace(x, lane); space == target.SpaceParam {
		w.blk.refuse(w, in, lane, fmt.Sprintf(
			"%s: its tensor map is %s, which is no tensor map: give it as tensormap{of: ...}", in.src.Opcode(),
			w.blk.parameterAt(addr)))
		return nil
	}
	return w.locateMap(in, x, lane)
}

// parameterAt names the byte of the parameter block at an offset.
func (b *block) parameterAt(addr uint64) string {
	for _, v := range b.p.entry.Params {
		if at := int64(addr) - int64(v.Offset); at == 0 {
			return "parameter " + v.Name
		} else if at > 0 && at < int64(v.Size) {
			return fmt.Sprintf("byte %d of parameter %s", at, v.Name)
		}
	}
	return fmt.Sprintf("parameter address %#x", addr)
}

// unfit says why an instruction cannot copy by a map, "" where it can.
func (t *tensorOp) unfit(m *tensorMap) string {
	switch {
	case m.Rank() != len(t.coords):
		return fmt.Sprintf("which has %d dimensions", m.Rank())
	case m.Interleave != tensormap.InterleaveNone:
		return "which is interleaved: that is not modelled"
	case m.DType == tensormap.F32FTZ || m.DType == tensormap.TF32 || m.DType == tensormap.TF32FTZ:
		return fmt.Sprintf("whose elements are %s: how copies round these is not modelled", m.DType)
	case t.reduce != "" && !slices.Contains(reducible[t.reduce], m.DType):
		return fmt.Sprintf("whose elements are %s: none of that type are combined by .%s", m.DType, t.reduce)
	}
	return ""
}

// runTensor issues the operation of each lane.
func runTensor(w *warp, in *inst, mask uint32) {
	b, op := w.blk, in.bulk
	x, y := in.mem, in.mem.second
	shared, mapped := x, y
	if op.tensor.stores {
		shared, mapped = y, x
	}
	b.count(target.SpaceShared)
	b.count(target.SpaceGlobal)
	for l := mask; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		m := w.mapAt(in, mapped, lane)
		switch {
		case b.err != nil:
			return
		case m == nil:
			continue
		}
		if why := op.tensor.unfit(m); why != "" {
			b.refuse(w, in, lane, fmt.Sprintf("%s: its tensor map is %s, %s", in.src.Opcode(), m.which(),
				why))
			return
		}
		done, at, ok := w.completes(in, y.second, lane)
		if !ok {
			continue
		}
		size := m.SharedBytes()
		p := b.locate(w, in, shared, lane, w.address(shared, lane), size, tensormap.SharedAlign)
		if p.data == nil || op.tensor.stores && b.foreignSource(w, in, lane, &p) ||
			!op.tensor.stores && !b.sameBlock(w, in, lane, &p, at, done) {
			b.leftOut(done, at, m.BoxBytes())
			continue
		}
		t := &tensorBox{m: m, at: w.coordinates(op.tensor, lane), shared: p.addr}
		b.misplaced(w, in, lane, t)
		if op.tensor.stores {
			b.storeLayout(w, in, t)
		}
		if why := t.beyond(); why != "" {
			v := variable{name: m.alloc.name}
			b.report(w, in, lane, target.OutOfBounds, v, place{space: target.SpaceGlobal}, fmt.Sprintf(
				"%s by %s: %s", in.src.Opcode(), m.which(), why), "")
			b.leftOut(done, at, m.BoxBytes())
			continue
		}
		o := operation{
			in: in, warp: w.id, lane: lane, done: done, at: at, tile: t, effect: op.tensor.effect(in, m),
			to: span{target.SpaceShared, p.addr, size}, from: span{space: target.SpaceGlobal},
		}
		if op.tensor.stores {
			o.to, o.from = o.from, o.to
		}
		w.issueTo(o)
	}
}

// misplaced reports a box that begins at no multiple of 16 bytes of the innermost dimension, and one that is
// written and begins before the tensor. The ISA does not say so; an H200 raises an illegal instruction. The
// copy is executed all the same.
func (b *block) misplaced(w *warp, in *inst, lane int, t *tensorBox) {
	v := variable{name: t.m.alloc.name}
	found := func(kind target.Kind, what string, args ...any) {
		msg := fmt.Sprintf("%s of %s by tensor map %s: %s: a GPU raises an illegal instruction here",
			in.src.Opcode(), v, t.m.name, fmt.Sprintf(what, args...))
		b.report(w, in, lane, kind, v, place{space: target.SpaceGlobal}, msg, "")
	}
	if at := int(t.at[0]) * t.m.DType.Size(); at%bulkAlign != 0 {
		found(target.Misaligned, "its first coordinate is %d, byte %d of a row, which is no multiple of %d",
			t.at[0], at, bulkAlign)
	}
	if !in.bulk.tensor.stores {
		return
	}
	if i := slices.IndexFunc(t.at, func(c int32) bool { return c < 0 }); i >= 0 {
		found(target.OutOfBounds, "its coordinate %d is %d, and boxes that are written must not begin before "+
			"the tensor", i, t.at[i])
	}
}

// effect is what the instruction does by a map.
func (t *tensorOp) effect(in *inst, m *tensorMap) *tensorCopy {
	if t.reduce == "" {
		return &tensorCopy{}
	}
	return &tensorCopy{combine: combiner(in.src, scalars[m.DType])}
}

// coordinates are those of one lane's box.
func (w *warp) coordinates(t *tensorOp, lane int) []int32 {
	at := make([]int32, len(t.coords))
	for i, s := range t.coords {
		at[i] = int32(w.lane32(s, lane))
	}
	return at
}

// row is run i of the tile, as bytes of the map's allocation.
func (t *tensorBox) row(i int) tensormap.Row {
	r := t.m.Row(i, t.at)
	r.Offset += t.m.Skip
	return r
}

// ranges are the bytes of global memory that the tile has.
func (t *tensorBox) ranges() []target.Range {
	out := make([]target.Range, 0, t.m.Rows())
	for i := range t.m.Rows() {
		if r := t.row(i); r.Lo < r.Hi {
			at := t.m.alloc.base + uint64(r.Offset)
			out = append(out, target.Range{Lo: at + uint64(r.Lo), Hi: at + uint64(r.Hi)})
		}
	}
	slices.SortFunc(out, func(a, b target.Range) int {
		switch {
		case a.Lo < b.Lo:
			return -1
		case a.Lo > b.Lo:
			return 1
		}
		return 0
	})
	n := 0
	for _, r := range out {
		if n > 0 && out[n-1].Hi >= r.Lo {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out[n], n = r, n+1
	}
	return out[:n]
}

// chunks calls f for the pieces of shared memory that bytes [lo, hi) of run i lie in: the address of each,
// and where in the run it begins and ends. Swizzles move chunks of 16 bytes.
func (t *tensorBox) chunks(i, lo, hi int, f func(addr uint64, from, to int)) {
	first := t.shared + uint64(i*t.m.Pitch())
	if t.m.Swizzle == tensormap.SwizzleNone {
		f(first+uint64(lo), lo, hi)
		return
	}
	for from := lo; from < hi; {
		to := min(from&^15+16, hi)
		f(t.m.Swizzle.Address(first+uint64(from)), from, to)
		from = to
	}
}

// pieces visits what a copy moves: destination and source of each piece, target.Filled for elements outside
// the tensor.
func (t *tensorBox) pieces(op *tensorOp, visit func(to, from uint64, n int)) {
	for i := range t.m.Rows() {
		r := t.row(i)
		global := t.m.alloc.base + uint64(r.Offset)
		if op.stores {
			t.chunks(i, r.Lo, r.Hi, func(addr uint64, from, to int) {
				visit(global+uint64(from), addr, to-from)
			})
			continue
		}
		for _, part := range [3][2]int{{0, r.Lo}, {r.Lo, r.Hi}, {r.Hi, t.m.RowBytes()}} {
			t.chunks(i, part[0], part[1], func(addr uint64, from, to int) {
				switch {
				case from == to:
				case from >= r.Lo && from < r.Hi:
					visit(addr, global+uint64(from), to-from)
				default:
					visit(addr, target.Filled, to-from)
				}
			})
		}
	}
}

// read implements effect. What is read is kept in the order of the box, without gaps.
func (c *tensorCopy) read(b *block, o *operation) {
	t := o.tile
	m, n := t.m, t.m.RowBytes()
	o.data = make([]byte, m.BoxBytes())
	o.written = make([]byte, len(o.data))
	fill(o.written, 0xff)
	if o.in.bulk.tensor.stores {
		for i := range m.Rows() {
			at := i * n
			t.chunks(i, 0, n, func(addr uint64, from, to int) {
				end := addr + uint64(to-from)
				copy(o.data[at+from:at+to], b.shared[addr:end])
				copy(o.written[at+from:at+to], b.swrit[addr:end])
			})
		}
		return
	}
	pattern := m.FillPattern()
	for i := 0; i < len(o.data); i += len(pattern) {
		copy(o.data[i:], pattern)
	}
	f := b.noted(m.alloc)
	for i := range m.Rows() {
		r := t.row(i)
		if r.Lo == r.Hi {
			continue
		}
		at, from, to := i*n, int(r.Offset)+r.Lo, int(r.Offset)+r.Hi
		copy(o.data[at+r.Lo:], m.alloc.data[from:to])
		if m.alloc.written != nil {
			copy(o.written[at+r.Lo:], m.alloc.written[from:to])
		}
		if f != nil {
			f.mark(from, to-from, false)
		}
	}
}

// write implements effect.
func (c *tensorCopy) write(b *block, o *operation) {
	t, dst := o.tile, o.receiver(b)
	if !o.in.bulk.tensor.stores {
		for i := range t.m.Rows() {
			at := i * t.m.RowBytes()
			t.chunks(i, 0, t.m.RowBytes(), func(addr uint64, from, to int) {
				copy(dst.shared[addr:], o.data[at+from:at+to])
				copy(dst.swrit[addr:], o.written[at+from:at+to])
			})
		}
	} else {
		for i := range t.m.Rows() {
			if r := t.row(i); r.Lo < r.Hi {
				c.store(b, o, i, r)
			}
		}
		b.wroteGlobal++
	}
	if b.watched {
		b.tileLanded(o)
	}
}

// store writes the part of run i that lies inside the tensor.
func (c *tensorCopy) store(b *block, o *operation, i int, r tensormap.Row) {
	t, at := o.tile, i*o.tile.m.RowBytes()
	a, from, to := t.m.alloc, int(r.Offset)+r.Lo, int(r.Offset)+r.Hi
	data, was := o.data[at+r.Lo:at+r.Hi], o.written[at+r.Lo:at+r.Hi]
	p := place{
		space: target.SpaceGlobal, addr: a.base + uint64(from), alloc: a, off: from, data: a.data[from:to],
	}
	if a.written != nil {
		p.written = a.written[from:to]
	}
	if f := b.noted(a); f != nil {
		if c.combine != nil {
			f.mark(from, to-from, false)
		}
		f.mark(from, to-from, true)
	}
	w := b.warps[o.warp]
	if !allWritten(was) && (p.written == nil || c.combine != nil) {
		b.uninitialised(w, o.in, o.in.mem.second, o.lane, t.unwritten(i, r, was))
	}
	if c.combine == nil {
		copy(p.data, data)
		p.wrote()
		if p.written != nil {
			copy(p.written, was)
		}
		return
	}
	if p.written != nil && !allWritten(p.written) {
		b.uninitialised(w, o.in, o.in.mem, o.lane, p)
	}
	size := t.m.DType.Size()
	for k := 0; k < len(data); k += size {
		putScalar(p.data[k:], size, c.combine(scalarAt(p.data[k:], size), scalarAt(data[k:], size)))
	}
	p.wrote()
}

// unwritten is the place in shared memory of the first byte of a run that was not written.
func (t *tensorBox) unwritten(i int, r tensormap.Row, was []byte) (p place) {
	p.space = target.SpaceShared
	k := r.Lo + slices.Index(was, 0)
	t.chunks(i, k, k+1, func(addr uint64, _, _ int) { p.addr = addr })
	p.written = []byte{0}
	return p
}

// tileLanded reports that a tensor copy has landed: to shared memory with one event, to global memory with
// one for each range.
func (b *block) tileLanded(o *operation) {
	w := b.warps[o.warp]
	var to, from [32]uint64
	var e target.Event
	w.describe(&e, o.in, w.pcOf(o.in), 1<<o.lane)
	e.Class, e.Barrier, e.Value = target.ClassBulkLand, o.done.barrier(), o.seq
	e.Addr, e.Addr2, e.Ranges = &to, &from, o.tile.ranges()
	if !o.in.bulk.tensor.stores {
		to[o.lane] = o.tile.shared
		e.Space, e.Bytes = target.SpaceShared, o.to.size
		b.toPeer(&e, o)
		b.deliver(&e)
		return
	}
	from[o.lane], e.Space = o.tile.shared, target.SpaceGlobal
	for _, r := range e.Ranges {
		to[o.lane], e.Bytes = r.Lo, int(r.Hi-r.Lo)
		b.deliver(&e)
	}
}

// tensorEvents reports the issue of tensor copies: one event a lane, for those that name a map.
func (w *warp) tensorEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	b, op := w.blk, in.bulk
	y := in.mem.second
	shared, mapped := in.mem, y
	if op.tensor.stores {
		shared, mapped = y, in.mem
	}
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		tm, at := w.peekMap(mapped, lane)
		if tm == nil || op.tensor.unfit(tm) != "" {
			continue // execution ends here, or the copy is dropped
		}
		e.Map = at
		t := tensorBox{m: tm, at: w.coordinates(op.tensor, lane), shared: w.sharedAddress(shared, lane)}
		e.Mask, e.Barrier, e.Bytes, e.Ranges = 1<<lane, -1, tm.SharedBytes(), t.ranges()
		e.Space, e.Addr, e.Addr2 = target.SpaceShared, &b.addr, &b.addr2
		b.addr[lane], b.addr2[lane] = t.shared, tm.alloc.base
		if op.tensor.stores {
			e.Space = target.SpaceGlobal
			b.addr[lane], b.addr2[lane] = tm.alloc.base, t.shared
		}
		if z := y.second; z != nil {
			e.Barrier = int(w.sharedAddress(z, lane))
		}
		w.elsewhere(in, e, lane)
		emit(e)
	}
	e.Ranges, e.Map = nil, nil
}
