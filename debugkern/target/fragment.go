package target

// The layout of matrix fragments in a warp's registers.

// WMMACell is the row and column that element e (0 to 7) of a lane's wmma m16n16k16 accumulator holds, and of its A operand
// the row and k. PTX leaves this layout open; it is the one read back on an H200. f16 accumulators and operands hold a pair
// of elements a register; operand registers 4 to 7 repeat 0 to 3.
func WMMACell(lane, e int) (row, col int) {
	return lane>>2 + e>>1&1*8, lane&3*2 + e&1 + e>>2*8
}

// WMMACellB is the column n and the k that element e of a lane's B operand holds.
func WMMACellB(lane, e int) (n, k int) { return WMMACell(lane, e&1|e>>1&1<<2|e>>2&1<<1) }

// MMACell is the row and column of element e of an accumulator of mma m16n8 (PTX ISA, "Matrix Fragments for mma.m16n8k16"),
// MMACellA the row and k of element e of its A operand, MMACellB the column n and k of B; k8 has the first half of the elements.
func MMACell(lane, e int) (row, col int) { return lane>>2 + 8*(e>>1), lane&3*2 + e&1 }

// MMACellA is A's; see MMACell.
func MMACellA(lane, e int) (row, k int) { return lane>>2 + 8*(e>>1&1), lane&3*2 + 8*(e>>2) + e&1 }

// MMACellB is B's; see MMACell.
func MMACellB(lane, e int) (n, k int) { return lane >> 2, lane&3*2 + 8*(e>>1) + e&1 }
