package target

import (
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// ComputedAt is the line of the arithmetic whose result the store at body index i of f writes, in the
// function that the store is in: a value may be computed lines before it is stored. The search goes backwards
// through moves, conversions and selections, over every definition of a register, constants left out. nil
// where that is the store's own line, where definitions are on several lines, and where a value comes from
// memory or from other lanes without arithmetic after it.
func ComputedAt(f *ptx.Func, i int) *Source {
	if i >= len(f.Body) || len(f.Body[i].Args) < 2 {
		return nil
	}
	switch f.Body[i].Kind() {
	case isa.Store, isa.StoreFragment, isa.StoreMatrix:
	default:
		return nil
	}
	s := search{f: f, defs: map[int32][]int{}, seen: map[int32]bool{}}
	for j, in := range f.Body {
		for _, r := range in.Dests(nil) {
			s.defs[r] = append(s.defs[r], j)
		}
	}
	s.follow(f.Body[i].Args[1].Registers(nil))
	if s.unknown {
		return nil
	}
	stored := Blame(f, i)
	var found *Source
	for _, j := range s.found {
		at := Blame(f, j).in(stored)
		switch {
		case f.Body[j].Loc.Within(IsProbe), at.File == stored.File && at.Line == stored.Line,
			found != nil && (found.File != at.File || found.Line != at.Line):
			return nil
		}
		found = at
	}
	return found
}

// in is a place as the function of other sees it: the call in that function through which the code was
// inlined, else the outermost call.
func (s *Source) in(other *Source) *Source {
	if s.File == other.File && s.Function == other.Function {
		return s
	}
	sites := s.Calls.Sites()
	for _, x := range slices.Backward(sites) {
		if x.File == other.File && x.Function == other.Function {
			return &Source{File: x.File, Line: x.Line, Function: x.Function}
		}
	}
	if len(sites) > 0 {
		return &Source{File: sites[0].File, Line: sites[0].Line, Function: sites[0].Function}
	}
	return s
}

// search follows registers backwards to arithmetic.
type search struct {
	f       *ptx.Func
	defs    map[int32][]int // by register: body indices of what writes it
	seen    map[int32]bool
	found   []int // body indices of arithmetic
	unknown bool  // a value comes from elsewhere
}

func (s *search) follow(regs []int32) {
	for _, r := range regs {
		if s.seen[r] {
			continue
		}
		s.seen[r] = true
		s.unknown = s.unknown || len(s.defs[r]) == 0
		for _, j := range s.defs[r] {
			s.definition(j)
		}
	}
}

func (s *search) definition(j int) {
	in := s.f.Body[j]
	switch k := in.Kind(); {
	case k == isa.Arith || k == isa.Special || k.Product():
		s.found = append(s.found, j)
	case k == isa.Move || k == isa.Convert:
		s.follow(in.Args[1].Registers(nil))
	case k == isa.Select: // the condition is no part of the value
		s.follow(in.Args[2].Registers(in.Args[1].Registers(nil)))
	default:
		s.unknown = true
	}
}
