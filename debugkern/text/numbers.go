package text

import "strconv"

// Differing writes two numbers with six digits, or as many more as tell them from each other.
func Differing(a, b float64) (string, string) {
	for digits := 6; ; digits += 3 {
		x, y := strconv.FormatFloat(a, 'g', digits, 64), strconv.FormatFloat(b, 'g', digits, 64)
		if x != y || a == b || digits > 15 {
			return x, y
		}
	}
}
