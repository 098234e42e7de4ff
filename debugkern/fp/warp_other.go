//go:build !amd64

package fp

const vectors = false

func (m *Model) multiplyVectors(MMA, int, int, *WarpMMA) bool { return false }
