// Package cell is one cell of a tile against its reference: how it is judged under a person's settings, how
// its numbers are written, how it is called.
//
// The one idea: every pane that shows a cell, however small, asks here, so no two of them
// can disagree about it.
//
// It must not know panes, colours or keys.
package cell

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
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
	i := slices.Index(diffNames[:], name)
	return Diff(max(i, 0)), i >= 0
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
	i := slices.Index(refNames[:], name)
	return Ref(max(i, 0)), i >= 0
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

// Judge compares one tile's cells as the settings say.
type Judge struct {
	v     *debugkern.TileView
	ref   []float64
	bound []float64
	limit Bound
	name  string
	local bool // ref is made from the kernel's own earlier tiles
}

// NewJudge picks the reference r of a tile; limit replaces its derived bounds unless it is 0.
func NewJudge(v *debugkern.TileView, r Ref, limit Bound) Judge {
	j := Judge{v: v, limit: limit}
	if r == Auto {
		r = Local
		if v.Verdict.Verdict == report.Tainted {
			r = Global
		}
	}
	switch r {
	case Global:
		j.ref, j.bound = v.Global, v.GlobalBound
	case Mirrored:
		j.ref, j.bound = v.Mirrored, v.GlobalBound
	default:
		j.ref, j.bound, j.local = v.Local, v.LocalBound, true
	}
	j.name = r.String()
	return j
}

// Cell is one comparison.
type Cell struct {
	Bits, RefBits uint64
	Got, Want     float64
	Delta         float64 // Got - Want, unrounded
	ULP           int64   // after rounding the reference to the type
	Bound         float64
	Equal, Bad    bool
	// NearZero: within a derived bound that is no smaller than the reference itself. Nobody promised a digit
	// of such a value, and the ulps between it and its reference, which are tiny there, count none.
	NearZero bool

	Absent bool // not captured: Got and Bits mean nothing, and the cell is not judged

	Other   uint64 // the other backend's bits, where both executed
	Differs bool   // they are not this one's
}

// Standing is how a cell stands to its bound in a word: within, equal, and where it is bad
// below, above, inf or nan.
func (c Cell) Standing() string {
	switch {
	case math.IsNaN(c.Got) && c.Bad:
		return "nan"
	case math.IsInf(c.Got, 0) && c.Bad:
		return "inf"
	case c.Bad && c.Delta < 0:
		return "below"
	case c.Bad:
		return "above"
	case c.Equal:
		return "equal"
	}
	return "within"
}

// Name is the reference's: local, global or mirrored; "" where there is none.
func (j *Judge) Name() string {
	if !j.Compared() {
		return ""
	}
	return j.name
}

// Known reports whether there is a tile.
func (j *Judge) Known() bool { return j.v != nil && j.v.Got.Reached() }

// Compared reports whether there is a tile and a reference to compare it with.
func (j *Judge) Compared() bool { return j.Known() && len(j.ref) > 0 }

// Judged reports whether a cell is compared with the reference: it was captured, and so was what the local
// reference of it is made from.
func (j *Judge) Judged(row, col int) bool { return j.v.Judged(row, col, j.local) }

// At compares one cell. Without a reference it is equal to itself.
func (j *Judge) At(row, col int) Cell {
	t := j.v.Got
	i := row*t.Cols + col
	c := Cell{Bits: t.Bits(row, col)}
	c.Got = t.DType.Value(c.Bits)
	switch b := &j.v.Previous; {
	case i < len(j.ref):
		c.Want = j.ref[i]
	case b.Reached():
		return c.from(t, b.Bits(row, col))
	default:
		c.Want = c.Got
	}
	c.RefBits = Round(t.DType, c.Want)
	c.Delta = c.Got - c.Want
	if i < len(j.bound) {
		c.Bound = j.bound[i]
	}
	c.ULP = Ordinal(t.DType, c.Bits) - Ordinal(t.DType, c.RefBits)
	if b := &j.v.Other; b.Rows > 0 {
		if c.Differs = true; b.Reached() {
			c.Other = b.Bits(row, col)
			c.Differs = !t.Same(*b, row, col)
		}
	}
	if c.Absent = !t.Captured(row, col); c.Absent {
		c.Delta, c.ULP = 0, 0
		return c
	}
	both := c.Got == c.Want || math.IsNaN(c.Got) && math.IsNaN(c.Want)
	if c.Equal = both || c.ULP == 0 && !math.IsNaN(c.Got); both {
		c.Delta, c.ULP = 0, 0
	}
	if !j.v.Valid(row, col) || both || !j.Judged(row, col) {
		return c
	}
	switch {
	case math.IsNaN(c.Delta) || math.IsInf(c.Delta, 0):
		c.Bad = true
	case j.limit > 0:
		c.Bad = c.ULP > int64(j.limit) || c.ULP < -int64(j.limit)
	default:
		c.Bad = math.Abs(c.Delta) > c.Bound
		c.NearZero = !c.Bad && !c.Equal && c.Bound >= math.Abs(c.Want)
	}
	return c
}

// from makes a cell's difference from what it was before the launch.
func (c Cell) from(t probes.Tile, before uint64) Cell {
	c.RefBits, c.Want = before, t.DType.Value(before)
	if c.Equal = c.Bits == before; !c.Equal {
		c.Delta, c.ULP = c.Got-c.Want, Ordinal(t.DType, c.Bits)-Ordinal(t.DType, before)
	}
	return c
}

// Crossed reports whether another backend computed this tile too.
func (j *Judge) Crossed() bool { return j.v != nil && j.v.Other.Rows > 0 }

// AgainstOther compares one cell with the other backend's instead of the reference: not a bit may differ.
func (j *Judge) AgainstOther(row, col int) Cell {
	c := j.At(row, col)
	t := j.v.Got.DType
	c.Want, c.RefBits, c.Bound = t.Value(c.Other), c.Other, 0
	c.Delta, c.ULP = c.Got-c.Want, Ordinal(t, c.Bits)-Ordinal(t, c.Other)
	c.Equal, c.Bad, c.NearZero = !c.Differs, c.Differs && j.v.Valid(row, col), false
	if c.Equal {
		c.Delta, c.ULP = 0, 0
	}
	return c
}

// Ratio is the error as a multiple of the bound, signed.
func (j *Judge) Ratio(c Cell) float64 {
	switch {
	case c.Delta == 0:
		return 0
	case j.limit > 0:
		return float64(c.ULP) / float64(j.limit)
	case c.Bound > 0:
		return c.Delta / c.Bound
	}
	return math.Inf(1) * sign(c.Delta)
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

// wideError is the number of columns from which an error has its sign and a mark.
const wideError = 6

// ErrorText writes the error in at most w columns, w ≥ 4, its sign always shown: in few columns by the mark
// of a bad cell, which then takes the last of them (marked), else as + or -. NaN and Inf are their own marks.
func (d Diff) ErrorText(c Cell, w int) (text string, marked bool) {
	marked = c.Bad
	switch {
	case math.IsNaN(c.Got):
		return "NaN", false
	case math.IsInf(c.Got, 0):
		return "Inf", false
	case d == DiffRel && c.Want == 0:
		return "/0", marked
	case d == DiffULP && c.NearZero:
		return "~0", marked
	case d == DiffULP && c.far() && c.signDiffers():
		return "+/-", marked
	}
	room := w
	if marked || w >= wideError {
		room--
	}
	v := c.Delta
	if d == DiffRel {
		v /= math.Abs(c.Want)
	}
	switch unsigned := marked && w < wideError; {
	case d == DiffULP && unsigned:
		return magnitude(c.ULP, room), marked
	case d == DiffULP:
		return CountText(c.ULP, room), marked
	case unsigned:
		return FixedText(math.Abs(v), room), marked
	}
	return SignedText(v, room), marked
}

// mostULP is the number of ulps from which they say no more than that two values have little in common.
const mostULP = 1 << 24

// BoundText is the cell's bound in a few columns: 4.9e-04; 0 where nothing is rounded.
func (c Cell) BoundText() string {
	if c.Bound == 0 {
		return "0"
	}
	return strconv.FormatFloat(c.Bound, 'e', 1, 64)
}

func (c Cell) far() bool { return c.ULP > mostULP || c.ULP < -mostULP }

// DistanceText is the largest distance of many pairs of values in ulps, or that it says nothing more.
func DistanceText(ulps int64) string {
	if ulps > mostULP {
		return "> 2^24 ulp"
	}
	return fmt.Sprintf("%d ulp", ulps)
}

func (c Cell) signDiffers() bool { return c.Got < 0 != (c.Want < 0) }

// ULPText writes the error in ulps in at least w columns, or why ulps say nothing of it: the value is too
// near 0, the other value has another sign or lies very far off.
func (c Cell) ULPText(w int) string {
	text := ""
	switch {
	case c.NearZero:
		text = "near 0"
	case c.far() && c.signDiffers():
		text = "other sign" // no longer than the columns of errors are wide
	case c.far():
		text = "> 2^24 ulp"
	default:
		return fmt.Sprintf("%+*d ulp", w, c.ULP)
	}
	return fmt.Sprintf("%-*s", w+len(" ulp"), text)
}

// DeltaText is the error as a number in at least digits columns, and in ulps.
func (c Cell) DeltaText(digits int) string {
	is := " = "
	if c.NearZero || c.far() {
		if is = ", "; digits > 0 {
			is = ",  " // the columns stay
		}
	}
	return fmt.Sprintf("%*s%s%s", digits, Signed(c.Delta), is, c.ULPText(digits/2))
}

// CountText writes a signed whole number in at most w columns, with its sign, in thousands, millions and so
// on where it must.
func CountText(n int64, w int) string {
	if n < 0 {
		return "-" + magnitude(n, w-1)
	}
	return "+" + magnitude(n, w-1)
}

// magnitude writes a whole number without its sign in at most w columns.
func magnitude(n int64, w int) string {
	if s := strings.TrimPrefix(strconv.FormatInt(n, 10), "-"); len(s) <= w {
		return s
	}
	return scaled(math.Abs(float64(n)), w)
}

// Stats are a tile's figures under the settings.
type Stats struct {
	Bad, Cells int     // Cells: those compared
	Absent     int     // cells that should have been captured and were not
	Lo, Hi     float64 // finite values of kernel and reference together
	NaN, Inf   int     // of the kernel's cells
	Changed    int     // of a tile with one before the launch: cells whose bits are others now
	Every      int     // one of how many cells was looked at: of a tile without a reference that is large
	Worst      float64 // the largest error, as a multiple of its cell's bound
	Differing  int     // cells that the other backend computed differently, where both executed
	Bins       [7]int  // signed error by multiples of the bound: < -4, -4…-1, -1…0, 0, 0…1, 1…4, > 4
}

// Level places v among n steps from the least to the greatest value.
func (s *Stats) Level(v float64, n int) int {
	span := s.Hi - s.Lo
	if !(span > 0) || math.IsNaN(v) {
		return 0
	}
	f := (v - s.Lo) / span
	return min(n-1, int(max(0, min(1, f))*float64(n-1)+0.5))
}

// mostCells is how many cells of a tile without a reference are looked at: some milliseconds.
const mostCells = 1 << 19

// Stats goes over every compared cell; without a reference, over every cell or a sample of them.
func (j *Judge) Stats() Stats {
	s := Stats{Lo: math.Inf(1), Hi: math.Inf(-1), Every: 1}
	if !j.Compared() && !j.Crossed() {
		n := j.v.Got.Rows * j.v.Got.Cols
		for s.Every = 1 + n/mostCells; s.Every > 1 && (j.v.Got.Cols%s.Every == 0 || s.Every%2 == 0); {
			s.Every++ // not the same columns of each row
		}
		for i := 0; i < n; i += s.Every {
			if row, col := i/j.v.Got.Cols, i%j.v.Got.Cols; j.v.Valid(row, col) {
				s.count(j.At(row, col), j)
			}
		}
		return s
	}
	for row := range j.v.Got.Rows {
		for col := range j.v.Got.Cols {
			if !j.v.Valid(row, col) {
				continue
			}
			s.count(j.At(row, col), j)
		}
	}
	return s
}

// count adds a cell.
func (s *Stats) count(c Cell, j *Judge) {
	if c.Differs {
		s.Differing++
	}
	if c.Absent {
		s.Absent++
		return
	}
	s.Cells++
	if c.Bad {
		s.Bad++
	}
	switch {
	case math.IsNaN(c.Got):
		s.NaN++
	case math.IsInf(c.Got, 0):
		s.Inf++
	}
	if !c.Equal && j.v.Previous.Reached() {
		s.Changed++
	}
	if !j.Compared() {
		c.Want = c.Got
	}
	for _, v := range [2]float64{c.Got, c.Want} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.Lo, s.Hi = min(s.Lo, v), max(s.Hi, v)
		}
	}
	ratio := j.Ratio(c)
	s.Worst = max(s.Worst, math.Abs(ratio))
	s.Bins[bin(ratio)]++
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
