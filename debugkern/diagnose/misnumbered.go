package diagnose

import (
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
)

// Threads that take turns wait at a named barrier and arrive at another one. Where an arrival has a wrong
// number, it is left at a barrier at which no thread waits, and the one that is waited at lacks it.

// misnumbered reports whether a finding says of a barrier that others have arrived at another one instead.
func (q *inquiry) misnumbered(f *report.Finding) bool {
	fn := q.run.Entry()
	return fn != nil && f.Kind == "barrier" && f.Other != nil &&
		slices.ContainsFunc(instructionsAt(fn, f.Other), func(i int) bool {
			return fn.Body[i].Kind() == isa.Barrier && fn.Body[i].Has("arrive")
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
