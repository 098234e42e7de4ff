package isa

// Kind groups the instructions that executors and checkers treat alike. The order within a section is of no
// meaning.
type Kind uint8

const (
	// Other instructions are known by their operands and modifiers only.
	Other Kind = iota

	// Registers to registers, lane by lane.

	Arith          // add to fma, of integers and floats (ISA 9.7.1 and 9.7.3)
	Logic          // and, shl and their like (9.7.8)
	Bits           // bit fields, permutations, counts, dot products of packed integers (9.7.1, 9.7.8)
	Compare        // setp, set (9.7.6)
	TestFloat      // testp
	Select         // selp
	SelectBySign   // slct
	Special        // functions of the multi-function unit, and their correctly rounded forms (9.7.3)
	Move           // mov: copies, packs and unpacks (9.7.9)
	Convert        // cvt
	ConvertAddress // cvta
	TestSpace      // isspacep
	ClusterAddress // mapa, getctarank: addresses of shared memory in a cluster

	// Between lanes.

	Shuffle // shfl: each lane takes a value of another
	Vote    // vote, match, redux and their like: all lanes give one result

	// Memory.

	Load
	Store
	Atomic        // atom: reads, writes and returns what was there
	Reduce        // red: the same without a result
	CopyAsync     // cp.async from global to shared memory
	BulkCopy      // cp.async.bulk, cp.reduce.async.bulk
	ArriveAsync   // cp.async.mbarrier.arrive: an arrival once a thread's copies have landed
	LoadFragment  // wmma.load
	StoreFragment // wmma.store
	LoadMatrix    // ldmatrix
	StoreMatrix   // stmatrix
	ReplaceMap    // tensormap.replace: changes a field of a tensor map in memory
	CopyMap       // tensormap.cp_fenceproxy: copies one from shared to global memory, and releases it

	// Matrices in registers.

	Multiply   // wmma.mma, mma
	MoveMatrix // movmatrix

	// Of a warpgroup, asynchronously. The first operand of a product is read too.

	WgmmaMultiply // wgmma.mma_async
	WgmmaSparse   // wgmma.mma_async.sp
	WgmmaFence
	WgmmaCommit
	WgmmaWait

	// Order between threads.

	Barrier        // of the block: bar, barrier
	WarpBarrier    // bar.warp.sync
	ClusterBarrier // barrier.cluster
	MBarrier       // mbarrier objects
	Fence          // membar, fence
	CommitAsync    // cp.async.commit_group
	WaitAsync      // cp.async.wait_group, cp.async.wait_all
	CommitBulk     // cp.async.bulk.commit_group
	WaitBulk       // cp.async.bulk.wait_group

	// Control flow.

	Branch        // bra
	BranchIndexed // brx
	Call
	Return
	Exit
	Trap
	Breakpoint // brkpt

	Alloca    // memory on a thread's stack (9.7.20)
	SaveStack // stacksave, stackrestore

	// Texture instructions access textures and surfaces (9.7.10, 9.7.11), through descriptors of the driver.
	Texture

	// SetRegisters changes how many registers the threads of a warp own, and may wait for them (setmaxnreg).
	SetRegisters

	// Hint changes nothing that a program can see: nanosleep, prefetch.
	Hint

	Kinds // their number
)

// Reads reports whether the instruction reads memory through an address operand.
func (k Kind) Reads() bool {
	switch k {
	case Load, Atomic, Reduce, LoadFragment, LoadMatrix:
		return true
	}
	return false
}

// Writes reports whether the instruction writes memory through an address operand.
func (k Kind) Writes() bool {
	switch k {
	case Store, Atomic, Reduce, CopyAsync, StoreFragment, StoreMatrix:
		return true
	}
	return false
}

// OfMap reports whether the instruction accesses a tensor map as a whole, through the generic proxy.
func (k Kind) OfMap() bool { return k == ReplaceMap || k == CopyMap }

// Loads reports whether the result is what was in memory, and nothing else.
func (k Kind) Loads() bool { return k == Load || k == LoadFragment || k == LoadMatrix }

// OfWarp reports whether the instruction accesses memory for the warp as a whole: each lane's address is of a
// part that other lanes hold.
func (k Kind) OfWarp() bool {
	return k == LoadFragment || k == StoreFragment || k == LoadMatrix || k == StoreMatrix
}

// MovesFragment reports whether the instruction moves a matrix fragment between memory and registers.
func (k Kind) MovesFragment() bool { return k == LoadFragment || k == StoreFragment }

// Updates reports whether the instruction reads and writes memory as one access.
func (k Kind) Updates() bool { return k == Atomic || k == Reduce }

// Async reports whether the instruction belongs to asynchronous copies: it issues, commits or awaits one.
func (k Kind) Async() bool {
	switch k {
	case CopyAsync, BulkCopy, ArriveAsync, CommitAsync, WaitAsync, CommitBulk, WaitBulk:
		return true
	}
	return false
}

// Wgmma reports whether the instruction belongs to asynchronous products: it issues, orders, commits or
// awaits one.
func (k Kind) Wgmma() bool { return k >= WgmmaMultiply && k <= WgmmaWait }

// Product reports whether the instruction is a product of matrices of which registers have fragments.
func (k Kind) Product() bool { return k == Multiply || k == WgmmaMultiply }

// Accumulates reports whether the instruction reads its destination as well.
func (k Kind) Accumulates() bool { return k == WgmmaMultiply || k == WgmmaSparse }

// AtBarrier reports whether lanes, warps or blocks wait for each other at the instruction.
func (k Kind) AtBarrier() bool { return k == Barrier || k == WarpBarrier || k == ClusterBarrier }

// Jumps reports whether the instruction after it may not be the next.
func (k Kind) Jumps() bool {
	switch k {
	case Branch, BranchIndexed, Call, Return, Exit:
		return true
	}
	return false
}

// Leaves reports whether a thread that executes the instruction is at the end of its function.
func (k Kind) Leaves() bool { return k == Return || k == Exit }

// Observable reports whether what the instruction takes is seen outside registers: in memory, in an address,
// in control flow or at a barrier.
func (k Kind) Observable() bool {
	return k.Reads() || k.Writes() || k.Async() || k.Wgmma() || k.AtBarrier() || k == MBarrier ||
		k.OfMap() || k == Branch ||
		k == BranchIndexed || k.Leaves() || k == Trap
}

// Variance says between which threads of a block a result differs although their operands agree.
type Variance uint8

const (
	SameInBlock Variance = iota // it is the same for all threads of the block
	SameInWarp                  // lanes of a warp have the same
	ByThread                    // lanes of a warp may differ
)

// Varies returns the variance that the instruction brings in by itself. decided is true where its result does
// not depend on the variance of its operands.
func (f *Form) Varies() (v Variance, decided bool) {
	switch f.Kind {
	case Atomic, Shuffle, LoadMatrix, LoadFragment, StoreFragment, Multiply, MoveMatrix, Call,
		Alloca, SaveStack:
		return ByThread, true
	case Vote:
		return f.varies, true
	case Barrier, WarpBarrier, ClusterBarrier: // a vote of the whole block
		return SameInBlock, true
	}
	return SameInBlock, false
}
