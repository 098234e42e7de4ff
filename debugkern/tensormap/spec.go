package tensormap

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is a tensor map of a buffer as people write it. Lists have the order of the buffer's extents, the
// innermost dimension last.
type Spec struct {
	DType   string  // as ParseDType takes it; "": the buffer's type
	Dims    []int64 // elements; nil: the buffer's
	Strides []int64 // bytes from one index to the next, of all dimensions but the last; nil: without gaps
	Box     []int64
	Steps   []int64 // element strides; nil: 1 each

	Interleave, Swizzle, Promotion, Fill string // names; "": none, or of Fill zero
	Offset                               int64  // the buffer's byte that the tensor begins with
}

// Within reports why the tensor of a map, which begins at Offset, does not lie within memory of that many
// bytes; nil where it does.
func (s *Spec) Within(m *Map, memory string, bytes int64) error {
	n := int64(m.GlobalBytes())
	if s.Offset > bytes || n > bytes-s.Offset {
		return fmt.Errorf("the tensor ends at byte %d, and %s has %d bytes", s.Offset+n, memory, bytes)
	}
	return nil
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

// Types returns the names of the types of elements, as ParseDType reads them.
func Types() []string {
	var out []string
	for _, t := range dtypes {
		out = append(out, t.name)
	}
	return append(out, "i8", "e4m3", "e5m2", "i16")
}

// Modes returns the names that a mode of a Spec (interleave, swizzle, promotion, fill) has, in the order of
// their values; nil where there is no such mode.
func Modes(mode string) []string {
	switch mode {
	case "interleave":
		return []string{"none", "16B", "32B"}
	case "swizzle":
		return []string{"none", "32B", "64B", "128B"}
	case "promotion":
		return []string{"none", "64B", "128B", "256B"}
	case "fill":
		return []string{"zero", "nan"}
	}
	return nil
}

// number is the value of a mode's name.
func number(mode, name string) (uint32, error) {
	names := Modes(mode)
	i := slices.Index(names, name)
	if name == "" {
		i = 0
	}
	if i < 0 {
		return 0, fmt.Errorf("%s %q: expected %s", mode, name, strings.Join(names, ", "))
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

// Keys writes what is given, as `check` and manifests take it: "box: [64, 64], swizzle: 128B".
func (s *Spec) Keys() string {
	var out []string
	add := func(key, value string) {
		if value != "" {
			out = append(out, key+": "+value)
		}
	}
	list := func(key string, ns []int64) {
		if len(ns) > 0 {
			add(key, strings.ReplaceAll(fmt.Sprint(ns), " ", ", "))
		}
	}
	add("dtype", s.DType)
	list("dims", s.Dims)
	list("strides", s.Strides)
	list("box", s.Box)
	list("steps", s.Steps)
	add("interleave", s.Interleave)
	add("swizzle", s.Swizzle)
	add("promotion", s.Promotion)
	add("fill", s.Fill)
	if s.Offset != 0 {
		add("offset", fmt.Sprint(s.Offset))
	}
	return strings.Join(out, ", ")
}

// Spec describes the map of a tensor that begins at a byte of its buffer, with nothing left out.
func (m *Map) Spec(offset int64) *Spec {
	s := &Spec{
		DType: m.DType.String(), Interleave: Modes("interleave")[m.Interleave], Offset: offset,
		Swizzle: Modes("swizzle")[m.Swizzle], Promotion: Modes("promotion")[m.Promotion],
		Fill: Modes("fill")[m.Fill],
	}
	for i := m.Rank() - 1; i >= 0; i-- {
		s.Dims, s.Box = append(s.Dims, int64(m.Dims[i])), append(s.Box, int64(m.Box[i]))
		s.Steps = append(s.Steps, int64(m.Steps[i]))
		if i > 0 {
			s.Strides = append(s.Strides, int64(m.Strides[i-1]))
		}
	}
	return s
}

// Check reports a mode that does not exist.
func (s *Spec) Check() error { return s.modes(&Map{}) }

func (s *Spec) modes(m *Map) error {
	var to [4]uint32
	for i, x := range [4][2]string{
		{"interleave", s.Interleave}, {"swizzle", s.Swizzle}, {"promotion", s.Promotion}, {"fill", s.Fill},
	} {
		var err error
		if to[i], err = number(x[0], x[1]); err != nil {
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
