package emu

import (
	"slices"
	"strings"

	"tilescope/probes"
)

// knownSreg reports whether a special register can be read into a bank. What a program may not depend on has
// one value: there is one multiprocessor, number 0, every grid is number 0, performance counters and graphs
// are 0, and the clocks (op_mov.go) tick once a warp instruction of the block.
func knownSreg(name string, b bank) bool {
	switch name {
	case "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid",
		"%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%dynamic_smem_size",
		"%total_smem_size", "%aggr_smem_size", "%clusterid", "%nclusterid", "%cluster_ctaid",
		"%cluster_nctaid",
		"%cluster_ctarank", "%cluster_nctarank":
		return b == bank32
	case "%gridid", "%current_graph_exec":
		return b != bankPred
	}
	if n, ok := strings.CutPrefix(name, "%pm"); ok && strings.HasSuffix(n, "_64") {
		return b == bank64
	}
	return b == bank32 &&
		(strings.HasPrefix(name, "%envreg") || strings.HasPrefix(name, "%pm") || reserves(name))
}

// Reserved shared memory of a block, which lies behind its own: the system's, of which the first bytes are
// for the libraries of the compiler (cooperative groups synchronise tiles of several warps there, and rely on
// zeroes). Its sizes are an H200's, which has it before the block's own memory, at offset 0.
const (
	reservedBytes = 1024
	reservedUser  = 288
	sharedUnit    = 128 // shared memory is given out in multiples of this
	sharedAlign   = 16  // of static shared memory's end, as %aggr_smem_size counts it (measured on an H200)
)

// reserves reports whether a special register is an offset of the reserved shared memory.
func reserves(name string) bool { return strings.HasPrefix(name, "%reserved_smem_offset_") }

// reservesShared reports whether the program asks where the reserved shared memory is.
func (p *program) reservesShared() bool {
	return slices.ContainsFunc(p.sregs, func(s sregSlot) bool { return reserves(s.name) })
}

// sharedBytes is the shared memory of a block with so many dynamic bytes: its own, and all
// that it can access.
func (p *program) sharedBytes(dynamic int) (own, all int) {
	own = p.nstatic + dynamic
	if p.dynBase >= 0 {
		own = max(p.nstatic, p.dynBase+dynamic)
	}
	if p.reservesShared() {
		return own, sharedUnits(own) + reservedBytes
	}
	return own, own
}

// sharedUnits rounds shared memory up to what is given out.
func sharedUnits(n int) int { return (n + sharedUnit - 1) / sharedUnit * sharedUnit }

// The driver passes a cooperative launch the address of its grid barrier in two of the environment registers.
const (
	gridBarrierHigh = "%envreg1"
	gridBarrierLow  = "%envreg2"
)

// variant is the environment register that says which of the kernels in one build is executed
// (target.Launch). A driver leaves it alone.
const variant = "%envreg31"

// syncsGrid reports whether the program reads the address of the grid barrier.
func (p *program) syncsGrid() bool {
	return slices.ContainsFunc(p.sregs, func(s sregSlot) bool { return s.name == gridBarrierLow })
}

// specials fills the slots of special registers.
func (w *warp) specials() {
	b := w.blk
	for _, s := range b.p.sregs {
		v, uniform := w.special(s, 0), true
		var row row32
		for i := range row {
			row[i] = w.special(s, i)
			uniform = uniform && row[i] == v
		}
		switch {
		case s.wide:
			w.r64[s.slot][0], w.u64[s.slot] = uint64(v), stUniform
		case uniform:
			w.r32[s.slot][0], w.u32[s.slot] = v, stUniform
		default:
			w.r32[s.slot], w.u32[s.slot] = row, stFilled
		}
	}
}

func (w *warp) special(s sregSlot, lane int) uint32 {
	b := w.blk
	comp := int(max(s.comp, 0))
	at := func(d [3]int) uint32 {
		if comp > 2 {
			return 0
		}
		return uint32(d[comp])
	}
	switch s.name {
	case "%tid":
		t := b.l.Block.At(min(w.id*32+lane, b.l.Block.Count()-1))
		return at(t)
	case "%ntid":
		return at(b.l.Block)
	case "%ctaid":
		return at(b.id)
	case "%nctaid":
		return at(b.l.Grid)
	case "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank",
		"%cluster_nctarank":
		return b.clusterSpecial(s.name, at)
	case "%nsmid":
		return 1
	case "%laneid":
		return uint32(lane)
	case "%warpid":
		return uint32(w.id)
	case "%nwarpid":
		return uint32(len(b.warps))
	case "%lanemask_eq":
		return 1 << lane
	case "%lanemask_lt":
		return 1<<lane - 1
	case "%lanemask_le":
		return 2<<lane - 1
	case "%lanemask_gt":
		return ^uint32(2<<lane - 1)
	case "%lanemask_ge":
		return ^uint32(1<<lane - 1)
	case "%dynamic_smem_size":
		return uint32(b.l.DynShared)
	case "%total_smem_size":
		return uint32(sharedUnits(b.own))
	case "%aggr_smem_size":
		static := (b.own - b.l.DynShared + sharedAlign - 1) / sharedAlign * sharedAlign
		return uint32(static + b.l.DynShared + reservedBytes)
	case "%reserved_smem_offset_begin", "%reserved_smem_offset_0", "%reserved_smem_offset_1":
		return uint32(sharedUnits(b.own))
	case "%reserved_smem_offset_end":
		return uint32(sharedUnits(b.own) + reservedUser)
	case "%reserved_smem_offset_cap":
		return uint32(sharedUnits(b.own) + reservedBytes)
	case variant:
		return b.l.Variant
	case gridBarrierLow:
		return uint32(b.mem.gridBarrier)
	case gridBarrierHigh:
		return uint32(b.mem.gridBarrier >> 32)
	}
	return 0
}

// clusterSpecial is a special register of the block's cluster; at is the component that is read.
func (b *block) clusterSpecial(name string, at func([3]int) uint32) uint32 {
	dims := b.p.clusterOf(b.l)
	var of probes.Dim3
	for i := range dims {
		switch name {
		case "%clusterid":
			of[i] = b.id[i] / dims[i]
		case "%nclusterid":
			of[i] = b.l.Grid[i] / dims[i]
		case "%cluster_ctaid":
			of[i] = b.id[i] % dims[i]
		}
	}
	switch name {
	case "%cluster_nctaid":
		return at(dims)
	case "%cluster_nctarank":
		return uint32(dims.Count())
	case "%cluster_ctarank":
		return uint32(rankOf(b.id, dims))
	}
	return at(of)
}

// explicitCluster is %is_explicit_cluster: whether the launch has clusters.
func (b *block) explicitCluster() bool { return b.p.cluster || b.l.Cluster != (probes.Dim3{}) }
