// Package bundle reads and writes a launch as one file (.tsl): the module's PTX, the entry, the geometry, the
// parameters' bytes, the memory that they lead to, and the sources that the PTX names. Whoever has such a
// file can execute the launch, with no GPU and without the program that it comes from.
//
// The one idea: a launch is bytes, and which of them are addresses. A parameter is so many bytes; where one
// of its words is an address, the file says into which memory and how far, never the address. So there is one
// form for a scalar, a pointer and a struct of tensors, and two recordings of one launch are the same bytes.
//
// The file is a zip archive: bundle.json describes everything (Manifest), module.ptx is the module,
// before/NAME.npy and after/NAME.npy are contents of memory as NumPy arrays, sources/PATH are texts.
// Nothing else may be in it. It is read as package npy reads archives: every byte is checked, and sizes
// are compared with a budget before memory is allocated. The format is described in docs/bundle.md;
// python/tilescope writes it too.
//
// The package must not know what executes a launch, or what a launch means.
package bundle

import (
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Schema names the format.
const Schema = "tilescope.bundle/1"

// Ext is the extension of the files.
const Ext = ".tsl"

// Before is the folder of the archive that has what memory contained before the launch.
const Before = "before/"

// Names of the archive's members, and of the folders of those that are named by what they hold.
const (
	manifestMember = "bundle.json"
	moduleMember   = "module.ptx"
	beforeFolder   = Before
	afterFolder    = "after/"
	sourceFolder   = "sources/"
	arrayExt       = ".npy"
)

// Manifest is bundle.json. Lists are in the order of the kernel's parameters, or of first use.
type Manifest struct {
	Schema string `json:"schema"`
	// Origin is what made the bundle: triton, cute, ptx, record.
	Origin string `json:"origin"`
	// Versions are those of what made it, by name: "triton": "3.4.0".
	Versions map[string]string `json:"versions"`
	// Module is the digest (SHA-256, hexadecimal) of module.ptx, and Entry the kernel's name in it.
	Module     string      `json:"module"`
	Entry      string      `json:"entry"`
	Launch     Launch      `json:"launch"`
	Parameters []Parameter `json:"parameters"`
	Memory     []Memory    `json:"memory"`
	Sources    []Source    `json:"sources"`
}

// Launch is the geometry. Shared is dynamic shared memory of a block, in bytes.
type Launch struct {
	Grid        probes.Dim3 `json:"grid"`
	Block       probes.Dim3 `json:"block"`
	Cluster     probes.Dim3 `json:"cluster"`
	Shared      int         `json:"shared"`
	Cooperative bool        `json:"cooperative"`
}

// Parameter is one of the kernel's parameters.
type Parameter struct {
	Name string `json:"name"`
	// Type is what it is to its author, "" where that is not known: an element type for a scalar. It changes
	// nothing but how it is shown.
	Type string `json:"type,omitempty"`
	// Value is its bytes, hexadecimal; those of addresses are 0.
	Value    string    `json:"value"`
	Pointers []Pointer `json:"pointers,omitempty"`
	// Map says what tensor map the parameter is; nil: it is none. Its bytes, which only a driver makes, are
	// 0.
	Map *TensorMap `json:"map,omitempty"`

	bytes []byte
}

// TensorMap is what a host passes to cuTensorMapEncodeTiled. Lists are in the order of the tensor's extents,
// the innermost dimension last; the rest is as in a tensormap.Spec.
type TensorMap struct {
	Memory     int     `json:"memory"` // an index
	Offset     int64   `json:"offset,omitempty"`
	DType      string  `json:"dtype"`
	Dims       []int64 `json:"dims"`
	Strides    []int64 `json:"strides,omitempty"`
	Box        []int64 `json:"box"`
	Steps      []int64 `json:"steps,omitempty"`
	Interleave string  `json:"interleave,omitempty"`
	Swizzle    string  `json:"swizzle,omitempty"`
	Promotion  string  `json:"promotion,omitempty"`
	Fill       string  `json:"fill,omitempty"`
}

// Spec returns the description as people write it.
func (t *TensorMap) Spec() tensormap.Spec {
	return tensormap.Spec{
		DType: t.DType, Dims: t.Dims, Strides: t.Strides, Box: t.Box, Steps: t.Steps,
		Interleave: t.Interleave, Swizzle: t.Swizzle, Promotion: t.Promotion, Fill: t.Fill, Offset: t.Offset,
	}
}

// Bytes returns the parameter's value with addresses left 0. The caller must not change it.
func (p *Parameter) Bytes() []byte { return p.bytes }

// Pointer is a word of a parameter that is an address: At is its byte in the parameter, Memory an index, and
// Offset how many bytes of the memory come before the one that it points to.
type Pointer struct {
	At     int   `json:"at"`
	Memory int   `json:"memory"`
	Offset int64 `json:"offset,omitempty"`
	// Dims and Strides (in elements) are the tensor that the author sees through it, nil where that is the
	// memory as it lies.
	Dims    []int `json:"dims,omitempty"`
	Strides []int `json:"strides,omitempty"`
}

// Memory is an allocation of global memory, as an array: row-major, its elements one after the other.
type Memory struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Dims  []int  `json:"dims"`
	// Before are the stretches of it that were written before the launch, in ascending order; nil: none, and
	// there is no member before/NAME.npy, which has them one after the other. After is what is known of it
	// after the launch, in the same way.
	Before []Range `json:"before,omitempty"`
	After  []Range `json:"after,omitempty"`

	dtype probes.DType
	size  int64
}

// Range is a stretch of bytes: where it begins, and how many they are.
type Range [2]int64

// ElementType returns the type of the memory's elements.
func (m *Memory) ElementType() probes.DType { return m.dtype }

// Bytes returns the size of the memory.
func (m *Memory) Bytes() int64 { return m.size }

// Source is a text that debug lines of the module name: Path is the name that they have for it, a
// relative path with slashes.
type Source struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Error is what is wrong with a bundle's description. What is wrong with the archive is an *npy.Error.
type Error struct {
	File   string
	Field  string // "parameters[2].pointers[0].at", "" for the whole
	Reason string
}

func (e *Error) Error() string {
	s := e.File + ": " + manifestMember + ": "
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Reason
}

// covered is how many bytes ranges have.
func covered(list []Range) int64 {
	n := int64(0)
	for _, r := range list {
		n += r[1]
	}
	return n
}

// whole reports whether ranges are all of a memory.
func (m *Memory) whole(list []Range) bool { return len(list) == 1 && list[0] == Range{0, m.size} }

// members lists the archive's members that the manifest calls for, in their order.
func (m *Manifest) members() []string {
	out := []string{manifestMember, moduleMember}
	for i := range m.Memory {
		if x := &m.Memory[i]; x.Before != nil {
			out = append(out, beforeFolder+x.Name+arrayExt)
		}
	}
	for i := range m.Memory {
		if x := &m.Memory[i]; x.After != nil {
			out = append(out, afterFolder+x.Name+arrayExt)
		}
	}
	for _, s := range m.Sources {
		out = append(out, sourceFolder+s.Path)
	}
	return out
}
