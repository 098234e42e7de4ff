package repair

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// A call too many: a function of one number that is inlined at a line, left out there, so that its argument
// goes on in the place of its result.

// calls lists, for each call that instruction i, the n-th from the cells, is inlined by, the call left out. A
// function has one edit for each of the results that the line has, in an unrolled loop several.
func (m *menu) calls(n, i int) {
	for l := m.fn.Body[i].Loc; l != nil && l.InlinedAt != nil; l = l.InlinedAt {
		key := "call " + l.Func + l.InlinedAt.Chain()
		if m.listed[key] || l.Func == "" || target.IsLibrary(l.Name) {
			continue
		}
		m.listed[key] = true
		if edits := m.without(l); len(edits) > 0 {
			m.out = append(m.out, candidate{
				kind: Superfluous, rank: rankFirst + 6 + n/4, alone: true, site: l.InlinedAt, edits: edits,
				text: fmt.Sprintf("without the call of %s", target.ShortName(l.Func)),
			})
		}
	}
}

// without has each result of a call be its argument; nil where one has another number of arguments.
func (m *menu) without(call *ptx.Loc) (edits []ptx.Edit) {
	body := m.inlined(call)
	for _, at := range body {
		if !m.leaves(at, body) {
			continue
		}
		from, ok := m.argument(at, body)
		if !ok {
			return nil
		}
		x := m.fn.Body[at].With(func(in *ptx.Instr) { ok = m.moved(in, ptx.RegisterOf(from)) })
		if !ok {
			return nil
		}
		edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: m.fn.Name, At: at, New: x})
	}
	return edits
}

// inlined lists the instructions that a call became: those of the function and of what it calls, by the place
// of the call.
func (m *menu) inlined(call *ptx.Loc) (out []int) {
	chain := call.InlinedAt.Chain()
	for at, in := range m.fn.Body {
		for l := in.Loc; l != nil && l.InlinedAt != nil; l = l.InlinedAt {
			if l.Func == call.Func && l.InlinedAt.Chain() == chain {
				out = append(out, at)
				break
			}
		}
	}
	return out
}

// leaves reports whether the result of an instruction, a float, is used outside of some instructions.
func (m *menu) leaves(at int, body []int) bool {
	in := m.fn.Body[at]
	if !in.HasDest() || in.Args[0].Kind != ptx.OpReg || m.fn.Regs[in.Args[0].Reg].Type != ptx.F32 {
		return false
	}
	return slices.ContainsFunc(m.reads[in.Args[0].Reg], func(user int) bool {
		_, inside := slices.BinarySearch(body, user)
		return !inside && m.own[user]
	})
}

// argument is the one float from outside of some instructions that the result of one of them is made of; ok
// is false where there are none or several, or what is read from memory goes into it.
func (m *menu) argument(at int, body []int) (from int32, ok bool) {
	from = -1
	seen, open := map[int]bool{}, []int{at}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		in := m.fn.Body[i]
		if k := in.Kind(); k.Reads() || k == isa.Call {
			return 0, false
		}
		var reads, writes []int32
		cfg.Uses(in, &reads, &writes)
		for _, r := range reads {
			inside := 0
			for _, d := range m.defs[r] {
				if _, in := slices.BinarySearch(body, d); in {
					open = append(open, d)
					inside++
				}
			}
			if inside == len(m.defs[r]) || m.fn.Regs[r].Type != ptx.F32 {
				continue
			}
			if inside > 0 || from >= 0 && from != r {
				return 0, false
			}
			from = r
		}
	}
	return from, from >= 0
}
