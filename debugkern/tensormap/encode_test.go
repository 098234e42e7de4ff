package tensormap

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fields sets every field of a map in an object, as tensormap.replace does, but those for which skip is true.
func fields(o Object, m *Map, address uint64, skip func(Field, int) bool) {
	set := func(f Field, ordinal int, v uint64) {
		if skip == nil || !skip(f, ordinal) {
			o.Replace(f, ordinal, v)
		}
	}
	set(FieldAddress, 0, address)
	set(FieldRank, 0, uint64(m.Rank()-1))
	for i := range m.Rank() {
		set(FieldBox, i, uint64(m.Box[i]))
		set(FieldDim, i, m.Dims[i])
		set(FieldStep, i, uint64(m.Steps[i]))
		if i > 0 {
			set(FieldStride, i-1, m.Strides[i-1])
		}
	}
	set(FieldType, 0, uint64(slices.Index(elementTypes, m.DType)))
	set(FieldInterleave, 0, uint64(m.Interleave))
	set(FieldSwizzle, 0, uint64(m.Swizzle))
	set(FieldFill, 0, uint64(m.Fill))
}

// TestObject: an object holds its map, through a copy too, and however it was made.
func TestObject(t *testing.T) {
	large := &Map{
		DType: BF16, Dims: []uint64{1 << 32, 3, 5, 7, 256}, Strides: []uint64{1 << 39, 16, 32, 1 << 20},
		Box: []uint32{256, 1, 256, 2, 3}, Steps: []uint32{1, 8, 2, 3, 4}, Promotion: 3, Fill: FillNaN,
	}
	for name, m := range map[string]*Map{"matrix": matrix(), "every field at its largest": large} {
		o := m.Encode(0x1234567890)
		got, address, err := Object(slices.Clone(o)).Decode()
		if err != nil || address != 0x1234567890 || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: %+v at %#x, %v", name, got, address, err)
		}
		made := make(Object, Bytes)
		fields(made, m, 0x1234567890, nil)
		plain := *m
		plain.Promotion = 0 // tensormap.replace does not set it
		got, address, err = made.Decode()
		if err != nil || address != 0x1234567890 || !reflect.DeepEqual(got, &plain) {
			t.Errorf("%s by fields: %+v at %#x, %v", name, got, address, err)
		}
	}
}

// TestReplace: one field changes and nothing else does.
func TestReplace(t *testing.T) {
	o := matrix().Encode(256)
	o.Replace(FieldDim, 1, 99)
	want := matrix()
	want.Dims[1] = 99
	if got, address, err := o.Decode(); err != nil || address != 256 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v at %d, %v", got, address, err)
	}
	o.Replace(FieldAddress, 0, 512)
	o.Replace(FieldType, 0, 10)
	want.DType = BF16
	if got, address, err := o.Decode(); err != nil || address != 512 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v at %d, %v", got, address, err)
	}
}

// TestNoObject: what is no map says why, and a replaced field does not make one of foreign bytes.
func TestNoObject(t *testing.T) {
	empty := make(Object, Bytes)
	if _, _, err := empty.Decode(); !empty.Is() || err == nil ||
		!strings.Contains(err.Error(), "rank was never set") {
		t.Errorf("zeros: %v", err)
	}
	for i := range Bytes {
		o := matrix().Encode(0)
		if o[i] ^= 4; o.Is() {
			t.Errorf("byte %d is changed, and the object stands", i)
		}
		o.Replace(FieldDim, 0, 63)
		if _, _, err := o.Decode(); err == nil || !strings.Contains(err.Error(), "those of no tensor map") {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	for _, s := range slots[:len(slots)-1] {
		for ord := range min(s.count, 2) {
			if s.field == FieldStride && ord > 0 {
				continue // the matrix has one
			}
			o := make(Object, Bytes)
			fields(o, matrix(), 0, func(f Field, i int) bool { return f == s.field && i == ord })
			if _, _, err := o.Decode(); err == nil || !strings.Contains(err.Error(), string(s.field)) ||
				!strings.Contains(err.Error(), "was never set") {
				t.Errorf("without %s %d: %v", s.field, ord, err)
			}
		}
	}
	for says, change := range map[string]func(Object){
		"its rank is 7":                   func(o Object) { o.Replace(FieldRank, 0, 7) },
		"its element type is 13":          func(o Object) { o.Replace(FieldType, 0, 13) },
		"the box has 257 elements":        func(o Object) { o.Replace(FieldBox, 0, 257) },
		"the box has 65535 elements":      func(o Object) { o.Replace(FieldBox, 0, 1<<31) },
		"no multiple of 16":               func(o Object) { o.Replace(FieldAddress, 0, 8) },
		"a stride of 136 bytes":           func(o Object) { o.Replace(FieldStride, 0, 136) },
		"at most 32 with swizzle 32B":     func(o Object) { o.Replace(FieldSwizzle, 0, 1) },
		"at least 3 dimensions, not 2":    func(o Object) { o.Replace(FieldInterleave, 0, 1) },
		"dimension 0 has 0 elements: 1 t": func(o Object) { o.Replace(FieldDim, 1, 0) },
	} {
		o := matrix().Encode(0)
		change(o)
		if _, _, err := o.Decode(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// TestSlots: fields do not overlap, nor do their bits, and the mask has room for them.
func TestSlots(t *testing.T) {
	at, bit := 0, 0
	for _, s := range slots {
		if s.at != at || s.bit != bit {
			t.Errorf("%s: byte %d bit %d, want %d and %d", s.field, s.at, s.bit, at, bit)
		}
		at, bit = s.at+s.size*s.count, s.bit+s.count
	}
	if at > maskAt || bit > 8*binary.Size(uint32(0)) || maskAt+4 > sumAt {
		t.Errorf("fields end at byte %d, bit %d", at, bit)
	}
	if FieldBox.Ordinals() != 5 || FieldStride.Ordinals() != 4 || FieldRank.Ordinals() != 1 ||
		Field("swizzle_atomicity").Ordinals() != 0 || fieldPromotion.Ordinals() != 0 {
		t.Error("ordinals")
	}
}
