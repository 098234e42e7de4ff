package emu

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// Tensor maps. A parameter that is one is known by its address in the parameter block. Its bytes there are a
// representation of the emulator's (tensormap.Object): a kernel may copy them to memory and change them, and
// a copy by such a map reads them again.

// mayBeMap reports whether a variable is a parameter that a tensor map can be.
func mayBeMap(v *ptx.Var) bool {
	return v.Space == ptx.SpaceParam && v.Size == tensormap.Bytes && v.Align >= tensormap.Align
}

// unfitMap reports why a parameter cannot be a tensor map.
func unfitMap(v *ptx.Var) error {
	if mayBeMap(v) {
		return nil
	}
	return fmt.Errorf("a tensor map is a parameter of %d bytes, aligned to %d, and %s has %d, aligned to %d",
		tensormap.Bytes, tensormap.Align, v.Name, v.Size, v.Align)
}

// mapped lists where the parameter block has tensor maps of argument i, a buffer.
func (p *program) mapped(l *target.Launch, params []*ptx.Var, i int) (at []address) {
	for j := range l.Args {
		if m := l.Args[j].Map; m != nil && m.Of == i && j < len(params) {
			at = append(at, address{at: params[j].Offset, tensor: true})
		}
	}
	return at
}

// tensorMaps lists the parameters that are tensor maps, and writes their bytes, once all buffers have their
// place.
func (m *memory) tensorMaps(l *target.Launch, params []*ptx.Var) {
	for i := range l.Args {
		if t := l.Args[i].Map; t != nil {
			at := params[i].Offset
			a := m.allocs[m.byParam[at]]
			copy(m.params[at:], t.Encode(a.base+uint64(t.Skip)))
			m.maps = append(m.maps, tensorMap{t, l.Args[i].Name, at, a})
		}
	}
}

// refuse ends the launch at an instruction whose execution by a lane is not modelled.
func (b *block) refuse(w *warp, in *inst, lane int, msg string) {
	if b.err == nil {
		b.err = &target.Fault{
			Kind: "unmodelled", Msg: msg, Pos: in.src.Pos.String(), Source: w.called(in), Block: b.id,
			Warp: w.id, Lane: lane,
		}
	}
}

// names reports whether an access can be to the tensor map at an offset of the parameter block, or to one in
// memory, which can be a copy of any.
func (p *program) names(x *access, param int) bool {
	set := p.sets[x.set]
	for m := uint64(set); m != 0; m &= m - 1 {
		s := p.syms[bits.TrailingZeros64(m)]
		if s.space != target.SpaceParam || s.addr == uint64(param) {
			return true
		}
	}
	return set == 0
}
