package repair

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// widened lists a conversion back from a narrower type: what it gives where the expression behind it was
// computed in float throughout.
func (m *menu) widened(n, i int) {
	in := m.fn.Body[i]
	t := in.Types()
	if in.Kind() != isa.Convert || len(t) != 2 || t[0] != ptx.F32 || t[1].Bits() != 16 {
		return
	}
	for _, set := range m.copies(i) {
		c := candidate{
			kind: Rounding, rank: rankFirst + n/4,
			text: fmt.Sprintf("float throughout, not %s in between", strings.ToLower(t[1].String())),
		}
		for _, at := range set {
			c.edits = append(c.edits, m.inFloat(at, t[1])...)
		}
		if len(c.edits) > 0 {
			m.out = append(m.out, c)
		}
	}
}

// deepest is how many operations of a narrow type are widened at once.
const deepest = 8

// inFloat are the edits with which a conversion gives what its expression is in float; none where nothing but
// a load stands behind it.
func (m *menu) inFloat(at int, narrow ptx.Type) []ptx.Edit {
	in := m.fn.Body[at]
	if len(in.Args) != 2 || in.Args[0].Kind != ptx.OpReg || in.Args[1].Kind != ptx.OpReg {
		return nil
	}
	w := &widening{m: m, at: at, narrow: narrow}
	from, ok := w.value(in.Args[1], deepest)
	if !ok || w.changed == 0 {
		return nil
	}
	var edits []ptx.Edit
	for _, x := range w.list {
		edits = append(edits, ptx.Edit{Kind: ptx.Insert, Func: m.fn.Name, At: at, New: x, Fresh: w.fresh})
	}
	return append(edits, ptx.Edit{
		Kind: ptx.Replace, Func: m.fn.Name, At: at, Fresh: w.fresh,
		New: in.With(func(in *ptx.Instr) {
			in.Op, in.Mods, in.Args = "mov", []string{"f32"}, []ptx.Operand{in.Args[0], from}
		}),
	})
}

// widening is the expression of one conversion in float, as instructions over fresh registers.
type widening struct {
	m       *menu
	at      int
	narrow  ptx.Type
	list    []*ptx.Instr
	fresh   []ptx.Type
	changed int // roundings that are left out
}

// value is a narrow operand in float.
func (w *widening) value(o ptx.Operand, depth int) (ptx.Operand, bool) {
	if o.Kind != ptx.OpReg || depth == 0 {
		return o, false
	}
	if def := w.definition(o.Reg); def != nil {
		t := def.Types()
		switch {
		case def.Kind() == isa.Convert && len(t) == 2 && t[1] == ptx.F32 && def.Args[1].Kind == ptx.OpReg:
			w.changed++
			return def.Args[1], true
		case def.Type() == w.narrow && slices.Contains([]string{"add", "sub", "mul", "fma"}, def.Op):
			args := []ptx.Operand{{}}
			for _, a := range def.Args[1:] {
				x, ok := w.value(a, depth-1)
				if !ok {
					return o, false
				}
				args = append(args, x)
			}
			w.changed++
			return w.into(&ptx.Instr{Op: def.Op, Mods: []string{"rn", "f32"}, Args: args}), true
		}
	}
	return w.into(&ptx.Instr{
		Op: "cvt", Mods: []string{"f32", w.narrow.String()}, Args: []ptx.Operand{{}, o},
	}), true
}

// definition is the instruction that gives a register in the same run of instructions; nil where none does.
func (w *widening) definition(r int32) *ptx.Instr {
	for k := w.at - 1; k >= max(0, w.at-poolReach); k-- {
		in := w.m.fn.Body[k]
		if in.Kind().Jumps() {
			return nil
		}
		if slices.Contains(in.Dests(nil), r) {
			return in
		}
	}
	return nil
}

// into gives an instruction a fresh register.
func (w *widening) into(in *ptx.Instr) ptx.Operand {
	in.Args[0] = ptx.RegisterOf(int32(len(w.m.fn.Regs) + len(w.fresh)))
	w.fresh = append(w.fresh, ptx.F32)
	w.list = append(w.list, in)
	return in.Args[0]
}

// unsigned is, by a modifier of a signed type, that of the unsigned one of its size; signed the other way.
var (
	unsigned = map[string]string{"s8": "u8", "s16": "u16", "s32": "u32"}
	signed   = map[string]string{"u8": "s8", "u16": "s16", "u32": "s32"}
)

// signs lists a line whose conversions and shifts take signed numbers for unsigned ones, or the other way
// round: of one line of the source a compiler makes several instructions.
func (m *menu) signs(n, i int) {
	in := m.fn.Body[i]
	if in.Kind() != isa.Convert || len(in.Types()) != 2 {
		return
	}
	for at, to := range []map[string]string{unsigned, signed} {
		if !slices.ContainsFunc(in.Mods, func(mod string) bool { return to[mod] != "" }) {
			continue
		}
		c := candidate{
			kind: Operation, rank: rankSecond + n/2, was: "signed numbers", now: "unsigned numbers",
		}
		if at == 1 {
			c.was, c.now = c.now, c.was
		}
		for k, x := range m.fn.Body {
			if m.places[k] != m.places[i] || x.Kind() != isa.Convert && x.Op != "shr" && x.Op != "bfe" {
				continue
			}
			changed := false
			y := x.With(func(x *ptx.Instr) {
				for j, mod := range x.Mods {
					if other := to[mod]; other != "" {
						x.Mods[j], changed = other, true
					}
				}
			})
			if changed {
				c.edits = append(c.edits, ptx.Edit{Kind: ptx.Replace, Func: m.fn.Name, At: k, New: y})
			}
		}
		if len(c.edits) > 1 { // one alone is among the modifiers
			m.out = append(m.out, c)
		}
	}
}
