package probes_test

import (
	"testing"

	"tilescope/probes"
)

// striped is a made-up map: lane l holds row l/2, columns 8·(l%2) and up.
func striped() *probes.Fragment {
	var f probes.Fragment
	for l := range f {
		for e := range f[l] {
			f[l][e] = l*8 + e
		}
	}
	return &f
}

func TestFragmentCells(t *testing.T) {
	cells, err := striped().Cells(32, 32, 128)
	if err != nil {
		t.Fatal(err)
	}
	// Thread 32·3 + 3 is lane 3 of warp 3, whose block starts at (16, 16): row 17, columns 24 to 31.
	if got, want := cells[(96+3)*8+2], 17*32+26; got != want {
		t.Errorf("element 2 of warp 3 lane 3 is cell %d, want %d", got, want)
	}
	seen := map[int]bool{}
	for _, c := range cells {
		seen[c] = true
	}
	if len(seen) != 1024 {
		t.Errorf("%d distinct cells, want 1024", len(seen))
	}
}

func TestFragmentRefuses(t *testing.T) {
	twice := striped()
	twice[4][1] = twice[4][0]
	for name, f := range map[string]func() ([]int, error){
		"too few threads": func() ([]int, error) { return striped().Cells(32, 32, 64) },
		"odd tile":        func() ([]int, error) { return striped().Cells(8, 128, 128) },
		"a cell twice":    func() ([]int, error) { return twice.Cells(32, 32, 128) },
	} {
		if cells, err := f(); err == nil {
			t.Errorf("%s: accepted, %d cells", name, len(cells))
		}
	}
}
