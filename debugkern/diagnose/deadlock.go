package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/report"
)

// Threads of two waits wait for each other where each would do behind its wait what the other needs. That is
// one mistake, in the order of waits and arrivals.

// mutual reports whether two suspects are waits in one block that need each other.
func (q *inquiry) mutual(a, b *suspect) bool {
	h, x, y := q.waitsOf(a, b)
	return h != nil && h.needs(x, y) && h.needs(y, x)
}

// waitsOf are the waits of one block that two suspects are, by their indices; nil where they are no waits.
func (q *inquiry) waitsOf(a, b *suspect) (h *hanging, x, y int) {
	block := a.cause.Place.Block
	if a == b || a.cause.Kind != "hang" || b.cause.Kind != "hang" || b.cause.Place.Block != block {
		return nil, 0, 0
	}
	if h = q.hangs[block]; h == nil {
		return nil, 0, 0
	}
	x, y = h.waits(&q.doc.Findings[a.cause.Finding]), h.waits(&q.doc.Findings[b.cause.Finding])
	if x < 0 || y < 0 {
		return nil, 0, 0
	}
	return h, x, y
}

// deadlocked says of a cause that is several waits how these need each other.
func (q *inquiry) deadlocked() error {
	for _, s := range q.suspects {
		i := slices.IndexFunc(s.members, func(o *suspect) bool { return q.mutual(s, o) })
		if i < 0 || s.cause.Advice != "" {
			continue
		}
		h, x, y := q.waitsOf(s, s.members[i])
		first, second := h.line(x), h.line(y)
		s.cause.because(fmt.Sprintf("they wait for each other: %s and %s, and each arrives where the other waits "+
			"behind its own wait alone", h.standing(x, nil), h.standing(y, first)))
		s.cause.Place.Other = second
		order := fmt.Sprintf("change the order of waits and arrivals: what the wait at %s needs "+
			"has to be done before the wait at %s, or the other way round", first.At(), lineText(second, first))
		if h.atFirst(x) && h.atFirst(y) {
			order = fmt.Sprintf("have one of the waits at %s and %s pass at first, as that of a producer does whose "+
				"slot is still empty: it has to begin with parity 1, by which a new mbarrier lets it pass; or %s",
				first.At(), lineText(second, first), order)
		}
		s.cause.Advice = q.citing(order, "; the lines are ", first) + q.citing("", " and ", second)
	}
	return nil
}

// atFirst reports whether a wait is for the first phase of an mbarrier, parity 0: with parity 1 it passes
// until that is complete (PTX ISA, "mbarrier.test_wait, mbarrier.try_wait").
func (h *hanging) atFirst(at int) bool {
	m := h.hang.Waits[at].MBarrier
	return m != nil && m.Phase == 0
}

// line is the kernel's own line of a wait.
func (h *hanging) line(at int) *report.Source {
	own := report.SourceOf(h.hang.Waits[at].Source).Outermost()
	return &own
}

// standing is who waits where: "warp 0 waits at k.cu:154 for k_empty[1]".
func (h *hanging) standing(at int, near *report.Source) string {
	w := &h.hang.Waits[at]
	set := warpSet(w.Warps)
	place := lineText(h.line(at), near)
	return fmt.Sprintf("%s %s at %s for %s", members("warp", set), waiting(set), place, w.At)
}
