package emu

import (
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// shfl exchanges registers between lanes. inst.c is the member mask that the lanes wait for.
func (d *decoder) shfl() {
	o := d.out
	o.flow, o.class = flowSync, target.ClassShuffle
	if !d.has("sync") {
		d.fail("shfl without .sync is not modelled")
	}
	dst := d.arg(0)
	if dst.Kind == ptx.OpPair {
		o.d, o.pd = d.dest(&dst.Elems[0], bank32), d.dstPred(&dst.Elems[1])
	} else {
		o.d = d.dest(dst, bank32)
	}
	o.a, o.b, o.c = d.src32(1, 32), d.src32(2, 32), d.src32(4, 32)
	clamp := d.src32(3, 32)
	mode := ""
	for _, m := range []string{"up", "down", "bfly", "idx"} {
		if d.has(m) {
			mode = m
		}
	}
	if mode == "bfly" {
		o.run = func(w *warp, in *inst, mask uint32) {
			if w.r32[clamp][0] == 0x1f && w.u32[clamp]&w.u32[in.b]&stUniform != 0 && mask == allLanes &&
				w.alive == allLanes &&
				in.uniformMembers(w) && w.r32[in.c][0] == allLanes {
				w.butterfly(in, w.r32[in.b][0]&31)
				return
			}
			w.shuffle(in, mode, clamp, mask)
		}
		return
	}
	o.run = func(w *warp, in *inst, mask uint32) { w.shuffle(in, mode, clamp, mask) }
}

// butterfly is shfl.bfly over the whole warp with one lane mask.
func (w *warp) butterfly(in *inst, lanes uint32) {
	if in.pd >= 0 {
		w.pred[in.pd] = allLanes
	}
	if w.u32[in.a]&stUniform != 0 {
		w.copy32(in.d, in.a)
		return
	}
	a := &w.r32[in.a]
	if in.a == in.d {
		t := *a
		a = &t
	}
	d := &w.r32[in.d]
	for i := range uint32(32) {
		d[i] = a[(i^lanes)&31]
	}
	w.u32[in.d] = stFilled
}

// shuffle is any shfl, as the ISA's pseudocode has it.
func (w *warp) shuffle(in *inst, mode string, clamp int32, mask uint32) {
	a, b, c, members := w.full32(in.a), w.full32(in.b), w.full32(clamp), w.full32(in.c)
	var t, from row32
	var valid, bad uint32
	for i := range uint32(32) {
		bval, cval, seg := b[i]&31, c[i]&31, c[i]>>8&31
		maxLane := i&seg | cval&^seg
		minLane := i & seg
		var j uint32
		var ok bool
		switch mode {
		case "up":
			j = i - bval
			ok = int32(j) >= int32(maxLane)
		case "down":
			j = i + bval
			ok = j <= maxLane
		case "bfly":
			j = i ^ bval
			ok = j <= maxLane
		default:
			j = minLane | bval&^seg
			ok = j <= maxLane
		}
		if !ok {
			j = i
		} else {
			valid |= 1 << i
		}
		from[i] = j & 31
		if mask>>j&1 != 0 {
			t[i] = a[j&31]
		} else {
			// of a lane that is not here: undefined in the ISA, ones like all that was never written
			t[i] = allLanes
		}
		if mask&members[i]>>j&1 == 0 {
			bad |= 1 << i & mask
		}
	}
	if bad != 0 && !in.probe {
		w.strangers(in, bad, mask, (*[32]uint32)(&from))
	}
	w.setPred(in.pd, valid, mask)
	w.store32(in.d, &t, mask)
}

// vote decodes vote, match, activemask, redux and elect.
func (d *decoder) vote() {
	o := d.out
	o.class = target.ClassShuffle
	if d.in.Op == "activemask" {
		o.d = d.dst32(0)
		o.run = func(w *warp, in *inst, mask uint32) { w.set32(in.d, mask, mask) }
		return
	}
	if !d.has("sync") && d.in.Op != "elect" {
		d.fail("%s without .sync is not modelled", d.in.Op)
	}
	o.flow = flowSync
	switch d.in.Op {
	case "vote":
		d.voteOp()
	case "match":
		d.match()
	case "redux":
		d.redux()
	case "elect":
		d.elect()
	}
}

func (d *decoder) voteOp() {
	o := d.out
	o.c = d.src32(2, 32)
	d.srcPred(1)
	if d.has("ballot") {
		o.d = d.dst32(0)
		o.run = func(w *warp, in *inst, mask uint32) {
			v := w.predicate(in) & mask
			if in.uniformMembers(w) {
				w.set32(in.d, v&w.r32[in.c][0], mask)
				return
			}
			t := *w.full32(in.c)
			for i := range t {
				t[i] &= v
			}
			w.store32(in.d, &t, mask)
		}
		return
	}
	o.pd = d.dstPred(d.arg(0))
	kind := "uni"
	for _, m := range []string{"all", "any"} {
		if d.has(m) {
			kind = m
		}
	}
	o.run = func(w *warp, in *inst, mask uint32) {
		p := w.predicate(in)
		var v uint32
		for i, members := range w.full32(in.c) {
			who := members & mask
			yes := p & who
			ok := yes == who || yes == 0
			switch kind {
			case "all":
				ok = yes == who
			case "any":
				ok = yes != 0
			}
			if ok {
				v |= 1 << i
			}
		}
		w.setPred(in.pd, v, mask)
	}
}

func (in *inst) uniformMembers(w *warp) bool { return w.u32[in.c]&stUniform != 0 }

// match finds the lanes with an equal value.
func (d *decoder) match() {
	o := d.out
	all := d.has("all")
	dst := d.arg(0)
	if dst.Kind == ptx.OpPair {
		o.d, o.pd = d.dest(&dst.Elems[0], bank32), d.dstPred(&dst.Elems[1])
	} else {
		o.d = d.dest(dst, bank32)
	}
	wide := d.typ().Bits() == 64
	if wide {
		o.a = d.src64(1)
	} else {
		o.a = d.src32(1, 32)
	}
	o.c = d.src32(2, 32)
	o.run = func(w *warp, in *inst, mask uint32) {
		at := func(i int) uint64 {
			if wide {
				return w.lane64(in.a, i)
			}
			return uint64(w.lane32(in.a, i))
		}
		var t row32
		var p uint32
		members := w.full32(in.c)
		for i := range t {
			who := members[i] & mask
			for m := who; m != 0; m &= m - 1 {
				if j := bits.TrailingZeros32(m); at(j) == at(i) {
					t[i] |= 1 << j
				}
			}
			if !all {
				continue
			}
			if t[i] == who {
				p |= 1 << i
			} else {
				t[i] = 0
			}
		}
		w.setPred(in.pd, p, mask)
		w.store32(in.d, &t, mask)
	}
}

// redux combines a register over lanes.
func (d *decoder) redux() {
	t := d.typ()
	if t.Bits() != 32 || t.Float() {
		d.unmodelled()
	}
	o := d.out
	o.d, o.a, o.c = d.dst32(0), d.src32(1, 32), d.src32(2, 32)
	op := combiner(d.in, t)
	if op == nil {
		d.unmodelled()
	}
	o.run = func(w *warp, in *inst, mask uint32) {
		a, members := w.full32(in.a), w.full32(in.c)
		var t row32
		for m := mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			who := members[i] & mask
			if who == 0 {
				continue
			}
			v := uint64(a[bits.TrailingZeros32(who)&31])
			for r := who & (who - 1); r != 0; r &= r - 1 {
				v = op(v, uint64(a[bits.TrailingZeros32(r)&31]))
			}
			t[i] = uint32(v)
		}
		w.store32(in.d, &t, mask)
	}
}

// elect picks the lowest member.
func (d *decoder) elect() {
	o := d.out
	dst := d.arg(0)
	if dst.Kind == ptx.OpPair {
		o.d, o.pd = d.dest(&dst.Elems[0], bank32), d.dstPred(&dst.Elems[1])
	} else {
		o.d, o.pd = d.scratch(bank32), d.dstPred(dst)
	}
	o.c = d.src32(1, 32)
	o.run = func(w *warp, in *inst, mask uint32) {
		leader := uint32(bits.TrailingZeros32(mask & w.named(in, mask)))
		w.set32(in.d, leader, mask)
		w.setPred(in.pd, 1<<leader, mask)
	}
}
