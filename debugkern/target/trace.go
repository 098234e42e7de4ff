package target

import (
	"context"

	"tilescope/probes"
)

// CellTracer is offered by kernels whose backend can execute a block again and say who wrote a cell.
type CellTracer interface {
	// WhoWrote executes block of l again and returns the last write to the cell before it was captured: for a probe that
	// copies shared memory, the write to the shared bytes it read; for a value a thread hands to a probe itself, that
	// thread; for an output, the last store to it. nil where nothing wrote it.
	WhoWrote(ctx context.Context, l *Launch, block probes.Dim3, cell TracedCell) (*WriteSite, error)
}

// TracedCell is a cell of the capture buffer (Arg "") or of an output argument: Size bytes at Offset.
type TracedCell struct {
	Arg    string
	Offset uint64
	Size   int
}

// WriteSite is one write.
type WriteSite struct {
	Step       uint64 // the block's clock
	Warp, Lane int
	PC         int
	Instr      string // the instruction's PTX text
	PTXLine    int
	Source     *Source // the caller's line, not a library's
	Space      Space
	Addr       uint64
	Fragment   string // "acc[5] of mma #4" for a cell out of a fragment store, else ""
}
