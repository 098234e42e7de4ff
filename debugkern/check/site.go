package check

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// site is what is fixed about one instruction before it executes.
type site struct {
	fn     *ptx.Func
	index  int // in fn.Body
	in     *ptx.Instr
	writes bool
	reads  bool
	// strong accesses (atomics, volatile, relaxed and stronger; PTX ISA, "Memory consistency model") do not
	// race with each other, if each lies in the other's scope.
	strong  bool
	scope   scope
	element int  // bytes of one of the accesses that a vector or a packed one stands for (ISA 8.2.2, 8.2.3)
	returns bool // what a strong read saw: a red hands on what others released, and takes over nothing
	acquire bool
	release bool
	whole   bool // an access by the warp as a whole: wmma, ldmatrix, stmatrix
	async   bool // cp.async
}

// scope is how far a strong access or a fence reaches.
type scope uint8

const (
	scopeBlock scope = iota
	scopeDevice
	scopeSystem
)

// source is the place blamed for the instruction.
func (s *site) source() *target.Source { return target.Blame(s.fn, s.index) }

// sitesOf describes every instruction of a program, by event PC. The function behind each body is
// its implicit return.
func sitesOf(funcs []*ptx.Func) []site {
	var out []site
	for _, f := range funcs {
		for i, in := range f.Body {
			out = append(out, siteOf(f, i, in))
		}
		out = append(out, site{
			fn: f, index: len(f.Body), in: &ptx.Instr{Op: "ret", Index: len(f.Body), Pos: f.End},
		})
	}
	return out
}

func siteOf(f *ptx.Func, i int, in *ptx.Instr) site {
	s := site{fn: f, index: i, in: in, element: max(in.Type().Bytes(), 1)}
	if t := in.Type(); t == ptx.F16x2 || t == ptx.BF16x2 {
		s.element /= 2
	}
	k := in.Kind()
	s.reads, s.writes, s.whole, s.async = k.Reads(), k.Writes(), k.OfWarp(), k == isa.CopyAsync
	s.returns = k == isa.Load || k == isa.Atomic
	switch {
	case k.Updates():
		s.strong, s.scope = true, scopeDevice
	case k == isa.Fence:
		s.scope = scopeSystem
	case k == isa.MBarrier || k == isa.ArriveAsync:
		s.element, s.reads = 8, true
		s.writes = !in.Has("test_wait") && !in.Has("try_wait")
		s.strong = !in.Has("init") && !in.Has("inval")
	}
	for _, m := range in.Mods {
		switch m {
		case "volatile":
			s.strong, s.scope = true, scopeSystem
		case "relaxed":
			s.strong = s.strong || s.reads || s.writes
		case "acquire":
			s.strong, s.acquire = true, true
		case "release":
			s.strong, s.release = true, true
		case "acq_rel", "sc":
			s.acquire, s.release = true, true
		case "cta":
			s.scope = scopeBlock
		case "gl", "gpu":
			s.scope = scopeDevice
		case "sys":
			s.scope = scopeSystem
		}
	}
	if k.OfMap() { // a weak access; its release is of the tensormap proxy
		s.reads, s.writes, s.whole, s.strong, s.release = true, true, k == isa.CopyMap, false, false
	}
	return s
}
