package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// A wait at an mbarrier for the parity of a phase that was complete before is over at once. Whoever fills a
// buffer anew behind such a wait does not wait for those who read it.

// overAtOnce is a wait before a buffer is filled again that no phase of its mbarrier has ended.
type overAtOnce struct {
	wait, copies *report.Source // the lines of the wait and of the copy behind it
	mbarrier     string         // k_empty[0]
	buffer       string         // sK[0]
}

// overAtOnce finds the wait behind which a suspect's copies overwrite what is still read; nil where each wait
// is ended by a phase.
func (q *inquiry) overAtOnce(s *suspect) (*overAtOnce, error) {
	fn := q.run.Entry()
	if fn == nil || s.cause.Finding < 0 || s.cause.Kind != "race" && s.cause.Kind != "mbarrier" ||
		!slices.ContainsFunc(fn.Body, waitsAtMBarrier) {
		return nil, nil
	}
	t, err := q.recorded(s.cause.Place.Block)
	if err != nil || t == nil {
		return nil, err
	}
	return overAtOnceIn(t), nil
}

// overAtOnceIn is overAtOnce of a block.
func overAtOnceIn(t *walk.Timeline) *overAtOnce {
	last := map[int]*walk.Flight{} // by buffer: the copy that filled it last
	for i := range t.Flights {
		f := &t.Flights[i]
		if f.Buffer < 0 || len(f.Writes) == 0 {
			continue
		}
		before := last[f.Buffer]
		last[f.Buffer] = f
		empty := t.Buffers[f.Buffer].Empty
		if before == nil || before.Warp != f.Warp || empty == "" {
			continue
		}
		m := mbarrierNamed(t, empty)
		if m == nil {
			continue
		}
		if p := passBetween(m, f.Warp, before.Issued, f.Issued); p != nil {
			return &overAtOnce{
				wait: report.SourceOf(p.Source), copies: report.SourceOf(f.Source), mbarrier: m.Name,
				buffer: t.Buffers[f.Buffer].Name,
			}
		}
	}
	return nil
}

// mbarrierNamed is what happened at the mbarrier of a name; nil where there is none.
func mbarrierNamed(t *walk.Timeline, name string) *walk.MBarrierTime {
	i := slices.IndexFunc(t.MBarriers, func(m walk.MBarrierTime) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &t.MBarriers[i]
}

// passBetween is the last wait of a warp at an mbarrier between two moments, where no phase was completed
// since the first of them; nil where there is none.
func passBetween(m *walk.MBarrierTime, warp int, from, to uint64) (out *walk.Pass) {
	for i := range m.Passes {
		if p := &m.Passes[i]; p.Warp == warp && p.Step > from && p.Step <= to {
			out = p
		}
	}
	since := func(step uint64) bool { return step > from && step <= out.Step }
	if out == nil || slices.ContainsFunc(m.Phases, since) {
		return nil
	}
	return out
}

// describe makes the wait the place of a cause.
func (x *overAtOnce) describe(q *inquiry, c *Cause) {
	wait, copies := x.wait.Outermost(), x.copies.Outermost()
	c.why = fmt.Sprintf("the wait at %s for %s before the copy at %s is over at once: no phase of %s is complete "+
		"since the copy before filled %s, and the parity that the wait asks for is that of the phase before",
		wait.At(), x.mbarrier, lineText(&copies, &wait), x.mbarrier, x.buffer)
	c.Advice = q.citing(fmt.Sprintf("have the wait at %s ask for the other parity, that of the phase in which "+
		"%s is freed", wait.At(), x.buffer), ": ", &wait) + q.madeOf(&wait)
	c.Place.Source, c.Place.Other = &wait, c.Place.Source
}
