package repair

import (
	"cmp"
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Of all integers that a kernel has some are likelier to be meant in the place of one than others.

// standIn is a value that may be meant in the place of an operand.
type standIn struct {
	def    int // the instruction that gives it
	apart  int // instructions between it and the use
	varies bool
	kin    int // kinship
}

// scaled reports whether a use is one that is multiplied, widened or compared: where a term lacks in an index
// it lacks there.
func (m *menu) scaled(u *use) bool {
	switch in := m.fn.Body[u.at]; in.Op {
	case "mul", "mad", "shl", "cvt":
		return m.fn.Body[u.at].Args[1].Kind == ptx.OpReg && m.fn.Body[u.at].Args[1].Reg == u.reg
	default:
		return in.Kind() == isa.Compare
	}
}

// classes groups the integers computed before a use, without those that have the use's own values in all
// samples, by their values: the likeliest group first.
func (m *menu) classes(
	u *use, how instead, index map[int32]int, samples []debugkern.Sample,
) [][]standIn {
	k := index[u.reg]
	samples = slices.DeleteFunc(slices.Clone(samples), func(x debugkern.Sample) bool { return !x.Known[k] })
	if len(samples) == 0 {
		return nil
	}
	was, most, varies, _ := sampledValues(samples, k)
	decides := m.decided(u, index, samples)
	of := map[string]int{}
	var out [][]standIn
	for _, d := range u.others {
		r := m.fn.Body[d].Args[0].Reg
		if r == u.reg {
			continue
		}
		v, size, moves, known := sampledValues(samples, index[r])
		switch {
		case !known, how == inPlace && slices.Equal(v, was), how != inPlace && size == 0:
			continue
		case how == inPlace && (size > sizesApart*max(most, 1) || most > sizesApart*max(size, 1)):
			continue
		case decides != nil && !decides(how, v):
			continue
		}
		key := fmt.Sprint(v)
		n, there := of[key]
		if !there {
			n = len(out)
			of[key] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], standIn{def: d, apart: u.at - d, varies: moves})
	}
	likelier := func(a, b standIn) int {
		return cmp.Or(cmp.Compare(a.kin, b.kin), cmp.Compare(a.apart, b.apart))
	}
	for _, class := range out {
		for n := range class {
			class[n].kin = m.kinship(u, how, &class[n], class[n].varies == varies)
		}
		slices.SortStableFunc(class, likelier)
	}
	slices.SortStableFunc(out, func(a, b []standIn) int { return likelier(a[0], b[0]) })
	return out[:min(len(out), how.most)]
}

// kinship is how unlikely one value is meant in the place of a use: a size of the launch is taken for another
// size, a number of a thread for another, and a variable for one that is computed next to it; what is the
// same throughout seldom stands for what is not. A comparison that guards an access is of its index, and
// where a summand is compared the sum is meant.
func (m *menu) kinship(u *use, how instead, x *standIn, alike bool) int {
	given, gave := m.origin(m.fn.Body[x.def].Args[0].Reg), m.origin(u.reg)
	switch {
	case given >= 0 && gave >= 0 && m.fn.Body[given].Op == m.fn.Body[gave].Op && m.launched(given) &&
		m.launched(gave):
		return 0
	case m.summand(u.reg, x.def, how), how == inPlace && m.sameRole(u, x.def):
		return 0
	case m.fn.Body[u.at].Kind() == isa.Compare && m.addresses[x.def] && (gave < 0 || !m.launched(gave)):
		return 1
	case !alike:
		return 3
	case given >= 0 && gave >= 0 && m.adjacentLines(given, gave):
		return 1
	}
	return 2
}

// summand reports whether the kernel adds a value to what a register has, where it is added; and where it is
// taken in place of that, whether it is the sum of that and something else.
func (m *menu) summand(reg int32, def int, how instead) bool {
	adds := func(i int, regs ...int32) bool {
		in := m.fn.Body[i]
		if in.Op != "add" && in.Op != "or" {
			return false
		}
		for _, r := range regs {
			if !slices.ContainsFunc(in.Args[1:], func(o ptx.Operand) bool {
				return o.Kind == ptx.OpReg && m.unconverted(o.Reg) == m.unconverted(r)
			}) {
				return false
			}
		}
		return true
	}
	if how == inPlace {
		return adds(def, reg)
	}
	given := m.fn.Body[def].Args[0].Reg
	return slices.ContainsFunc(m.reads[given], func(i int) bool { return adds(i, reg, given) })
}

// summandOf is the register that an instruction adds to another; -1 where it is no such sum of two registers.
func (m *menu) summandOf(def int, reg int32) int32 {
	in := m.fn.Body[def]
	if in.Op != "add" || len(in.Args) != 3 || in.Args[1].Kind != ptx.OpReg || in.Args[2].Kind != ptx.OpReg {
		return -1
	}
	switch m.unconverted(reg) {
	case m.unconverted(in.Args[1].Reg):
		return in.Args[2].Reg
	case m.unconverted(in.Args[2].Reg):
		return in.Args[1].Reg
	}
	return -1
}

// role is what an operand of an instruction is there for: the operation and its other operands, as variables.
func (m *menu) role(i, arg int) string {
	in := m.fn.Body[i]
	text := in.Op
	if in.Op != "add" && in.Op != "mul" && in.Op != "or" && in.Op != "mad" {
		text += fmt.Sprint(arg)
	}
	for k := 1; k < len(in.Args); k++ {
		if k == arg {
			continue
		}
		switch o := &in.Args[k]; o.Kind {
		case ptx.OpReg:
			text += "|" + m.variableOf(o.Reg)
		case ptx.OpInt:
			text += fmt.Sprint("|", o.Imm)
		}
	}
	return text
}

// sameRole reports whether the kernel uses a value elsewhere as a line uses another: what one line has copied
// from another.
func (m *menu) sameRole(u *use, def int) bool {
	if m.roles == nil {
		m.roles = map[string]map[string]bool{}
		for i, in := range m.fn.Body {
			for k := 1; k < len(in.Args) && m.own[i] && computesIndex(in); k++ {
				if in.Args[k].Kind == ptx.OpReg {
					key := m.role(i, k)
					if m.roles[key] == nil {
						m.roles[key] = map[string]bool{}
					}
					m.roles[key][m.variableOf(in.Args[k].Reg)] = true
				}
			}
		}
	}
	given := m.variableOf(m.fn.Body[def].Args[0].Reg)
	return slices.ContainsFunc(u.all, func(t taken) bool { return m.roles[m.role(t.at, t.arg)][given] })
}

// adjacentLines reports whether two instructions are of lines of one file that are next to each other.
func (m *menu) adjacentLines(a, b int) bool {
	x, y := m.blame(a), m.blame(b)
	return x != nil && y != nil && x.File == y.File && abs(int64(x.Line-y.Line)) <= 2
}

// decided returns, of a use in a comparison, a function that reports whether another value would have it come
// out otherwise in some samples and not in all; nil of any other use.
func (m *menu) decided(
	u *use, index map[int32]int, samples []debugkern.Sample,
) func(how instead, v []int64) bool {
	in := m.fn.Body[u.at]
	if in.Kind() != isa.Compare || len(in.Args) < 3 || len(in.Mods) == 0 {
		return nil
	}
	value := func(o *ptx.Operand, x *debugkern.Sample) (int64, bool) {
		switch o.Kind {
		case ptx.OpInt:
			return int64(o.Imm), true
		case ptx.OpReg:
			if k, there := index[o.Reg]; there {
				return x.Values[k], x.Known[k]
			}
		}
		return 0, false
	}
	return func(how instead, v []int64) bool {
		changed := 0
		for n := range samples {
			a, known := value(&in.Args[1], &samples[n])
			b, also := value(&in.Args[2], &samples[n])
			if !known || !also {
				return true // a value is unknown
			}
			was := meets(in, a, b)
			for k, side := range []*int64{&a, &b} {
				if o := &in.Args[k+1]; o.Kind == ptx.OpReg && o.Reg == u.reg {
					*side = how.of(*side, v[n])
				}
			}
			if meets(in, a, b) != was {
				changed++
			}
		}
		return changed > 0 && changed < len(samples)
	}
}

// of is what becomes of a value with another.
func (h instead) of(was, v int64) int64 {
	switch h.op {
	case "add":
		return was + v
	case "sub":
		return was - v
	}
	return v
}

// meets reports whether two integers meet the condition of a setp.
func meets(in *ptx.Instr, a, b int64) bool {
	if t := in.Type(); t.Bits() == 32 {
		if a, b = int64(int32(a)), int64(int32(b)); t == ptx.U32 {
			a, b = int64(uint32(a)), int64(uint32(b))
		}
	}
	switch in.Mods[0] {
	case "lt", "lo":
		return a < b
	case "le", "ls":
		return a <= b
	case "gt", "hi":
		return a > b
	case "ge", "hs":
		return a >= b
	case "eq":
		return a == b
	}
	return a != b
}

// sampledValues returns a register's values in samples, the largest magnitude, and whether they vary. known
// is false where the register has no value in one of the samples.
func sampledValues(samples []debugkern.Sample, k int) (v []int64, most int64, varies, known bool) {
	for i := range samples {
		x := &samples[i]
		if !x.Known[k] {
			return nil, 0, false, false
		}
		v = append(v, x.Values[k])
		most = max(most, abs(x.Values[k]))
		varies = varies || x.Values[k] != samples[0].Values[k]
	}
	return v, most, varies, true
}
