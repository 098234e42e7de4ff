package emu

import "math/bits"

// run32 executes a function over the 32-bit bank.
func run32(w *warp, in *inst, mask uint32) {
	s := w.u32[in.a] & w.u32[in.b] & w.u32[in.c]
	if mask == w.alive {
		if s&stUniform != 0 {
			in.f32(1, &w.r32[in.d], &w.r32[in.a], &w.r32[in.b], &w.r32[in.c])
			w.u32[in.d] = stUniform
			return
		}
		if s&stFilled == 0 {
			w.full32(in.a)
			w.full32(in.b)
			w.full32(in.c)
		}
		d := &w.r32[in.d]
		in.f32(32, d, &w.r32[in.a], &w.r32[in.b], &w.r32[in.c])
		w.u32[in.d] = stFilled
		if d[0] == d[1] && d[0] == d[2] && mask == allLanes && equalLanes(d) {
			w.u32[in.d] = stFilled | stUniform
		}
		return
	}
	t := &w.t32
	in.f32(32, t, w.full32(in.a), w.full32(in.b), w.full32(in.c))
	w.store32(in.d, t, mask)
}

// equalLanes reports whether all lanes hold one value. Quotients of thread numbers and the results of
// reductions do, and what follows from them is then computed once.
func equalLanes(d *row32) bool {
	v, diff := d[0], uint32(0)
	for _, x := range d {
		diff |= x ^ v
	}
	return diff == 0
}

// run64 executes a function over the 64-bit bank.
func run64(w *warp, in *inst, mask uint32) {
	s := w.u64[in.a] & w.u64[in.b] & w.u64[in.c]
	if mask == w.alive {
		if s&stUniform != 0 {
			in.f64(1, &w.r64[in.d], &w.r64[in.a], &w.r64[in.b], &w.r64[in.c])
			w.u64[in.d] = stUniform
			return
		}
		if s&stFilled == 0 {
			w.full64(in.a)
			w.full64(in.b)
			w.full64(in.c)
		}
		in.f64(32, &w.r64[in.d], &w.r64[in.a], &w.r64[in.b], &w.r64[in.c])
		w.u64[in.d] = stFilled
		return
	}
	t := &w.t64
	in.f64(32, t, w.full64(in.a), w.full64(in.b), w.full64(in.c))
	w.store64(in.d, t, mask)
}

// runWide executes 64-bit results of 32-bit operands a and b (and c of 64 bits).
func runWide(w *warp, in *inst, mask uint32) {
	s := w.u32[in.a] & w.u32[in.b] & w.u64[in.c]
	if mask == w.alive {
		if s&stUniform != 0 {
			in.wide(1, &w.r64[in.d], &w.r32[in.a], &w.r32[in.b], &w.r64[in.c])
			w.u64[in.d] = stUniform
			return
		}
		in.wide(32, &w.r64[in.d], w.full32(in.a), w.full32(in.b), w.full64(in.c))
		w.u64[in.d] = stFilled
		return
	}
	t := &w.t64
	in.wide(32, t, w.full32(in.a), w.full32(in.b), w.full64(in.c))
	w.store64(in.d, t, mask)
}

// runNarrow executes 32-bit results of 64-bit operands.
func runNarrow(w *warp, in *inst, mask uint32) {
	s := w.u64[in.a] & w.u64[in.b]
	if mask == w.alive {
		if s&stUniform != 0 {
			in.narrow(1, &w.r32[in.d], &w.r64[in.a], &w.r64[in.b])
			w.u32[in.d] = stUniform
			return
		}
		in.narrow(32, &w.r32[in.d], w.full64(in.a), w.full64(in.b))
		w.u32[in.d] = stFilled
		return
	}
	t := &w.t32
	in.narrow(32, t, w.full64(in.a), w.full64(in.b))
	w.store32(in.d, t, mask)
}

// runMix executes 64-bit results of a 64-bit operand a and 32-bit operands b and c.
func runMix(w *warp, in *inst, mask uint32) {
	s := w.u64[in.a] & w.u32[in.b] & w.u32[in.c]
	if mask == w.alive {
		if s&stUniform != 0 {
			in.mix(1, &w.r64[in.d], &w.r64[in.a], &w.r32[in.b], &w.r32[in.c])
			w.u64[in.d] = stUniform
			return
		}
		in.mix(32, &w.r64[in.d], w.full64(in.a), w.full32(in.b), w.full32(in.c))
		w.u64[in.d] = stFilled
		return
	}
	t := &w.t64
	in.mix(32, t, w.full64(in.a), w.full32(in.b), w.full32(in.c))
	w.store64(in.d, t, mask)
}

// lift1, lift2 and lift3 make a function over lanes of one over a value.
func lift1(f func(a uint32) uint32) fn32 {
	return func(n int, d, a, _, _ *row32) {
		for i := range n {
			d[i&31] = f(a[i&31])
		}
	}
}

func lift2(f func(a, b uint32) uint32) fn32 {
	return func(n int, d, a, b, _ *row32) {
		for i := range n {
			d[i&31] = f(a[i&31], b[i&31])
		}
	}
}

func lift3(f func(a, b, c uint32) uint32) fn32 {
	return func(n int, d, a, b, c *row32) {
		for i := range n {
			d[i&31] = f(a[i&31], b[i&31], c[i&31])
		}
	}
}

func lift64x1(f func(a uint64) uint64) fn64 {
	return func(n int, d, a, _, _ *row64) {
		for i := range n {
			d[i&31] = f(a[i&31])
		}
	}
}

func lift64x2(f func(a, b uint64) uint64) fn64 {
	return func(n int, d, a, b, _ *row64) {
		for i := range n {
			d[i&31] = f(a[i&31], b[i&31])
		}
	}
}

func lift64x3(f func(a, b, c uint64) uint64) fn64 {
	return func(n int, d, a, b, c *row64) {
		for i := range n {
			d[i&31] = f(a[i&31], b[i&31], c[i&31])
		}
	}
}

// op32 finishes decoding an instruction d, a{, b{, c}} of the 32-bit bank; bits is the operands' width.
func (d *decoder) op32(f fn32, bits int) {
	o := d.out
	o.f32, o.run = f, run32
	o.d = d.dst32(0)
	for i, s := range []*int32{&o.a, &o.b, &o.c} {
		if i+1 < len(d.in.Args) {
			*s = d.src32(i+1, bits)
		}
	}
}

// op64 is op32 for the 64-bit bank.
func (d *decoder) op64(f fn64) {
	o := d.out
	o.f64, o.run = f, run64
	o.d = d.dst64(0)
	for i, s := range []*int32{&o.a, &o.b, &o.c} {
		if i+1 < len(d.in.Args) {
			*s = d.src64(i + 1)
		}
	}
}

// opNarrow decodes d (32 bits), a{, b} (64 bits).
func (d *decoder) opNarrow(f fnNarr) {
	o := d.out
	o.narrow, o.run = f, runNarrow
	o.d, o.a = d.dst32(0), d.src64(1)
	if len(d.in.Args) > 2 {
		o.b = d.src64(2)
	}
}

// opMix decodes d, a (64 bits), b{, c} (32 bits).
func (d *decoder) opMix(f fnMix) {
	o := d.out
	o.mix, o.run = f, runMix
	o.d, o.a = d.dst64(0), d.src64(1)
	if len(d.in.Args) > 2 {
		o.b = d.src32(2, 32)
	}
	if len(d.in.Args) > 3 {
		o.c = d.src32(3, 32)
	}
}

// runSelect is selp: d = p ? a : b.
func runSelect32(w *warp, in *inst, mask uint32) {
	p := w.predicate(in)
	if mask == w.alive {
		switch s := w.u32[in.a] & w.u32[in.b] & stUniform; {
		case p&mask == mask:
			w.copy32(in.d, in.a)
			return
		case p&mask == 0:
			w.copy32(in.d, in.b)
			return
		case s != 0 && w.r32[in.a][0] == w.r32[in.b][0]:
			w.copy32(in.d, in.a)
			return
		}
		a, b := w.full32(in.a), w.full32(in.b)
		d := &w.r32[in.d]
		for i := range d {
			v := b[i]
			if p>>i&1 != 0 {
				v = a[i]
			}
			d[i] = v
		}
		w.u32[in.d] = stFilled
		return
	}
	t := *w.full32(in.b)
	a := w.full32(in.a)
	for m := p; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		t[i] = a[i]
	}
	w.store32(in.d, &t, mask)
}

func runSelect64(w *warp, in *inst, mask uint32) {
	p := w.predicate(in)
	if mask == w.alive && p&mask == mask {
		w.copy64(in.d, in.a)
		return
	}
	if mask == w.alive && p&mask == 0 {
		w.copy64(in.d, in.b)
		return
	}
	t := *w.full64(in.b)
	a := w.full64(in.a)
	for m := p; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		t[i] = a[i]
	}
	w.store64(in.d, &t, mask)
}

// copy32 copies a slot with its state.
func (w *warp) copy32(d, s int32) {
	if w.u32[s]&stUniform != 0 {
		w.r32[d][0] = w.r32[s][0]
		w.u32[d] = stUniform
		return
	}
	w.r32[d] = w.r32[s]
	w.u32[d] = stFilled
}

func (w *warp) copy64(d, s int32) {
	if w.u64[s]&stUniform != 0 {
		w.r64[d][0] = w.r64[s][0]
		w.u64[d] = stUniform
		return
	}
	w.r64[d] = w.r64[s]
	w.u64[d] = stFilled
}

func runMov32(w *warp, in *inst, mask uint32) {
	if mask == w.alive {
		w.copy32(in.d, in.a)
		return
	}
	w.store32(in.d, w.full32(in.a), mask)
}

func runMov64(w *warp, in *inst, mask uint32) {
	if mask == w.alive {
		w.copy64(in.d, in.a)
		return
	}
	w.store64(in.d, w.full64(in.a), mask)
}
