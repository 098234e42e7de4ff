package ptx

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// constant is the value of a constant expression: an integer, or the bits of a float literal.
type constant struct {
	kind     OperandKind // OpInt, OpF32, OpF64
	bits     uint64
	unsigned bool
}

// intLiteral reads a PTX integer: decimal, 0x, 0b or octal, with an optional U. One that
// exceeds int64 is unsigned.
func intLiteral(text string) (constant, string) {
	c := constant{kind: OpInt}
	digits := text
	if n := len(digits); n > 1 && (digits[n-1] == 'U' || digits[n-1] == 'u') {
		c.unsigned = true
		digits = digits[:n-1]
	}
	var v uint64
	if len(digits) < 19 && digits[0] != '0' || digits == "0" {
		for i := 0; i < len(digits); i++ {
			if digits[i] < '0' || digits[i] > '9' {
				return c, "malformed integer " + text
			}
			v = v*10 + uint64(digits[i]-'0')
		}
	} else {
		var err error
		if v, err = strconv.ParseUint(strings.ToLower(digits), 0, 64); err != nil ||
			strings.Contains(digits, "_") {
			return c, "malformed integer " + text
		}
	}
	c.bits = v
	c.unsigned = c.unsigned || v > math.MaxInt64
	return c, ""
}

// floatLiteral reads 0f and eight hex digits, 0d and sixteen, or a decimal number, which is an f64.
func floatLiteral(text string) (constant, string) {
	if len(text) > 1 && text[0] == '0' {
		switch text[1] {
		case 'f', 'F':
			v, err := strconv.ParseUint(text[2:], 16, 32)
			if err != nil || len(text) != 10 {
				return constant{}, "malformed f32 literal " + text + ": want 0f and 8 hexadecimal digits"
			}
			return constant{kind: OpF32, bits: v}, ""
		case 'd', 'D':
			v, err := strconv.ParseUint(text[2:], 16, 64)
			if err != nil || len(text) != 18 {
				return constant{}, "malformed f64 literal " + text + ": want 0d and 16 hexadecimal digits"
			}
			return constant{kind: OpF64, bits: v}, ""
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Contains(text, "_") {
		return constant{}, "malformed number " + text
	}
	return constant{kind: OpF64, bits: math.Float64bits(v)}, ""
}

// binaryPrec is the precedence of a binary operator of constant expressions, 0 for none. ISA 4.5.
func binaryPrec(t token) int {
	if t.kind != tokPunct {
		return 0
	}
	switch t.text {
	case "*", "/", "%":
		return 10
	case "+", "-":
		return 9
	case "<<", ">>":
		return 8
	case "<", ">", "<=", ">=":
		return 7
	case "==", "!=":
		return 6
	case "&":
		return 5
	case "^":
		return 4
	}
	return 0
}

// constExpr parses a constant expression. `|` is left alone: in operand position it separates a pair.
func (p *parser) constExpr(prec int) constant {
	p.enter()
	defer p.leave()
	a := p.constUnary()
	for {
		t := p.tok
		q := binaryPrec(t)
		if q == 0 || q < prec {
			return a
		}
		p.advance()
		b := p.constExpr(q + 1)
		if p.bad {
			return a
		}
		if a.kind != OpInt || b.kind != OpInt {
			p.errorAt(t, "arithmetic on float literals is not supported")
			return a
		}
		v, msg := evalBinary(t.text, a, b)
		if msg != "" {
			p.errorAt(t, msg)
			return a
		}
		a = v
	}
}

func (p *parser) constUnary() constant {
	t := p.tok
	switch {
	case t.kind == tokInt:
		p.advance()
		c, msg := intLiteral(t.text)
		if msg != "" {
			p.errorAt(t, msg)
		}
		return c
	case t.kind == tokFloat:
		p.advance()
		c, msg := floatLiteral(t.text)
		if msg != "" {
			p.errorAt(t, msg)
		}
		return c
	case p.is('-'), p.is('~'), p.is('!'), p.is('+'):
		p.enter()
		defer p.leave()
		p.advance()
		return p.negate(t, p.constUnary())
	case p.is('('):
		p.advance()
		if p.tok.kind == tokDot { // (.s64) and (.u64) casts
			c := p.tok.text
			p.advance()
			p.expect(')', "after cast")
			v := p.constUnary()
			v.unsigned = c == "u64"
			return v
		}
		c := p.constExpr(1)
		p.expect(')', "in constant expression")
		return c
	case t.kind == tokIdent && t.text == "WARP_SZ":
		p.advance()
		return constant{kind: OpInt, bits: 32, unsigned: true}
	}
	p.errorAt(t, "expected a constant, found "+t.describe())
	return constant{kind: OpInt}
}

func (p *parser) negate(op token, c constant) constant {
	if c.kind != OpInt {
		switch {
		case op.ch == '-' && c.kind == OpF32:
			c.bits ^= 1 << 31
		case op.ch == '-':
			c.bits ^= 1 << 63
		case op.ch != '+':
			p.errorAt(op, "operator "+op.text+" does not apply to a float")
		}
		return c
	}
	switch op.ch {
	case '-':
		c.bits = -c.bits
		c.unsigned = c.unsigned && c.bits != 0 && c.bits>>63 == 0
	case '~':
		c.bits = ^c.bits
	case '!':
		c.bits, c.unsigned = boolBit(c.bits == 0), false
	}
	return c
}

func evalBinary(op string, a, b constant) (constant, string) {
	u := a.unsigned || b.unsigned
	r := constant{kind: OpInt, unsigned: u}
	x, y := a.bits, b.bits
	less := func(x, y uint64) bool {
		if u {
			return x < y
		}
		return int64(x) < int64(y)
	}
	switch op {
	case "*":
		r.bits = x * y
	case "/", "%":
		switch {
		case y == 0:
			return r, "division by zero in a constant expression"
		case u:
			q, m := bits.Div64(0, x, y)
			r.bits = pick(op == "/", q, m)
		case int64(y) == -1: // the one overflow of signed division
			r.bits = pick(op == "/", -x, 0)
		default:
			r.bits = pick(op == "/", uint64(int64(x)/int64(y)), uint64(int64(x)%int64(y)))
		}
	case "+":
		r.bits = x + y
	case "-":
		r.bits = x - y
	case "<<":
		r.bits, r.unsigned = x<<min(y, 64), a.unsigned
	case ">>":
		r.unsigned = a.unsigned
		if r.bits = x >> min(y, 64); !a.unsigned {
			r.bits = uint64(int64(x) >> min(y, 63))
		}
	case "&":
		r.bits = x & y
	case "^":
		r.bits = x ^ y
	default:
		truth := map[string]bool{"<": less(x, y), ">": less(y, x), "<=": !less(y, x), ">=": !less(x, y),
			"==": x == y, "!=": x != y}[op]
		r.bits, r.unsigned = boolBit(truth), false
	}
	return r, ""
}

func pick(first bool, a, b uint64) uint64 {
	if first {
		return a
	}
	return b
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
