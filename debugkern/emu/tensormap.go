package emu

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// Tensor maps are parameters whose bytes nobody may look at: only a driver makes them, and here they have no
// content. What identifies a map is its address in the parameter block.

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

// tensorMaps lists the parameters that are tensor maps, once all buffers have their place.
func (m *memory) tensorMaps(l *target.Launch, params []*ptx.Var) {
	m.plain = len(m.params)
	for i := range l.Args {
		if t := l.Args[i].Map; t != nil {
			at := params[i].Offset
			m.plain = min(m.plain, at)
			m.maps = append(m.maps, tensorMap{t, l.Args[i].Name, at, m.allocs[m.byParam[at]]})
		}
	}
}

// opaque ends the launch where bytes of the parameter block that are about to be read belong to a tensor map.
func (b *block) opaque(w *warp, in *inst, lane int, p *place, size int) {
	lo, hi := p.addr, p.addr+uint64(size)
	i := slices.IndexFunc(b.mem.maps, func(m tensorMap) bool {
		return lo < uint64(m.offset)+tensormap.Bytes && hi > uint64(m.offset)
	})
	if i >= 0 {
		b.refuse(w, in, lane, fmt.Sprintf("%s reads bytes of tensor map %s, which only a driver defines",
			in.src.Opcode(), b.mem.maps[i].name))
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

// names reports whether an access can be to the tensor map at an offset of the parameter block.
func (p *program) names(x *access, param int) bool {
	set := p.sets[x.set]
	for m := uint64(set); m != 0; m &= m - 1 {
		if s := p.syms[bits.TrailingZeros64(m)]; s.space == target.SpaceParam && s.addr == uint64(param) {
			return true
		}
	}
	return set == 0
}
