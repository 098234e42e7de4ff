package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// writtenOver has a cause say which copy wrote the bytes of an mbarrier, and what the manifest has there: the
// memory that the copy fills is declared smaller than that, or another part of it is filled than there is.
// Causes by other findings it leaves as they are.
func (q *inquiry) writtenOver(f *report.Finding, c *Cause) {
	if !overwritesMBarrier(f) {
		return
	}
	c.Place.Source, c.Place.Other = f.Other, f.Source
	copied, used := callText(f.Other), callText(f.Source)
	c.why = fmt.Sprintf("the copy at %s has written the bytes of an mbarrier, which is used at %s", copied, used)
	look := fmt.Sprintf("look at where the copy at %s writes", copied)
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == f.Variable {
			c.why += fmt.Sprintf(" and lies at %s%s of the manifest", a.Name, extent(f.Index))
			look = fmt.Sprintf("look at what the source declares for %s, which is %s by the manifest, and at which "+
				"part of it the copy at %s fills", a.Name, extent(a.Dims), copied)
		}
	}
	c.Advice = q.citing(look, ": ", f.Other)
}

// overwritesMBarrier reports whether a finding is that a copy has written the bytes of an mbarrier.
func overwritesMBarrier(f *report.Finding) bool {
	return f.Kind == "mbarrier" && f.Other != nil && strings.Contains(f.Message, target.WrittenSinceInit)
}
