package source

import (
	"testing"

	"tilescope/probes"
	"tilescope/tui/view"
)

// TestCellsOfDeepArrays: of an array with more than two dimensions a cell is named by row and column, as
// SHARED has it, or by an index for each dimension.
func TestCellsOfDeepArrays(t *testing.T) {
	v := &Controller{Context: &view.Context{Run: &view.Run{Plan: &probes.Plan{Shared: []probes.SharedArray{
		{Name: "sB", Dims: []int{2, 32, 72}}, {Name: "m", Dims: []int{8}}, {Name: "sP", Dims: []int{4, 8}},
	}}}}}
	for _, c := range []struct {
		text, array string
		row, col    int
		why         string
	}{
		{"sB[1][3][4]", "sB", 35, 4, ""},
		{"sB[63][71]", "sB", 63, 71, ""},
		{"sB[64][0]", "sB", 64, 0, "sB has no cell [64][0]: it is 2×32×72"},
		{"sB[0][32][0]", "sB", noRow, 0, "sB has no such cell: it is 2×32×72"},
		{"sB[1][3][72]", "sB", 35, 72, "sB has no cell [35][72]: it is 2×32×72"},
		{"m[7]", "m", 7, 0, ""},
		{"m[8]", "m", 8, 0, "m has no cell [8][0]: it is 8"},
		{"sP[3][7]", "sP", 3, 7, ""},
		{"sP[3][8]", "sP", 3, 8, "sP has no cell [3][8]: it is 4×8"},
		{"sX[0][0]", "sX", 0, 0, `this build has no shared array "sX"`},
	} {
		array, row, col, ok := v.cellOf(c.text)
		if !ok || array != c.array || row != c.row || col != c.col {
			t.Errorf("%s: %s row %d col %d, %t", c.text, array, row, col, ok)
		}
		if why := v.noSuchCell(array, row, col); why != c.why {
			t.Errorf("%s: %q, want %q", c.text, why, c.why)
		}
	}
	for _, text := range []string{"sP[1][2][3]", "sB[1]x", "sB", "[1][2]", "sB[-1][0]", "sB[1][2][3][4]"} {
		if array, row, col, ok := v.cellOf(text); ok {
			t.Errorf("%s is read as %s[%d][%d]", text, array, row, col)
		}
	}
}
