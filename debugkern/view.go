package debugkern

import (
	"context"

	"tilescope/configs"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Run is one finished execution and all its results. It is immutable and safe for concurrent use; its methods
// that take a context may execute a block again.
type Run struct {
	Request   Request
	Report    *report.Run
	Plan      *probes.Plan
	Range     probes.Range       // what was captured
	Selection *configs.Selection // manifest, variant, flags, faults, gate
	Plain     *report.Plain      // the build without probes, where it ran

	state *runState
}

// Place is a tile: a stage at a block and kv tile (0 for stages taken once a block). judge.Place counts kv
// tiles as documents do.
type Place struct {
	Stage  probes.Stage
	Block  probes.Dim3
	KVTile int
}

// Cell is one cell of a tile.
type Cell struct {
	Place
	Row, Col int
}

// TileVerdict is one tile at a glance: what the Pipe view paints.
type TileVerdict struct {
	Verdict   string  // ok, wrong, tainted, off
	Bad       int     // cells above their local bound
	Tainted   int     // cells above their global bound
	Cells     int     // compared cells
	MaxAbs    float64 // largest local error
	Nonfinite int
	Absent    int // compared cells that no thread captured: not judged
}

// TileView is one tile with its references, row-major, Rows×Cols. Slices are shared and read-only.
type TileView struct {
	Place
	Plan *probes.StagePlan
	Got  probes.Tile
	// References and bounds are nil where the stage has no reference. Local is the exact reference from the
	// kernel's own earlier stages, Global from the true inputs, Mirrored the reference rounded where the
	// kernel rounds (from the true inputs).
	Local, Global, Mirrored []float64
	LocalBound, GlobalBound []float64
	ValidRows, ValidCols    int
	// Elems: of an argument's tile: how many cells are elements; the rest of its last row
	// is not there. Else 0
	Elems int
	// NoLocal: cells that cannot be judged locally: what they are computed from was not captured; nil: none
	NoLocal []bool
	Verdict TileVerdict

	// Previous is an argument's tile before the launch, where Got is that after it and it was filled;
	// else its Rows are 0.
	Previous probes.Tile

	// Injected: Got is what the gate injects into the launch in place of the stage, which has no error then
	// and is not judged
	Injected bool

	// Other is the same tile as the emulator computed it, where Got is a GPU's and both executed (Crossed);
	// else its Rows are 0.
	Other probes.Tile
}

// Valid reports whether a cell is one that the kernel has to compute: those are compared, where
// they were captured.
func (v *TileView) Valid(row, col int) bool {
	return row < v.ValidRows && col < v.ValidCols && (v.Elems == 0 || row*v.Plan.Cols+col < v.Elems)
}

// Referenced reports whether the tile is compared with a reference.
func (v *TileView) Referenced() bool { return v.Local != nil }

// Judged reports whether a valid cell is compared: locally, or else globally.
func (v *TileView) Judged(row, col int, local bool) bool {
	return v.Got.Captured(row, col) && !(local && v.NoLocal != nil && v.NoLocal[row*v.Plan.Cols+col])
}

// Viewer is the part of a run that the terminal's panes read. *Run implements it; tests have implementations
// of their own.
type Viewer interface {
	// Blocks lists the captured blocks in launch order.
	Blocks() []probes.Dim3
	// Tiles is the number of kv tiles captured for the block, and the first of them.
	Tiles(block probes.Dim3) (lo, n int)
	// Tile returns the verdict of one tile. Cheap.
	Tile(p Place) TileVerdict
	// View returns one tile with its references. It computes them at the first call for a block and may take
	// milliseconds then: call it from a command, not from Update.
	View(p Place) (*TileView, error)
	// NextBad finds the nearest bad cell after (dir 1) or before (dir -1) a cell, first within the stage in
	// the contract's order (kv tile, block, row, column), wrapping; ok is false where the stage has none.
	NextBad(from Cell, dir int) (Cell, bool)
	// Writer executes the cell's block again and returns who wrote it last before it was captured.
	Writer(ctx context.Context, c Cell) (*target.WriteSite, error)
	// Source returns the text of a CUDA source file of this run by base name, nil where it is not available.
	Source(file string) []string
}

var _ Viewer = (*Run)(nil)

// As is a cell of a tile of a 16-bit type as the number that its bits are of another one, F16 or BF16.
func (v *TileView) As(t probes.DType, row, col int) float64 {
	bits := uint16(v.Got.Bits(row, col))
	if t == probes.BF16 {
		return fp.BF16ToFloat64(bits)
	}
	return fp.F16ToFloat64(bits)
}
