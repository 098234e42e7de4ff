package check

import (
	"math/bits"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// flow is what reaches a destination: undefined lanes by byte, and where they come from.
type flow struct {
	lanes [8]uint32
	from  *undefined
}

// take adds byte b of a register to byte to.
func (w *flow) take(d *undefined, b, to int, mask uint32) {
	if d == nil || b > 7 || to > 7 {
		return
	}
	if v := d.lanes[b] & mask; v != 0 {
		w.lanes[to] |= v
		w.from = d
	}
}

// spread makes every byte as undefined as lanes.
func (w *flow) spread(d *undefined, lanes uint32) {
	if lanes == 0 {
		return
	}
	w.from = d
	for i := range w.lanes {
		w.lanes[i] |= lanes
	}
}

// step hands undefinedness on from sources to destinations.
func (u *registerUnit) step(s *registerState, e *target.Event, use *undefinedUse) {
	in := e.Instr
	if !in.HasDest() {
		return
	}
	switch k := in.Kind(); {
	case k.Loads():
		u.define(s, e, flow{}, in.Args[0].Registers(nil))
		return
	case k == isa.Multiply:
		u.matrix(s, e)
		return
	case k == isa.Move:
		if in.Args[0].Kind == ptx.OpVec || in.Args[1].Kind == ptx.OpVec {
			u.pack(s, e)
			return
		}
	}
	var w flow
	if zeroes(in) {
		u.define(s, e, w, in.Args[0].Registers(nil))
		return
	}
	bytewise := bytewise(in)
	for i := 1; i < len(in.Args); i++ {
		mask := e.Mask
		switch {
		case in.Kind() == isa.Select && i < 3 && in.Args[3].Kind == ptx.OpReg:
			mask &= u.chosen(e, &in.Args[3], i == 1)
		case in.Kind() == isa.Shuffle && i == 1:
			u.shuffled(s, e, &w)
			continue
		}
		for _, r := range in.Args[i].Registers(nil) {
			d := s.read(e, r, use)
			if d == nil {
				continue
			}
			if bytewise && (in.Kind() != isa.Select || i < 3) {
				for b := range 8 {
					if !masked(in, i, b) {
						w.take(d, b, b, mask)
					}
				}
				continue
			}
			w.spread(d, d.any()&mask)
		}
	}
	u.define(s, e, w, in.Args[0].Registers(nil))
}

// read returns a source register's state, and notes the first place where an undefined one was read.
func (s *registerState) read(e *target.Event, r int32, use *undefinedUse) *undefined {
	d := s.at(use, e.Func, r)
	if d != nil && d.read == nil && d.root == (registerKey{e.Func, r}) {
		d.read = e.Instr
	}
	return d
}

// bytewise reports whether a byte of the result depends on the same byte of the sources only.
func bytewise(in *ptx.Instr) bool {
	if in.Kind() == isa.Convert {
		ts := in.Types()
		return len(ts) == 2 && ts[0].Bytes() <= ts[1].Bytes() && !isFloat(ts[0]) && !isFloat(ts[1])
	}
	return in.Form().Bytewise
}

func isFloat(t ptx.Type) bool {
	switch t {
	case ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2, ptx.F32, ptx.F64:
		return true
	}
	return false
}

// masked reports whether a constant operand fixes byte b of the result, so that operand i
// does not count there.
func masked(in *ptx.Instr, i, b int) bool {
	if in.Op != "and" && in.Op != "or" || len(in.Args) != 3 {
		return false
	}
	c := &in.Args[3-i]
	if c.Kind != ptx.OpInt {
		return false
	}
	v := byte(c.Imm >> (8 * b))
	return in.Op == "and" && v == 0 || in.Op == "or" && v == 0xff
}

// chosen is the lanes in which a selp takes its first (or else its second) source.
func (u *registerUnit) chosen(e *target.Event, p *ptx.Operand, first bool) uint32 {
	var m uint32
	for lane, v := range u.view.Register(e.Warp, e.Func, p.Reg) {
		if (v != 0) != p.Neg == first {
			m |= 1 << lane
		}
	}
	return m
}

// shuffled hands on what lanes take from each other.
func (u *registerUnit) shuffled(s *registerState, e *target.Event, w *flow) {
	in := e.Instr
	if in.Args[1].Kind != ptx.OpReg {
		return
	}
	d := s.at(u.uses[e.Func], e.Func, in.Args[1].Reg)
	if d == nil {
		return
	}
	b, c := u.operand(e, &in.Args[2]), u.operand(e, &in.Args[3])
	var lanes uint32
	for m := e.Mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		if d.any()>>shuffleSource(in, i, int(b[i]), int(c[i]))&1 != 0 {
			lanes |= 1 << i
		}
	}
	w.spread(d, lanes)
}

// shuffleSource is the lane that lane i takes its value from (PTX ISA, shfl.sync).
func shuffleSource(in *ptx.Instr, i, b, c int) int {
	clamp, segment := c&31, c>>8&31
	last, first := i&segment|clamp&^segment, i&segment
	j := i
	switch {
	case in.Has("up"):
		if j = i - b&31; j < last {
			j = i
		}
		return j & 31
	case in.Has("down"):
		j = i + b&31
	case in.Has("bfly"):
		j = i ^ b&31
	default:
		j = first | b&31&^segment
	}
	if j > last {
		return i
	}
	return j & 31
}

// operand is the value of a register or constant in every lane.
func (u *registerUnit) operand(e *target.Event, op *ptx.Operand) [32]uint64 {
	if op.Kind == ptx.OpReg {
		return u.view.Register(e.Warp, e.Func, op.Reg)
	}
	var v [32]uint64
	for i := range v {
		v[i] = op.Imm
	}
	return v
}

// pack is a mov between a register and the vector of its parts.
func (u *registerUnit) pack(s *registerState, e *target.Event) {
	in, use := e.Instr, u.uses[e.Func]
	dst, src := &in.Args[0], &in.Args[1]
	if src.Kind == ptx.OpVec {
		part := in.Type().Bytes() / max(len(src.Elems), 1)
		var w flow
		for k := range src.Elems {
			if op := &src.Elems[k]; op.Kind == ptx.OpReg {
				if d := s.read(e, op.Reg, use); d != nil {
					for b := range part {
						w.take(d, b, k*part+b, e.Mask)
					}
				}
			}
		}
		u.define(s, e, w, dst.Registers(nil))
		return
	}
	part := in.Type().Bytes() / max(len(dst.Elems), 1)
	for k := range dst.Elems {
		var w flow
		if src.Kind == ptx.OpReg {
			if d := s.read(e, src.Reg, use); d != nil {
				for b := range part {
					w.take(d, k*part+b, b, e.Mask)
				}
			}
		}
		u.define(s, e, w, dst.Elems[k].Registers(nil))
	}
}

// matrix is a product: every element of the result depends on a row of A and a column of B, which lie in
// several lanes, and where A is sparse on its metadata; that of C lies where the result does.
func (u *registerUnit) matrix(s *registerState, e *target.Event) {
	in, use := e.Instr, u.uses[e.Func]
	dst := in.Args[0].Registers(nil)
	var ab flow
	spread := func(i int) {
		for _, r := range in.Args[i].Registers(nil) {
			if d := s.read(e, r, use); d != nil && d.any()&e.Mask != 0 {
				ab.spread(d, e.Mask)
			}
		}
	}
	spread(1)
	spread(2)
	if isa.Sparse(in.Mods) {
		spread(4)
	}
	c := in.Args[3].Registers(nil)
	for k, r := range dst {
		w := ab
		if k < len(c) {
			if d := s.read(e, c[k], use); d != nil {
				for b := range 8 {
					w.take(d, b, b, e.Mask)
				}
			}
		}
		u.define(s, e, w, []int32{r})
	}
}

// define gives the executing lanes of registers their new state.
func (u *registerUnit) define(s *registerState, e *target.Event, w flow, regs []int32) {
	use := u.uses[e.Func]
	for _, r := range regs {
		if !use.carry.Has(r) {
			continue
		}
		k := registerKey{e.Func, r}
		d := s.regs[k]
		if d == nil {
			s.at(use, e.Func, r)
			d = s.regs[k]
		}
		for b := range d.lanes {
			d.lanes[b] = d.lanes[b]&^e.Mask | w.lanes[b]&e.Mask
		}
		if w.from != nil {
			d.root, d.read = w.from.root, w.from.read
		}
	}
}
