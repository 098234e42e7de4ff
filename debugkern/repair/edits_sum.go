package repair

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// A factor may stand on one term of a sum where it is meant for the whole, or on the whole where it is meant
// for one term.

// factors lists the sum that instruction i, the n-th from the cells, makes with the factor of one of its
// terms on all of it, and a product of a sum with the factor on one of its terms alone.
func (m *menu) factors(n, i int) {
	in := m.fn.Body[i]
	if in.Type() != ptx.F32 || !in.HasDest() || in.Args[0].Kind != ptx.OpReg || in.Guard != nil {
		return
	}
	outer, inner, text := "mul", "add", "the factor on the whole sum, not on one term of it"
	if in.Op == "mul" {
		outer, inner, text = "add", "mul", "the factor on one term of the sum, not on all of it"
	}
	sets := [][]int{m.copies(i)[0]}
	if all := sets[0]; len(all) > 1 && len(all) <= mostAlone { // of a function from a library each is its own
		for _, at := range all {
			sets = append(sets, []int{at})
		}
	}
	for k, set := range sets {
		for side := range 2 {
			for term := range 2 {
				m.distributed(rankSecond+n/2+4*k+side+term, set, text, outer, inner, side, term)
			}
		}
	}
}

// mostAlone is how many instructions of one line and shape are edited one at a time too.
const mostAlone = 12

// distributed notes instructions, (a·b)+c or (a+b)·c, as a·(b+c) or a+(b·c): side is the operand that is the
// product or sum, term which of its operands is b.
func (m *menu) distributed(rank int, set []int, text, outer, inner string, side, term int) {
	c := candidate{kind: Operation, text: text, rank: rank}
	fresh := []ptx.Type{ptx.F32}
	t := ptx.RegisterOf(int32(len(m.fn.Regs)))
	for _, at := range set {
		in := m.fn.Body[at]
		a, b, last, ok := m.combined(in, inner, side, term)
		if !ok {
			return
		}
		c.edits = append(c.edits,
			ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: at, Fresh: fresh, New: &ptx.Instr{
				Op: inner, Mods: []string{"rn", "f32"}, Args: []ptx.Operand{t, b, last},
			}},
			ptx.Edit{Kind: ptx.Replace, Func: m.fn.Name, At: at, Fresh: fresh,
				New: in.With(func(in *ptx.Instr) {
					in.Op, in.Mods, in.Args = outer, []string{"rn", "f32"}, []ptx.Operand{in.Args[0], a, t}
				})})
	}
	m.out = append(m.out, c)
}

// combined takes (a·b)+c or (a+b)·c apart, an fma too; inner is the operation of b and c in what it becomes.
func (m *menu) combined(in *ptx.Instr, inner string, side, term int) (a, b, c ptx.Operand, ok bool) {
	product := inner == "add" // in is a sum of a product
	switch {
	case product && in.Op == "fma" && len(in.Args) == 4:
		return in.Args[1+1-term], in.Args[1+term], in.Args[3], side == 0
	case len(in.Args) != 3 || product && in.Op != "add" || !product && in.Op != "mul" ||
		in.Args[1+side].Kind != ptx.OpReg || len(m.defs[in.Args[1+side].Reg]) != 1:
		return a, b, c, false
	}
	x := m.fn.Body[m.defs[in.Args[1+side].Reg][0]]
	op := "add"
	if product {
		op = "mul"
	}
	if x.Op != op || x.Type() != ptx.F32 || len(x.Args) != 3 || x.Kind() != isa.Arith {
		return a, b, c, false
	}
	for _, o := range x.Args[1:] {
		if o.Kind == ptx.OpReg && len(m.defs[o.Reg]) != 1 {
			return a, b, c, false // it may have changed since
		}
	}
	return x.Args[1+1-term], x.Args[1+term], in.Args[2-side], true
}
