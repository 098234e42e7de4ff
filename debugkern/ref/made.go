package ref

import (
	"slices"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Span is whole numbers from the first up to but not with the second.
type Span [2]int

// Part is operands that cells of a stage are made of: cells of another stage's tile, or elements of an input.
type Part struct {
	Stage      int // in the graph; -1: elements of an input
	Iter       int // of the tile
	Rows, Cols Span
	// Valid: rows and columns of the tile that are numbers: cells beyond may take part, and need not
	Valid    [2]int
	Input    string
	Elements []int // by flat index over the input's dimensions
	Masked   bool  // a mask may leave some of them out
	// Mask says which cells of a tile are not left out; nil: all are in, or which are depends on numbers
	Mask probes.Mask
}

// elements is an operator that reads an input at places that are known without its numbers.
type elements interface {
	Elements(t *op.Tile, rows, cols [2]int) []int
}

// MadeOf lists what cells of a stage in a block and iteration are computed from: operands of operations in
// place are followed to stages and inputs. false where that depends on numbers (a gather), or nothing
// computes the stage.
func (g *Graph) MadeOf(i int, block probes.Dim3, iter int, rows, cols Span) ([]Part, bool) {
	if g.stages[i].root < 0 {
		return nil, false
	}
	m := maker{g: g, block: block, iter: iter}
	ok := m.vertex(g.stages[i].root, rows, cols, false, nil)
	return m.out, ok
}

type maker struct {
	g     *Graph
	block probes.Dim3
	iter  int
	out   []Part
}

func (m *maker) vertex(v int, rows, cols Span, masked bool, mask probes.Mask) bool {
	x := &m.g.vertices[v]
	_, selects := x.kernel.(op.Selective)
	ext := x.ext
	for _, a := range x.args { // a maximum of rows has one column, and its mask those of its operand
		ext[1] = max(ext[1], m.extent(a)[1])
	}
	if !x.node.Params.Mask.All(m.block, m.iter, ext[0], ext[1]) {
		if mask = slices.Concat(mask, x.node.Params.Mask); masked {
			mask = nil
		}
		masked = true
	}
	if selects {
		masked, mask = true, nil
	}
	if len(x.args) == 0 {
		k, ok := x.kernel.(elements)
		if !ok {
			return len(x.node.Args) == 0 // else which elements it reads depends on numbers
		}
		t := &op.Tile{Block: m.block, Iter: m.iter}
		m.out = append(m.out, Part{
			Stage: -1, Iter: m.iter, Rows: rows, Cols: cols, Input: x.node.Args[0].Tensor,
			Elements: k.Elements(t, rows, cols), Masked: masked,
		})
		return true
	}
	for k, a := range x.args {
		ext := m.extent(a)
		r, c := needed(x.needs[k], ext, rows, cols)
		if a.vertex >= 0 {
			if !m.vertex(a.vertex, r, c, masked, mask) {
				return false
			}
			continue
		}
		iter := m.iter
		if a.before {
			if iter--; iter < 0 {
				continue
			}
		}
		nr, nc := m.g.stages[a.stage].valid(m.block, max(iter, 0))
		p := Part{Stage: a.stage, Iter: iter, Rows: r, Cols: c, Valid: [2]int{nr, nc}, Masked: masked}
		if ext[1] > 1 {
			p.Mask = mask
		}
		m.out = append(m.out, p)
	}
	return true
}

// extent is that of an operand.
func (m *maker) extent(a arg) op.Extent {
	if a.vertex >= 0 {
		return m.g.vertices[a.vertex].ext
	}
	return op.Extent{m.g.stages[a.stage].Rows, m.g.stages[a.stage].Cols}
}

// needed is which cells of an operand some cells of a result are made of.
func needed(n op.Need, ext op.Extent, rows, cols Span) (r, c Span) {
	all := func(k int) Span { return Span{0, ext[k]} }
	switch n {
	case op.SameCell:
		if r, c = rows, cols; ext[0] == 1 {
			r = Span{0, 1}
		}
		if ext[1] == 1 {
			c = Span{0, 1}
		}
		return r, c
	case op.WholeRow:
		return rows, all(1)
	case op.WholeColumn:
		return all(0), cols
	case op.RowOfColumn:
		return cols, all(1)
	case op.ColumnOfRow:
		return all(0), rows
	}
	return all(0), all(1)
}
