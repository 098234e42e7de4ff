package repair

import (
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// leading lists what accesses depend on: the instructions that compute their addresses, the branches that
// decide whether they execute and how often, and what those compare, by the text of the program. What is
// nearest to the accesses comes first. What was looked up in memory is followed no further.
func leading(fn *ptx.Func, accesses []int) []debugkern.Operation {
	return following(fn, accesses, deciding(fn, accesses))
}

// addressing lists the instructions that compute the addresses of accesses.
func addressing(fn *ptx.Func, accesses []int) map[int]bool {
	out := map[int]bool{}
	for _, o := range following(fn, accesses, nil) {
		out[o.At] = true
	}
	return out
}

// following is leading with some branches.
func following(fn *ptx.Func, accesses, branches []int) []debugkern.Operation {
	defs := map[int32][]int{}
	for i, in := range fn.Body {
		for _, r := range in.Dests(nil) {
			defs[r] = append(defs[r], i)
		}
	}
	var out []debugkern.Operation
	seen := map[int]bool{}
	var open []int
	add := func(i int) {
		if !seen[i] {
			seen[i] = true
			open = append(open, i)
		}
	}
	for _, i := range accesses {
		add(i)
	}
	for depth := 0; len(open) > 0; depth++ {
		now := open
		open = nil
		for _, i := range now {
			in := fn.Body[i]
			out = append(out, debugkern.Operation{At: i, Depth: depth})
			var reads, writes []int32
			switch k := in.Kind(); {
			case slices.Contains(accesses, i):
				for a := range in.Args {
					if in.Args[a].Kind == ptx.OpAddr {
						reads = in.Args[a].Registers(reads)
					}
				}
				if in.Guard != nil {
					reads = append(reads, in.Guard.Reg)
				}
			case k.Reads() && in.Space() != ptx.SpaceParam:
			default:
				cfg.Uses(in, &reads, &writes)
			}
			for _, r := range reads {
				for _, d := range defs[r] {
					add(d)
				}
			}
		}
		if depth == 0 {
			for _, b := range branches {
				add(b)
			}
		}
	}
	return out
}

// deciding lists the branches round accesses: those that close a loop that one is in, and those that lead
// past one.
func deciding(fn *ptx.Func, accesses []int) []int {
	var out []int
	for i, in := range fn.Body {
		if in.Kind() != isa.Branch || in.Guard == nil {
			continue
		}
		to, _ := cfg.Next(in)
		if slices.ContainsFunc(to, func(t int32) bool {
			return slices.ContainsFunc(accesses, func(a int) bool {
				return i < a && a < int(t) || int(t) <= a && a < i
			})
		}) {
			out = append(out, i)
		}
	}
	return out
}
