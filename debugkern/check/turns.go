package check

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// Named barriers at which some warps only arrive (bar.arrive) hand turns from warps to warps. An arrival
// counts for the phase that is open when it comes. So it has to be ordered after all arrivals of the phase
// before: else under another order both count for one phase, which is then over too early, and the next one
// lacks an arrival. The arrivals of warps that wait are ordered by their wait; those of bar.arrive by what
// the kernel does between (PTX ISA, "bar").

// Where named barriers are for some of the block's threads, two sets of warps may use one number by mistake.
// What they do at it is not ordered by anything else, and is found in the same way.

// turns follows the phases of the named barriers of one block.
type turns struct {
	used bool // the program has a bar.arrive, or a barrier for some of the threads
	last [16][]turn
	open [16][]turn
	// counts are warps that wait for different numbers of threads, in a phase and in the one before: reported
	// where the phase completes. Where it does not, the barrier checker reports the numbers.
	counts [16][]arrivals
	came   [16]map[int]map[string]int // how often each warp has come, by place
}

// arrivals are one of a phase and one of the phase before that nothing orders.
type arrivals struct{ past, now turn }

// turn is an arrival of lanes of a warp.
type turn struct {
	pc, warp, tile int
	threads        int // that the barrier is for
	mask           uint32
	stamp          uint32
	waits          bool
}

func (t *turn) lane() int { return bits.TrailingZeros32(t.mask) & 31 }

// startTurns prepares for a program that arrives at barriers without waiting, or has some for a number of
// threads.
func (u *races) startTurns() {
	u.turns.used = slices.ContainsFunc(u.sites, func(s site) bool {
		return s.in.Kind() == isa.Barrier && (s.in.Has("arrive") || counted(&s))
	})
}

// turn compares an arrival with those of the phase before, and of the same phase.
func (u *races) turn(e *target.Event, waits bool) {
	if !u.turns.used || e.Mask == 0 || !u.b.checker.options.Set.Has(Races) {
		return
	}
	now := turn{
		pc: e.PC, warp: e.Warp, tile: e.KVTile, threads: e.Threads, mask: e.Mask, waits: waits,
		stamp: u.ownStamp(e),
	}
	u.count(e.Barrier, &now)
	for _, past := range u.turns.last[e.Barrier] {
		if past.warp == now.warp || u.clk.ordered(past.stamp, past.warp, past.lane(), now.warp, now.lane()) {
			continue
		}
		if past.waits && waits && past.threads != now.threads {
			u.turns.counts[e.Barrier] = append(u.turns.counts[e.Barrier], arrivals{past, now})
			continue
		}
		u.unordered(e.Barrier, past, now)
		break
	}
	for _, past := range u.turns.open[e.Barrier] {
		if past.warp == now.warp && !past.waits && !waits && past.mask&now.mask != 0 {
			u.turnFinding(e.Barrier, past, now, fmt.Sprintf(
				"the phase in which it arrived at %s is still open", u.sites[past.pc].place()))
			break
		}
	}
	u.turns.open[e.Barrier] = append(u.turns.open[e.Barrier], now)
}

// unordered reports an arrival that nothing orders after one of the phase before.
func (u *races) unordered(id int, past, now turn) {
	u.turnFinding(id, past, now, fmt.Sprintf(
		"nothing orders that after the arrival of warp %d at %s in the phase before%s", past.warp,
		u.sites[past.pc].place(), u.times(id, past, now)))
}

// count notes an arrival.
func (u *races) count(id int, now *turn) {
	t := &u.turns
	if t.came[id] == nil {
		t.came[id] = map[int]map[string]int{}
	}
	if t.came[id][now.warp] == nil {
		t.came[id][now.warp] = map[string]int{}
	}
	t.came[id][now.warp][u.sites[now.pc].place()]++
}

// times says how often two warps have come to a barrier, where one has come there at several places: one of
// them may be too many. "" where neither has.
func (u *races) times(id int, past, now turn) string {
	a, b := u.turns.came[id][now.warp], u.turns.came[id][past.warp]
	if len(a) < 2 && len(b) < 2 {
		return ""
	}
	text := func(warp int, came map[string]int) string {
		n := 0
		var at []string
		for _, place := range slices.Sorted(maps.Keys(came)) {
			n += came[place]
			at = append(at, fmt.Sprintf("%d at %s", came[place], place))
		}
		says := fmt.Sprintf("warp %d has come %d times", warp, n)
		if n == 1 {
			says = fmt.Sprintf("warp %d once", warp)
		}
		if len(at) > 1 {
			says += ", " + strings.Join(at, " and ")
		}
		return says
	}
	return fmt.Sprintf(" (so far %s; %s)", text(past.warp, b), text(now.warp, a))
}

// turned begins the next phase of a barrier.
func (u *races) turned(id int) {
	t := &u.turns
	for _, c := range t.counts[id] {
		u.unordered(id, c.past, c.now)
	}
	t.counts[id] = t.counts[id][:0]
	t.last[id], t.open[id] = t.open[id], t.last[id][:0]
}

// turnFinding reports two arrivals that may count for one phase.
func (u *races) turnFinding(id int, past, now turn, why string) {
	u.addEarly(now.pc, past.pc, target.Finding{
		Kind: target.Barrier, Warps: union([]int{past.warp}, []int{now.warp}),
		Lanes: laneList(past.mask | now.mask), KVTile: now.tile,
		Message: fmt.Sprintf(
			target.BarrierUse+"%d at %s: warp %d arrives, and %s: "+target.CountForOnePhase,
			id, u.sites[now.pc].place(), now.warp, why),
		Consequence: "warps go on too early, or wait for ever",
	})
}
