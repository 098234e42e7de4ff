package cuda

import (
	"errors"
	"fmt"
	"slices"

	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/tensormap"
)

// mapBytes makes room for a tensor map, aligned as the driver wants it (CUtensorMap).
func mapBytes() []byte {
	b := make([]byte, tensormap.Bytes+tensormap.Align)
	at, release := dl.Pin(b)
	release() // memory of Go does not move
	skip := int(-at & (tensormap.Align - 1))
	return b[skip : skip+tensormap.Bytes : skip+tensormap.Bytes]
}

// encode has the driver write a tensor map of a buffer of the launch.
func (p *prepared) encode(out []byte, m *mapSpec) error {
	if m.Of < 0 || m.Of >= len(p.spec.Args) || p.buffers[m.Of] == nil {
		return errors.New("it is of no buffer")
	}
	b := p.buffers[m.Of]
	if err := m.Validate(uint64(m.Skip)); err != nil {
		return err
	}
	if m.Skip < 0 || m.Skip > b.bytes || int64(m.GlobalBytes()) > b.bytes-m.Skip {
		return fmt.Errorf("the tensor is larger than the buffer of %d bytes", b.bytes)
	}
	strides := append(slices.Clone(m.Strides), 0) // of one dimension too the driver wants an address
	code := p.w.drv.encodeTiled(out, uint32(m.DType), uint32(m.Rank()), b.addr()+uint64(m.Skip), m.Dims,
		strides, m.Box, m.Steps, uint32(m.Interleave), uint32(m.Swizzle), uint32(m.Promotion), uint32(m.Fill))
	return p.w.drv.check("cuTensorMapEncodeTiled", code)
}
