package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/scene"
)

// A read that meets an asynchronous copy may be in the wrong buffer: then a wait that makes the finding go
// leaves the wrong tile where it is. And a thread that waits has waited for its own copies alone.

// filled looks, for each suspect of asynchronous copies, at which buffers its array is copied to and read
// from, and by which threads.
func (q *inquiry) filled() error {
	for _, s := range q.suspects {
		if s.cause.Kind != "cp-async" || s.cause.Finding < 0 || len(s.cause.Place.Variables) == 0 {
			continue
		}
		b, err := scene.Fill(q.ctx, q.run, s.cause.Place.Block, s.cause.Place.Variables[0])
		if err != nil {
			if err = q.fatal(err); err != nil {
				return err
			}
		}
		if b == nil {
			continue
		}
		if q.tooFarAhead(s, b); s.early != nil {
			continue
		}
		if err := q.outOfTurn(s, b); err != nil {
			return err
		}
		q.handed(s, b)
	}
	return nil
}

// tooFarAhead says of copies that no wait puts right that they go to buffers which are still to be read.
func (q *inquiry) tooFarAhead(s *suspect, b *scene.Buffers) {
	if b.Early == nil || s.remedy != nil && s.remedy.changes() {
		return
	}
	x := b.Early
	s.early = x
	s.explained = fmt.Sprintf("tile %d is copied to buffer %d of %d of %s at %s, and tile %d, which is there, "+
		"is read only afterwards, at %s: copies run %d tiles ahead of the reads, and %d buffers allow %d",
		x.Tile, x.Buffer, x.Buffers, b.Variable, callText(x.Fill), x.Over, callText(x.Read), x.Ahead,
		x.Buffers, x.Buffers-1)
}

// describeEarly has the copy and the read as the place of the cause.
func (q *inquiry) describeEarly(x *scene.Early, c *Cause) {
	own := x.Fill.Outermost()
	c.Advice = q.citing(fmt.Sprintf("copy at most %d tiles ahead at %s, or use %d buffers", x.Buffers-1,
		own.At(), x.Ahead+1), ": ", &own)
	c.Place.Source, c.Place.Other = x.Fill, x.Read
}

// handed says of copies that are missing a barrier which thread copies what another reads.
func (q *inquiry) handed(s *suspect, b *scene.Buffers) {
	f := &q.doc.Findings[s.cause.Finding]
	if s.explained != "" || b.Strange == 0 || b.Copied == "" || b.Read == "" || b.Copied == b.Read ||
		f.Missing == nil || !strings.Contains(*f.Missing, "syncthreads") {
		return
	}
	s.explained = fmt.Sprintf("thread t waits for its own copies, of a buffer of %s from %s on, and reads it "+
		"from %s on: %d of %d reads are of what another thread has copied, whose wait a barrier has to order "+
		"before them", b.Variable, b.Copied, b.Read, b.Strange, b.Reads)
}

// outOfTurn says of a suspect whose wrong tiles no wait puts right that copies fill the buffers in another
// turn than they are read in, and tries to make the turns one. The wrong one does not go round all buffers.
func (q *inquiry) outOfTurn(s *suspect, b *scene.Buffers) error {
	foreign := func(o *suspect) bool { return o.contrast != nil && len(o.contrast.Foreign) > 0 }
	if s.remedy != nil && s.remedy.changes() || !slices.ContainsFunc(s.members, foreign) {
		return nil
	}
	fill := slices.IndexFunc(b.Rounds, func(r scene.Round) bool { return r.Fills && r.Period() > 0 })
	read := slices.IndexFunc(b.Rounds, func(r scene.Round) bool { return !r.Fills && r.Period() > 0 })
	l, ok := q.layoutOf(b.Variable)
	if fill < 0 || read < 0 || !ok || b.Rounds[fill].Period() == b.Rounds[read].Period() {
		return nil
	}
	x := &turn{of: b.Variable, wrong: &b.Rounds[read], right: &b.Rounds[fill], l: l}
	if x.wrong.Period() == l.dims[0] {
		x.wrong, x.right = x.right, x.wrong
	}
	s.explained = fmt.Sprintf("%s %s %s of %s in turn, and %s %s %s: it goes round %d of them, and not %d",
		callText(x.right.Source), fillsOr(x.right), order(x.right.Order), b.Variable,
		lineText(x.wrong.Source, x.right.Source), fillsOr(x.wrong), order(x.wrong.Order), x.wrong.Period(),
		x.right.Period())
	own := x.wrong.Source.Outermost()
	x.advice = q.citing(fmt.Sprintf("look at the index of the buffer of %s at %s", b.Variable, own.At()),
		": ", &own)
	s.turn = x
	return q.tryTurn(s, x)
}

// turn is a line that uses the buffers of an array in another turn than the line on the other side of the
// copies.
type turn struct {
	of           string
	wrong, right *scene.Round
	l            layout
	advice       string
}

func fillsOr(r *scene.Round) string {
	if r.Fills {
		return "fills buffers"
	}
	return "reads buffers"
}

// order words buffers one after the other.
func order(list []int) string {
	const most = 6
	var parts []string
	for i, x := range list {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprint(x))
	}
	return strings.Join(parts, ", ")
}

// unitOf is what an instruction counts in that goes round after so many: 1, or what the compiler has
// multiplied the number with before; 0 where it does not go round, or after another number.
func unitOf(in *ptx.Instr, period int) int64 {
	if len(in.Args) != 3 || in.Args[2].Kind != ptx.OpInt || in.Type().Float() {
		return 0
	}
	all := int64(in.Args[2].Imm)
	switch in.Op {
	case "rem":
	case "and":
		all += all & -all
	default:
		return 0
	}
	if all <= 0 || all%int64(period) != 0 {
		return 0
	}
	return all / int64(period)
}

// tryTurn has the wrong line take its buffer modulo the right number, where it takes it modulo another.
func (q *inquiry) tryTurn(s *suspect, x *turn) error {
	fn := q.run.Entry()
	list, _, err := q.base.Reaches(q.ctx, s.cause.Place.Block, x.wrong.Instr)
	if err != nil {
		return q.fatal(err)
	}
	var edits []ptx.Edit
	for i := range list {
		for _, t := range list[i].Terms {
			unit := unitOf(fn.Body[t.At], x.wrong.Period())
			if unit == 0 || x.l.axis(t.Factor*unit) != 0 ||
				slices.ContainsFunc(edits, func(e ptx.Edit) bool { return e.At == t.At }) {
				continue
			}
			edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: t.At,
				New: fn.Body[t.At].With(func(in *ptx.Instr) {
					in.Mods = []string{fmt.Sprintf("u%d", in.Type().Bits())}
					in.Op, in.Args[2].Imm = "rem", uint64(unit)*uint64(x.right.Period())
				})})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	r := &remedy{
		text: fmt.Sprintf("with the buffer of %s modulo %d at %s", x.of, x.right.Period(),
			callText(x.wrong.Source)),
		advice: x.advice, at: x.wrong.Source,
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}
	was, alone, beyond := s.remedy, s.alone, s.beyond
	if ok, err := q.adopt(s, r); !ok {
		return err
	}
	if slices.ContainsFunc(s.members, func(o *suspect) bool { return q.stands(o, s.alone) }) {
		s.remedy, s.alone, s.beyond = was, alone, beyond
		return nil
	}
	s.partial, s.partly = nil, nil
	if s.cause.Rewrite = q.turnRewrite(x); s.cause.Rewrite != nil {
		own := x.wrong.Source.Outermost()
		r.advice = fmt.Sprintf("at %s: write %s", own.At(), quoteCode(s.cause.Rewrite.Now))
	}
	return nil
}

// turnRewrite is the wrong line with the right number of buffers; nil where its index takes no one modulus.
func (q *inquiry) turnRewrite(x *turn) *Rewrite {
	own := x.wrong.Source.Outermost()
	line := q.quoted(&own)
	parts := brackets(line, x.of)
	if len(parts) != len(x.l.dims) || len(modulus.FindAllString(parts[0], -1)) != 1 ||
		strings.Count(line, parts[0]) != 1 {
		return nil
	}
	now := modulus.ReplaceAllLiteralString(parts[0], "% "+q.extentText(x.of, own.File, 0, x.right.Period()))
	return &Rewrite{own.File, own.Line, line, strings.Replace(line, parts[0], now, 1)}
}
