package walk

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/target"
)

// Hang is why a block cannot go on: who waits at what, and who would have to arrive there. The waits are the
// nodes of a graph, and a debt leads from one to the waits in which those stand who owe it.
type Hang struct {
	Step  uint64
	Waits []Stuck
	// Cycle is indices of Waits, each of which needs the one after it, and the last the first; nil where
	// there is none: then a wait needs what no thread will do.
	Cycle []int
}

// Stuck is warps that wait at one barrier, at one line, and what they need.
type Stuck struct {
	Warps             []int
	At                string // k_empty[0], barrier 1
	Source            *target.Source
	Since             uint64
	MBarrier          *target.MBarrierState // of the phase that is waited for; nil: a barrier of the block
	Arrived, Expected int                   // arrivals that have come, and that the barrier needs
	Debts             []Debt
	barrier           int // id of a barrier of the block, -1: none
}

// Debt is something that has not come.
type Debt struct {
	What   string         // 248 arrivals, 1,024 bytes
	Warps  []int          // who would have to do it, as far as is known
	Source *target.Source // where they have done it before, or would; nil where that is not known
	Ahead  bool           // nobody has done it before: Source is an arrival that they have not come to
	Needs  []int          // indices of the waits in which they stand
	Why    string         // why nobody will, "" where Needs says it
}

// HangOf is why a block has come to a halt, nil where it has ended.
func HangOf(t *Timeline) *Hang {
	if t.End != "deadlock" {
		return nil
	}
	h := &Hang{Step: t.Steps}
	for warp := range t.Warps {
		for _, x := range t.Warps[warp].Waits {
			if x.To == Never {
				h.add(t, warp, x)
			}
		}
	}
	for i := range h.Waits {
		h.Waits[i].Debts = t.debts(&h.Waits[i])
		for k := range h.Waits[i].Debts {
			h.needs(&h.Waits[i].Debts[k])
		}
	}
	h.Cycle = h.cycle()
	return h
}

// add notes that a warp waits.
func (h *Hang) add(t *Timeline, warp int, x Wait) {
	i := slices.IndexFunc(h.Waits, func(s Stuck) bool {
		return s.At == x.At && (s.Source == nil) == (x.Source == nil) &&
			(s.Source == nil || s.Source.Line == x.Source.Line)
	})
	if i < 0 {
		i = len(h.Waits)
		s := Stuck{At: x.At, Source: x.Source, Since: x.From, barrier: x.Barrier}
		if x.MBarrier >= 0 {
			k := slices.IndexFunc(t.Last.MBarriers, func(m target.MBarrierState) bool {
				return m.Addr == uint64(x.MBarrier)
			})
			if k >= 0 {
				s.MBarrier = &t.Last.MBarriers[k]
				s.Expected, s.Arrived = s.MBarrier.Expected, s.MBarrier.Expected-s.MBarrier.Pending
			}
		} else if x.Barrier >= 0 {
			b := &t.barriers[x.Barrier&15]
			s.Expected, s.Arrived = b.threads, b.arrived
		}
		h.Waits = append(h.Waits, s)
	}
	h.Waits[i].Warps = append(h.Waits[i].Warps, warp)
	h.Waits[i].Since = min(h.Waits[i].Since, x.From)
}

// debts is what a wait needs.
func (t *Timeline) debts(s *Stuck) (out []Debt) {
	switch {
	case s.MBarrier == nil && s.barrier >= 0:
		return []Debt{t.threads(s)}
	case s.At == target.WaitRegisters:
		return []Debt{t.givers()}
	case s.MBarrier == nil:
		return []Debt{t.others(s)}
	}
	m := s.MBarrier
	if m.Pending > 0 {
		out = append(out, t.arrivals(s))
	}
	if n := m.Promised - m.Arrived; n != 0 {
		out = append(out, t.bytes(m, n))
	}
	return out
}

// others is the debt of the other warps of a warpgroup.
func (t *Timeline) others(s *Stuck) Debt {
	d := Debt{What: "the arrival"}
	first := s.Warps[0] / 4 * 4
	for warp := first; warp < min(first+4, len(t.Warps)); warp++ {
		if !slices.Contains(s.Warps, warp) {
			d.Warps = append(d.Warps, warp)
		}
	}
	d.Why = t.gone(d.Warps)
	return d
}

// givers is the debt of registers: of the warps that are left and do not wait for any.
func (t *Timeline) givers() Debt {
	d := Debt{What: "registers of the block"}
	waits := func(x Wait) bool { return x.To == Never && x.At == target.WaitRegisters }
	for warp := range t.Warps {
		if !t.Warps[warp].Ended && !slices.ContainsFunc(t.Warps[warp].Waits, waits) {
			d.Warps = append(d.Warps, warp)
		}
	}
	if len(d.Warps) == 0 {
		d.Why = "no warp is left that could give any back"
	}
	return d
}

// threads is the debt of a barrier of the block: who has come to it before, and not now; where no other has,
// those who wait elsewhere and have an arrival at barriers ahead of them.
func (t *Timeline) threads(s *Stuck) Debt {
	d := Debt{What: fmt.Sprintf("%d of %d threads", s.Expected-s.Arrived, s.Expected)}
	b := &t.barriers[s.barrier&15]
	for warp := range t.Warps {
		if bit := uint32(1) << warp; b.by&bit != 0 && b.warps&bit == 0 {
			d.Warps = append(d.Warps, warp)
		}
	}
	if len(d.Warps) > 0 {
		d.Why = t.gone(d.Warps)
		return d
	}
	for warp, list := range t.barAhead {
		if len(list) > 0 && !slices.Contains(s.Warps, warp) {
			d.Warps, d.Source, d.Ahead = append(d.Warps, warp), list[0].Source, true
		}
	}
	if len(d.Warps) == 0 {
		d.Why = "no other thread has ever reached it"
	}
	return d
}

// arrivals is the debt of arrivals at an mbarrier: of those who have arrived there in earlier phases and not
// in this one.
func (t *Timeline) arrivals(s *Stuck) Debt {
	m := s.MBarrier
	d := Debt{What: fmt.Sprintf("%d of %d arrivals", m.Pending, m.Expected)}
	var now []int
	x := &t.MBarriers[t.MBarrier(m.Addr)]
	for _, a := range x.Arrivals {
		switch {
		case a.Promise:
		case a.Number == m.Phase:
			now = append(now, a.Warp)
		default:
			d.Warps, d.Source = append(d.Warps, a.Warp), a.Source
		}
	}
	slices.Sort(d.Warps)
	d.Warps = slices.DeleteFunc(slices.Compact(d.Warps), func(w int) bool { return slices.Contains(now, w) })
	slices.Sort(now)
	now = slices.Compact(now)
	if len(d.Warps) > 0 {
		d.Why = t.gone(d.Warps)
		return d
	}
	d.Warps, d.Source = t.toCome(x.Name, now)
	switch d.Ahead = len(d.Warps) > 0; {
	case d.Ahead:
	case len(now) > 0:
		d.Source = x.Arrivals[len(x.Arrivals)-1].Source
		d.Why = fmt.Sprintf("everybody who arrives there has: %d arrivals of %s in this phase",
			m.Expected-m.Pending, warpCount(now))
	default:
		d.Why = "no thread has ever arrived there"
	}
	return d
}

// toCome lists the warps that wait for ever and have an arrival before them which can be one at a barrier:
// one that has not been executed, or that was executed on a barrier of the same array.
// Warps of not are left out.
func (t *Timeline) toCome(name string, not []int) (warps []int, at *target.Source) {
	array := func(name string) string { return strings.SplitN(name, "[", 2)[0] }
	arrays := map[int]string{} // by PC: what it was executed on
	for i := range t.MBarriers {
		for _, a := range t.MBarriers[i].Arrivals {
			arrays[a.PC] = array(t.MBarriers[i].Name)
		}
	}
	for warp, list := range t.ahead {
		if slices.Contains(not, warp) {
			continue
		}
		for _, a := range list {
			if was, done := arrays[a.PC]; done && was != array(name) {
				continue
			}
			if warps = append(warps, warp); at == nil {
				at = a.Source
			}
			break
		}
	}
	return warps, at
}

// findAhead lists, for each warp that waits for ever, the arrivals at mbarriers, and at barriers of the
// block, that can be executed after the wait, by the kernel's control flow.
func (r *recording) findAhead() {
	t := r.t
	f := r.w.program.Functions()[0]
	g := cfg.New(f)
	t.ahead, t.barAhead = make([][]Arrive, len(t.Warps)), make([][]Arrive, len(t.Warps))
	for warp := range t.Warps {
		i := slices.IndexFunc(t.Warps[warp].Waits, func(x Wait) bool { return x.To == Never })
		if i < 0 || t.Warps[warp].Waits[i].PC >= len(f.Body) {
			continue
		}
		pc := t.Warps[warp].Waits[i].PC
		reached := g.Reach(g.Of[pc], -1, false)
		for at, in := range f.Body {
			after := reached[g.Of[at]] || g.Of[at] == g.Of[pc] && at > pc
			if !after || !in.Has("arrive") {
				continue
			}
			switch a := (Arrive{Warp: warp, PC: at, Source: r.w.lineOf(at)}); in.Op {
			case "mbarrier":
				t.ahead[warp] = append(t.ahead[warp], a)
			case "bar", "barrier":
				t.barAhead[warp] = append(t.barAhead[warp], a)
			}
		}
	}
}

// bytes is the debt of bytes: n are missing, or -n too many have come.
func (t *Timeline) bytes(m *target.MBarrierState, n int) Debt {
	d := Debt{What: fmt.Sprintf("%d bytes (%d expected, %d arrived)", n, m.Promised, m.Arrived)}
	if n < 0 {
		d.What = fmt.Sprintf("%d bytes fewer (%d expected, %d arrived)", -n, m.Promised, m.Arrived)
	}
	for _, a := range t.MBarriers[t.MBarrier(m.Addr)].Arrivals {
		if a.Promise && a.Number == m.Phase {
			d.Source = a.Source
		}
	}
	copies := 0
	for i := range t.Flights {
		f := &t.Flights[i]
		if f.MBarrier != int(m.Addr) {
			continue
		}
		if f.Landed == Never {
			d.Why = "a copy is pending: " + f.Name
			return d
		}
		copies++
	}
	d.Why = "no copy that completes on it is pending"
	if copies == 0 {
		d.Why = "no copy has ever completed on it"
	}
	return d
}

// gone says that all of some warps have exited, "" where some can still do what they owe.
func (t *Timeline) gone(warps []int) string {
	for _, w := range warps {
		if !t.Warps[w].Ended {
			return ""
		}
	}
	return warpCount(warps) + " exited before it"
}

// warpCount is 1 warp, or 8 warps.
func warpCount(warps []int) string {
	if len(warps) == 1 {
		return fmt.Sprintf("warp %d", warps[0])
	}
	return fmt.Sprintf("%d warps", len(warps))
}

// needs finds the waits in which those stand who owe something.
func (h *Hang) needs(d *Debt) {
	for i := range h.Waits {
		if slices.ContainsFunc(d.Warps, func(w int) bool { return slices.Contains(h.Waits[i].Warps, w) }) {
			d.Needs = append(d.Needs, i)
		}
	}
	if len(d.Needs) == 0 && d.Why == "" {
		d.Why = "no thread does"
	}
}

// cycle finds waits that need each other, as short as the search from the first wait that is in one finds.
func (h *Hang) cycle() []int {
	for from := range h.Waits {
		before := map[int]int{from: -1}
		queue := []int{from}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, d := range h.Waits[at].Debts {
				for _, next := range d.Needs {
					if next == from {
						out := []int{}
						for i := at; i >= 0; i = before[i] {
							out = append(out, i)
						}
						slices.Reverse(out)
						return out
					}
					if _, seen := before[next]; !seen {
						before[next] = at
						queue = append(queue, next)
					}
				}
			}
		}
	}
	return nil
}
