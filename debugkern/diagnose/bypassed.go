package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// A barrier of all threads that some of the block bypass stands under a condition that differs between
// threads. It orders nothing for those who bypass it, so that what they access races with what it should
// order.

// bypassedBarrier reports whether a finding is a barrier of all threads that some bypass.
func bypassedBarrier(f *report.Finding) bool {
	return f.Kind == "barrier" && f.Source != nil && strings.Contains(f.Message, target.Bypass)
}

// bypassed says under which condition a barrier stands that some threads of the block bypass; nil where it is
// none, or no condition but that of a loop is known.
func (q *inquiry) bypassed(f *report.Finding) *parted {
	fn := q.run.Entry()
	if !bypassedBarrier(f) || fn == nil {
		return nil
	}
	for i, in := range fn.Body {
		at := blame(fn, i)
		if in.Kind() != isa.Barrier || at == nil || at.At() != f.Source.At() || at.Calls != f.Source.Calls {
			continue
		}
		for _, b := range deciding(fn, i) {
			branch := blame(fn, b)
			line := q.quoted(branch)
			if line == "" || headed.MatchString(bare(line)) {
				continue
			}
			_, who, _ := strings.Cut(f.Message, ": ")
			return &parted{
				title: fmt.Sprintf("not all threads of the block reach the barrier at %s", callText(at)),
				why:   who,
				advice: fmt.Sprintf("have all threads execute the barrier at %s: a condition that it stands "+
					"under differs between threads; the nearest is that of %s, %s", callText(at),
					lineText(branch, at), quoteCode(line)),
				at: branch,
			}
		}
		return nil
	}
	return nil
}

// unorderedByBypass reports whether a suspect is a race of accesses between which a barrier stands that some
// threads bypass.
func (q *inquiry) unorderedByBypass(s, from *suspect) bool {
	if s == from || s.cause.Kind != "race" || s.remedy != nil || from.cause.Kind != "barrier" {
		return false
	}
	var barriers []*report.Source
	for _, i := range from.cause.Findings {
		if f := &q.doc.Findings[i]; bypassedBarrier(f) && f.Block == s.cause.Place.Block {
			barriers = append(barriers, f.Source)
		}
	}
	return len(barriers) > 0 && !slices.ContainsFunc(s.cause.Findings, func(i int) bool {
		f := &q.doc.Findings[i]
		return f.Source == nil || f.Other == nil ||
			!slices.ContainsFunc(barriers, func(b *report.Source) bool { return q.standsBetween(b, f) })
	})
}

// standsBetween reports whether a place stands between the two sides of a finding, the first of which is
// executed first: the second may be in the next iteration of a loop that all three are in.
func (q *inquiry) standsBetween(place *report.Source, f *report.Finding) bool {
	at, first, then := place.Outermost(), f.Source.Outermost(), f.Other.Outermost()
	if at.File != first.File || at.File != then.File {
		return false
	}
	return liesBetween(q.run.Source(at.File), at.Line, first.Line, then.Line)
}

// liesBetween reports whether a line of a text stands between two others, or in a loop with both where the
// second is executed in the next iteration.
func liesBetween(lines []string, at, first, then int) bool {
	if then > first {
		return first < at && at < then
	}
	if then <= at && at <= first {
		return false
	}
	heads := loopsRound(lines, at)
	return slices.ContainsFunc(loopsRound(lines, first), func(head int) bool {
		return slices.Contains(heads, head) && slices.Contains(loopsRound(lines, then), head)
	})
}
