package needed

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Kind is a rule by which what an operation gave becomes what is needed.
type Kind int

// Kinds, the ones that say most first.
const (
	Exchanged Kind = iota // it is the operation with its two operands exchanged
	Constant              // a constant in the text is another
	Without               // it is one of its operands: the operation is too many
	Once                  // it is a sum, and has a term in it more often than once
	Exact                 // it is what it would be if an operation did not round
	Equal                 // it is what another value is, which has a name
	Operator              // it is what another operation gives of its two operands
	Function              // it is a function of what it was
	Fixed                 // it is one constant in every cell
	Result                // it is what another instruction gave
	Combined              // it is what it was, combined with another value: an operation is missing
	Scaled                // it is what it was times a constant that arithmetic has
	Partial               // it is a part of what the cell should be: how it is computed is wrong
)

// Explanation is one operation of which the numbers become the needed ones by one rule, in every wrong cell.
type Explanation struct {
	Kind  Kind
	Value *Value // whose numbers they are, in the first wrong cell
	User  *Value // that takes it, past moves; nil: it is the cell's own
	Arg   int    // the argument of User
	Cells int    // wrong cells in which the rule holds: all that have the operation
	Got   float64
	Need  Range   // in the first cell
	X     float64 // of Constant, Scaled and Fixed: the number
	Name  string  // of Equal and Combined: the other value; of Scaled and Fixed the number's name
	By    *Value  // of Result and Combined: the instruction that gave the other value; nil: Name has it
	Op    string  // of Combined and Operator: "mul", "add", "sub", "div", "max", "min"; of Function its name
	Which int     // of Without: the argument that alone is right
	// Where: of Once the addition of what is in the sum already; of Exact the operation, nil: all of Type.
	// By is what is in the sum Most times, in the first cell
	Where *Value
	Most  int
	// Product: of Once, By is an instruction that multiplies and adds, and what is in the sum is the product
	Product bool
	Leaves  []string // of Once: the names in what is in the sum; of Without: that of the other operand
	Lanes   bool     // of Once: Where adds what another lane has
	Type    ptx.Type // of Exact: what is rounded to
	// Some: the rule holds in the wrong cells, and cells that have the operation too are right without
	Some bool
	// Time is which of the Times that the operation is one of in the first cell, in the order of execution,
	// from 1: a loop that was unrolled, or goes round, has it several times
	Time, Times int
	depth       int
}

// leastCells is how many wrong cells a rule has to hold in: with fewer it may be chance.
const leastCells = 3

// loosest is the relative width of a range above which a number lies in it by chance.
const loosest = 0.02

// Explain lists the rules that hold in all wrong cells, the best first. names are constants that arithmetic
// has.
func Explain(cells []Cell, names []Known) []Explanation {
	var wrong, right []*numbers
	cells = numbersWhere(cells)
	for i := range cells {
		n := numbersOf(&cells[i])
		if n.cell.Wrong {
			wrong = append(wrong, n)
		} else {
			right = append(right, n)
		}
	}
	if len(wrong) < leastCells {
		return nil
	}
	var out []Explanation
	for _, k := range wrong[0].order {
		s := site{names: names, key: k}
		for _, n := range wrong {
			if at, ok := n.at[k]; ok && n.known[at] {
				s.wrong = append(s.wrong, point{n, at})
			}
		}
		for _, n := range right {
			if at, ok := n.at[k]; ok && n.known[at] {
				s.right = append(s.right, point{n, at})
			}
		}
		if len(s.wrong) != len(wrong) {
			continue
		}
		if s.telling() {
			out = append(out, s.rules()...)
		} else if s.proportional() {
			out = append(out, s.scaled()...)
		}
	}
	out = append(out, unrounded(wrong, right)...)
	slices.SortStableFunc(out, func(a, b Explanation) int {
		return cmp.Or(a.Compare(&b), compareBools(a.converts(), b.converts()), cmp.Compare(a.depth, b.depth))
	})
	return out
}

// numbersWhere leaves out wrong cells that are no numbers, where enough others are: those say nothing of what
// their values would have had to be.
func numbersWhere(cells []Cell) []Cell {
	none := func(c Cell) bool {
		got := c.Values[0].Got
		return c.Wrong && (math.IsNaN(got) || math.IsInf(got, 0))
	}
	left := slices.DeleteFunc(slices.Clone(cells), none)
	n := 0
	for i := range left {
		if left[i].Wrong {
			n++
		}
	}
	if n < leastCells {
		return cells
	}
	return left
}

// Compare is negative where an explanation says more than another.
func (e *Explanation) Compare(o *Explanation) int {
	return cmp.Or(compareBools(e.Some, o.Some), cmp.Compare(e.Kind, o.Kind))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// converts reports whether the value was only converted: what gave it before says more.
func (e *Explanation) converts() bool {
	return e.Value.Instr != nil && e.Value.Instr.Kind() == isa.Convert
}

// key is one value of a cell: its operation, and which of the values of that operation it is, the nearest to
// the cell first, from 1. What has one key in several cells is compared.
type key struct {
	of     string
	number int
}

// numbers is a cell with what its values should have been.
type numbers struct {
	cell  *Cell
	needs []Range
	known []bool
	order []key          // in the order of Values
	count map[string]int // how many values have a key's operation
	at    map[key]int    // the value of a key
	// sums takes the cell's sums apart
	sums *expansion
	user []int // by value: the one that takes it, past moves; -1
	arg  []int
}

func numbersOf(c *Cell) *numbers {
	n := &numbers{cell: c, at: map[key]int{}, count: map[string]int{}, sums: newExpansion(c)}
	n.needs, n.known = c.Needs()
	n.user, n.arg = make([]int, len(c.Values)), make([]int, len(c.Values))
	for i := range n.user {
		n.user[i] = -1
	}
	part := c.parts()
	for i := range c.Values { // users stand before what they use
		v := &c.Values[i]
		if !part[i] {
			continue
		}
		for _, o := range v.Operands {
			if n.user[o.Value], n.arg[o.Value] = i, o.Arg; v.Moves() {
				n.user[o.Value], n.arg[o.Value] = n.user[i], n.arg[i]
			}
		}
		if v.Moves() {
			continue
		}
		of := operationOf(v)
		if u := n.user[i]; v.Instr == nil && u >= 0 {
			of = fmt.Sprintf("%s<%s.%d", of, operationOf(&c.Values[u]), n.arg[i])
		}
		n.count[of]++
		k := key{of, n.count[of]}
		n.order = append(n.order, k)
		n.at[k] = i
	}
	return n
}

// leadsTo reports whether a value is another, or what that was made into on the way to the cell.
func (n *numbers) leadsTo(from, to int) bool {
	for ; from >= 0; from = n.user[from] {
		if from == to {
			return true
		}
	}
	return false
}

// operationOf is what values of copies of one operation have in common.
func operationOf(v *Value) string {
	switch {
	case v.Instr == nil:
		return v.Name
	case v.Instr.Loc == nil:
		return fmt.Sprintf("@%d.%d", v.At, v.Immediate)
	}
	return fmt.Sprintf("%s|%s.%d", v.Instr.Loc.Chain(), v.Instr.Opcode(), v.Immediate)
}

// point is one value of one cell.
type point struct {
	n  *numbers
	at int
}

func (p point) value() *Value { return &p.n.cell.Values[p.at] }
func (p point) need() Range   { return p.n.needs[p.at] }
func (p point) got() float64  { return p.value().Got }

// site is one operation in all cells.
type site struct {
	key          key
	wrong, right []point
	names        []Known
}

// telling reports whether the needed numbers say anything: nearly each excludes what was there, and most are
// narrow. A cell that is hardly wrong may leave a range that has both.
func (s *site) telling() bool {
	n, both := 0, 0
	for _, p := range s.wrong {
		if p.need().Has(p.got()) {
			both++
		}
		if narrow(p.need(), p.got()) {
			n++
		}
	}
	return 4*both <= len(s.wrong) && 2*n > len(s.wrong)
}

// proportional reports whether the needed numbers, each of which may be a wide range, are what was there
// times a number that all of them leave little choice of.
func (s *site) proportional() bool {
	by := Range{math.Inf(-1), math.Inf(1)}
	for _, p := range s.wrong {
		got := p.got()
		if p.need().Has(got) || got == 0 || math.IsNaN(got) {
			return false
		}
		both, ok := by.meet(p.need().by(func(x float64) float64 { return x / got }))
		if !ok {
			return false
		}
		by = both
	}
	return narrow(by, 1)
}

// all reports whether a number that each wrong cell has lies in what it needs, and whether right cells, as
// they are, contradict it.
func (s *site) all(x func(point) (float64, bool)) (holds, some bool) {
	for _, p := range s.wrong {
		if v, ok := x(p); !ok || !p.need().Has(v) {
			return false, false
		}
	}
	for _, p := range s.right {
		if v, ok := x(p); !ok || !p.need().Has(v) {
			return true, true
		}
	}
	return true, false
}

// scaled lists the constants that arithmetic has by which what was there is to be multiplied.
func (s *site) scaled() []Explanation {
	return slices.DeleteFunc(s.rules(), func(e Explanation) bool { return e.Kind != Scaled })
}

// rules lists the rules that hold at the site.
func (s *site) rules() []Explanation {
	first := s.wrong[0]
	v := first.value()
	base := Explanation{
		Value: v, Cells: len(s.wrong), Got: v.Got, Need: first.need(), depth: first.at,
		Arg: first.n.arg[first.at],
	}
	if u := first.n.user[first.at]; u >= 0 {
		base.User = &first.n.cell.Values[u]
	}
	base.Times = first.n.count[s.key.of]
	base.Time = base.Times + 1 - s.key.number // what is nearest to the cell was executed last
	var out []Explanation
	add := func(kind Kind, x func(point) (float64, bool), set func(*Explanation)) bool {
		holds, some := s.all(x)
		if holds {
			e := base
			e.Kind, e.Some = kind, some
			set(&e)
			out = append(out, e)
		}
		return holds
	}
	if v.Immediate > 0 {
		if x, ok := s.constant(); ok {
			add(Constant, func(point) (float64, bool) { return x, true }, func(e *Explanation) { e.X = x })
		}
		return out
	}
	if v.Instr != nil && (v.Op() == "sub" || v.Op() == "div") && len(v.Operands) == 2 {
		add(Exchanged, point.exchanged, func(*Explanation) {})
	}
	for _, o := range v.Operands {
		add(Without, func(p point) (float64, bool) { return p.operand(o.Arg) },
			func(e *Explanation) { e.Which, e.Leaves = o.Arg, first.n.dropped(v, o.Arg) })
	}
	s.once(add)
	for _, k := range first.n.cell.Known {
		kind := Equal
		if k.Part {
			kind = Partial
		}
		if add(kind, func(p point) (float64, bool) { return p.knownAs(k.Name) },
			func(e *Explanation) {
				if e.Name, e.X = k.Name, k.X; k.Part {
					e.depth = -e.depth // the farther from the cell, the nearer to what is wrong
				}
			}) && !k.Part {
			break
		}
	}
	s.operator(add)
	power := v.Instr != nil && (v.Op() == "ex2" || v.Op() == "exp")
	for _, f := range functions {
		if power && slices.Contains(scalesExponent, f.name) {
			continue
		}
		add(Function, func(p point) (float64, bool) { return f.of(p.got()), true },
			func(e *Explanation) { e.Op = f.name })
	}
	s.combined(add)
	for _, c := range s.names {
		if c.X != 1 && c.X != 0 {
			add(Scaled, func(p point) (float64, bool) { return p.got() * c.X, true },
				func(e *Explanation) { e.X, e.Name = c.X, c.Name })
		}
		if s.varies() {
			add(Fixed, func(point) (float64, bool) { return c.X, true },
				func(e *Explanation) { e.X, e.Name = c.X, c.Name })
		}
	}
	return out
}

// operator tries other operations of a value's two operands. One that gives a single one of them in all wrong
// cells is no other operation.
func (s *site) operator(add func(Kind, func(point) (float64, bool), func(*Explanation)) bool) {
	v := s.wrong[0].value()
	if v.Instr == nil || len(v.Operands) != 2 || evaluates[v.Op()].n != 2 {
		return
	}
	for _, op := range []string{"add", "mul", "sub", "div", "max", "min"} {
		if op == v.Op() {
			continue
		}
		result := func(p point) (float64, bool) {
			a, ok := p.operand(v.Operands[0].Arg)
			b, known := p.operand(v.Operands[1].Arg)
			return evaluates[op].of([]float64{a, b}), ok && known
		}
		one := [2]bool{true, true}
		for _, p := range s.wrong {
			x, _ := result(p)
			for i := range one {
				y, _ := p.operand(v.Operands[i].Arg)
				one[i] = one[i] && float32(x) == float32(y)
			}
		}
		if !one[0] && !one[1] {
			add(Operator, result, func(e *Explanation) { e.Op = op })
		}
	}
}

// once tries each term of a sum once in it. A sum that is part of another is taken apart with that.
func (s *site) once(add func(Kind, func(point) (float64, bool), func(*Explanation)) bool) {
	first := s.wrong[0]
	n := first.n
	if u := n.user[first.at]; !adds(first.value()) || u >= 0 && adds(&n.cell.Values[u]) {
		return
	}
	_, most, ok := n.sums.once(first.at)
	if !ok {
		return
	}
	add(Once, func(p point) (float64, bool) {
		x, _, ok := p.n.sums.once(p.at)
		return x, ok
	}, func(e *Explanation) {
		e.By, e.Most = &n.cell.Values[most.at], most.times
		_, _, e.Product = parts(e.By)
		e.Leaves = n.sums.leaves(most.at, e.Product)
		if at := n.sums.joins(first.at); at >= 0 {
			e.Where, e.Lanes = &n.cell.Values[at], n.sums.exchanged(at)
		}
	})
}

// unrounded finds the operation whose rounding makes the wrong cells wrong: each is right where that one
// gives its exact result, and wrong where all round. Where no single operation is it, it is all of one
// type.
func unrounded(wrong, right []*numbers) []Explanation {
	holds := func(list []*numbers, exact func(v *Value) bool) bool {
		return !slices.ContainsFunc(list, func(n *numbers) bool {
			return !n.cell.Want.Has(evaluated(n.cell, exact))
		})
	}
	first := wrong[0].cell
	if !slices.ContainsFunc(wrong, func(n *numbers) bool {
		return narrow(n.cell.Want, n.cell.Values[0].Got)
	}) || !holds(wrong, func(*Value) bool { return true }) {
		return nil
	}
	for _, n := range wrong {
		if n.cell.Want.Has(evaluated(n.cell, func(*Value) bool { return false })) {
			return nil
		}
	}
	for _, t := range []ptx.Type{ptx.E4M3, ptx.E5M2, ptx.BF16, ptx.F16, ptx.F32} {
		ofType := func(v *Value) bool { return v.Type == t && len(v.Operands) > 0 }
		if !holds(wrong, ofType) {
			continue
		}
		e := Explanation{Kind: Exact, Cells: len(wrong), Got: first.Values[0].Got, Need: first.Want, Type: t}
		e.Some = !holds(right, ofType)
		var tried []string
		for i := range first.Values {
			v := &first.Values[i]
			of := operationOf(v)
			if !ofType(v) || v.Moves() || slices.Contains(tried, of) {
				continue
			}
			if tried = append(tried, of); e.Value == nil {
				e.Value = v
			}
			if only := func(o *Value) bool { return ofType(o) && operationOf(o) == of }; holds(wrong, only) {
				e.Value, e.Where, e.Some = v, v, !holds(right, only)
				break
			}
		}
		if e.Value == nil {
			continue
		}
		for i := range first.Values {
			if v := &first.Values[i]; ofType(v) && operationOf(v) == operationOf(e.Value) {
				e.Times++
			}
		}
		return []Explanation{e}
	}
	return nil
}

// narrow reports whether a range says something of a number.
func narrow(r Range, got float64) bool {
	return r.Hi-r.Lo <= loosest*math.Max(math.Abs(got), math.Max(math.Abs(r.Lo), math.Abs(r.Hi)))
}

// exchanged is what a difference or quotient would be with its operands exchanged.
func (p point) exchanged() (float64, bool) {
	a, ok := p.operand(1)
	b, known := p.operand(2)
	if p.value().Op() == "sub" {
		return b - a, ok && known
	}
	return b / a, ok && known
}

// dropped is the name of the other operand of a value that has two; none where it has no name.
func (n *numbers) dropped(v *Value, arg int) []string {
	if len(v.Operands) != 2 {
		return nil
	}
	for _, o := range v.Operands {
		at := o.Value
		for n.cell.Values[at].Moves() {
			at = n.cell.Values[at].Operands[0].Value
		}
		if x := &n.cell.Values[at]; o.Arg != arg && x.Instr == nil && x.Name != "" {
			return []string{x.Name}
		}
	}
	return nil
}

// operand is the number that a value's instruction took as an argument.
func (p point) operand(arg int) (float64, bool) {
	for _, o := range p.value().Operands {
		if o.Arg == arg {
			x := p.n.cell.Values[o.Value].Got
			return x, !math.IsNaN(x)
		}
	}
	return 0, false
}

// knownAs is the cell's known value of a name.
func (p point) knownAs(name string) (float64, bool) {
	for _, k := range p.n.cell.Known {
		if k.Name == name {
			return k.X, true
		}
	}
	return 0, false
}

// varies reports whether what was there differs from cell to cell.
func (s *site) varies() bool {
	for _, p := range s.wrong[1:] {
		if p.got() != s.wrong[0].got() {
			return true
		}
	}
	return false
}

// constant is the number that all cells need where the text has another: one that arithmetic has, else the
// shortest in decimal digits.
func (s *site) constant() (float64, bool) {
	r := s.wrong[0].need()
	for _, p := range s.wrong {
		var ok bool
		if r, ok = r.meet(p.need()); !ok {
			return 0, false
		}
	}
	for _, c := range s.names {
		if r.Has(c.X) {
			return c.X, true
		}
	}
	return shortest(r), true
}

// shortest is the number of a range with the fewest decimal digits.
func shortest(r Range) float64 {
	middle := (r.Lo + r.Hi) / 2
	for digits := 1; digits < 17; digits++ {
		var x float64
		if _, err := fmt.Sscan(fmt.Sprintf("%.*g", digits, middle), &x); err == nil && r.Has(x) {
			return x
		}
	}
	return middle
}

// combined tries one operation more, with each known value of the cell and each that it is made of.
func (s *site) combined(add func(Kind, func(point) (float64, bool), func(*Explanation)) bool) {
	first := s.wrong[0]
	type other struct {
		name string
		by   *Value
		x    func(point) (float64, bool)
	}
	var list []other
	for _, k := range first.n.cell.Known {
		list = append(list, other{k.Name, nil, func(p point) (float64, bool) { return p.knownAs(k.Name) }})
	}
	for _, k := range first.n.order {
		at := first.n.at[k]
		v := &first.n.cell.Values[at]
		if v.Instr != nil && v.Immediate == 0 && !first.n.leadsTo(first.at, at) {
			list = append(list, other{"", v, func(p point) (float64, bool) {
				i, ok := p.n.at[k]
				if !ok || math.IsNaN(p.n.cell.Values[i].Got) {
					return 0, false
				}
				return p.n.cell.Values[i].Got, true
			}})
		}
	}
	for _, o := range list {
		if o.by != nil && add(Result, o.x, func(e *Explanation) { e.By = o.by }) {
			continue
		}
		for _, op := range operations {
			if add(Combined, func(p point) (float64, bool) {
				x, ok := o.x(p)
				return op.of(p.got(), x), ok
			}, func(e *Explanation) { e.Name, e.By, e.Op = o.name, o.by, op.name }) {
				break
			}
		}
	}
}

// functions are what a value may have to go through.
var functions = []struct {
	name string
	of   func(float64) float64
}{
	{"-x", func(x float64) float64 { return -x }},
	{"exp(x)", math.Exp}, {"2^x", math.Exp2}, {"log(x)", math.Log}, {"log2(x)", math.Log2},
	{"1/x", func(x float64) float64 { return 1 / x }}, {"|x|", math.Abs}, {"sqrt(x)", math.Sqrt},
	{"1/sqrt(x)", func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{"x*x", func(x float64) float64 { return x * x }},
}

// scalesExponent are functions that are another factor of an exponential's argument, which says more.
var scalesExponent = []string{"sqrt(x)", "1/sqrt(x)", "x*x", "1/x"}

// operations are what a value may have to be combined by.
var operations = []struct {
	name string
	of   func(a, b float64) float64
}{
	{"mul", func(a, b float64) float64 { return a * b }},
	{"div", func(a, b float64) float64 { return a / b }},
	{"add", func(a, b float64) float64 { return a + b }},
	{"sub", func(a, b float64) float64 { return a - b }},
}

// Site is the instruction where an explanation's rule belongs: the one that takes the value, where another
// value should be taken; else the one that gives it.
func (e *Explanation) Site() (in *ptx.Instr, at int) {
	v := e.Value
	if e.Where != nil {
		return e.Where.Instr, e.Where.At
	}
	if (e.Kind == Equal || e.Kind == Result) && e.User != nil || v.Instr == nil {
		v = e.User
	}
	if v == nil {
		return nil, -1
	}
	return v.Instr, v.At
}
