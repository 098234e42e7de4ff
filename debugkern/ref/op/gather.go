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
	reading
	ext    Extent
	dims   []int
	stride []int
	at     []indexFunc
	limit  indexFunc // nil: none
	cols   int       // the dimension that columns run along, -1: the position has them
	each   bool      // the position depends on the column
	looks  bool      // and on an element of an input
}

// Bind reads the expressions of a position from the words at.0, at.1, ….
func (gather) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	base, ext, err := newReading(n, in, env)
	if err != nil {
		return nil, ext, err
	}
	k := &gatherKernel{reading: base, ext: ext, cols: int(number(n, "cols", -1))}
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
		if k.limit, err = x.compile(text); err != nil {
			return nil, ext, fmt.Errorf("gather: %w", err)
		}
	}
	return k, ext, nil
}

// position is the first element of a row from column c on, and how many columns of it there are; none where
// there is no such row.
func (k *gatherKernel) position(p *spot) (first, cols int) {
	p.bad = false
	if k.limit != nil {
		right := spot{t: p.t, r: p.r, c: p.c} // a mistake in the position is none in the limit
		if n := k.limit(&right); right.bad || p.r >= n {
			return 0, 0
		}
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
	k.errors(t, out)
}

func (k *gatherKernel) Mirror(t *Tile, _ []*Value, out *Value) { k.rows(t, out.M, k.mirrored) }

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
			for n, i := range sc.Cells {
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
