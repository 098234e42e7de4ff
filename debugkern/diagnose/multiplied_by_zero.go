package diagnose

import (
	"fmt"

	"tilescope/debugkern/needed"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// A cell is 0 where it should be another number because what it is computed from was multiplied by 0: a
// factor that is right elsewhere, as the rescaling by a maximum that there was none of before the first tile.

// zeroed is a product with one factor that is 0.
type zeroed struct {
	at    *report.Source // the product
	other float64        // its other factor
	from  *report.Source // what gives the factor; nil: not known
	name  string         // of the factor, where it was there before; else ""
}

// multipliedByZero finds the product by which a cell is 0 that should not be; nil where it is none.
func (q *inquiry) multipliedByZero(st probes.Stage, b *report.BadCell) (*zeroed, error) {
	if float64(b.Got) != 0 || float64(b.Want) == 0 {
		return nil, nil
	}
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil || len(cells) == 0 {
		return nil, q.fatal(err)
	}
	c := &cells[0]
	product, factor := c.ZeroTerm()
	if product < 0 {
		return nil, nil
	}
	v := &c.Values[factor]
	z := &zeroed{at: q.blamedOf(&c.Values[product]), from: q.blamedOf(v), name: v.Name}
	for _, o := range c.Values[product].Operands[:2] {
		if o.Value != factor {
			z.other = c.Values[o.Value].Got
		}
	}
	if z.at == nil {
		return nil, nil
	}
	return z, nil
}

// blamedOf is the line of what gave a value; nil where it is none of the entry's.
func (q *inquiry) blamedOf(v *needed.Value) *report.Source {
	if v.At < 0 {
		return nil
	}
	return blame(q.run.Entry(), v.At)
}

// blameZero makes the product the place of a suspect.
func (q *inquiry) blameZero(s *suspect, b *report.BadCell, z *zeroed) {
	factor := z.name
	if from := z.from; from != nil {
		if sites := from.Calls.Sites(); len(sites) > 0 { // what a function gives
			last := sites[len(sites)-1]
			from = &report.Source{File: last.File, Line: last.Line}
		}
		where := lineText(&report.Source{File: from.File, Line: from.Line}, z.at)
		factor = "what " + where + " gives"
		if name := onlyAssigned(q.quoted(from)); name != "" {
			factor = fmt.Sprintf("%s of %s", name, where)
		}
	}
	if factor == "" {
		factor = "its other factor"
	}
	s.because(fmt.Sprintf("%s is 0 because %s multiplies %.6g by %s, which is 0 there",
		q.ownCell(probes.Stage(s.cause.Stage), b.Row, b.Col), callText(z.at), z.other, factor))
	if was := s.cause.Place.Source; was == nil || was.At() != z.at.At() {
		s.cause.Place.Source, s.cause.Place.Other = z.at, was
		s.cause.Title += "; made 0 at " + callText(z.at)
	}
	s.cause.Advice = q.citing(fmt.Sprintf("look at what is multiplied at %s, and by what: %s may belong to another "+
		"factor or term", callText(z.at), factor), ": ", z.at)
}
