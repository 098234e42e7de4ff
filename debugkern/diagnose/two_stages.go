package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
)

// One edit that spoils two stages side by side, neither of which is computed from the other: the reference in
// the place of one leaves the other wrong, and that shows nothing.

// takenAdvice begins the advice on a wrong operand of which no more is known than where it comes in.
const takenAdvice = "look at which operand is taken"

// sideBySide reports whether the operands of two stages show one edit.
func sideBySide(a, b *suspect) bool {
	return haveEachOthers(a, b) || foreignOfOneCall(a, b) || lacksOperand(a, b) || lacksOperand(b, a)
}

// haveEachOthers reports whether two stages are made of what belongs in the other: what is taken, or where it
// is kept, was exchanged.
func haveEachOthers(a, b *suspect) bool {
	of := func(s *suspect) (has, lacks string) {
		if s.cause.Kind != kindStage || s.contrast == nil || len(s.contrast.Foreign) == 0 ||
			len(s.contrast.Missing) == 0 {
			return "", ""
		}
		return s.contrast.Foreign[0].Of, s.contrast.Missing[0].Of
	}
	has, lacks := of(a)
	other, others := of(b)
	return has != "" && has != lacks && has == others && lacks == other
}

// foreignOfOneCall reports whether wrong operands of two stages come in by one call of a function in the
// kernel's text: what is wrong with the call is wrong for both.
func foreignOfOneCall(a, b *suspect) bool { return calledAlike(foreignAt(a), foreignAt(b)) }

// foreignAt is where the first wrong operand of a stage comes in, nil where it has none.
func foreignAt(s *suspect) *report.Source {
	if s.cause.Kind != kindStage || s.contrast == nil || len(s.contrast.Foreign) == 0 {
		return nil
	}
	return s.contrast.Foreign[0].At
}

// lacksOperand reports whether an operation in the one stage would have to have an element of a third as its
// operand, and the cells of the other lack that: both are made with the operation.
func lacksOperand(has, lacks *suspect) bool {
	if has == lacks || has.rule == nil || lacks.contrast == nil || len(lacks.contrast.Foreign) > 0 {
		return false
	}
	of, _, indexed := strings.Cut(has.rule.Name, "[")
	if !indexed || len(lacks.contrast.Missing) != 1 || lacks.contrast.Missing[0].Of != of {
		return false
	}
	lacks.effect = true
	return true
}

// besides adds, to a cause that says no more than which operand is taken, what shows that another stage is
// wrong by the same edit, and where to look then.
func (q *inquiry) besides(lead, s *suspect) {
	c := &lead.cause
	switch {
	case !strings.HasPrefix(c.Advice, takenAdvice):
	case haveEachOthers(lead, s):
		x, y := &lead.contrast.Foreign[0], &s.contrast.Foreign[0]
		if x.At == nil || y.At == nil {
			return
		}
		own, other := c.Stage, s.cause.Stage
		c.because(fmt.Sprintf("%s has what belongs in %s, and %s what belongs in %s", own, other, other, own))
		if at, second := q.parameterList(x.Of, y.Of); at != nil {
			c.because(q.inOtherOrder(x.Of, y.Of, at))
			c.Title += "; made wrong at " + at.At()
			c.Place.Source, c.Place.Other = at, x.At
			c.Advice = q.exchangeParameters(c, x.Of, y.Of, at, second)
			return
		}
		look := fmt.Sprintf("look at where %s and %s are exchanged: where they are taken, at %s and %s, or where "+
			"what is made of them is kept and read", x.Of, y.Of, x.At.At(), lineText(y.At, x.At))
		c.Advice = q.citing(q.citing(look, ": ", x.At), ", ", y.At)
	case foreignOfOneCall(lead, s):
		call := foreignAt(lead).Calls.Sites()[0]
		at := &report.Source{File: call.File, Line: call.Line}
		c.because(fmt.Sprintf("%s comes in by the same call, at %s", s.cause.Stage, at.At()))
		c.Advice = q.citing(fmt.Sprintf("look at the call at %s: at what it is given, and at whether it stands "+
			"where it belongs", at.At()), ": ", at)
	}
}
