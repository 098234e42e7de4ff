package repair

import (
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Floats have the order of their bits only as long as none is negative: as integers, negative ones come after
// the positive ones, and the largest of two negative ones is the smallest. A maximum, a minimum or a
// comparison of integers on the bits of floats is listed as one of floats.

// bits lists instruction i, the n-th from the cells, with floats in place of their bits.
func (m *menu) bits(n, i int) {
	in := m.fn.Body[i]
	if !comparesIntegers(in) || !m.float32s(in) {
		return
	}
	was := "the bits of floats as signed numbers"
	if strings.HasPrefix(in.Type().String(), "u") {
		was = "the bits of floats as unsigned numbers"
	}
	if in.Op == "redux" {
		m.reduced(rankFirst+n/4, i, was)
		return
	}
	m.add(rankFirst+n/4, Operation, i, was, "floats", "", func(in *ptx.Instr, _ int) bool {
		for k, mod := range in.Mods {
			if mod == "s32" || mod == "u32" {
				in.Mods[k] = "f32"
			} else if to := ofFloats[mod]; to != "" {
				in.Mods[k] = to
			}
		}
		return true
	})
}

// ofFloats are by comparisons of unsigned integers those of floats.
var ofFloats = map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}

// comparesIntegers reports whether an instruction orders 32-bit integers.
func comparesIntegers(in *ptx.Instr) bool {
	if t := in.Type(); t != ptx.S32 && t != ptx.U32 || in.Guard != nil {
		return false
	}
	switch in.Op {
	case "max", "min":
		return true
	case "redux":
		return in.Has("max") || in.Has("min")
	}
	return in.Kind() == isa.Compare && !in.Has("eq") && !in.Has("ne")
}

// float32s reports whether what an instruction compares are the bits of floats, in registers at least one of
// them.
func (m *menu) float32s(in *ptx.Instr) bool {
	operands := in.Args[1:]
	if in.Op == "redux" {
		operands = in.Args[1:2] // the other is the mask of members
	}
	found := false
	for _, o := range operands {
		switch {
		case o.Kind == ptx.OpReg && m.fn.Regs[o.Reg].Type == ptx.Pred:
		case o.Kind == ptx.OpReg && m.holdsFloat(o.Reg, map[int32]bool{}):
			found = true
		case o.Kind != ptx.OpInt:
			return false
		}
	}
	return found
}

// holdsFloat reports whether all that gives a register a value gives it a float's bits. open are the
// registers that are asked about, which decide nothing themselves: a maximum over a loop is made of itself.
func (m *menu) holdsFloat(r int32, open map[int32]bool) bool {
	if m.fn.Regs[r].Type == ptx.F32 {
		return true
	}
	if open[r] {
		return true
	}
	open[r] = true
	some := false
	for _, d := range m.defs[r] {
		in := m.fn.Body[d]
		switch in.Kind() {
		case isa.Arith, isa.Special, isa.Convert:
			if t := in.Types(); len(t) > 0 && t[0] == ptx.F32 {
				some = true
				continue
			}
		}
		if !passes(in) || !slices.ContainsFunc(in.Args[1:], func(o ptx.Operand) bool {
			return o.Kind == ptx.OpReg && m.fn.Regs[o.Reg].Type != ptx.Pred && !open[o.Reg] &&
				m.holdsFloat(o.Reg, open)
		}) {
			return false
		}
		some = true
	}
	return some
}

// passes reports whether the result of an instruction is one of its operands, or another lane's, bit by bit.
func passes(in *ptx.Instr) bool {
	switch in.Op {
	case "mov", "selp", "max", "min":
		return len(in.Args) > 1 && in.Args[1].Kind == ptx.OpReg
	}
	return in.Kind() == isa.Shuffle || in.Op == "redux" && (in.Has("max") || in.Has("min"))
}

// reduced notes a maximum or minimum over lanes as one of floats: their bits are taken in an order-preserving
// way before it, and back behind it.
func (m *menu) reduced(rank, i int, was string) {
	c := candidate{kind: Operation, rank: rank, was: was, now: "floats", alone: true}
	fresh := []ptx.Type{ptx.B32, ptx.B32}
	t, key := ptx.RegisterOf(int32(len(m.fn.Regs))), ptx.RegisterOf(int32(len(m.fn.Regs)+1))
	number := func(x uint64) ptx.Operand { return ptx.Operand{Kind: ptx.OpInt, Imm: x} }
	const sign = 0x80000000
	for _, at := range m.copies(i)[0] {
		in := m.fn.Body[at]
		if at+1 >= len(m.fn.Body) || in.Args[0].Kind != ptx.OpReg {
			return
		}
		insert := func(at int, op, mod string, args ...ptx.Operand) {
			c.edits = append(c.edits, ptx.Edit{
				Kind: ptx.Insert, Func: m.fn.Name, At: at, Fresh: fresh,
				New: &ptx.Instr{Op: op, Mods: []string{mod}, Args: args},
			})
		}
		insert(at, "shr", "s32", t, in.Args[1], number(31))
		insert(at, "or", "b32", t, t, number(sign))
		insert(at, "xor", "b32", key, in.Args[1], t)
		c.edits = append(c.edits, ptx.Edit{
			Kind: ptx.Replace, Func: m.fn.Name, At: at, Fresh: fresh,
			New: in.With(func(in *ptx.Instr) {
				in.Args[1] = key
				for k, mod := range in.Mods {
					if mod == "s32" {
						in.Mods[k] = "u32"
					}
				}
			}),
		})
		insert(at+1, "not", "b32", t, in.Args[0])
		insert(at+1, "shr", "s32", t, t, number(31))
		insert(at+1, "or", "b32", t, t, number(sign))
		insert(at+1, "xor", "b32", in.Args[0], in.Args[0], t)
	}
	m.out = append(m.out, c)
}
