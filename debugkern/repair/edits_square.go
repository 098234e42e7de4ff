package repair

import (
	"fmt"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// A product of two tensors that takes the same one twice loads each element once: no load is of the wrong
// tensor, and one is missing.

// squares lists the products of an element of a tensor with itself, all that are made of the tensor, as
// products with the element of another tensor at the same index.
func (m *menu) squares(n, i int) {
	way := m.squared(i)
	if way == nil {
		return
	}
	from, load := m.pointer(m.fn.Body[way[0]].Args[1].Reg)
	key := fmt.Sprint("squares of ", from)
	if from < 0 || m.listed[key] {
		return
	}
	m.listed[key] = true
	var all [][]int
	for at := range m.fn.Body {
		if way := m.squared(at); way != nil {
			if p, _ := m.pointer(m.fn.Body[way[0]].Args[1].Reg); p == from {
				all = append(all, way)
			}
		}
	}
	for to, bytes := range m.element {
		if to == from || bytes == 0 || bytes != m.element[from] {
			continue
		}
		was, now := m.parameter(m.fn.Params[from]), m.parameter(m.fn.Params[to])
		c := candidate{
			kind: Operand, rank: rankFirst + 4 + n/4 + 4*to,
			was: fmt.Sprintf("%s times %s", was, was), now: fmt.Sprintf("%s times %s", now, was),
		}
		var fresh []ptx.Type
		for _, way := range all {
			var edits []ptx.Edit
			edits, fresh = m.loadedAgain(way, load, to, fresh)
			c.edits = append(c.edits, edits...)
		}
		for k := range c.edits {
			c.edits[k].Fresh = fresh
		}
		m.out = append(m.out, c)
	}
}

// squared is how an instruction comes by what it multiplies by itself: the load from global memory, what
// converts the element, and at last the instruction; nil where it does no such thing, or where the
// way can't be gone again.
func (m *menu) squared(at int) []int {
	in := m.fn.Body[at]
	if !m.own[at] || in.Loc.Within(target.IsProbe) || in.Op != "mul" && in.Op != "fma" || !in.Type().Float() {
		return nil
	}
	way, other := m.loaded(&in.Args[1]), m.loaded(&in.Args[2])
	if way == nil || other == nil {
		return nil
	}
	if a, b := m.fn.Body[way[0]], m.fn.Body[other[0]]; a.Opcode() != b.Opcode() ||
		a.Args[1].Reg != b.Args[1].Reg || a.Args[1].Off != b.Args[1].Off {
		return nil
	}
	return append(way, at)
}

// loaded is how an operand comes from global memory: the load, and what moves and converts the element; nil
// where it does not, or where the address may have moved on since.
func (m *menu) loaded(o *ptx.Operand) (way []int) {
	for o.Kind == ptx.OpReg && len(m.defs[o.Reg]) == 1 {
		at := m.defs[o.Reg][0]
		def := m.fn.Body[at]
		way = append([]int{at}, way...)
		if len(def.Args) != 2 {
			return nil
		}
		o = &def.Args[1]
		switch k := def.Kind(); {
		case k == isa.Load && def.Has("global") && o.Kind == ptx.OpAddr && o.Reg >= 0:
			if len(m.defs[o.Reg]) != 1 {
				return nil
			}
			return way
		case k != isa.Move && k != isa.Convert:
			return nil
		}
	}
	return nil
}

// loadedAgain has the last instruction of a way multiply by what the way gives of another parameter's tensor.
// load is an instruction that loads the parameter of the way's own tensor. The registers that it takes follow
// those of fresh.
func (m *menu) loadedAgain(way []int, load, to int, fresh []ptx.Type) ([]ptx.Edit, []ptx.Type) {
	at := way[len(way)-1]
	var edits []ptx.Edit
	insert := func(x *ptx.Instr) {
		edits = append(edits, ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: at, New: x})
	}
	register := func(t ptx.Type) ptx.Operand {
		fresh = append(fresh, t)
		return ptx.RegisterOf(int32(len(m.fn.Regs) + len(fresh) - 1))
	}
	other, own := register(ptx.B64), register(ptx.B64)
	for _, p := range []struct {
		to ptx.Operand
		of *ptx.Var
	}{{other, m.fn.Params[to]}, {own, m.fn.Body[load].Args[1].Var}} {
		insert(m.fn.Body[load].With(func(in *ptx.Instr) {
			in.Args[0].Reg, in.Args[1].Var, in.Args[1].Name, in.Labels = p.to.Reg, p.of, p.of.Name, nil
		}))
	}
	base := m.fn.Body[way[0]].Args[1].Reg
	for _, x := range []*ptx.Instr{
		{Op: "sub", Args: []ptx.Operand{other, other, own}},
		{Op: "add", Args: []ptx.Operand{other, other, ptx.RegisterOf(base)}},
	} {
		x.Mods = []string{"s64"}
		insert(x)
	}
	again := map[int32]int32{base: other.Reg} // by register of the way
	for _, i := range way[:len(way)-1] {
		for _, r := range m.fn.Body[i].Dests(nil) {
			again[r] = register(m.fn.Regs[r].Type).Reg
		}
		insert(m.fn.Body[i].With(func(in *ptx.Instr) {
			in.Labels = nil
			renamed(&in.Args[0], again)
			renamed(&in.Args[1], again)
		}))
	}
	return append(edits, ptx.Edit{
		Kind: ptx.Replace, Func: m.fn.Name, At: at,
		New: m.fn.Body[at].With(func(in *ptx.Instr) { renamed(&in.Args[1], again) }),
	}), fresh
}
