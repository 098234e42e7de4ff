package diagnose

import (
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Threads that take turns wait at a named barrier and arrive at another one. Where an arrival has a wrong
// number, it is left at a barrier at which no thread waits, and the one that is waited at lacks it.

// misnumbered reports whether a finding says of a barrier that others have arrived at another one instead.
func (q *inquiry) misnumbered(f *report.Finding) bool {
	return f.Kind == "barrier" && q.anyAt(f.Other, func(in *ptx.Instr) bool {
		return in.Kind() == isa.Barrier && in.Has("arrive")
	})
}

// describeMisnumbered makes the arrival at the wrong barrier the place of a cause.
func (q *inquiry) describeMisnumbered(f *report.Finding, c *Cause) {
	site := f.Other.Outermost()
	if _, who, ok := strings.Cut(f.Message, " come: "); ok {
		c.why = who
	}
	c.Place.Source, c.Place.Other = f.Other, f.Source
	c.Advice = q.citing("look at the number of the barrier that is arrived at at "+callText(f.Other), ": ",
		&site) + q.valuesOf(&site, bare(q.quoted(&site)))
}
