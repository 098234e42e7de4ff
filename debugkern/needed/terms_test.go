package needed

import (
	"math/rand/v2"
	"testing"

	"tilescope/debugkern/ptx"
)

// doubled is the sum of n+1 products, where both operands of the last addition have the first m of them.
func doubled(r *rand.Rand, n, m int) Cell {
	c := Cell{Wrong: true, Values: []Value{{Instr: instr("add", "rn"), Type: ptx.F32, At: 100}}}
	value := func(v Value) int {
		c.Values = append(c.Values, v)
		return len(c.Values) - 1
	}
	want := 0.0
	product := func(i, onto int) int { // a product more, onto a sum
		a := value(Value{At: -1, Got: 1 + r.Float64(), Name: "Q", Source: 2*i + 1})
		b := value(Value{At: -1, Got: 1 + r.Float64(), Name: "K", Source: 2*i + 2})
		x := c.Values[a].Got * c.Values[b].Got
		want += x
		return value(Value{Instr: instr("fma", "rn"), At: 1, Got: x + c.Values[onto].Got, Type: ptx.F32,
			Operands: []Operand{{1, a}, {2, b}, {3, onto}}})
	}
	sum, common := value(Value{At: -1, Got: 0, Name: "0"}), -1
	for i := range n {
		if sum = product(i, sum); i+1 == m {
			common = sum
		}
	}
	common = product(n, common)
	c.Values[0].Operands = []Operand{{1, sum}, {2, common}}
	c.Values[0].Got = c.Values[sum].Got + c.Values[common].Got
	c.Want = Range{want * (1 - 1e-6), want * (1 + 1e-6)}
	return c
}

// TestExplainTakesSumsApart adds a part of a sum a second time.
func TestExplainTakesSumsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var cells []Cell
	for range 6 {
		cells = append(cells, doubled(r, 8, 3))
	}
	list := Explain(cells, nil)
	if len(list) == 0 {
		t.Fatal("nothing explains a sum that has three products twice")
	}
	e := list[0]
	if _, at := e.Site(); e.Kind != Once || at != 100 || e.Most != 2 || !e.Product || e.Lanes ||
		len(e.Leaves) != 2 {
		t.Errorf("got %+v at %d, expected products of Q and K twice, added at 100", e, at)
	}
	for i := range cells { // the same numbers, of other elements
		for j := range cells[i].Values {
			cells[i].Values[j].Source = 0
			if v := &cells[i].Values[j]; v.Name == "Q" || v.Name == "K" {
				v.Name = ""
			}
		}
	}
	if list := Explain(cells[:2], nil); len(list) > 0 {
		t.Errorf("two cells are explained: %+v", list[0])
	}
}

// TestExplainFindsTheRounding adds numbers up in half precision where float belongs, behind a product that is
// float in both.
func TestExplainFindsTheRounding(t *testing.T) {
	half := &ptx.Instr{Op: "add", Mods: []string{"rn", "f16"}, Args: make([]ptx.Operand, 3)}
	r := rand.New(rand.NewPCG(11, 12))
	var cells []Cell
	for range 6 {
		c := Cell{Wrong: true, Values: []Value{{Instr: instr("mul", "rn"), Type: ptx.F32, At: 7}}}
		factor := 1 + r.Float64()
		got, want, last := 0.0, 0.0, -1
		add := func(v Value) int {
			c.Values = append(c.Values, v)
			return len(c.Values) - 1
		}
		for i := range 16 {
			x := add(Value{
				At: -1, Got: rounded(ptx.F16, 1+r.Float64()), Type: ptx.F16, Source: i + 1, Name: "x",
			})
			want += c.Values[x].Got
			if got = rounded(ptx.F16, got+c.Values[x].Got); i == 0 {
				last = x
				continue
			}
			last = add(Value{
				Instr: half, At: 3, Got: got, Type: ptx.F16, Operands: []Operand{{1, last}, {2, x}},
			})
		}
		k := add(Value{At: -1, Got: factor, Type: ptx.F32, Name: "k", Source: 100})
		c.Values[0].Operands, c.Values[0].Got = []Operand{{1, last}, {2, k}}, got*factor
		want *= factor
		c.Want = Range{want * (1 - 1e-6), want * (1 + 1e-6)}
		if c.Want.Has(c.Values[0].Got) {
			continue
		}
		cells = append(cells, c)
	}
	list := Explain(cells, nil)
	if len(list) == 0 {
		t.Fatalf("nothing explains %d sums in half precision", len(cells))
	}
	e := list[0]
	if _, at := e.Site(); e.Kind != Exact || at != 3 || e.Type != ptx.F16 || e.Times != 15 || e.Some {
		t.Errorf("got %+v at %d, expected the rounding of 15 additions at 3 to f16", e, at)
	}
}
