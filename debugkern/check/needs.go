package check

import "tilescope/debugkern/budget"

// What checkers keep of memory, in bytes for each byte that they watch.
const (
	cellBytes   = 40                               // of shared memory: a cell a byte
	lineBytes   = 32 + 32                          // of global memory: a globalLine and its place in a map, for 16 bytes
	globalBytes = cellBytes/2 + lineBytes/lineSize // cells of two bytes, as halves are accessed
)

// Needs says what the checkers of a set take while blocks of a launch execute at once: shared is the bytes of shared memory of
// each, writable those of global memory that the kernel may write, of which each of the blocks is taken to touch its share.
func Needs(set Set, shared, writable, atOnce, blocks int64) int64 {
	if !set.Has(Races) {
		return 0
	}
	return budget.Add(budget.Mul(atOnce, shared, cellBytes), budget.Mul(budget.Mul(writable, globalBytes)/max(blocks, 1), atOnce))
}
