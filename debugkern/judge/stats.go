package judge

import (
	"math"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// tally collects one stage's errors against one kind of reference, over any set of tiles. Tallies of disjoint
// sets merge to the same result in any order.
type tally struct {
	Stats
	worst   worst
	first   Cell
	found   bool
	atBlock int
	atKV    int
}

// worst is the cell with the largest error for its bound; of equals the earliest.
type worst struct {
	err, bound, pre float64
	set             bool
	kv, block, cell int
}

func (a worst) beats(b worst) bool {
	if !a.set || !b.set {
		return a.set
	}
	x, y := a.ratio(), b.ratio()
	switch {
	case x != y:
		return x > y
	case a.kv != b.kv:
		return a.kv < b.kv
	case a.block != b.block:
		return a.block < b.block
	}
	return a.cell < b.cell
}

// ratio is the error in units of its bound.
func (a worst) ratio() float64 {
	if a.err == 0 {
		return 0
	}
	return a.err / a.bound
}

func (t *tally) merge(o *tally) {
	t.MaxAbs, t.MaxULP = max(t.MaxAbs, o.MaxAbs), max(t.MaxULP, o.MaxULP)
	t.Bad, t.Cells, t.Nonfinite = t.Bad+o.Bad, t.Cells+o.Cells, t.Nonfinite+o.Nonfinite
	t.NaN += o.NaN
	if o.worst.beats(t.worst) {
		t.worst = o.worst
	}
	if o.found && (!t.found || o.earlier(t)) {
		t.first, t.found, t.atKV, t.atBlock = o.first, true, o.atKV, o.atBlock
	}
}

func (t *tally) earlier(o *tally) bool {
	if t.atKV != o.atKV {
		return t.atKV < o.atKV
	}
	return t.atBlock < o.atBlock
}

// view is one tile being compared.
type view struct {
	got        *tile
	rows, cols int // compared
	dtype      probes.DType
	place      Place
	kv, block  int // for ordering
	row        int // that the first of the compared rows is, where the view is a part of a tile
	local      bool
	certain    bool // an infinity of the reference without a bound is what a right kernel has
	// excused: cells beyond their bound are not this stage's: what it is computed from is off, and it
	// cannot be judged apart
	excused bool
}

// compare adds one tile's cells to the tally and returns how many were bad, how many were not finite
// and the largest error.
func (t *tally) compare(v *view, e *ref.Estimate) (bad, nonfinite int32, top float64) {
	var w worst
	v.certain = e.Certain
	wErr, wBound := 0.0, 1.0
	stride := e.Ref.Cols
	for r := range v.rows {
		got := v.got.m.Row(r)[:v.cols]
		ref, bound := e.Ref.Row(r)[:v.cols], e.Bound.Row(r)[:v.cols]
		for c, g := range got {
			err := math.Abs(g - ref[c])
			if !(err <= bound[c]) {
				isBad, odd := judgeOdd(v, g, ref[c], bound[c])
				if odd {
					nonfinite++
					if math.IsNaN(g) {
						t.NaN++
					}
				}
				if !isBad || v.excused {
					continue
				}
				if math.IsNaN(err) {
					err = math.Inf(1)
				}
				if bad == 0 {
					t.note(v, r, c, g, ref[c])
				}
				bad++
			}
			if err > top {
				top = err
			}
			if err*wBound > wErr*bound[c] {
				wErr, wBound = err, bound[c]
				w = worst{err, bound[c], e.Pre.Data[r*stride+c], true, v.kv, v.block, r*stride + c}
			}
		}
	}
	if !w.set && v.rows*v.cols > 0 {
		w = worst{0, e.Bound.Data[0], e.Pre.Data[0], true, v.kv, v.block, 0}
	}
	if w.beats(t.worst) {
		t.worst = w
	}
	t.Bad += int(bad)
	t.Nonfinite += int(nonfinite)
	t.Cells += v.rows * v.cols
	t.MaxAbs = max(t.MaxAbs, top)
	return bad, nonfinite, top
}

// beyond adds a bad cell that lies outside the compared ones; it is counted among them.
func (t *tally) beyond(v *view, r, c int, got, want float64) {
	t.note(v, r, c, got, want)
	t.Bad++
	t.Cells++
	if math.IsNaN(got) || math.IsInf(got, 0) {
		t.Nonfinite++
		if math.IsNaN(got) {
			t.NaN++
		}
	}
	err := math.Abs(got - want)
	if math.IsNaN(err) {
		err = math.Inf(1)
	}
	t.MaxAbs = max(t.MaxAbs, err)
}

// judgeOdd decides a cell whose error is not within its bound, or is no number. A cell whose
// reference is not finite in the stage's dtype, or may round to that, is at most tainted; any other
// cell that is not finite is wrong.
func judgeOdd(v *view, got, ref, bound float64) (bad, nonfinite bool) {
	nonfinite = math.IsNaN(got) || math.IsInf(got, 0)
	if op.Overflows(v.dtype, ref) {
		// Where the reference is not finite, globally only another kind of value counts,
		// unless the operator says that the infinity is what a right kernel has.
		want := op.RoundTo(v.dtype, ref)
		same := got == want || math.IsNaN(got) && math.IsNaN(want)
		certain := v.certain && math.IsInf(ref, 0) && bound == 0
		return (!v.local || certain) && !same, nonfinite
	}
	if nonfinite {
		mayOverflow := !math.IsNaN(got) && op.Overflows(v.dtype, math.Abs(ref)+bound) &&
			(got > 0) == (ref > 0)
		return !mayOverflow, true
	}
	return true, false
}

// note remembers the first bad cell in the contract's order: kv tile, block, row, column.
func (t *tally) note(v *view, r, c int, got, want float64) {
	o := tally{found: true, atKV: v.kv, atBlock: v.block, first: Cell{v.place, v.row + r, c, got, want}}
	if !t.found || o.earlier(t) {
		t.found, t.first, t.atKV, t.atBlock = true, o.first, o.atKV, o.atBlock
	}
}

// ulps is the largest distance in representable values between a cell and its rounded reference, NaN aside:
// of this tile, or of those before it.
func (t *tally) ulps(v *view, e *ref.Estimate) int64 {
	if !v.dtype.Float() {
		return t.apart(v, e)
	}
	most, number := t.MaxULP, ordering(v.dtype)
	near, half := reach(v.dtype, most)
	for r := range v.rows {
		got := v.got.m.Row(r)[:v.cols]
		ref := e.Ref.Row(r)[:v.cols]
		for c, g := range got {
			x := ref[c]
			off := math.Abs(g - x)
			if off < near*(math.Abs(x)-off) {
				continue // most cells: of the same sign, and neither is smaller than |x| − off
			}
			if g == x {
				continue
			}
			if g*x > 0 {
				if off < near*min(math.Abs(g), math.Abs(x)) {
					continue
				}
			} else if math.Abs(g) <= half && math.Abs(x) <= half {
				continue
			}
			d := number(v.dtype, g) - number(v.dtype, x)
			if d < 0 {
				d = -d
			}
			if d > most && g == g && x == x {
				most = d
				near, half = reach(v.dtype, most)
			}
		}
	}
	return most
}

// apart is ulps for integers: the largest difference.
func (t *tally) apart(v *view, e *ref.Estimate) int64 {
	most := float64(t.MaxULP)
	for r := range v.rows {
		ref := e.Ref.Row(r)[:v.cols]
		for c, g := range v.got.m.Row(r)[:v.cols] {
			most = max(most, math.Abs(g-ref[c]))
		}
	}
	return int64(min(most, 1<<62))
}

// reach is what cells need not be numbered for, once two were most values apart: those of the right sign that
// are closer than near times their size, and those of the wrong one, or with a zero, neither of which is
// beyond half, half as many values from zero. What is closer than a quarter of a value rounds to the same.
func reach(t probes.DType, most int64) (near, half float64) {
	near = max(float64(most), 0.5) * op.UnitRoundoff(t)
	if bits := uint64(most / 2); bits < op.Round(t, math.Inf(1)) {
		return near, t.Value(bits)
	}
	return near, op.RoundTo(t, math.MaxFloat64)
}

func ordered32(f float32) int64 {
	b := int64(math.Float32bits(f))
	if b >= 1<<31 {
		return 1<<31 - b
	}
	return b
}

// ordering returns a function that numbers the values of a type in ascending order, both zeros 0,
// after rounding to it.
func ordering(t probes.DType) func(t probes.DType, x float64) int64 {
	if t == probes.F32 {
		return func(_ probes.DType, x float64) int64 { return ordered32(float32(x)) }
	}
	top := int64(1) << (8*t.Size() - 1)
	return func(t probes.DType, x float64) int64 {
		b := int64(op.Round(t, x))
		if b >= top || b < 0 {
			return top - b
		}
		return b
	}
}
