package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// Warps that wait at barriers of the block for each other, each at one that the others arrive at later, have
// the arrival behind the wait that it has to be before.

// circular is a cycle of waits at barriers of a block.
type circular struct{ waits []walk.Stuck }

// circle is the cycle of waits at barriers in which a block has come to a halt; nil where it is in none.
func (h *hanging) circle() *circular {
	c := &circular{}
	for _, i := range h.hang.Cycle {
		w := h.hang.Waits[i]
		if w.MBarrier != nil || w.Source == nil || len(w.Debts) == 0 || !w.Debts[0].Ahead {
			return nil
		}
		c.waits = append(c.waits, w)
	}
	if len(c.waits) < 2 {
		return nil
	}
	return c
}

// describe says who waits for whom, and which arrival stands behind a wait.
func (c *circular) describe(q *inquiry, out *Cause) {
	var names, parts []string
	arrival := c.waits[0].Debts[0].Source
	at := report.SourceOf(arrival)
	for i := range c.waits {
		w, d := &c.waits[i], &c.waits[i].Debts[0]
		if report.SourceOf(d.Source).Outermost().Line < at.Outermost().Line { // the nearest behind the wait
			at = report.SourceOf(d.Source)
		}
		here := warpSet(w.Warps)
		names = append(names, members("warp", here))
		parts = append(parts,
			fmt.Sprintf("%s %s at %s for %s", members("warp", here), waiting(here), w.At, d.What))
	}
	line := report.SourceOf(c.waits[0].Source)
	first, behind := line.Outermost(), at.Outermost()
	out.Title = fmt.Sprintf("%s: %s wait for each other at %s", out.Kind, strings.Join(names, " and "),
		callText(line))
	out.why = fmt.Sprintf("%s: each would arrive where the others wait, and does so behind its own wait at %s alone",
		strings.Join(parts, ", "), first.At())
	out.Advice = q.citing(fmt.Sprintf("have one of them arrive before it waits: the next arrival behind the wait at "+
		"%s is at %s", first.At(), behind.At()), "; the line is ", &behind)
	out.Place.Source, out.Place.Other = &first, &behind
}
