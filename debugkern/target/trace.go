package target

import (
	"context"
	"errors"

	"tilescope/probes"
)

// CellTracer is offered by kernels whose backend can execute a block again and say who wrote a cell.
type CellTracer interface {
	// WhoWrote executes block of l again and returns the last write to the cell before it was captured: for a
	// probe that copies shared memory, the write to the shared bytes it read; for a value a thread hands to a
	// probe itself, that thread; for an output, the last store to it. nil where nothing wrote it.
	WhoWrote(ctx context.Context, l *Launch, block probes.Dim3, cell TracedCell) (*WriteSite, error)
}

// ErrNoTracer is the error of asking who wrote a cell where the backend is no CellTracer.
var ErrNoTracer = errors.New(
	"this backend cannot tell who wrote a cell: run the same on the emulator (--backend emu)")

// TracedCell is a cell of the capture buffer (Arg "") or of an output argument: Size bytes at Offset.
type TracedCell struct {
	Arg    string
	Offset uint64
	Size   int
}

// WriteSite is one write: which thread's, by which instruction, to which bytes.
type WriteSite struct {
	Block      *probes.Dim3 // of a cell that belongs to no block: whose write it is; else nil
	Step       uint64       // the block's clock
	Warp, Lane int
	PC         int    // index in the entry's instructions
	Instr      string // the instruction's PTX text
	PTXLine    int
	Source     *Source // the caller's line, not a library's
	Computed   *Source // the line of the arithmetic that made the value, where it is another (ComputedAt)
	Probe      bool    // a probe copies the value there: the kernel itself does not store it
	Space      Space
	Addr       uint64 // in that space; for shared memory the offset, so bank = Addr/4%32
	Fragment   string // "acc[5] of mma #4" for a cell out of a fragment store, else ""
}
