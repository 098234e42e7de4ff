// Package npytest writes NumPy archives for other rooms' tests.
//
// No package of the program imports it.
package npytest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/npy"
)

// Array is an array to write.
type Array struct {
	Name  string
	DType npy.DType
	Shape []int
	Data  []byte // little endian, C order
}

// Floats is an array of f4 or f8.
func Floats(name string, t npy.DType, shape []int, values ...float64) Array {
	a := Array{Name: name, DType: t, Shape: shape}
	for _, v := range values {
		if t == npy.F32 {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(float32(v)))
		} else {
			a.Data = binary.LittleEndian.AppendUint64(a.Data, math.Float64bits(v))
		}
	}
	return a
}

// Whole is an array of an integer type, or of bits of any type.
func Whole(name string, t npy.DType, shape []int, values ...int64) Array {
	a := Array{Name: name, DType: t, Shape: shape}
	for _, v := range values {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(v))
		a.Data = append(a.Data, word[:t.Size()]...)
	}
	return a
}

// Archive is the bytes of an archive of arrays.
func Archive(arrays ...Array) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, a := range arrays {
		f, err := z.Create(a.Name + ".npy")
		if err != nil {
			panic(err)
		}
		f.Write(a.bytes())
	}
	z.Close()
	return b.Bytes()
}

// bytes is the array as a .npy file.
func (a Array) bytes() []byte {
	dims := make([]string, len(a.Shape))
	for i, d := range a.Shape {
		dims[i] = fmt.Sprint(d)
	}
	tail := ""
	if len(dims) == 1 {
		tail = ","
	}
	mark := "<"
	if a.DType.Size() == 1 {
		mark = "|"
	}
	h := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s%s), }", mark, a.DType,
		strings.Join(dims, ", "), tail)
	h += strings.Repeat(" ", 63-(10+len(h))%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(h)), byte(len(h)>>8))
	return append(append(out, h...), a.Data...)
}
