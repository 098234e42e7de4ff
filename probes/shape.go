package probes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxDims is how many dimensions a shape has at most.
const MaxDims = 8

// ListedDims are the dimensions of a shape that is written as a list of numbers: batches, heads, positions,
// elements of a head.
const ListedDims = "B H S D"

// Dim is a dimension of a problem.
type Dim struct {
	Name string
	N    int // its extent
}

// Shape is a problem size: dimensions in the manifest's order, then zero values. It is comparable.
type Shape [MaxDims]Dim

// ShapeOf names extents; there are as many of both, MaxDims at most.
func ShapeOf(names []string, extents ...int) Shape {
	var s Shape
	for i, name := range names {
		s[i] = Dim{name, extents[i]}
	}
	return s
}

// Listed is the shape whose dimensions are ListedDims.
func Listed(extents ...int) Shape { return ShapeOf(strings.Fields(ListedDims), extents...) }

// Dims returns the dimensions, in order.
func (s Shape) Dims() []Dim {
	for i, d := range s {
		if d.Name == "" {
			return s[:i:i]
		}
	}
	return s[:]
}

// Names returns the names of the dimensions, in order.
func (s Shape) Names() []string {
	var out []string
	for _, d := range s.Dims() {
		out = append(out, d.Name)
	}
	return out
}

// Extents returns the extents of the dimensions, in order.
func (s Shape) Extents() []int {
	var out []int
	for _, d := range s.Dims() {
		out = append(out, d.N)
	}
	return out
}

// Extent returns the extent of the dimension of that name; ok is false where the shape has none.
func (s Shape) Extent(name string) (n int, ok bool) {
	for _, d := range s.Dims() {
		if d.Name == name {
			return d.N, true
		}
	}
	return 0, false
}

// IsListed reports whether the dimensions are ListedDims, in that order.
func (s Shape) IsListed() bool { return strings.Join(s.Names(), " ") == ListedDims }

// String writes a shape as --shape takes it: 1,4,128,64 for ListedDims, else M=64,N=48.
func (s Shape) String() string {
	var out []string
	listed := s.IsListed()
	for _, d := range s.Dims() {
		if listed {
			out = append(out, fmt.Sprint(d.N))
		} else {
			out = append(out, fmt.Sprintf("%s=%d", d.Name, d.N))
		}
	}
	return strings.Join(out, ",")
}

// MarshalJSON writes an object of extents by name, in order.
func (s Shape) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, d := range s.Dims() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", d.Name, d.N)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes, in the order of the text.
func (s *Shape) UnmarshalJSON(text []byte) error {
	*s = Shape{}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("a shape is an object of extents by name, found %.20s", text)
	}
	for i := 0; d.More(); i++ {
		if i == MaxDims {
			return fmt.Errorf("a shape has at most %d dimensions", MaxDims)
		}
		name, err := d.Token()
		if err != nil {
			return err
		}
		s[i].Name, _ = name.(string)
		if err := d.Decode(&s[i].N); err != nil {
			return err
		}
	}
	return nil
}
