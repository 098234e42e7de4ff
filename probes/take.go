package probes

// Sizes of the tables of a Take: rows and columns of a fragment, and elements of a register,
// that have an entry.
const (
	TakeRows  = 32
	TakeCols  = 256
	TakeParts = 8
	// TakeInstrs is how many instructions of a source line a Take that lists none has entries for.
	TakeInstrs = 64
)

// Take is one entry of a capture from registers (CaptureRegister): instructions of the kernel, which
// of their registers are read, and where in which tile these lie. A position below 0 belongs to no
// cell: it is not captured.
type Take struct {
	Field string // of the manifest, for messages

	// The instructions: those that begin on these lines of the PTX; or of the source line Line those with the
	// numbers Nth among the ones that can be meant, from 0 in the order of the PTX; or with neither, of a
	// tensor-core product, all of Line whose accumulators no later one on the line goes on with.
	PTX  []int
	Line int
	File string // base name of the file that Line is in; "": the kernel's own
	Nth  []int

	// Fragment: a fragment of a tensor-core product is read, else one register of each lane.
	Fragment bool
	Of       FragmentOf // which fragment
	// Which register: Name, or element Element of the operand with the index Operand (0: what the
	// instruction writes).
	Name             string
	Operand, Element int

	// Row and Col are the positions in the tile, by instruction i, warp, and what a cell is
	// known by within it:
	//
	//	of a fragment  Row[(i·warps + warp)·TakeRows + r]   Col[(i·warps + warp)·TakeCols + c]   r, c: the cell of the fragment
	//	of a register  Row, Col[((i·warps + warp)·32 + lane)·TakeParts + e]                      e: which part of the register
	//
	// nil, of a fragment: warps have the rows of a fragment each, one below the other, and
	// instructions the columns.
	Row, Col []int32
	Warps    int
	// Tile is the iteration whose tile it is; of the block and, in the place of the iteration, of how often
	// the thread has executed the instruction before (with Capture.TileLine or TilePTX: of the iterations
	// that it has begun before). Stages with one tile a block have no use for it.
	Tile Extent
	// Pass: which execution within an iteration is taken: from 1, or PassLast; 0: there is one (of a stage
	// taken once a block the last)
	Pass int
}

// FragmentOf says which fragment of a tensor-core product is read.
type FragmentOf uint8

const (
	FragmentD FragmentOf = iota // the accumulators, as the instruction leaves them
	FragmentA                   // its first operand, the rows
	FragmentB                   // its second operand: cells are [column of the product][k]
)

// Instrs is how many instructions the tables have entries for.
func (t *Take) Instrs() int {
	switch {
	case len(t.PTX) > 0:
		return len(t.PTX)
	case len(t.Nth) > 0:
		return len(t.Nth)
	}
	return TakeInstrs
}
