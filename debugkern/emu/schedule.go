package emu

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"tilescope/debugkern/target"
)

// scheduler orders what the machine leaves open: which warp runs next and for how long, whether lanes that
// meet stay apart until the next .sync instruction, and when copies land. It is part of a block's state: the
// same policy and seed on the same block give the same execution.
type scheduler struct {
	policy string
	rng    *rand.Rand
	src    *rand.PCG
	cur    int
	eager  bool // look for another warp as soon as a barrier completes
	apart  bool // lanes that meet run on apart
	order  []int
	until  uint64 // end of the time slice, 0: none
	change uint64 // priority: when the next change of importance is due
	spun   bool   // ahead: the warp that is ahead let the others go
}

// Policies of target.Schedule:
//
//	in-order  warp 0 until it waits, then the next, around
//	reverse   the same from the last warp down
//	random    a random warp for a random number of instructions; lanes split at random after .sync instructions
//	ahead     one warp, chosen by the seed, whenever it can; the others in slices of 32 instructions
//	priority  a random order of importance: the most important warp that can runs. At random moments, 16 to 16 thousand
//	          instructions apart, it becomes the least important (Burckhardt et al., A randomized scheduler with
//	          probabilistic guarantees of finding bugs, ASPLOS 2010)
//
// A warp that spins (64 backward branches in one turn) lets the others go before it, whatever the policy.
func (s *scheduler) begin(l target.Schedule, b *block) {
	n := len(b.warps)
	seed := l.Seed ^ uint64(b.l.Grid.Linear(b.id))*0x9e3779b97f4a7c15
	s.src = rand.NewPCG(seed, 0x7469_6c65_7363_6f70)
	s.rng = rand.New(s.src)
	s.policy, s.cur, s.until, s.change = l.Policy, 0, 0, 0
	s.eager, s.apart, s.spun = false, false, false
	s.order = s.order[:0]
	for i := range n {
		s.order = append(s.order, i)
	}
	switch l.Policy {
	case "reverse":
		for i := range n {
			s.order[i] = n - 1 - i
		}
	case "random":
		s.eager, s.apart = true, true
	case "ahead":
		s.eager = true
		k := s.rng.IntN(n)
		s.order[0], s.order[k] = s.order[k], s.order[0]
	case "priority":
		s.eager = true
		s.rng.Shuffle(n, func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		s.change = s.interval()
	}
	for _, w := range b.warps {
		w.async.random = l.Async == "random"
		w.async.earliest = l.Async == "earliest"
	}
}

// next chooses the warp to run, nil where none can, and sets the block's limit to its time slice.
func (s *scheduler) next(b *block) *warp {
	n := len(b.warps)
	start := s.cur
	slice := 0
	switch s.policy {
	case "random":
		start, slice = s.rng.IntN(n), 1+s.rng.IntN(48)
	case "ahead":
		slice = 32
		if w := b.warps[s.order[0]]; w.runnable() && !s.spun {
			return s.grant(b, w, 0)
		}
		start, s.spun = max(start, 1)%n, false
	case "priority":
		start = 0
		if b.clock >= s.change {
			s.demote(s.first(b))
			s.change = b.clock + s.interval()
		}
		slice = int(s.change - b.clock)
	}
	for i := range n {
		k := (start + i) % n
		if w := b.warps[s.order[k]]; w.runnable() {
			s.cur = k
			return s.grant(b, w, slice)
		}
	}
	return nil
}

// interval is a number of instructions between 16 and 16 thousand, of any order of
// magnitude with equal chance.
func (s *scheduler) interval() uint64 {
	order := s.rng.IntN(10)
	return 1<<(4+order) + s.rng.Uint64N(1<<(4+order))
}

// first is the place in the order of the most important warp that can run.
func (s *scheduler) first(b *block) int {
	for i, k := range s.order {
		if b.warps[k].runnable() {
			return i
		}
	}
	return 0
}

// demote makes the i-th most important warp the least important.
func (s *scheduler) demote(i int) {
	w := s.order[i]
	copy(s.order[i:], s.order[i+1:])
	s.order[len(s.order)-1] = w
}

func (s *scheduler) grant(b *block, w *warp, slice int) *warp {
	s.until = 0
	if slice > 0 {
		s.until = b.clock + uint64(slice)
	}
	b.limit = s.limit(b)
	return w
}

// limit is the clock at which the warp that has its turn stops: the end of its time slice, or the block's.
func (s *scheduler) limit(b *block) uint64 {
	if s.until > 0 {
		return min(b.stepLimit(), s.until)
	}
	return b.stepLimit()
}

// ran notes that a warp had its turn.
func (s *scheduler) ran(b *block, w *warp) {
	if w.spins >= yieldAfter {
		s.spun = w.id == s.order[0]
		if s.policy == "priority" {
			s.demote(slices.Index(s.order, w.id))
		}
	}
	if s.policy == "ahead" && w.id == s.order[0] {
		return // whose turn it is among the others stays
	}
	s.cur = (s.cur + 1) % len(b.warps)
}

// quantum reports whether the limit that the block's clock reached was only the end of a time slice.
func (s *scheduler) quantum(b *block) bool {
	return s.until > 0 && b.clock >= s.until && b.clock < b.budget
}

// stepLimit is the clock at which the block has to stop: its budget, the end of a step, or what other
// blocks have changed.
func (b *block) stepLimit() uint64 {
	limit := min(b.stepTo, b.budget)
	if b.applied < len(b.inputs) {
		limit = min(limit, b.inputs[b.applied].clock)
	}
	return limit
}

// scatter splits the current group at random: from here to the next .sync instruction its parts run
// one after the other.
func (w *warp) scatter() {
	s := &w.blk.sched
	g := &w.groups[w.cur]
	if s.rng.IntN(2) == 0 || bits.OnesCount32(g.mask) < 2 {
		return
	}
	part := g.mask & s.rng.Uint32()
	if part == 0 || part == g.mask {
		return
	}
	rest := group{pc: g.pc, mask: g.mask &^ part, stack: append([]int32(nil), g.stack...)}
	g.mask = part
	w.groups = append(w.groups, rest)
}
