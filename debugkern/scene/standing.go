package scene

import (
	"context"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Standing is where the threads of a block stand that has ended, or cannot go on, and which way each of them
// went last at every branch of the entry.
type Standing struct {
	Warps []target.Warp // as target.Block has them: groups of lanes with what they wait for
	Exist []uint32      // by warp: the lanes that the block has
	fn    *ptx.Func
	came  map[int]*visits // by branch: the last step at which a lane came to it
	took  map[int]*visits // by branch: the last step at which a lane took it
	block map[int][]int   // by instruction: the branches that those who execute it come to
}

// visits is a step of the block's clock by warp and lane; 0: never.
type visits [32][32]uint64

// Way is which way a thread went at a branch.
type Way uint8

// The ways at a branch.
const (
	Unknown Way = iota // it has not come to the branch
	Taken              // it jumped
	Passed             // it went on to the instruction after the branch
)

// Stand executes one block of a run again, to its end or to where it cannot go on. Errors are those of Try.
func Stand(ctx context.Context, r *debugkern.Run, block probes.Dim3) (*Standing, error) {
	a, err := r.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{block}})
	if err != nil {
		return nil, err
	}
	s := &Standing{
		fn: a.Entry(), came: map[int]*visits{}, took: map[int]*visits{}, block: map[int][]int{},
	}
	s.find()
	if s.Warps, err = a.Play(ctx, block, s); err != nil {
		return nil, err
	}
	threads := r.Plan.Block.Count()
	for w := range s.Warps {
		exist := ^uint32(0)
		if left := threads - 32*w; left < 32 {
			exist = 1<<left - 1
		}
		s.Exist = append(s.Exist, exist)
	}
	return s, nil
}

// find notes the conditional branches, and by which instructions it is seen that a lane has come to each:
// those of its basic block, and the one behind it, which nothing else leads to.
func (s *Standing) find() {
	g := cfg.New(s.fn)
	for b := range g.Succ {
		i := g.Start[b+1] - 1
		in := s.fn.Body[i]
		if in.Kind() != isa.Branch || in.Guard == nil {
			continue
		}
		s.came[i], s.took[i] = &visits{}, &visits{}
		for at := g.Start[b]; at < i; at++ {
			s.block[at] = append(s.block[at], i)
		}
		if i+1 < len(s.fn.Body) && len(s.fn.Body[i+1].Labels) == 0 {
			s.block[i+1] = append(s.block[i+1], i)
		}
	}
}

// Event implements target.Observer.
func (s *Standing) Event(e *target.Event) {
	if e.Func != s.fn || e.Instr == nil || e.Warp >= 32 {
		return
	}
	at := e.Instr.Index
	note := func(v *visits) {
		for lane := range 32 {
			if e.Mask>>lane&1 != 0 {
				v[e.Warp][lane] = e.Step + 1
			}
		}
	}
	if v := s.took[at]; v != nil {
		note(v)
	}
	for _, branch := range s.block[at] {
		note(s.came[branch])
	}
}

// Way is which way a lane went at a branch, an index of the entry's body, when it last came to it.
func (s *Standing) Way(branch, warp, lane int) Way {
	came, took := s.came[branch], s.took[branch]
	switch {
	case came == nil || came[warp][lane]+took[warp][lane] == 0:
		return Unknown
	case s.At(warp, lane) <= branch && slices.Contains(s.block[s.At(warp, lane)], branch):
		return Unknown // it waits before the branch, on its way there
	case took[warp][lane] > came[warp][lane]:
		return Taken
	}
	return Passed
}

// At is where a lane stands, as an index of the entry's body; -1: it has exited.
func (s *Standing) At(warp, lane int) int {
	for _, g := range s.Warps[warp].Groups {
		if g.Mask>>lane&1 != 0 {
			return g.PC
		}
	}
	return -1
}
