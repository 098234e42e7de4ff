package repair

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
)

// integerOperations lists +, *, / and % in place of one another on integers. Compilers make shifts and masks
// of them where the second operand is a power of two.
func (m *menu) integerOperations(n, i int) {
	in := m.fn.Body[i]
	t := in.Type()
	if t.Float() || len(in.Args) != 3 || in.Args[0].Kind != ptx.OpReg {
		return
	}
	width := t.Bits()
	if width != 32 && width != 64 {
		return
	}
	imm := in.Args[2]
	if imm.Kind == ptx.OpReg {
		switch {
		case in.Op == "mul" && in.Has("lo"):
			m.rewritten(n, 0, i, "*", "+", "add", []string{t.String()}, nil)
		case in.Op == "add":
			m.rewritten(n, 0, i, "+", "*", "mul", []string{"lo", t.String()}, nil)
		}
		return
	}
	if imm.Kind != ptx.OpInt {
		return
	}
	was, by := operationOf(in, width)
	if was == "" {
		return
	}
	u, b := fmt.Sprintf("u%d", width), fmt.Sprintf("b%d", width)
	power := bits.OnesCount64(by) == 1
	shift := uint64(bits.TrailingZeros64(by))
	for at, to := range []string{"*", "/", "%", "+"} {
		if to == was || !power && to != "*" && to != "+" {
			continue
		}
		x := by
		op, mods := "add", []string{t.String()}
		switch {
		case to == "*" && power:
			op, mods, x = "shl", []string{b}, shift
		case to == "*":
			op, mods = "mul", []string{"lo", t.String()}
		case to == "/":
			op, mods, x = "shr", []string{u}, shift
		case to == "%":
			op, mods, x = "and", []string{b}, by-1
		case in.Op == "and" || in.Op == "shl" || in.Op == "shr":
			mods = []string{u}
		}
		m.rewritten(n, at, i, fmt.Sprintf("%s %d", was, by), fmt.Sprintf("%s %d", to, by), op, mods, &x)
	}
}

// operationOf is an instruction's operation on integers and the number that is its second operand, as the
// source has them; "" for none that is edited.
func operationOf(in *ptx.Instr, width int) (op string, by uint64) {
	v := in.Args[2].Imm
	if width == 32 {
		v = uint64(uint32(v))
	}
	switch {
	case in.Op == "shl" && v < 32:
		return "*", 1 << v
	case in.Op == "shr" && v < 32:
		return "/", 1 << v
	case in.Op == "and" && bits.OnesCount64(v+1) == 1:
		return "%", v + 1
	case in.Op == "add" && v < 1<<20:
		return "+", v
	case in.Op == "mul" && in.Has("lo") && v < 1<<20:
		return "*", v
	}
	return "", 0
}

// rewritten lists an instruction of two operands with another operation, and where by is not nil another
// number as its second operand.
func (m *menu) rewritten(n, at, i int, was, now, op string, mods []string, by *uint64) {
	m.add(rankSecond+n/2+8*at, Operation, i, was, now, "", func(in *ptx.Instr, _ int) bool {
		in.Op, in.Mods = op, mods
		if by != nil {
			in.Args[2].Imm, in.Args[2].Unsigned = *by, false
		}
		return true
	})
}
