package target

import (
	"context"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Block is one thread block that can be executed step by step. It is not safe for concurrent use.
type Block interface {
	ID() probes.Dim3
	// Step executes until the unit is complete and returns what stopped it.
	Step(ctx context.Context, u Unit) (Stop, error)
	// Run executes until the block ends, a breakpoint is hit, or ctx is cancelled.
	Run(ctx context.Context, stop func(*Event) bool) (Stop, error)
	// Observe adds an observer; it receives events from the next instruction on.
	Observe(Observer)
	// Steps is the number of warp instructions executed: the block's clock.
	Steps() uint64
	Snapshot() Snapshot
	Restore(Snapshot)
	Warps() []Warp
	// Shared returns the block's shared memory (live, read-only) and which bytes were written.
	Shared() (data, written []byte)
	// Register returns a register of one lane.
	Register(warp, lane, reg int) uint64
	Findings() []Finding
}

// Snapshot is an opaque copy of a block's whole state.
type Snapshot interface{ Steps() uint64 }

// Unit is a step's size.
type Unit uint8

const (
	StepInstruction Unit = iota
	StepLine             // until the current warp's source line changes
	StepBarrier          // until a block barrier completes
	StepProbe            // until a probe has filled a slot
	StepEnd
)

// Stop says why execution paused.
type Stop struct {
	// Reason: "step", "breakpoint", "barrier", "probe", "end", "deadlock", "trap" (an executed
	// trap ended the block)
	Reason string
	Warp   int
	PC     int
}

// Warp is a warp's state on screen: groups of lanes and where each stands.
type Warp struct {
	Index  int
	Groups []Group
	Wait   string // what it waits for, "" when runnable
	Exited uint32
}

// WaitRegisters is Warp.Wait of a warp that waits in setmaxnreg.inc.
const WaitRegisters = "registers"

// Group is the lanes that share a PC.
type Group struct {
	PC   int
	Mask uint32
}

// Class sorts events by what an observer may care about; an instruction has exactly one.
type Class uint8

const (
	ClassALU    Class = iota
	ClassLoad         // ld, wmma.load, ldmatrix: reads memory
	ClassStore        // st, wmma.store: writes memory
	ClassAtomic       // atom, red: both
	ClassAsync        // cp.async issue: Addr is the shared destination, Addr2 the global source
	// ClassAsyncLand: bytes of an earlier cp.async become visible to their issuer (no instruction of its own:
	// PC is the issue's)
	ClassAsyncLand
	ClassAsyncCommit
	ClassAsyncWait   // Value is N of wait_group N
	ClassBarrier     // bar.sync and family, on arrival
	ClassBarrierDone // the barrier completed: Mask is meaningless, Warps says who took part
	// ClassWarpSync: bar.warp.sync, when it completes: Mask is the lanes that went on together, Members those
	// each of them named
	ClassWarpSync
	ClassShuffle // shfl, vote, match: order nothing in memory
	ClassFence
	ClassBranch
	ClassMMA
	ClassExit
	// ClassMBarrier: mbarrier instructions, and cp.async.mbarrier.arrive: Addr is the mbarrier
	ClassMBarrier
	// ClassBulk: an asynchronous bulk operation is issued, one event a lane: Space and Addr are its
	// destination, Addr2 its source, Barrier the address of the mbarrier that it completes on, -1 where it
	// belongs to a bulk group. Of a tensor copy, Ranges is what it accesses in global memory, and Bytes those
	// of shared memory.
	ClassBulk
	ClassBulkCommit // cp.async.bulk.commit_group
	ClassBulkWait   // cp.async.bulk.wait_group N: Value is N
	// ClassWgmma: a warp comes to a wgmma.mma_async: Ranges is the shared memory that it reads for the warp
	ClassWgmma
	ClassWgmmaFence
	ClassWgmmaCommit
	ClassWgmmaWait // wgmma.wait_group N: Value is N
	// ClassClusterBarrier: barrier.cluster.arrive and barrier.cluster.wait
	ClassClusterBarrier
	// ClassTensorMap: tensormap.replace, and tensormap.cp_fenceproxy with one event for what it reads and one
	// for what it writes: Addr is the map, and Bytes its size
	ClassTensorMap
	classes

	// What follows is no instruction: AllClasses does not have it, and observers name what they want of it.

	// ClassBulkLand: an asynchronous bulk operation has read its source and written its destination. The rest
	// is as in its ClassBulk, but that a tensor copy to global memory is one event a range: Addr and Bytes.
	ClassBulkLand Class = iota - 1
	// ClassMBarrierDone: a phase of the mbarrier at address Barrier completed, Value is its number
	ClassMBarrierDone
	// ClassMBarrierPass: the lanes of Mask saw a phase of the mbarriers at Addr complete: PC is their wait
	ClassMBarrierPass
	// ClassBulkRead: an asynchronous bulk operation has read its source: Transfer is what it moves, Value its
	// number, which its ClassBulkLand has as well
	ClassBulkRead
	// ClassWgmmaLand: a wgmma is about to read its operands and write its accumulators, one event for each
	// warp of the warpgroup: Product is where the operands lie
	ClassWgmmaLand
	// ClassClusterPass: the lanes of Mask saw a phase of the cluster's barrier complete, Value is its number:
	// PC is their wait
	ClassClusterPass
)

// Event is one warp instruction, reported before it executes.
type Event struct {
	Class Class
	Step  uint64 // block clock
	Warp  int
	PC    int       // index into the program: the entry's body, then the functions it calls
	Func  *ptx.Func // the function that Instr belongs to
	Instr *ptx.Instr
	Mask  uint32 // lanes that execute it (guard applied)
	// KVTile is the iteration of the walk over tiles (the outermost loop around the instruction,
	// where it holds a block barrier), Iteration that of the outermost loop of any kind, whose number
	// is Loop; -1 outside one.
	KVTile, Iteration, Loop int
	// Memory: per lane in Mask. Space after generic addresses are resolved. Bytes is the access size of a
	// lane; a warp-wide wmma access is several Events, one a row segment of a lane, and Value the number of
	// its first element.
	Space Space
	Addr  *[32]uint64
	Addr2 *[32]uint64
	Bytes int
	// Ranges: of a tensor copy its bytes in global memory, of a wgmma those that it reads in shared memory,
	// ascending, with gaps between; nil for all else
	Ranges []Range
	// Map is where the tensor map of a tensor copy lies; nil for a parameter, which nobody can write.
	Map *MapPlace
	// Barrier: id and expected threads, or the address of an mbarrier; BarrierDone: bit mask of warps.
	Barrier, Threads int
	Off              uint32 // of ClassBarrier: lanes that came to it and that its guard switches off
	Warps            uint32
	Members          uint32 // WarpSync; lanes with other members have an Event of their own
	Value            uint64
	Transfer         *Transfer // of ClassBulkRead
	Product          *Product  // of ClassWgmmaLand
	Probe            bool      // the instruction belongs to tilescope.cuh: never a finding
}

// MapPlace is a tensor map in memory.
type MapPlace struct {
	Space Space // as generic addresses are resolved
	Addr  uint64
}

// Transfer is what a bulk operation moves. Pieces may be called after the event.
type Transfer struct {
	To, From Space
	Element  int // bytes of an element that a reduction combines; 0 for a copy
	// Pieces visits the bytes: n from address from on replace those at address to, or are combined with them.
	// from is Filled for elements outside the tensor.
	Pieces func(visit func(to, from uint64, n int))
}

// Filled is the source of bytes that a tensor map fills.
const Filled = ^uint64(0)

// Product is the operands of a wgmma in shared memory: the address of element k of a row of A, of the 64 of
// the warpgroup, and of a column of B. The functions may be called after the event.
type Product struct {
	A, B  func(row, k int) uint64 // A is nil where it lies in registers
	Fresh bool                    // the accumulators before are not added
}

// Range is bytes from Lo up to Hi.
type Range struct{ Lo, Hi uint64 }

// Space is a PTX state space.
type Space uint8

const (
	SpaceNone Space = iota
	SpaceGlobal
	SpaceShared
	SpaceLocal
	SpaceParam
	SpaceConst
	// SpaceCluster is shared memory of another block of the cluster (DistributedAddress)
	SpaceCluster
)

func (s Space) String() string {
	return [...]string{"", "global", "shared", "local", "param", "const", "shared::cluster"}[s]
}

// clusterShift is the first bit of an address of SpaceCluster that names a block.
const clusterShift = 24

// DistributedAddress is an address of SpaceCluster: byte offset of the shared memory of the cluster's block
// of a rank.
func DistributedAddress(rank int, offset uint64) uint64 {
	return uint64(rank+1)<<clusterShift | offset
}

// SplitDistributed splits an address of SpaceCluster, or of SpaceShared: rank is -1 for the executing block.
func SplitDistributed(addr uint64) (rank int, offset uint64) {
	return int(addr>>clusterShift) - 1, addr & (1<<clusterShift - 1)
}
