package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// waitBehind says of a read of what cp.async copies that the wait for the copy stands behind it, in the same
// iteration of the same loop; "" where none does, or one stands before it too.
func (q *inquiry) waitBehind(f *report.Finding) string {
	fn := q.run.Entry()
	if fn == nil || f.Kind != "cp-async" || f.Source == nil || f.Other == nil {
		return ""
	}
	read := f.Other
	if q.anyAt(read, transfersAsync) {
		read = f.Source
	}
	if q.anyAt(read, transfersAsync) {
		return ""
	}
	own := read.Outermost()
	lines := q.run.Source(own.File)
	loops := loopsRound(lines, own.Line)
	var behind []int
	for _, i := range transfers(fn) {
		if !waits(fn.Body[i]) || fn.Body[i].Loc.Within(target.IsProbe) {
			continue
		}
		at := blame(fn, i).Outermost()
		switch {
		case at.File != own.File || !slices.Equal(loopsRound(lines, at.Line), loops):
		case at.Line <= own.Line:
			return ""
		case !slices.Contains(behind, at.Line):
			behind = append(behind, at.Line)
		}
	}
	if len(behind) == 0 {
		return ""
	}
	slices.Sort(behind)
	wait, stand, it := "wait for it at line", "stands", "it"
	if len(behind) > 1 {
		wait, stand, it = "waits for it at lines", "stand", "them"
	}
	return fmt.Sprintf("the %s %s %s behind the read at line %d: read behind %s, or wait before", wait,
		andList(behind), stand, own.Line, it)
}
