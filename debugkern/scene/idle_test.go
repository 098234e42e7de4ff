package scene

import (
	"slices"
	"testing"
)

// TestIdle: a buffer is idle where no thread reads or writes any of it and others are used.
func TestIdle(t *testing.T) {
	for _, c := range []struct {
		name        string
		dims        []int
		wrote, read []int
		global      bool
		want        []int
	}{
		{"one of two", []int{2, 4}, []int{0, 3}, []int{1}, false, []int{1}},
		{"read alone", []int{2, 4}, []int{0}, []int{7}, false, nil},
		{"two of three", []int{3, 2, 2}, []int{5}, nil, false, []int{0, 2}},
		{"nothing used", []int{2, 4}, nil, nil, false, nil},
		{"a vector has no buffers", []int{8}, []int{0}, nil, false, nil},
		{"an argument has none", []int{2, 4}, []int{0}, nil, true, nil},
	} {
		x := &Covered{dims: c.dims, wrote: map[int]bool{}, read: map[int]bool{}, global: c.global}
		for _, i := range c.wrote {
			x.wrote[i] = true
		}
		for _, i := range c.read {
			x.read[i] = true
		}
		if got := x.Idle(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}
