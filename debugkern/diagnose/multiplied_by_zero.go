package diagnose

import (
	"fmt"
	"math"

	"tilescope/debugkern/needed"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// A cell is 0 where it should be another number because what it is computed from was multiplied by 0: a
// factor that is right elsewhere, as the rescaling by a maximum that there was none of before the first tile.

// zeroFactor is a product with one factor that is 0.
type zeroFactor struct {
	at    *report.Source // the product
	other float64        // its other factor
	from  *report.Source // what gives the factor; nil: not known
	name  string         // of the factor, where it was there before; else ""
}

// multipliedByZero finds the product by which a cell is 0 that should not be; nil where it is none.
func (q *inquiry) multipliedByZero(st probes.Stage, b *report.BadCell) (*zeroFactor, error) {
	if float64(b.Got) != 0 || float64(b.Want) == 0 {
		return nil, nil
	}
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil || len(cells) == 0 {
		return nil, q.fatal(err)
	}
	return q.zeroProduct(&cells[0]), nil
}

// zeroProduct looks for the product that made a cell 0, from where it is stored on: through what moves its
// value, through both terms of sums of zeros, and through products of zeros. nil where there is none, or what
// gives the value cannot be followed.
func (q *inquiry) zeroProduct(c *needed.Cell) *zeroFactor {
	seen := make([]bool, len(c.Values))
	var find func(id int) *zeroFactor
	find = func(id int) *zeroFactor {
		v := &c.Values[id]
		if seen[id] || v.Instr == nil || v.Got != 0 {
			return nil
		}
		seen[id] = true
		if op := v.Instr.Op; (op == "mul" || op == "fma" || op == "mad") && len(v.Operands) >= 2 {
			x, z := &c.Values[v.Operands[0].Value], &c.Values[v.Operands[1].Value]
			if x.Got == 0 {
				x, z = z, x
			}
			at := q.blamedOf(v)
			if z.Got == 0 && x.Got != 0 && !math.IsNaN(x.Got) && at != nil {
				return &zeroFactor{at: at, other: x.Got, from: q.blamedOf(z), name: z.Name}
			}
		} else if op != "add" && op != "sub" && len(v.Operands) != 1 {
			return nil
		}
		for _, o := range v.Operands {
			if z := find(o.Value); z != nil {
				return z
			}
		}
		return nil
	}
	return find(0)
}

// blamedOf is the line of what gave a value; nil where it is none of the entry's.
func (q *inquiry) blamedOf(v *needed.Value) *report.Source {
	if v.At < 0 {
		return nil
	}
	return blame(q.run.Entry(), v.At)
}

// blameZero makes the product the place of a suspect.
func (q *inquiry) blameZero(s *suspect, b *report.BadCell, z *zeroFactor) {
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
	s.because(fmt.Sprintf("cell (%d,%d) is 0 because %s multiplies %.6g by %s, which is 0 there", b.Row, b.Col,
		callText(z.at), z.other, factor))
	if was := s.cause.Place.Source; was == nil || was.At() != z.at.At() {
		s.cause.Place.Source, s.cause.Place.Other = z.at, was
		s.cause.Title += "; made 0 at " + callText(z.at)
	}
	s.cause.Advice = q.citing(fmt.Sprintf("look at what is multiplied at %s, and by what: %s may belong to another "+
		"factor or term", callText(z.at), factor), ": ", z.at)
}

// isZeroed reports whether a suspect's first wrong cell is 0 by a product, and makes that its place.
func (q *inquiry) isZeroed(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	if !q.allKeep(st, b) {
		return false, nil
	}
	z, err := q.multipliedByZero(st, b)
	if err != nil || z == nil {
		return false, err
	}
	q.blameZero(s, b, z)
	return true, nil
}
