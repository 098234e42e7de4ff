package region

import (
	"testing"

	"tilescope/probes"
)

// position is a named position that is the index of the grid's dimension d.
func position(name string, d int, grid probes.Dim3) probes.Position {
	e := probes.Extent{Dims: [4]int{1, 1, 1, 1}}
	e.Dims[d] = grid[d]
	for x := range grid[d] {
		e.Values = append(e.Values, x)
	}
	return probes.Position{Name: name, At: e}
}

// TestFind describes sets of wrong cells of 2×3×2 blocks with 3 iterations of 32×64 cells.
func TestFind(t *testing.T) {
	grid := probes.Dim3{2, 3, 2}
	type at struct {
		b    probes.Dim3
		t    int
		r, c int
	}
	for _, x := range []struct {
		want  string
		wrong func(a at) bool
	}{
		{"every judged cell (73728)", func(at) bool { return true }},
		{"", func(at) bool { return false }},
		{"odd columns of every kv tile (36864 of 73728 cells)", func(a at) bool { return a.c%2 == 1 }},
		{"odd columns of every kv tile, 36863 of its 36864 cells (of 73728 judged)",
			func(a at) bool { return a.c%2 == 1 && a != at{probes.Dim3{1, 1, 1}, 1, 3, 5} }},
		{"columns 32–63 of every kv tile (36864 of 73728 cells)", func(a at) bool { return a.c >= 32 }},
		{"columns 16–31 of every 32 of every kv tile (36864 of 73728 cells)",
			func(a at) bool { return a.c&16 != 0 }},
		{"columns 4–9 and 20–24 of every kv tile (12672 of 73728 cells)",
			func(a at) bool { return a.c >= 4 && a.c < 10 || a.c >= 20 && a.c < 25 }},
		{"rows 16–31 in columns 0–15 of every kv tile (9216 of 73728 cells)",
			func(a at) bool { return a.r >= 16 && a.c < 16 }},
		{"rows 8–15 of every 16 of the last kv tile alone (12288 of 73728 cells)",
			func(a at) bool { return a.r&8 != 0 && a.t == 2 }},
		{"every cell of every kv tile but the first (49152 of 73728 cells)", func(a at) bool { return a.t > 0 }},
		{"every cell of every kv tile, blocks with head other than 0 (49152 of 73728 cells)",
			func(a at) bool { return a.b[1] != 0 }},
		{"row 0 of kv tile 1 alone, batch 1 alone (384 of 73728 cells)",
			func(a at) bool { return a.b[2] == 1 && a.t == 1 && a.r == 0 }},
		{"every cell of every kv tile, batch 1, head 2 alone (12288 of 73728 cells)",
			func(a at) bool { return a.b[2] == 1 && a.b[1] == 2 }},
		{"every cell of every kv tile, blocks with x = 1 alone (36864 of 73728 cells)",
			func(a at) bool { return a.b[0] == 1 }},
		{"column 3 of every kv tile, block 1,2,0 alone (96 of 73728 cells)",
			func(a at) bool { return a.b == probes.Dim3{1, 2, 0} && a.c == 3 }},
		{"the cells off the diagonal of each 2×2 of every kv tile (36864 of 73728 cells)",
			func(a at) bool { return (a.r^a.c)&1 != 0 }},
		{"the 8×8 blocks off the diagonal of each 16×16 of every kv tile (36864 of 73728 cells)",
			func(a at) bool { return (a.r^a.c)&8 != 0 }},
		{"nearly every judged cell (73724 of 73728)",
			func(a at) bool { return a.c != 7 || a.r != 3 || a.b[0] != a.b[2] || a.b[1] != a.t || a.t == 2 }},
		// few of the cells, and all of them in one half
		{"only in columns 32–63 (2304 of 36864 cells there, of 73728 judged)",
			func(a at) bool { return a.c >= 32 && (a.r*7+a.c*5)%16 == 0 }},
		{"only in the last kv tile (2016 of 24576 cells there, of 73728 judged)",
			func(a at) bool { return a.t == 2 && (a.r*7+a.c*5+a.r*a.c)%11 == 3 }},
		// nothing simple
		{"", func(a at) bool { return (a.r*37+a.c*101+a.t*7)%11 == 3 }},
	} {
		s := NewSet(Space{
			Rows: 32, Cols: 64, Tile: "kv tile", Grid: grid,
			Positions: []probes.Position{position("batch", 2, grid), position("head", 1, grid)},
		})
		n := 0
		for i := range grid.Count() {
			for kv := range 3 {
				tile := Tile{Block: grid.At(i), Iter: kv, Last: 2, Rows: 32, Cols: 64}
				for c := range 32 * 64 {
					if x.wrong(at{tile.Block, kv, c / 64, c % 64}) {
						tile.Wrong = append(tile.Wrong, c)
						n++
					}
				}
				s.Add(tile)
			}
		}
		r := s.Find()
		got := ""
		if r != nil {
			got = r.String()
			if r.Wrong != n {
				t.Errorf("%s: %d wrong, %d are", got, r.Wrong, n)
			}
		}
		if got != x.want {
			t.Errorf("got  %q\nwant %q", got, x.want)
		}
	}
}

// TestPartial has tiles of several extents, cells that were not judged, and blocks of several lengths.
func TestPartial(t *testing.T) {
	s := NewSet(Space{Rows: 4, Cols: 8, Tile: "tile", Grid: probes.Dim3{3, 1, 1}})
	for b := range 3 {
		for it := range b + 1 {
			x := Tile{Block: probes.Dim3{b, 0, 0}, Iter: it, Last: b, Rows: 4, Cols: 8}
			if it == b {
				x.Rows, x.Cols = 2, 5
				x.Skip = make([]bool, 32)
				x.Skip[8+4] = true // of the right cells
				x.Wrong = []int{0, 1, 2, 3, 4}
			}
			s.Add(x)
		}
	}
	if w, n := s.Wrong(); w != 15 || n != 3*9+3*32 {
		t.Errorf("%d of %d", w, n)
	}
	if got := s.Find().String(); got != "row 0 of the last tile alone (15 of 123 cells)" {
		t.Error(got)
	}
}

// TestTrue compares every description of small random sets with the cells: all wrong ones are inside.
func TestTrue(t *testing.T) {
	seed := uint32(1)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	found := 0
	for range 3000 {
		s := NewSet(Space{Rows: 8, Cols: 8, Tile: "tile", Grid: probes.Dim3{2, 2, 1}})
		rows, cols, iters, blocks := next(256), next(256), next(8), next(16)
		tiles := []Tile{}
		for b := range 4 {
			for it := range 3 {
				x := Tile{Block: probes.Dim3{2, 2, 1}.At(b), Iter: it, Last: 2, Rows: 8, Cols: 8}
				for c := range 64 {
					if rows>>(c/8)&1 != 0 && cols>>(c%8)&1 != 0 && iters>>it&1 != 0 && blocks>>b&1 != 0 &&
						next(40) != 0 {
						x.Wrong = append(x.Wrong, c)
					}
				}
				s.Add(x)
				tiles = append(tiles, x)
			}
		}
		r := s.Find()
		if r == nil {
			continue
		}
		found++
		in, cells := 0, 0
		for _, x := range tiles {
			for _, c := range x.Wrong {
				if !r.Has(x.Block, x.Iter, x.Last, c/8, c%8) {
					t.Fatalf("%s: a wrong cell is outside", r)
				}
				in++
			}
			for c := range 64 {
				if r.Has(x.Block, x.Iter, x.Last, c/8, c%8) {
					cells++
				}
			}
		}
		if in != r.Wrong || cells != r.Cells {
			t.Fatalf("%s: %d of %d", r, in, cells)
		}
	}
	if found < 1000 {
		t.Errorf("%d described", found)
	}
}
