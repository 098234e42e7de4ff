package emu

import (
	"math"

	"tilescope/debugkern/fp"
	"tilescope/debugkern/ptx"
)

// cmpFn compares n lanes of the slots a and b of a warp and gives a bit a lane; uniform
// operands give all or none.
type cmpFn func(w *warp, a, b int32) uint32

// compare decodes setp and set: a comparison, optionally combined with a predicate.
func (d *decoder) compare() {
	ts := d.in.Types()
	if len(ts) == 0 {
		d.unmodelled()
	}
	if t := ts[len(ts)-1]; t == ptx.F16x2 || t == ptx.BF16x2 {
		d.compareHalves(t)
		return
	}
	o := d.out
	test := d.comparison(ts[len(ts)-1])
	o.a, o.b = d.srcOf(1, ts[len(ts)-1]), d.srcOf(2, ts[len(ts)-1])
	join := d.join()
	if d.in.Op == "set" {
		d.set(test, join, ts[0])
		return
	}
	dst := d.arg(0)
	if dst.Kind == ptx.OpPair {
		o.pd, o.pd2 = d.dstPred(&dst.Elems[0]), d.dstPred(&dst.Elems[1])
	} else {
		o.pd = d.dstPred(dst)
	}
	if join == "" && o.pd2 < 0 {
		o.run = func(w *warp, in *inst, mask uint32) { w.setPred(in.pd, test(w, in.a, in.b), mask) }
		return
	}
	o.run = func(w *warp, in *inst, mask uint32) {
		v := test(w, in.a, in.b)
		c := w.predicate(in)
		w.setPred(in.pd, joined(join, v, c), mask)
		w.setPred(in.pd2, joined(join, ^v, c), mask)
	}
}

// join decodes what a comparison is joined with, operand 4, and returns how, "" where there is none.
func (d *decoder) join() string {
	if len(d.in.Args) < 4 {
		return ""
	}
	d.srcPred(3)
	for _, m := range d.in.Mods {
		if m == "and" || m == "or" || m == "xor" {
			return m
		}
	}
	return ""
}

func joined(join string, v, c uint32) uint32 {
	switch join {
	case "and":
		return v & c
	case "or":
		return v | c
	case "xor":
		return v ^ c
	}
	return v
}

// set gives all ones, or 1.0, where the comparison holds.
func (d *decoder) set(test cmpFn, join string, t ptx.Type) {
	yes := allLanes
	switch t {
	case ptx.F32:
		yes = math.Float32bits(1)
	case ptx.F16:
		yes = oneF16
	case ptx.BF16:
		yes = oneBF16
	case ptx.U16, ptx.S16:
		yes = 0xffff
	case ptx.U32, ptx.S32:
	default:
		d.unmodelled()
	}
	d.out.d = d.dst32(0)
	d.out.run = func(w *warp, in *inst, mask uint32) {
		v := joined(join, test(w, in.a, in.b), w.predicate(in))
		var t row32
		for i := range t {
			if v>>i&1 != 0 {
				t[i] = yes
			}
		}
		w.store32(in.d, &t, mask)
	}
}

// comparison returns the test of setp's operator and type.
func (d *decoder) comparison(t ptx.Type) cmpFn {
	op := ""
	for _, m := range d.in.Mods {
		if _, ok := fp.ParseCmp(m); ok || m == "lo" || m == "ls" || m == "hi" || m == "hs" {
			op = m
			break
		}
	}
	if t.Float() {
		return d.floatComparison(op, t)
	}
	signed := t.Signed()
	switch op {
	case "lo":
		op, signed = "lt", false
	case "ls":
		op, signed = "le", false
	case "hi":
		op, signed = "gt", false
	case "hs":
		op, signed = "ge", false
	}
	switch t.Bits() {
	case 64:
		return d.intComparison64(op, signed)
	case 32:
		if f := hotCompare(op, signed); f != nil {
			return compare32(f)
		}
		return compare32(intCompare(op, signed))
	case 16:
		if signed {
			f := intCompare(op, true)
			return compare32(func(n int, a, b *row32) uint32 {
				var x, y row32
				for i := range n {
					x[i&31], y[i&31] = uint32(int32(int16(a[i&31]))), uint32(int32(int16(b[i&31])))
				}
				return f(n, &x, &y)
			})
		}
		return compare32(intCompare(op, false))
	}
	d.unmodelled()
	return nil
}

// compare32 applies a test to slots, once where both are uniform.
func compare32(f fnCmp) cmpFn {
	return func(w *warp, a, b int32) uint32 {
		if w.u32[a]&w.u32[b]&stUniform != 0 {
			return boolMask(f(1, &w.r32[a], &w.r32[b]) != 0)
		}
		return f(32, w.full32(a), w.full32(b))
	}
}

// intCompare is any comparison of 32-bit integers.
func intCompare(op string, signed bool) fnCmp {
	flip := uint32(0)
	if signed {
		flip = 1 << 31
	}
	return func(n int, a, b *row32) (r uint32) {
		for i := range n {
			if ordered(op, uint64(a[i&31]^flip), uint64(b[i&31]^flip)) {
				r |= 1 << i
			}
		}
		return r
	}
}

func ordered(op string, x, y uint64) bool {
	switch op {
	case "eq":
		return x == y
	case "ne":
		return x != y
	case "lt":
		return x < y
	case "le":
		return x <= y
	case "gt":
		return x > y
	}
	return x >= y
}

func (d *decoder) intComparison64(op string, signed bool) cmpFn {
	flip := uint64(0)
	if signed {
		flip = 1 << 63
	}
	return compare64(func(n int, a, b *row64) (r uint32) {
		for i := range n {
			if ordered(op, a[i&31]^flip, b[i&31]^flip) {
				r |= 1 << i
			}
		}
		return r
	})
}

func compare64(f fnCmp6) cmpFn {
	return func(w *warp, a, b int32) uint32 {
		if w.u64[a]&w.u64[b]&stUniform != 0 {
			return boolMask(f(1, &w.r64[a], &w.r64[b]) != 0)
		}
		return f(32, w.full64(a), w.full64(b))
	}
}

func (d *decoder) floatComparison(name string, t ptx.Type) cmpFn {
	op, ok := fp.ParseCmp(name)
	if !ok {
		d.unmodelled()
	}
	ftz := d.has("ftz")
	switch t {
	case ptx.F64:
		return compare64(func(n int, a, b *row64) (r uint32) {
			for i := range n {
				if fp.Cmp64(op, a[i&31], b[i&31]) {
					r |= 1 << i
				}
			}
			return r
		})
	case ptx.F32:
		if op == fp.Eq && !ftz {
			return compare32(func(n int, a, b *row32) (r uint32) {
				for i := range n {
					if math.Float32frombits(a[i&31]) == math.Float32frombits(b[i&31]) {
						r |= 1 << i
					}
				}
				return r
			})
		}
		return compare32(eachLane(func(a, b uint32) bool {
			if ftz {
				a, b = fp.Flush32(a), fp.Flush32(b)
			}
			return fp.Cmp32(op, a, b)
		}))
	case ptx.F16:
		return compare32(eachLane(func(a, b uint32) bool {
			if ftz {
				return fp.Cmp16(op, fp.Flush16(uint16(a)), fp.Flush16(uint16(b)))
			}
			return fp.Cmp16(op, uint16(a), uint16(b))
		}))
	case ptx.BF16:
		return compare32(eachLane(func(a, b uint32) bool { return fp.CmpBF16(op, uint16(a), uint16(b)) }))
	}
	d.unmodelled() // packed comparisons have two results
	return nil
}

func eachLane(f func(a, b uint32) bool) fnCmp {
	return func(n int, a, b *row32) (r uint32) {
		for i := range n {
			if f(a[i&31], b[i&31]) {
				r |= 1 << i
			}
		}
		return r
	}
}

// testp tests one float for a class.
func (d *decoder) testp() {
	t := d.typ()
	kind := ""
	for _, m := range d.in.Mods {
		if _, ok := ptx.TypeOf(m); !ok {
			kind = m
		}
	}
	o := d.out
	o.pd = d.dstPred(d.arg(0))
	if t == ptx.F64 {
		o.a = d.src64(1)
		o.run = func(w *warp, in *inst, mask uint32) {
			var v uint32
			for i, x := range w.full64(in.a) {
				if floatClass(kind, x&^(1<<63), 0x7ff<<52, 1<<52) {
					v |= 1 << i
				}
			}
			w.setPred(in.pd, v, mask)
		}
		return
	}
	o.a = d.src32(1, 32)
	o.run = func(w *warp, in *inst, mask uint32) {
		var v uint32
		for i, x := range w.full32(in.a) {
			if floatClass(kind, uint64(x&0x7fffffff), 0x7f800000, 0x800000) {
				v |= 1 << i
			}
		}
		w.setPred(in.pd, v, mask)
	}
}

// floatClass tests a magnitude, given the patterns of infinity and of the smallest normal.
func floatClass(kind string, mag, inf, normal uint64) bool {
	switch kind {
	case "finite":
		return mag < inf
	case "infinite":
		return mag == inf
	case "number":
		return mag <= inf
	case "notanumber":
		return mag > inf
	case "normal":
		return mag >= normal && mag < inf
	}
	return mag > 0 && mag < normal
}

// selp selects by a predicate.
func (d *decoder) selp() {
	t := d.typ()
	d.srcPred(3)
	o := d.out
	if t.Bits() == 64 {
		o.run, o.d, o.a, o.b = runSelect64, d.dst64(0), d.src64(1), d.src64(2)
		return
	}
	o.run, o.d, o.a, o.b = runSelect32, d.dst32(0), d.src32(1, t.Bits()), d.src32(2, t.Bits())
}

// slct selects by the sign of c: d = c >= 0 ? a : b.
func (d *decoder) slct() {
	ts := d.in.Types()
	if len(ts) != 2 {
		d.unmodelled()
	}
	first := func(c uint32) bool { return int32(c) >= 0 }
	if ts[1] == ptx.F32 {
		ftz := d.has("ftz")
		first = func(c uint32) bool {
			if ftz {
				c = fp.Flush32(c)
			}
			return fp.Cmp32(fp.Ge, c, 0)
		}
	}
	o := d.out
	o.c = d.src32(3, 32)
	pick := func(w *warp, in *inst) (p uint32) {
		for i, c := range w.full32(in.c) {
			if first(c) {
				p |= 1 << i
			}
		}
		return p
	}
	if ts[0].Bits() == 64 {
		o.d, o.a, o.b = d.dst64(0), d.src64(1), d.src64(2)
		o.run = func(w *warp, in *inst, mask uint32) {
			t, p, a := *w.full64(in.b), pick(w, in), w.full64(in.a)
			for i := range t {
				if p>>i&1 != 0 {
					t[i] = a[i]
				}
			}
			w.store64(in.d, &t, mask)
		}
		return
	}
	o.d, o.a, o.b = d.dst32(0), d.src32(1, ts[0].Bits()), d.src32(2, ts[0].Bits())
	o.run = func(w *warp, in *inst, mask uint32) {
		t, p, a := *w.full32(in.b), pick(w, in), w.full32(in.a)
		for i := range t {
			if p>>i&1 != 0 {
				t[i] = a[i]
			}
		}
		w.store32(in.d, &t, mask)
	}
}

// The number 1 in 16 bits.
const (
	oneF16  = 0x3c00
	oneBF16 = 0x3f80
)

// compareHalves decodes setp and set of packed halves: a predicate for each half, or 1.0 (0) in each,
// or all ones for both.
func (d *decoder) compareHalves(t ptx.Type) {
	var op fp.CmpOp
	found := false
	for _, m := range d.in.Mods {
		if !found {
			op, found = fp.ParseCmp(m)
		}
	}
	if !found {
		d.unmodelled()
	}
	join := d.join()
	one, ftz, test := uint32(oneF16), d.has("ftz"), fp.Cmp16
	if t == ptx.BF16x2 {
		one, test = oneBF16, fp.CmpBF16
	}
	half := func(v uint32, k int) uint16 {
		h := uint16(v >> (16 * k))
		if ftz {
			return fp.Flush16(h)
		}
		return h
	}
	o := d.out
	o.a, o.b = d.src32(1, 32), d.src32(2, 32)
	compare := func(w *warp, k int) (r uint32) {
		a, b := w.full32(o.a), w.full32(o.b)
		for i := range a {
			if test(op, half(a[i], k), half(b[i], k)) {
				r |= 1 << i
			}
		}
		return joined(join, r, w.predicate(o))
	}
	if d.in.Op == "set" {
		if to := d.in.Types()[0]; to != t {
			one = 0xffff
		}
		o.d = d.dst32(0)
		o.run = func(w *warp, in *inst, mask uint32) {
			low, high := compare(w, 0), compare(w, 1)
			var v row32
			for i := range v {
				v[i] = one*(low>>i&1) | one*(high>>i&1)<<16
			}
			w.store32(in.d, &v, mask)
		}
		return
	}
	dst := d.arg(0)
	if dst.Kind != ptx.OpPair {
		d.unmodelled()
	}
	o.pd, o.pd2 = d.dstPred(&dst.Elems[0]), d.dstPred(&dst.Elems[1])
	o.run = func(w *warp, in *inst, mask uint32) {
		low, high := compare(w, 0), compare(w, 1)
		w.setPred(in.pd, low, mask)
		w.setPred(in.pd2, high, mask)
	}
}
