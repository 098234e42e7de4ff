package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

// stall looks for the moment at which a block with mbarriers cannot go on by itself: every warp is suspended
// at an mbarrier, waits, or goes round. An operation under way then lands. Where none is under way, the time
// limits of the suspended threads end, and they see that their phase is not over. If the block then comes to
// a state that it was in before (every warp's, and no memory written between), it comes there for ever: a
// hang. No number of rounds makes one.
//
// Of a block whose warps poll, with mbarrier.test_wait or a flag, polls are counted to choose the moment:
// when something lands is free, so the number decides nothing that a program may rely on.
type stall struct {
	fails   int    // tests that failed since something landed or an mbarrier changed
	last    *inst  // the last of those
	since   uint64 // the clock at the last write to memory
	wrote   uint64 // block.wrote then, plus one
	hash    uint64 // of the state that later ones are compared with
	polls   uint64 // block.polls then
	power   int
	length  int
	went    uint32 // warps that took a backward branch since
	repeats int
}

// patientFails is how many failed tests a warp makes before an operation lands, and patientSteps how many
// instructions the block executes without a write to memory.
const (
	patientFails = 64
	patientSteps = 1 << 16
)

// failed notes a test_wait that failed.
func (s *stall) failed(in *inst) {
	s.fails++
	s.last = in
}

// polling reports, at the end of a warp's turn, whether the block has polled for long.
func (b *block) polling() bool {
	s := &b.async.stall
	if s.wrote != b.wrote+1 {
		s.wrote, s.since = b.wrote+1, b.clock
	}
	if s.fails < patientFails*len(b.warps) && b.clock-s.since < patientSteps {
		return false
	}
	s.fails, s.since = 0, b.clock
	return true
}

// unblock makes something happen in a block in which nobody can go on, or everybody polls. It reports false
// where nothing can.
func (b *block) unblock() bool {
	switch {
	case b.ended():
		b.drain()
		return false
	case b.landNext():
		return true
	case b.hangs():
		b.hang()
		return false
	}
	timeOut([]*block{b})
	return b.expire()
}

// expire ends the time limits of all suspended threads.
func (b *block) expire() bool {
	some := false
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.wait == waitMBarrier {
				in := &b.p.code[g.pc]
				w.setPred(in.pd, 0, g.mask)
				g.wait = waitNone
				g.pc++
				some = true
			}
		}
	}
	return some
}

// hangs reports whether the block is in a state in which it was before, as Brent's algorithm finds it, and
// nobody else can change that. Twice, so that a block which is stepped ends where it does in a launch.
func (b *block) hangs() bool {
	s := &b.async.stall
	if !b.waitsAtMBarrier() || b.applied < len(b.inputs) {
		return false
	}
	h := b.wrote
	may := uint32(0)
	for _, w := range b.warps {
		h = (h ^ w.hash()) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		if w.alive != 0 && (w.runnable() || w.suspended()) {
			may |= 1 << w.id
		}
	}
	switch {
	case s.power == 0:
		s.power = 1
	case h == s.hash && may&^s.went == 0 && (b.polls == s.polls || b.l.Grid.Count() == 1):
		if s.repeats++; s.repeats > 1 {
			return true
		}
		s.polls, s.went = b.polls, 0
		return false
	default:
		if s.length++; s.length < s.power {
			return false
		}
		s.power *= 2
	}
	s.hash, s.length, s.went, s.repeats, s.polls = h, 0, 0, 0, b.polls
	return false
}

// suspended reports whether lanes of the warp are suspended at an mbarrier.
func (w *warp) suspended() bool {
	return slices.ContainsFunc(w.groups, func(g group) bool { return g.wait == waitMBarrier })
}

// waitsAtMBarrier reports whether somebody does, suspended or by polling.
func (b *block) waitsAtMBarrier() bool {
	return b.async.stall.last != nil || slices.ContainsFunc(b.warps, (*warp).suspended)
}

// awaiting is who waits at one mbarrier, at one instruction.
type awaiting struct {
	in    *inst
	mbar  uint64
	warps []int
	lanes uint32
}

// awaitings lists who waits at mbarriers: threads that are suspended, and where there are none, those that
// poll at the last test that failed.
func (b *block) awaitings() []awaiting {
	var out []awaiting
	add := func(w *warp, in *inst, mask uint32) {
		for m := mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			at := w.sharedAddress(in.mem, lane)
			mb := b.mbarrier(at)
			if mb == nil || mb.passed(w, in, lane) {
				continue
			}
			i := slices.IndexFunc(out, func(a awaiting) bool { return a.in == in && a.mbar == at })
			if i < 0 {
				i = len(out)
				out = append(out, awaiting{in: in, mbar: at})
			}
			out[i].warps = addInt(out[i].warps, w.id)
			out[i].lanes |= 1 << lane
		}
	}
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.wait == waitMBarrier {
				add(w, &b.p.code[g.pc], g.mask)
			}
		}
	}
	if in := b.async.stall.last; len(out) == 0 && in != nil {
		for _, w := range b.warps {
			for i := range w.groups {
				if w.groups[i].wait == waitNone {
					add(w, in, w.groups[i].mask)
				}
			}
		}
	}
	return out
}

// hang ends a block that waits for phases which nothing can complete: a finding for each mbarrier.
func (b *block) hang() {
	b.broken = true
	ws := b.awaitings()
	var others []waiter
	for _, x := range b.waiters() {
		if b.p.code[x.pc].flow != flowTry {
			others = append(others, x)
		}
	}
	starved := b.registerHang(others)
	for i := range ws {
		b.hangAt(&ws[i], others, false)
	}
	if len(ws) == 0 && !starved { // they poll something else, and nothing that an mbarrier could tell
		b.stuck()
	}
}

// hangAt is the finding of one mbarrier; timed: a time-out of the kernel's own ends the wait.
func (b *block) hangAt(a *awaiting, others []waiter, timed bool) {
	m, v := b.mbarrier(a.mbar), b.variableAt(target.SpaceShared, a.mbar)
	name := v.String()
	if name == "" {
		name = fmt.Sprintf("the mbarrier at shared address %#x", a.mbar)
	}
	src := a.in.source()
	missing := []string{}
	if m.pending > 0 {
		missing = append(missing, fmt.Sprintf("%d of its %d arrivals", m.pending, m.expected))
	}
	if n := m.promised - m.arrived; n > 0 {
		missing = append(missing, fmt.Sprintf("%d bytes", n))
	}
	never, come, then := "nothing can complete", " will never come", "the launch never ends"
	if timed {
		never, come = "nothing completes before a time-out of the kernel's own, by a clock", " have not come"
		then = "the wait ends by its time-out alone"
	}
	msg := fmt.Sprintf("%s %s at %s (%s) for phase %d (parity %d) of %s, which %s: ", warpList(a.warps),
		waitVerb(a.warps), src.Place(), a.in.src.Opcode(), m.phase, m.phase&1, name, never)
	switch {
	case len(missing) > 0:
		msg += strings.Join(missing, " and ") + come
	default:
		msg += fmt.Sprintf("%d bytes more have come than were expected", m.arrived-m.promised)
	}
	msg += fmt.Sprintf(" (%d bytes expected, %d bytes arrived, %d of %d arrivals pending)", m.promised, m.arrived,
		m.pending, m.expected)
	if m.left > 0 {
		msg += fmt.Sprintf("; %d bytes are of copies that are wrong and were left out", m.left)
	}
	if len(others) > 0 {
		msg += "; " + b.whoWaits(others)
	}
	w := b.warps[a.warps[0]]
	f := target.Finding{
		Kind: target.Hang, Severity: target.Hang.Severity(), Message: msg, Variable: v.name, Index: v.index,
		Space: target.SpaceShared.String(), Block: b.id, Warps: a.warps, Lanes: lanesOf(a.lanes),
		KVTile: w.tile(a.in, bits.TrailingZeros32(a.lanes)), Source: src, Count: 1,
		Transactions: &target.Transactions{Expected: m.promised, Arrived: m.arrived},
		Consequence:  then,
		Missing:      m.lacks(),
	}
	b.found.add(findingKey{kind: target.Hang, source: *src, name: v.name}, f)
}
