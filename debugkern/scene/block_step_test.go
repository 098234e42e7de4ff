package scene

import (
	"testing"

	"tilescope/probes"
)

// TestBlockStep: of blocks that write one after the other what all of them should share, the axis that moves
// nothing, or too little; nothing where every element has its block.
func TestBlockStep(t *testing.T) {
	for _, c := range []struct {
		name string
		col  int // by how much blockIdx.x moves the column
		want int // what it should be; 0: nothing is wrong
	}{
		{"does not move", 0, 64}, {"moves too little", 32, 64}, {"right", 64, 0},
	} {
		cover := &Covered{dims: []int{96, 150}, global: true, blocks: map[probes.Dim3]map[int]bool{}}
		for x := range 3 {
			for y := range 3 {
				for i := range 32 * 64 {
					at := []int{32*y + i/64, c.col*x + i%64}
					if cell, ok := linear(at, cover.dims); ok {
						cover.ofBlock(probes.Dim3{x, y, 0}, cell)
					}
				}
			}
		}
		got := cover.BlockStep()
		switch {
		case got == nil && c.want != 0, got != nil && c.want == 0:
			t.Errorf("%s: %+v, expected %d", c.name, got, c.want)
		case got != nil && (got.Of != "blockIdx.x" || got.Dim != 1 || got.Is != c.col || got.Be != c.want):
			t.Errorf("%s: %+v, expected %d", c.name, *got, c.want)
		}
	}
}
