package target

import (
	"context"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Walkable is offered by blocks whose execution can be followed moment by moment. A moment is a value
// of the block's clock; the state of the block there is a function of the moment alone, however
// execution came to it (in one go, in steps, or from a snapshot), so that going back is going forward
// again from an earlier snapshot.
type Walkable interface {
	Block
	// RunTo executes up to a moment and stops in front of the instruction that comes next. stop, which may be
	// nil, sees every instruction before it executes, those that no lane executes too (Mask 0), and every
	// completed barrier and landed copy; where it returns true execution stops there: in front of the
	// instruction, or behind the barrier. After stopping behind a barrier, RunTo(Steps()) goes to where the
	// moment's own state is.
	RunTo(ctx context.Context, step uint64, stop func(*Event) bool) (Stop, error)
	// KVTile is the pass of the kernel's walk over kv tiles that a warp is in at an
	// instruction, -1 outside it.
	KVTile(warp, pc int) int
	// OnCapture has f called for every tile that is complete in the capture buffer from now on,
	// at the moment it is.
	OnCapture(f func(s probes.Stage, kv int))
	// Array is where a named shared array lies in shared memory.
	Array(a probes.SharedArray) (addr int, ok bool)
}

// Program is offered by kernels that can say what they execute.
type Program interface {
	// Functions are the entry and the functions it calls in the order of their PCs: the first one's body
	// starts at PC 0, and each takes one PC more than it has instructions, for the return at its end.
	Functions() []*ptx.Func
	// Source is the place in the CUDA source that an instruction belongs to: the caller's, where a
	// library was inlined.
	Source(pc int) *Source
	// Outer is the line of the function's own body that Source was inlined into.
	Outer(pc int) *Source
	// IsProbe reports whether an instruction belongs to the probe header.
	IsProbe(pc int) bool
	// Registers lists the registers (indices in the entry's Regs) that the entry's instruction writes
	// and reads, in the order of its operands, and the others that are live in front of it, the one
	// that is read next first.
	Registers(pc int) (written, read, live []int)
	// Written lists the registers that the entry's instruction writes, in the order of its destination.
	Written(pc int) []int
}

// SharedTracer is offered by kernels that can tell every write to shared memory.
type SharedTracer interface {
	// SharedWrites executes a block again up to a moment of its clock and returns every write to the n bytes
	// at addr of shared memory, oldest first: a write of several bytes is one.
	SharedWrites(
		ctx context.Context, l *Launch, block probes.Dim3, addr, n int, until uint64,
	) ([]WriteSite, error)
}
