package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// divide is the quotient of a tile and a column, or of two tiles cell by cell. A factor common to both
// cancels. With empty: zero a quotient by 0 is 0, as a kernel writes it for a row that no key takes part in;
// else it is NaN or infinite.
//
//	{divide: [U, l], empty: zero}
type divide struct{ shared }

type divideKernel struct {
	sameValid
	sameCell
	env    *Env
	column bool
	zero   bool // what is divided by 0 is 0
	text   string
}

func (divide) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 2); err != nil {
		return nil, Extent{}, err
	}
	k := &divideKernel{env: env, column: in[1][1] == 1 && in[0][1] != 1, text: "a quotient"}
	k.zero = n.Params.Word["empty"] == "zero"
	if n.Args[0].Node == nil && n.Args[1].Node == nil {
		k.text = fmt.Sprintf("%s/%s", n.Args[0].Stage, n.Args[1].Stage)
	}
	if in[1][0] != in[0][0] || !k.column && in[1][1] != in[0][1] {
		return nil, Extent{},
			fmt.Errorf("divide %d×%d by %d×%d: a column of %d rows or a tile of the same extent is expected",
				in[0][0], in[0][1], in[1][0], in[1][1], in[0][0])
	}
	return k, in[0], nil
}

func (k *divideKernel) Exact(t *Tile, in []*Value, out *Value) {
	u, l := in[0], in[1]
	for i := range t.Rows {
		for d := range t.Cols {
			under := i * l.M.Cols
			if !k.column {
				under += d
			}
			out.M.Row(i)[d] = k.of(u.M.At(i, d), l.M.Data[under])
		}
	}
}

// of is a quotient, with what stands for one by 0.
func (k *divideKernel) of(x, y float64) float64 {
	if k.zero && y == 0 {
		return 0
	}
	return x / y
}

func (k *divideKernel) Estimate(t *Tile, in []*Value, out *Value) {
	u, l := in[0], in[1]
	cancel := u.Factor != nil && l.Factor != nil && u.Origin == l.Origin
	c := k.env.Coefs
	for i := range t.Rows {
		ref, err := out.M.Row(i), out.Err.Row(i)
		for d := range t.Cols {
			at := i*u.M.Cols + d
			under := i * l.M.Cols
			if !k.column {
				under += d
			}
			x, y, dx, dy := u.M.Data[at], l.M.Data[under], u.err(at), l.err(under)
			if !cancel {
				dx, dy = whole(x, dx, u.factor(i)), whole(y, dy, l.factor(i))
			}
			v := k.of(x, y)
			ref[d], err[d] = v, math.Inf(1)
			if k.zero && y == 0 && dy == 0 {
				err[d] = 0
			} else if math.Abs(y) > dy {
				err[d] = (dx*c[TermNumerator] + math.Abs(v)*dy*c[TermDenominator]) / (math.Abs(y) - dy)
				err[d] += (math.Abs(v) + err[d]) * c[TermDivide]
			}
		}
	}
}

// whole is an error with the common factor's part.
func whole(x, err, factor float64) float64 {
	if factor == 0 {
		return err
	}
	grow := math.Exp(factor)
	return grow*err + (grow-1)*math.Abs(x)
}

func (k *divideKernel) Mirror(t *Tile, in []*Value, out *Value) {
	u, l := in[0], in[1]
	for i := range t.Rows {
		for d := range t.Cols {
			under := i * l.M.Cols
			if !k.column {
				under += d
			}
			out.M.Row(i)[d] = k.of(u.M.At(i, d), l.M.Data[under])
			if x, y := float32(u.M.At(i, d)), float32(l.M.Data[under]); y != 0 {
				out.M.Row(i)[d] = float64(x / y)
			}
		}
	}
}

// Pad keeps a kernel that divides by rows that do not exist from dividing by 0.
func (k *divideKernel) Pad(i int) float64 { return float64(i) }

func (k *divideKernel) Reason() string { return k.text + ", 2 ulp of f32" }
