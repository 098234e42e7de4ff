package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// A bound that is computed wrong is compared at several lines: the keys that a tile has decide which are
// loaded, and which scores take part. Conditions that two suspects are wrong by are one cause where they
// compare with the same register, which is the same for all threads.

// limited reports whether the comparisons of two suspects compare with one register.
func (q *inquiry) limited(a, b *suspect) bool {
	_, ok := q.sameLimit(a, b)
	return ok
}

// sameLimit is the first register that the comparisons of two suspects compare with; false where there is
// none.
func (q *inquiry) sameLimit(a, b *suspect) (int32, bool) {
	x, y := q.limitsOf(a), q.limitsOf(b)
	for _, r := range slices.Sorted(maps.Keys(x)) {
		if y[r] {
			return r, true
		}
	}
	return 0, false
}

// limitsOf are the registers that the comparisons of a suspect compare with and that do not depend on the
// thread.
func (q *inquiry) limitsOf(s *suspect) map[int32]bool {
	fn, out := q.run.Entry(), map[int32]bool{}
	slice := newSlicer(fn)
	for _, test := range s.compares {
		for _, o := range fn.Body[test].Args[1:] {
			if o.Kind == ptx.OpReg && !slice.ofThread(o.Reg) {
				out[o.Reg] = true
			}
		}
	}
	return out
}

// ofThread reports whether a register depends on the number of the thread.
func (s *slicer) ofThread(r int32) bool {
	for at := range s.from([]int32{r}) {
		if slices.ContainsFunc(s.fn.Body[at].Args, numbersThread) {
			return true
		}
	}
	return false
}

// limitAt is where the limit is computed that the comparisons of two suspects have in common, next to the
// place of one of them; "" where that is not one line.
func (q *inquiry) limitAt(a, b *suspect) (at *report.Source, says string) {
	r, ok := q.sameLimit(a, b)
	if !ok {
		return nil, ""
	}
	for _, i := range newSlicer(q.run.Entry()).defs[r] {
		src := blame(q.run.Entry(), i)
		if src == nil || at != nil && src.At() != at.At() {
			return nil, ""
		}
		at = src
	}
	if at == nil || a.cause.Place.Source == nil || at.At() == a.cause.Place.Source.At() {
		return nil, ""
	}
	return at, fmt.Sprintf("both compare with what is computed at %s: %s", callText(at), quote(q.quoted(at)))
}
