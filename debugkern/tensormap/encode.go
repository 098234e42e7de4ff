package tensormap

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
)

// Object is a tensor map as 128 bytes of memory, in a representation of our own: what a driver makes for a
// GPU is opaque. It holds each field and whether it was set, and a checksum of both, so that an object that
// was copied through memory is one still, and bytes that somebody else wrote are none. Bytes that are all
// zero are an object of which no field is set.
type Object []byte

// Field is a part of an object that tensormap.replace sets (PTX ISA 9.7.9.28); its value is spelled as the
// instruction's modifier.
type Field string

// Fields. Those of dimensions have one value each, by the ordinal of the dimension.
const (
	FieldAddress    Field = "global_address"
	FieldRank       Field = "rank"
	FieldBox        Field = "box_dim"
	FieldDim        Field = "global_dim"
	FieldStride     Field = "global_stride"
	FieldStep       Field = "element_stride"
	FieldType       Field = "elemtype"
	FieldInterleave Field = "interleave_layout"
	FieldSwizzle    Field = "swizzle_mode"
	FieldFill       Field = "fill_mode"

	fieldPromotion Field = "promotion" // only a driver sets it
)

// slot is where an object has a field: count values of size bytes from byte at on, and bits of the set mask.
type slot struct {
	field           Field
	at, size, count int
	bit             int
}

// slots are the fields in the order of their bytes; behind them stand the mask of those that are set, and the
// checksum.
var slots = []slot{
	{FieldAddress, 0, 8, 1, 0}, {FieldDim, 8, 8, MaxRank, 1}, {FieldStride, 48, 8, MaxRank - 1, 6},
	{FieldBox, 80, 2, MaxRank, 10}, {FieldStep, 90, 2, MaxRank, 15}, {FieldType, 100, 1, 1, 20},
	{FieldRank, 101, 1, 1, 21}, {FieldInterleave, 102, 1, 1, 22}, {FieldSwizzle, 103, 1, 1, 23},
	{FieldFill, 104, 1, 1, 24}, {fieldPromotion, 105, 1, 1, 25},
}

const (
	maskAt = 112
	sumAt  = 120
)

// elementTypes are the types of elements by their number in tensormap.replace.elemtype, which is another one
// than cuTensorMapEncodeTiled takes.
var elementTypes = []DType{U8, U16, U32, I32, U64, I64, F16, F32, F32FTZ, F64, BF16, TF32, TF32FTZ}

// slotOf returns where a field lies; nil for one that does not exist.
func slotOf(f Field) *slot {
	i := slices.IndexFunc(slots, func(s slot) bool { return s.field == f })
	if i < 0 {
		return nil
	}
	return &slots[i]
}

// Ordinals is how many dimensions have the field; 1 for a field of no dimension, 0 for one that does not
// exist.
func (f Field) Ordinals() int {
	if s := slotOf(f); s != nil && f != fieldPromotion {
		return s.count
	}
	return 0
}

// OfDimension reports whether the field is one of a dimension.
func (f Field) OfDimension() bool { return f.Ordinals() > 1 }

// Wide reports whether the field's value has 64 bits.
func (f Field) Wide() bool { return f == FieldAddress || f == FieldStride }

// Modes is the number of values of a field that has names for them; 0 for a number.
func (f Field) Modes() int {
	switch f {
	case FieldType:
		return len(elementTypes)
	case FieldInterleave:
		return int(Interleave32B) + 1
	case FieldSwizzle:
		return int(Swizzle128B) + 1
	case FieldFill:
		return int(FillNaN) + 1
	}
	return 0
}

// Encode makes the object of a map whose tensor begins at a global address.
func (m *Map) Encode(address uint64) Object {
	o := make(Object, Bytes)
	o.set(FieldAddress, 0, address)
	for i := range m.Rank() {
		o.set(FieldDim, i, m.Dims[i])
		o.set(FieldBox, i, uint64(m.Box[i]))
		o.set(FieldStep, i, uint64(m.Steps[i]))
		if i > 0 {
			o.set(FieldStride, i-1, m.Strides[i-1])
		}
	}
	o.set(FieldType, 0, uint64(slices.Index(elementTypes, m.DType)))
	o.set(FieldRank, 0, uint64(m.Rank()-1))
	o.set(FieldInterleave, 0, uint64(m.Interleave))
	o.set(FieldSwizzle, 0, uint64(m.Swizzle))
	o.set(FieldFill, 0, uint64(m.Fill))
	o.set(fieldPromotion, 0, uint64(m.Promotion))
	o.seal()
	return o
}

// Is reports whether the bytes are an object: one that Encode or Replace made, or all zero.
func (o Object) Is() bool {
	return len(o) == Bytes && (o.empty() || binary.LittleEndian.Uint64(o[sumAt:]) == o.sum())
}

// empty reports whether all bytes are zero.
func (o Object) empty() bool { return !slices.ContainsFunc(o, func(b byte) bool { return b != 0 }) }

func (o Object) sum() uint64 {
	h := fnv.New64a()
	h.Write(o[:sumAt])
	return h.Sum64()
}

func (o Object) seal() { binary.LittleEndian.PutUint64(o[sumAt:], o.sum()) }

// Replace sets a field, of the dimension with an ordinal, to the value that tensormap.replace is given. Bytes
// that are no object stay none.
func (o Object) Replace(f Field, ordinal int, v uint64) {
	was := o.Is()
	o.set(f, ordinal, v)
	if was {
		o.seal()
	}
}

// set writes a field, and that it is set; a value that the field has no room for becomes the largest one,
// which no valid map has.
func (o Object) set(f Field, ordinal int, v uint64) {
	s := slotOf(f)
	if s == nil || ordinal < 0 || ordinal >= s.count {
		panic("BUG: tensor maps have no such field")
	}
	if s.size < 8 {
		v = min(v, 1<<(8*s.size)-1)
	}
	at := s.at + ordinal*s.size
	for i := range s.size {
		o[at+i] = byte(v >> (8 * i))
	}
	mask := binary.LittleEndian.Uint32(o[maskAt:])
	binary.LittleEndian.PutUint32(o[maskAt:], mask|1<<(s.bit+ordinal))
}

// get reads a field; ok is false where it was never set.
func (o Object) get(f Field, ordinal int) (v uint64, ok bool) {
	s := slotOf(f)
	at := s.at + ordinal*s.size
	for i := range s.size {
		v |= uint64(o[at+i]) << (8 * i)
	}
	return v, binary.LittleEndian.Uint32(o[maskAt:])>>(s.bit+ordinal)&1 != 0
}

// Decode returns the map that an object is, and the global address that its tensor begins at. It reports what
// keeps the bytes from being a map that copies can be made by: that they are no object, that a field was
// never set, or a rule of cuTensorMapEncodeTiled that it breaks.
func (o Object) Decode() (m *Map, address uint64, err error) {
	if !o.Is() {
		return nil, 0, fmt.Errorf("its bytes are those of no tensor map: something else was written there")
	}
	d := decoder{o: o}
	rank := d.get(FieldRank, 0) + 1
	if d.err == nil && rank > MaxRank {
		return nil, 0, fmt.Errorf(
			"its rank is %d: tensormap.replace.rank takes the number of dimensions less 1, 0 to %d", rank-1,
			MaxRank-1)
	}
	m = &Map{
		Interleave: Interleave(d.get(FieldInterleave, 0)), Swizzle: Swizzle(d.get(FieldSwizzle, 0)),
		Fill: Fill(d.get(FieldFill, 0)),
	}
	if t := d.get(FieldType, 0); t < uint64(len(elementTypes)) {
		m.DType = elementTypes[t]
	} else if d.err == nil {
		return nil, 0, fmt.Errorf("its element type is %d: 0 to %d", t, len(elementTypes)-1)
	}
	address = d.get(FieldAddress, 0)
	for i := 0; i < int(rank) && d.err == nil; i++ {
		m.Dims = append(m.Dims, d.get(FieldDim, i))
		m.Box = append(m.Box, uint32(d.get(FieldBox, i)))
		m.Steps = append(m.Steps, uint32(d.get(FieldStep, i)))
		if i > 0 {
			m.Strides = append(m.Strides, d.get(FieldStride, i-1))
		}
	}
	if d.err == nil {
		d.err = m.Validate(address)
	}
	if d.err != nil {
		return nil, 0, d.err
	}
	v, _ := o.get(fieldPromotion, 0)
	m.Promotion = Promotion(v)
	return m, address, nil
}

// decoder reads fields and keeps the first that was never set.
type decoder struct {
	o   Object
	err error
}

func (d *decoder) get(f Field, ordinal int) uint64 {
	v, ok := d.o.get(f, ordinal)
	if !ok && d.err == nil {
		d.err = fmt.Errorf("its %s was never set", f)
		if f.OfDimension() {
			d.err = fmt.Errorf("its %s of dimension %d was never set", f, ordinal)
		}
	}
	return v
}
