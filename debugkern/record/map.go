package record

import (
	"slices"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// described is a tensor map as a bundle has it.
func (m *Map) described(x *Extent) *bundle.TensorMap {
	t := &bundle.TensorMap{
		Memory: m.Extent, Offset: int64(m.Address - x.Address), DType: m.DType.String(),
		Interleave: mode("interleave", uint32(m.Interleave)), Swizzle: mode("swizzle", uint32(m.Swizzle)),
		Promotion: mode("promotion", uint32(m.Promotion)), Fill: mode("fill", uint32(m.Fill)),
	}
	for i := len(m.Dims) - 1; i >= 0; i-- { // a bundle has the innermost dimension last
		t.Dims, t.Box = append(t.Dims, int64(m.Dims[i])), append(t.Box, int64(m.Box[i]))
		t.Steps = append(t.Steps, int64(m.Steps[i]))
	}
	for _, s := range slices.Backward(m.Strides) {
		t.Strides = append(t.Strides, int64(s))
	}
	if !slices.ContainsFunc(t.Steps, func(n int64) bool { return n != 1 }) {
		t.Steps = nil
	}
	return t
}

// mode is the name of a mode's value, "" for the usual one and for one that there is not.
func mode(name string, value uint32) string {
	if names := tensormap.Modes(name); value > 0 && int(value) < len(names) {
		return names[value]
	}
	return ""
}

// mapOf is the tensor map that a parameter is; nil where it is none. One within a larger parameter is an
// error.
func (b *writing) mapOf(i int) (*Map, error) {
	at := slices.IndexFunc(b.l.Maps, func(m Map) bool { return m.Parameter == i })
	if at < 0 {
		return nil, nil
	}
	m := &b.l.Maps[at]
	if m.At != 0 || len(b.l.Parameters[i]) != tensormap.Bytes {
		return nil, failedf("parameter %d of %s has a tensor map within a struct, which a bundle does not hold",
			i, b.l.Kernel)
	}
	if m.Extent == noExtent || m.Extent >= len(b.l.Extents) {
		return nil, failedf("parameter %d of %s is a tensor map of no memory of the GPU", i, b.l.Kernel)
	}
	return m, nil
}

// target is a tensor map as the emulator takes it, of a launch with so many parameters.
func (m *Map) target(x *Extent, parameters int) *target.TensorMap {
	return &target.TensorMap{
		Map: m.Map, Of: parameters + m.Extent, Skip: int64(m.Address - x.Address),
	}
}
