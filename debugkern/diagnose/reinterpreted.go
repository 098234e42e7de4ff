package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
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
	if ok, err := q.takenAsMade(s, x); ok || err != nil {
		return ok, err
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

// takenAsMade tries a matrix product with the type that its operands were made as, where nothing puts bits
// together in between, and makes the product the place of a suspect that is cured by it; false where it is
// not.
func (q *inquiry) takenAsMade(s *suspect, x *debugkern.Reinterpreted) (bool, error) {
	fn := q.run.Entry()
	if x.Moved != nil || fn == nil {
		return false, nil
	}
	as, was := x.As.String(), x.Was.String()
	r := &remedy{
		text: fmt.Sprintf("with %s in place of %s at %s", was, as, x.At.At()), at: x.At,
		edits: func(run *debugkern.Run) []ptx.Edit { return retyped(run.Entry(), x.At, as, was) },
	}
	if len(r.edits(q.run)) == 0 {
		return false, nil
	}
	if ok, err := q.adopt(s, r); !ok {
		return false, err
	}
	s.contrast = nil
	s.cause.Place.Source, s.cause.Place.Other = x.At, s.cause.Place.Source
	s.because(fmt.Sprintf("the product at %s takes numbers as %s that are made as %s, at %s and where else its "+
		"operands come from", x.At.At(), as, was, callText(x.Made)))
	r.advice = q.citing(fmt.Sprintf("at %s: take the operands as %s, not as %s", x.At.At(), was, as),
		"; the line is ", x.At)
	s.cause.Advice = r.advice
	return true, nil
}

// retyped are the edits by which the matrix products of a line take a type in the place of another one.
func retyped(fn *ptx.Func, at *report.Source, as, was string) (edits []ptx.Edit) {
	for i, in := range fn.Body {
		src := blame(fn, i)
		if !in.Kind().Product() || src == nil || src.File != at.File || src.Line != at.Line ||
			!slices.Contains(in.Mods, as) {
			continue
		}
		taken := in.With(func(in *ptx.Instr) {
			for k, m := range in.Mods {
				if m == as {
					in.Mods[k] = was
				}
			}
		})
		edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: i, New: taken})
	}
	return edits
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
