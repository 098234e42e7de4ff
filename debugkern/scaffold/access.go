package scaffold

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// SharedArrays gives the shared variables that an entry uses elements, so that a place in one has the index
// that its author would write. PTX has bytes alone. An array has the type and the extents that the source
// declares, where they come to the bytes of the PTX; else elements of the size that every access to it has.
// An array that is accessed in several sizes is left out: its places stay bytes. dynamic is the size of the
// dynamic shared memory in bytes. That has the declared type only where its accesses have that size: it is
// declared as bytes where several arrays share it.
func SharedArrays(m *ptx.Module, entry *ptx.Func, source Source, dynamic int) []probes.SharedArray {
	var vars []*ptx.Var
	for _, s := range m.SharedLayout(entry) {
		if len(vars) < 64 {
			vars = append(vars, s.Var)
		}
	}
	declared := source.asWritten().view(entry)
	sizes := accessSizes(entry, vars)
	var out []probes.SharedArray
	for i, v := range vars {
		a := probes.SharedArray{Name: v.Demangled, Bytes: v.Size}
		if v.Dynamic() {
			a.Bytes = dynamic
		}
		size := sizes[i]
		if d := declared.sharedArray(a.Name, a.Bytes); d != nil && (!v.Dynamic() || d.dtype.Size() == size) {
			a.DType, a.Dims = d.dtype, d.dims
			if len(a.Dims) == 0 && a.DType.Size() == a.Bytes {
				a.Dims = []int{1} // a scalar
			}
			if len(a.Dims) > 0 {
				out = append(out, a)
				continue
			}
		}
		if a.DType = map[int]probes.DType{1: probes.U8, 2: probes.U16, 4: probes.U32,
			8: probes.U64}[size]; a.DType == 0 || a.Bytes == 0 || a.Bytes%size != 0 {
			continue
		}
		a.Dims = []int{a.Bytes / size}
		out = append(out, a)
	}
	return out
}

// accessSizes is, for each variable, the size in bytes of the elements that every access to it has; 0 where
// accesses differ, or there are none. A vector's elements count by themselves; copies of 16 bytes that pass
// registers by say nothing of elements.
func accessSizes(f *ptx.Func, vars []*ptx.Var) []int {
	index := map[*ptx.Var]int{}
	for i, v := range vars {
		index[v] = i
	}
	origin := origins(f, func(in *ptx.Instr, _ int) (from uint64) {
		for k := range in.Args {
			if i, ok := index[in.Args[k].Var]; ok && in.Args[k].Kind == ptx.OpSym {
				from |= 1 << i
			}
		}
		return from
	})
	sizes, differ := make([]int, len(vars)), make([]bool, len(vars))
	note := func(of uint64, size int) {
		for i := range vars {
			if of>>i&1 != 0 {
				differ[i] = differ[i] || of != 1<<i || sizes[i] != 0 && sizes[i] != size
				sizes[i] = size
			}
		}
	}
	for _, in := range f.Body {
		size := accessSize(in)
		if size == 0 {
			continue
		}
		for k := range in.Args {
			a := &in.Args[k]
			if a.Kind != ptx.OpAddr {
				continue
			}
			of := uint64(0)
			if i, ok := index[a.Var]; ok && a.Base == ptx.BaseSym {
				of = 1 << i
			} else if a.Base == ptx.BaseReg && a.Reg >= 0 {
				of = origin[a.Reg]
			}
			note(of, size)
		}
	}
	for i := range sizes {
		if differ[i] {
			sizes[i] = 0
		}
	}
	return sizes
}

// accessSize is the size of the elements that an instruction moves between registers and
// memory; 0 for any other.
func accessSize(in *ptx.Instr) int {
	switch k := in.Kind(); {
	case k == isa.Load || k == isa.Store || k.Updates() || k.MovesFragment():
		return in.Type().Bytes()
	case k == isa.LoadMatrix || k == isa.StoreMatrix:
		return in.Type().Bytes()
	}
	return 0
}
