package repair

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// A variable of the source is several registers of the PTX: one of each copy of a loop's body or of an
// inlined function, and one of each width.

// use is what a line uses in its arithmetic, or compares: the results of the copies of one instruction, or
// what stands on one side of its comparison.
type use struct {
	at   int     // the instruction of the cells' slice that uses it
	reg  int32   // which it has there
	near int     // how near to the cells that is
	all  []taken // by the instructions of the line
	// others are the instructions before it that give other integers
	others []int
}

// taken is one operand of an instruction.
type taken struct{ at, arg int }

// variableOf is what the copies of the instruction that gives a register its value have in common, past
// conversions: its place and what it does; of a value that several instructions give, its register.
func (m *menu) variableOf(r int32) string {
	r = m.unconverted(r)
	if d := m.defs[r]; len(d) == 1 && m.key[d[0]] != "" {
		return m.places[d[0]] + shapeOf(m.fn.Body[d[0]])
	}
	return fmt.Sprint(r)
}

// unconverted is the register whose value another has after conversions between integers, and moves.
func (m *menu) unconverted(r int32) int32 {
	for {
		d := m.defs[r]
		if len(d) != 1 {
			return r
		}
		in := m.fn.Body[d[0]]
		if k := in.Kind(); k != isa.Convert && k != isa.Move || len(in.Args) != 2 || in.Type().Float() ||
			in.Args[1].Kind != ptx.OpReg {
			return r
		}
		r = in.Args[1].Reg
	}
}

// integerUses lists what lines compute the cells' indices and bounds with, the nearest to the cells first.
func (m *menu) integerUses() (out []*use) {
	of := map[string]*use{}
	for near, o := range m.ops {
		m.usesOf(o.At, func(key string, arg int) {
			if of[key] == nil && len(out) < mostUsed {
				of[key] = &use{at: o.At, reg: m.fn.Body[o.At].Args[arg].Reg, near: near}
				out = append(out, of[key])
			}
		})
	}
	for i := range m.fn.Body {
		if m.own[i] {
			m.usesOf(i, func(key string, arg int) {
				if u := of[key]; u != nil {
					u.all = append(u.all, taken{i, arg})
				}
			})
		}
	}
	same := map[string]bool{}
	return slices.DeleteFunc(out, func(u *use) bool { // a side of a comparison that is one variable
		key := fmt.Sprint(u.all)
		was := same[key]
		same[key] = true
		return was
	})
}

// usesOf lists what an instruction of integers uses, by what it has in common with others of its line.
func (m *menu) usesOf(i int, note func(key string, arg int)) {
	in := m.fn.Body[i]
	if !computesIndex(in) {
		return
	}
	for k := 1; k < len(in.Args); k++ {
		if in.Args[k].Kind != ptx.OpReg {
			continue
		}
		compares := in.Kind() == isa.Compare
		note(fmt.Sprint(m.places[i], m.variableOf(in.Args[k].Reg), compares), k)
		if compares {
			note(fmt.Sprint(m.places[i], in.Opcode(), k), k)
		}
	}
}

// computesIndex reports whether an instruction computes or compares integers of the size of an index.
func computesIndex(in *ptx.Instr) bool {
	if t := in.Type(); t.Float() || t.Bits() != 32 && t.Bits() != 64 {
		return false
	}
	switch in.Kind() {
	case isa.Arith, isa.Compare, isa.Logic:
		return true
	}
	return in.Kind() == isa.Convert
}

// integers lists the instructions of the kernel that give an index, a size or a number of a thread, of copies
// the first.
func (m *menu) integers() (out []int) {
	seen := map[string]bool{}
	for i, in := range m.fn.Body {
		if !m.own[i] || !in.HasDest() || in.Args[0].Kind != ptx.OpReg || in.Type().Float() {
			continue
		}
		if b := m.fn.Regs[in.Args[0].Reg].Type; b.Float() || b.Bits() != 32 && b.Bits() != 64 {
			continue
		}
		switch k := in.Kind(); {
		case k == isa.Arith || k == isa.Logic || k == isa.Move || k == isa.Select || k == isa.Convert:
		case k == isa.Load && in.Space() == ptx.SpaceParam:
			p := slices.Index(m.fn.Params, in.Args[1].Var)
			if p >= 0 && p < len(m.element) && m.element[p] > 0 {
				continue // a pointer
			}
		default:
			continue
		}
		if k := m.key[i]; k != "" {
			if k = m.places[i] + shapeOf(in); seen[k] {
				continue
			}
			seen[k] = true
		}
		out = append(out, i)
	}
	return out
}

// origin is the instruction that gives a register its value, past conversions; -1 where several do.
func (m *menu) origin(r int32) int {
	if d := m.defs[m.unconverted(r)]; len(d) == 1 {
		return d[0]
	}
	return -1
}

// launched reports whether an instruction gives an argument of the launch, or a number of a thread or block.
func (m *menu) launched(i int) bool {
	in := m.fn.Body[i]
	return in.Kind() == isa.Load && in.Space() == ptx.SpaceParam ||
		in.Kind() == isa.Move && len(in.Args) == 2 && in.Args[1].Kind == ptx.OpSpecial
}

// before reports whether an instruction is executed on every way to another.
func (m *menu) before(def, at int) bool {
	a, b := m.graph.Of[def], m.graph.Of[at]
	return a == b && def < at || a != b && m.dominates(a, b)
}

// nearestCopy is the copy of an instruction that stands before another and next to it.
func (m *menu) nearestCopy(def, at int) (int, bool) {
	all := []int{def}
	if m.key[def] != "" {
		all = m.text[m.places[def]+shapeOf(m.fn.Body[def])]
	}
	for n := len(all) - 1; n >= 0; n-- {
		if m.before(all[n], at) {
			return all[n], true
		}
	}
	return 0, false
}

// describe returns the name and place of the integer in a register.
func (m *menu) describe(r int32) *Integer {
	out := &Integer{Name: m.register(r)}
	if at := m.origin(r); at >= 0 {
		out.Source, out.Op = m.blame(at), m.fn.Body[at].Op
		for _, user := range m.reads[m.unconverted(r)] {
			out.Part = out.Part || m.places[user] == m.places[at]
		}
	}
	return out
}

// register names the value of a register that the launch gives: an argument, or a thread's number; "" for any
// other.
func (m *menu) register(r int32) string {
	at := m.origin(r)
	if at < 0 {
		return ""
	}
	switch in := m.fn.Body[at]; {
	case in.Kind() == isa.Load && in.Space() == ptx.SpaceParam && len(in.Args) > 1 && in.Args[1].Var != nil:
		return m.parameter(in.Args[1].Var)
	case in.Kind() == isa.Move && len(in.Args) == 2 && in.Args[1].Kind == ptx.OpSpecial &&
		in.Args[1].Comp >= 0:
		return special(in.Args[1].Name, in.Args[1].Comp)
	}
	return ""
}
