// Package tensormap describes tensors in global memory as the tensor memory accelerator of sm_90 is given
// them: what a host passes to cuTensorMapEncodeTiled (CUDA Driver API, Tensor Map Object Management), and how
// the elements of a box then lie in shared memory (PTX ISA 5.5, Tensors).
//
// The one idea: a Map is the description alone. The 128 bytes that a kernel is passed are opaque; only a
// driver makes them. An emulator's are an Object (encode.go), which a kernel can copy and change.
//
// It must not know buffers, launches, PTX or drivers.
package tensormap

import (
	"fmt"
	"math/bits"
)

// Bytes and Align are the size and the alignment of the parameter that a map is passed as (CUtensorMap).
const (
	Bytes = 128
	Align = 64
)

// MaxRank is how many dimensions a map has at most.
const MaxRank = 5

// SharedAlign is what the shared address of a tensor copy is a multiple of (PTX ISA 9.7.9.27.1.2).
const SharedAlign = 128

// DType is the type of a map's elements; its values are those of CUtensorMapDataType.
type DType uint32

// Types of elements.
const (
	U8 DType = iota
	U16
	U32
	I32
	U64
	I64
	F16
	F32
	F64
	BF16
	F32FTZ
	TF32
	TF32FTZ
)

var dtypes = [...]struct {
	name string
	size int
}{
	U8: {"u8", 1}, U16: {"u16", 2}, U32: {"u32", 4}, I32: {"i32", 4}, U64: {"u64", 8}, I64: {"i64", 8},
	F16: {"f16", 2}, F32: {"f32", 4}, F64: {"f64", 8}, BF16: {"bf16", 2}, F32FTZ: {"f32_ftz", 4},
	TF32: {"tf32", 4}, TF32FTZ: {"tf32_ftz", 4},
}

func (t DType) String() string {
	if int(t) < len(dtypes) {
		return dtypes[t].name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Size is the bytes of an element, 0 for a type that does not exist.
func (t DType) Size() int {
	if int(t) < len(dtypes) {
		return dtypes[t].size
	}
	return 0
}

// Float reports whether the elements are floating-point numbers.
func (t DType) Float() bool {
	switch t {
	case F16, F32, F64, BF16, F32FTZ, TF32, TF32FTZ:
		return true
	}
	return false
}

// Interleave is a layout of channels; its values are those of CUtensorMapInterleave.
type Interleave uint32

// Interleaved layouts.
const (
	InterleaveNone Interleave = iota
	Interleave16B
	Interleave32B
)

// Swizzle is how chunks of 16 bytes are permuted in shared memory; its values are those of
// CUtensorMapSwizzle.
type Swizzle uint32

// Swizzles, by their span.
const (
	SwizzleNone Swizzle = iota
	Swizzle32B
	Swizzle64B
	Swizzle128B
)

// Span is the bytes within which a swizzle permutes chunks; 0 for none.
func (s Swizzle) Span() int {
	if s == SwizzleNone || s > Swizzle128B {
		return 0
	}
	return 16 << s
}

// Address returns where the byte that an unswizzled box has at a shared address lies (PTX ISA 5.5.6): the
// number of its 16-byte chunk within the span, bits 4 and up, is combined by xor with as many bits from bit 7
// on. What decides is the address, not the place in the box.
func (s Swizzle) Address(addr uint64) uint64 {
	span := uint64(s.Span())
	if span == 0 {
		return addr
	}
	return addr ^ addr>>3&(span-16)
}

func (s Swizzle) String() string {
	if s == SwizzleNone {
		return "none"
	}
	return fmt.Sprintf("%dB", s.Span())
}

// Promotion is how much of what a copy misses in L2 is fetched; its values are those of
// CUtensorMapL2promotion. No result depends on it.
type Promotion uint32

// Fill is what elements outside the tensor are read as; its values are those of CUtensorMapFloatOOBfill.
type Fill uint32

// Fills.
const (
	FillZero Fill = iota
	FillNaN
)

// Map is a tensor in global memory and the box that copies move, as cuTensorMapEncodeTiled takes them. Lists
// begin with the innermost dimension, the one whose elements lie side by side.
type Map struct {
	DType      DType
	Dims       []uint64 // elements
	Strides    []uint64 // bytes from one index to the next, of dimensions 1 and up
	Box        []uint32 // elements that a copy moves over
	Steps      []uint32 // element strides: n copies every n-th of these; that of dimension 0 has no effect
	Interleave Interleave
	Swizzle    Swizzle
	Promotion  Promotion
	Fill       Fill
}

// Rank is the number of dimensions.
func (m *Map) Rank() int { return len(m.Dims) }

// extent is how many elements of a dimension a copy moves.
func (m *Map) extent(i int) int {
	if i == 0 {
		return int(m.Box[0])
	}
	return (int(m.Box[i]) + int(m.Steps[i]) - 1) / int(m.Steps[i])
}

// Rows is how many runs along dimension 0 a box has.
func (m *Map) Rows() int {
	n := 1
	for i := 1; i < m.Rank(); i++ {
		n *= m.extent(i)
	}
	return n
}

// RowBytes is the bytes of a run along dimension 0.
func (m *Map) RowBytes() int { return int(m.Box[0]) * m.DType.Size() }

// Pitch is the bytes from one run to the next in shared memory: its own, or where the box is swizzled the
// swizzle's span.
func (m *Map) Pitch() int { return max(m.RowBytes(), m.Swizzle.Span()) }

// BoxBytes is the bytes that a copy moves, and counts on an mbarrier, wherever its box lies.
func (m *Map) BoxBytes() int { return m.Rows() * m.RowBytes() }

// SharedBytes is the bytes of shared memory that a box spans.
func (m *Map) SharedBytes() int { return m.Rows() * m.Pitch() }

// GlobalBytes is the bytes of global memory that the tensor spans.
func (m *Map) GlobalBytes() uint64 {
	n := m.Dims[0] * uint64(m.DType.Size())
	for i, s := range m.Strides {
		n += (m.Dims[i+1] - 1) * s
	}
	return n
}

// Row is a run along dimension 0 of a box: the byte of global memory, from the tensor's first, that its first
// element would have, and which of its bytes [Lo, Hi) lie inside the tensor; none where Lo is Hi.
type Row struct {
	Offset int64
	Lo, Hi int
}

// Row returns run i of the box at some coordinates, dimension 0 first.
func (m *Map) Row(i int, at []int32) (r Row) {
	size := int64(m.DType.Size())
	r.Offset = int64(at[0]) * size
	inside := true
	for d := 1; d < m.Rank(); d++ {
		n := m.extent(d)
		c := int64(at[d]) + int64(i%n)*int64(m.Steps[d])
		i /= n
		inside = inside && c >= 0 && uint64(c) < m.Dims[d]
		r.Offset += c * int64(m.Strides[d-1])
	}
	if !inside {
		return r
	}
	first, end := int64(at[0]), int64(at[0])+int64(m.Box[0])
	lo, hi := max(first, 0), min(end, int64(m.Dims[0]))
	if lo < hi {
		r.Lo, r.Hi = int((lo-first)*size), int((hi-first)*size)
	}
	return r
}

// FillPattern is the bytes of an element outside the tensor.
func (m *Map) FillPattern() []byte {
	out := make([]byte, m.DType.Size())
	if m.Fill == FillNaN { // the canonical NaN of conversions: all bits of exponent and mantissa
		for i := range out {
			out[i] = 0xff
		}
		out[len(out)-1] = 0x7f
	}
	return out
}

// Validate reports the first rule of cuTensorMapEncodeTiled that a map breaks, for a tensor that begins at a
// global address.
func (m *Map) Validate(address uint64) error {
	n := m.Rank()
	switch {
	case m.DType.Size() == 0:
		return fmt.Errorf("no tensor map has elements of %s", m.DType)
	case n < 1 || n > MaxRank:
		return fmt.Errorf("a tensor map has 1 to %d dimensions, not %d", MaxRank, n)
	case len(m.Strides) != n-1:
		return fmt.Errorf("%d strides for %d dimensions: each but the innermost has one", len(m.Strides), n)
	case len(m.Box) != n:
		return fmt.Errorf("a box of %d extents for %d dimensions", len(m.Box), n)
	case len(m.Steps) != n:
		return fmt.Errorf("%d element strides for %d dimensions", len(m.Steps), n)
	case m.Interleave > Interleave32B || m.Swizzle > Swizzle128B || m.Promotion > 3 || m.Fill > FillNaN:
		return fmt.Errorf("an unknown interleave, swizzle, promotion or fill")
	}
	if err := m.extents(); err != nil {
		return err
	}
	return m.layout(address)
}

// extents checks what each dimension has by itself.
func (m *Map) extents() error {
	for i, d := range m.Dims {
		switch {
		case d < 1 || d > 1<<32:
			return fmt.Errorf("dimension %s has %d elements: 1 to 2^32", m.nth(i), d)
		case m.Box[i] < 1 || m.Box[i] > 256:
			return fmt.Errorf("the box has %d elements in dimension %s: 1 to 256", m.Box[i], m.nth(i))
		case m.Steps[i] < 1 || m.Steps[i] > 8:
			return fmt.Errorf("an element stride of %d in dimension %s: 1 to 8", m.Steps[i], m.nth(i))
		}
	}
	align := uint64(16)
	if m.Interleave == Interleave32B {
		align = 32
	}
	span := m.Dims[0] * uint64(m.DType.Size())
	for i, s := range m.Strides {
		switch {
		case s%align != 0:
			return fmt.Errorf("a stride of %d bytes in dimension %s: a multiple of %d is needed", s, m.nth(i+1),
				align)
		case s >= 1<<40:
			return fmt.Errorf("a stride of %d bytes in dimension %s: less than 2^40 is needed", s, m.nth(i+1))
		}
		hi, part := bits.Mul64(m.Dims[i+1]-1, s)
		if span += part; hi != 0 || span >= 1<<62 {
			return fmt.Errorf("the tensor spans 2^62 bytes or more")
		}
	}
	return nil
}

// nth names a dimension as lists outside this package write them, the innermost last.
func (m *Map) nth(i int) string {
	if i == 0 {
		return fmt.Sprintf("%d (the innermost)", m.Rank()-1)
	}
	return fmt.Sprint(m.Rank() - 1 - i)
}

// layout checks the address, and what swizzle, interleave and fill demand.
func (m *Map) layout(address uint64) error {
	row, span := m.RowBytes(), m.Swizzle.Span()
	switch {
	case address%16 != 0:
		return fmt.Errorf("the tensor begins at a byte that is no multiple of 16")
	case m.Interleave == Interleave32B && address%32 != 0:
		return fmt.Errorf("the tensor begins at a byte that is no multiple of 32, as interleave 32B needs")
	case m.Interleave != InterleaveNone && m.Rank() < 3:
		return fmt.Errorf("an interleaved tensor has at least 3 dimensions, not %d", m.Rank())
	case m.Interleave == Interleave32B && m.Swizzle != Swizzle32B:
		return fmt.Errorf("interleave 32B needs swizzle 32B, not %s", m.Swizzle)
	case m.Interleave == InterleaveNone && row%16 != 0:
		return fmt.Errorf("the box has %d bytes in the innermost dimension: a multiple of 16 is needed", row)
	case m.Interleave == InterleaveNone && span > 0 && row > span:
		return fmt.Errorf("the box has %d bytes in the innermost dimension: at most %d with swizzle %s", row,
			span, m.Swizzle)
	case m.Fill == FillNaN && !m.DType.Float():
		return fmt.Errorf("elements of %s cannot be filled with NaN", m.DType)
	}
	return nil
}
