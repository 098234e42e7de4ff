package report

import (
	"cmp"
	"fmt"
	"strings"
)

// LutSchema names the document that lut prints.
const LutSchema = "tilescope.lut/1"

// Cell16 is row and column of a fragment's tile, which for WMMA is 16×16.
type Cell16 [2]int

// String is "(row,column)".
func (c Cell16) String() string { return fmt.Sprintf("(%d,%d)", c[0], c[1]) }

// Lut is the document tilescope.lut/1: fragment maps, and where a header was given, what is wrong with it.
type Lut struct {
	Schema  string     `json:"schema"`
	Backend Backend    `json:"backend"`
	Maps    []Fragment `json:"maps"`

	File        string     `json:"file,omitempty"`
	Covered     *bool      `json:"covered,omitempty"` // every cell exactly once
	Ordered     *bool      `json:"ordered,omitempty"` // every entry what the hardware has there
	Missing     []Cell16   `json:"missing,omitzero"`
	Duplicate   []Cell16   `json:"duplicate,omitzero"`
	Wrong       []LutEntry `json:"wrong,omitzero"`
	Explanation string     `json:"explanation,omitempty"`
}

// Fragment is one map: for each lane and element, row and column. Of b, rows are the summed dimension.
type Fragment struct {
	Kind   string     `json:"kind"` // acc, a, b; matrix of ldmatrix
	DType  string     `json:"dtype"`
	Layout string     `json:"layout"` // row or col in memory; "" for an accumulator
	Lanes  [][]Cell16 `json:"lanes"`
	// Instruction: m16n8k16 of mma.sync, with .sp of a sparse A, ldmatrix.x4, with .trans; "" of WMMA, whose
	// tiles are 16×16
	Instruction string `json:"instruction,omitempty"`
	Rows        int    `json:"rows,omitempty"` // of the tile; 0: 16
	Cols        int    `json:"cols,omitempty"`
}

// Extents is the tile's rows and columns.
func (f *Fragment) Extents() (rows, cols int) {
	if f.Rows == 0 {
		return 16, 16
	}
	return f.Rows, f.Cols
}

// Title names the fragment: WMMA acc f32, m16n8k16 a f16 row.
func (f *Fragment) Title() string {
	words := strings.Fields(cmp.Or(f.Instruction, "WMMA") + " " + f.Kind + " " + f.DType + " " + f.Layout)
	return strings.Join(words, " ")
}

// LutEntry is an entry of a header that disagrees with introspection.
type LutEntry struct {
	Lane    int    `json:"lane"`
	Element int    `json:"element"`
	Want    Cell16 `json:"want"`
	Got     Cell16 `json:"got"`
	Line    int    `json:"-"` // of the header, from 1; 0 where it is not known
}
