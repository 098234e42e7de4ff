package lineage

import "math/bits"

// moved is an instruction of which the text says where each byte comes from.
func (x *interpreter[T]) moved(s *step, f *flow) {
	if f.copies() {
		x.copied(s, f)
		return
	}
	x.lay(s, f, f.bytes, f.src)
}

// copies reports whether the one destination is the one source.
func (f *flow) copies() bool {
	if len(f.dst) != 1 || len(f.src) != 1 || len(f.bytes) < int(f.src[0].n) {
		return false
	}
	for i, b := range f.bytes {
		if i < int(f.src[0].n) && (b.src != 0 || int(b.byte) != i) ||
			i >= int(f.src[0].n) && b.src != isZero {
			return false
		}
	}
	return f.src[0].lo == 0
}

// copied copies a register, or puts a constant into one.
func (x *interpreter[T]) copied(s *step, f *flow) {
	d := f.dst[0].reg
	if d < 0 {
		return
	}
	if f.src[0].reg < 0 {
		id := x.constant(&f.src[0])
		if id == 0 {
			x.clear(s, d, s.mask)
			return
		}
		r := x.to(s, d)
		r.set |= s.mask
		r.data &^= s.mask
		for m := s.mask; m != 0; m &= m - 1 {
			r.ids[bits.TrailingZeros32(m)&31] = id
		}
		return
	}
	from := x.reg(s, f.src[0].reg)
	if from == nil || from.set&s.mask == 0 {
		x.clear(s, d, s.mask)
		return
	}
	r := x.to(s, d)
	if s.mask == ^uint32(0) {
		*r = *from
		return
	}
	r.set = r.set&^s.mask | from.set&s.mask
	r.data = r.data&^s.mask | from.data&s.mask
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		r.ids[lane] = from.ids[lane]
	}
}

// permuted is prmt with selectors of its own in each lane.
func (x *interpreter[T]) permuted(s *step, f *flow) {
	mask := s.mask
	sel := x.t.rows.at(int(s.aux))
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		one := *s
		one.mask = 1 << lane
		x.lay(&one, f, permuted(f.in, sel[lane]), f.src[:2])
	}
}

// lay makes the destinations of bytes.
func (x *interpreter[T]) lay(s *step, f *flow, bytes []byteFlow, src []source) {
	live := x.lanesWith(s, src, false)
	hasConst := false
	for i := range src {
		hasConst = hasConst || src[i].form == fromImmediate
	}
	if hasConst && !f.integer {
		live = s.mask
	}
	for _, d := range f.dst {
		if d.reg >= 0 && live != s.mask {
			x.clear(s, d.reg, s.mask&^live)
		}
	}
	if live == 0 {
		return
	}
	x.about(s, f)
	for m := live; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		x.op.Lane = lane
		var ids [4]uint32
		for i := range src {
			ids[i&3] = x.get(s, &src[i], lane)
		}
		at := 0
		var made [8]uint32
		for j, d := range f.dst {
			n := int(d.bytes)
			x.op.Dest = j
			made[j&7] = x.laid(f, bytes[at:at+n], src, &ids)
			at += n
		}
		for j, d := range f.dst {
			x.put(s, d.reg, lane, made[j&7])
		}
	}
}

// laid is one destination of a lane. Bytes that are made of others are an operation: on the whole register
// where its sources are whole values, else on halves or bytes.
func (x *interpreter[T]) laid(f *flow, bytes []byteFlow, src []source, ids *[4]uint32) uint32 {
	var out [8]uint32
	computed := false
	for i, b := range bytes {
		switch {
		case b.src >= 0:
			x.bytesOf(ids[b.src&3], int(b.byte), out[i:i+1])
		case b.src == isZero:
			out[i] = zeroByte
		default:
			var put bool
			if out[i], put = x.put1(f, i, ids); !put {
				computed = true
			}
		}
	}
	n := len(bytes)
	if !computed {
		return x.join(out[:n])
	}
	data := false
	for i := range src {
		data = data || x.isData(ids[i&3])
	}
	if !data { // arithmetic on constants
		return 0
	}
	each := x.grain(n, src, ids)
	for lo := 0; lo < n; lo += each {
		group := bytes[lo : lo+each]
		if !anyMade(group) {
			continue
		}
		x.op.Part, x.op.Parts, x.op.Bytes = lo/each, n/each, each
		x.in = x.in[:0]
		of := false
		for j := range src {
			from, to := bytesFrom(group, j)
			switch {
			case src[j].reg < 0:
				x.in = append(x.in, x.taken(ids[j&3], 0, int(src[j].n)))
			case each == n && from < to: // all of it
				x.in = append(x.in, x.taken(ids[j&3], 0, int(src[j].n)))
				of = of || x.isData(ids[j&3])
			case from < to:
				x.in = append(x.in, x.taken(ids[j&3], from, to-from))
				of = of || x.dataIn(ids[j&3], from, to)
			default:
				x.in = append(x.in, x.index)
			}
		}
		if !of {
			clear(out[lo : lo+each])
			continue
		}
		id := x.made(x.in, each, true)
		for k := range each {
			out[lo+k] = id<<3 | uint32(k)
		}
	}
	return x.join(out[:n])
}

// put1 is a byte that or and xor of two registers take from one of them, since the other's is zero: halves
// are put together so.
func (x *interpreter[T]) put1(f *flow, i int, ids *[4]uint32) (uint32, bool) {
	if op := f.in.Op; op != "or" && op != "xor" || len(f.src) != 2 || f.src[0].reg < 0 || f.src[1].reg < 0 {
		return 0, false
	}
	var a, b [1]uint32
	x.bytesOf(ids[0], i, a[:])
	x.bytesOf(ids[1], i, b[:])
	switch {
	case a[0] == zeroByte:
		return b[0], true
	case b[0] == zeroByte:
		return a[0], true
	}
	return 0, false
}

func anyMade(group []byteFlow) bool {
	for _, b := range group {
		if b.src == isMade {
			return true
		}
	}
	return false
}

// bytesFrom is the range of bytes of source j that a group is made of.
func bytesFrom(group []byteFlow, j int) (from, to int) {
	from, to = 8, 0
	for _, b := range group {
		m := uint8(0)
		if b.src == isMade && j < 3 {
			m = b.deps[j]
		} else if int(b.src) == j {
			m = 1 << b.byte
		}
		if m != 0 {
			from, to = min(from, bits.TrailingZeros8(m)), max(to, bits.Len8(m))
		}
	}
	return from, to
}

// dataIn reports whether bytes of a value are made of data.
func (x *interpreter[T]) dataIn(id uint32, from, to int) bool {
	var b [8]uint32
	x.bytesOf(id, from, b[:to-from])
	for _, v := range b[:to-from] {
		if x.data[v>>3] {
			return true
		}
	}
	return false
}

// grain is how many bytes of a register of n an operation on bits is about: those of the values that its
// sources have there.
func (x *interpreter[T]) grain(n int, src []source, ids *[4]uint32) int {
	each := n
	for i := range src {
		id := ids[i&3]
		if src[i].reg < 0 || id&packed == 0 {
			continue
		}
		p := &x.packs[id&^packed]
		for k := 0; k < n && k < 8; k += 2 {
			a, b := p[k], p[min(k+1, 7)]
			if a>>3 >= firstVal && (a&1 != 0 || b != a+1) || a>>3 < firstVal && b>>3 >= firstVal {
				return 1
			}
		}
		each = min(each, 2)
	}
	return each
}
