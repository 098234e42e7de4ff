package emu

import "fmt"

// tile is a matrix operand of wgmma in shared memory, as its matrix descriptor gives it (PTX ISA, "Matrix
// Descriptor Format" and "Strides"): rows of 32 bytes along k, of A or of the columns of B.
//
// Elements lie in core matrices of 8 times 16 bytes. K-major, the 16 bytes are along k; MN-major, they are
// along the rows, and the 8 lines of a core matrix along k. A swizzle of 32, 64 or 128 bytes puts 2, 4 or 8
// core matrices side by side, in lines of so many bytes, and exchanges the 16-byte units of each line in a
// pattern that repeats after 8 lines.
type tile struct {
	start   uint64 // address of the first element before the swizzle
	leading uint64 // leading dimension byte offset
	stride  uint64 // stride dimension byte offset
	offset  uint64 // base offset: line of the swizzle's pattern at an address that is a multiple of it
	span    uint64 // bytes of a swizzled line: 16 (no swizzle), 32, 64 or 128
	major   bool   // MN-major
	size    uint64 // bytes of an element
}

// Fields of a descriptor.
const (
	descriptorUnit = 16 // of addresses and offsets
	descriptor14   = 1<<14 - 1
	// descriptorReserved are bits that are no field's.
	descriptorReserved = 3<<14 | 3<<30 | 7<<46 | 0x3ff<<52
	coreBytes          = 16
)

// newTile decodes a descriptor of a matrix with elements of size bytes.
func newTile(bits uint64, size int, major bool) tile {
	return tile{
		start:   bits & descriptor14 * descriptorUnit,
		leading: bits >> 16 & descriptor14 * descriptorUnit,
		stride:  bits >> 32 & descriptor14 * descriptorUnit,
		offset:  bits >> 49 & 7,
		span:    [4]uint64{16, 128, 64, 32}[bits>>62],
		major:   major,
		size:    uint64(size),
	}
}

// element returns the shared address of element k of a row.
func (t *tile) element(row, k int) uint64 {
	r, c := uint64(row), uint64(k)*t.size
	if !t.major {
		return t.unit(r, c/coreBytes) + c%coreBytes
	}
	return t.unit(r*t.size/coreBytes, uint64(k)) + r*t.size%coreBytes
}

// unit returns the address of 16 bytes of a core matrix: K-major of a row and the first or second 16 bytes of
// it, MN-major of 16 bytes of rows and an element of k.
func (t *tile) unit(i, j uint64) uint64 {
	units := t.span / coreBytes // of a line
	switch {
	case !t.major && units == 1:
		return t.start + i%8*coreBytes + i/8*t.stride + j*t.leading
	case !t.major:
		return t.swizzle(t.start + i%8*t.span + i/8*t.stride + j*coreBytes)
	case units == 1:
		return t.start + j%8*coreBytes + i*t.stride + j/8*t.leading
	}
	return t.swizzle(t.start + j%8*t.span + j/8*t.stride + i%units*coreBytes + i/units*t.leading)
}

// swizzle exchanges the 16-byte units of a line: the unit's number is combined with the line's.
func (t *tile) swizzle(at uint64) uint64 {
	return at ^ (at>>7-t.offset)&(t.span/coreBytes-1)<<4
}

// phase is the line of the swizzle's pattern at which the tile starts, of those that its address decides: 0
// where the pattern starts there.
func (t *tile) phase() uint64 { return (t.start>>7 - t.offset) & (t.span/coreBytes - 1) }

// pattern is the bytes after which the swizzle's pattern repeats.
func (t *tile) pattern() uint64 { return 8 * t.span }

// order says along which dimension elements lie side by side.
func (t *tile) order() string {
	if t.major {
		return "MN-major"
	}
	return "K-major"
}

func (t *tile) String() string {
	name := "no swizzle"
	if t.span > coreBytes {
		name = fmt.Sprintf("%d-byte swizzle", t.span)
	}
	return fmt.Sprintf("%s, %s, start %#x, leading offset %d, stride offset %d", t.order(), name, t.start,
		t.leading, t.stride)
}

// fault says what is wrong with a descriptor and its tile of rows in size bytes of shared memory; "" where
// nothing is.
func (t *tile) fault(bits uint64, rows, size int) string {
	switch {
	case bits&descriptorReserved != 0:
		return fmt.Sprintf("its matrix descriptor %#x has bits that are reserved", bits)
	case t.phase() != 0:
		return fmt.Sprintf("its tile (%s, base offset %d) does not start where the pattern of the swizzle "+
			"starts: that is a multiple of %d bytes, or the base offset says which line comes first",
			t, t.offset, t.pattern())
	}
	last := uint64(0)
	t.each(rows, func(_, _ int, at uint64) { last = max(last, at+coreBytes) })
	if last > uint64(size) {
		return fmt.Sprintf("its tile (%s) ends at %d, and shared memory has %d bytes%s", t, last, size,
			t.inBytes())
	}
	return ""
}

// inBytes names the field that seems to have been given in bytes, where it counts units of 16: the tile's
// offset is 16 times that of lines which lie side by side. "" where none does.
func (t *tile) inBytes() string {
	for _, f := range []struct {
		name string
		at   uint64
	}{{"stride", t.stride}, {"leading", t.leading}} {
		if f.at == descriptorUnit*t.pattern() {
			return fmt.Sprintf("; 8 lines of %d bytes are %d, and a %s offset of %d is 16 times that: the "+
				"field counts units of 16 bytes, and seems to have been given in bytes", t.span, t.pattern(),
				f.name, f.at)
		}
	}
	return ""
}

// each calls f for all 16-byte units of so many rows, with their i and j as unit has them.
func (t *tile) each(rows int, f func(i, j int, at uint64)) {
	n, m := rows, int(32/coreBytes)
	if t.major {
		n, m = rows*int(t.size)/coreBytes, int(32/t.size)
	}
	for i := range n {
		for j := range m {
			f(i, j, t.unit(uint64(i), uint64(j)))
		}
	}
}

// read copies the tile into rows of 32 bytes, element after element along k. The tile lies within shared.
func (t *tile) read(to [][32]byte, shared []byte) {
	if !t.major {
		t.each(len(to), func(i, j int, at uint64) {
			copy(to[i][coreBytes*j:coreBytes*j+coreBytes], shared[at:at+coreBytes])
		})
		return
	}
	n := int(t.size)
	t.each(len(to), func(i, j int, at uint64) {
		for k := 0; k < coreBytes; k += n {
			copy(to[(i*coreBytes+k)/n][j*n:j*n+n], shared[at+uint64(k):])
		}
	})
}
