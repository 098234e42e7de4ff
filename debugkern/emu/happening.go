package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

// What is asynchronous in a block, for a debugger: the state of a moment (Async), and what happens (OnAsync).
// Everything is reported where the state changes, so that the two cannot differ. Nothing of it costs anything
// where nobody has asked.

// Operations are numbered by who numbers them: a block its bulk operations, a warp its cp.async, a warpgroup
// its products.
const (
	copyNumbers    = 1 << 62
	productNumbers = 1 << 63
	ownerShift     = 48
)

// OnAsync implements target.Asynchronous.
func (s *stepper) OnAsync(f func(target.AsyncEvent)) { s.b.onAsync = f }

// SharedName implements target.Asynchronous.
func (s *stepper) SharedName(addr uint64) string {
	return s.b.variableAt(target.SpaceShared, addr).String()
}

// Async implements target.Asynchronous.
func (s *stepper) Async() (out target.AsyncState, ok bool) {
	b := s.b
	if a := b.async; a != nil {
		ok = true
		for i := range a.mbars {
			m := &a.mbars[i]
			out.MBarriers = append(out.MBarriers, target.MBarrierState{
				Addr: m.addr, Phase: m.phase, Expected: int(m.expected), Pending: int(m.pending),
				Promised: m.promised, Arrived: m.arrived, Init: m.init.source(),
			})
		}
		for i := range a.flights {
			out.Operations = append(out.Operations, *b.describeOperation(&a.flights[i]))
		}
		for i := range a.products {
			out.Operations = append(out.Operations, *b.describeProduct(&a.products[i]))
		}
	}
	for _, w := range b.warps {
		for i := range w.async.copies {
			out.Operations = append(out.Operations, *w.describeCopy(&w.async.copies[i]))
		}
	}
	return out, ok || slices.ContainsFunc(b.p.code, func(in inst) bool {
		return in.class == target.ClassAsync
	})
}

// happened reports an event at the moment at hand; the caller has found that somebody asked.
func (b *block) happened(e target.AsyncEvent) {
	e.Step = b.clock
	b.onAsync(e)
}

// describeOperation is a bulk operation, or an arrival, as a debugger shows it.
func (b *block) describeOperation(o *operation) *target.Operation {
	out := b.describeIssue(target.OpBulkCopy, o.in, o.warp, o.lane)
	out.ID, out.MBarrier = o.seq, o.done.barrier()
	switch {
	case o.done.kind == byArrival:
		out.Kind = target.OpArrival
		return out
	case o.tile != nil:
		b.describeTile(out, o)
		return out
	case o.in.bulk.store != nil:
		out.Kind = target.OpAsyncStore
	}
	out.Bytes = o.to.size
	shared := func(s span) []target.Range {
		if s.space != target.SpaceShared {
			return nil
		}
		return []target.Range{{Lo: s.addr, Hi: s.addr + uint64(s.size)}}
	}
	out.Reads = shared(o.from)
	if o.at == nil {
		out.Writes = shared(o.to)
	}
	return out
}

// describeTile fills in what a tensor copy has: the box, and how its rows lie in shared memory.
func (b *block) describeTile(out *target.Operation, o *operation) {
	t := o.tile
	m, at := t.m, t.shared
	out.Kind, out.Bytes = target.OpTensorCopy, m.BoxBytes()
	var coords []string
	for _, c := range slices.Backward(t.at) {
		coords = append(coords, fmt.Sprint(c))
	}
	out.Of = m.name + "[" + strings.Join(coords, ", ") + "]"
	in := []target.Range{{Lo: at, Hi: at + uint64(m.SharedBytes())}}
	switch {
	case o.in.bulk.tensor.stores:
		out.Reads = in
	case o.at == nil:
		out.Writes = in
	}
	pitch, swizzle := uint64(m.Pitch()), m.Swizzle
	out.Layouts = []target.TileLayout{{
		Base: at, Swizzle: swizzle.Span(), Rows: m.Rows(), RowBytes: m.RowBytes(), Element: m.DType.Size(),
		By:      "tensor map " + m.name,
		Address: func(row, i int) uint64 { return swizzle.Address(at + uint64(row)*pitch + uint64(i)) },
	}}
}

// describeProduct is a wgmma as a debugger shows it.
func (b *block) describeProduct(p *product) *target.Operation {
	op := p.in.wgmma
	out := b.describeIssue(target.OpWgmma, p.in, p.warpgroup*wgmmaWarps, -1)
	out.ID = productNumbers | uint64(p.warpgroup)<<ownerShift | p.seq
	if p.wrong {
		return out
	}
	add := func(t tile, rows int, name string) {
		r := target.Range{Lo: ^uint64(0)}
		t.each(rows, func(_, _ int, at uint64) { r.Lo, r.Hi = min(r.Lo, at), max(r.Hi, at+coreBytes) })
		swizzle := int(t.span)
		if swizzle == coreBytes {
			swizzle = 0
		}
		out.Reads = append(out.Reads, r)
		out.Layouts = append(out.Layouts, target.TileLayout{
			Base: t.start, Swizzle: swizzle, Rows: rows, RowBytes: 2 * coreBytes, Element: op.size,
			By:      "descriptor of " + name + ": " + t.order(),
			Address: func(row, i int) uint64 { return t.element(row, i/op.size) + uint64(i%op.size) },
		})
	}
	if !op.inRegs {
		add(p.a, 64, "A")
	}
	add(p.b, op.n, "B")
	return out
}

// describeCopy is the cp.async of a warp as a debugger shows it.
func (w *warp) describeCopy(c *asyncCopy) *target.Operation {
	lane := bits.TrailingZeros32(c.mask)
	if c.mask&(c.mask-1) != 0 {
		lane = -1
	}
	out := w.blk.describeIssue(target.OpAsyncCopy, c.in, w.id, lane)
	out.ID = copyNumbers | uint64(w.id)<<ownerShift | c.seq
	r := target.Range{Lo: ^uint64(0)}
	for m := c.mask; m != 0; m &= m - 1 {
		at := c.dst[bits.TrailingZeros32(m)&31]
		r.Lo, r.Hi = min(r.Lo, at), max(r.Hi, at+uint64(c.in.mem.size))
	}
	out.Writes, out.Bytes = []target.Range{r}, bits.OnesCount32(c.mask)*c.in.mem.size
	return out
}

// describeIssue is what every operation has.
func (b *block) describeIssue(kind target.OperationKind, in *inst, warp, lane int) *target.Operation {
	return &target.Operation{
		Kind: kind, Warp: warp, Lane: lane, PC: b.warps[warp].pcOf(in), Source: in.source(), MBarrier: -1,
	}
}

// counted reports arrivals of a lane at an mbarrier of the block, or bytes that it expects there.
func (b *block) counted(w *warp, in *inst, kind target.AsyncKind, m *mbarrier, count int64) {
	if b.onAsync == nil {
		return
	}
	b.happened(target.AsyncEvent{
		Kind: kind, MBarrier: m.addr, Number: m.phase, Warp: w.id, PC: w.pcOf(in), Count: int(count),
	})
}

// waits reports lanes that found a phase not complete.
func (w *warp) waits(in *inst, lanes uint32) {
	b := w.blk
	if b.onAsync == nil || lanes == 0 {
		return
	}
	at := w.sharedAddress(in.mem, bits.TrailingZeros32(lanes)&31)
	if m := b.mbarrier(at); m != nil {
		b.happened(target.AsyncEvent{
			Kind: target.AsyncWaits, MBarrier: at, Number: m.phase, Warp: w.id, PC: w.pcOf(in), Lanes: lanes,
		})
	}
}

// passes reports lanes that found a phase complete: the one before the object's current one.
func (w *warp) passes(in *inst, lanes uint32) {
	b := w.blk
	if b.onAsync == nil || lanes == 0 {
		return
	}
	at := w.sharedAddress(in.mem, bits.TrailingZeros32(lanes)&31)
	if m := b.mbarrier(at); m != nil {
		b.happened(target.AsyncEvent{
			Kind: target.AsyncPasses, MBarrier: at, Number: m.phase - 1, Warp: w.id, PC: w.pcOf(in),
			Lanes: lanes,
		})
	}
}

var _ target.Asynchronous = (*stepper)(nil)
