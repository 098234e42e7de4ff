package diagnose

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// A copy completes on one mbarrier of an array, and the threads that read what it brings wait at another one:
// that one's phases are complete, and the wait orders nothing.

// unvisited is an mbarrier on which copies complete and at which nobody waits, and another one of its array
// that is waited at more often than copies complete on it.
type unvisited struct {
	never, instead string // "v_full[1]", "v_full[0]"
	writes         string // the variable that the copies write
	warps          uint32
	passes, copies int // of one warp at instead, and of what completes there
	wait           *report.Source
}

// waitKindsOfCopies are kinds of findings that reads of a copy which nobody has waited for lead to.
var waitKindsOfCopies = []string{"race", "mbarrier", "uninitialised", "hang", "nan-origin"}

// unvisited finds the mbarrier at which a suspect's reads should have waited; nil where each is waited at.
func (q *inquiry) unvisited(s *suspect) (*unvisited, error) {
	fn := q.run.Entry()
	if fn == nil || s.cause.Finding < 0 || !slices.Contains(waitKindsOfCopies, s.cause.Kind) ||
		!slices.ContainsFunc(fn.Body, waitsAtMBarrier) {
		return nil, nil
	}
	t, err := q.recorded(s.cause.Place.Block)
	if err != nil || t == nil {
		return nil, err
	}
	return unvisitedIn(t), nil
}

// unvisitedIn is unvisited of a block.
func unvisitedIn(t *walk.Timeline) *unvisited {
	copies := make([]int, len(t.MBarriers))
	writes := make([]string, len(t.MBarriers))
	issuers := uint32(0)
	for i := range t.Flights {
		f := &t.Flights[i]
		if f.MBarrier < 0 || len(f.Writes) == 0 {
			continue
		}
		if m := t.MBarrier(uint64(f.MBarrier)); m >= 0 {
			copies[m]++
			issuers |= 1 << (f.Warp % 32)
			if f.Buffer >= 0 {
				writes[m] = t.Buffers[f.Buffer].Name
			}
		}
	}
	for i := range t.MBarriers {
		m := &t.MBarriers[i]
		if copies[i] == 0 || element(m.Name) == "" || waitedBy(m, issuers) != 0 {
			continue
		}
		for k := range t.MBarriers {
			o := &t.MBarriers[k]
			warps := waitedBy(o, issuers)
			if k == i || array(o.Name) != array(m.Name) || warps == 0 || copies[k] == 0 {
				continue
			}
			x := &unvisited{
				never: m.Name, instead: o.Name, writes: writes[i], warps: warps,
				copies: copiesIn(copies[k], o),
			}
			for _, p := range o.Passes {
				if p.Warp == bits.TrailingZeros32(warps) {
					x.passes++
					x.wait = report.SourceOf(p.Source)
				}
			}
			if x.passes > x.copies && x.wait != nil {
				return x
			}
		}
	}
	return nil
}

// copiesIn is how many phases of an mbarrier copies have completed: as many as there were, where each is of
// several copies.
func copiesIn(copies int, m *walk.MBarrierTime) int { return min(copies, len(m.Phases)) }

// waitedBy are the warps but some that found a phase of an mbarrier complete.
func waitedBy(m *walk.MBarrierTime, but uint32) (warps uint32) {
	for _, p := range m.Passes {
		warps |= 1 << (p.Warp % 32)
	}
	return warps &^ but
}

// describe makes the wait at the wrong mbarrier the place of a cause.
func (x *unvisited) describe(q *inquiry, c *Cause) {
	at := x.wait.Outermost()
	what := "copies"
	if x.writes != "" {
		what += " to " + x.writes
	}
	c.why = fmt.Sprintf("%s complete on %s, at which no thread waits that reads them; %s %s at %s instead (%s), "+
		"and go on %s, where copies complete %s of its phases", what, x.never, members("warp", x.warps),
		waiting(x.warps), x.instead, at.At(), timesText(x.passes), countText(x.copies))
	c.Advice = q.citing(fmt.Sprintf("wait at the element of %s that the copy completes on at %s", array(x.never),
		at.At()), ": ", &at)
	c.Place.Source, c.Place.Other = &at, c.Place.Source
}

// countText is "1", or "none" of 0.
func countText(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// found is what a suspect has of one kind, or else the first of those that go with it; nil where none has.
func found[T any](s *suspect, of func(*suspect) *T) *T {
	for _, o := range append([]*suspect{s}, s.members...) {
		if x := of(o); x != nil {
			return x
		}
	}
	return nil
}

// unreachedWait is a wait at an mbarrier that a condition keeps a warp from.
type unreachedWait struct {
	wait, condition *report.Source
}

// unreachedWait finds the wait nearest before the place of a suspect's finding that is never executed,
// although the branch by which it is reached is: what it orders is not ordered. nil where there is none.
func (q *inquiry) unreachedWait(s *suspect) (*unreachedWait, error) {
	fn := q.run.Entry()
	if fn == nil || s.cause.Finding < 0 || !slices.Contains([]string{"race", "mbarrier"}, s.cause.Kind) {
		return nil, nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if f.Source == nil || !slices.ContainsFunc(fn.Body, waitsAtMBarrier) {
		return nil, nil
	}
	times, err := q.base.Executed(q.ctx, f.Block)
	if err != nil {
		return nil, q.fatal(err)
	}
	at := f.Source.Outermost()
	var best *unreachedWait
	near := mostBefore + 1
	for i, in := range fn.Body {
		if !waitsAtMBarrier(in) || times[i] > 0 {
			continue
		}
		wait, branch := blame(fn, i), lastExecuted(fn, i, times)
		if wait == nil || branch < 0 || blame(fn, branch) == nil {
			continue
		}
		line := wait.Outermost()
		if before := at.Line - line.Line; line.File == at.File && before >= 0 && before < near {
			near, best = before, &unreachedWait{wait, blame(fn, branch)}
		}
	}
	return best, nil
}

// mostBefore is how many lines before what it orders a wait stands at most.
const mostBefore = 6

// waitsAtMBarrier reports whether an instruction waits at an mbarrier, or asks it.
func waitsAtMBarrier(in *ptx.Instr) bool {
	return in.Kind() == isa.MBarrier && (in.Has("try_wait") || in.Has("test_wait"))
}

// describe makes the condition of the wait the place of a cause.
func (x *unreachedWait) describe(q *inquiry, c *Cause) {
	at, wait := x.condition.Outermost(), x.wait.Outermost()
	says := fmt.Sprintf("the wait at %s is never executed in block %s", wait.At(), c.Place.Block)
	switch before := wait.Line - at.Line; {
	case condition.MatchString(bare(q.quoted(&wait))):
		at = wait // a compiler decides about the first rounds of a loop itself
	case at.File == wait.File && before > 0 && before <= mostBefore:
		says += ": the condition at " + lineText(&at, &wait) + " leads past it"
	default:
		at = wait
	}
	c.because(says)
	c.Advice = q.citing(fmt.Sprintf("look at what the wait at %s is left out by", wait.At()), ": ", &at) +
		q.madeOf(&at)
	c.Place.Source, c.Place.Other = &at, c.Place.Source
}
