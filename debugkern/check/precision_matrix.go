package check

import (
	"math"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// matrix is a fragment put together: values with their shadows by row and column.
type matrix [16][16]operand

// gather puts the fragment of operand i together.
func (u *precisionUnit) gather(m *matrix, t numberType, i int, f *isa.Fragment) {
	x := &u.x
	regs := elements(&x.Instr.Args[i])
	for e := range f.Elements {
		reg, part := f.Register(e)
		if reg >= len(x.src[i]) {
			return
		}
		tags := u.tags.operand(x, regs[reg])
		for lane := range 32 {
			r, c := f.Cell(lane, e)
			m[r&15][c&15] = shaded(t, x.src[i][reg][lane], tags, lane, part)
		}
	}
}

// multiply shadows a matrix product by exact dot products.
func (u *precisionUnit) multiply(acc, ct, ab numberType) {
	x := &u.x
	fa, fd := x.Instr.Fragment(isa.ClassA), x.Instr.Fragment(isa.ClassD)
	// the results have no shadows
	if fa.Bits != 16 || max(fa.Rows, fd.Rows, fd.Cols) > len(matrix{}) || isa.Sparse(x.Instr.Mods) {
		for _, dst := range x.dests() {
			u.tags.set(x, dst, nil)
		}
		return
	}
	var a, b, c matrix
	u.gather(&a, ab, 1, fa)
	u.gather(&b, ab, 2, x.Instr.Fragment(isa.ClassB))
	u.gather(&c, ct, 3, x.Instr.Fragment(isa.ClassC))
	for reg, dst := range x.dests() {
		var out [32][unitsMax]shade
		each(x.Mask, func(lane int) {
			for k := range acc.n {
				row, col := fd.Cell(lane, reg*acc.n+k)
				v := acc.part(x.dst[reg][lane], k)
				r, ops, local := dot(&a[row&15], &b[col&15], c[row&15][col&15], fa.Cols)
				r.got = acc.value(v)
				local = math.Abs(r.got - local)
				out[lane][k*acc.bits/16] = shade{
					r.exact, v, uint8(acc.bits), u.judge(acc, r, ops, local, lane),
				}
			}
		})
		u.tags.set(x, dst, &out)
	}
}

// dot is the exact product of a row and a column added to c: its shadow, the products and c as what it is
// made of, and what the operands as they are would give.
func dot(a, b *[16]operand, c operand, depth int) (r operand, ops []operand, plain float64) {
	ops = make([]operand, 0, depth+1)
	r.exact, plain = c.exact, c.got
	ops = append(ops, c)
	for k := range depth {
		p := operand{got: a[k].got * b[k].got, exact: a[k].exact * b[k].exact, blame: a[k].blame}
		if math.Abs(a[k].got)*b[k].err() > a[k].err()*math.Abs(b[k].got) {
			p.blame = b[k].blame
		}
		r.exact += p.exact
		plain += p.got
		ops = append(ops, p)
	}
	return r, ops, plain
}

// before notes what an atomic finds in memory, unless it has a shadow there.
func (u *precisionUnit) before() {
	x := &u.x
	t := numbers(x.Instr.Type())
	if t.n != 1 || len(x.parts) == 0 || !x.Instr.Has("add") {
		return
	}
	p := &x.parts[0]
	each(p.mask, func(lane int) {
		v, ok := u.memory(x, p, lane, t)
		k := x.at(p, lane, 0)
		if s := u.tags.mem[k]; ok && (int(s.width) != t.bits || s.bits != v) {
			u.tags.put(k, shade{exact: t.value(v), bits: v, width: uint8(t.bits)})
		}
	})
}

// memory reads the value that a lane accesses.
func (u *precisionUnit) memory(x *executing, p *part, lane int, t numberType) (uint64, bool) {
	var raw [8]byte
	n := t.bits / 8
	if u.view.Memory(p.space, p.addr[lane], x.Warp, lane, raw[:n]) < n {
		return 0, false
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(raw[i])
	}
	return v, true
}

// accumulate is an atomic addition of floats to memory; other atomics leave no shadow.
func (u *precisionUnit) accumulate() {
	x := &u.x
	in := x.Instr
	t := numbers(in.Type())
	i := 1
	if in.HasDest() {
		i = 2
	}
	if t.n != 1 || !in.Has("add") || i >= len(in.Args) || len(x.parts) == 0 {
		return
	}
	p := &x.parts[0]
	tags := u.tags.operand(x, &in.Args[i])
	each(p.mask, func(lane int) {
		k := x.at(p, lane, 0)
		old := u.tags.mem[k]
		add := shaded(t, x.src[i][0][lane], tags, lane, 0)
		if old.blame == 0 || add.err() > math.Abs(t.value(old.bits)-old.exact) {
			old.blame = add.blame
		}
		v, _ := u.memory(x, p, lane, t)
		u.tags.put(k, shade{old.exact + add.exact, v, uint8(t.bits), old.blame})
	})
	u.stored()
}

var _ target.Follower = (*precisionUnit)(nil)
