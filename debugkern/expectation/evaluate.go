package expectation

import (
	"math"
	"math/bits"
	"slices"
)

// Cell is an element of the output that an expectation is about.
type Cell struct {
	Element int // of the output, by flat index
	vars    []int64
}

// Element is an element of an argument, by flat index.
type Element struct{ Arg, At int }

// Set is what an element of the output is expected to be made of.
type Set struct {
	b  *Bound
	of map[Element]uint32 // by which terms: bits
	// Work is how many elements and combinations of variables were evaluated.
	Work int
}

// Size is the number of candidates that At has: values of the output's variables.
func (b *Bound) Size() int {
	n := int64(1)
	for _, v := range b.outer {
		if hi, lo := bits.Mul64(uint64(n), uint64(v.in)); hi != 0 || lo > math.MaxInt {
			return math.MaxInt
		} else {
			n = int64(lo)
		}
	}
	return int(n)
}

// Restricted reports whether conditions leave out some of the candidates.
func (b *Bound) Restricted() bool {
	return slices.ContainsFunc(b.tests, func(t test) bool { return !t.inner })
}

// At is candidate k; ok is false where a condition leaves it out. The error is an *Error: the element is none
// of the output, or a number is too large.
func (b *Bound) At(k int) (c Cell, ok bool, err error) {
	defer b.recover(&err)
	e := b.evaluator(make([]int64, len(b.scope)))
	for i := len(b.outer) - 1; i >= 0; i-- {
		v := b.outer[i]
		e.vars[v.at] = v.first + int64(k)%v.in*v.by
		k = int(int64(k) / v.in)
	}
	for i := range b.tests {
		if !b.tests[i].inner && !e.holds(b.tests[i].clause) {
			return c, false, nil
		}
	}
	extents := b.extents(b.out, &b.output)
	for i := range b.places {
		at := e.value(b.places[i].from)
		if at < 0 || at >= int64(extents[i]) {
			b.fail(b.places[i].col, "index %d lies outside %s, which has %d there", at, b.output.name,
				extents[i])
		}
		c.Element = c.Element*extents[i] + int(at)
	}
	c.vars = e.vars
	return c, true, nil
}

// maxSet is the most elements, with repeats, and combinations of variables of one set.
const maxSet = 1 << 24

// Want is the set of elements that a cell is expected to be made of. Ranges end where the argument does. The
// error is an *Error: a single index lies outside its argument, a step is not positive, a number is too
// large.
func (b *Bound) Want(c Cell) (s *Set, err error) {
	defer b.recover(&err)
	s = &Set{b: b, of: map[Element]uint32{}}
	for i := range b.terms {
		t := &b.terms[i]
		e := b.evaluator(slices.Clone(c.vars))
		b.over(e, s, t, 0, func() { b.add(e, s, t, 1<<i) })
	}
	return s, nil
}

// over gives the variables of a term, from the k-th on, each of their values in turn.
func (b *Bound) over(e *evaluator, s *Set, t *boundTerm, k int, do func()) {
	if k == len(t.over) {
		for _, i := range t.tests {
			if !e.holds(b.tests[i].clause) {
				return
			}
		}
		do()
		return
	}
	c := b.inner[t.over[k]]
	first, by, n := e.span(&c.span)
	for i := range n {
		if s.Work++; s.Work > maxSet {
			b.fail(c.col, "more than %d combinations of variables and elements for one element of %s", maxSet,
				b.output.name)
		}
		e.vars[b.scope[c.variable]] = first + i*by
		b.over(e, s, t, k+1, do)
	}
}

// add adds the elements of a term for the variables as they are.
func (b *Bound) add(e *evaluator, s *Set, t *boundTerm, bit uint32) {
	extents := b.extents(t.arg, &t.reference)
	type span struct{ first, by, n int64 }
	spans := make([]span, len(t.index))
	for i := range t.index {
		x, most := &t.index[i], int64(extents[i])
		switch {
		case x.all:
			spans[i] = span{0, 1, most}
		case x.to == nil:
			at := e.value(x.from)
			if at < 0 || at >= most {
				b.fail(x.col, "%s[%d] does not exist: it has %d there. Restrict the variables with for, or "+
					"write a range, which ends where the argument does", t.name, at, most)
			}
			spans[i] = span{at, 1, 1}
		default:
			first, by, n := e.span(x)
			if first < 0 { // the first one within the argument
				skip := (-first + by - 1) / by
				first, n = first+skip*by, n-skip
			}
			if left := (most - 1 - first + by) / by; first >= most {
				n = 0
			} else {
				n = min(n, left)
			}
			spans[i] = span{first, by, max(n, 0)}
		}
	}
	var fill func(i, at int)
	fill = func(i, at int) {
		if i == len(spans) {
			if s.Work++; s.Work > maxSet {
				b.fail(t.col, "more than %d combinations of variables and elements for one element of %s", maxSet,
					b.output.name)
			}
			s.of[Element{t.arg, at}] |= bit
			return
		}
		for k := range spans[i].n {
			fill(i+1, at*extents[i]+int(spans[i].first+k*spans[i].by))
		}
	}
	fill(0, 0)
}

func (b *Bound) recover(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// evaluator computes expressions. Mistakes are panics with an *Error.
type evaluator struct {
	b    *Bound
	vars []int64
}

func (b *Bound) evaluator(vars []int64) *evaluator { return &evaluator{b, vars} }

func (e *evaluator) value(x *expr) int64 {
	switch x.op {
	case "number":
		return x.n
	case "name":
		if at, known := e.b.scope[x.name]; known && at < len(e.vars) {
			return e.vars[at]
		}
		return e.b.fixed[x.name]
	case "neg":
		return e.whole("-", 0, e.value(x.args[0]), x.col)
	case "min", "max":
		v := e.value(x.args[0])
		for _, a := range x.args[1:] {
			if o := e.value(a); (o < v) == (x.op == "min") {
				v = o
			}
		}
		return v
	}
	return e.whole(x.op, e.value(x.args[0]), e.value(x.args[1]), x.col)
}

// whole applies an operator as C does: a quotient is rounded towards 0, a remainder has the dividend's sign.
func (e *evaluator) whole(op string, a, b int64, col int) int64 {
	over := false
	v := int64(0)
	switch op {
	case "+":
		v = a + b
		over = (v > a) != (b > 0) && b != 0
	case "-":
		v = a - b
		over = (v < a) != (b > 0) && b != 0
	case "*":
		v = a * b
		over = a != 0 && (v/a != b || a == -1 && b == math.MinInt64)
	default:
		if b == 0 {
			e.b.fail(col, "division by 0")
		}
		if over = a == math.MinInt64 && b == -1; over {
			break
		}
		if v = a % b; op == "/" {
			v = a / b
		}
	}
	if over {
		e.b.fail(col, "%d %s %d does not fit 64 bits", a, op, b)
	}
	return v
}

func (e *evaluator) holds(c *clause) bool {
	a, b := e.value(c.left), e.value(c.right)
	switch c.compare {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	}
	return a != b
}

// maxIndex is the largest number of a range: far above any index, and small enough to compute with.
const maxIndex = 1 << 48

// span is a range: its first number, its step and how many there are.
func (e *evaluator) span(x *index) (first, by, n int64) {
	first, by = e.value(x.from), 1
	last := e.value(x.to)
	if x.by != nil {
		by = e.value(x.by)
	}
	if by < 1 {
		e.b.fail(x.by.col, "a step of %d; expected one from 1 on", by)
	}
	for _, v := range []int64{first, last, by} {
		if v > maxIndex || v < -maxIndex {
			e.b.fail(x.col, "%d is no index", v)
		}
	}
	if x.open {
		last--
	}
	if last < first {
		return first, by, 0
	}
	return first, by, (last-first)/by + 1
}
