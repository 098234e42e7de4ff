package op

import (
	"fmt"

	"tilescope/probes"
)

// load reads a tile of an input: cell (r, c) is the element at the position `at`, with r and c added to the
// dimensions `rows` and `cols`.
//
//	{load: K, at: [batch, head, key, 0], rows: 2, cols: 3}
type load struct{ shared }

type loadKernel struct {
	reading
	ext      Extent
	at       []probes.Extent
	dims     []int
	stride   []int  // elements from one index of a dimension to the next
	along    [2]int // the dimensions that rows and columns run along, -1: every row, or column, is the same
	row, col int    // elements from one row, column of the tile to the next
}

func (load) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	base, ext, err := newReading(n, in, env)
	if err != nil {
		return nil, ext, err
	}
	k := &loadKernel{reading: base, ext: ext, along: [2]int{-1, -1}, at: n.Params.Index["at"]}
	dims := k.tensor.Dims()
	if len(k.at) != len(dims) {
		return nil, ext, fmt.Errorf("load: position of %d dimensions, %s has %d", len(k.at),
			k.name, len(dims))
	}
	k.dims, k.stride = dims, strides(dims)
	for axis, to := range [2]*int{&k.row, &k.col} {
		name := [2]string{"rows", "cols"}[axis]
		d := int(number(n, name, -1))
		if d >= len(dims) || d < -1 {
			return nil, ext, fmt.Errorf("load: %s along dimension %d, %s has %d", name, d, k.name, len(dims))
		}
		if d >= 0 {
			*to, k.along[axis] = k.stride[d], d
		}
	}
	return k, ext, nil
}

// Valid is as much of the tile as the tensor has.
func (k *loadKernel) Valid(t *Tile, _ []*Value) (rows, cols int) {
	size := k.ext
	for d, e := range k.at {
		left := k.dims[d] - e.At(t.Block, t.Iter)
		for axis := range size {
			if k.along[axis] == d {
				size[axis] = min(size[axis], max(left, 0))
			}
		}
		if left <= 0 {
			return 0, 0
		}
	}
	return size[0], size[1]
}

// first is the position of the tile's first cell.
func (k *loadKernel) first(t *Tile) int {
	p := 0
	for d, e := range k.at {
		p += e.At(t.Block, t.Iter) * k.stride[d]
	}
	return p
}

// Position is where a load reads its tile, in a tensor that never changes: tiles of one position are the
// same.
type Position struct {
	first      int
	rows, cols int // that are asked for
	have       [2]int
}

// Positioned reports whether a kernel loads tiles that their position determines: not a gather's, whose
// rows a table names.
func Positioned(k Kernel) bool {
	_, ok := k.(*loadKernel)
	return ok
}

// PositionOf is the position of the tile that a positioned kernel loads.
func PositionOf(k Kernel, t *Tile) Position {
	l := k.(*loadKernel)
	rows, cols := l.Valid(t, nil)
	return Position{l.first(t), t.Rows, t.Cols, [2]int{rows, cols}}
}

// each reads the tile with a function that reads consecutive elements. What lies beyond the tensor is 0.
func (k *loadKernel) each(t *Tile, out Matrix, read func(dst []float64, first int)) {
	rows, cols := k.Valid(t, nil)
	rows, cols = min(rows, t.Rows), min(cols, t.Cols)
	if rows < t.Rows || cols < t.Cols {
		clear(out.Data)
	}
	p := k.first(t)
	if k.col == 1 && k.row == out.Cols && cols == out.Cols {
		read(out.Data[:rows*cols], p)
		return
	}
	for r := range rows {
		if row := out.Row(r)[:cols]; k.col == 1 {
			read(row, p+r*k.row)
		} else {
			for c := range row {
				read(row[c:c+1], p+r*k.row+c*k.col)
			}
		}
	}
}

func (k *loadKernel) Exact(t *Tile, _ []*Value, out *Value) { k.each(t, out.M, k.tensor.Decode) }

func (k *loadKernel) Estimate(t *Tile, _ []*Value, out *Value) {
	k.each(t, out.M, k.tensor.Decode)
	k.errors(t, out)
}

func (k *loadKernel) Mirror(t *Tile, _ []*Value, out *Value) { k.each(t, out.M, k.mirrored) }

// Elements lists the elements that cells of a tile are, by flat index; cells beyond the input are none.
func (k *loadKernel) Elements(t *Tile, rows, cols [2]int) []int {
	nr, nc := k.Valid(t, nil)
	first := k.first(t)
	var out []int
	for r := rows[0]; r < min(rows[1], nr); r++ {
		for c := cols[0]; c < min(cols[1], nc); c++ {
			out = append(out, first+r*k.row+c*k.col)
		}
	}
	return out
}
