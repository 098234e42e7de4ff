package probes

import "fmt"

// Fragment says which cell of a 16×16 tile (row-major index, 0 to 255) each of a lane's elements
// holds, in element order.
type Fragment [32][8]int

// Whole reports whether every cell occurs exactly once.
func (f *Fragment) Whole() bool {
	var seen [256]bool
	for _, lane := range f {
		for _, c := range lane {
			if c < 0 || c > 255 || seen[c] {
				return false
			}
			seen[c] = true
		}
	}
	return true
}

// Cells lists, for each element that TS_FRAG stores (thread after thread), the row-major index of its cell in
// a rows×cols tile: warp w holds the w-th 16×16 block of the tile, counted row by row. A tile that the
// block's threads do not hold exactly, or a map with a cell twice, is an error.
func (f *Fragment) Cells(rows, cols, threads int) ([]int, error) {
	switch {
	case rows%16 != 0 || cols%16 != 0:
		return nil, fmt.Errorf("a tile of %d×%d does not consist of 16×16 fragments", rows, cols)
	case threads%32 != 0 || threads*8 != rows*cols:
		return nil, fmt.Errorf("%d threads hold %d accumulator elements, a tile of %d×%d has %d", threads,
			threads*8, rows, cols, rows*cols)
	case !f.Whole():
		return nil, fmt.Errorf("the introspected fragment does not hold every cell exactly once")
	}
	out := make([]int, 0, rows*cols)
	for t := range threads {
		row, col := t/32/(cols/16)*16, t/32%(cols/16)*16
		for _, c := range f[t%32] {
			out = append(out, (row+c/16)*cols+col+c%16)
		}
	}
	return out, nil
}
