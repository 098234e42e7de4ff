package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
)

// A warp that leaves the kernel does not do its part of what the others need. Which elements nobody wrote,
// who writes their neighbours and who reads them is known of every array.

// leftOut is the advice where warps left the kernel early and others read elements which nobody has written
// then; "" where they read none.
func (q *inquiry) leftOut(s *suspect, f *report.Finding) string {
	var parts []string
	for _, m := range s.members {
		if m.cause.Kind != "uninitialised" || m.covered == nil || m.cause.Place.Source == nil {
			continue
		}
		cells := m.covered.Never()
		if len(cells) == 0 {
			continue
		}
		part := m.covered.Text(cells)
		if w := m.covered.Writer(); w != nil {
			part += " (the others are stored at " + outermostText(w) + ")"
		}
		parts = append(parts, part+", read at "+outermostText(m.cause.Place.Source))
	}
	if !f.Left || f.Source == nil || len(f.Warps) == 0 || len(parts) == 0 {
		return ""
	}
	who, leave := fmt.Sprintf("warp %d", f.Warps[0]), "leaves"
	if len(f.Warps) > 1 {
		who, leave = "warps "+andList(f.Warps), "leave"
	}
	return q.citing(fmt.Sprintf(
		"%s %s at %s, and no thread writes %s: let no warp leave before it has done its part of these",
		who, leave, f.Source.At(), strings.Join(parts, "; ")), ": ", f.Source)
}

// outermostText is a line of the kernel's own body: that of the call where a place is in inlined code.
func outermostText(s *report.Source) string {
	return fmt.Sprintf(":%d", s.Outermost().Line)
}
