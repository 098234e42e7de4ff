package repair

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// An access may be of the wrong tensor, at the right index: the pointer is another parameter's. What elements
// of another size would be read at is no trial: the index counts elements.

// tensors lists, for an access of global memory through one parameter, the others with elements of the same
// size in its place. All that a compiler made of the line's access is one, whatever offsets it has.
func (m *menu) tensors(n, i int) {
	in := m.fn.Body[i]
	k := -1 // of a copy from global memory the last address is the source
	for at, o := range in.Args {
		if o.Kind == ptx.OpAddr && o.Reg >= 0 {
			k = at
		}
	}
	if k < 0 || !in.Has("global") && in.Space() != ptx.SpaceGeneric {
		return
	}
	from, load := m.pointer(in.Args[k].Reg)
	key := fmt.Sprint(m.places[i], in.Opcode(), from)
	if from < 0 || m.listed[key] {
		return
	}
	m.listed[key] = true
	var all []int
	for at, x := range m.fn.Body {
		if m.places[at] == m.places[i] && x.Opcode() == in.Opcode() && len(x.Args) > k &&
			x.Args[k].Kind == ptx.OpAddr && x.Args[k].Reg >= 0 {
			if p, _ := m.pointer(x.Args[k].Reg); p == from {
				all = append(all, at)
			}
		}
	}
	for to, bytes := range m.element {
		if to == from || bytes == 0 || bytes != m.element[from] {
			continue
		}
		c := candidate{
			kind: Operand, rank: rankFirst + 8 + n/4 + 4*to,
			was: m.parameter(m.fn.Params[from]), now: m.parameter(m.fn.Params[to]),
		}
		for _, at := range all {
			c.edits = append(c.edits, m.toTensor(at, k, load, to)...)
		}
		c.from, c.to = c.was, c.now
		m.out = append(m.out, c)
	}
}

// toTensor has instruction at access another parameter's tensor: its address, operand k, plus the distance of
// the two pointers. load is an instruction that loads the parameter which it is of.
func (m *menu) toTensor(at, k, load, to int) []ptx.Edit {
	in := m.fn.Body[at]
	fresh := []ptx.Type{ptx.B64, ptx.B64}
	other, own := ptx.RegisterOf(int32(len(m.fn.Regs))), ptx.RegisterOf(int32(len(m.fn.Regs)+1))
	insert := func(x *ptx.Instr) ptx.Edit {
		return ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: at, New: x, Fresh: fresh}
	}
	loads := func(r ptx.Operand, p int) *ptx.Instr {
		return m.fn.Body[load].With(func(in *ptx.Instr) {
			v := m.fn.Params[p]
			in.Args[0].Reg, in.Args[1].Var, in.Args[1].Name, in.Labels = r.Reg, v, v.Name, nil
		})
	}
	plus := func(op string, x ptx.Operand) *ptx.Instr {
		return &ptx.Instr{Op: op, Mods: []string{"s64"}, Args: []ptx.Operand{other, other, x}}
	}
	from := slices.Index(m.fn.Params, m.fn.Body[load].Args[1].Var)
	return []ptx.Edit{
		insert(loads(other, to)), insert(loads(own, from)), insert(plus("sub", own)),
		insert(plus("add", ptx.RegisterOf(in.Args[k].Reg))),
		{Kind: ptx.Replace, Func: m.fn.Name, At: at, Fresh: fresh, New: in.With(func(in *ptx.Instr) {
			in.Args[k].Reg = other.Reg
		})},
	}
}

// pointer is the one parameter that an address is computed from, a pointer of 64 bits, and the instruction
// that loads it; -1 where there are none or several.
func (m *menu) pointer(address int32) (param, load int) {
	param, load = -1, -1
	seen, open := map[int32]bool{}, []int32{address}
	for len(open) > 0 {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[r] || m.fn.Regs[r].Type.Bits() != 64 {
			continue
		}
		seen[r] = true
		for _, d := range m.defs[r] {
			in := m.fn.Body[d]
			if in.Kind() != isa.Load {
				for _, o := range in.Args[1:] {
					open = o.Registers(open)
				}
				continue
			}
			p := -1
			if in.Space() == ptx.SpaceParam && len(in.Args) == 2 && in.Args[1].Off == 0 &&
				in.Args[0].Kind == ptx.OpReg {
				p = slices.Index(m.fn.Params, in.Args[1].Var)
			}
			if p < 0 || p >= len(m.element) || m.element[p] == 0 {
				continue // an index that was loaded
			}
			if param >= 0 && p != param {
				return -1, -1
			}
			param, load = p, d
		}
	}
	return param, load
}
