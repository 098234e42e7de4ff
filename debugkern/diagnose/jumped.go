package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// A barrier that stands between two accesses orders nothing for threads that jump over it. Where threads of
// the block of a race do, it is not a new barrier that is missing: the condition is one too many.

// jumped moves barriers between the two sides of a race out of the conditions that they stand under.
func jumped(fn *ptx.Func, f *report.Finding) []remedy {
	before, behind := missingBetween(f)
	if before == nil {
		return nil
	}
	first, then := accessesAt(fn, before), accessesAt(fn, behind)
	if len(first) == 0 || len(then) == 0 {
		return nil
	}
	var out []remedy
	for _, at := range fn.Syncs(nil) {
		in := fn.Body[at]
		i, _ := slices.BinarySearch(first, at)
		if in.Kind() != isa.Barrier || fromProbe(in.Loc) || i == 0 || then[len(then)-1] < at {
			continue
		}
		to, ok := behindCondition(fn, at, first[i-1])
		if !ok {
			continue
		}
		line := inKernel(fn, at).Line
		out = append(out, remedy{
			at: inKernel(fn, at), cite: true,
			text: fmt.Sprintf("with the barrier of line %d moved out of its condition", line),
			advice: fmt.Sprintf("move the barrier of line %d out of the condition that it stands under, "+
				"which threads of block %s do not meet: every thread must reach it", line, f.Block),
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{
					{Kind: ptx.Remove, Func: fn.Name, At: at},
					{Kind: ptx.InsertBarrier, Func: fn.Name, At: to},
				}
			},
		})
	}
	return out
}

// behindCondition is where a barrier stands, without the condition of its own that is decided behind an
// instruction; ok is false where it has none.
func behindCondition(fn *ptx.Func, at, behind int) (to int, ok bool) {
	if fn.Body[at].Guard != nil {
		return at + 1, true
	}
	list := deciding(fn, at)
	if len(list) == 0 || list[0] <= behind {
		return 0, false
	}
	to = joins(fn, at)
	return to, to >= 0
}
