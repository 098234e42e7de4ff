package isa

import "slices"

// Sparse reports whether an instruction with these modifiers multiplies a sparse A, of which operand A has
// half the elements and operand 5 says where they belong.
func Sparse(mods []string) bool {
	return slices.Contains(mods, "sp") || slices.Contains(mods, "sp::ordered_metadata")
}

// Metadata is how the metadata of a sparse A lie in the registers of a warp (PTX ISA,
// "Sparse matrix storage").
//
// A row of A is a sequence of chunks of so many columns, and half of each chunk is there. Four bits say which
// half, two positions of two bits each: the first in the low bits is that of the first half of the chunk's
// elements that are there, the second that of the others.
type Metadata struct {
	Chunk  int // columns of a chunk: 4, of 4-bit elements 8, of tf32 2
	Chunks int // of a row
	// Lanes of each four consecutive ones hold the metadata of the rows that the four hold: 1, 2 or 4, the
	// selector says which: those from Lanes·selector on.
	Lanes int
	// Ordered: the first position has to be below the second.
	Ordered bool

	short bool // a lane's metadata are those of two rows, 8 apart, in 16 bits each
}

// Metadata returns the layout of the metadata of a sparse product with these modifiers, nil where
// the table has none.
func (f *Form) Metadata(mods []string) *Metadata {
	b := f.Fragment(ClassB, mods)
	if b == nil || !Sparse(mods) {
		return nil
	}
	m := &Metadata{Chunk: 4, Ordered: slices.Contains(mods, "sp::ordered_metadata"), short: b.Bits >= 16}
	switch b.Bits {
	case 32:
		m.Chunk = 2
	case 4:
		m.Chunk = 8
	}
	m.Chunks = b.Cols / m.Chunk
	m.Lanes = m.Chunks / 4
	return m
}

// Selectors returns how many values the selector has.
func (m *Metadata) Selectors() int { return 4 / m.Lanes }

// At returns where the four bits of a chunk of a row are: in which lane's register, and at which bit.
func (m *Metadata) At(row, chunk, selector int) (lane, bit int) {
	lane = row&7*4 + selector*m.Lanes
	if m.short {
		return lane + chunk>>2, row>>3*16 + chunk&3*4
	}
	return lane + row>>3 + chunk>>3*2, chunk & 7 * 4
}

// Defined reports whether the four bits of a chunk are some that the ISA gives a meaning.
func (m *Metadata) Defined(bits uint32) bool {
	first, second := bits&3, bits>>2&3
	switch {
	case m.Chunk == 2:
		return bits == 0b0100 || bits == 0b1110
	case m.Ordered:
		return first < second
	}
	return first != second
}

// Column returns the column of A that element e of a row of the operand is, by the four bits of its chunk.
func (m *Metadata) Column(e int, bits uint32) int {
	half := m.Chunk / 2 // elements of a chunk that are there
	chunk, within := e/half, e%half
	switch m.Chunk {
	case 2: // positions are of halves of an element, and come in pairs
		return chunk*2 + int(bits>>1&1)
	case 8: // and here of pairs of elements
		return chunk*8 + int(bits>>(within&^1)&3)*2 + within&1
	}
	return chunk*4 + int(bits>>(2*within)&3)
}
