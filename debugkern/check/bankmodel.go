package check

import (
	"fmt"
	"iter"
	"math"
	"math/bits"

	"tilescope/probes"
)

// Shared memory has 32 banks of 4 bytes. What one warp instruction asks for is served in phases: all lanes at
// once for accesses of up to 4 bytes, half warps for 8, quarter warps for 16, and ldmatrix a matrix (eight
// rows of 16 bytes) at a time. A phase takes as many transactions as the busiest bank has different words to
// give; lanes that want the same word are served together. (CUDA C++ Best Practices Guide, "Shared Memory and
// Memory Banks"; the phases of wide accesses are those of Volta and later.)
const (
	bankCount = 32
	bankBytes = 4
)

// Bank is the bank that holds the byte at an address in shared memory.
func Bank(addr int) int { return addr / bankBytes % bankCount }

// BankPhase is what shared memory serves at once of a warp's access.
type BankPhase struct {
	Mask   uint32           // the lanes served
	Words  [bankCount]uint8 // different 32-bit words that each bank has to give
	Degree int              // the most of them: 1 is free of conflicts, n takes n transactions
}

// BankPhases goes through the phases of a warp's access to shared memory, in the order of the lanes: lane i
// of mask touches bytes bytes (a power of two up to 16) at addr[i], aligned to that width. ldmatrix is an
// access of 16 bytes: lane i holds the address of row i. A phase in which mask has no lane is left out. (CUDA
// C++ Best Practices Guide, "Shared Memory and Memory Banks".)
func BankPhases(addr *[32]int32, mask uint32, bytes int) iter.Seq[BankPhase] {
	return func(yield func(BankPhase) bool) {
		lanes := 32
		if bytes > bankBytes {
			lanes = 32 / (bytes / bankBytes)
		}
		words := (bytes + bankBytes - 1) / bankBytes
		group := uint32(1<<lanes - 1)
		for at := 0; at < 32; at += lanes {
			if m := mask & (group << at); m != 0 && !yield(ask(addr, m, words)) {
				return
			}
		}
	}
}

// ask counts the words that the lanes of m ask of each bank, each a number of consecutive ones.
func ask(addr *[32]int32, m uint32, words int) BankPhase {
	p := BankPhase{Mask: m, Degree: 1}
	var first [bankCount]int32    // word plus one that a bank gives first
	var more [bankCount * 4]int32 // further words, of any bank
	n := 0
	for ; m != 0; m &= m - 1 {
		w := addr[bits.TrailingZeros32(m)&31] / bankBytes
		for end := w + int32(words); w < end; w++ {
			b := w & (bankCount - 1)
			switch first[b] {
			case w + 1:
				continue
			case 0:
				first[b], p.Words[b] = w+1, 1
				continue
			}
			if !seen(more[:n], w+1) {
				more[n] = w + 1
				n++
				p.Words[b]++
				p.Degree = max(p.Degree, int(p.Words[b]))
			}
		}
	}
	return p
}

func seen(words []int32, w int32) bool {
	for _, v := range words {
		if v == w {
			return true
		}
	}
	return false
}

// service is what an access costs: phases is the least that its width needs, transactions what it takes,
// degree the most that one phase takes.
type service struct{ phases, transactions, degree int }

// extra is the transactions that conflicts add.
func (s service) extra() int { return s.transactions - s.phases }

// serve counts the transactions of a warp's access: lane i of mask touches bytes bytes at off[i].
func serve(off *[32]int32, mask uint32, bytes int) service {
	var s service
	for p := range BankPhases(off, mask, bytes) {
		s.phases++
		s.transactions += p.Degree
		s.degree = max(s.degree, p.Degree)
	}
	return s
}

// pattern is one way in which an instruction's lanes lie in an array, with how often it was seen. off is in
// bytes from the array's start. Two accesses whose lanes lie alike, a whole number of rows apart, are the
// same pattern: no layout by rows distinguishes them.
type pattern struct {
	mask  uint32
	bytes int
	off   [32]int32
	count int
}

// layout is a way to lay out the rows of an array: pad bytes more behind each, or fewer, or the chunks of
// swizzleChunk bytes of row r exchanged by column ^ (r/every % ways).
type layout struct {
	row         int // bytes of a row as it is
	pad         int
	every, ways int // ways 0: not swizzled
}

const swizzleChunk = 16

// place moves an offset to where the layout has it.
func (l layout) place(off int32) int32 {
	r, c := off/int32(l.row), off%int32(l.row)
	if l.ways > 0 {
		c ^= r / int32(l.every) % int32(l.ways) * swizzleChunk
	}
	return r*int32(l.row+l.pad) + c
}

// cost is the transactions that conflicts add to patterns under a layout, counted no further than most. ok is
// false where an access leaves its row, or, swizzled, its chunk, so that the layout could not be had by
// changing where a row's cells lie.
func (l layout) cost(ps []*pattern, most int) (extra int, ok bool) {
	for _, p := range ps {
		var off [32]int32
		for m := p.mask; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			c := int(p.off[i]) % l.row
			if c+p.bytes > l.row || l.ways > 0 && c%swizzleChunk+p.bytes > swizzleChunk {
				return 0, false
			}
			off[i] = l.place(p.off[i])
		}
		if extra += serve(&off, p.mask, p.bytes).extra() * p.count; extra >= most {
			break
		}
	}
	return extra, true
}

// remedy is a layout that was tried on every pattern of an array, and what it leaves.
type remedy struct {
	layout
	before, left int
	elem         int // bytes of an element
	rows         int
}

// findRemedy looks for the smallest padding, less than there is first, or else the simplest exchange of
// chunks, under which the accesses ps of an array take the fewest transactions. linear: something reads the
// array by a leading dimension alone (wmma), so that columns cannot be exchanged and rows must stay 16-byte
// aligned. nil: nothing at least halves what conflicts add.
func findRemedy(a *probes.SharedArray, ps []*pattern, linear bool) *remedy {
	if len(a.Dims) < 2 || len(ps) == 0 || a.Dims[len(a.Dims)-1] < 2 {
		return nil
	}
	elem := max(a.DType.Size(), 1)
	row := a.Dims[len(a.Dims)-1] * elem
	best := &remedy{layout: layout{row: row}, elem: elem, rows: a.Bytes / row}
	before, ok := best.cost(ps, math.MaxInt)
	if !ok || before == 0 {
		return nil
	}
	best.before, best.left = before, before
	try := func(l layout) {
		if best.left == 0 {
			return
		}
		if left, ok := l.cost(ps, best.left); ok && left < best.left {
			best.layout, best.left = l, left
		}
	}
	align := bankBytes
	for _, p := range ps {
		align = max(align, p.bytes)
	}
	if linear {
		align = max(align, wmmaRowAlign)
	}
	used := 0 // bytes of a row
	for _, p := range ps {
		for m := p.mask; m != 0; m &= m - 1 {
			used = max(used, int(p.off[bits.TrailingZeros32(m)&31])%row+p.bytes)
		}
	}
	if 4*(row-used) < row { // what nothing uses is padding, as far as these accesses show
		for less := (row - used) / align * align; less > 0; less -= align {
			if less%elem == 0 {
				try(layout{row: row, pad: -less})
			}
		}
	}
	for pad := align; pad <= bankCount*bankBytes; pad += align {
		try(layout{row: row, pad: pad})
	}
	if !linear && row >= 2*swizzleChunk && row&(row-1) == 0 {
		for ways := 2; ways <= 8 && ways*swizzleChunk <= row; ways *= 2 {
			for every := 1; every <= 4; every *= 2 {
				try(layout{row: row, every: every, ways: ways})
			}
		}
	}
	if best.left*2 > before {
		return nil
	}
	return best
}

// wmmaRowAlign is what the rows of a matrix that wmma reads must be a multiple of.
const wmmaRowAlign = 16

// String says what to change: "rows of 64 padded to 72 elements (16 bytes a row, 512 in all): …".
func (r *remedy) String() string {
	left := "no conflict is left"
	if r.left > 0 {
		left = fmt.Sprintf("%d of %d extra transactions are left", r.left, r.before)
	}
	cols := r.row / r.elem
	if r.pad < 0 {
		return fmt.Sprintf("rows of %d elements in place of %d, if nothing uses the rest (%d bytes less in all): %s",
			cols+r.pad/r.elem, cols, -r.pad*r.rows, left)
	}
	if r.ways == 0 && r.pad%r.elem == 0 {
		return fmt.Sprintf("rows padded from %d to %d elements (%d bytes more in all): %s", cols,
			cols+r.pad/r.elem, r.pad*r.rows, left)
	}
	if r.ways == 0 {
		return fmt.Sprintf("rows padded from %d to %d bytes (%d bytes more in all): %s", r.row, r.row+r.pad,
			r.pad*r.rows, left)
	}
	at := fmt.Sprintf("row %% %d", r.ways)
	if r.every > 1 {
		at = fmt.Sprintf("row / %d %% %d", r.every, r.ways)
	}
	return fmt.Sprintf("column ^ (%s) * %d in every row: %s", at, swizzleChunk/r.elem, left)
}
