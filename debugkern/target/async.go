package target

// Asynchronous is offered by blocks that say what they have under way besides the instructions of their
// warps: asynchronous operations, and the mbarriers on which they complete.
type Asynchronous interface {
	// Async describes the moment at hand. ok is false for a program that has no mbarrier, bulk operation,
	// wgmma or cp.async.
	Async() (s AsyncState, ok bool)
	// OnAsync has f called for everything asynchronous that happens from now on, in the order of execution;
	// nil ends that. The event and its operation stay valid.
	OnAsync(f func(AsyncEvent))
	// SharedName says what lies at an address of the block's shared memory: sK[1][0][0]; "" where nothing
	// that has a name does.
	SharedName(addr uint64) string
}

// AsyncState is what a block has under way at a moment.
type AsyncState struct {
	MBarriers  []MBarrierState // by address
	Operations []Operation     // issued and not landed, in the order of their issue
}

// MBarrierState is the state of an mbarrier object: of the phase that is not complete.
type MBarrierState struct {
	Addr              uint64
	Phase             uint64 // its number, from 0
	Expected, Pending int    // arrivals in a phase, and those still to come
	Promised, Arrived int    // bytes that the phase was told to expect, and those that have come
	Init              *Source
}

// OperationKind is a family of asynchronous operations, as the terminal spells it.
type OperationKind string

// The kinds.
const (
	OpTensorCopy OperationKind = "tensor copy" // cp.async.bulk.tensor and cp.reduce.async.bulk.tensor
	OpBulkCopy   OperationKind = "bulk copy"   // cp.async.bulk, cp.reduce.async.bulk
	OpAsyncStore OperationKind = "async store" // st.async, red.async
	OpAsyncCopy  OperationKind = "cp.async"    // of one warp
	OpArrival    OperationKind = "arrival"     // cp.async.mbarrier.arrive
	OpWgmma      OperationKind = "wgmma"       // of a warpgroup
)

// Operation is one asynchronous operation.
type Operation struct {
	ID       uint64 // the same from issue to landing; no other operation of the block has it
	Kind     OperationKind
	Warp     int // that issued it; of a wgmma the first of its warpgroup
	Lane     int // that issued it, -1: more than one
	PC       int
	Source   *Source
	Of       string  // the box of a tensor copy: k_map[0, 64, 3]; "" for all else
	Writes   []Range // what it writes of the block's shared memory, ascending; of a tile the range around it
	Reads    []Range // and what it reads
	Bytes    int     // that it moves; 0 for a wgmma and an arrival
	MBarrier int     // address of the mbarrier on which it completes, -1: on none
	Layouts  []TileLayout
}

// TileLayout is how an operation lays a tile out in shared memory: rows of bytes, of which units of 16 bytes
// are exchanged within lines of Swizzle bytes.
type TileLayout struct {
	Base           uint64 // address of the first byte, swizzle apart
	Swizzle        int    // 32, 64 or 128; 0: none
	Rows, RowBytes int
	Element        int // bytes of one
	// By is what lays it out so: tensor map k_map, or descriptor of B
	By string
	// Address is where byte b of a row lies.
	Address func(row, b int) uint64
}

// AsyncKind is what happened.
type AsyncKind uint8

// The kinds of AsyncEvent.
const (
	AsyncIssued  AsyncKind = iota // Operation is under way
	AsyncLanded                   // Operation has read and written everything
	AsyncPhase                    // phase Number of MBarrier is complete
	AsyncExpects                  // Warp had the phase expect Count bytes
	AsyncArrives                  // Warp arrived Count times
	AsyncWaits                    // Lanes of Warp found the phase not complete, and wait
	AsyncPasses                   // Lanes of Warp found it complete
)

// AsyncEvent is something asynchronous that happened. The block's state at moment Step has it.
type AsyncEvent struct {
	Kind      AsyncKind
	Step      uint64
	Operation *Operation // of AsyncIssued and AsyncLanded
	MBarrier  uint64     // of the others: its address
	Number    uint64     // of the mbarrier's phase that is meant
	Warp, PC  int        // of AsyncPhase: -1
	Lanes     uint32
	Count     int
}
