package diagnose

import (
	"fmt"
	"math"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
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

// otherSize makes the store the place of a suspect that is an output to which all stores are of a type of
// another size than its elements; false where it is none. Its index counts those of that type too.
func (q *inquiry) otherSize(s *suspect, st probes.Stage) (bool, error) {
	sp, doc, fn := q.run.Plan.Stage(st), q.base.Report.Stage(st.String()), q.run.Entry()
	if sp == nil || sp.Capture.Kind != probes.CaptureOutput || doc == nil || doc.FirstBad == nil ||
		fn == nil {
		return false, nil
	}
	a := q.run.Plan.Arg(sp.Capture.Output)
	if a == nil || !a.DType.Float() {
		return false, nil
	}
	var list []int
	for i, in := range fn.Body {
		if k := in.Kind(); (k.Writes() || k.Updates()) && !in.Loc.Within(target.IsProbe) {
			list = append(list, i)
		}
	}
	reached, _, err := q.base.Reaches(q.ctx, doc.FirstBad.Block, list)
	if err != nil {
		return false, q.fatal(err)
	}
	at := -1
	for _, r := range reached {
		if r.Base != a.Name {
			continue
		}
		size := a.DType.Size()
		if t := fn.Body[r.At].Type(); t.Float() {
			size = t.Single().Bytes()
		} else if n := accessBytes(fn.Body[r.At]); n > 0 {
			size = min(size, n) // several elements may be moved as one number
		}
		if size == a.DType.Size() {
			return false, nil
		}
		at = r.At
	}
	src := blame(fn, at)
	if at < 0 || src == nil {
		return false, nil
	}
	stores := fmt.Sprintf("%d bytes", accessBytes(fn.Body[at]))
	if t := fn.Body[at].Type(); t.Float() {
		stores = fmt.Sprintf("numbers of type %s", t.Single())
	}
	s.because(fmt.Sprintf("the elements of %s are %s, of %d bytes, and %s writes %s: its index counts these, and "+
		"several of them lie in one element", a.Name, a.DType, a.DType.Size(), callText(src), stores))
	s.cause.Place.Source = src
	look := fmt.Sprintf("take %s for a pointer to %s, and write that at %s", a.Name, a.DType, callText(src))
	s.cause.Advice = q.citing(look, ": ", src)
	return true, nil
}
