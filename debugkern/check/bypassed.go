package check

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/target"
)

// behindBarriers is the instructions from which no way leads back to a barrier of all threads, and which
// every way from it leads to: a thread that executes one without having come to the barrier has bypassed it.
// A thread that returned early executes none.
type behindBarriers struct {
	at []int         // those that write memory or exchange values between lanes, by event PC, ascending
	of map[int][]int // by event PC of the barrier: numbers in at
}

// number finds an instruction.
func (x *behindBarriers) number(pc int) (n int, ok bool) { return slices.BinarySearch(x.at, pc) }

// behindBarriers looks at the entry: what comes after a function is not in its body.
func (c *Checker) behindBarriers(v target.View) *behindBarriers {
	sites := c.program(v)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.behind != nil {
		return c.behind
	}
	c.behind = &behindBarriers{of: map[int][]int{}}
	fn := v.Program()[0]
	var barriers, seen []int
	for pc := range fn.Body {
		switch s := &sites[pc]; {
		case s.in.Loc.Within(target.IsProbe):
		case s.in.Kind() == isa.Barrier && !counted(s) && aligned(s) && !s.in.Has("arrive"):
			barriers = append(barriers, pc)
		case s.writes && !s.async, s.in.Kind() == isa.Shuffle, s.in.Kind() == isa.Vote:
			seen = append(seen, pc)
		}
	}
	if len(barriers) == 0 || len(seen) == 0 {
		return c.behind
	}
	g := cfg.New(fn)
	after := g.Postdominators()
	for _, w := range seen {
		ahead := g.Reach(g.Of[w], -1, false)
		for _, b := range barriers {
			from, to := g.Of[b], g.Of[w]
			if ahead[from] || !after[from][to] || from == to && w < b {
				continue
			}
			if n := len(c.behind.at); n == 0 || c.behind.at[n-1] != w {
				c.behind.at = append(c.behind.at, w)
			}
			c.behind.of[b] = append(c.behind.of[b], len(c.behind.at)-1)
		}
	}
	return c.behind
}

// bypassed looks for threads that have bypassed a barrier of all threads, at which it completes because they
// have exited. CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() is allowed in a
// conditional only where it evaluates the same in all threads of the block.
func (u *barriers) bypassed(cs []comer) {
	if len(cs) == 0 || cs[0].counted {
		return
	}
	var lanes [32]uint32
	for _, c := range cs {
		lanes[c.warp] |= c.mask | c.off
	}
	c := slices.MinFunc(cs, func(a, b comer) int { return cmp.Compare(a.warp, b.warp) })
	for _, n := range u.behind.of[c.pc] {
		who := u.others(&lanes, &u.past[n])
		if who == "" {
			continue
		}
		came := 0
		for _, mask := range lanes {
			came += bits.OnesCount32(mask)
		}
		to := &u.sites[u.behind.at[n]]
		f := u.add(c, c, fmt.Sprintf(
			"the barrier at %s is for all threads of the block, and %d of %d reach it: %s "+target.Bypass+"%s",
			u.place(c), came, u.b.view.Launch().Block.Count(), who, to.place()))
		f.Other = to.source()
		return
	}
}

// others names the lanes of past that did not come: "lanes 8-31 of warp 2 and warps 3, 4"; "" for none.
func (u *barriers) others(came, past *[32]uint32) string {
	var list []string
	var warps []int
	for w := range past {
		switch mask := past[w] & u.began[w] &^ came[w]; {
		case mask == 0:
		case came[w] == 0:
			warps = append(warps, w)
		case bits.OnesCount32(mask) == 1:
			list = append(list, fmt.Sprintf("lane %s of warp %d", laneText(mask), w))
		default:
			list = append(list, fmt.Sprintf("lanes %s of warp %d", laneText(mask), w))
		}
	}
	if warps != nil {
		list = append(list, warpText(warps, "", ""))
	}
	return strings.Join(list, " and ")
}
