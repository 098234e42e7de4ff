package target

import (
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Observer receives one event per warp instruction, in execution order. The event and all it points to are
// valid only during the call.
type Observer interface{ Event(*Event) }

// ClassSet is a set of event classes.
type ClassSet uint32

// AllClasses is every event of an instruction, with ClassAsyncLand and ClassBarrierDone.
const AllClasses ClassSet = 1<<classes - 1

// Classes makes a set.
func Classes(cs ...Class) ClassSet {
	var s ClassSet
	for _, c := range cs {
		s |= 1 << c
	}
	return s
}

// Has reports whether c is in the set.
func (s ClassSet) Has(c Class) bool { return s>>c&1 != 0 }

// Interested is an Observer that wants some classes of events only: no others are made for it, so what it
// does not ask for costs nothing. Interests is asked once, when the observer is attached, after View.
type Interested interface{ Interests() ClassSet }

// Follower is an Observer that is called for an instruction again once it has executed, to look at what it
// wrote: After comes before anything else in the block executes, with the same event less addresses, values
// and synchronisation, and a View then gives the registers that the instruction wrote; of ClassWgmmaLand when
// the product has landed in the four warps. Follows is the classes that it wants this for, asked when it is
// attached; all instructions then cost something.
type Follower interface {
	Follows() ClassSet
	After(*Event)
}

// Viewer is an Observer that looks at the block it observes, beyond the events. View is called once, before
// the first event; the view is valid until the block ends.
type Viewer interface{ View(View) }

// Ender is an Observer that is called when its block has ended, by finishing or by a finding that ended it.
// No event follows. A block that is stepped by hand does not end.
type Ender interface{ End() }

// Pauser is an Observer that is called when its block lets others of the launch go on before it: what it saw
// so far came before what they do now. Events follow when the block goes on.
type Pauser interface{ Pause() }

// Taker is an Observer that is called when the executor itself captures a tile, out of a shared array:
// address is where a cell lies. The capture has what all instructions up to then wrote, the one whose event
// is being delivered not included.
type Taker interface {
	Took(s probes.Stage, kv int, address func(row, col int) uint64)
}

// View is the state of an observed block at the moment of an event: before the instruction executes. What it
// returns is copied; nothing can be changed through it.
type View interface {
	// Launch is what is being executed, and Program the entry and functions, in the order of Event.PC.
	Launch() *Launch
	Program() []*ptx.Func
	Block() probes.Dim3
	// SharedBytes is the size of the block's shared memory.
	SharedBytes() int
	// Capture is the address of the capture buffer, 0 where nothing is captured.
	Capture() uint64
	// InOrder: the blocks of the launch share memory and execute one at a time, so that one may see what
	// another wrote. Where it is false, no block reads or writes a byte that another writes, or the
	// launch is discarded.
	InOrder() bool
	// Name says what lies at an address: a shared variable (or the part of a dynamic one that the launch
	// names), a global variable, an argument, a local array, and which element. "" where nothing is.
	Name(space Space, addr uint64) (variable string, index []int)
	// Extent is the allocation around a global address, [lo, hi), and whether any instruction of the kernel
	// can write to it; 0, 0 where nothing is.
	Extent(addr uint64) (lo, hi uint64, writable bool)
	// OnHeap reports whether a global address is of the device heap, whose allocations the executor
	// lays out as it likes.
	OnHeap(addr uint64) bool
	// Strays reports whether an access of instruction pc at an address has left the variables that its
	// address can have started from: it is out of bounds, has its own finding, and took no effect.
	Strays(pc int, space Space, addr uint64) bool
	// Memory copies the bytes at an address into to and returns how many are there. Local memory belongs to a
	// thread: warp and lane are looked at for it alone.
	Memory(space Space, addr uint64, warp, lane int, to []byte) int
	// Written reports whether all n bytes at an address were written, and are there.
	Written(space Space, addr uint64, warp, lane, n int) bool
	// Stored copies the bytes that one lane is about to write, during the event of a store that is no wmma or
	// cp.async, into to and returns their number; 0 for any other event.
	Stored(lane int, to []byte) int
	// Register is what the lanes of a warp hold in register reg (an index in f.Regs); predicates are 0 or 1.
	// Only registers that the instruction of the event reads are certain to hold their own value: others may
	// share a place with them.
	Register(warp int, f *ptx.Func, reg int32) [32]uint64
	// Predicate is the lanes in which predicate register reg of f is true, under the same condition.
	Predicate(warp int, f *ptx.Func, reg int32) uint32
	// Passed lists what a call (the PC of a call instruction) of a function copies within each lane's local
	// memory: arguments into the callee's parameters when it executes, and results back when the callee
	// returns. nil for a function that the program does not have.
	Passed(pc int, callee *ptx.Func) (args, results []Passed)
}

// Passed is bytes that a call copies from one place of a lane's local memory to another.
type Passed struct {
	To, From uint64
	Size     int
}
