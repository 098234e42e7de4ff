package tensormap

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is a tensor map of a buffer as people write it. Lists have the order of the buffer's extents, the
// innermost dimension last.
type Spec struct {
	DType   string  // a type that ParseDType knows; "": the buffer's
	Dims    []int64 // elements; nil: the buffer's
	Strides []int64 // bytes from one index to the next, of all dimensions but the last; nil: without gaps
	Box     []int64
	Steps   []int64 // element strides; nil: 1 each

	Interleave, Swizzle, Promotion, Fill string // names; "": none, or of Fill zero
	Offset                               int64  // the buffer's byte that the tensor begins with
}

// ParseDType is the type of a map's elements for a type of numbers. Types of a byte that no map has are u8,
// and i16 is u16: copies move their bits.
func ParseDType(name string) (DType, error) {
	switch name {
	case "i8", "e4m3", "e5m2":
		return U8, nil
	case "i16":
		return U16, nil
	}
	for t := range dtypes {
		if dtypes[t].name == name {
			return DType(t), nil
		}
	}
	return 0, fmt.Errorf("no tensor map has elements of type %q", name)
}

// Names of the modes, in the order of their values.
var (
	interleaves = []string{"none", "16B", "32B"}
	swizzles    = []string{"none", "32B", "64B", "128B"}
	promotions  = []string{"none", "64B", "128B", "256B"}
	fillings    = []string{"zero", "nan"}
)

func mode(what, name string, names []string) (uint32, error) {
	i := slices.Index(names, name)
	if name == "" {
		i = 0
	}
	if i < 0 {
		return 0, fmt.Errorf("%s %q: expected %s", what, name, strings.Join(names, ", "))
	}
	return uint32(i), nil
}

// Map makes the map of a buffer of elements of a type, with its extents and the elements from one index to
// the next of each, nil where it has no gaps. It is valid, but for the buffer's size.
func (s *Spec) Map(dtype string, dims, strides []int) (*Map, error) {
	m := &Map{}
	var err error
	if s.DType != "" {
		dtype = s.DType
	}
	if m.DType, err = ParseDType(dtype); err != nil {
		return nil, err
	}
	if err := s.modes(m); err != nil {
		return nil, err
	}
	if err := s.shape(m, dims, strides); err != nil {
		return nil, err
	}
	n := len(m.Dims)
	if len(s.Box) != n {
		return nil, fmt.Errorf("a box of %d extents for %d dimensions", len(s.Box), n)
	}
	if s.Steps != nil && len(s.Steps) != n {
		return nil, fmt.Errorf("%d element strides for %d dimensions", len(s.Steps), n)
	}
	for i := n - 1; i >= 0; i-- {
		step := int64(1)
		if s.Steps != nil {
			step = s.Steps[i]
		}
		m.Box, m.Steps = append(m.Box, narrow(s.Box[i])), append(m.Steps, narrow(step))
	}
	if s.Offset < 0 {
		return nil, fmt.Errorf("offset %d: a byte of the buffer", s.Offset)
	}
	return m, m.Validate(uint64(s.Offset))
}

// narrow is a number that Validate takes, or one that it refuses.
func narrow(v int64) uint32 { return uint32(min(max(v, 0), 1<<31)) }

// Check reports a mode that does not exist.
func (s *Spec) Check() error { return s.modes(&Map{}) }

func (s *Spec) modes(m *Map) error {
	var to [4]uint32
	for i, x := range []struct {
		what, name string
		names      []string
	}{
		{"interleave", s.Interleave, interleaves}, {"swizzle", s.Swizzle, swizzles},
		{"promotion", s.Promotion, promotions}, {"fill", s.Fill, fillings},
	} {
		var err error
		if to[i], err = mode(x.what, x.name, x.names); err != nil {
			return err
		}
	}
	m.Interleave, m.Swizzle = Interleave(to[0]), Swizzle(to[1])
	m.Promotion, m.Fill = Promotion(to[2]), Fill(to[3])
	return nil
}

// shape sets dimensions and strides: those given, else the buffer's.
func (s *Spec) shape(m *Map, dims, strides []int) error {
	size, whole := int64(m.DType.Size()), s.Dims
	apart := slices.Clone(s.Strides)
	if whole == nil {
		for _, d := range dims {
			whole = append(whole, int64(d))
		}
		if strides != nil && apart == nil {
			if strides[len(strides)-1] != 1 {
				return fmt.Errorf("the elements of the buffer's last dimension do not lie side by side")
			}
			for _, e := range strides[:len(strides)-1] {
				apart = append(apart, int64(e)*size)
			}
		}
	}
	n := len(whole)
	if n < 1 || n > MaxRank {
		return fmt.Errorf("a tensor map has 1 to %d dimensions, not %d", MaxRank, n)
	}
	if apart == nil {
		apart = make([]int64, n-1)
		for i, next := n-2, size; i >= 0; i-- {
			next *= min(max(whole[i+1], 0), 1<<32)
			apart[i] = next
			next = min(next, 1<<40) // Validate refuses that, and products stay in range
		}
	}
	if len(apart) != n-1 {
		return fmt.Errorf("%d strides for %d dimensions: each but the last has one", len(apart), n)
	}
	for i := n - 1; i >= 0; i-- {
		m.Dims = append(m.Dims, uint64(max(whole[i], 0)))
		if i > 0 {
			m.Strides = append(m.Strides, uint64(max(apart[i-1], -1)))
		}
	}
	return nil
}
