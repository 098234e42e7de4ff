package emu

import "math/bits"

// A slot is a register of all 32 lanes. Where its lanes hold one value only the first is kept, until
// somebody asks for all.

// Bits of a slot's state.
const (
	stUniform = 1 // lane 0 stands for all lanes
	stFilled  = 2 // every lane is filled in
)

// fill32 makes a slot valid in every lane.
func (w *warp) fill32(s int32) {
	r := &w.r32[s]
	v := r[0]
	for i := range r {
		r[i] = v
	}
	w.u32[s] |= stFilled
}

func (w *warp) fill64(s int32) {
	r := &w.r64[s]
	v := r[0]
	for i := range r {
		r[i] = v
	}
	w.u64[s] |= stFilled
}

// full32 returns a slot with every lane valid.
func (w *warp) full32(s int32) *row32 {
	if w.u32[s]&stFilled == 0 {
		w.fill32(s)
	}
	return &w.r32[s]
}

func (w *warp) full64(s int32) *row64 {
	if w.u64[s]&stFilled == 0 {
		w.fill64(s)
	}
	return &w.r64[s]
}

// present is a slot with zeroes in the lanes that are not in mask, for instructions that look across lanes:
// what a lane holds that is not there is undefined.
func (w *warp) present(s int32, mask uint32) *row32 {
	r := w.full32(s)
	if mask == allLanes {
		return r
	}
	var t row32
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		t[i] = r[i]
	}
	return &t
}

// store32 merges v into the lanes of mask.
func (w *warp) store32(s int32, v *row32, mask uint32) {
	d := w.full32(s)
	w.u32[s] = stFilled
	if mask == allLanes {
		*d = *v
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = v[i]
	}
}

func (w *warp) store64(s int32, v *row64, mask uint32) {
	d := w.full64(s)
	w.u64[s] = stFilled
	if mask == allLanes {
		*d = *v
		return
	}
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = v[i]
	}
}

// set32 gives the lanes of mask one value.
func (w *warp) set32(s int32, v uint32, mask uint32) {
	if mask == w.alive {
		w.r32[s][0] = v
		w.u32[s] = stUniform
		return
	}
	d := w.full32(s)
	w.u32[s] = stFilled
	for m := mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)&31] = v
	}
}

func (w *warp) set64(s int32, v uint64, mask uint32) {
	if mask == w.alive {
		w.r64[s][0] = v
		w.u64[s] = stUniform
		return
	}
	d := w.full64(s)
	w.u64[s] = stFilled
	for m := mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)&31] = v
	}
}

// setPred gives the lanes of mask their bits of v.
func (w *warp) setPred(p int32, v, mask uint32) {
	if p >= 0 {
		w.pred[p] = w.pred[p]&^mask | v&mask
	}
}

// predicate reads the instruction's source predicate.
func (w *warp) predicate(in *inst) uint32 {
	v := allLanes
	if in.pc >= 0 {
		v = w.pred[in.pc]
	}
	if in.negC {
		v = ^v
	}
	return v
}

// lane32 and lane64 read one lane of a slot.
func (w *warp) lane32(s int32, lane int) uint32 {
	if w.u32[s]&stFilled == 0 {
		lane = 0
	}
	return w.r32[s][lane&31]
}

func (w *warp) lane64(s int32, lane int) uint64 {
	if w.u64[s]&stFilled == 0 {
		lane = 0
	}
	return w.r64[s][lane&31]
}
