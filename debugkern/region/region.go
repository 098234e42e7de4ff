// Package region says in a few words where the wrong cells of a stage lie: "odd columns of every kv tile but
// the first", "rows 16–31 in columns 0–15".
//
// The one idea: a description is tested on every judged cell, the right ones too. Of the descriptions that
// fit the shortest stands, and what does not fit exactly is stated with its numbers ("509 of its 512 cells");
// where nothing simple fits there is no description.
//
// It must not know stages, kernels or why a cell is wrong.
package region

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/probes"
)

// Space is where the cells of a stage are.
type Space struct {
	Rows, Cols int
	Tile       string // what an iteration is called ("kv tile"); "" where a block has one tile
	Grid       probes.Dim3
	// Warps of a block. Which warp has a row is not known here: it is said on condition, of warps that share
	// a tile's rows evenly. 0: not said.
	Warps int
	// Positions are the named positions of blocks, in the order in which they are tried.
	Positions []probes.Position
}

// Tile is one judged tile: its cells are those of the first Rows rows and Cols columns without Skip.
type Tile struct {
	Block      probes.Dim3
	Iter       int // of the loop; 0 where a block has one tile
	Last       int // iteration of the block
	Rows, Cols int
	Skip       []bool // by cell of the space, row-major: not judged; nil: none
	Wrong      []int  // cells of the space, row-major
}

// Set is the judged cells of a stage, wrong and right.
type Set struct {
	space         Space
	tiles         []tile
	wrong, judged int
}

// tile is a Tile with its cells as bits.
type tile struct {
	Tile
	bits []uint64 // wrong cells; nil: none
	skip []uint64
}

// NewSet returns an empty set.
func NewSet(s Space) *Set { return &Set{space: s} }

// Add adds a tile. The set keeps nothing of t's memory.
func (s *Set) Add(t Tile) {
	n := t.Rows * t.Cols
	x := tile{Tile: t}
	x.Wrong, x.Skip = nil, nil
	if len(t.Wrong) > 0 {
		x.bits = make([]uint64, (s.space.Rows*s.space.Cols+63)/64)
		for _, i := range t.Wrong {
			x.bits[i/64] |= 1 << (i % 64)
		}
	}
	for i, no := range t.Skip {
		if no && i/s.space.Cols < t.Rows && i%s.space.Cols < t.Cols {
			if x.skip == nil {
				x.skip = make([]uint64, (s.space.Rows*s.space.Cols+63)/64)
			}
			x.skip[i/64] |= 1 << (i % 64)
			n--
		}
	}
	s.wrong += len(t.Wrong)
	s.judged += n
	s.tiles = append(s.tiles, x)
}

// Wrong is how many cells are wrong, of how many that were judged.
func (s *Set) Wrong() (wrong, judged int) { return s.wrong, s.judged }

func has(bits []uint64, i int) bool { return bits != nil && bits[i/64]>>(i%64)&1 != 0 }

// Region is a part of the cells in words.
type Region struct {
	Text string // without numbers of cells: "odd columns of every kv tile"
	// Wrong cells are all in the region, which has Cells of the judged ones.
	Wrong, Cells, Judged int

	space *Space
	cell  func(r, c int) bool
	tile  func(t *Tile) bool
}

// everywhere is the text of a region that has no limits.
const everywhere = "every judged cell"

// Whole reports whether the region is all that was judged.
func (r *Region) Whole() bool { return r.Cells == r.Judged }

// Has reports whether a cell of the space lies in the region.
func (r *Region) Has(block probes.Dim3, iter, last, row, col int) bool {
	return r.tile(&Tile{Block: block, Iter: iter, Last: last}) && r.cell(row, col)
}

// String is the region with its numbers: "odd columns of every kv tile (1024 of 2048 cells)".
func (r *Region) String() string {
	switch right := r.Cells - r.Wrong; {
	case r.Whole() && right == 0:
		return fmt.Sprintf("%s (%d)", r.Text, r.Wrong)
	case r.Whole():
		return fmt.Sprintf("nearly every judged cell (%d of %d)", r.Wrong, r.Judged)
	case right == 0:
		return fmt.Sprintf("%s (%d of %d cells)", r.Text, r.Wrong, r.Judged)
	case r.dense():
		text := strings.Replace(r.Text, "every cell", "nearly every cell", 1)
		return fmt.Sprintf("%s, %d of its %d cells (of %d judged)", text, r.Wrong, r.Cells, r.Judged)
	}
	return fmt.Sprintf("only in %s (%d of %d cells there, of %d judged)", r.Text, r.Wrong, r.Cells, r.Judged)
}

// dense reports whether nearly every cell of the region is wrong.
func (r *Region) dense() bool { return 10*(r.Cells-r.Wrong) <= r.Cells }

// Find describes the wrong cells; nil where nothing simple is true of them, or none is wrong.
func (s *Set) Find() *Region {
	if s.wrong == 0 {
		return nil
	}
	if s.wrong == s.judged {
		return s.whole()
	}
	shapes := s.shapes()
	tiles := s.tileSets()
	blocks := s.blockSets()
	var best *Region
	least := 0.0
	for _, sh := range shapes {
		for _, t := range tiles {
			for _, b := range blocks {
				free := sh.free && t.free && b.free
				r := s.region(sh, t, b)
				if free && r != nil {
					r = s.whole()
				}
				cost := sh.cost + t.cost + b.cost
				if r == nil || best != nil && !better(r, cost, best, least) {
					continue
				}
				best, least = r, cost
			}
		}
	}
	return best
}

func (s *Set) whole() *Region {
	return &Region{
		Text: everywhere, Wrong: s.wrong, Cells: s.judged, Judged: s.judged, space: &s.space,
		cell: func(int, int) bool { return true }, tile: func(*Tile) bool { return true },
	}
}

// better compares by right cells inside, then by length.
func better(a *Region, cost float64, b *Region, least float64) bool {
	if a.dense() != b.dense() {
		return a.dense()
	}
	// a right cell inside is worth as much as a quarter of a number in the description, up to a limit; in a
	// region that few wrong cells fill, only the share counts
	x, y := penalty(a), penalty(b)
	return cost+x < least+y
}

func penalty(r *Region) float64 {
	right := float64(r.Cells - r.Wrong)
	if r.dense() {
		return min(right/4, 4) + 20*right/float64(r.Cells)
	}
	return 12 * right / float64(r.Cells)
}

// region is a product of limits, where it is worth saying; every wrong cell lies in it.
func (s *Set) region(sh shape, t tileSet, b blockSet) *Region {
	out := &Region{
		Wrong: s.wrong, Judged: s.judged, space: &s.space, cell: sh.has,
		tile: func(x *Tile) bool { return t.has(x) && b.has(x.Block) },
	}
	for i := range s.tiles {
		x := &s.tiles[i]
		if out.tile(&x.Tile) {
			out.Cells += sh.inside[i]
		}
	}
	if out.Cells < s.wrong {
		return nil // a shape that does not cover all wrong cells
	}
	if !out.dense() && (2*out.Cells > s.judged || !s.telling(sh, out)) {
		return nil
	}
	out.Text = s.text(sh, t, b, out.dense())
	return out
}

// telling reports whether wrong cells lie in a region that they do not fill by more than chance: their
// coordinates would all be in the region once in a thousand times, had they been drawn from those judged.
func (s *Set) telling(sh shape, r *Region) bool {
	// cells of one row or column often go wrong together: each tile counts once for each of them
	n := 0
	for i := range s.tiles {
		x := &s.tiles[i]
		if x.bits == nil {
			continue
		}
		rows, cols := s.used(x)
		if sh.rows {
			n += rows
		} else {
			n += cols
		}
	}
	p, share := 1.0, float64(r.Cells)/float64(s.judged)
	for range min(n, 64) {
		p *= share
	}
	return p < 1e-3
}

// used is how many rows and columns of a tile have wrong cells.
func (s *Set) used(x *tile) (rows, cols int) {
	c := make([]bool, s.space.Cols)
	for r := range x.Rows {
		any := false
		for k := range x.Cols {
			if has(x.bits, r*s.space.Cols+k) {
				any, c[k] = true, true
			}
		}
		if any {
			rows++
		}
	}
	for _, y := range c {
		if y {
			cols++
		}
	}
	return rows, cols
}

// text joins the parts: cells, tiles, blocks. Of a region that is not dense every iteration need not have
// wrong cells.
func (s *Set) text(sh shape, t tileSet, b blockSet, dense bool) string {
	if !dense { // "only in" stands before it
		var parts []string
		for _, part := range []string{sh.text, t.text, b.text} {
			if part != "" {
				parts = append(parts, strings.TrimSuffix(part, " alone"))
			}
		}
		return strings.Join(parts, ", ")
	}
	text := sh.text
	if sh.free {
		text = "every cell"
	}
	switch {
	case !t.free:
		text += " of " + t.text
	case s.space.Tile != "" && s.iterations() > 1:
		text += " of every " + s.space.Tile
	}
	if !b.free {
		text += ", " + b.text
	}
	return text
}

func (s *Set) iterations() int {
	n := 0
	for i := range s.tiles {
		n = max(n, s.tiles[i].Iter+1)
	}
	return n
}

// Tiles is how many of the tiles have wrong cells.
func (s *Set) Tiles() (wrong, all int) {
	for i := range s.tiles {
		if s.tiles[i].bits != nil {
			wrong++
		}
	}
	return wrong, len(s.tiles)
}

// join writes "a, b and c".
func join(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// sorted returns the keys of a set of numbers, ascending.
func sorted(set map[int]state) []int {
	var out []int
	for x := range set {
		out = append(out, x)
	}
	slices.Sort(out)
	return out
}
