package needed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tilescope/debugkern/ptx"
)

// operator is an instruction of one or two float operands, with what it gives.
type operator struct {
	in *ptx.Instr
	of func(x []float64) float64
	n  int
}

func instr(op string, mods ...string) *ptx.Instr {
	in := &ptx.Instr{Op: op, Mods: append(mods, "f32")}
	for range 4 {
		in.Args = append(in.Args, ptx.Operand{Kind: ptx.OpReg})
	}
	return in
}

var operators = []operator{
	{instr("add", "rn"), func(x []float64) float64 { return x[0] + x[1] }, 2},
	{instr("sub", "rn"), func(x []float64) float64 { return x[0] - x[1] }, 2},
	{instr("mul", "rn"), func(x []float64) float64 { return x[0] * x[1] }, 2},
	{instr("div", "rn"), func(x []float64) float64 { return x[0] / x[1] }, 2},
	{instr("fma", "rn"), func(x []float64) float64 { return x[0]*x[1] + x[2] }, 3},
	{instr("ex2", "approx"), func(x []float64) float64 { return math.Exp2(x[0]) }, 1},
	{instr("lg2", "approx"), func(x []float64) float64 { return math.Log2(x[0]) }, 1},
	{instr("neg"), func(x []float64) float64 { return -x[0] }, 1},
	{instr("rcp", "rn"), func(x []float64) float64 { return 1 / x[0] }, 1},
	{instr("sqrt", "rn"), func(x []float64) float64 { return math.Sqrt(x[0]) }, 1},
	{instr("rsqrt", "approx"), func(x []float64) float64 { return 1 / math.Sqrt(x[0]) }, 1},
	{instr("tanh", "approx"), func(x []float64) float64 { return math.Tanh(x[0]) }, 1},
}

// tree makes a random expression, each value used once, and returns its root. Values are numbered from the
// root on, as Cell has them.
func tree(r *rand.Rand, c *Cell, ops *[]*operator, depth int) int {
	at := len(c.Values)
	c.Values = append(c.Values, Value{At: at, Got: 0.5 + r.Float64(), Type: ptx.F32, Name: "leaf"})
	*ops = append(*ops, nil)
	if depth == 0 {
		return at
	}
	op := &operators[r.IntN(len(operators))]
	(*ops)[at], c.Values[at].Instr, c.Values[at].Name = op, op.in, ""
	for k := range op.n {
		to := tree(r, c, ops, depth-1)
		c.Values[at].Operands = append(c.Values[at].Operands, Operand{Arg: k + 1, Value: to})
	}
	c.Values[at].Got = compute(c, *ops, at)
	return at
}

func compute(c *Cell, ops []*operator, at int) float64 {
	var x []float64
	for _, o := range c.Values[at].Operands {
		x = append(x, c.Values[o.Value].Got)
	}
	return ops[at].of(x)
}

// TestNeeds spoils one value of a random expression, and asks what it would have had to be: what it was.
func TestNeeds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	asked := 0
	for range 20000 {
		var c Cell
		var ops []*operator
		tree(r, &c, &ops, 1+r.IntN(4))
		want := c.Values[0].Got
		was := slices.Clone(c.Values)
		spoilt := r.IntN(len(c.Values))
		c.Values[spoilt].Got *= 1 + 0.1*r.Float64()
		for at := spoilt - 1; at >= 0; at-- { // what it is made into, from it to the root
			if ops[at] != nil {
				c.Values[at].Got = compute(&c, ops, at)
			}
		}
		if math.IsNaN(want-want) || math.IsNaN(c.Values[0].Got-c.Values[0].Got) { // no numbers, or infinite
			continue
		}
		e := math.Abs(want) * 1e-6
		c.Want = Range{want - e, want + e}
		needs, known := c.Needs()
		if !known[spoilt] {
			continue
		}
		asked++
		if x := was[spoilt].Got; !needs[spoilt].Has(x) {
			t.Fatalf("value %d of %d was %v, and %v is said to be needed of it\n%+v", spoilt, len(c.Values),
				x, needs[spoilt], c.Values)
		}
	}
	if asked < 10000 {
		t.Errorf("only %d of 20000 expressions could be followed to the value", asked)
	}
}

// TestNeedsStopsWhereSeveralUseAValue follows x*x: what one factor would have to be says nothing of x.
func TestNeedsStopsWhereSeveralUseAValue(t *testing.T) {
	c := Cell{Want: Range{8.9, 9.1}, Values: []Value{
		{Instr: instr("mul", "rn"), Got: 4, Type: ptx.F32, Operands: []Operand{{1, 1}, {2, 1}}},
		{Got: 2, Type: ptx.F32, Name: "x"},
	}}
	if _, known := c.Needs(); known[1] {
		t.Error("a value that is used twice has a needed range")
	}
}

// row is a cell that has d = (x-y)*k, then 2^d, times z.
func row(x, y, k, z float64) Cell {
	d := (x - y) * k
	return Cell{Wrong: true, Values: []Value{
		{Instr: instr("mul", "rn"), Got: math.Exp2(d) * z, Type: ptx.F32,
			Operands: []Operand{{1, 1}, {2, 2}}},
		{Instr: instr("ex2", "approx"), At: 1, Got: math.Exp2(d), Type: ptx.F32, Operands: []Operand{{1, 3}}},
		{Got: z, Type: ptx.F32, Name: "z"},
		{Instr: instr("mul", "rn"), At: 2, Got: d, Type: ptx.F32, Operands: []Operand{{1, 4}, {2, 5}}},
		{Instr: instr("sub", "rn"), At: 3, Got: x - y, Type: ptx.F32, Operands: []Operand{{1, 6}, {2, 7}}},
		{Instr: instr("mul", "rn"), At: 2, Immediate: 2, Got: k, Type: ptx.F32},
		{Got: x, Type: ptx.F32, Name: "x"}, {Got: y, Type: ptx.F32, Name: "y"},
	}}
}

// TestExplain breaks one operation of (2^((x-y)*k))*z, and expects the rule that repairs it first.
func TestExplain(t *testing.T) {
	names := []Known{{Name: "log2(e)", X: math.Log2E}, {Name: "0", X: 0}, {Name: "2", X: 2}}
	cases := []struct {
		name string
		want func(x, y, k, z, other float64) float64
		kind Kind
		at   int
		text func(e Explanation) string
		says string
	}{
		{"another constant", func(x, y, k, z, _ float64) float64 { return math.Exp2((x-y)*1.25) * z },
			Constant, 2,
			func(e Explanation) string { return fmt.Sprint(e.X) }, "1.25"},
		{"exchanged", func(x, y, k, z, _ float64) float64 { return math.Exp2((y-x)*k) * z },
			Exchanged, 3, nil, ""},
		{"a factor too many", func(x, y, k, z, _ float64) float64 { return math.Exp2((x - y) * k) },
			Without, 0,
			func(e Explanation) string { return fmt.Sprint(e.Which) }, "1"},
		{"another value", func(x, y, k, z, o float64) float64 { return math.Exp2((x-o)*k) * z }, Equal, 3,
			func(e Explanation) string { return e.Name }, "other"},
		{"another operation", func(x, y, k, z, _ float64) float64 { return math.Exp2((x+y)*k) * z },
			Operator, 3,
			func(e Explanation) string { return e.Op }, "add"},
		{"a function", func(x, y, k, z, _ float64) float64 { return math.Exp2((x-math.Sqrt(y))*k) * z },
			Function, 3,
			func(e Explanation) string { return e.Op }, "sqrt(x)"},
		{"nothing", func(x, y, k, z, _ float64) float64 { return 0 }, Fixed, 0,
			func(e Explanation) string { return e.Name }, "0"},
		{"an operation missing", func(x, y, k, z, o float64) float64 { return math.Exp2((x-y)*k) * z * o },
			Combined, 0,
			func(e Explanation) string { return e.Op + e.Name }, "mulother"},
		{"scaled", func(x, y, k, z, _ float64) float64 { return math.Exp2((x-y)*k) * z * 2 }, Scaled, 0,
			func(e Explanation) string { return e.Name }, "2"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			var cells []Cell
			for range 8 {
				x, y, k, z, other := 2+r.Float64(), 1+r.Float64(), 0.75, 1.5+r.Float64(), 0.3+r.Float64()
				c := row(x, y, k, z)
				want := tc.want(x, y, k, z, other)
				e := 1e-6*math.Abs(want) + 1e-9
				c.Want, c.Known = Range{want - e, want + e}, []Known{{Name: "other", X: other}}
				cells = append(cells, c)
			}
			list := Explain(cells, names)
			if len(list) == 0 {
				t.Fatal("nothing explains the cells")
			}
			e := list[0]
			_, at := e.Site()
			if e.Kind != tc.kind || at != tc.at || tc.text != nil && tc.text(e) != tc.says {
				t.Errorf("got kind %d at %d (%+v), expected kind %d at %d %s", e.Kind, at, e, tc.kind, tc.at,
					tc.says)
			}
		})
	}
}

// TestExplainIsSilent gives cells whose wanted numbers follow no rule, and so few that any rule would hold.
func TestExplainIsSilent(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var cells []Cell
	for range 8 {
		c := row(2+r.Float64(), 1+r.Float64(), 0.75, 1.5+r.Float64())
		want := c.Values[0].Got * (1.1 + r.Float64())
		c.Want = Range{want * (1 - 1e-6), want * (1 + 1e-6)}
		c.Known = []Known{{Name: "other", X: r.Float64()}}
		cells = append(cells, c)
	}
	if list := Explain(cells, nil); len(list) > 0 {
		t.Errorf("random numbers are explained: %+v", list[0])
	}
	if list := Explain(cells[:2], nil); len(list) > 0 {
		t.Errorf("two cells are explained: %+v", list[0])
	}
}

// TestExplainSaysWhereRightCellsContradict has right cells with the operation: the rule is of some cells.
func TestExplainSaysWhereRightCellsContradict(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var cells []Cell
	for i := range 8 {
		x, y, z := 2+r.Float64(), 1+r.Float64(), 1.5+r.Float64()
		c := row(x, y, 0.75, z)
		want := c.Values[0].Got
		if c.Wrong = i < 6; c.Wrong {
			want /= z
		}
		c.Want = Range{want * (1 - 1e-6), want * (1 + 1e-6)}
		cells = append(cells, c)
	}
	list := Explain(cells, nil)
	if len(list) == 0 || list[0].Kind != Without || !list[0].Some {
		t.Errorf("got %+v, expected a factor too many in some cells", list)
	}
}

// A value that was there before has no operation, as an argument's element that is stored unchanged.
func TestOpOfAValueThatWasThereBefore(t *testing.T) {
	if op := (&Value{Name: "x[0]"}).Op(); op != "" {
		t.Errorf("the operation %q", op)
	}
}
