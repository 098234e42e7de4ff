package cell

import (
	"fmt"
	"math"
	"strconv"
)

// Share writes an error as a share of its bound in a few columns: in per cent, "25 %", and above the bound as
// a multiple, "×1340". "" where it is no number.
func Share(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return ""
	case x > 1:
		return "×" + multiple(x)
	case x > 0.99 && x < 1:
		return fmt.Sprintf("%.1f %%", math.Floor(1000*x)/10) // never 100 below the bound
	default:
		return fmt.Sprintf("%.0f %%", 100*x)
	}
}

// OfBound says the same in words: "25 % of its bound", "1340 times its bound". "" where there is no error, or
// no number.
func OfBound(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0) || x <= 0:
		return ""
	case x > 1:
		return multiple(x) + " times its bound"
	case x < 0.001:
		return "below 0.1 % of its bound"
	default:
		return fmt.Sprintf("%.3g %% of its bound", math.Floor(1000*x)/10)
	}
}

// multiple writes a number above 1 in at most five columns.
func multiple(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.3g", max(1.01, math.Floor(100*x)/100)) // never 1 above the bound, nor 10
	case x < 1e9:
		return Count(int(x))
	}
	return fmt.Sprintf("%.0e", x)
}

// Count writes a number below 1e10 in at most four columns.
func Count(n int) string {
	switch {
	case n < 10000:
		return strconv.Itoa(n)
	case n < 1000000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n/1000000) + "M"
}
