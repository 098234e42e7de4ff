package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// reduce is one number for each row, or for each column: its sum, mean or largest number.
//
//	{reduce: X, how: mean}
//	{reduce: X, how: sum, each: column}
type reduce struct{ apart }

type reduceKernel struct {
	env    *Env
	how    string
	column bool // one number for each column
	cells  int
	v      []float32
}

func (reduce) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	k := &reduceKernel{env: env, how: n.Params.Word["how"], cells: in[0][1]}
	k.column = n.Params.Word["each"] == "column"
	switch k.how {
	case "sum", "mean", "max":
	default:
		return nil, Extent{}, fmt.Errorf("reduce: how is %q; expected sum, mean or max", k.how)
	}
	if k.column {
		k.cells = in[0][0]
		return k, Extent{1, in[0][1]}, nil
	}
	return k, Extent{in[0][0], 1}, nil
}

// Valid is one number for each row or column of the operand.
func (k *reduceKernel) Valid(_ *Tile, in []*Value) (rows, cols int) {
	if k.column {
		return 1, in[0].Cols
	}
	return in[0].Rows, 1
}

// lines is how many numbers are computed, and of how many cells each.
func (k *reduceKernel) lines(t *Tile, x *Value) (lines, cells int) {
	if k.column {
		return t.Cols, x.Rows
	}
	return t.Rows, x.Cols
}

// cell is row and column of cell j of line i.
func (k *reduceKernel) cell(i, j int) (r, c int) {
	if k.column {
		return j, i
	}
	return i, j
}

func (k *reduceKernel) Exact(t *Tile, in []*Value, out *Value) {
	x := in[0]
	lines, cells := k.lines(t, x)
	for i := range lines {
		total, top := 0.0, math.Inf(-1)
		for j := range cells {
			v := x.M.At(k.cell(i, j)) * x.Unit
			if total += v; v > top {
				top = v
			}
		}
		switch k.how {
		case "max":
			total = top
		case "mean":
			total /= float64(max(cells, 1))
		}
		out.M.Data[i] = total / out.Unit
	}
}

func (k *reduceKernel) Estimate(t *Tile, in []*Value, out *Value) {
	x := in[0]
	lines, cells := k.lines(t, x)
	for i := range lines {
		total, size, err, top, topErr := 0.0, 0.0, 0.0, math.Inf(-1), 0.0
		for j := range cells {
			r, c := k.cell(i, j)
			v := x.M.At(r, c) * x.Unit
			e := whole(v, x.err(r*x.M.Cols+c)*x.Unit, x.factor(r))
			total, size, err = total+v, size+math.Abs(v), err+e
			if v > top {
				top = v
			}
			topErr = max(topErr, e)
		}
		if k.how == "max" {
			out.M.Data[i], out.Err.Data[i] = top/out.Unit, topErr/out.Unit
			continue
		}
		u := k.env.Coefs[TermRound] / u32 * UnitRoundoff(accOf(k.env.Compute))
		err += float64(cells) * u * (size + err)
		if k.how == "mean" && cells > 0 { // a division, or a product with the reciprocal: two more roundings
			n := float64(cells)
			total, err = total/n, err/n
			err += 2 * u * (math.Abs(total) + err)
		}
		out.M.Data[i], out.Err.Data[i] = total/out.Unit, err/out.Unit
	}
	out.Exact = k.how == "max" && x.Err.Data == nil && x.Unit == out.Unit
}

func (k *reduceKernel) Mirror(t *Tile, in []*Value, out *Value) {
	x := in[0]
	lines, cells := k.lines(t, x)
	for i := range lines {
		k.v = k.v[:0]
		top := float32(math.Inf(-1))
		for j := range cells {
			y := float32(x.M.At(k.cell(i, j)) * x.Unit)
			k.v, top = append(k.v, y), max(top, y)
		}
		switch k.how {
		case "max":
			out.M.Data[i] = float64(top) / out.Unit
		case "mean":
			out.M.Data[i] = float64(rowSum32(k.v, k.env.Compute.Unit)/float32(max(cells, 1))) / out.Unit
		default:
			out.M.Data[i] = float64(rowSum32(k.v, k.env.Compute.Unit)) / out.Unit
		}
	}
}

func (k *reduceKernel) Needs(int) Need {
	if k.column {
		return WholeColumn
	}
	return WholeRow
}

func (k *reduceKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

func (k *reduceKernel) Reason() string {
	if k.how == "max" && k.column {
		return "the largest of a column"
	}
	if k.how == "max" {
		return "the largest of a row"
	}
	return fmt.Sprintf("%d additions in any order, 2^-24 each", k.cells)
}

// cast is the same numbers in the stage's dtype. With `to`, where it stands in place, a kernel rounds
// them to that type there.
//
//	{cast: X}
//	{matmul: [{cast: P, to: f16}, V]}
type cast struct{ shared }

type castKernel struct {
	sameValid
	sameCell
	env *Env
	to  probes.DType // 0: the stage's
}

func (cast) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	k := &castKernel{env: env}
	if name := n.Params.Word["to"]; name != "" {
		var err error
		if k.to, err = probes.ParseDType(name); err == nil && !k.to.Float() {
			err = fmt.Errorf("%s is an integer type", name)
		}
		if err != nil {
			return nil, Extent{}, fmt.Errorf("cast: to: %w", err)
		}
	}
	return k, in[0], nil
}

func (*castKernel) Exact(t *Tile, in []*Value, out *Value) {
	for i := range t.Rows {
		copy(out.M.Row(i)[:t.Cols], in[0].M.Row(i))
	}
}

func (k *castKernel) Estimate(t *Tile, in []*Value, out *Value) {
	x := in[0]
	k.Exact(t, in, out)
	rounded := k.to != 0 && !holds(k.to, k.env.dtype(0))
	for i := range t.Rows {
		for c, v := range out.M.Row(i)[:t.Cols] {
			e := x.err(i*x.M.Cols + c)
			if size := math.Abs(v) + e; rounded && size != 0 {
				e += HalfULP(k.to, size) * k.env.Coefs[TermStore]
			}
			out.Err.Row(i)[c] = e
		}
	}
	out.Factor, out.Origin = x.Factor, x.Origin
}

func (k *castKernel) Mirror(t *Tile, in []*Value, out *Value) {
	k.Exact(t, in, out)
	if k.to == 0 {
		return
	}
	for i := range t.Rows {
		for c, v := range out.M.Row(i)[:t.Cols] {
			out.M.Row(i)[c] = RoundTo(k.to, v)
		}
	}
}

func (k *castKernel) Reason() string {
	if k.to != 0 {
		return fmt.Sprintf("rounded to %s", k.to)
	}
	return "converted"
}
