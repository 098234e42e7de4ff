package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// Who reads a buffer says that it may be filled again by an arrival at an mbarrier. An arrival before an
// asynchronous product that reads the buffer is complete says so too early.

// releasedEarly is an arrival that gives a buffer free while a product reads it.
type releasedEarly struct {
	arrival, product *report.Source
	wait             *report.Source // the next wait for products behind the arrival; nil: there is none
	mbarrier, buffer string
}

// releasedEarly finds the arrival by which a suspect's copy may overwrite what a product reads; nil where
// there is none.
func (q *inquiry) releasedEarly(s *suspect) (*releasedEarly, error) {
	fn := q.run.Entry()
	if fn == nil || s.cause.Kind != "race" || s.cause.Finding < 0 {
		return nil, nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if !strings.Contains(f.Message, "wgmma") {
		return nil, nil
	}
	t, err := q.recorded(s.cause.Place.Block)
	if err != nil || t == nil {
		return nil, err
	}
	return releasedEarlyIn(t, fn), nil
}

// releasedEarlyIn is releasedEarly of a block.
func releasedEarlyIn(t *walk.Timeline, fn *ptx.Func) *releasedEarly {
	for i := range t.Flights {
		f := &t.Flights[i]
		if f.PC >= len(fn.Body) || fn.Body[f.PC].Kind() != isa.WgmmaMultiply {
			continue
		}
		for b := range t.Buffers {
			buf := &t.Buffers[b]
			if buf.Empty == "" || !overlap(f.Reads, []target.Range{{Lo: buf.Lo, Hi: buf.Hi}}) {
				continue
			}
			a := arrivalBetween(t, buf.Empty, f.Warp/4, f.Issued, f.Landed)
			if a == nil {
				continue
			}
			x := &releasedEarly{
				arrival: report.SourceOf(a.Source), product: blame(fn, f.PC),
				mbarrier: buf.Empty, buffer: buf.Name,
			}
			if x.arrival == nil || x.product == nil {
				continue
			}
			x.wait = nextWait(fn, x.arrival.Outermost())
			return x
		}
	}
	return nil
}

// arrivalBetween is the first arrival of a warpgroup at an mbarrier between two moments; nil: there is none.
func arrivalBetween(t *walk.Timeline, mbarrier string, group int, from, to uint64) *walk.Arrive {
	m := mbarrierNamed(t, mbarrier)
	if m == nil {
		return nil
	}
	for i := range m.Arrivals {
		if a := &m.Arrivals[i]; !a.Promise && a.Warp/4 == group && a.Step > from && a.Step < to {
			return a
		}
	}
	return nil
}

// nextWait is the first line behind one that waits for products, of the same file; nil where there is none.
func nextWait(fn *ptx.Func, behind report.Source) (out *report.Source) {
	for i, in := range fn.Body {
		src := blame(fn, i)
		if in.Kind() != isa.WgmmaWait || src == nil {
			continue
		}
		at := src.Outermost()
		if at.File == behind.File && at.Line > behind.Line && (out == nil || at.Line < out.Line) {
			out = &at
		}
	}
	return out
}

// describe makes the arrival the place of a cause.
func (x *releasedEarly) describe(q *inquiry, c *Cause) {
	at, product := x.arrival.Outermost(), x.product.Outermost()
	c.because(fmt.Sprintf("the arrival at %s at %s gives %s free while the wgmma at %s still reads it", x.mbarrier,
		at.At(), x.buffer, lineText(&product, &at)))
	behind := "behind the wait for the product"
	if x.wait != nil {
		behind = "behind " + lineText(x.wait, &at) + ", which waits for the product"
	}
	c.Advice = q.citing(fmt.Sprintf("move the arrival at %s %s", at.At(), behind), ": ", &at)
	c.Place.Source, c.Place.Other = &at, c.Place.Source
}
