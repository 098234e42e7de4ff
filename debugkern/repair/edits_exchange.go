package repair

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Two names that changed places are one mistake and two edits: the axes of a block or grid, two arguments.

// exchanges lists edits in which two values change places wherever the kernel uses them.
func (m *menu) exchanges() {
	m.axes()
	m.arguments()
}

// source is a value that a kernel begins with, and the registers that instructions give it.
type source struct {
	name string
	regs []int32
	at   int // the first instruction that gives it
}

// note adds a register that an instruction gives the value to.
func (s *source) note(name string, r int32, at int) {
	if s.name == "" {
		s.name, s.at = name, at
	}
	s.regs = append(s.regs, r)
}

// nearest is the least of what is known of the value's registers.
func (s *source) nearest(by map[int32]int) (n int, ok bool) {
	for _, r := range s.regs {
		if d, known := by[r]; known && (!ok || d < n) {
			n, ok = d, true
		}
	}
	return n, ok
}

// axes lists threadIdx.x and threadIdx.y, and the like, exchanged.
func (m *menu) axes() {
	for _, name := range []string{"%ctaid", "%tid"} {
		var of [3]source
		for i, in := range m.fn.Body {
			if in.Kind() != isa.Move || len(in.Args) != 2 || in.Args[0].Kind != ptx.OpReg {
				continue
			}
			if o := in.Args[1]; o.Kind == ptx.OpSpecial && o.Name == name && o.Comp >= 0 && o.Comp < 3 &&
				len(m.defs[in.Args[0].Reg]) == 1 {
				of[o.Comp].note(special(name, o.Comp), in.Args[0].Reg, i)
			}
		}
		for a := range of {
			for b := a + 1; b < len(of); b++ {
				x, y := m.extent(name, int8(a)), m.extent(name, int8(b))
				if x > 1 && y > 1 || name == "%ctaid" && x*y > 1 {
					m.exchanged(rankFirst, &of[a], &of[b])
				}
			}
		}
	}
}

// arguments lists two parameters of the same type exchanged: sizes, and what points to tensors.
func (m *menu) arguments() {
	of := make([]source, len(m.fn.Params))
	for i, in := range m.fn.Body {
		if in.Kind() != isa.Load || in.Space() != ptx.SpaceParam || len(in.Args) < 2 ||
			in.Args[0].Kind != ptx.OpReg || in.Args[1].Off != 0 || len(m.defs[in.Args[0].Reg]) != 1 {
			continue
		}
		if p := slices.Index(m.fn.Params, in.Args[1].Var); p >= 0 {
			of[p].note(m.parameter(m.fn.Params[p]), in.Args[0].Reg, i)
		}
	}
	for a := range of {
		for b := a + 1; b < len(of); b++ {
			x, y := m.fn.Params[a], m.fn.Params[b]
			if x.Type == y.Type && x.Size == y.Size && x.Size <= 8 {
				m.exchanged(rankSecond-1, &of[a], &of[b])
			}
		}
	}
}

// exchanged notes two values that change places wherever the kernel's own instructions use them: the probes
// go on with the right ones.
func (m *menu) exchanged(rank int, a, b *source) {
	n, used := a.nearest(m.near)
	if o, other := b.nearest(m.near); other && (!used || o < n) {
		n, used = o, true
	}
	if !used || len(a.regs) == 0 || len(b.regs) == 0 {
		return
	}
	at := m.ops[n].At // the line that uses a value of the launch says more than the one that reads it
	c := candidate{
		kind: Operand, rank: rank + n/4, text: fmt.Sprintf("%s and %s exchanged", a.name, b.name),
	}
	// Each is given again at the start, in a register of its own, to those that use the other.
	fresh := []ptx.Type{m.fn.Regs[a.regs[0]].Type, m.fn.Regs[b.regs[0]].Type}
	to := map[int32]int32{}
	for k, pair := range [][2]*source{{a, b}, {b, a}} {
		again := int32(len(m.fn.Regs) + k)
		c.edits = append(c.edits, ptx.Edit{
			Kind: ptx.Insert, Func: m.fn.Name, At: 0, Fresh: fresh,
			New: m.fn.Body[pair[0].at].With(func(in *ptx.Instr) { in.Args[0].Reg, in.Labels = again, nil }),
		})
		for _, r := range pair[1].regs {
			to[r] = again
		}
	}
	given := len(c.edits)
	for i, in := range m.fn.Body {
		if !m.own[i] {
			continue
		}
		changed := false
		x := in.With(func(in *ptx.Instr) {
			for k := range in.Args {
				if k > 0 || !in.HasDest() {
					changed = renamed(&in.Args[k], to) || changed
				}
			}
		})
		if changed {
			c.edits = append(c.edits, ptx.Edit{
				Kind: ptx.Replace, Func: m.fn.Name, At: i, New: x, Fresh: fresh,
			})
		}
	}
	if len(c.edits) > given {
		c.of, c.alone = at+1, true
		m.out = append(m.out, c)
	}
}

// renamed gives an operand's registers other numbers; false where it has none of them.
func renamed(o *ptx.Operand, to map[int32]int32) bool {
	changed := false
	if o.Kind == ptx.OpReg || o.Kind == ptx.OpAddr {
		if r, ok := to[o.Reg]; ok && o.Reg >= 0 {
			o.Reg, changed = r, true
		}
	}
	for k := range o.Elems {
		changed = renamed(&o.Elems[k], to) || changed
	}
	return changed
}
