package tile

import (
	"fmt"
	"math"
	"strconv"

	"tilescope/debugkern"
)

// Diff is how the error column measures.
type Diff uint8

// The measures, in the order of their key.
const (
	DiffULP Diff = iota
	DiffAbs
	DiffRel
	DiffOff
	numDiffs
)

var diffNames = [numDiffs]string{"ulp", "abs", "rel", "off"}

func (d Diff) String() string { return diffNames[d] }

// Next is the measure after d: ulp, off, abs, rel, ulp as the key cycles abs, rel, ulp, off.
func (d Diff) Next() Diff {
	return map[Diff]Diff{DiffAbs: DiffRel, DiffRel: DiffULP, DiffULP: DiffOff, DiffOff: DiffAbs}[d]
}

// ParseDiff reads a measure's name.
func ParseDiff(name string) (Diff, bool) {
	for i, n := range diffNames {
		if n == name {
			return Diff(i), true
		}
	}
	return 0, false
}

// Ref is which reference stands in the second column.
type Ref uint8

// Auto is the global reference where the tile is only tainted, else the local one: the verdict's own choice.
const (
	Auto Ref = iota
	Local
	Global
	Mirrored
	numRefs
)

var refNames = [numRefs]string{"auto", "local", "global", "mirrored"}

func (r Ref) String() string { return refNames[r] }

// ParseRef reads a reference's name.
func ParseRef(name string) (Ref, bool) {
	for i, n := range refNames {
		if n == name {
			return Ref(i), true
		}
	}
	return 0, false
}

// Bound is where a cell counts as bad on screen: 0 is the derived bound, else a number of ulps.
type Bound int

const maxBound Bound = 1 << 20

func (b Bound) String() string {
	if b == 0 {
		return "derived"
	}
	return strconv.Itoa(int(b)) + " ulp"
}

// Wider and Narrower step through derived, 1, 2, 4, … ulps.
func (b Bound) Wider() Bound {
	if b == 0 {
		return 1
	}
	return min(2*b, maxBound)
}

// Narrower undoes Wider.
func (b Bound) Narrower() Bound { return b / 2 }

// judge compares one tile's cells as the pane's settings say.
type judge struct {
	v     *debugkern.TileView
	ref   []float64
	bound []float64
	limit Bound
	name  string // of the reference
}

func newJudge(v *debugkern.TileView, r Ref, limit Bound) judge {
	j := judge{v: v, limit: limit}
	if r == Auto {
		r = Local
		if v.Verdict.Verdict == debugkern.Tainted {
			r = Global
		}
	}
	switch r {
	case Global:
		j.ref, j.bound = v.Global, v.GlobalBound
	case Mirrored:
		j.ref, j.bound = v.Mirrored, v.GlobalBound
	default:
		j.ref, j.bound = v.Local, v.LocalBound
	}
	j.name = r.String()
	return j
}

// cell is one comparison.
type cell struct {
	bits, refBits uint64
	got, want     float64
	delta         float64 // got - want, unrounded
	ulp           int64   // after rounding the reference to the type
	bound         float64
	equal, bad    bool
}

func (j *judge) known() bool { return j.v != nil && j.v.Got.Reached() && len(j.ref) > 0 }

func (j *judge) at(row, col int) cell {
	t := j.v.Got
	i := row*t.Cols + col
	c := cell{bits: t.Bits(row, col), want: j.ref[i]}
	c.got = t.DType.Value(c.bits)
	c.refBits = Round(t.DType, c.want)
	c.delta = c.got - c.want
	if i < len(j.bound) {
		c.bound = j.bound[i]
	}
	c.ulp = Ordinal(t.DType, c.bits) - Ordinal(t.DType, c.refBits)
	both := c.got == c.want || math.IsNaN(c.got) && math.IsNaN(c.want)
	if c.equal = both || c.ulp == 0 && !math.IsNaN(c.got); both {
		c.delta, c.ulp = 0, 0
	}
	if !j.v.Valid(row, col) || both {
		return c
	}
	switch {
	case math.IsNaN(c.delta) || math.IsInf(c.delta, 0):
		c.bad = true
	case j.limit > 0:
		c.bad = c.ulp > int64(j.limit) || c.ulp < -int64(j.limit)
	default:
		c.bad = math.Abs(c.delta) > c.bound
	}
	return c
}

// ratio is the error as a multiple of the bound, signed.
func (j *judge) ratio(c cell) float64 {
	switch {
	case c.delta == 0:
		return 0
	case j.limit > 0:
		return float64(c.ulp) / float64(j.limit)
	case c.bound > 0:
		return c.delta / c.bound
	}
	return math.Inf(1) * sign(c.delta)
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

// text writes the error in at most w columns.
func (d Diff) text(c cell, w int) string {
	switch {
	case math.IsNaN(c.got):
		return "NaN"
	case math.IsInf(c.got, 0):
		return "Inf"
	case d == DiffAbs:
		return SignedText(c.delta, w)
	case d == DiffRel:
		if c.want == 0 {
			return "/0"
		}
		return SignedText(c.delta/math.Abs(c.want), w)
	}
	return CountText(c.ulp, w)
}

// CountText writes a signed whole number in at most w columns: without its sign where that helps (the mark beside it has
// it), in thousands where it must.
func CountText(n int64, w int) string {
	s := fmt.Sprintf("%+d", n)
	if len(s) <= w {
		return s
	}
	if len(s) == w+1 {
		return s[1:]
	}
	v := float64(n)
	for _, unit := range "kMGTP" {
		v /= 1000
		if math.Abs(v) >= 999.5 {
			continue
		}
		s = fmt.Sprintf("%+.0f%c", v, unit)
		if len(s) > w {
			s = s[1:]
		}
		if len(s) <= w {
			return s
		}
	}
	return "++"
}

// stats are a tile's figures under the pane's settings.
type stats struct {
	bad, cells int
	lo, hi     float64 // finite values of kernel and reference together
	bins       [7]int  // signed error by multiples of the bound: < -4, -4…-1, -1…0, 0, 0…1, 1…4, > 4
}

func (j *judge) stats() stats {
	s := stats{lo: math.Inf(1), hi: math.Inf(-1)}
	for row := range j.v.Got.Rows {
		for col := range j.v.Got.Cols {
			if !j.v.Valid(row, col) {
				continue
			}
			c := j.at(row, col)
			s.cells++
			if c.bad {
				s.bad++
			}
			for _, v := range [2]float64{c.got, c.want} {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					s.lo, s.hi = min(s.lo, v), max(s.hi, v)
				}
			}
			s.bins[bin(j.ratio(c))]++
		}
	}
	return s
}

func bin(r float64) int {
	switch {
	case r < -4:
		return 0
	case r < -1:
		return 1
	case r < 0:
		return 2
	case r == 0:
		return 3
	case r <= 1:
		return 4
	case r <= 4:
		return 5
	}
	return 6 // NaN too
}
