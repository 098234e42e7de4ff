package target

import (
	"strings"

	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Kind is a finding's kind, spelled as documents spell it.
type Kind string

// The kinds of CONTRACT.md.
const (
	Race               Kind = "race"
	Uninitialised      Kind = "uninitialised"
	OutOfBounds        Kind = "out-of-bounds"
	Misaligned         Kind = "misaligned"
	Barrier            Kind = "barrier"
	Deadlock           Kind = "deadlock"
	CpAsync            Kind = "cp-async"
	NaNOrigin          Kind = "nan-origin"
	Unwritten          Kind = "unwritten"
	Overlap            Kind = "overlap"
	QuantiserMismatch  Kind = "quantiser"
	Varies             Kind = "varies"
	BackendDifference  Kind = "backend-difference"
	ProbeChangedResult Kind = "probe-changed-result"
	BankConflict       Kind = "bank-conflict"
	Uncoalesced        Kind = "uncoalesced"
	RedundantBarrier   Kind = "redundant-barrier"
	NotModelled        Kind = "not-modelled"
	// Shuffle: a lane reads a register of a lane that does not take part in the exchange
	Shuffle     Kind = "shuffle"
	Trap        Kind = "trap"         // a trap instruction was executed
	NotCaptured Kind = "not-captured" // cells of a stage that no thread wrote to the capture buffer
	LoopEnded   Kind = "loop-ended"   // a block left its loop over tiles before the last one
	// Layout: threads have different values of one captured cell, or a sparse operand has
	// coinciding positions
	Layout Kind = "layout"
	// Expectation: an output is not made of the elements that the user states it is made of
	Expectation Kind = "expectation"
	// Hang: threads wait for what nothing can bring: the end of a phase of an mbarrier, or registers
	Hang Kind = "hang"
	// MBarrier: an mbarrier is used in a way that the ISA leaves undefined
	MBarrier Kind = "mbarrier"
	// ProxyFence: ordinary accesses and an asynchronous copy of the same bytes are ordered, but no
	// fence.proxy.async stands between them
	ProxyFence Kind = "proxy-fence"
	// Wgmma: a wgmma is used in a way that the ISA leaves undefined: its registers between issue and wait, a
	// missing wgmma.fence, a descriptor
	Wgmma Kind = "wgmma"
	// Cluster: an instruction needs a cluster, or a block of it, that is not there
	Cluster Kind = "cluster"
)

// Severity is error or advice; advice never changes an exit code.
type Severity string

const (
	SeverityError  Severity = "error"
	SeverityAdvice Severity = "advice"
)

// Severity returns the kind's fixed severity; varies, backend-difference and probe-changed-result start as
// errors and may be lowered by whoever can explain them.
func (k Kind) Severity() Severity {
	switch k {
	case BankConflict, Uncoalesced, RedundantBarrier, NotModelled:
		return SeverityAdvice
	}
	return SeverityError
}

// MBarrierWait begins Finding.Missing where an asynchronous operation is not waited for: its reader has to
// wait at the mbarrier that it completes on.
const MBarrierWait = "a wait at the mbarrier"

// MemoryFence begins Finding.Missing where two blocks need a fence of their memory accesses.
const MemoryFence = "__threadfence()"

// WiderScope begins Finding.Missing where an instruction that is to order two blocks reaches its own alone.
const WiderScope = "scope .gpu instead of .cta"

// What Finding.Message contains of an access by address 0, and of a wait for copies that waits for none.
const (
	ThroughNull = "through a null pointer"
	NeverWaits  = "never waits for a copy"
)

// BarrierUse begins Finding.Message of a barrier that is used in a wrong way by warps that all come to it.
const BarrierUse = "barrier "

// Bypass stands in Finding.Message between the threads that bypass a barrier of all threads and where they go
// on.
const Bypass = "bypass it and go on at "

// CountForOnePhase ends Finding.Message where a barrier is arrived at again before the phase is over.
const CountForOnePhase = "under another order both count for one phase"

// WrittenSinceInit is in Finding.Message where an mbarrier is used whose bytes the operation at Finding.Other
// has written.
const WrittenSinceInit = "has written since mbarrier.init"

// KeepsLocals reports whether a name is that of what a compiler keeps the arrays of a thread in: PTX has not
// their own.
func KeepsLocals(name string) bool { return strings.HasPrefix(name, "__local_depot") }

// Finding is one thing wrong, or worth saying, about an execution. One cause is one finding:
// Count says how often.
type Finding struct {
	Kind     Kind
	Severity Severity
	Message  string
	Variable string // shared array, argument or local array; "" where none
	Index    []int  // element of Variable
	Space    string // "shared", "global", "local", "param", "const", ""
	Block    probes.Dim3
	Warps    []int
	Lanes    []int
	KVTile   int // -1 where unknown
	Source   *Source
	Other    *Source
	// Missing names the synchronisation that would order a race, and between which lines; or, of
	// accesses that no synchronisation orders, it begins with "exclusive".
	// One that no barrier of threads can replace begins with MBarrierWait.
	Missing     string
	Neighbour   string // what an out-of-bounds access hit instead
	Consequence string
	Count       int
	// Transactions is what the mbarrier of the finding has been promised in its current phase; nil where the
	// finding is about no mbarrier.
	Transactions *Transactions
	// Remedy is what Missing asks for as edits of the module that was executed, at a place that orders all
	// that the finding counts; nil where there is no such place, or none is known.
	Remedy []ptx.Edit
	// Left: the finding's warps did none of the block's work from KVTile on, so that what goes wrong there
	// may follow from it.
	Left bool
	// Across: a race between two blocks, whose order the schedules of one block do not vary.
	Across bool
	// Pairs is what a race consists of: its pairs of accesses by hazard and places.
	Pairs []Pairs
}

// Pairs are the pairs of accesses of a race that have the hazard, its direction and both places in common.
type Pairs struct {
	Hazard        string // "read-after-write", "write-after-read", "write-after-write"
	First, Second Source
	Later         bool // the second is in a later iteration of the loop around both
	OneWarp       bool // both are of one warp
	Count         int
}

// Transactions are bytes of asynchronous copies, in one phase of an mbarrier.
type Transactions struct{ Expected, Arrived int }

// Fault ends a launch: something execution cannot go on after.
type Fault struct {
	// Kind: "budget", "unmodelled", "illegal-instruction", "illegal-address", "misaligned", "assert", "trap",
	// "timeout", "died", "passes", "memory", "finding" (Launch.Ends)
	Kind   string
	Msg    string
	Pos    string // file:line:col in the PTX; "" where the backend cannot say where (a GPU)
	Source *Source
	Block  probes.Dim3
	Warp   int
	Lane   int
	Addr   uint64
	Err    error // why the executor could not go on, nil where it is the kernel's doing
}

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

func (f *Fault) Error() string {
	if f.Pos == "" {
		return f.Msg
	}
	s := fmt.Sprintf("%s: block %s warp %d: %s", f.Pos, f.Block, f.Warp, f.Msg)
	if f.Source != nil {
		s += fmt.Sprintf(" (%s:%d)", f.Source.File, f.Source.Line)
	}
	return s
}
