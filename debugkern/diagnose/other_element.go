package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// Those who fill buffers and those who wait for them count the same buffers. Where a wait at one mbarrier of
// an array never ends, and another one of that array has completed a phase that the waiting threads have not
// waited for, the two take different elements.

// otherElement is a wait at one element of an array of mbarriers while another one's phase has come to its
// end.
type otherElement struct {
	array     string
	waits     string         // "v_full[0]"
	phase     uint64         // that is waited for there
	warps     uint32         // that wait
	wait      *report.Source // where
	completes string         // "v_full[1]"
	over      uint64         // the phase of that, which is over
	arrival   *report.Source // the last of it
	arrives   uint32         // the warp that does so
}

// otherElementOf finds the element whose phase is over in the place of the one that a wait is for; nil where
// there is none, or where other warps wait at that array too.
func (h *hanging) otherElementOf(w *walk.Stuck) *otherElement {
	if w.MBarrier == nil || w.Source == nil || element(w.At) == "" {
		return nil
	}
	waiting := warpSet(w.Warps)
	var out *otherElement
	first := uint64(0)
	for i := range h.timeline.MBarriers {
		m := &h.timeline.MBarriers[i]
		if array(m.Name) != array(w.At) {
			continue
		}
		if waitedBy(m, waiting) != 0 {
			return nil
		}
		for n, step := range m.Phases {
			passed := slices.ContainsFunc(m.Passes, func(p walk.Pass) bool { return p.Number == uint64(n) })
			if passed || m.Name == w.At || out != nil && step >= first {
				continue
			}
			for _, a := range m.Arrivals {
				if a.Number != uint64(n) || a.Source == nil || a.Promise {
					continue
				}
				first = step
				out = &otherElement{
					array: array(w.At), waits: w.At, phase: w.MBarrier.Phase, warps: waiting,
					wait: report.SourceOf(w.Source), completes: m.Name, over: uint64(n),
					arrival: report.SourceOf(a.Source), arrives: 1 << (a.Warp & 31),
				}
			}
		}
	}
	return out
}

// elsewhereArrived is otherElementOf of the wait that a suspect's finding is about.
func (q *inquiry) elsewhereArrived(s *suspect, f *report.Finding) *otherElement {
	h := q.hangs[s.cause.Place.Block]
	if s.cause.Kind != "hang" || h == nil {
		return nil
	}
	if at := h.waits(f); at >= 0 {
		return h.otherElementOf(&h.hang.Waits[at])
	}
	return nil
}

// describe says which element is waited for, which one is complete, and where the index of both comes from.
func (x *otherElement) describe(q *inquiry, c *Cause) {
	wait, arrival := x.wait.Outermost(), x.arrival.Outermost()
	c.why = fmt.Sprintf("%s %s at %s for phase %d of %s, which never ends, while phase %d of %s is over by an "+
		"arrival of %s at %s, and no thread waits for it", members("warp", x.warps), waiting(x.warps),
		wait.At(), x.phase, x.waits, x.over, x.completes, members("warp", x.arrives), arrival.At())
	c.Advice = q.citing(fmt.Sprintf("have %s and %s take the same element of %s", arrival.At(),
		lineText(&wait, &arrival), x.array), "; the lines are ", &arrival)
	c.Advice += ", " + quote(q.quoted(&wait))
	at := access{at: &arrival, variable: x.array}
	other := access{at: &wait, variable: x.array}
	c.Advice += q.indexText(slices.Concat(q.definitions(at), q.definitions(other)))
	c.Title += "; the arrival that came is at " + lineText(&arrival, c.Place.Source)
	c.Place.Source, c.Place.Other = &arrival, &wait
}
