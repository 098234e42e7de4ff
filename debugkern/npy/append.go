package npy

import (
	"fmt"
	"strings"
)

// AppendHeader appends what a .npy has before its elements: version 1.0, little endian, in C order.
func AppendHeader(b []byte, t DType, dims []int) []byte {
	shape := make([]string, len(dims))
	for i, d := range dims {
		shape[i] = fmt.Sprint(d)
	}
	tail, order := "", "<"
	if len(dims) == 1 {
		tail = ","
	}
	if t.Size() == 1 {
		order = "|"
	}
	head := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s%s), }", order, t,
		strings.Join(shape, ", "), tail)
	const prefix = 10 // magic, version, header length
	head += strings.Repeat(" ", 63-(prefix+len(head))%64) + "\n"
	b = append(b, magic+"\x01\x00"...)
	return append(append(b, byte(len(head)), byte(len(head)>>8)), head...)
}
