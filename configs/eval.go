package configs

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// value is a number: an integer as long as the arithmetic allows it, else a float64. Truth is "not zero".
type value struct {
	i     int64
	f     float64
	float bool
}

func intValue(i int64) value     { return value{i: i} }
func floatValue(f float64) value { return value{f: f, float: true} }
func boolValue(b bool) value {
	if b {
		return value{i: 1}
	}
	return value{}
}

func (v value) truth() bool { return v.i != 0 || v.float && v.f != 0 }

func (v value) real() float64 {
	if v.float {
		return v.f
	}
	return float64(v.i)
}

func (v value) String() string {
	if v.float {
		return fmt.Sprint(v.f)
	}
	return fmt.Sprint(v.i)
}

// whole returns v as an integer; a float that is one counts.
func (v value) whole() (int64, bool) {
	if !v.float {
		return v.i, true
	}
	if v.f != math.Trunc(v.f) || math.Abs(v.f) > 1<<53 {
		return 0, false
	}
	return int64(v.f), true
}

// eval computes an expression. A mistake (overflow, division by zero) is kept in the
// environment, the first one.
type eval func(*env) value

type env struct {
	vars     []value
	work     []*Expr // positions, in the manifest's order
	err      error
	elements *elementSource // of inputs; nil: none are known
	// steps counts the nodes that were evaluated, by all that share the counter; nil: nobody counts.
	steps *int64
}

// widened is the environment with room for n more names, those of a scope that was cloned
// from the manifest's.
func (e *env) widened(n int) *env {
	return &env{
		vars: append(append([]value(nil), e.vars...), make([]value, n)...), work: e.work, steps: e.steps,
		elements: e.elements,
	}
}

// maxSteps is how many nodes of expressions are evaluated to load a manifest, and to resolve it
// for a shape: seconds.
const maxSteps = 1 << 26

var errSteps = fmt.Errorf(
	"the manifest's expressions take more than %d steps to evaluate: simplify them, or name fewer variants and shapes",
	maxSteps)

// count adds the cost of an evaluation to the counter.
func (e *env) count(steps int64) {
	if e.steps == nil {
		return
	}
	if *e.steps += steps; *e.steps > maxSteps && e.err == nil {
		e.err = errSteps
	}
}

func (e *env) fail(format string, args ...any) value {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	return value{}
}

var errOverflow = errors.New("the result does not fit 64 bits")

func (e *env) overflow() value {
	if e.err == nil {
		e.err = errOverflow
	}
	return value{}
}

// finite is f as a value, unless it is out of range or not a number.
func (e *env) finite(f float64) value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return e.fail("the result is %v, not a finite number", f)
	}
	return floatValue(f)
}

// arith applies an arithmetic operator. Integers stay integers; a quotient is one if it is exact.
func (e *env) arith(op string, a, b value) value {
	if op == "**" {
		return e.power(a, b)
	}
	if !a.float && !b.float {
		return e.whole(op, a.i, b.i)
	}
	x, y := a.real(), b.real()
	switch op {
	case "+":
		return e.finite(x + y)
	case "-":
		return e.finite(x - y)
	case "*":
		return e.finite(x * y)
	case "/":
		if y == 0 {
			return e.fail("division by zero")
		}
		return e.finite(x / y)
	}
	return e.fail("%% wants whole numbers, not %v and %v", a, b)
}

func (e *env) whole(op string, a, b int64) value {
	switch op {
	case "+":
		if s := a + b; (s > a) == (b > 0) {
			return intValue(s)
		}
		return e.overflow()
	case "-":
		if s := a - b; (s < a) == (b > 0) {
			return intValue(s)
		}
		return e.overflow()
	case "*":
		return e.product(a, b)
	}
	switch {
	case b == 0:
		return e.fail("division by zero")
	case b == -1 && a == math.MinInt64:
		return e.overflow()
	case op == "%":
		return intValue(a % b)
	case a%b == 0:
		return intValue(a / b)
	}
	return floatValue(float64(a) / float64(b))
}

func (e *env) product(a, b int64) value {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return e.overflow()
	}
	if (a < 0) != (b < 0) {
		return intValue(-int64(lo))
	}
	return intValue(int64(lo))
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func (e *env) power(a, b value) value {
	if a.float || b.float || b.i < 0 {
		return e.finite(math.Pow(a.real(), b.real()))
	}
	out := intValue(1)
	if a.i >= -1 && a.i <= 1 { // no overflow, so no other end to the loop
		b.i = min(b.i, 2+b.i&1)
	}
	for range b.i {
		if out = e.product(out.i, a.i); e.err != nil {
			return value{}
		}
	}
	return out
}

func compare(op string, a, b value) bool {
	c := 0
	if !a.float && !b.float {
		c = cmp(a.i, b.i)
	} else {
		c = cmp(a.real(), b.real())
	}
	switch op {
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func cmp[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// function is what an expression may call; args is -1 for any number from one on.
type function struct {
	args int
	do   func(e *env, a []value) value
}

var functions = map[string]function{
	"ceil_div": {2, func(e *env, a []value) value { return e.divide(a[0], a[1], true) }},
	"div":      {2, func(e *env, a []value) value { return e.divide(a[0], a[1], false) }},
	"min":      {-1, func(_ *env, a []value) value { return pick(a, "<") }},
	"max":      {-1, func(_ *env, a []value) value { return pick(a, ">") }},
	"abs": {1, func(e *env, a []value) value {
		if a[0].real() < 0 {
			return e.arith("-", intValue(0), a[0])
		}
		return a[0]
	}},
	"xor": {2, func(e *env, a []value) value {
		x, okx := a[0].whole()
		y, oky := a[1].whole()
		if !okx || !oky || x < 0 || y < 0 {
			return e.fail("xor wants whole numbers from 0 on, not %v and %v", a[0], a[1])
		}
		return intValue(x ^ y)
	}},
	"sqrt":  {1, func(e *env, a []value) value { return e.finite(math.Sqrt(a[0].real())) }},
	"pow":   {2, func(e *env, a []value) value { return e.power(a[0], a[1]) }},
	"log2":  {1, func(e *env, a []value) value { return e.finite(math.Log2(a[0].real())) }},
	"ceil":  {1, rounding(math.Ceil)},
	"floor": {1, rounding(math.Floor)},
	"round": {1, rounding(math.RoundToEven)},
}

func pick(a []value, op string) value {
	best := a[0]
	for _, v := range a[1:] {
		if compare(op, v, best) {
			best = v
		}
	}
	return best
}

func rounding(f func(float64) float64) func(*env, []value) value {
	return func(_ *env, a []value) value {
		if !a[0].float {
			return a[0]
		}
		return floatValue(f(a[0].f))
	}
}

// divide is the integer quotient rounded up or down.
func (e *env) divide(a, b value, up bool) value {
	x, okx := a.whole()
	y, oky := b.whole()
	switch {
	case !okx || !oky:
		return e.fail("a whole quotient wants whole numbers, not %v and %v", a, b)
	case y == 0:
		return e.fail("division by zero")
	case y == -1 && x == math.MinInt64:
		return e.overflow()
	}
	q, r := x/y, x%y
	switch {
	case r != 0 && up && (r < 0) == (y < 0):
		q++
	case r != 0 && !up && (r < 0) != (y < 0):
		q--
	}
	return intValue(q)
}

// value evaluates the expression in e, clearing the environment's error.
func (x *Expr) value(e *env) (value, *Error) {
	e.err = nil
	if e.count(x.steps); e.err != nil {
		return value{}, x.fail("%v", e.err)
	}
	v := x.eval(e)
	if e.err != nil {
		return value{}, x.fail("%q: %v", clip(x.Text), e.err)
	}
	if v.float && (math.IsNaN(v.f) || math.IsInf(v.f, 0)) {
		return value{}, x.fail("%q is %v, not a finite number", clip(x.Text), v)
	}
	return v, nil
}

// integer evaluates to a whole number within [lo, hi].
func (x *Expr) integer(e *env, lo, hi int64) (int, *Error) {
	v, err := x.value(e)
	if err != nil {
		return 0, err
	}
	i, ok := v.whole()
	if !ok {
		return 0, x.fail("%q is %v; expected a whole number", clip(x.Text), v)
	}
	if i < lo || i > hi {
		return 0, x.fail("%q is %d; expected %d to %d", clip(x.Text), i, lo, hi)
	}
	return int(i), nil
}
