package report

import (
	"errors"
	"tilescope/probes"
)

// CompareSchema names the document that compare prints.
const CompareSchema = "tilescope.compare/1"

// Verdicts of a comparison and of its stages.
const (
	Equal        = "equal"  // the same bits
	Within       = "within" // other bits, and no cell beyond the tolerance
	Differ       = "differ"
	Incomparable = "incomparable" // a stage that both capture, but not as the same tiles; see Reason
)

// Comparison is the document tilescope.compare/1: kernel A against kernel B on the same inputs, bit against
// bit, or within a tolerance. No reference is asked: it shows where two kernels part, not
// which of them is right.
type Comparison struct {
	Schema  string       `json:"schema"`
	Targets [2]Side      `json:"targets"` // A, B
	Gate    string       `json:"gate"`
	Inject  string       `json:"inject"`
	Shape   probes.Shape `json:"shape"`
	Seed    uint64       `json:"seed"`
	Backend Backend      `json:"backend"`

	// Tolerance is how far two cells a and b may be apart: |a − b| ≤ atol + rtol·max(|a|, |b|); nil: their
	// bits are compared.
	Tolerance *Tolerance `json:"tolerance"`

	Verdict string `json:"verdict"` // equal, within, differ, failed
	// First: the stage that differs first, by kv tile, stage, block; "" for none
	First  string            `json:"first"`
	Stages []StageComparison `json:"stages"` // those that both capture
	OnlyA  []string          `json:"only_a"` // stages that A alone captures
	OnlyB  []string          `json:"only_b"`
	Output *OutputComparison `json:"output"` // null under a gate, or where one of them has none
	Notes  []string          `json:"notes"`
	Error  *SideError        `json:"error"`
}

// Side is one of two kernels.
type Side struct {
	Target  string         `json:"target"`
	Kernel  string         `json:"kernel"`
	Flags   map[string]int `json:"flags"`
	Faults  []string       `json:"faults"`
	Builder string         `json:"builder"`
	Cross   *Cross         `json:"cross"` // with --backend both: this kernel on the emulator
}

// SideError is which of two kernels did not build, load or run.
type SideError struct {
	Side string `json:"side"` // "a", "b"
	Failure
}

// CellStats count the cells that differ in their bits, and of those the ones beyond the tolerance, without
// one all of them. MaxAbs and MaxULP (representable values of the dtype) are over differing cells that are
// finite in both; Nonfinite counts the others.
type CellStats struct {
	Cells     int    `json:"cells"`
	Differing int    `json:"differing"`
	Beyond    int    `json:"beyond"`
	MaxAbs    Number `json:"max_abs"`
	MaxULP    int64  `json:"max_ulp"`
	Nonfinite int    `json:"nonfinite"`
}

// Size writes the largest difference by a verb for floats, and NoSize where a cell of one of the two is not
// finite.
func (s *CellStats) Size(verb string) string {
	if s.Nonfinite > 0 {
		return NoSize
	}
	return s.MaxAbs.Size(verb)
}

// StageComparison is one stage that both capture.
type StageComparison struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // equal, within, differ, incomparable
	Reason  string `json:"reason"`  // why it is incomparable
	Tiles   int    `json:"tiles"`
	CellStats
	First *DifferingCell `json:"first"` // of those beyond the tolerance: by kv tile, block, row, column
}

// DifferingCell is a cell with other bits in B, beyond the tolerance where there is one. Block is A's; Q has
// kv tile -1, O the number of tiles.
type DifferingCell struct {
	Block  probes.Dim3 `json:"block"`
	KVTile int         `json:"kv_tile"`
	Row    int         `json:"row"`
	Col    int         `json:"col"`
	A      Number      `json:"a"`
	B      Number      `json:"b"`
	BitsA  string      `json:"bits_a"` // "" where A did not reach the tile
	BitsB  string      `json:"bits_b"`
	Index  []int       `json:"index,omitempty"` // of an argument: the element, by dimension
	// Tile is what a tile of the stage is called: "kv tile"; "" where a block has one
	Tile string `json:"-"`
}

// OutputComparison compares the whole output argument.
type OutputComparison struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	CellStats
	// First: the index of the first element beyond the tolerance, by dimension; null where there is none
	First []int `json:"first"`
}

// ExitCode is the contract's exit code: 0 equal bits, or within the tolerance, 1 not, 4 failed.
func (c *Comparison) ExitCode() int {
	if c.Verdict == Within {
		return 0
	}
	return exitCode(c.Verdict, Equal)
}

// OfSide returns the document of one of two kernels that did not build, load or run, and its error as a
// document about both has it; nil where err is another error. Side 0 is A.
func OfSide(side int, err error) (*Run, *SideError) {
	var coded *Error
	if !errors.As(err, &coded) || coded.Report == nil || coded.Report.Error == nil {
		return nil, nil
	}
	return coded.Report, &SideError{Side: "ab"[side : side+1], Failure: *coded.Report.Error}
}
