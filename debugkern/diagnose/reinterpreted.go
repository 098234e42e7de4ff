package diagnose

import (
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// reinterpreted makes an operand of a matrix product that is taken as another type than it was made as the
// reason of a suspect; false where there is none. What else its cells are made of then says nothing.
func (q *inquiry) reinterpreted(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	x, err := q.base.Reinterpreted(q.ctx, st, b.Block, max(b.KVTile, 0), [2]int{b.Row, b.Col})
	if err != nil || x == nil {
		return false, q.fatal(err)
	}
	at := x.Made
	text := fmt.Sprintf("the product at %s takes numbers as %s that are bits of %s ones, made at %s",
		x.At.At(), x.As, x.Was, callText(x.Made))
	if x.Moved != nil {
		at = x.Moved
		text += fmt.Sprintf(" and put together at %s", callText(at))
	}
	s.contrast = nil
	s.cause.Place.Source, s.cause.Place.Other = at, x.At
	s.cause.why = text
	s.cause.Proof = append(s.cause.Proof, text)
	look := fmt.Sprintf("at %s: convert to %s, in place of moving bits", callText(at), x.As)
	s.cause.Advice = q.citing(look, "; the line is ", at)
	return true, nil
}

// unconverted makes an element that arithmetic takes as a number of another type than its argument has the
// reason of a suspect; false where there is none.
func (q *inquiry) unconverted(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	x, err := q.base.Unconverted(q.ctx, st, b.Block, max(b.KVTile, 0), [2]int{b.Row, b.Col})
	if err != nil || x == nil {
		return false, q.fatal(err)
	}
	s.retyped = true
	at := x.At
	text := fmt.Sprintf("the elements of %s are %s, and the bits of one are taken as %s at %s", x.Arg, x.Of, x.As,
		callText(x.At))
	if x.Moved != nil {
		at = x.Moved
		text += fmt.Sprintf(", put together at %s", lineText(at, x.At))
	}
	s.contrast = nil
	s.cause.Place.Source, s.cause.Place.Other = at, x.At
	s.cause.why = text
	s.cause.Proof = append(s.cause.Proof, text)
	look := fmt.Sprintf("convert the element of %s from %s at %s, in place of taking its bits", x.Arg, x.Of,
		callText(at))
	s.cause.Advice = q.citing(look, ": ", at)
	return true, nil
}
