//go:build !amd64

package fp

// Vectors reports whether the processor has AVX2 and F16C.
func Vectors() bool { return vectors }

const vectors = false

func (m *Model) multiplyVectors(MMA, int, int, *WarpMMA) bool { return false }
