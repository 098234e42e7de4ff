package cuda

import (
	"errors"
	"testing"

	"tilescope/probes"
)

// TestMissingByTwoFillings: what both launches leave as it was filled was not stored; what one of them
// changed was, whatever its bits. The second launch is made only where the first leaves a doubt.
func TestMissingByTwoFillings(t *testing.T) {
	p := &probes.Plan{
		Grid: probes.Dim3{2, 1, 1}, Work: probes.Work{MaxTiles: 1},
		Stages: []probes.StagePlan{{Stage: "S", DType: probes.F32, Rows: 2, Cols: 2}},
	}
	lay := probes.NewLayout(p, probes.StagesOf("S"), probes.Range{N: p.Grid, TileN: 1})
	block := probes.Dim3{1, 0, 0}
	off, _ := lay.Slot("S", block, 0)
	capture := func(fill byte, cells map[int][4]byte, head bool) []byte {
		b := make([]byte, lay.CaptureBytes)
		for i := range b {
			b[i] = fill
		}
		if head {
			if err := lay.Put(probes.Buffer(b), "S", block, 0, make([]byte, 16)); err != nil {
				t.Fatal(err)
			}
			for i := range 16 {
				b[int(off)+i] = fill
			}
		}
		for i, v := range cells {
			copy(b[int(off)+4*i:], v[:])
		}
		return b
	}
	// stored, with the bits that were there
	same := [4]byte{captureFill, captureFill, captureFill, captureFill}
	part := [4]byte{1, captureFill, captureFill, captureFill}
	for _, c := range []struct {
		name   string
		cells  map[int][4]byte
		head   bool
		absent []bool // nil: none, or not reached
		asks   bool
	}{
		{"whole", map[int][4]byte{0: part, 1: part, 2: part, 3: part}, true, nil, false},
		{"the filling stored", map[int][4]byte{0: part, 1: same, 2: part, 3: part}, true, nil, true},
		{"two missing", map[int][4]byte{0: part, 1: same}, true, []bool{false, false, true, true}, true},
		{"no header", map[int][4]byte{3: part}, false, []bool{true, true, true, false}, true},
		{"not reached", nil, false, nil, false},
	} {
		asked := false
		f := &filled{data: capture(captureFill, c.cells, c.head), again: func() ([]byte, error) {
			asked = true
			return capture(captureOtherFill, c.cells, c.head), nil
		}}
		got := lay.Missing(probes.Buffer(f.data), block, f)[off]
		if asked != c.asks || len(got) != len(c.absent) {
			t.Errorf("%s: missing %v, asked %v", c.name, got, asked)
			continue
		}
		tile := lay.Tile(probes.Buffer(f.data), &p.Stages[0], block, 0)
		if tile.Reached() != (c.cells != nil) {
			t.Errorf("%s: reached %v", c.name, tile.Reached())
		}
		for i, a := range c.absent {
			if got[i] != a || a && tile.Bits(i/2, i%2) != 0 {
				t.Errorf("%s: cell %d: missing %v, bits %#x", c.name, i, got[i], tile.Bits(i/2, i%2))
			}
		}
	}
	f := &filled{
		data:  capture(captureFill, nil, true),
		again: func() ([]byte, error) { return nil, errors.New("lost") },
	}
	if lay.Missing(probes.Buffer(f.data), block, f); f.err == nil {
		t.Error("a second launch that fails is no answer")
	}
}
