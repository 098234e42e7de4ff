package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"tilescope/probes"
)

// mapped computes each cell from the same cell of its operands; a column or a row of an operand counts for all columns or rows.
// The error of every operation is followed: each rounds once, a function by 4 ulp of its result, exp as in exp_below. Operands count
// in natural units.
//
//	{map: "gelu(x + b)", x: C, b: bias}
type mapped struct{}

// Shares holds where the operations are rounded alike too.
func (mapped) Shares(a, b probes.Compute) bool { return a.Acc == b.Acc && a.Exp == b.Exp }

type mappedKernel struct {
	env    *Env
	text   string
	eval   cellFunc
	round  cellFunc32
	args   []Extent
	result Extent
	v, e   []float64
	f      []float32
}

// cellFunc computes a cell from its operands' numbers v and errors e.
type cellFunc func(v, e []float64) (x, err float64)

// cellFunc32 is the same, each operation rounded to float32.
type cellFunc32 func(v []float32) float32

// Bind finds the expression in the word expr and the operands' names, in order and with commas between, in the word names.
func (mapped) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	k := &mappedKernel{env: env, text: n.Params.Word["expr"], args: in, v: make([]float64, len(in)), e: make([]float64, len(in)), f: make([]float32, len(in))}
	names := strings.Split(n.Params.Word["names"], ",")
	if len(names) != len(in) {
		return nil, Extent{}, fmt.Errorf("map has %d operands and %d names", len(in), len(names))
	}
	k.result = Extent{1, 1}
	for i, x := range in {
		for d := range 2 {
			if x[d] != 1 && k.result[d] != 1 && x[d] != k.result[d] {
				return nil, Extent{}, fmt.Errorf("map: %s is %d×%d, which does not fit %d×%d", names[i], x[0], x[1], k.result[0], k.result[1])
			}
			k.result[d] = max(k.result[d], x[d])
		}
	}
	tree, err := parser.Parse(k.text)
	if err != nil {
		return nil, Extent{}, fmt.Errorf("map %q: %v", k.text, err)
	}
	b := cellBuilder{names, newExponential(env.Coefs, env.Compute.Exp), UnitRoundoff(accOf(env.Compute))}
	if k.eval, k.round, err = b.build(tree.Node); err != nil {
		return nil, Extent{}, fmt.Errorf("map %q: %w", k.text, err)
	}
	return k, k.result, nil
}

func accOf(c probes.Compute) probes.DType {
	if c.Acc == 0 {
		return probes.F32
	}
	return c.Acc
}

// at is where the operand's element for a cell is.
func (k *mappedKernel) at(i, r, c int) int {
	x := k.args[i]
	if x[0] == 1 {
		r = 0
	}
	if x[1] == 1 {
		c = 0
	}
	return r*x[1] + c
}

func (k *mappedKernel) Exact(t *Tile, in []*Value, out *Value) {
	clear(k.e)
	for r := range t.Rows {
		ref := out.M.Row(r)
		for c := range t.Cols {
			for i, x := range in {
				k.v[i] = x.M.Data[k.at(i, r, c)] * x.Unit
			}
			y, _ := k.eval(k.v, k.e)
			ref[c] = y / out.Unit
		}
	}
}

func (k *mappedKernel) Estimate(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		ref, err := out.M.Row(r), out.Err.Row(r)
		for c := range t.Cols {
			for i, x := range in {
				at := k.at(i, r, c)
				k.v[i] = x.M.Data[at] * x.Unit
				k.e[i] = whole(k.v[i], x.err(at)*x.Unit, x.factor(min(r, x.M.Rows-1)))
			}
			y, e := k.eval(k.v, k.e)
			ref[c], err[c] = y/out.Unit, e/out.Unit
		}
	}
}

func (k *mappedKernel) Mirror(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		for c := range t.Cols {
			for i, x := range in {
				k.f[i] = float32(x.M.Data[k.at(i, r, c)] * x.Unit)
			}
			out.M.Row(r)[c] = float64(k.round(k.f)) / out.Unit
		}
	}
}

// Valid is that of the operands that have more than one row or column.
func (k *mappedKernel) Valid(_ *Tile, in []*Value) (rows, cols int) {
	rows, cols = k.result[0], k.result[1]
	for i, x := range in {
		if k.args[i][0] > 1 {
			rows = min(rows, x.Rows)
		}
		if k.args[i][1] > 1 {
			cols = min(cols, x.Cols)
		}
	}
	return rows, cols
}

func (k *mappedKernel) Needs(int) Need                                          { return SameCell }
func (k *mappedKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }
func (k *mappedKernel) Reason() string {
	return fmt.Sprintf("%s: each operation rounded to %s, functions to 4 ulp, exp to 2^-22 and its argument to 3·2^-24", k.text, accOf(k.env.Compute))
}

// cellBuilder turns an expression into functions of a cell.
type cellBuilder struct {
	names []string
	exponential
	u float64 // half an ulp of what is computed in
}

// composites are functions written with others.
var composites = map[string]string{
	"gelu":      "0.5 * x * (1 + erf(x * 0.7071067811865476))",
	"gelu_tanh": "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
	"silu":      "x / (1 + exp(-x))",
	"sigmoid":   "1 / (1 + exp(-x))",
	"relu":      "max(x, 0)",
}

// function is a function of one number: its value, and how far it moves when its argument moves by e.
type function struct {
	f    func(float64) float64
	move func(x, e float64) float64
}

// lipschitz moves by at most c times as far as the argument.
func lipschitz(c float64) func(x, e float64) float64 {
	return func(_, e float64) float64 { return c * e }
}

// monotone moves most at an end of the interval.
func monotone(f func(float64) float64) func(x, e float64) float64 {
	return func(x, e float64) float64 {
		if e == 0 {
			return 0
		}
		y := f(x)
		d := max(math.Abs(f(x+e)-y), math.Abs(f(x-e)-y))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		return d
	}
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

var functions = map[string]function{
	"exp":   {math.Exp, monotone(math.Exp)},
	"log":   {math.Log, monotone(math.Log)},
	"sqrt":  {math.Sqrt, monotone(math.Sqrt)},
	"rsqrt": {rsqrt, monotone(rsqrt)},
	"tanh":  {math.Tanh, lipschitz(1)},
	"erf":   {math.Erf, lipschitz(2 / math.SqrtPi)},
}

func (b *cellBuilder) build(n ast.Node) (cellFunc, cellFunc32, error) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return b.constant(float64(n.Value))
	case *ast.FloatNode:
		return b.constant(n.Value)
	case *ast.IdentifierNode:
		i := slices.Index(b.names, n.Value)
		if i < 0 {
			return nil, nil, fmt.Errorf("no operand %q; it has %s", n.Value, strings.Join(b.names, ", "))
		}
		return func(v, e []float64) (float64, float64) { return v[i], e[i] }, func(v []float32) float32 { return v[i] }, nil
	case *ast.UnaryNode:
		x, y, err := b.build(n.Node)
		if err != nil || n.Operator == "+" {
			return x, y, err
		}
		if n.Operator != "-" {
			return nil, nil, fmt.Errorf("unknown operator %s", n.Operator)
		}
		return func(v, e []float64) (float64, float64) { a, ea := x(v, e); return -a, ea }, func(v []float32) float32 { return -y(v) }, nil
	case *ast.BinaryNode:
		return b.binary(n)
	case *ast.CallNode:
		name, ok := n.Callee.(*ast.IdentifierNode)
		if !ok {
			return nil, nil, fmt.Errorf("a call of no function")
		}
		return b.call(name.Value, n.Arguments)
	case *ast.BuiltinNode:
		return b.call(n.Name, n.Arguments)
	}
	return nil, nil, fmt.Errorf("%s is not arithmetic", n)
}

func (b *cellBuilder) constant(x float64) (cellFunc, cellFunc32, error) {
	off, f := math.Abs(x-float64(float32(x))), float32(x)
	return func(_, _ []float64) (float64, float64) { return x, off }, func([]float32) float32 { return f }, nil
}

// rounded adds the rounding of an operation's result.
func (b *cellBuilder) rounded(x, err float64) (float64, float64) {
	return x, err + b.Coefs[TermRound]/u32*b.u*(math.Abs(x)+err)
}

func (b *cellBuilder) binary(n *ast.BinaryNode) (cellFunc, cellFunc32, error) {
	x, x32, err := b.build(n.Left)
	if err != nil {
		return nil, nil, err
	}
	y, y32, err := b.build(n.Right)
	if err != nil {
		return nil, nil, err
	}
	switch n.Operator {
	case "+", "-":
		sign := 1.0
		if n.Operator == "-" {
			sign = -1
		}
		return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			c, ec := y(v, e)
			return b.rounded(a+sign*c, ea+ec)
		}, func(v []float32) float32 { return x32(v) + float32(sign)*y32(v) }, nil
	case "*":
		return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			c, ec := y(v, e)
			return b.rounded(a*c, math.Abs(a)*ec+math.Abs(c)*ea+ea*ec)
		}, func(v []float32) float32 { return float32(x32(v) * y32(v)) }, nil
	case "/":
		return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			c, ec := y(v, e)
			q := a / c
			if math.Abs(c) <= ec {
				return q, math.Inf(1)
			}
			off := (ea + math.Abs(q)*ec) / (math.Abs(c) - ec)
			if math.Abs(c)+ec > math.MaxFloat32 { // the divisor may be infinite
				off += math.Abs(q)
			}
			return q, off + b.Coefs[TermDivide]*(math.Abs(q)+off)
		}, func(v []float32) float32 { return x32(v) / y32(v) }, nil
	}
	return nil, nil, fmt.Errorf("unknown operator %s", n.Operator)
}

func (b *cellBuilder) call(name string, args []ast.Node) (cellFunc, cellFunc32, error) {
	if body, ok := composites[name]; ok && len(args) == 1 {
		return b.composite(body, args[0])
	}
	if (name == "max" || name == "min") && len(args) == 2 {
		return b.extreme(name, args)
	}
	f, ok := functions[name]
	if !ok || len(args) != 1 {
		return nil, nil, fmt.Errorf("no function %s of %d arguments", name, len(args))
	}
	x, x32, err := b.build(args[0])
	if err != nil {
		return nil, nil, err
	}
	return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			y, move := f.f(a), f.move(a, ea)
			return y, move + b.evaluated(name, a, ea, math.Abs(y)+move)*b.u/u32
		}, func(v []float32) float32 {
			return float32(f.f(float64(x32(v))))
		}, nil
}

// evaluated is what a function's evaluation in float32 loses, its argument x to within off and its value up to y. exp loses by its
// argument's size as well, and the logarithm of a number near 1 is good to an absolute error.
func (b *cellBuilder) evaluated(name string, x, off, y float64) float64 {
	switch {
	case name == "exp":
		return y*b.rel(x, 0, off) + b.tiny()
	case name == "log" && x+off > 0.5 && x-off < 2:
		return y*b.Coefs[TermUnit] + b.Coefs[TermLog]
	}
	return y * b.Coefs[TermUnit]
}

// composite builds a function written with others: its argument is computed once for each mention.
func (b *cellBuilder) composite(body string, arg ast.Node) (cellFunc, cellFunc32, error) {
	x, x32, err := b.build(arg)
	if err != nil {
		return nil, nil, err
	}
	tree, err := parser.Parse(body)
	if err != nil {
		return nil, nil, err
	}
	in := cellBuilder{[]string{"x"}, b.exponential, b.u}
	f, f32, err := in.build(tree.Node)
	if err != nil {
		return nil, nil, err
	}
	return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			return f([]float64{a}, []float64{ea})
		}, func(v []float32) float32 {
			return f32([]float32{x32(v)})
		}, nil
}

func (b *cellBuilder) extreme(name string, args []ast.Node) (cellFunc, cellFunc32, error) {
	x, x32, err := b.build(args[0])
	if err != nil {
		return nil, nil, err
	}
	y, y32, err := b.build(args[1])
	if err != nil {
		return nil, nil, err
	}
	pick := math.Max
	if name == "min" {
		pick = math.Min
	}
	return func(v, e []float64) (float64, float64) {
			a, ea := x(v, e)
			c, ec := y(v, e)
			return pick(a, c), max(ea, ec)
		}, func(v []float32) float32 {
			return float32(pick(float64(x32(v)), float64(y32(v))))
		}, nil
}

// Functions lists the functions that an expression of map may use.
func Functions() []string {
	out := []string{"max", "min"}
	for name := range functions {
		out = append(out, name)
	}
	for name := range composites {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
