package repair

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// OneOff is what a comparison is tried with that includes a number more or one less: which of the operators
// the source has is not in the PTX, whose conditions a compiler turns round.
const OneOff = "< and <= exchanged, or > and >="

// MaskedAt finds where the scores are masked that cells of a stage are made of: the place of the
// instruction nearest to the cells that chooses between a score and minus infinity, or a number that stands
// for it (selects); of a mask that is a branch, the place of the comparison of integers nearest to the
// cells that is no loop's bound, in a loop if there is one. It is nil where there is neither. Errors are
// those of debugkern.Run.Slice.
func MaskedAt(
	ctx context.Context, run *debugkern.Run, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) (src *target.Source, selects bool, err error) {
	ops, err := run.Slice(ctx, stage, block, kv, cells)
	if err != nil {
		return nil, false, err
	}
	fn := run.Entry()
	at := slices.IndexFunc(ops, func(o debugkern.Operation) bool { return hides(fn.Body[o.At]) })
	if selects = at >= 0; !selects {
		bounds, loops := LoopBounds(fn), looped(fn)
		decides := func(o debugkern.Operation) bool {
			return compares(fn.Body[o.At]) && !bounds[o.At] && !fn.Body[o.At].Loc.Within(target.IsProbe)
		}
		at = slices.IndexFunc(ops, func(o debugkern.Operation) bool { return decides(o) && loops[o.At] })
		if at < 0 {
			at = slices.IndexFunc(ops, decides)
		}
	}
	if at < 0 {
		return nil, false, nil
	}
	return target.Blame(fn, ops[at].At), selects, nil
}

// compares reports whether an instruction compares integers.
func compares(in *ptx.Instr) bool { return in.Kind() == isa.Compare && !in.Type().Float() }

// LoopBounds are the comparisons by which a loop of a function goes on or ends.
func LoopBounds(fn *ptx.Func) map[int]bool {
	g := cfg.New(fn)
	closes := closing(g)
	ends := map[int32]bool{} // predicates
	for i, in := range fn.Body {
		if in.Kind() == isa.Branch && in.Guard != nil && closes[g.Of[i]] {
			ends[in.Guard.Reg] = true
		}
	}
	out := map[int]bool{}
	for i, in := range fn.Body {
		out[i] = in.Kind() == isa.Compare && slices.ContainsFunc(in.Dests(nil), func(r int32) bool {
			return ends[r]
		})
	}
	return out
}

// looped says which instructions of a function lie in a loop.
func looped(fn *ptx.Func) []bool {
	g := cfg.New(fn)
	out := make([]bool, len(fn.Body))
	for _, body := range g.Loops() {
		for i := range out {
			out[i] = out[i] || body[g.Of[i]]
		}
	}
	return out
}

// closing are the blocks whose branch leads round a loop that the block is in, or out of it.
func closing(g *cfg.Graph) map[int]bool {
	out := map[int]bool{}
	for head, body := range g.Loops() {
		for b := range body {
			out[b] = out[b] || slices.ContainsFunc(g.Succ[b], func(to int) bool {
				return to == head || !body[to]
			})
		}
	}
	return out
}

// masked lists the edits of a mask that is one off: a comparison that takes equal numbers in or leaves them
// out, for every column that a compiler made of it; and one more or one less where a number is computed that
// is compared.
func (m *menu) masked() []candidate {
	was := m.out
	m.out = nil
	bounds := LoopBounds(m.fn)
	done := map[string]bool{}
	for n, o := range m.ops {
		in := m.fn.Body[o.At]
		if !compares(in) || bounds[o.At] {
			continue
		}
		m.alike(n, o.At, done)
		m.compared(n, o.At, bounds, done)
		for _, a := range in.Args[1:] {
			if a.Kind == ptx.OpReg && len(m.defs[a.Reg]) == 1 {
				m.shifted(n, m.defs[a.Reg][0], done)
				m.turned(n, m.defs[a.Reg][0], done)
			}
		}
	}
	list := m.out
	m.out = was
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	return list
}

// alike notes a comparison that treats equal numbers the other way, in all copies of its line, whatever
// number each compares with.
func (m *menu) alike(n, i int, done map[string]bool) {
	in := m.fn.Body[i]
	for k, mod := range in.Mods {
		key := m.places[i] + in.Opcode()
		if oneOff[mod] == "" || done[key] {
			continue
		}
		done[key] = true
		c := candidate{
			kind: Comparison, from: mod, to: oneOff[mod], rank: n,
			text: OneOff,
		}
		for at, x := range m.fn.Body {
			if compares(x) && x.Opcode() == in.Opcode() && m.places[at] == m.places[i] {
				c.edits = append(c.edits, ptx.Edit{
					Kind: ptx.Replace, Func: m.fn.Name, At: at,
					New: x.With(func(in *ptx.Instr) { in.Mods[k] = oneOff[mod] }),
				})
			}
		}
		m.out = append(m.out, c)
	}
}

// turned notes a difference that is compared with its sign turned.
func (m *menu) turned(n, i int, done map[string]bool) {
	if key := "turned " + m.key[i]; m.key[i] != "" && !done[key] {
		done[key] = true
		m.swapped(n, i)
	}
}

// compared notes a number made greater and less by one wherever a comparison of one kind has it, with
// whatever constants. Where several comparisons do, it stands where the number is computed.
func (m *menu) compared(n, i int, bounds map[int]bool, done map[string]bool) {
	in := m.fn.Body[i]
	if len(in.Args) < 3 || in.Args[1].Kind != ptx.OpReg || in.Args[2].Kind != ptx.OpInt {
		return
	}
	reg := in.Args[1].Reg
	r := m.variableOf(reg)
	key := fmt.Sprint(r, in.Opcode())
	if done[key] {
		return
	}
	done[key] = true
	for _, by := range []int64{1, -1} {
		c := candidate{kind: Number, rank: n, text: "a number greater by 1 in the comparison"}
		if by < 0 {
			c.text = "a number less by 1 in the comparison"
		}
		for at, x := range m.fn.Body {
			if x.Opcode() != in.Opcode() || bounds[at] || x.Args[1].Kind != ptx.OpReg ||
				x.Args[2].Kind != ptx.OpInt || m.variableOf(x.Args[1].Reg) != r {
				continue
			}
			c.edits = append(c.edits, ptx.Edit{
				Kind: ptx.Replace, Func: m.fn.Name, At: at, New: x.With(func(in *ptx.Instr) {
					in.Args[2].Imm, in.Args[2].Unsigned = uint64(int64(int32(in.Args[2].Imm))-by), false
				}),
			})
		}
		if len(c.edits) > 1 && len(m.defs[reg]) == 1 {
			c.of = m.defs[reg][0] + 1
		}
		m.out = append(m.out, c)
	}
}

// shifted notes the result of an integer instruction made greater and less by one.
func (m *menu) shifted(n, i int, done map[string]bool) {
	in := m.fn.Body[i]
	key := m.places[i] + shapeOf(in)
	dests := in.Dests(nil)
	if done[key] || len(dests) != 1 || in.Loc.Within(target.IsProbe) || in.Kind() == isa.Load &&
		in.Space() == ptx.SpaceParam || slices.ContainsFunc(in.Args[1:], func(o ptx.Operand) bool {
		return o.Kind == ptx.OpReg && o.Reg == dests[0] // a counter
	}) {
		return
	}
	done[key] = true
	typ := "s32"
	if m.fn.Regs[dests[0]].Type.Bytes() == 8 {
		typ = "s64"
	}
	for _, by := range []int64{1, -1} {
		text := fmt.Sprintf("the result of the %s greater by 1", Word(in.Op))
		if by < 0 {
			text = fmt.Sprintf("the result of the %s less by 1", Word(in.Op))
		}
		m.after(n+1, Number, i, text, func(in *ptx.Instr, _ int) *ptx.Instr {
			return in.With(func(in *ptx.Instr) {
				dst := in.Args[0]
				in.Op, in.Mods, in.Guard, in.Labels = "add", []string{typ}, nil, nil
				in.Args = []ptx.Operand{dst, dst, ptx.IntegerOf(by)}
			})
		})
	}
}

// lowest is above what kernels take for minus infinity where they mask: -1e4 in half, -1e9, -FLT_MAX.
const lowest = -9e3

// hides reports whether an instruction chooses between a value and minus infinity.
func hides(in *ptx.Instr) bool {
	return in.Kind() == isa.Select && slices.ContainsFunc(in.Args, func(o ptx.Operand) bool {
		switch o.Kind {
		case ptx.OpF32:
			return math.Float32frombits(uint32(o.Imm)) <= lowest
		case ptx.OpF64:
			return math.Float64frombits(o.Imm) <= lowest
		}
		return false
	})
}
