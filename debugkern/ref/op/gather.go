package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// gather reads a tile of an input of which the position depends on the values of integer inputs: row r is at
// the position that the expressions in `at` have for r, such as table[batch][div(key + r, PAGE)], and columns
// run along the dimension `cols`. limit is how many rows there are, as an expression too. What lies beyond
// that or beyond the input is 0.
//
//	{gather: K, at: ["table[batch][div(key + r, PAGE)]", r % PAGE, 0], cols: 2, limit: "used[batch] - key"}
type gather struct{ shared }

type gatherKernel struct {
	ext    Extent
	env    *Env
	name   string
	tensor Tensor
	dims   []int
	stride []int
	at     []indexFunc
	limit  indexFunc // nil: none
	cols   int       // the dimension that columns run along, -1: the position has them
	each   bool      // the position depends on the column
	looks  bool      // and on an element of an input
}

// Bind reads the expressions of a position from the words at.0, at.1, …, and the tile's extent from the
// numbers height and width.
func (gather) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	ext := Extent{int(number(n, "height", 0)), int(number(n, "width", 1))}
	if err := want(n, in, 0); err != nil {
		return nil, ext, err
	}
	if len(n.Args) != 1 || n.Args[0].Tensor == "" {
		return nil, ext, fmt.Errorf("gather reads one input")
	}
	k := &gatherKernel{ext: ext, env: env, name: n.Args[0].Tensor, cols: int(number(n, "cols", -1))}
	k.tensor = env.Tensor(k.name)
	if k.tensor == nil {
		return nil, ext, fmt.Errorf("gather: no input %s", k.name)
	}
	k.dims = k.tensor.Dims()
	k.stride = strides(k.dims)
	if rank := int(number(n, "rank", 0)); rank != len(k.dims) {
		return nil, ext, fmt.Errorf("gather: position of %d dimensions, %s has %d", rank, k.name, len(k.dims))
	}
	if k.cols < -1 || k.cols >= len(k.dims) {
		return nil, ext, fmt.Errorf("gather: cols along dimension %d, %s has %d", k.cols, k.name, len(k.dims))
	}
	x := newIndexer(n, env)
	for d := range k.dims {
		f, err := x.compile(n.Params.Word[fmt.Sprintf("at.%d", d)])
		if err != nil {
			return nil, ext, fmt.Errorf("gather: %w", err)
		}
		k.at = append(k.at, f)
	}
	k.each, k.looks = x.columns, x.lookups
	if text := n.Params.Word["limit"]; text != "" {
		var err error
		if k.limit, err = x.compile(text); err != nil {
			return nil, ext, fmt.Errorf("gather: %w", err)
		}
	}
	return k, ext, nil
}

// strides are the elements from one index of a dimension to the next.
func strides(dims []int) []int {
	out, step := make([]int, len(dims)), 1
	for d := len(dims) - 1; d >= 0; d-- {
		out[d] = step
		step *= dims[d]
	}
	return out
}

// position is the first element of a row from column c on, and how many columns of it there are; none where
// there is no such row.
func (k *gatherKernel) position(p *spot) (first, cols int) {
	p.bad = false
	if k.limit != nil && p.r >= k.limit(p) || p.bad {
		return 0, 0
	}
	cols = 1
	for d, f := range k.at {
		i := f(p)
		if p.bad || i < 0 || i >= k.dims[d] {
			return 0, 0
		}
		if first += i * k.stride[d]; d == k.cols {
			cols = k.dims[d] - i
		}
	}
	return first, cols
}

// rows reads the tile with a function that reads consecutive elements.
func (k *gatherKernel) rows(t *Tile, out Matrix, read func(dst []float64, first int)) {
	k.read(&spot{t: t}, t.Rows, t.Cols, out, read)
}

func (k *gatherKernel) read(p *spot, rows, cols int, out Matrix, read func(dst []float64, first int)) {
	step := 0
	if k.cols >= 0 {
		step = k.stride[k.cols]
	}
	start := p.r
	for r := range rows {
		row := out.Row(r)[:cols]
		clear(row)
		p.r, p.c = start+r, 0
		switch first, n := k.position(p); {
		case k.each:
			for c := range row {
				p.c = c
				if first, n := k.position(p); n > 0 {
					read(row[c:c+1], first)
				}
			}
		case n == 0:
		case step == 1:
			read(row[:min(n, cols)], first)
		default:
			for c := range row {
				if step == 0 || c < n {
					read(row[c:c+1], first+c*step)
				}
			}
		}
	}
	p.r = start
}

func (k *gatherKernel) Exact(t *Tile, _ []*Value, out *Value) { k.rows(t, out.M, k.tensor.Decode) }

func (k *gatherKernel) Estimate(t *Tile, _ []*Value, out *Value) {
	k.rows(t, out.M, k.tensor.Decode)
	for r := range t.Rows {
		err := out.Err.Row(r)[:t.Cols]
		for c, v := range out.M.Row(r)[:t.Cols] {
			err[c] = math.Abs(v) * k.rel()
		}
	}
	out.Exact = !k.tensor.Coded()
}

// rel is the relative error of decoding.
func (k *gatherKernel) rel() float64 {
	if k.tensor.Coded() {
		return k.env.Coefs[TermDecode]
	}
	return 0
}

func (k *gatherKernel) Mirror(t *Tile, _ []*Value, out *Value) {
	if k.tensor.Coded() {
		k.rows(t, out.M, k.tensor.Rounded)
		return
	}
	k.rows(t, out.M, k.tensor.Decode)
}

// Valid is as many rows as there are before the first that there is not, and the columns of those.
func (k *gatherKernel) Valid(t *Tile, _ []*Value) (rows, cols int) {
	p := &spot{t: t}
	cols = k.ext[1]
	for rows = 0; rows < k.ext[0]; rows++ {
		p.r = rows
		_, n := k.position(p)
		if n == 0 {
			break
		}
		if k.cols >= 0 {
			cols = min(cols, n)
		}
	}
	if rows == 0 {
		return 0, 0
	}
	return rows, cols
}

func (k *gatherKernel) Needs(int) Need                                          { return SameCell }
func (k *gatherKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

func (k *gatherKernel) Reason() string {
	if !k.tensor.Coded() {
		return "copied"
	}
	return "(code − zero)·(max/levels·scale) in three f32 roundings, 4·2^-24 relative"
}

// Suspects are elements of an integer input next to the right ones, such elements left out, and a row counted
// from another number.
func (k *gatherKernel) Suspects([]Constant) []Suspect {
	var out []Suspect
	add := func(name, value string, wrong spot) {
		out = append(out, Suspect{Name: name, Value: value, Predict: func(sc *Scene, v, pre []float64) bool {
			k, p := sc.Kernel.(*gatherKernel), wrong
			p.t = &sc.Tile
			m := NewMatrix(sc.Rows, sc.Cols)
			k.read(&p, sc.Rows, sc.Cols, m, k.tensor.Decode)
			for n, i := range sc.Bad {
				v[n] = m.At(i/sc.Stride, i%sc.Stride)
				pre[n] = math.Abs(v[n]) * k.rel()
			}
			return true
		}})
	}
	if k.looks {
		add(shiftedName, k.name+" through the next entry of the index", spot{step: 1})
		add(shiftedName, k.name+" through the previous entry of the index", spot{step: -1})
		add(permutedName, k.name+" without the index: entry i taken as i", spot{plain: true})
	}
	add(shiftedName, k.name+" one row further", spot{r: 1})
	add(shiftedName, k.name+" one row back", spot{r: -1})
	return out
}
