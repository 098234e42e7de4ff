package emu

import (
	"bytes"
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// Instructions that make and hand on tensor maps in memory (PTX ISA 9.7.9.28, "tensormap.replace", and
// 9.7.13.12, "tensormap.cp_fenceproxy"). Both access all 128 bytes of a map through the generic proxy.

// mapOp is a tensormap.replace.
type mapOp struct {
	field   tensormap.Field
	ordinal int
	value   int32 // slot, of 64 bits where the field is wide
}

// mapAccess decodes the address of a tensor map.
func (d *decoder) mapAccess(i int, space target.Space) *access {
	x := d.access(d.arg(i), space)
	x.size, x.n, x.nth = bulkAlign, tensormap.Bytes/bulkAlign, i
	return x
}

// replaceMap decodes tensormap.replace.tile.field{.ss}.b1024.type [addr], {ord,} value.
func (d *decoder) replaceMap() {
	o := d.out
	op := &mapOp{}
	space := target.SpaceNone
	for _, m := range d.in.Mods {
		switch m {
		case "replace", "tile", "b1024", "b32", "b64":
		case "global":
			space = target.SpaceGlobal
		case "shared::cta":
			space = target.SpaceShared
		case "swizzle_atomicity":
			d.fail("%s: .swizzle_atomicity is not modelled: sm_90 has 16 bytes alone", d.in.Opcode())
		default:
			if tensormap.Field(m).Ordinals() == 0 || op.field != "" {
				d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
			}
			op.field = tensormap.Field(m)
		}
	}
	if op.field == "" || !d.has("tile") || !d.has("b1024") || d.has("b64") != op.field.Wide() ||
		d.has("b32") == d.has("b64") {
		d.fail("%s: .tile, one field, .b1024, and .b64 for addresses and strides, else .b32, are expected",
			d.in.Opcode())
	}
	last := 1
	if op.field.OfDimension() {
		op.ordinal, last = d.mapConstant(1, op.field.Ordinals(), "dimension"), 2
	}
	if n := op.field.Modes(); n > 0 {
		d.mapConstant(last, n, string(op.field))
	}
	if len(d.in.Args) != last+1 {
		d.fail("%s takes %d operands, not %d", d.in.Opcode(), last+1, len(d.in.Args))
	}
	if op.value = d.src32or64(last, op.field.Wide()); o.mem == nil {
		o.mem = d.mapAccess(0, space)
	}
	o.mapOp, o.class, o.run = op, target.ClassTensorMap, runReplaceMap
}

// src32or64 is a source of 64 or 32 bits.
func (d *decoder) src32or64(i int, wide bool) int32 {
	if wide {
		return d.src64(i)
	}
	return d.src32(i, 32)
}

// mapConstant is an operand that must be a constant below n.
func (d *decoder) mapConstant(i, n int, what string) int {
	op := d.arg(i)
	if op.Kind != ptx.OpInt || op.Imm >= uint64(n) {
		d.fail("%s: the %s must be a constant, 0 to %d", d.in.Opcode(), what, n-1)
	}
	return int(op.Imm)
}

// copyMap decodes tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned
// [dst], [src], 128.
func (d *decoder) copyMap() {
	o := d.out
	scopes := 0
	for _, m := range d.in.Mods {
		switch m {
		case "cta", "cluster", "gpu", "sys":
			scopes++
		case "cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release", "sync", "aligned":
		default:
			d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
		}
	}
	for _, m := range []string{"global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"} {
		if !d.has(m) {
			d.fail("%s lacks .%s", d.in.Opcode(), m)
		}
	}
	if n := d.arg(2); scopes != 1 || n.Kind != ptx.OpInt || n.Imm != tensormap.Bytes {
		d.fail("%s takes one scope, and copies %d bytes", d.in.Opcode(), tensormap.Bytes)
	}
	d.aligned()
	o.mem = d.mapAccess(0, target.SpaceGlobal)
	o.mem.second = d.mapAccess(1, target.SpaceShared)
	o.class, o.run = target.ClassTensorMap, runCopyMap
}

// proxyFenceOperands decodes what a fence of the tensormap proxy takes: an acquire the map that it is for.
func (d *decoder) proxyFenceOperands() {
	if !d.has("tensormap::generic") {
		return
	}
	want := 0
	if d.has("acquire") {
		want = 2
	}
	if len(d.in.Args) != want {
		d.fail("%s takes %d operands, not %d", d.in.Opcode(), want, len(d.in.Args))
	}
	if want == 0 {
		return
	}
	if n := d.arg(1); n.Kind != ptx.OpInt || n.Imm != tensormap.Bytes {
		d.fail("%s is of %d bytes", d.in.Opcode(), tensormap.Bytes)
	}
	d.out.mem = d.mapAccess(0, target.SpaceNone)
}

// runReplaceMap changes the map that each lane names.
func runReplaceMap(w *warp, in *inst, mask uint32) {
	b, op := w.blk, in.mapOp
	b.count(in.mem.space)
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := b.locate(w, in, in.mem, lane, w.address(in.mem, lane), tensormap.Bytes, tensormap.Bytes)
		if p.data == nil || b.unwrittenMap(w, in, in.mem, lane, p) {
			continue
		}
		v := uint64(0)
		if op.field.Wide() {
			v = w.lane64(op.value, lane)
		} else {
			v = uint64(w.lane32(op.value, lane))
		}
		tensormap.Object(p.data).Replace(op.field, op.ordinal, v)
		p.wrote()
	}
}

// unwrittenMap reports a tensor map of which bytes were never written.
func (b *block) unwrittenMap(w *warp, in *inst, x *access, lane int, p place) bool {
	if p.written == nil || allWritten(p.written) {
		return false
	}
	b.uninitialised(w, in, x, lane, p)
	return true
}

// runCopyMap copies a map; lanes that name the same addresses copy it once.
func runCopyMap(w *warp, in *inst, mask uint32) {
	b, to, from := w.blk, in.mem, in.mem.second
	b.count(target.SpaceShared)
	b.count(target.SpaceGlobal)
	var lastTo, lastFrom uint64
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		x, y := w.address(to, lane), w.address(from, lane)
		if m != mask && x == lastTo && y == lastFrom {
			continue
		}
		lastTo, lastFrom = x, y
		src := b.locate(w, in, from, lane, y, tensormap.Bytes, tensormap.Bytes)
		dst := b.locate(w, in, to, lane, x, tensormap.Bytes, tensormap.Bytes)
		if src.data == nil || dst.data == nil {
			continue
		}
		b.unwrittenMap(w, in, from, lane, src)
		copy(dst.data, src.data)
		dst.wrote()
		if dst.written != nil && src.written != nil {
			copy(dst.written, src.written)
		}
	}
}

// mapEvents reports the accesses of a tensormap instruction.
func (w *warp) mapEvents(in *inst, m uint32, e *target.Event, emit func(*target.Event)) {
	if y := in.mem.second; y != nil {
		w.addresses(y, m)
		w.memoryEvent(y, m, e, tensormap.Bytes, emit)
	}
	w.addresses(in.mem, m)
	w.memoryEvent(in.mem, m, e, tensormap.Bytes, emit)
}

// mapInMemory is the tensor map that lies at a place; nil where its bytes are none by which a copy can be
// made, with why not.
func (b *block) mapInMemory(p *place) (*tensorMap, string) {
	m, address, err := tensormap.Object(p.data).Decode()
	if err != nil {
		return nil, err.Error()
	}
	a, off := b.at(address)
	if a == nil || off > uint64(len(a.data)) {
		return nil, fmt.Sprintf("its tensor begins at global address %#x, where nothing is", address)
	}
	return &tensorMap{
		TensorMap: &target.TensorMap{Map: *m, Of: -1, Skip: int64(off)},
		name:      b.variableAt(p.space, p.addr).String(), offset: -1, alloc: a,
	}, ""
}

// locateMap is mapInMemory for the map that a lane of a tensor copy names, and reports what is wrong with it.
func (w *warp) locateMap(in *inst, x *access, lane int) *tensorMap {
	b := w.blk
	p := b.locate(w, in, x, lane, w.address(x, lane), tensormap.Bytes, tensormap.Align)
	if p.data == nil {
		return nil
	}
	v := b.variableOf(x, p, 1)
	if p.space == target.SpaceLocal || p.space == target.SpaceShared {
		b.unreachableMap(w, in, lane, v, p)
	}
	if b.unwrittenMap(w, in, x, lane, p) {
		return nil
	}
	m, why := b.mapInMemory(&p)
	if m == nil {
		b.report(w, in, lane, target.Layout, v, p, fmt.Sprintf(
			"%s: its tensor map, %s in %s memory, is none that copies can be made by: %s", in.src.Opcode(), v,
			p.space, why), "")
	}
	return m
}

// unreachableMap reports a map in memory that no tensor copy can read: maps lie in .param, .const or .global
// memory (PTX ISA 9.7.9.27.5.2). The copy is executed all the same.
func (b *block) unreachableMap(w *warp, in *inst, lane int, v variable, p place) {
	msg := fmt.Sprintf("%s: its tensor map, %s, lies in %s memory, and is read through the tensormap proxy, from .param, .const or .global memory only",
		in.src.Opcode(), v, p.space)
	missing := "tensormap.cp_fenceproxy to global memory, and fence.proxy.tensormap::generic.acquire there, before %s"
	if p.space == target.SpaceLocal {
		missing = "const __grid_constant__ for the parameter that is the tensor map of %s: without it the compiler copies it to local memory"
		for _, m := range b.mem.maps {
			if bytes.Equal(b.mem.params[m.offset:m.offset+tensormap.Bytes], p.data) {
				msg += ": it is a copy of parameter " + m.name
				missing = fmt.Sprintf("const __grid_constant__ for parameter %s, of which the compiler makes a copy for %%s", m.name)
				break
			}
		}
	}
	b.reportMissing(w, in, lane, target.ProxyFence, v, p, msg, missing)
}

// reportMissing is report with what would put it right, with a place for the line.
func (b *block) reportMissing(
	w *warp, in *inst, lane int, kind target.Kind, v variable, p place, msg, missing string,
) {
	b.report(w, in, lane, kind, v, p, msg, "")
	f := b.found.byKey[findingKey{kind: kind, source: *w.called(in), name: v.name}]
	if f != nil && f.Missing == "" {
		f.Missing = fmt.Sprintf(missing, f.Source)
	}
}

// beyond is a finding's text where a box of a map in memory has elements of its tensor that lie outside the
// allocation in which the tensor begins; "" where it has none. Of a parameter the host's description was
// compared with the buffer.
func (t *tensorBox) beyond() string {
	if t.m.offset >= 0 {
		return ""
	}
	for i := range t.m.Rows() {
		r := t.row(i)
		if r.Lo == r.Hi {
			continue
		}
		if end := int(r.Offset) + r.Hi; int(r.Offset)+r.Lo < 0 || end > len(t.m.alloc.data) {
			return fmt.Sprintf("the box at %v reaches up to byte %d of %s, which has %d", t.at, end,
				t.m.alloc.name, len(t.m.alloc.data))
		}
	}
	return ""
}
