package debugkern

import (
	"fmt"
	"slices"
)

// BankPattern asks how a warp uses the 32 banks of shared memory (4 bytes wide each) when it moves a 16×16 fragment.
type BankPattern struct {
	Lanes   [][]Cell16 // by lane and element; elements that repeat a lane's cells are moved once
	Columns bool       // memory is column-major: LD counts from column to column
	Size    int        // bytes of an element
	LD      int        // elements from one line (row, or column) to the next
	// Swizzle exchanges 16-byte chunks within a line: element e of line n stands at e ^ (n&Swizzle)·(16/Size). 0: as is.
	Swizzle int
	// Matrix moves 8 lines of 16 bytes a phase, as ldmatrix does; else every lane moves its own elements, as many at a time as
	// lie side by side (at most 16 bytes).
	Matrix bool
}

// BankPhase is what the hardware serves at once: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16.
type BankPhase struct {
	First, Last int     // elements of each lane; with Matrix the lines
	Lane, Lanes int     // first lane, how many; with Matrix the 16-byte chunk, and 0
	Words       [32]int // different 32-bit words asked of each bank
	Degree      int     // the most of them: 1 is free of conflicts, n costs n times as much
}

// Banks lists the phases of moving a fragment. It refuses what cannot be moved: an unaligned line under Matrix, lines that
// overlap.
func Banks(p BankPattern) ([]BankPhase, error) {
	switch {
	case p.Size != 1 && p.Size != 2 && p.Size != 4:
		return nil, fmt.Errorf("elements of %d bytes: expected 1, 2 or 4", p.Size)
	case p.LD < 16:
		return nil, fmt.Errorf("leading dimension %d: a line has 16 elements", p.LD)
	case p.Matrix && p.LD*p.Size%16 != 0:
		return nil, fmt.Errorf("leading dimension %d is %d bytes: ldmatrix takes lines that start at multiples of 16", p.LD, p.LD*p.Size)
	}
	if p.Matrix {
		return p.matrix(), nil
	}
	lanes := p.addresses()
	n := p.vector(lanes)
	per := 32
	if bytes := n * p.Size; bytes > 4 {
		per = 32 / (bytes / 4)
	}
	var out []BankPhase
	for e := 0; e < len(lanes[0]); e += n {
		for lane := 0; lane < len(lanes); lane += per {
			ph := BankPhase{First: e, Last: e + n - 1, Lane: lane, Lanes: per}
			var words []int
			for _, l := range lanes[lane:min(lane+per, len(lanes))] {
				for i := range n {
					words = append(words, l[e+i]/4)
				}
			}
			ph.count(words)
			out = append(out, ph)
		}
	}
	return out, nil
}

// Bank is the bank that holds the first byte of a cell.
func (p *BankPattern) Bank(c Cell16) int {
	line, elem := p.lined(c)
	return p.at(line, elem) / 4 % 32
}

// Asks reports whether a phase moves what a lane holds of a cell in its element.
func (p *BankPattern) Asks(ph *BankPhase, lane, element int, c Cell16) bool {
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
func (p *BankPattern) lined(c Cell16) (line, elem int) {
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
		seen := map[Cell16]bool{}
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

// vector is how many elements every lane can move at once: a power of two, side by side, aligned, at most 16 bytes.
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
			ph := BankPhase{First: line, Last: line + 7, Lane: e / chunk}
			var words []int
			for i := range 8 {
				first := p.at(line+i, e) / 4
				words = append(words, first, first+1, first+2, first+3)
			}
			ph.count(words)
			out = append(out, ph)
		}
	}
	return out
}

// count fills Words and Degree.
func (ph *BankPhase) count(words []int) {
	seen := map[int]bool{}
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			ph.Words[w%32]++
			ph.Degree = max(ph.Degree, ph.Words[w%32])
		}
	}
}
