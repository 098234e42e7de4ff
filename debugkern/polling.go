package debugkern

import (
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// PollingOrders are schedules under which the blocks of a kernel that polls are executed besides: in order,
// block after block, each finds done what it would wait for.
var PollingOrders = []string{"random:1", "random:2"}

// Polls reports whether a kernel reads, in a loop, global memory that others change meanwhile: by volatile,
// relaxed and acquire loads, and by atomic operations whose result it uses.
func Polls(f *ptx.Func) bool {
	g := cfg.New(f)
	inLoop := map[int]bool{}
	for _, body := range g.Loops() {
		for b := range body {
			inLoop[b] = true
		}
	}
	for b := range g.Start[:len(g.Start)-1] {
		if !inLoop[b] {
			continue
		}
		for _, in := range f.Body[g.Start[b]:g.Start[b+1]] {
			if s := in.Space(); s != ptx.SpaceGlobal && s != ptx.SpaceGeneric {
				continue
			}
			switch in.Kind() {
			case isa.Load:
				if slices.ContainsFunc([]string{"volatile", "relaxed", "acquire"}, in.Has) {
					return true
				}
			case isa.Atomic:
				if in.Has("cas") || in.Has("acquire") || in.Has("acq_rel") {
					return true
				}
			}
		}
	}
	return false
}
