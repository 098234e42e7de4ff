package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
)

// A fragment that is stored to a scratch array by rows and read from it by columns comes out transposed.
// Which of the two is wrong no trial shows: either edit puts the kernel right.

// readAcross is the line of a suspect, where that reads the array to which an edit stores a fragment in the
// other order; nil where the edit is another, or the line reads nothing of it.
func (q *inquiry) readAcross(s *suspect, c *repair.Cure) *report.Source {
	fn, reader := q.run.Entry(), s.cause.Place.Source
	if fn == nil || reader == nil || s.contrast == nil || s.contrast.Home == nil ||
		fn.Body[c.At].Kind() != isa.StoreFragment || c.From != "row" && c.From != "col" ||
		reader.At() == q.place(c).At() {
		return nil
	}
	var loads []int
	for _, i := range instructionsAt(fn, reader) {
		if fn.Body[i].Kind() == isa.Load {
			loads = append(loads, i)
		}
	}
	stores := []int{c.At}
	written := q.basesOf(fn, stores, q.addressOf(fn, stores))
	if !slices.ContainsFunc(q.basesOf(fn, loads, q.addressOf(fn, loads)), func(name string) bool {
		return slices.Contains(written, name)
	}) {
		return nil
	}
	return reader
}

// storedAcross names both lines, the store's by at, and gives the cause the reader as its other place.
func (s *suspect) storedAcross(at string, reader *report.Source) {
	s.cause.Title += fmt.Sprintf("; stored at %s in another order than it is read in at %s", at,
		lineText(reader, s.cause.Place.Source))
	s.cause.Place.Other = reader
}

// eitherOrder is the advice for a fragment that is stored at a place in one order and read in the other.
func (q *inquiry) eitherOrder(c *repair.Cure, at, reader *report.Source) string {
	line := lineText(reader, at)
	text := fmt.Sprintf("make %s and %s agree: %s stores %s what %s reads the other way round; this run is "+
		"right %s there, or exchange the indices of the read", at.At(), line, at.At(), c.Was, line, c.With())
	return q.citing(q.citing(text, "; the store is ", at), ", the read ", reader)
}
