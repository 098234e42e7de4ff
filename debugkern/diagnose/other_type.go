package diagnose

import (
	"fmt"
	"math"

	"tilescope/debugkern"
	"tilescope/probes"
)

// A tile that is stored as another 16-bit type than it is read as has the right numbers in the wrong bits.

// otherType makes the store the place of a suspect whose wrong cells are right as numbers of the other 16-bit
// type; false where they are not.
func (q *inquiry) otherType(s *suspect, st probes.Stage) (bool, error) {
	sp, doc := q.run.Plan.Stage(st), q.base.Report.Stage(st.String())
	if sp == nil || sp.OfLaunch() || doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil {
		return false, nil
	}
	var as probes.DType
	switch sp.DType {
	case probes.F16:
		as = probes.BF16
	case probes.BF16:
		as = probes.F16
	default:
		return false, nil
	}
	b := doc.FirstBad
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return false, nil
	}
	const (
		digits = 1.0 / 64 // of the shorter fraction, cut off
		least  = 8
	)
	n := 0
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			want := v.Local[r*v.Plan.Cols+c]
			if !v.Judged(r, c, true) || !isBad(v, r, c) || want == 0 {
				continue
			}
			if is := v.As(as, r, c); math.IsNaN(is) ||
				math.Abs(is-want) > digits*math.Abs(want)+v.LocalBound[r*v.Plan.Cols+c] {
				return false, nil
			}
			n++
		}
	}
	if n < least {
		return false, nil
	}
	at := *b.Source
	s.because(fmt.Sprintf("the wrong cells of %s are right as %s numbers, and are read as %s: what is stored "+
		"at %s are the bits of %s numbers", st, as, sp.DType, callText(&at), as))
	s.cause.Place.Source = &at
	look := fmt.Sprintf("convert to %s in place of moving bits, at %s", sp.DType, callText(&at))
	s.cause.Advice = q.citing(look, ": ", &at)
	return true, nil
}
