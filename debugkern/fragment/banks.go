package fragment

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
)

// BankPattern asks how a warp uses the 32 banks of shared memory (4 bytes wide each) when it
// moves a 16×16 fragment.
type BankPattern struct {
	Lanes   [][]report.Cell16 // by lane (32) and element; elements that repeat a lane's cells are moved once
	Columns bool              // memory is column-major: LD counts from column to column
	Size    int               // bytes of an element
	LD      int               // elements from one line (row, or column) to the next
	// Swizzle exchanges 16-byte chunks within a line: element e of line n stands at e ^
	// (n&Swizzle)·(16/Size). 0: as is.
	Swizzle int
	// Matrix moves 8 lines of 16 bytes a phase, as ldmatrix does; else every lane moves its own elements, as
	// many at a time as lie side by side (at most 16 bytes).
	Matrix bool
}

// BankPhase is what the hardware serves at once, and of what.
type BankPhase struct {
	check.BankPhase
	First, Last int // elements of each lane; with Matrix the lines
	Lane, Lanes int // first lane, how many; with Matrix the 16-byte chunk, and 0
}

// Banks lists the phases of moving a fragment. It refuses what cannot be moved: an unaligned line under
// Matrix, lines that overlap.
func Banks(p BankPattern) ([]BankPhase, error) {
	switch {
	case p.Size != 1 && p.Size != 2 && p.Size != 4:
		return nil, fmt.Errorf("elements of %d bytes: expected 1, 2 or 4", p.Size)
	case p.LD < 16:
		return nil, fmt.Errorf("leading dimension %d: a line has 16 elements", p.LD)
	case p.Matrix && p.LD*p.Size%16 != 0:
		return nil, fmt.Errorf(
			"leading dimension %d is %d bytes: ldmatrix takes lines that start at multiples of 16",
			p.LD, p.LD*p.Size)
	}
	if p.Matrix {
		return p.matrix(), nil
	}
	return p.byLane(), nil
}

// byLane are the phases of every lane moving its own elements.
func (p *BankPattern) byLane() []BankPhase {
	lanes := p.addresses()
	n := p.vector(lanes)
	var out []BankPhase
	for e := 0; e < len(lanes[0]); e += n {
		var addr [32]int32
		for l := range lanes {
			addr[l] = int32(lanes[l][e])
		}
		for ph := range check.BankPhases(&addr, ^uint32(0), n*p.Size) {
			out = append(out, BankPhase{BankPhase: ph, First: e, Last: e + n - 1,
				Lane: bits.TrailingZeros32(ph.Mask), Lanes: bits.OnesCount32(ph.Mask)})
		}
	}
	return out
}

// Bank is the bank that holds the first byte of a cell.
func (p *BankPattern) Bank(c report.Cell16) int {
	line, elem := p.lined(c)
	return check.Bank(p.at(line, elem))
}

// Asks reports whether a phase moves what a lane has of a cell in its element.
func (p *BankPattern) Asks(ph *BankPhase, lane, element int, c report.Cell16) bool {
	if p.Matrix {
		line, elem := p.lined(c)
		return line >= ph.First && line <= ph.Last && elem/(16/p.Size) == ph.Lane
	}
	first := slices.Index(p.Lanes[lane], c) // a repetition is moved with it
	if first >= 0 {
		element = first
	}
	return element >= ph.First && element <= ph.Last && lane >= ph.Lane && lane < ph.Lane+ph.Lanes
}

// lined is a cell as line and element of memory.
func (p *BankPattern) lined(c report.Cell16) (line, elem int) {
	if p.Columns {
		return c[1], c[0]
	}
	return c[0], c[1]
}

// at is the byte address of an element of a line.
func (p *BankPattern) at(line, elem int) int {
	return (line*p.LD + elem ^ (line&p.Swizzle)*(16/p.Size)) * p.Size
}

// addresses are those of each lane's elements, repetitions left out.
func (p *BankPattern) addresses() [][]int {
	out := make([][]int, len(p.Lanes))
	for l, cells := range p.Lanes {
		seen := map[report.Cell16]bool{}
		for _, c := range cells {
			if seen[c] {
				continue
			}
			seen[c] = true
			out[l] = append(out[l], p.at(p.lined(c)))
		}
	}
	return out
}

// vector is how many elements every lane can move at once: a power of two, side by side,
// aligned, at most 16 bytes.
func (p *BankPattern) vector(lanes [][]int) int {
	for n := min(16/p.Size, len(lanes[0])); n > 1; n /= 2 {
		if fits(lanes, n, p.Size) {
			return n
		}
	}
	return 1
}

func fits(lanes [][]int, n, size int) bool {
	for _, l := range lanes {
		for e, a := range l {
			if len(l)%n != 0 || e%n == 0 && a%(n*size) != 0 || e%n > 0 && a != l[e-1]+size {
				return false
			}
		}
	}
	return true
}

// matrix are the phases of ldmatrix: 8 lines of one 16-byte chunk, the order of its 8×8 matrices.
func (p *BankPattern) matrix() []BankPhase {
	chunk := 16 / p.Size
	var out []BankPhase
	for e := 0; e < 16; e += chunk {
		for line := 0; line < 16; line += 8 {
			var addr [32]int32
			for i := range 8 {
				addr[i] = int32(p.at(line+i, e))
			}
			for ph := range check.BankPhases(&addr, 0xff, 16) {
				out = append(out, BankPhase{BankPhase: ph, First: line, Last: line + 7, Lane: e / chunk})
			}
		}
	}
	return out
}
