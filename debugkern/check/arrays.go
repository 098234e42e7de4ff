package check

import (
	"sort"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// sharedArray is a named range of shared memory: an array of the launch's (the manifest's name and shape) or,
// where it names none, a variable of the PTX.
type sharedArray struct {
	probes.SharedArray
	addr int
}

func (a *sharedArray) end() int { return a.addr + a.Bytes }

func (a *sharedArray) contains(lo, hi int) bool { return lo >= a.addr && hi <= a.end() }

// overlaps reports whether two arrays have a byte in common.
func (a *sharedArray) overlaps(o *sharedArray) bool { return a.addr < o.end() && o.addr < a.end() }

// sharedArrays places the launch's arrays, and the variables of entry that it says nothing about, in the
// block's shared memory; by address, then smaller ones first.
func sharedArrays(entry *ptx.Func, named []probes.SharedArray, dynamic int) []sharedArray {
	var out []sharedArray
	for _, s := range entry.Module.SharedLayout(entry) {
		known := false
		for _, a := range named {
			holder := a.Name
			if a.Within != "" {
				holder = a.Within
			}
			if holder != s.Demangled && holder != s.Name {
				continue
			}
			known = known || a.Within == ""
			out = append(out, sharedArray{a, s.Addr + a.Offset})
		}
		if size := s.Size; !known && !s.Dynamic && size > 0 {
			out = append(out, sharedArray{
				probes.SharedArray{
					Name: s.Demangled, DType: elementType(s.Type), Dims: s.Dims, Bytes: size,
				}, s.Addr,
			})
		} else if s.Dynamic && !known && dynamic > 0 {
			out = append(out, sharedArray{
				probes.SharedArray{
					Name: s.Demangled, DType: probes.U8, Dims: []int{dynamic}, Bytes: dynamic,
				}, s.Addr,
			})
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].addr != out[j].addr {
			return out[i].addr < out[j].addr
		}
		return out[i].Bytes < out[j].Bytes
	})
	return out
}

// elementType is the nearest element type of a PTX variable, which is all that is known without a manifest.
func elementType(t ptx.Type) probes.DType {
	switch {
	case t == ptx.F16:
		return probes.F16
	case t == ptx.F32:
		return probes.F32
	case t.Bytes() == 4:
		return probes.U32
	case t.Bytes() == 2:
		return probes.F16
	}
	return probes.U8
}

// arrayAt returns the smallest array that contains an access to [lo, hi), nil where none does.
func arrayAt(as []sharedArray, lo, hi int) *sharedArray {
	var best *sharedArray
	for i := range as {
		if a := &as[i]; a.contains(lo, hi) && (best == nil || a.Bytes < best.Bytes) {
			best = a
		}
	}
	return best
}

// index is the element of the array that holds the byte at addr.
func (a *sharedArray) index(addr int) []int {
	n := (addr - a.addr) / max(a.DType.Size(), 1)
	if len(a.Dims) < 2 {
		return []int{n}
	}
	out := make([]int, len(a.Dims))
	for i := len(out) - 1; i > 0; i-- {
		d := max(a.Dims[i], 1)
		out[i], n = n%d, n/d
	}
	out[0] = n
	return out
}
