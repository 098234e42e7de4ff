package needed

import (
	"math"
	"testing"

	"tilescope/debugkern/ptx"
)

// tangent is a cell that is tanh(x/2) as (e - 1)/(e + 1) with e = expf(x), as CUDA's math library computes
// that, where x is a product of two numbers; it should be tanh(x).
func tangent(x float64) Cell {
	a := 1 + x*x
	n := math.Floor(x*math.Log2E + 0.5)
	e := math.Exp(x)
	want := math.Tanh(x)
	value := func(in *ptx.Instr, at int, got float64, of ...int) Value {
		v := Value{Instr: in, At: at, Got: got, Type: ptx.F32}
		for k, o := range of {
			v.Operands = append(v.Operands, Operand{k + 1, o})
		}
		return v
	}
	number := func(x float64) Value { return Value{Got: x, Type: ptx.F32, Name: "number"} }
	shifted := value(instr("shl"), 12, math.NaN())
	return Cell{Wrong: true, Want: Range{want - 1e-6, want + 1e-6}, Values: []Value{
		value(instr("div", "rn"), 1, math.Tanh(x/2), 1, 2),
		value(instr("sub", "rn"), 2, e-1, 3, 4),
		value(instr("add", "rn"), 3, e+1, 3, 4),
		value(instr("mul", "rn"), 4, e, 5, 6), // the exponential
		number(1),
		value(instr("ex2", "approx"), 5, math.Exp2(x*math.Log2E-n), 7),
		shifted,
		value(instr("fma", "rn"), 6, x*math.Log2E-n, 8, 9, 10),
		value(instr("mul", "rn"), 7, x, 13, 14),
		number(1.9259629911266175e-08),
		value(instr("fma", "rn"), 8, x*math.Log2E-n, 8, 11, 12),
		number(1.4426950216293335),
		number(-n),
		number(a), number(x / a),
	}}
}

// TestExplainThroughSharedValue finds the factor that lacks in an exponent whose exponential two operations
// use, and which is several instructions.
func TestExplainThroughSharedValue(t *testing.T) {
	var cells []Cell
	for _, x := range []float64{0.3, -0.2, 0.7, 0.05, -1.1, 2.5} {
		c := tangent(x)
		c.Fold()
		if c.Values[3].Func != "exp" || len(c.Values[3].Operands) != 1 || c.Values[3].Operands[0].Value != 8 {
			t.Fatalf("the exponential is %+v", c.Values[3])
		}
		needs, known := c.Needs()
		if !known[3] || !needs[3].Has(math.Exp(2*x)) {
			t.Errorf("e of %g would have to be %v (%t), expected %g", x, needs[3], known[3], math.Exp(2*x))
		}
		cells = append(cells, c)
	}
	list := Explain(cells, []Known{{Name: "2", X: 2}, {Name: "log2(e)", X: math.Log2E}})
	if len(list) == 0 {
		t.Fatal("nothing explains the cells")
	}
	if e := list[0]; e.Kind != Scaled || e.X != 2 || e.Value.At != 7 {
		t.Errorf("got kind %d of instruction %d by %g, expected the argument of the exponential by 2", e.Kind,
			e.Value.At, e.X)
	}
}

// What overflows in some wrong cells says nothing there, and the others say it.
func TestExplainLeavesOutWhatIsNoNumber(t *testing.T) {
	var cells []Cell
	for _, x := range []float64{0.3, -0.2, 0.7, 0.05} {
		cells = append(cells, tangent(x))
		cells[len(cells)-1].Fold()
	}
	over := tangent(60)
	over.Fold()
	over.Values[0].Got = math.NaN()
	list := Explain(append(cells, over), []Known{{Name: "2", X: 2}})
	if len(list) == 0 || list[0].Kind != Scaled {
		t.Errorf("with a cell that is no number: %+v", list)
	}
}

// A product of other instructions is no exponential.
func TestFoldKeepsOthers(t *testing.T) {
	c := row(1, 2, 3, 4)
	c.Fold()
	for i := range c.Values {
		if c.Values[i].Func != "" {
			t.Errorf("value %d became %s", i, c.Values[i].Func)
		}
	}
}

// A sum with a value in it twice has no solution where the needed range lies between its results.
func TestNoSolution(t *testing.T) {
	x := Value{Instr: instr("ex2", "approx"), At: 1, Got: 2, Type: ptx.F32, Operands: []Operand{{1, 2}}}
	c := Cell{Want: Range{-4, -3.9}, Values: []Value{
		{Instr: instr("mul", "rn"), Got: 4, Type: ptx.F32, Operands: []Operand{{1, 1}, {2, 1}}}, x,
		{Got: 1, Type: ptx.F32, Name: "y"},
	}}
	if _, known := c.Needs(); known[1] {
		t.Error("a square has no root of a negative number")
	}
	c.Want = Range{8.9, 9.1}
	if needs, known := c.Needs(); !known[1] || !needs[1].Has(3) || needs[1].Has(2.9) {
		t.Errorf("the root of about 9 is %v (%t)", needs[1], known[1])
	}
}
