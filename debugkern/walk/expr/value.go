package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"tilescope/probes"
)

// Value is what an expression comes to: an integer, a floating-point number, or a truth value.
type Value struct {
	Kind  Kind
	Int   int64 // of an integer: sign-extended, but for Unsigned ones
	Float float64
	// Type is the type of what was read: "f32", "b16"; "" for what was computed.
	Type string
	Bits uint64 // of what was read
	Size int    // bytes; 0 for what was computed
	// Unsigned integers compare and print as such.
	Unsigned bool
	// Unwritten memory has no value; its bytes are what a read would give. What is computed of it has none
	// either, but truth values: a comparison is decided by the bytes, as the kernel decides it.
	Unwritten bool
}

// Kind says what a value is.
type Kind uint8

// The kinds.
const (
	Integer Kind = iota
	Real
	Truth
)

// Number makes an integer.
func Number(n int64) Value { return Value{Int: n} }

// True makes a truth value.
func True(b bool) Value {
	v := Value{Kind: Truth}
	if b {
		v.Int = 1
	}
	return v
}

// Of makes a value of a type's bits, as they are read from memory.
func Of(t probes.DType, bits uint64) Value {
	v := Value{Type: t.String(), Bits: bits, Size: t.Size()}
	switch t {
	case probes.U8, probes.U16, probes.U32, probes.U64:
		v.Int, v.Unsigned = int64(bits), true
	case probes.I8, probes.I16, probes.I32, probes.I64:
		v.Int = extend(bits, v.Size)
	default:
		v.Kind, v.Float = Real, t.Value(bits)
	}
	return v
}

// OfRegister makes a value of a register's bits. Registers without a sign (b32) are signed, and equal to
// either reading of their bits.
func OfRegister(typ string, bits uint64) Value {
	switch typ {
	case "pred", "p":
		v := True(bits != 0)
		v.Type = "pred"
		return v
	case "f16", "f32", "f64":
		t, _ := probes.ParseDType(typ)
		return Of(t, bits)
	}
	n, err := strconv.Atoi(typ[min(1, len(typ)):])
	if err != nil || n > 64 || n < 8 {
		n = 64
	}
	v := Value{Type: typ, Bits: bits, Size: n / 8, Int: extend(bits, n/8)}
	if typ[0] == 'u' {
		v.Int, v.Unsigned = int64(bits), true
	}
	return v
}

// extend reads n bytes as a signed integer.
func extend(bits uint64, n int) int64 {
	shift := 64 - 8*n
	return int64(bits<<shift) >> shift
}

// Holds reports whether the value counts as true: it is not zero.
func (v Value) Holds() bool {
	if v.Kind == Real {
		return v.Float != 0 // NaN counts as true, as in C
	}
	return v.Int != 0
}

// Same reports whether two values are the same bits, or the same number where they were computed.
func (v Value) Same(o Value) bool {
	if v.Kind != o.Kind || v.Unwritten != o.Unwritten || v.Size != o.Size {
		return false
	}
	if v.Size > 0 {
		return v.Bits == o.Bits
	}
	return v.Int == o.Int && math.Float64bits(v.Float) == math.Float64bits(o.Float)
}

// String is the value with its type: 1.5 f32 0x3fc00000; -1 b32 0xffffffff; 3; true.
func (v Value) String() string {
	switch {
	case v.Unwritten && v.Type != "":
		return "not written (" + v.Type + ")"
	case v.Unwritten: // computed of such
		return "not written"
	}
	out := v.Decimal()
	if v.Size > 0 {
		out += fmt.Sprintf(" %s 0x%0*x", v.Type, 2*v.Size, v.Bits)
	} else if v.Kind == Integer && (v.Int > 9 || v.Int < 0) {
		out += fmt.Sprintf(" 0x%x", uint64(v.Int))
	}
	return out
}

// Decimal is the value in decimal.
func (v Value) Decimal() string {
	switch {
	case v.Unwritten:
		return "?"
	case v.Kind == Truth:
		return strconv.FormatBool(v.Int != 0)
	case v.Kind == Real:
		bits := 64
		if v.Type == "f32" {
			bits = 32
		}
		digits := -1
		if v.Size > 0 && v.Size < 4 {
			digits = 5
		}
		return strconv.FormatFloat(v.Float, 'g', digits, bits)
	case v.Unsigned:
		return strconv.FormatUint(uint64(v.Int), 10)
	}
	return strconv.FormatInt(v.Int, 10)
}

// real is the value as a floating-point number.
func (v Value) real() float64 {
	switch {
	case v.Kind == Real:
		return v.Float
	case v.Unsigned:
		return float64(uint64(v.Int))
	}
	return float64(v.Int)
}

// equal compares integers; one of n bytes without a sign of its own is equal to either reading of its bits.
func equal(a, b Value) bool {
	either := func(x, y Value) bool { return x.Size > 0 && x.Size < 8 && y.Int == int64(x.Bits) }
	if a.Int == b.Int {
		return a.Int >= 0 || a.Unsigned == b.Unsigned || a.Size > 0 || b.Size > 0
	}
	return either(a, b) || either(b, a)
}

// less orders integers.
func less(a, b Value) bool {
	switch {
	case a.Unsigned && b.Unsigned:
		return uint64(a.Int) < uint64(b.Int)
	case a.Unsigned && a.Int < 0: // above every signed one
		return false
	case b.Unsigned && b.Int < 0:
		return true
	}
	return a.Int < b.Int
}

var errZero = errors.New("division by zero")

// integer computes with integers; they wrap at 64 bits.
func integer(op string, a, b Value) (Value, error) {
	out := Value{Unsigned: a.Unsigned && b.Unsigned}
	x, y := a.Int, b.Int
	switch op {
	case "+":
		out.Int = x + y
	case "-":
		out.Int, out.Unsigned = x-y, false
	case "*":
		out.Int = x * y
	case "/", "%":
		switch {
		case y == 0:
			return out, errZero
		case y == -1: // the one quotient that does not fit wraps
			out.Int = -x
			if op == "%" {
				out.Int = 0
			}
		case op == "/":
			out.Int = x / y
		default:
			out.Int = x % y
		}
	case "&":
		out.Int = x & y
	case "|":
		out.Int = x | y
	case "^":
		out.Int = x ^ y
	case "<<", ">>":
		if y < 0 || y > 63 {
			return out, fmt.Errorf("shift by %d, expected 0 to 63", y)
		}
		if out.Unsigned = a.Unsigned; op == "<<" {
			out.Int = x << y
		} else if a.Size > 0 { // of a register: its bits
			out.Int = int64(a.Bits >> y)
		} else {
			out.Int = x >> y
		}
	}
	return out, nil
}

// float computes with floating-point numbers.
func float(op string, a, b float64) (Value, error) {
	out := Value{Kind: Real}
	switch op {
	case "+":
		out.Float = a + b
	case "-":
		out.Float = a - b
	case "*":
		out.Float = a * b
	case "/":
		out.Float = a / b
	default:
		return out, fmt.Errorf("%s needs integers: int(x) makes one, bits(x) reads the bits", op)
	}
	return out, nil
}

// compare compares two values.
func compare(op string, a, b Value) Value {
	var lt, eq bool
	if a.Kind == Real || b.Kind == Real {
		x, y := a.real(), b.real()
		if x != x || y != y {
			return True(op == "!=")
		}
		lt, eq = x < y, x == y
	} else {
		lt, eq = less(a, b), equal(a, b)
	}
	switch op {
	case "==":
		return True(eq)
	case "!=":
		return True(!eq)
	case "<":
		return True(lt && !eq)
	case "<=":
		return True(lt || eq)
	case ">":
		return True(!lt && !eq)
	}
	return True(!lt || eq)
}
