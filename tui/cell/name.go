package cell

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Axes are the names of rows and columns, "" for the columns of a stage that has one: q for query rows, k for
// keys, d for the head dimension. Without a plan they are row and col.
func Axes(sp *probes.StagePlan) (rows, cols string) {
	if sp == nil {
		return "row", "col"
	}
	return sp.Axes[0], sp.Axes[1]
}

// Name is how a cell is called: q17,k9; of an argument out[3,5].
func Name(sp *probes.StagePlan, row, col int) string {
	if sp != nil && sp.OfLaunch() {
		return sp.Capture.Output + "[" + numbers(probes.Index(row*sp.Cols+col, sp.Capture.Dims)) + "]"
	}
	r, c := Axes(sp)
	if c == "" {
		return r + strconv.Itoa(row)
	}
	return r + strconv.Itoa(row) + "," + c + strconv.Itoa(col)
}

// RowName is how a row of a tile is called next to it: q17; of an argument the index of its first element
// without that of the column.
func RowName(sp *probes.StagePlan, row int) string {
	if sp == nil || !sp.OfLaunch() {
		letter, _ := Axes(sp)
		return letter + strconv.Itoa(row)
	}
	at := probes.Index(row*sp.Cols, sp.Capture.Dims)
	if len(at) > 1 {
		at = at[:len(at)-1]
	}
	return numbers(at)
}

// TypeText is the type and extents of an argument: f32[64,48].
func TypeText(sp *probes.StagePlan) string {
	return sp.DType.String() + "[" + numbers(sp.Capture.Dims) + "]"
}

// numbers writes an index: 3,5.
func numbers(at []int) string {
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = strconv.Itoa(n)
	}
	return strings.Join(out, ",")
}

// Long writes a value with five significant digits, plainly where that is short.
func Long(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return fmt.Sprintf("%+f", v)
	case v == 0:
		return "0"
	case a >= 1e5 || a < 1e-3:
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	prec := 4
	if a >= 1000 {
		prec = 1
	}
	return strconv.FormatFloat(v, 'f', prec, 64)
}

// Typed is Long for a value of type t: an integer has all its digits and no point.
func Typed(t probes.DType, v float64) string {
	if !t.Float() && v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return Long(v)
}

// Signed is Long with a sign above zero too.
func Signed(v float64) string {
	s := Long(v)
	if v > 0 {
		return "+" + s
	}
	return s
}

// Pattern is a stage's best fingerprint in one line, or "".
func Pattern(s *report.Stage) string {
	if s == nil || len(s.Fingerprints) == 0 {
		return ""
	}
	f := &s.Fingerprints[0]
	return fmt.Sprintf("%s, explains %.0f %%", Fingerprint(f), 100*float64(f.Explains))
}

// sentences are the fingerprints whose value is words of its own, not what the name has: "factor 2", but
// "mask: without its offset of 75".
var sentences = map[string]string{
	"mask": "mask", "term": "term", "expression": "expression", "last-tile": "last tile",
	"half-missing": "half missing", "part-missing": "part missing",
}

// Fingerprint words what a stage's error looks like.
func Fingerprint(f *report.Fingerprint) string {
	if name := sentences[f.Name]; name != "" && f.Value != "" {
		return name + ": " + f.Value
	}
	return strings.TrimSpace(strings.ReplaceAll(f.Name, "-", " ") + " " + f.Value)
}
