// Package walk steps through one block of a launch, forwards and backwards, and says who wrote a cell.
//
// The one idea: a block's state is a function of its clock alone, so that going back is going forward again
// from a snapshot. A motion first finds the moment to go to, by executing, and then goes there.
//
// It must not know runs or sessions: it is given a kernel that can be stepped, and a launch.
package walk

import (
	"context"

	"tilescope/debugkern/target"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// Units of Walk.Step besides those of target.Unit.
const (
	// StepTurn is until the schedule goes on with another warp, which becomes the current one.
	StepTurn = target.StepEnd + 1 + iota
	// StepRound is until every warp that can still execute has begun another line.
	StepRound
	// StepAsync is until something asynchronous happens: an operation is issued or lands, or a phase of an
	// mbarrier is complete.
	StepAsync
)

// Walk is one block of a run under a person's hand: it steps forwards and backwards (snapshots at barriers,
// deterministic re-execution between), stops at breakpoints, and finds who wrote a cell. Not safe for
// concurrent use; methods that execute may take long and honour ctx.
type Walk interface {
	// Position returns where execution of the block has stopped. Cheap.
	Position() Position
	// Clock is the moment that a motion under way has come to, about. It may be called at any time,
	// from any goroutine.
	Clock() uint64
	// Step executes n units forwards, or backwards where n is negative. Instructions and lines are the
	// current warp's, which stays the same until SetWarp, its end, or a breakpoint or Seek that leads to
	// another; the other warps execute in turn, in the launch's own order, so that a step never makes
	// another execution than the run's.
	Step(ctx context.Context, u target.Unit, n int) (Position, error)
	// StepOver is StepLine that treats functions inlined and called from the current one as part of the line
	// that calls them.
	StepOver(ctx context.Context, n int) (Position, error)
	// StepOut leaves the current function n times: forwards to what the warp executes in its caller, or
	// backwards to what it executed there last. In the kernel's own body it is ErrOutermost.
	StepOut(ctx context.Context, n int) (Position, error)
	// Continue runs to the next breakpoint or the end; Reverse to the one before or the start.
	Continue(ctx context.Context) (Position, error)
	Reverse(ctx context.Context) (Position, error)
	// Seek goes to a moment of the block's clock.
	Seek(ctx context.Context, step uint64) (Position, error)
	SetWarp(warp int)
	SetBreakpoints([]Breakpoint)
	// Hits returns how often each breakpoint has been hit from its From up to now.
	Hits(ctx context.Context) ([]Hits, error)

	Warps() []target.Warp
	// State returns a copy of what expressions can read now, for the current warp.
	State() Values
	// Frames lists the current warp's calls, innermost first; the last is the kernel's own body.
	Frames() []Frame
	// Registers lists the current warp's registers: first those that the instruction at hand names, then
	// those of the other instructions of its source line in the same basic block, then the others live there.
	Registers() []Register
	// Listing is the entry's PTX, one line an instruction, label or .loc; it never changes.
	Listing() []Listing
	// Shared reads a shared array as a tile of values.
	Shared(name string) (SharedView, bool)
	// Arrays lists the shared arrays that Shared and Writes take.
	Arrays() []probes.SharedArray
	// Writes returns every write so far to the bytes of a shared cell, oldest first. A site's Step is the
	// moment before the write: Seek goes there.
	Writes(ctx context.Context, array string, row, col int) ([]target.WriteSite, error)
	// RegisterWrites returns every write so far to one lane of a register of the current warp, oldest first.
	RegisterWrites(ctx context.Context, name string, lane int) ([]target.WriteSite, error)
	Close()
}

// Position is a moment of a block.
type Position struct {
	Block   probes.Dim3
	Step    uint64 // the block's clock
	Warp    int
	PC      int // index in the entry's instructions
	Listing int // index in Listing
	Source  *target.Source
	KVTile  int
	Mask    uint32 // lanes of the warp that stand there
	Stop    string // "step", "breakpoint", "barrier", "probe", "end", "start", "deadlock", "fault"
	Note    string // which breakpoint, which stage was captured, what the fault is
	Lane    int    // for which a breakpoint's condition holds, -1: none in particular
	// Breakpoint is the index in SetBreakpoints of the one that stopped the motion, -1: none did
	Breakpoint int
	// Writer is the instruction that wrote the cell whose change stopped the motion, which stands behind it;
	// nil of another stop, and where it is not known
	Writer *Writer
}

// Writer is an instruction that wrote a cell. An asynchronous copy's is the one that issued it.
type Writer struct {
	PC     int            // index in the program's instructions
	Source *target.Source // the line of the kernel's own body that it belongs to; nil where there is none
}

// Hits is how often a breakpoint was hit. Each warp that comes to a line is counted on its own.
type Hits struct {
	Times int
	Warps int // different ones; 0 for a stage, which the whole block captures
}

// Breakpoint stops Continue and Reverse. Exactly one of Line, Stage and Array is set. A line is hit once for
// each entry into it: at its first instruction in a basic block, not where the compiler returns to it. Where
// all code of a line is inlined from what it calls, it is hit where that begins. A
// condition that cannot be evaluated stops too, and Note says why.
type Breakpoint struct {
	File  string // base name, with Line
	Line  int
	Stage string // when one of the stage's tiles has been captured
	Array string // when a cell of a shared array has changed
	Row   int
	Col   int
	// When holds for some active lane of the warp that comes to the line, or that changed the cell. Of a
	// stage, which the whole block captures, it has variables of the block alone.
	When expr.Condition
	// From is the first moment whose hits are counted: a breakpoint that selects some of its hits does not
	// stop before it
	From uint64 `json:"-"`
}

// Values is what expressions can read of one warp at a moment.
type Values interface {
	expr.Env
	expr.Scope
	// Lane is the first active lane, 0 where none is.
	Lane() int
}

// Frame is one call of a chain: the function, and the line where execution stands in it.
type Frame struct {
	Function string // "" where the debug lines have no name
	File     string
	Line     int
}

// Register is one register of the current warp: a value a lane.
type Register struct {
	Name   string // as in the PTX
	Type   string // "f32", "b16", "pred"
	Bits   [32]uint64
	Named  bool // the instruction at hand reads or writes it
	OfLine bool // an instruction of the same source line does, in the same basic block
	Active uint32
}

// Listing is one line of PTX.
type Listing struct {
	Text   string
	PC     int // -1: no instruction
	PTX    int // its line in the PTX, 0: no instruction, or one that no line has
	File   string
	Line   int // in the CUDA source, 0 where unknown
	Probe  bool
	Begins bool         // a breakpoint on the line may stop here
	Target int          // PC a branch goes to, -1 where none
	Writes []string     // registers that the instruction writes
	Calls  target.Calls // what it was inlined through, "" where it was not
}

// SharedView is a shared array at a moment.
type SharedView struct {
	Array   probes.SharedArray
	Tile    probes.Tile
	Written []bool // by cell
}
