package repair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// What a wrong cell lacks need not be among the instructions that made it: a condition led past it. Such a
// condition is found by what stands under it and gives a register that the cell is made of, or stores.

// Texts of edits of a condition.
const (
	Always = "the condition left out: what stands under it always executed"
	Never  = "what stands under the condition left out"
	OneWay = "the condition left out: one of its ways always"
	// Chosen begins the text of an edit of a choice between two values; behind it is the one that it takes.
	Chosen = "its condition left out: always "
)

// conditions lists edits of the conditions that decide what cells get: a branch that is taken always, or
// never, and a choice between two values that is always the same. What is nearest to the cells is first.
func (m *menu) conditions() []candidate {
	was := m.out
	m.out = nil
	g := m.graph
	deciders, closes := g.Deciders(), closing(g)
	for b := range g.Succ {
		i := g.Start[b+1] - 1
		in := m.fn.Body[i]
		if in.Kind() != isa.Branch || in.Guard == nil || in.Loc.Within(target.IsProbe) || closes[b] {
			continue
		}
		if near, ok := m.decides(g, deciders, b); ok {
			m.forced(g, deciders, b, near)
		}
	}
	for n, o := range m.ops {
		if in := m.fn.Body[o.At]; in.Kind() == isa.Select && len(in.Args) == 4 && !hides(in) {
			for k := 1; k <= 2; k++ {
				text := Chosen + m.value(&in.Args[k])
				m.add(2*n+k, Comparison, o.At, "", "", text, func(in *ptx.Instr, _ int) bool {
					return m.moved(in, in.Args[k])
				})
			}
		}
	}
	list := m.out
	m.out = was
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	return list[:min(len(list), mostConditions)]
}

// value is a value of a choice in words: a number, or where it is computed. One that several instructions
// give is one of the choice's values.
func (m *menu) value(o *ptx.Operand) string {
	switch o.Kind {
	case ptx.OpInt:
		return fmt.Sprint(int64(o.Imm))
	case ptx.OpF32:
		return fmt.Sprint(math.Float32frombits(uint32(o.Imm)))
	case ptx.OpF64:
		return fmt.Sprint(math.Float64frombits(o.Imm))
	case ptx.OpReg:
		if at := m.defs[o.Reg]; len(at) == 1 {
			return fmt.Sprintf("the result of %s at %s", m.fn.Body[at[0]].Opcode(), target.Blame(m.fn, at[0]))
		}
	}
	return "one of its values"
}

// mostConditions is how many edits of conditions are tried.
const mostConditions = 48

// decides reports whether a block's branch decides about an instruction that gives a register which cells are
// made of, or that stores, and how near to the cells.
func (m *menu) decides(g *cfg.Graph, deciders [][]int, b int) (near int, ok bool) {
	for at := range m.fn.Body {
		if !slices.Contains(deciders[g.Of[at]], b) || m.fn.Body[at].Loc.Within(target.IsProbe) {
			continue
		}
		for _, r := range m.fn.Body[at].Dests(nil) {
			if n, read := m.near[r]; read && (!ok || n < near) {
				near, ok = n, true
			}
		}
		if k := m.fn.Body[at].Kind(); k.Writes() && !ok {
			near, ok = len(m.ops), true
		}
	}
	return near, ok
}

// forced notes a branch, and all copies of it, never taken and always taken.
func (m *menu) forced(g *cfg.Graph, deciders [][]int, b, near int) {
	under := func(s int) bool { return slices.Contains(deciders[s], b) }
	i := g.Start[b+1] - 1
	falls, jumps := slices.Index(g.Start, i+1), -1
	if to, _ := cfg.Next(m.fn.Body[i]); len(to) == 1 {
		jumps = g.Of[to[0]]
	}
	if falls < 0 || jumps < 0 {
		return
	}
	texts := [2]string{Always, Never} // never taken, always taken
	switch {
	case under(jumps) && under(falls):
		texts = [2]string{OneWay, OneWay}
	case under(jumps):
		texts = [2]string{Never, Always}
	}
	for k, text := range texts {
		c := candidate{kind: Comparison, text: text, rank: 2*near + k}
		for _, at := range m.copies(i)[0] {
			e := ptx.Edit{Kind: ptx.Remove, Func: m.fn.Name, At: at}
			if k == 1 {
				e.Kind = ptx.Replace
				e.New = m.fn.Body[at].With(func(in *ptx.Instr) { in.Guard = nil })
			}
			c.edits = append(c.edits, e)
		}
		m.out = append(m.out, c)
	}
}
