package emu

import (
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// asyncStore is what st.async and red.async have beyond a bulkOp (PTX ISA 9.7.9.12, 9.7.13.8): inst.mem is
// the destination in shared memory of the cluster, its second the mbarrier that gets the bytes. The values
// are taken when the instruction is issued.
type asyncStore struct {
	regs    [8]int32
	banks   [8]bank
	size, n int
}

// storeAsync decodes st.async and red.async.
func (d *decoder) storeAsync() {
	o, t := d.out, d.typ()
	red := d.in.Kind() == isa.Reduce
	for _, m := range d.in.Mods {
		switch m {
		case "async", "weak", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes", "v2",
			"v4", "b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64":
		case "inc", "dec", "min", "max", "add", "and", "or", "xor":
			if !red {
				d.fail("%s: .%s is no modifier of it", d.in.Opcode(), m)
			}
		default:
			d.fail("%s: .%s is not modelled", d.in.Opcode(), m)
		}
	}
	if len(d.in.Args) != 3 || !d.has("mbarrier::complete_tx::bytes") {
		d.fail("%s takes an address, a value and an mbarrier that gets the bytes", d.in.Opcode())
	}
	d.p.async = true
	space := d.mbarrierSpace()
	x, z := d.access(d.arg(0), space), d.access(d.arg(2), space)
	d.elements(x, d.arg(1), false)
	op := &bulkOp{mask: -1, store: &asyncStore{regs: x.regs, banks: x.banks, size: x.size, n: x.n}}
	x.size, x.n = x.size*x.n, 1
	z.size, z.n, z.nth = mbarrierBytes, 1, 1
	x.second = z
	if red {
		op.effect = bulkCopy{combine: combiner(d.in, t), size: t.Bytes()}
		if op.store.n != 1 || !slices.ContainsFunc(reducesAsync[t], d.has) {
			d.fail("%s: no red.async has this operation and type", d.in.Opcode())
		}
	}
	o.mem, o.bulk, o.class, o.flow, o.run = x, op, target.ClassBulk, flowAsync, runStoreAsync
}

// reducesAsync are the operations of red.async, by type.
var reducesAsync = map[ptx.Type][]string{
	ptx.U32: {"inc", "dec", "min", "max", "add"}, ptx.S32: {"min", "max", "add"}, ptx.U64: {"add"},
	ptx.B32: {"and", "or", "xor"},
}

// runStoreAsync issues the operation of each lane.
func runStoreAsync(w *warp, in *inst, mask uint32) {
	b, x, s := w.blk, in.mem, in.bulk.store
	b.count(target.SpaceShared)
	if !b.explicitCluster() && mask != 0 {
		b.noCluster(w, in, mask)
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		done, at, ok := w.completes(in, x.second, lane)
		if !ok {
			continue
		}
		to := b.locate(w, in, x, lane, w.address(x, lane), x.size, x.size)
		if to.data == nil || !b.sameBlock(w, in, lane, &to, at, done) {
			continue
		}
		data := make([]byte, x.size)
		for e := range s.n {
			v := uint64(0)
			if s.banks[e] == bank64 {
				v = w.lane64(s.regs[e], lane)
			} else {
				v = uint64(w.lane32(s.regs[e], lane))
			}
			putScalar(data[e*s.size:], s.size, v)
		}
		b.issue(operation{
			in: in, warp: w.id, lane: lane, effect: &in.bulk.effect, done: done, at: at, data: data,
			isRead: true, to: span{to.space, to.addr, x.size}, from: span{space: target.SpaceNone},
		})
	}
}

// toPeer makes an event of what lands in the shared memory of another block one of the cluster's memory; also
// of st.async and red.async, which no checker of one block follows.
func (b *block) toPeer(e *target.Event, o *operation) {
	if o.at == nil && o.in.bulk.store == nil || e.Space != target.SpaceShared {
		return
	}
	at := o.receiver(b)
	e.Space = target.SpaceCluster
	e.Addr[o.lane] = target.DistributedAddress(at.rank, e.Addr[o.lane])
}
