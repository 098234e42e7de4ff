package repair

import (
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// Operations that a source lacks (a remainder, a division that rounds up, a bound of 0, the first value of a
// sum), and conversions to fewer bits that it has.

// operand notes a candidate: the k-th operand of instruction i, and of all its copies, after an operation on
// it. operation makes the instruction that gives the operand's new value.
func (m *menu) operand(
	rank, i, k int, text string, operation func(to, from ptx.Operand, t ptx.Type) *ptx.Instr,
) {
	for _, set := range m.copies(i) {
		c := candidate{kind: Operand, text: text, rank: rank}
		var fresh []ptx.Type
		for range set {
			fresh = append(fresh, m.fn.Regs[m.fn.Body[i].Args[k].Reg].Type)
		}
		for at, instr := range set {
			in := m.fn.Body[instr]
			if k >= len(in.Args) || in.Args[k].Kind != ptx.OpReg ||
				m.fn.Regs[in.Args[k].Reg].Type != fresh[at] {
				return
			}
			own := ptx.RegisterOf(int32(len(m.fn.Regs) + at))
			x := operation(own, in.Args[k], fresh[at])
			c.edits = append(c.edits,
				ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: instr, New: x, Fresh: fresh},
				ptx.Edit{
					Kind: ptx.Replace, Func: m.fn.Name, At: instr, Fresh: fresh,
					New: in.With(func(in *ptx.Instr) { in.Args[k] = own }),
				})
		}
		m.out = append(m.out, c)
	}
}

// inserted lists what instruction i, the n-th from the cells, may lack: a remainder of a thread's number or
// of the lane that a shuffle reads, a first value of 0, another mask, rounding up, a bound of 0.
func (m *menu) inserted(n, i int) {
	in := m.fn.Body[i]
	for k := range in.Args {
		if k == 0 && in.HasDest() || in.Args[k].Kind != ptx.OpReg {
			continue
		}
		t := m.fn.Regs[in.Args[k].Reg].Type
		if t.Bits() != 32 || t.Float() {
			continue
		}
		name, of, rank := m.threadNumber(in.Args[k].Reg), []int64{32, 64, 128, 256, 16}, rankSecond
		if in.Kind() == isa.Shuffle && k == 2 {
			name, of, rank = "the lane that is read", []int64{8, 16, 4, 2}, rankFirst
		}
		if name == "" || in.Op == "and" {
			continue
		}
		for at, by := range of {
			if in.Kind() != isa.Shuffle && int(by) >= m.block.Count() {
				continue
			}
			m.operand(rank+n/2+10*at, i, k, fmt.Sprintf("%s %% %d", name, by),
				func(to, from ptx.Operand, t ptx.Type) *ptx.Instr {
					return &ptx.Instr{
						Op: "and", Mods: []string{fmt.Sprintf("b%d", t.Bits())},
						Args: []ptx.Operand{to, from, ptx.IntegerOf(by - 1)},
					}
				})
		}
	}
	m.started(n, i)
	m.sameBit(n, i)
	m.roundedUp(n, i)
	m.bounded(n, i)
}

// started lists a sum that begins with 0 where it goes on from another: a move into what a loop carries.
func (m *menu) started(n, i int) {
	in := m.fn.Body[i]
	if in.Kind() != isa.Move || len(in.Args) != 2 || in.Args[1].Kind != ptx.OpReg || in.Type() != ptx.F32 ||
		len(m.defs[in.Args[0].Reg]) < 2 {
		return
	}
	m.add(rankSecond+n/2, Superfluous, i, "", "", "a sum that begins with 0, and does not go on from another",
		func(in *ptx.Instr, _ int) bool {
			in.Args[1] = ptx.FloatOf(0)
			return true
		})
}

// sameBit lists a bit taken out of the masks of one number wherever instructions have it: a compiler joins
// the mask of a lane with that of a warp.
func (m *menu) sameBit(n, i int) {
	in := m.fn.Body[i]
	if in.Op != "and" || len(in.Args) != 3 || in.Args[1].Kind != ptx.OpReg || in.Args[2].Kind != ptx.OpInt ||
		in.Args[2].Imm >= 1<<16 {
		return
	}
	v := in.Args[2].Imm
	for b := uint64(1); b <= v; b <<= 1 {
		if v&b == 0 || v == b {
			continue
		}
		c := candidate{
			kind: Number, rank: rankFirst + n/2 + 4, of: i + 1, alone: true,
			was: m.maskedBy(in.Args[1].Reg, int64(v)), now: m.maskedBy(in.Args[1].Reg, int64(v&^b)),
		}
		for _, at := range m.reads[in.Args[1].Reg] {
			x := m.fn.Body[at]
			if x.Op == "and" && m.own[at] && x.Args[1].Kind == ptx.OpReg && x.Args[1].Reg == in.Args[1].Reg &&
				x.Args[2].Kind == ptx.OpInt && joins(x.Args[2].Imm, v) {
				c.edits = append(c.edits, ptx.Edit{
					Kind: ptx.Replace, Func: m.fn.Name, At: at,
					New: x.With(func(in *ptx.Instr) { in.Args[2].Imm &^= b }),
				})
			}
		}
		if len(c.edits) > 1 { // one alone is among the numbers
			m.out = append(m.out, c)
		}
	}
}

// joins reports whether a mask is another one, or that and further bits of which it is no remainder.
func joins(mask, v uint64) bool { return mask == v || mask&v == v && mask&(mask+1) != 0 }

// threadNumber is the number of a thread that a register is, as CUDA calls it; "" for any other.
func (m *menu) threadNumber(r int32) string {
	if len(m.defs[r]) != 1 {
		return ""
	}
	in := m.fn.Body[m.defs[r][0]]
	if in.Kind() != isa.Move || len(in.Args) != 2 || in.Args[1].Kind != ptx.OpSpecial ||
		in.Args[1].Name != "%tid" {
		return ""
	}
	return special(in.Args[1].Name, in.Args[1].Comp)
}

// roundedUp lists a division by a power of two that rounds up.
func (m *menu) roundedUp(n, i int) {
	in := m.fn.Body[i]
	if in.Op != "shr" || len(in.Args) != 3 || in.Args[1].Kind != ptx.OpReg || in.Args[2].Kind != ptx.OpInt ||
		in.Args[2].Imm == 0 || in.Args[2].Imm > 12 {
		return
	}
	by := int64(1) << in.Args[2].Imm
	m.operand(rankSecond+n/2, i, 1, fmt.Sprintf("a division by %d that rounds up", by),
		func(to, from ptx.Operand, t ptx.Type) *ptx.Instr {
			return &ptx.Instr{
				Op: "add", Mods: []string{fmt.Sprintf("s%d", t.Bits())},
				Args: []ptx.Operand{to, from, ptx.IntegerOf(by - 1)},
			}
		})
}

// bounded lists a difference that is not below 0, for all instructions that use it: those first that take it
// as unsigned.
func (m *menu) bounded(n, i int) {
	in := m.fn.Body[i]
	negative := in.Op == "sub" || in.Op == "add" && len(in.Args) == 3 && in.Args[2].Kind == ptx.OpInt &&
		int32(in.Args[2].Imm) < 0
	if !negative || in.Type().Float() || in.Type().Bits() != 32 || in.Guard != nil ||
		slices.Contains(in.Args[1].Registers(nil), in.Args[0].Reg) {
		return
	}
	rank := rankThird
	if slices.ContainsFunc(m.reads[in.Args[0].Reg], func(at int) bool {
		x := m.fn.Body[at]
		return m.own[at] && (x.Has("u32") && x.Op != "cvt" || x.Op == "shr" && x.Has("b32"))
	}) {
		rank = rankFirst + 20
	}
	m.after(rank+n/2, Operation, i, "a difference that is not below 0 (it is taken as unsigned)",
		func(in *ptx.Instr, _ int) *ptx.Instr {
			return &ptx.Instr{
				Op: "max", Mods: []string{"s32"},
				Args: []ptx.Operand{in.Args[0], in.Args[0], ptx.IntegerOf(0)},
			}
		})
}

// narrowed lists a number that is not cut off to 8 or 16 bits.
func (m *menu) narrowed(n, i int) {
	_, bits := m.cut(m.fn.Body[i])
	if bits == 0 {
		return
	}
	m.add(rankSecond+n/2, Superfluous, i, "", "", fmt.Sprintf("without cutting off to %d bits", bits),
		func(in *ptx.Instr, _ int) bool {
			from, bits := m.cut(in)
			return bits > 0 && m.moved(in, from)
		})
}

// cut is the number that an instruction, and those that lead to it, cut off, and to how many bits; 0 where it
// cuts nothing off.
func (m *menu) cut(in *ptx.Instr) (from ptx.Operand, bits int) {
	for range 4 {
		t := in.Types()
		switch {
		case len(in.Args) < 2 || in.Args[1].Kind != ptx.OpReg:
			return from, 0
		case in.Op == "and" && len(in.Args) == 3 && in.Args[2].Kind == ptx.OpInt &&
			(in.Args[2].Imm == 0xff || in.Args[2].Imm == 0xffff):
			bits = map[uint64]int{0xff: 8, 0xffff: 16}[in.Args[2].Imm]
		case in.Kind() == isa.Convert && len(t) == 2 && !t[0].Float() && !t[1].Float():
			if least := min(t[0].Bits(), t[1].Bits()); least < 32 && (bits == 0 || least < bits) {
				bits = least
			}
		default:
			return from, 0
		}
		from = in.Args[1]
		if m.fn.Regs[from.Reg].Type.Bits() == 32 && bits > 0 {
			return from, bits
		}
		if len(m.defs[from.Reg]) != 1 {
			return from, 0
		}
		in = m.fn.Body[m.defs[from.Reg][0]]
	}
	return from, 0
}

// mostAccumulators is how many places are tried where a sum may begin.
const mostAccumulators = 12

// accumulators lists sums that begin with 0 each time: what is set to 0 once, before a loop round them or
// before the first of several, goes on from the sum before.
func (m *menu) accumulators() {
	g := m.graph
	loops := g.Loops()
	done := map[string]bool{}
	for n, o := range m.ops {
		r, sums := m.addend(m.fn.Body[o.At])
		key := fmt.Sprint(r, m.places[o.At])
		if !sums || done[key] || len(m.defs[r]) < 2 {
			continue
		}
		done[key] = true
		var blocks []int
		for _, at := range m.reads[r] {
			if own, ok := m.addend(m.fn.Body[at]); ok && own == r && m.places[at] == m.places[o.At] {
				blocks = append(blocks, g.Of[at])
			}
		}
		bodies := []map[int]bool{{}}
		for _, head := range slices.Sorted(maps.Keys(loops)) {
			if slices.ContainsFunc(blocks, func(b int) bool { return loops[head][b] }) {
				bodies = append(bodies, loops[head])
			}
		}
		first := slices.Min(blocks)
		used := slices.Clone(blocks) // by threads that add nothing too
		for _, at := range m.reads[r] {
			if b := g.Of[at]; b > first && m.own[at] {
				used = append(used, b)
			}
		}
		for _, not := range bodies {
			for _, to := range [][]int{used, blocks} {
				b := latestBefore(g, to, not)
				if b < 0 || len(done) > mostAccumulators {
					continue
				}
				key := fmt.Sprint("at", r, b)
				if at := g.Start[b+1] - 1; !done[key] && !slices.Contains(named(m.fn.Body[at]), r) {
					done[key] = true
					m.begun(n, o.At, r, at)
				}
			}
		}
	}
}

// addend is the register of a float that an instruction adds to.
func (m *menu) addend(in *ptx.Instr) (r int32, ok bool) {
	switch {
	case in.Type() != ptx.F32:
	case in.Op == "fma" && len(in.Args) == 4 && in.Args[3].Kind == ptx.OpReg:
		return in.Args[3].Reg, true
	case in.Op == "add" && len(in.Args) == 3:
		for _, o := range in.Args[1:] {
			if o.Kind == ptx.OpReg && len(m.defs[o.Reg]) > 1 {
				return o.Reg, true
			}
		}
	}
	return 0, false
}

// latestBefore is the last of the blocks that every way to some blocks leads through, outside of a loop; -1
// where there is none.
func latestBefore(g *cfg.Graph, blocks []int, not map[int]bool) int {
	for b := slices.Min(blocks); b > 0; b-- {
		if !not[b] && !slices.ContainsFunc(blocks, func(to int) bool {
			return b == to || !g.Cuts(g.Start[b], 0, g.Start[to])
		}) {
			return b
		}
	}
	return -1
}

// begun notes the sum of instruction i, in register r, set to 0 before another instruction.
func (m *menu) begun(n, i int, r int32, at int) {
	m.out = append(m.out, candidate{
		kind: Operand, rank: rankFirst + n/2 + 20,
		text: "a sum that begins with 0 each time (it goes on from the one before)",
		of:   i + 1, alone: true,
		edits: []ptx.Edit{{
			Kind: ptx.Insert, Func: m.fn.Name, At: at, New: &ptx.Instr{
				Op: "mov", Mods: []string{"f32"},
				Args: []ptx.Operand{ptx.RegisterOf(r), ptx.FloatOf(0)},
			},
		}},
	})
}
