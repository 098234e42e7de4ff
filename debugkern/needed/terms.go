package needed

import (
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// A sum is taken apart into its terms: what is added up in it, each with how often. Two terms are the same
// where they were made by the same operations of the same constants, elements and captured cells, in
// whichever lane: so a term that enters a sum twice differs from two equal numbers.

// expansion is a cell whose sums are taken apart.
type expansion struct {
	c   *Cell
	ids []int          // by value: equal for values that are the same; 0: not numbered yet
	of  map[string]int // the number of a description
}

func newExpansion(c *Cell) *expansion {
	return &expansion{c: c, ids: make([]int, len(c.Values)), of: map[string]int{}}
}

// id numbers a value by what it is made of.
func (x *expansion) id(i int) int {
	if x.ids[i] > 0 {
		return x.ids[i]
	}
	v := &x.c.Values[i]
	x.ids[i] = -1 // a value is never made of itself
	text := ""
	switch {
	case v.Moves():
		x.ids[i] = x.id(v.Operands[0].Value)
		return x.ids[i]
	case v.Source != 0:
		text = fmt.Sprintf("source %d", v.Source)
	case v.Immediate > 0 && !math.IsNaN(v.Got):
		text = fmt.Sprintf("number %x", math.Float64bits(v.Got))
	case v.Instr == nil || len(v.Operands) == 0 || v.Instr.Kind().Product():
		text = fmt.Sprintf("value %d", i) // of which nothing more is known: it is only itself
	default:
		text = v.Instr.Opcode()
		for _, o := range v.Operands {
			text += fmt.Sprintf(" %d:%d", o.Arg, x.id(o.Value))
		}
	}
	return x.number(i, text)
}

// number gives a description its number.
func (x *expansion) number(i int, text string) int {
	n, known := x.of[text]
	if !known {
		n = len(x.of) + 1
		x.of[text] = n
	}
	if i >= 0 {
		x.ids[i] = n
	}
	return n
}

// parts are the operands of a value that it adds up, each with its sign. product tells that the first two
// operands are multiplied first, which is a term of its own.
func parts(v *Value) (add []Operand, sign []int, product bool) {
	switch {
	case v.Moves():
		return v.Operands, []int{1}, false
	case v.Instr == nil || v.Immediate > 0:
		return nil, nil, false
	case v.Op() == "add" && len(v.Operands) == 2:
		return v.Operands, []int{1, 1}, false
	case v.Op() == "sub" && len(v.Operands) == 2:
		return v.Operands, []int{1, -1}, false
	case v.Op() == "neg" && len(v.Operands) == 1:
		return v.Operands, []int{-1}, false
	case (v.Op() == "fma" || v.Op() == "mad") && len(v.Operands) == 3:
		return v.Operands[2:], []int{1}, true
	case v.Op() == "cvt" && len(v.Operands) == 1 && widens(v):
		return v.Operands, []int{1}, false
	}
	return nil, nil, false
}

// widens reports whether a conversion keeps the number as it is.
func widens(v *Value) bool {
	t := v.Instr.Types()
	if len(t) < 2 {
		return false
	}
	to, from := t[0].Single(), t[len(t)-1].Single()
	return to.Float() && from.Float() && to.Bits() >= from.Bits()
}

// adds reports whether a value is a sum.
func adds(v *Value) bool {
	_, _, product := parts(v)
	return product || v.Instr != nil && (v.Op() == "add" || v.Op() == "sub") && !v.Moves()
}

// term is one summand of a sum.
type term struct {
	id, times int
	x         float64
	at        int // a value that is it, or the fma of which it is the product
}

// terms takes the sum that a value is apart. order lists the sums within it, what is added up first first.
func (x *expansion) terms(root int) (list []term, order []int) {
	seen := map[int]bool{}
	var visit func(i int)
	visit = func(i int) { // operands before what adds them
		seen[i] = true
		add, _, _ := parts(&x.c.Values[i])
		for _, o := range add {
			if !seen[o.Value] {
				visit(o.Value)
			}
		}
		order = append(order, i)
	}
	visit(root)
	times := map[int]int{root: 1}
	at := map[int]int{} // by id: in list
	note := func(id, n, i int, number float64) {
		k, known := at[id]
		if !known {
			k = len(list)
			at[id] = k
			list = append(list, term{id: id, x: number, at: i})
		}
		list[k].times += n
	}
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		v := &x.c.Values[i]
		add, sign, product := parts(v)
		if product {
			id, number := x.product(v)
			note(id, times[i], i, number)
		} else if len(add) == 0 {
			note(x.id(i), times[i], i, v.Got)
		}
		for j, o := range add {
			times[o.Value] += sign[j] * times[i]
		}
	}
	return list, order
}

// product is the product of the first two operands of a value, and its number.
func (x *expansion) product(v *Value) (id int, number float64) {
	a, b := v.Operands[0].Value, v.Operands[1].Value
	return x.number(-1, fmt.Sprintf("product %d %d", x.id(a), x.id(b))), x.c.Values[a].Got * x.c.Values[b].Got
}

// once is what a sum would be if each of its terms were in it once, and the most often that one is. ok is
// false where that is what it is, and where its terms are not known.
func (x *expansion) once(root int) (sum float64, most term, ok bool) {
	list, _ := x.terms(root)
	now, scale := 0.0, 0.0
	for _, t := range list {
		now += float64(t.times) * t.x
		scale += math.Abs(float64(t.times) * t.x)
		switch {
		case t.times > 1:
			sum += t.x
		case t.times < -1:
			sum -= t.x
		default:
			sum += float64(t.times) * t.x
		}
		if t.x != 0 && t.times > most.times {
			most = t
		}
	}
	const exact = 1e-3 // of what is added up: more than any rounding makes of it
	return sum, most, most.times > 1 && math.Abs(now-x.c.Values[root].Got) <= exact*scale
}

// leaves are the names in what a value is made of, as far as it is one term.
func (x *expansion) leaves(i int, product bool) (names []string) {
	seen := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		v := &x.c.Values[i]
		if seen[i] {
			return
		}
		if seen[i] = true; v.Name != "" && v.Source > 0 && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
		for k, o := range v.Operands {
			if !product || k < 2 {
				visit(o.Value)
			}
			product = product && k < 2
		}
	}
	visit(i)
	return names
}

// exchanged reports whether an operand of a value comes from another lane.
func (x *expansion) exchanged(i int) bool {
	for _, o := range x.c.Values[i].Operands {
		for at := o.Value; x.c.Values[at].Moves(); at = x.c.Values[at].Operands[0].Value {
			if x.c.Values[at].Instr.Kind() == isa.Shuffle {
				return true
			}
		}
	}
	return false
}

// joins is the first addition of a sum both of whose operands have a term in common; -1 where there is none.
func (x *expansion) joins(root int) int {
	_, order := x.terms(root)
	in := map[int]map[int]bool{} // by value: the numbers of its terms
	for _, i := range order {
		v := &x.c.Values[i]
		add, _, product := parts(v)
		mine := map[int]bool{}
		switch {
		case product:
			id, n := x.product(v)
			mine[id] = n != 0
		case len(add) == 0 && v.Got != 0:
			mine[x.id(i)] = true
		}
		for _, o := range add {
			for id := range in[o.Value] {
				if mine[id] {
					return i
				}
				mine[id] = true
			}
		}
		in[i] = mine
	}
	return -1
}

// evaluation works a cell out again, with operations that round or not.
type evaluation struct {
	c      *Cell
	exact  func(v *Value) bool // whether an operation gives its exact result; else it is rounded to its type
	number []float64
	made   []bool
}

// evaluated is what a cell would be where the operations of which exact holds do not round.
func evaluated(c *Cell, exact func(v *Value) bool) float64 {
	e := evaluation{c, exact, make([]float64, len(c.Values)), make([]bool, len(c.Values))}
	return e.value(0)
}

func (e *evaluation) value(i int) float64 {
	if e.made[i] {
		return e.number[i]
	}
	v := &e.c.Values[i]
	x := e.apply(v)
	if v.Instr != nil && computes(v.Instr.Kind()) && len(v.Operands) > 0 && !e.exact(v) {
		x = rounded(v.Type, x)
	}
	e.number[i], e.made[i] = x, true
	return x
}

// apply is what a value's operation gives for what its operands are now; what the kernel got, where it is
// none that can be worked out.
func (e *evaluation) apply(v *Value) float64 {
	if v.Moves() {
		return e.value(v.Operands[0].Value)
	}
	if v.Instr == nil || v.Immediate > 0 || len(v.Operands) == 0 {
		return v.Got
	}
	x := make([]float64, len(v.Operands))
	for k, o := range v.Operands {
		x[k] = e.value(o.Value)
	}
	if v.Instr.Kind().Product() {
		return v.Got - e.c.Values[v.Operands[0].Value].Got + x[0]
	}
	f, known := evaluates[v.Op()]
	if known && f.n == len(x) && !v.Instr.Has("sat") && !v.Instr.Has("relu") {
		return f.of(x)
	}
	return v.Got
}

// evaluates are the operations that are worked out again, with how many operands each has.
var evaluates = map[string]struct {
	n  int
	of func(x []float64) float64
}{
	"add":   {2, func(x []float64) float64 { return x[0] + x[1] }},
	"sub":   {2, func(x []float64) float64 { return x[0] - x[1] }},
	"mul":   {2, func(x []float64) float64 { return x[0] * x[1] }},
	"div":   {2, func(x []float64) float64 { return x[0] / x[1] }},
	"fma":   {3, func(x []float64) float64 { return x[0]*x[1] + x[2] }},
	"mad":   {3, func(x []float64) float64 { return x[0]*x[1] + x[2] }},
	"max":   {2, func(x []float64) float64 { return math.Max(x[0], x[1]) }},
	"min":   {2, func(x []float64) float64 { return math.Min(x[0], x[1]) }},
	"neg":   {1, func(x []float64) float64 { return -x[0] }},
	"abs":   {1, func(x []float64) float64 { return math.Abs(x[0]) }},
	"exp":   {1, func(x []float64) float64 { return math.Exp(x[0]) }},
	"ex2":   {1, func(x []float64) float64 { return math.Exp2(x[0]) }},
	"lg2":   {1, func(x []float64) float64 { return math.Log2(x[0]) }},
	"rcp":   {1, func(x []float64) float64 { return 1 / x[0] }},
	"sqrt":  {1, func(x []float64) float64 { return math.Sqrt(x[0]) }},
	"rsqrt": {1, func(x []float64) float64 { return 1 / math.Sqrt(x[0]) }},
	"tanh":  {1, func(x []float64) float64 { return math.Tanh(x[0]) }},
	"cvt":   {1, func(x []float64) float64 { return x[0] }},
}

// rounded is a number as a type has it, to nearest.
func rounded(t ptx.Type, x float64) float64 {
	switch t {
	case ptx.F32:
		return float64(float32(x))
	case ptx.F16, ptx.F16x2:
		return toBits(x, 11, -24)
	case ptx.BF16, ptx.BF16x2:
		return toBits(x, 8, -133)
	}
	return x
}

// toBits rounds to so many significant bits, the last of which is worth at least 2^least.
func toBits(x float64, bits, least int) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	unit := math.Ldexp(1, max(e-bits, least))
	return math.RoundToEven(x/unit) * unit
}
