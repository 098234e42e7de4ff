package input

import (
	"tilescope/debugkern/npy"
	"tilescope/probes"
)

// arrayTypes are NumPy's types of elements. It has none for bf16 and the floats of a byte.
var arrayTypes = map[probes.DType]npy.DType{
	probes.U8: npy.U8, probes.I8: npy.I8, probes.U16: npy.U16, probes.I16: npy.I16, probes.U32: npy.U32,
	probes.I32: npy.I32, probes.U64: npy.U64, probes.I64: npy.I64, probes.F16: npy.F16, probes.F32: npy.F32,
	probes.F64: npy.F64,
}

// ArrayType returns NumPy's type of elements; ok is false where it has none.
func ArrayType(t probes.DType) (array npy.DType, ok bool) {
	array, ok = arrayTypes[t]
	return array, ok
}

// RawArrayType returns NumPy's type of elements and, where it has none, that of their bits.
func RawArrayType(t probes.DType) npy.DType {
	if array, ok := arrayTypes[t]; ok {
		return array
	}
	if t.Size() == 2 {
		return npy.U16
	}
	return npy.U8
}

// ElementType returns what elements of a NumPy array are: of a truth value, its byte.
func ElementType(array npy.DType) probes.DType {
	for t, a := range arrayTypes {
		if a == array {
			return t
		}
	}
	return probes.U8 // npy.Bool
}
