package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// scale is its first operand times a factor: a number, or the second operand, of which one element counts for
// a whole block of cells. A second operand of as many rows and one column is a factor by row, of one row by
// column, and of R/16 rows and C/128 columns one for each block of 16×128: what is quantised by group is
// decoded so. A product rounds once.
//
//	{scale: X, factor: 1 / sqrt(D)}
//	{scale: [X, s]}
type scale struct{ apart }

type scaleKernel struct {
	sameValid
	env    *Env
	by     bool    // the factor is an operand
	number float64 // in the accumulator's dtype off by off
	off    float64
	round  float64 // of the product, before the stage's own rounding
	add    float64 // of adding it to what is carried over, before the stage's own rounding
	unit   float64 // of the result of operands in their own units
	power  bool
	block  Extent // cells that one element of the factor counts for
	byLine bool   // it is one for each cell, row or column
	name   string
}

func (scale) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	_, isNumber := n.Params.Number["factor"]
	k := &scaleKernel{env: env, by: len(in) == 2, number: number(n, "factor", 1), unit: 1 / env.Unit}
	if k.name = n.Params.Word["factor"]; k.name == "" {
		k.name = fmt.Sprint(k.number)
	}
	switch {
	case len(in) == 2 && isNumber:
		return nil, Extent{}, fmt.Errorf("scale has a factor and a second operand: remove one")
	case len(in) == 1 && !isNumber:
		return nil, Extent{}, fmt.Errorf("scale has no factor: factor: NUMBER, or a second operand")
	case len(in) != 1 && len(in) != 2:
		return nil, Extent{}, fmt.Errorf("scale has %d operands, 1 or 2 are expected", len(in))
	}
	for _, u := range env.Units {
		k.unit *= u
	}
	acc := accOf(env.Compute)
	same := acc == env.DType
	if !same {
		k.round = UnitRoundoff(acc) * env.Coefs[TermProduct]
		k.add = UnitRoundoff(acc) * env.Coefs[TermSumAdd] / u32
	}
	if !k.by {
		frac, _ := math.Frexp(k.number)
		if k.off = math.Abs(RoundTo(acc, k.number)-k.number) * env.Coefs[TermScale]; math.Abs(frac) == 0.5 {
			k.round, k.power = 0, same && k.unit == 1 && holds(env.DType, env.dtype(0))
		}
		return k, in[0], nil
	}
	if in[0][0]%in[1][0] != 0 || in[0][1]%in[1][1] != 0 {
		const say = "scale of %d×%d by %d×%d: rows and columns of the factor have to divide the tile's"
		return nil, Extent{}, fmt.Errorf(say, in[0][0], in[0][1], in[1][0], in[1][1])
	}
	k.block = Extent{in[0][0] / in[1][0], in[0][1] / in[1][1]}
	row, column := Extent{1, in[0][1]}, Extent{in[0][0], 1}
	k.byLine = in[1] == in[0] || in[1] == row || in[1] == column
	return k, in[0], nil
}

// factor is the factor of cell (r, c), its error, and which element of the second operand it is.
func (k *scaleKernel) factor(in []*Value, r, c int) (f, err float64, at int) {
	if !k.by {
		return k.number, k.off, 0
	}
	s := in[1]
	at = r/k.block[0]*s.M.Cols + c/k.block[1]
	f, err = s.M.Data[at], s.err(at)
	if s.Factor != nil && !k.passes(in) {
		err = whole(f, err, s.factor(r/k.block[0]))
	}
	return f, err, at
}

// passes reports whether the factor that the second operand's rows share is one that the result's rows share
// too.
func (k *scaleKernel) passes(in []*Value) bool {
	return k.by && in[1].Factor != nil && in[0].Factor == nil && k.block[0] == 1
}

func (k *scaleKernel) Exact(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		for c := range t.Cols {
			f, _, _ := k.factor(in, r, c)
			out.M.Row(r)[c] = in[0].M.At(r, c) * f * k.unit
		}
	}
}

func (k *scaleKernel) Estimate(t *Tile, in []*Value, out *Value) {
	k.each(t, in, out, func(r, c int, v, e float64) float64 { return e + (math.Abs(v)+e)*k.round })
	out.Power = k.power
}

// each computes the numbers, and their errors by rounded, which adds what the operation loses to what the
// operands' errors e make of v.
func (k *scaleKernel) each(t *Tile, in []*Value, out *Value, rounded func(r, c int, v, e float64) float64) {
	x := in[0]
	out.Factor, out.Origin = x.Factor, x.Origin
	if k.passes(in) {
		out.Factor, out.Origin = in[1].Factor, in[1].Origin
	}
	operands := k.env.Coefs[TermOperands]
	for r := range t.Rows {
		for c := range t.Cols {
			f, df, _ := k.factor(in, r, c)
			y := x.M.At(r, c)
			dy := x.err(r*x.M.Cols + c)
			e := (math.Abs(y)*df + dy*(math.Abs(f)+df)) * operands
			out.M.Row(r)[c] = y * f * k.unit
			out.Err.Row(r)[c] = rounded(r, c, out.M.Row(r)[c], e*k.unit)
		}
	}
}

// onto is Estimate of a product that is added to something: fused with the addition, or rounded before it.
func (k *scaleKernel) onto(t *Tile, in []*Value, base Matrix, grow []float64, out *Value) {
	product := UnitRoundoff(accOf(k.env.Compute)) * k.env.Coefs[TermProduct]
	k.each(t, in, out, func(r, c int, v, e float64) float64 {
		size, most := math.Abs(v)+e, 1.0
		if grow != nil {
			most = grow[r]
		}
		lost := size * product
		if base.Data != nil {
			size += base.At(r, c)
		}
		return e + (lost+size*k.add)*most
	})
}

func (k *scaleKernel) Mirror(t *Tile, in []*Value, out *Value) {
	acc := accOf(k.env.Compute)
	for r := range t.Rows {
		for c := range t.Cols {
			f, _, _ := k.factor(in, r, c)
			out.M.Row(r)[c] = RoundTo(acc, in[0].M.At(r, c)*RoundTo(acc, f)*k.unit)
		}
	}
}

// Needs is the same cell of a factor by row, by column or cell by cell; of one by block it may be any.
func (k *scaleKernel) Needs(i int) Need {
	if i == 1 && !k.byLine {
		return WholeTile
	}
	return SameCell
}

func (k *scaleKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

func (k *scaleKernel) Reason() string {
	switch {
	case k.power:
		return "times " + k.name + " (a power of two: exact)"
	case k.by:
		return fmt.Sprintf("a product in %s", accOf(k.env.Compute))
	}
	return fmt.Sprintf("times %s in %s", k.name, accOf(k.env.Compute))
}

func (k *scaleKernel) reasonOnto(carried string) string {
	return k.Reason() + ", added to " + carried + " or fused with the addition"
}

// Suspects are the factor left out, applied twice, and that of another block.
func (k *scaleKernel) Suspects([]Constant) []Suspect {
	if !k.by {
		return nil // a constant of the graph: the judge tries those
	}
	var out []Suspect
	add := func(value string, other func(s *Value, at int) float64) {
		predict := func(sc *Scene, v, pre []float64) bool {
			k := sc.Kernel.(*scaleKernel)
			for n, i := range sc.Cells {
				own, _, at := k.factor(sc.In, i/sc.Stride, i%sc.Stride)
				f := other(sc.In[1], at)
				v[n] = sc.In[0].M.Data[i] * f * k.unit
				pre[n] = sc.Pre.Data[i]*math.Abs(f/own) + math.Abs(v[n])*OpRel
			}
			return true
		}
		out = append(out, Suspect{Name: factorName, Value: value, Own: true, Predict: predict})
	}
	add("the scale left out", func(*Value, int) float64 { return 1 })
	add("the scale applied twice", func(s *Value, at int) float64 { return s.M.Data[at] * s.M.Data[at] })
	add("1/scale: divided by it", func(s *Value, at int) float64 { return 1 / s.M.Data[at] })
	add("the scale of the first block", func(s *Value, _ int) float64 { return s.M.Data[0] })
	moved := func(rows, cols int) func(s *Value, at int) float64 {
		return func(s *Value, at int) float64 {
			r, c := at/s.M.Cols+rows, at%s.M.Cols+cols
			if r < 0 || c < 0 || r >= s.M.Rows || c >= s.M.Cols {
				return math.NaN()
			}
			return s.M.At(r, c)
		}
	}
	add("the scale of the next block of rows", moved(1, 0))
	add("the scale of the previous block of rows", moved(-1, 0))
	add("the scale of the next block of columns", moved(0, 1))
	add("the scale of the previous block of columns", moved(0, -1))
	add("the scale of the block transposed: rows and columns exchanged", func(s *Value, at int) float64 {
		if s.M.Rows != s.M.Cols {
			return math.NaN()
		}
		return s.M.At(at%s.M.Cols, at/s.M.Cols)
	})
	return out
}
