package probes

import (
	"bytes"
	"slices"
	"testing"
)

// Elements are scattered to where the strides say and gathered from there, and what lies between
// them is no element.
func TestStrides(t *testing.T) {
	a := Arg{DType: U16, Dims: []int{2, 3, 2}, Strides: []int{2, 5, 1}} // planes within rows
	if n := a.MemoryElems(); n != 14 {
		t.Errorf("%d elements of memory", n)
	}
	elements := make([]byte, 24)
	for i := range elements {
		elements[i] = byte(i + 1)
	}
	memory, written := a.Scatter(elements)
	if got := a.Gather(memory); !bytes.Equal(got, elements) {
		t.Errorf("scattered and gathered: %v", got)
	}
	for place := range 14 {
		index, ok := IndexAt(place, a.Dims, a.Strides)
		if ok != (written[2*place] == 0xff) {
			t.Errorf("place %d is an element: %v, written: %v", place, ok, written[2*place])
		}
		if gap := place%5 == 4; ok == gap {
			t.Errorf("place %d is %v", place, index)
		}
		if !ok {
			continue
		}
		element := (index[0]*3+index[1])*2 + index[2]
		if a.Place(element) != place ||
			!slices.Equal(memory[2*place:2*place+2], elements[2*element:2*element+2]) {
			t.Errorf("place %d is %v, element %d", place, index, element)
		}
	}
	if _, ok := IndexAt(-1, a.Dims, a.Strides); ok {
		t.Error("the place before the first is an element")
	}
	plain := Arg{DType: U16, Dims: []int{2, 3, 2}}
	if memory, written := plain.Scatter(elements); &memory[0] != &elements[0] || written != nil ||
		plain.MemoryElems() != 12 {
		t.Error("an array without strides was copied")
	}
}
