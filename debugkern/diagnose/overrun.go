package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// An asynchronous copy that is larger than its destination runs into what lies behind it. Where another copy
// begins within the bytes that the first one writes, one of the two places is wrong, or the first one's size.
// Where the mbarrier that the copy completes on has to expect as many bytes as lie between the two places,
// it is the size: the kernel takes the tile for smaller than it is, for its room and for the expectation. The
// race of the two copies and the wait that the surplus keeps from ending are then one cause.

// overrun is a copy that is larger than its destination.
type overrun struct {
	copy, into  *report.Source // issue it, and the copy to where it runs into
	expects     *report.Source // has the mbarrier expect the bytes
	mbarrier    uint64         // address
	to          string         // the name of where it begins
	bytes, room int            // it writes, and lie between the two destinations
}

// overruns lists the copies of a block that are larger than their destinations, each by its issuing place
// once; the block is executed again for that once.
func (q *inquiry) overruns(block probes.Dim3) ([]*overrun, error) {
	if list, ok := q.larger[block]; ok {
		return list, nil
	}
	fn := q.run.Entry()
	t, err := q.recorded(block)
	if err != nil || t == nil || fn == nil {
		return nil, err
	}
	if q.larger == nil {
		q.larger = map[probes.Dim3][]*overrun{}
	}
	q.larger[block] = overrunsIn(fn, t)
	return q.larger[block], nil
}

func overrunsIn(fn *ptx.Func, t *walk.Timeline) []*overrun {
	var out []*overrun
	for i := range t.Flights {
		a := &t.Flights[i]
		next := nextCopy(t, a)
		if next == nil {
			continue
		}
		x := &overrun{
			copy: blame(fn, a.PC), into: blame(fn, next.PC), mbarrier: uint64(a.MBarrier),
			to: bufferName(t, a), bytes: a.Bytes, room: int(next.Writes[0].Lo - a.Writes[0].Lo),
		}
		if x.expects = expectsRoom(fn, t, x); x.expects == nil || x.copy == nil || x.into == nil ||
			slices.ContainsFunc(out, func(o *overrun) bool { return *o.copy == *x.copy }) {
			continue
		}
		out = append(out, x)
	}
	return out
}

// nextCopy is, of the copies whose destinations begin within the bytes that a copy writes, the one that
// begins first; nil where none does.
func nextCopy(t *walk.Timeline, a *walk.Flight) *walk.Flight {
	if a.MBarrier < 0 || len(a.Writes) != 1 || a.Bytes != int(a.Writes[0].Hi-a.Writes[0].Lo) {
		return nil
	}
	var next *walk.Flight
	for i := range t.Flights {
		b := &t.Flights[i]
		if b.MBarrier < 0 || len(b.Writes) == 0 || b.Writes[0].Lo <= a.Writes[0].Lo ||
			b.Writes[0].Lo >= a.Writes[0].Hi {
			continue
		}
		if next == nil || b.Writes[0].Lo < next.Writes[0].Lo {
			next = b
		}
	}
	return next
}

// bufferName is the name of the buffer that a copy fills.
func bufferName(t *walk.Timeline, a *walk.Flight) string {
	if a.Buffer < 0 {
		return ""
	}
	return t.Buffers[a.Buffer].Name
}

// expectsRoom is where the phase that a copy's bytes keep from ending is made to expect the bytes of its room
// in place of those that it brings; nil where it expects others.
func expectsRoom(fn *ptx.Func, t *walk.Timeline, x *overrun) *report.Source {
	i := t.MBarrier(x.mbarrier)
	for _, m := range t.Last.MBarriers {
		if m.Addr != x.mbarrier || i < 0 || m.Arrived <= m.Promised ||
			m.Promised*x.bytes != m.Arrived*x.room {
			continue
		}
		for _, a := range t.MBarriers[i].Arrivals {
			if a.Promise && a.Number == m.Phase {
				return blame(fn, a.PC)
			}
		}
	}
	return nil
}

// overran finds whether a suspect is of a copy that is larger than its destination: a race of it with the
// copy that it runs into, or the wait that its surplus keeps from ending.
func (q *inquiry) overran(s *suspect) error {
	if s.cause.Finding < 0 || s.cause.Kind != "race" && !slices.Contains(waitKinds, s.cause.Kind) {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if s.cause.Kind == "race" && (f.Missing == nil || !awaitsCopy(*f.Missing)) {
		return nil
	}
	list, err := q.overruns(f.Block)
	if err != nil || len(list) == 0 {
		return err
	}
	h, err := q.hangIn(f.Block)
	if err != nil {
		return err
	}
	for _, x := range list {
		if s.cause.Kind == "race" && x.sides(f) || h != nil && x.keeps(h, f) {
			s.overrun = x
			s.explained = x.text()
		}
	}
	return nil
}

// sides reports whether a race is of the copy and the one that it runs into.
func (x *overrun) sides(f *report.Finding) bool {
	is := func(a, b *report.Source) bool { return a != nil && b != nil && *a == *x.copy && *b == *x.into }
	return is(f.Source, f.Other) || is(f.Other, f.Source)
}

// keeps reports whether a hang is at the mbarrier that the copy completes on.
func (x *overrun) keeps(h *hanging, f *report.Finding) bool {
	i := h.waits(f)
	return i >= 0 && h.hang.Waits[i].MBarrier != nil && h.hang.Waits[i].MBarrier.Addr == x.mbarrier
}

// text says where the copy runs into, and what else takes the tile for as small as its room.
func (x *overrun) text() string {
	return fmt.Sprintf("the copy at %s writes %d bytes from %s on, and %d bytes behind its start the copy "+
		"at %s begins; the mbarrier expects %d bytes too, by %s", callText(x.copy), x.bytes, x.to, x.room,
		lineText(x.into, x.copy), x.room, callText(x.expects))
}

// describe gives the cause the copy as its place.
func (x *overrun) describe(q *inquiry, c *Cause) {
	c.Title = fmt.Sprintf("copy of %d bytes at %s, and its destination has %d", x.bytes, callText(x.copy),
		x.room)
	own := x.copy.Outermost()
	c.Advice = q.citing(fmt.Sprintf("let the destination have %d bytes and the mbarrier expect as many, or copy "+
		"%d: look at the size of the tile at %s", x.bytes, x.room, own.At()), ": ", &own)
	c.Place.Source, c.Place.Other = x.copy, x.expects
}
