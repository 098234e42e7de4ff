package checked

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Merge puts the findings of a backend and of its checkers together, errors first. One cause is
// reported once: of two findings of a kind about a variable at a line, the one that names what is missing is
// returned, else the backend's.
func Merge(own, checked []target.Finding, grid probes.Dim3) []target.Finding {
	out := slices.Clone(own)
	for _, f := range checked {
		if f.Severity == "" {
			f.Severity = f.Kind.Severity()
		}
		// checkers separate causes themselves
		i := slices.IndexFunc(own, func(g target.Finding) bool { return SameCause(&f, &g) })
		switch {
		case i < 0:
			out = append(out, f)
		case out[i].Missing == "" && f.Missing != "":
			out[i] = f
		}
	}
	out = foldDeadlocks(foldShuffled(foldUnwritten(out)))
	slices.SortStableFunc(out, func(a, b target.Finding) int {
		if a.Severity != b.Severity &&
			(a.Severity == target.SeverityAdvice || b.Severity == target.SeverityAdvice) {
			if a.Severity == target.SeverityAdvice {
				return 1
			}
			return -1
		}
		return cmp.Or(grid.Linear(a.Block)-grid.Linear(b.Block), waiting(&a)-waiting(&b))
	})
	return out
}

// waiting is 1 for a hang of which nothing is known but that it waits for others, else 0: of several, those
// come first whose own counts are wrong.
func waiting(f *target.Finding) int {
	if f.Kind == target.Hang && f.Missing == "" {
		return 1
	}
	return 0
}

// foldUnwritten drops findings that shared memory is read before it is written where a race, or a cp.async
// not waited for, on the same variable has that line for its reader: the write is there and comes too late,
// which is reported as a consequence.
func foldUnwritten(fs []target.Finding) []target.Finding {
	var kept []target.Finding
	for _, f := range fs {
		i := slices.IndexFunc(fs, func(g target.Finding) bool { return unwrittenBy(&f, &g) })
		if i < 0 {
			kept = append(kept, f)
		}
	}
	for i := range kept {
		for _, f := range fs {
			if g := &kept[i]; unwrittenBy(&f, g) {
				follows(g, fmt.Sprintf(
					"as executed here, the read comes first and finds bytes that were never written (in %d reads)",
					f.Count))
			}
		}
	}
	return kept
}

// foldShuffled drops NaN origins at a shuffle that takes undefined values: they follow from it.
func foldShuffled(fs []target.Finding) []target.Finding {
	var kept []target.Finding
	for i := range fs {
		f := &fs[i]
		from := slices.IndexFunc(fs, func(g target.Finding) bool {
			return f.Kind == target.NaNOrigin && g.Kind == target.Shuffle && f.Source.SamePlace(g.Source)
		})
		if from < 0 {
			kept = append(kept, *f)
		}
	}
	for i := range kept {
		for j := range fs {
			if g := &kept[i]; g.Kind == target.Shuffle && fs[j].Kind == target.NaNOrigin &&
				fs[j].Source.SamePlace(g.Source) {
				follows(g, "the undefined value reaches "+strings.TrimPrefix(fs[j].Consequence, "→ "))
			}
		}
	}
	return kept
}

// Symptom reports whether f is what another finding, g, leads to: a deadlock at a barrier that g finds
// fault with, or a read before any write that g, a race or a cp.async not waited for, lets happen. Merge
// reports the two as one.
func Symptom(f, g *target.Finding) bool { return stuckAt(f, g) || unwrittenBy(f, g) }

// unwrittenBy reports whether f, a read before any write, is what g, a finding of order, lets happen.
func unwrittenBy(f, g *target.Finding) bool {
	return f.Kind == target.Uninitialised && f.Space == target.SpaceShared.String() && f.Source != nil &&
		f.Variable == g.Variable && sameBuffer(f, g) &&
		(g.Kind == target.Race || g.Kind == target.CpAsync) &&
		(g.Source.SamePlace(f.Source) || g.Other.SamePlace(f.Source))
}

// sameBuffer reports whether two findings on one array are of one of its buffers: an array of three
// dimensions and more is a ring of them. An element that is not known may be of any.
func sameBuffer(f, g *target.Finding) bool {
	return len(f.Index) < 3 || len(g.Index) != len(f.Index) || f.Index[0] == g.Index[0]
}

// foldDeadlocks reports a deadlock, and what the checkers found at the barriers that its threads wait at,
// once. Of one barrier, that it is for more threads than come is the cause, and that nobody can go on its
// consequence; of several, none is the cause by itself, and the deadlock, which has the places of all,
// is reported.
func foldDeadlocks(fs []target.Finding) []target.Finding {
	gone := make([]bool, len(fs))
	for i := range fs {
		f := &fs[i]
		if f.Kind != target.Deadlock {
			continue
		}
		var at []int
		for j := range fs {
			if !gone[j] && stuckAt(f, &fs[j]) {
				at = append(at, j)
			}
		}
		switch len(at) {
		case 0:
		case 1:
			follows(&fs[at[0]], "deadlock: "+f.Message)
			gone[i] = true
		default:
			for _, j := range at {
				follows(f, fs[j].Message)
				gone[j] = true
			}
		}
	}
	var kept []target.Finding
	for i := range fs {
		if !gone[i] {
			kept = append(kept, fs[i])
		}
	}
	return kept
}

// stuckAt reports whether f is a deadlock of threads that wait at a barrier which g finds fault with.
func stuckAt(f, g *target.Finding) bool {
	waits := func(at *target.Source) bool {
		return at != nil && (f.Source.SamePlace(at) || f.Other.SamePlace(at))
	}
	return f.Kind == target.Deadlock && g.Kind == target.Barrier && (waits(g.Source) || waits(g.Other))
}

// follows adds to what a finding has for its consequence.
func follows(f *target.Finding, says string) {
	f.Consequence = strings.TrimPrefix(f.Consequence+"; "+says, "; ")
}

// SameCause reports whether two findings are of one kind, about one variable at one place,
// however they are worded.
func SameCause(f, g *target.Finding) bool {
	if f.Kind != g.Kind || f.Variable != g.Variable || f.Source == nil || g.Source == nil {
		return f.Kind == g.Kind && f.Variable == g.Variable && f.Source == g.Source
	}
	return f.Source.SamePlace(g.Source)
}
