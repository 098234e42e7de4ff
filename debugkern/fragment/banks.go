package fragment

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
)

// BankPattern asks how a warp uses the 32 banks of shared memory (4 bytes wide each) when it
// moves a fragment.
type BankPattern struct {
	Lanes   [][]report.Cell16 // by lane (32) and element; elements that repeat a lane's cells are moved once
	Columns bool              // memory is column-major: LD counts from column to column
	Bits    int               // of an element
	Rows    int               // of the tile, and its columns; 0: 16×16
	Cols    int
	LD      int // elements from one line (row, or column) to the next
	// Swizzle exchanges 16-byte chunks within a line: element e of line n stands at e ^
	// (n&Swizzle)·(128/Bits). 0: as is.
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
	_, length := p.extents()
	switch {
	case p.Bits < 1 || p.Bits > 64 || p.Bits&(p.Bits-1) != 0:
		return nil, fmt.Errorf("elements of %d bits: expected a power of two from 1 to 64", p.Bits)
	case p.LD < length:
		return nil, fmt.Errorf("leading dimension %d: a line has %d elements", p.LD, length)
	case p.LD*p.Bits%8 != 0:
		return nil, fmt.Errorf("leading dimension %d: a line of %d bits is no number of bytes", p.LD, p.LD*p.Bits)
	case p.Matrix && p.LD*p.Bits%128 != 0:
		return nil, fmt.Errorf(
			"leading dimension %d is %d bytes: ldmatrix takes lines that start at multiples of 16",
			p.LD, p.LD*p.Bits/8)
	case p.Matrix && length*p.Bits < 128:
		return nil, fmt.Errorf("lines of %d bytes: ldmatrix takes 16 at a time", length*p.Bits/8)
	}
	if p.Matrix {
		return p.matrix(), nil
	}
	return p.byLane(), nil
}

// extents is how many lines the tile has in memory, and how many elements a line.
func (p *BankPattern) extents() (lines, length int) {
	rows, cols := p.Rows, p.Cols
	if rows == 0 {
		rows, cols = 16, 16
	}
	if p.Columns {
		return cols, rows
	}
	return rows, cols
}

// unit is what a lane moves at least: elements, and their bytes. Those smaller than a byte are moved by the
// register.
func (p *BankPattern) unit() (elements, bytes int) {
	if p.Bits < 8 {
		return 32 / p.Bits, 4
	}
	return 1, p.Bits / 8
}

// byLane are the phases of every lane moving its own elements.
func (p *BankPattern) byLane() []BankPhase {
	lanes := p.addresses()
	elements, bytes := p.unit()
	n := vector(lanes, bytes)
	var out []BankPhase
	for e := 0; e < len(lanes[0]); e += n {
		var addr [32]int32
		for l := range lanes {
			addr[l] = int32(lanes[l][e])
		}
		for ph := range check.BankPhases(&addr, ^uint32(0), n*bytes) {
			out = append(out, BankPhase{BankPhase: ph, First: e * elements, Last: (e+n)*elements - 1,
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
		return line >= ph.First && line <= ph.Last && elem/(128/p.Bits) == ph.Lane
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
	return (line*p.LD + elem ^ (line&p.Swizzle)*(128/p.Bits)) * p.Bits / 8
}

// addresses are those of each lane's units, repetitions left out.
func (p *BankPattern) addresses() [][]int {
	elements, _ := p.unit()
	out := make([][]int, len(p.Lanes))
	for l, cells := range p.Lanes {
		seen := map[report.Cell16]bool{}
		for e := 0; e < len(cells); e += elements {
			if c := cells[e]; !seen[c] {
				seen[c] = true
				out[l] = append(out[l], p.at(p.lined(c)))
			}
		}
	}
	return out
}

// vector is how many units of size bytes every lane can move at once: a power of two, side by side,
// aligned, at most 16 bytes.
func vector(lanes [][]int, size int) int {
	for n := min(16/size, len(lanes[0])); n > 1; n /= 2 {
		if n&(n-1) == 0 && fits(lanes, n, size) {
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
	chunk := 128 / p.Bits
	lines, length := p.extents()
	var out []BankPhase
	for e := 0; e+chunk <= length; e += chunk {
		for line := 0; line < lines; line += 8 {
			var addr [32]int32
			mask := uint32(0)
			for i := range min(8, lines-line) {
				addr[i] = int32(p.at(line+i, e))
				mask |= 1 << i
			}
			for ph := range check.BankPhases(&addr, mask, 16) {
				out = append(out, BankPhase{BankPhase: ph, First: line, Last: min(line+7, lines-1),
					Lane: e / chunk})
			}
		}
	}
	return out
}
