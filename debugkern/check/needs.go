package check

import "tilescope/debugkern/budget"

// What checkers keep of memory, in bytes for each byte that they watch (coveredPage: for each page).
const (
	cellBytes = 40 // of shared memory: a cell a byte
	// lineBytes: of global memory: a globalLine and its place in a map, for 16 bytes
	lineBytes   = 32 + 32
	globalBytes = cellBytes/2 + lineBytes/lineSize // cells of two bytes, as halves are accessed
	nameBytes   = 1                                // of shared memory: a name for 4 bytes (races)
	writerBytes = 4                                // of shared memory: who wrote a byte last (overlaps)
	coveredPage = pageBytes/8 + 32                 // of global memory: a page of Bytes and its place in a map
)

// What checkers keep for places that values are followed through: a place in memory is two bytes, and stands
// in a map, which has room for up to 7/4 of what is in it.
const (
	placeBytes    = 24 // memoryAt
	registerPlace = 32 // registerAt
	originBytes   = (placeBytes + 8) * 7 / 4 / 2
	shadeBytes    = (placeBytes + 32) * 7 / 4 / 2
	reachBytes    = (placeBytes + 8) * 7 / 4 / 1 // a place is a byte there
)

// What checkers keep for a register of a warp.
const (
	undefinedRegister = 64 + registerPlace
	originRegister    = 32*unitsMax*4 + registerPlace
	shadeRegister     = 32*unitsMax*32 + registerPlace
	reachRegister     = 32*8 + registerPlace
)

// Load is what a launch has for checkers to watch.
type Load struct {
	Shared int64 // bytes of shared memory a block
	Local  int64 // bytes of local memory a block
	// Writable: bytes of global memory that the kernel may write; each block is taken to touch its share
	Writable  int64
	Threads   int64 // of a block
	Registers int64 // that the program names
	AtOnce    int64 // blocks that execute at once
	Blocks    int64 // of the grid
}

// Needs says how many bytes the checkers of a set take at most while a launch executes: what they keep for a
// block lasts until it ends, save for what NaNs have left in global memory and which bytes were stored
// (coverage). Bank conflicts, sectors and barriers are counted by line of code.
func Needs(set Set, l Load) int64 {
	warps, share := (l.Threads+31)/32, l.Writable/max(l.Blocks, 1)
	memory := budget.Add(l.Shared, l.Local, share)
	block, all := int64(0), int64(0)
	if set&(Races|Async|Redundant) != 0 {
		block = budget.Add(budget.Mul(l.Shared, cellBytes+nameBytes),
			budget.Mul(l.Writable, globalBytes)/max(l.Blocks, 1), budget.Mul(4, l.Threads, l.Threads))
	}
	if set.Has(Overlap) {
		block = budget.Add(block, budget.Mul(l.Shared, writerBytes))
	}
	if set.Has(Registers) {
		block = budget.Add(block, budget.Mul(warps, l.Registers, undefinedRegister))
	}
	if set.Has(Reach) {
		block = budget.Add(block, budget.Mul(warps, l.Registers, reachRegister),
			budget.Mul(memory, reachBytes))
	}
	if set.Has(Origins) {
		block = budget.Add(block, budget.Mul(warps, l.Registers, originRegister),
			budget.Mul(memory, originBytes))
		all = budget.Mul(l.Writable, originBytes)
	}
	if set.Has(Precision) { // of one block
		all = budget.Add(all, budget.Mul(warps, l.Registers, shadeRegister), budget.Mul(memory, shadeBytes))
	}
	if set.Has(Coverage) { // blocks that have ended share one set
		block = budget.Add(block, budget.Mul(coveredPage, share/pageBytes+1))
		all = budget.Add(all, budget.Mul(coveredPage, l.Writable/pageBytes+1))
	}
	return budget.Add(budget.Mul(block, l.AtOnce), all)
}
