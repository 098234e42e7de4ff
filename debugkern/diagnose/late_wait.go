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
	copies := func(at *report.Source) bool {
		return slices.ContainsFunc(instructionsAt(fn, at), func(i int) bool {
			return slices.Contains(transfers(fn), i)
		})
	}
	read := f.Other
	if copies(read) {
		read = f.Source
	}
	if copies(read) {
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
	if len(behind) == 1 {
		return fmt.Sprintf("the wait for it at line %d stands behind the read at line %d: read behind it, or wait before",
			behind[0], own.Line)
	}
	return fmt.Sprintf("the waits for it at lines %s stand behind the read at line %d: read behind them, or wait before",
		andList(behind), own.Line)
}
