// Package npy reads and writes NumPy's archives (.npz) and the arrays in them (.npy).
//
// The one idea: an array is returned only if every byte of the file that describes or holds it was checked.
// Both formats let a reader go on with less: a zip has two headers for each member and a checksum that may be
// skipped, an array may be shorter than its shape. Here the headers have to agree, members fill the archive
// without gaps or overlaps, a member has exactly the bytes of its shape, and its CRC-32 is compared. Sizes
// are computed without overflow and compared with a budget before memory is allocated.
//
// Arrays are little endian, in C order, of the plain number types. It must not know files, only bytes, or
// what an array is for.
package npy

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Error is what is wrong with an archive.
type Error struct {
	File   string // as given to Open
	Member string // the member's name in the archive, "" where the archive itself is wrong
	Reason string // "has 100 bytes of data"
	Want   string // what was expected, "" where that is clear
	Err    error  // of reading, or of the context; nil where the content is wrong
}

func (e *Error) Error() string {
	s := e.File + ": "
	if e.Member != "" {
		s += "member " + strconv.Quote(e.Member) + ": "
	}
	s += e.Reason
	if e.Want != "" {
		s += " (expected " + e.Want + ")"
	}
	return s
}

// Unwrap returns the cause of a failed read.
func (e *Error) Unwrap() error { return e.Err }

// wrong makes an error without a place, which is added by locate.
func wrong(want, format string, args ...any) *Error {
	return &Error{Reason: fmt.Sprintf(format, args...), Want: want}
}

// DType is the type of an array's elements.
type DType string

// The types that are read and written.
const (
	F16  DType = "f2"
	F32  DType = "f4"
	F64  DType = "f8"
	I8   DType = "i1"
	I16  DType = "i2"
	I32  DType = "i4"
	I64  DType = "i8"
	U8   DType = "u1"
	U16  DType = "u2"
	U32  DType = "u4"
	U64  DType = "u8"
	Bool DType = "b1"
)

var dtypes = []DType{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool}

// Size is the bytes of an element.
func (t DType) Size() int { return int(t[1] - '0') }

// Header describes an array.
type Header struct {
	DType DType
	Shape []int // no dimension for a scalar
}

// Elems is the number of elements, or false where it does not fit an int.
func (h Header) Elems() (int, bool) {
	if slices.Contains(h.Shape, 0) {
		return 0, true
	}
	n := uint64(1)
	for _, d := range h.Shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		n = lo
	}
	return int(n), int(n) >= 0
}

// bytes is the size of the elements, or false where it does not fit an int64.
func (h Header) bytes() (int64, bool) {
	n, ok := h.Elems()
	hi, lo := bits.Mul64(uint64(n), uint64(h.DType.Size()))
	return int64(lo), ok && hi == 0 && lo < 1<<62
}

func (h Header) String() string {
	dims := make([]string, len(h.Shape))
	for i, d := range h.Shape {
		dims[i] = strconv.Itoa(d)
	}
	return fmt.Sprintf("%s[%s]", h.DType, strings.Join(dims, ","))
}

// Array is an array with its elements, little endian, in C order.
type Array struct {
	Header
	Data []byte
}

// Float32s returns the elements of an F32 array, or those of an F64 array rounded to nearest; nil for other
// types.
func (a *Array) Float32s() []float32 {
	out := make([]float32, len(a.Data)/a.DType.Size())
	for i := range out {
		switch a.DType {
		case F32:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
		case F64:
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(a.Data[8*i:])))
		default:
			return nil
		}
	}
	return out
}

// Archive is an opened .npz. Its methods may not be called concurrently.
type Archive struct {
	name    string
	r       io.ReaderAt
	members []member // in the order of the archive's directory
	left    int64    // bytes of the budget
}

// Open reads an archive's directory: size bytes of r, called name in errors. budget is how many bytes of
// elements Read may return in all. The errors of Open and of the archive's methods are *Error.
func Open(r io.ReaderAt, size int64, name string, budget int64) (*Archive, error) {
	members, err := readDirectory(r, size)
	a := &Archive{name: name, r: r, members: members, left: budget}
	if err != nil {
		return nil, a.locate(err, "")
	}
	return a, nil
}

// locate completes an error of reading a member.
func (a *Archive) locate(err error, member string) error {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Reason: err.Error(), Err: err}
	}
	e.File = a.name
	if e.Member == "" {
		e.Member = member
	}
	return e
}

// Names lists the arrays in the order of the archive, without the members' ".npy".
func (a *Archive) Names() []string {
	names := make([]string, len(a.members))
	for i := range a.members {
		names[i] = a.members[i].array()
	}
	return names
}

// Header reads an array's header; ok is false where the archive has no such array. The elements are not
// looked at, but the header and the member's size have to agree.
func (a *Archive) Header(name string) (h Header, ok bool, err error) {
	m := a.member(name)
	if m == nil {
		return Header{}, false, nil
	}
	content := m.open(context.Background(), a.r)
	if h, err = content.header(); err != nil {
		return Header{}, true, a.locate(err, m.name)
	}
	return h, true, nil
}

// Read reads an array and checks all of its member. It ends within 100 ms of ctx. An array that is not there,
// or larger than what is left of the budget, is an error.
func (a *Archive) Read(ctx context.Context, name string) (*Array, error) {
	m := a.member(name)
	if m == nil {
		return nil, a.locate(wrong("one of "+quoteAll(a.Names()), "there is no array %q", name), "")
	}
	array, err := m.read(ctx, a.r, a.left)
	if err != nil {
		return nil, a.locate(err, m.name)
	}
	a.left -= int64(len(array.Data))
	return array, nil
}

// Sub returns the part of an archive whose members' names begin with folder, by their names without it. It
// has what is left of the budget, and reads the same file.
func (a *Archive) Sub(folder string) *Archive {
	out := &Archive{name: a.name, r: a.r, left: a.left}
	for _, m := range a.members {
		if name, ok := strings.CutPrefix(m.name, folder); ok {
			m.name = name
			out.members = append(out.members, m)
		}
	}
	return out
}

// Members lists the archive's members by their full names, in its order, those that are no arrays among them.
func (a *Archive) Members() []Member {
	out := make([]Member, len(a.members))
	for i, m := range a.members {
		out[i] = Member{Name: m.name, Bytes: m.size, Packed: m.compressed}
	}
	return out
}

// Member is a file of an archive: its size, and what it takes in the archive.
type Member struct {
	Name          string
	Bytes, Packed int64
}

// Content reads a member whatever it holds, by its full name, and checks all of it as Read does. Its bytes
// count against the budget, as an array's do; more than limit are refused.
func (a *Archive) Content(ctx context.Context, name string, limit int64) ([]byte, error) {
	i := slices.IndexFunc(a.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, a.locate(wrong("", "there is no member %q", name), "")
	}
	m := &a.members[i]
	if most := min(limit, a.left); m.size > most {
		return nil, a.locate(wrong("", "has %d bytes, and at most %d are read", m.size, most), name)
	}
	data, err := m.open(ctx, a.r).elements(m.size)
	if err != nil {
		return nil, a.locate(err, name)
	}
	a.left -= int64(len(data))
	return data, nil
}

// ReadArray reads a .npy: size bytes of r, called name in errors, an *Error each. Its elements may take
// budget bytes. The format has no checksum.
func ReadArray(ctx context.Context, r io.ReaderAt, size int64, name string, budget int64) (*Array, error) {
	m := &member{method: stored, compressed: size, size: size, unsummed: true}
	array, err := m.read(ctx, r, budget)
	if err != nil {
		return nil, (&Archive{name: name}).locate(err, "")
	}
	return array, nil
}

// read reads an array whose elements may take budget bytes.
func (m *member) read(ctx context.Context, r io.ReaderAt, budget int64) (*Array, error) {
	content := m.open(ctx, r)
	h, err := content.header()
	if err != nil {
		return nil, err
	}
	n, _ := h.bytes()
	if n > budget {
		return nil, wrong("", "%s takes %d bytes, and %d are left of what arrays may take", h, n, budget)
	}
	data, err := content.elements(n)
	if err == nil && h.DType == Bool {
		err = checkBools(data)
	}
	if err != nil {
		return nil, err
	}
	return &Array{h, data}, nil
}

func (a *Archive) member(name string) *member {
	for i := range a.members {
		if a.members[i].array() == name {
			return &a.members[i]
		}
	}
	return nil
}

func checkBools(data []byte) error {
	if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
		return wrong("0 or 1", "element %d of type bool is 0x%02x", i, data[i])
	}
	return nil
}

func quoteAll(names []string) string {
	const most = 20
	out := make([]string, 0, min(most, len(names)))
	for i, n := range names {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		out = append(out, strconv.Quote(n))
	}
	return strings.Join(out, " ")
}
