package emu

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// bulkOp is a cp.async.bulk or cp.reduce.async.bulk: inst.mem is the destination, its second the source, and
// where it completes on an mbarrier, the second of that the mbarrier.
type bulkOp struct {
	size   int32 // slot of the bytes
	group  bool  // completes with a bulk group
	mask   int32 // slot of the blocks of a multicast, -1: none
	effect bulkCopy
	tensor *tensorOp   // nil: not of a tensor
	store  *asyncStore // of st.async and red.async; nil: a copy
}

// bulkAlign is what addresses and sizes of bulk operations are multiples of (PTX ISA 9.7.9.25.4).
const bulkAlign = 16

// bulkCopy is the effect of a bulk operation: the source's bytes replace the destination's, or are combined
// with them, element by element. The zero value copies.
type bulkCopy struct {
	combine func(old, v uint64) uint64
	size    int // of an element
}

// bulk decodes cp.async.bulk.dst.src.completion [dst], [src], size{, [mbar]}{, policy} and
// cp.reduce.async.bulk, between global and shared memory, and between
// shared memory of blocks of a cluster.
func (d *decoder) bulk() {
	o := d.out
	if d.has("tensor") {
		d.tensor()
		return
	}
	d.bulkMods()
	d.p.async = true
	to, from := d.bulkSpaces()
	op := &bulkOp{group: d.has("bulk_group"), mask: -1}
	if len(d.in.Args) < 3 {
		d.fail("%s: operands are missing", d.in.Opcode())
	}
	x, y := d.access(d.arg(0), to), d.access(d.arg(1), from)
	x.size, x.n, x.second = bulkAlign, 1, y
	y.size, y.n, y.nth = bulkAlign, 1, 1
	op.size = d.src32(2, 32)
	rest := 3
	if !op.group {
		if len(d.in.Args) < 4 {
			d.fail("%s: the mbarrier is missing", d.in.Opcode())
		}
		z := d.access(d.arg(3), target.SpaceShared)
		z.size, z.n, z.nth = mbarrierBytes, 1, 2
		y.second, rest = z, 4
	}
	d.bulkTail(op, rest)
	if d.has("reduce") {
		d.bulkReduction(op, to)
	}
	o.mem, o.bulk, o.class, o.flow, o.run = x, op, target.ClassBulk, flowAsync, runBulk
}

// bulkTail decodes what stands behind the addresses, from operand rest on: the blocks of a multicast, and a
// cache policy.
func (d *decoder) bulkTail(op *bulkOp, rest int) {
	if d.has("multicast::cluster") {
		if op.group || !d.has("global") {
			d.fail("%s: .multicast::cluster is no modifier of it", d.in.Opcode())
		}
		op.mask = d.src32(rest, 16)
		rest++
	}
	if d.has("L2::cache_hint") {
		d.src64(rest)
		rest++
	}
	if len(d.in.Args) != rest {
		d.fail("%s takes %d operands, not %d", d.in.Opcode(), rest, len(d.in.Args))
	}
}

// bulkMods refuses by name what bulk operations have beyond this, and what they do not have.
func (d *decoder) bulkMods() {
	for i, m := range d.in.Mods {
		switch m {
		case "ignore_oob", "cp_mask", "prefetch":
			d.fail("%s: .%s is not modelled", d.in.Opcode(), m)
		case "async", "bulk", "reduce", "shared::cta", "shared::cluster", "global", "multicast::cluster",
			"L2::cache_hint", "bulk_group", "mbarrier::complete_tx::bytes":
		default:
			if !d.has("reduce") || i < 3 {
				d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
			}
		}
	}
}

// bulkSpaces are the spaces of destination and source.
func (d *decoder) bulkSpaces() (to, from target.Space) {
	var spaces []string
	for _, m := range d.in.Mods {
		switch m {
		case "global", "shared::cta", "shared::cluster":
			spaces = append(spaces, m)
		}
	}
	text := ""
	if len(spaces) == 2 {
		text = spaces[0] + " " + spaces[1]
	}
	reduce, group := d.has("reduce"), d.has("bulk_group")
	switch {
	case text == "global shared::cta" && group:
		return target.SpaceGlobal, target.SpaceShared
	case text == "shared::cluster shared::cta" && !group && d.has("mbarrier::complete_tx::bytes"):
		return target.SpaceShared, target.SpaceShared
	case (text == "shared::cluster global" || text == "shared::cta global") && !reduce && !group &&
		d.has("mbarrier::complete_tx::bytes"):
		return target.SpaceShared, target.SpaceGlobal
	}
	d.fail("%s: no bulk operation has these state spaces with this completion", d.in.Opcode())
	return 0, 0
}

// bulkReduction decodes operation and type of a cp.reduce.async.bulk (PTX ISA 9.7.9.25.4.2).
func (d *decoder) bulkReduction(op *bulkOp, to target.Space) {
	t, name := d.typ(), ""
	for _, m := range d.in.Mods {
		switch m {
		case "add", "min", "max", "inc", "dec", "and", "or", "xor":
			name = m
		}
	}
	takes := map[string][]ptx.Type{
		"add": {ptx.U32, ptx.S32, ptx.U64}, "min": {ptx.U32, ptx.S32}, "max": {ptx.U32, ptx.S32},
		"inc": {ptx.U32}, "dec": {ptx.U32}, "and": {ptx.B32}, "or": {ptx.B32}, "xor": {ptx.B32},
	}[name]
	if to == target.SpaceGlobal {
		switch name {
		case "add":
			takes = append(takes, ptx.F16, ptx.BF16, ptx.F32, ptx.F64)
		case "min", "max":
			takes = append(takes, ptx.U64, ptx.S64, ptx.F16, ptx.BF16)
		case "and", "or", "xor":
			takes = append(takes, ptx.B64)
		}
	}
	half := t == ptx.F16 || t == ptx.BF16
	for _, u := range takes {
		if u != t {
			continue
		}
		if d.has("noftz") != (half && name == "add") {
			break
		}
		op.effect = bulkCopy{combine: combiner(d.in, t), size: t.Bytes()}
		return
	}
	d.fail("%s: no cp.reduce.async.bulk to .%s memory has this operation and type", d.in.Opcode(), to)
}

// runBulk issues the operation of each lane.
func runBulk(w *warp, in *inst, mask uint32) {
	b, x := w.blk, in.mem
	y := x.second
	b.count(x.space)
	b.count(y.space)
	if x.space == y.space && !b.explicitCluster() && mask != 0 {
		b.noCluster(w, in, mask)
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		size := int(w.lane32(in.bulk.size, lane))
		if size%bulkAlign != 0 {
			b.badBulkSize(w, in, lane, size)
		}
		done, at, ok := w.completes(in, y.second, lane)
		if !ok || size == 0 {
			continue
		}
		if size%bulkAlign != 0 {
			b.leftOut(done, at, size)
			continue
		}
		to := b.locate(w, in, x, lane, w.address(x, lane), size, bulkAlign)
		from := b.locate(w, in, y, lane, w.address(y, lane), size, bulkAlign)
		if to.data == nil || from.data == nil || !b.sameBlock(w, in, lane, &to, at, done) ||
			b.foreignSource(w, in, lane, &from) {
			b.leftOut(done, at, size)
			continue
		}
		w.issueTo(operation{
			in: in, warp: w.id, lane: lane, effect: &in.bulk.effect, done: done, at: at,
			to: span{to.space, to.addr, size}, from: span{from.space, from.addr, size},
		})
	}
}

// leftOut notes bytes of a copy that is wrong and was left out: its mbarrier lacks them, and a wait that
// lacks nothing else is no cause of its own.
func (b *block) leftOut(done completion, at *block, bytes int) {
	if done.kind != byBytes {
		return
	}
	if at == nil {
		at = b
	}
	if m := at.mbarrier(done.mbar); m != nil {
		m.left += bytes
	}
}

// noCluster reports a copy to the shared memory of a block of the cluster in a kernel that is not launched in
// clusters: an H200 raises an illegal instruction. The copy is executed all the same.
func (b *block) noCluster(w *warp, in *inst, mask uint32) {
	b.report(w, in, bits.TrailingZeros32(mask), target.Cluster, variable{}, place{space: target.SpaceShared},
		in.src.Opcode()+": the kernel is not launched in clusters, and a GPU raises an illegal instruction "+
			"here; __cluster_dims__(1, 1, 1) is enough", "")
}

// completes is how one lane's operation completes: on the mbarrier at z, of the block at where that is
// another block of the cluster, or with a bulk group where z is nil. ok is false where there is no such
// mbarrier.
func (w *warp) completes(in *inst, z *access, lane int) (done completion, at *block, ok bool) {
	b := w.blk
	if z == nil {
		return completion{kind: byGroup, group: b.async.open[w.id][lane]}, nil, true
	}
	p := b.locate(w, in, z, lane, w.address(z, lane), mbarrierBytes, mbarrierBytes)
	owner := b
	if p.peer != nil {
		owner = p.peer
	}
	switch {
	case p.data == nil:
		return done, nil, false
	case in.bulk.mask >= 0: // of each block that gets the bytes
	case owner.mbarrier(p.addr) == nil:
		b.mbarrierFinding(w, in, lane, p.addr, "completes on", "which mbarrier.init has not initialised")
		return done, nil, false
	}
	return completion{kind: byBytes, mbar: p.addr}, p.peer, true
}

// sameBlock reports whether an operation writes shared memory of the block whose mbarrier it completes on;
// another is a finding (PTX ISA, "cp.async.bulk": the mbarrier is in the shared memory of the destination's
// block).
func (b *block) sameBlock(w *warp, in *inst, lane int, to *place, at *block, done completion) bool {
	if to.space != target.SpaceShared || done.kind == byGroup || to.peer == at {
		return true
	}
	rank := func(x *block) int {
		if x == nil {
			return b.rank
		}
		return x.rank
	}
	b.mbarrierFinding(w, in, lane, done.mbar, "completes on",
		fmt.Sprintf("in block rank %d of the cluster, and writes shared memory of block rank %d: both must be in one block",
			rank(at), rank(to.peer)))
	return false
}

// foreignSource reports a copy from the shared memory of another block, which no bulk operation makes.
func (b *block) foreignSource(w *warp, in *inst, lane int, from *place) bool {
	if from.peer == nil {
		return false
	}
	v := b.variableAt(target.SpaceShared, from.addr)
	b.report(w, in, lane, target.Cluster, v, *from,
		fmt.Sprintf("%s copies from %s of block rank %d of the cluster: its source must be the block's own shared memory",
			in.src.Opcode(), v, from.peer.rank), "")
	return true
}

// issueTo puts an operation under way: one for each block that its instruction multicasts to, at the same
// offsets in shared memory. A mask that names blocks which the cluster does not have is a finding.
func (w *warp) issueTo(o operation) {
	b, in := w.blk, o.in
	if in.bulk.mask < 0 {
		b.issue(o)
		return
	}
	mask, n := w.lane32(in.bulk.mask, o.lane)&0xffff, b.clusterCount()
	if mask>>n != 0 {
		b.report(w, in, o.lane, target.Cluster, variable{}, place{space: target.SpaceCluster},
			fmt.Sprintf("%s: the mask %#x names blocks that a cluster of %d does not have", in.src.Opcode(), mask,
				n), "")
	}
	for rank := range n {
		if mask>>rank&1 == 0 {
			continue
		}
		each := o
		if each.at = nil; rank != b.rank {
			each.at = b.cluster.blocks[rank]
			b.reachPeer(w, in, in.mem, o.lane, each.at, place{space: o.to.space, addr: o.to.addr})
		}
		if owner := each.receiver(b); owner.mbarrier(o.done.mbar) == nil {
			b.mbarrierFinding(w, in, o.lane, o.done.mbar, "completes on",
				fmt.Sprintf("which mbarrier.init has not initialised in block rank %d of the cluster", rank))
			continue
		}
		b.issue(each)
	}
}

// badBulkSize reports a size that no bulk operation has.
func (b *block) badBulkSize(w *warp, in *inst, lane, size int) {
	x := in.mem
	p := place{space: x.space, addr: w.address(x, lane)}
	if x.space == target.SpaceShared {
		p.addr = w.sharedAddress(x, lane)
	}
	v := b.variableOf(x, p, bulkAlign)
	msg := fmt.Sprintf("%s to %s: %d bytes, which is no multiple of %d", in.src.Opcode(), v, size, bulkAlign)
	b.report(w, in, lane, target.Misaligned, v, p, msg, "")
}

// read implements effect.
func (c *bulkCopy) read(b *block, o *operation) {
	p := b.placeOf(o.from)
	o.data = append([]byte(nil), p.data...)
	if p.written != nil {
		o.written = append([]byte(nil), p.written...)
	}
	if f := b.notedOf(&p); f != nil {
		f.mark(p.off, o.from.size, false)
	}
}

// notedOf is where accesses to a place in global memory are noted, nil where they are not.
func (b *block) notedOf(p *place) *allocPrint {
	if p.alloc == nil {
		return nil
	}
	return b.noted(p.alloc)
}

// write implements effect.
func (c *bulkCopy) write(b *block, o *operation) {
	p := o.receiver(b).placeOf(o.to)
	if p.data == nil || len(o.data) != len(p.data) {
		return
	}
	w := b.warps[o.warp]
	if f := b.notedOf(&p); f != nil {
		if c.combine != nil {
			f.mark(p.off, o.to.size, false)
		}
		f.mark(p.off, o.to.size, true)
	}
	if p.alloc != nil {
		b.wroteGlobal++
	}
	was := o.written
	if was != nil && !allWritten(was) && (p.written == nil || c.combine != nil) {
		from := place{space: o.from.space, addr: o.from.addr, written: was}
		b.uninitialised(w, o.in, o.in.mem.second, o.lane, from)
	}
	if c.combine == nil {
		copy(p.data, o.data)
	} else {
		if p.written != nil && !allWritten(p.written) {
			b.uninitialised(w, o.in, o.in.mem, o.lane, p)
		}
		for i := 0; i < len(p.data); i += c.size {
			at := p.data[i:]
			putScalar(at, c.size, c.combine(scalarAt(at, c.size), scalarAt(o.data[i:], c.size)))
		}
		was = nil
	}
	p.wrote()
	if p.written != nil && was != nil {
		copy(p.written, was)
	}
	if b.watched {
		b.bulkLanded(o)
	}
}

// bulkLanded reports that an operation has landed.
func (b *block) bulkLanded(o *operation) {
	w := b.warps[o.warp]
	var to, from [32]uint64
	to[o.lane], from[o.lane] = o.to.addr, o.from.addr
	var e target.Event
	w.describe(&e, o.in, w.pcOf(o.in), 1<<o.lane)
	e.Class, e.Space, e.Addr, e.Addr2, e.Bytes = target.ClassBulkLand, o.to.space, &to, &from, o.to.size
	e.Barrier, e.Value = o.done.barrier(), o.seq
	b.toPeer(&e, o)
	b.deliver(&e)
}

// barrier is the address of the mbarrier that an operation completes on, -1 for a bulk group.
func (c *completion) barrier() int {
	if c.kind == byGroup {
		return -1
	}
	return int(c.mbar)
}

// commitBulk decodes cp.async.bulk.commit_group.
func (d *decoder) commitBulk() {
	d.p.async = true
	d.out.class, d.out.flow = target.ClassBulkCommit, flowAsync
	d.out.run = func(w *warp, _ *inst, mask uint32) {
		for m := mask; m != 0; m &= m - 1 {
			w.blk.async.open[w.id][bits.TrailingZeros32(m)&31]++
		}
	}
}

// waitBulk decodes cp.async.bulk.wait_group{.read} N.
func (d *decoder) waitBulk() {
	d.p.async = true
	op := d.arg(0)
	if op.Kind != ptx.OpInt || int64(op.Imm) < 0 {
		d.unmodelled()
	}
	d.out.class, d.out.flow, d.out.imm = target.ClassBulkWait, flowAsync, op.Imm
	reads := d.has("read")
	d.out.run = func(w *warp, in *inst, mask uint32) {
		w.blk.landSome()
		for m := mask; m != 0; m &= m - 1 {
			w.blk.landGroups(w, bits.TrailingZeros32(m)&31, uint32(in.imm), reads)
		}
	}
}

// hint decodes instructions that change nothing a program can see, and refuses values that they cannot have.
func (d *decoder) hint() {
	if d.in.Op == "cp" && d.has("tensor") {
		d.tensorMods()
		d.tensorPlace(d.arg(0))
	}
	d.nothing()
}
