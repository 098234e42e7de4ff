package report

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a float64 that JSON can hold: NaN and infinities are written as the strings
// "NaN", "+Inf", "-Inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"+Inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Inf"`), nil
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"NaN"`:
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// NoSize stands for the size of an error where a NaN or an infinity takes part: it has none.
const NoSize = "NaN/Inf"

// Size writes the size of an error by a verb for floats, and NoSize where it has none.
func (n Number) Size(verb string) string { return n.sizeOf(verb, 0, 0) }

// sizeOf is Size where so many cells are not finite and so many of these are no numbers: where all of them
// are, an error without a size is NaN.
func (n Number) sizeOf(verb string, nonfinite, nan int) string {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return fmt.Sprintf(verb, v)
	}
	return oddWord(nonfinite, nan, "/")
}

// oddWord is what values that are not finite are: NaN where all are no numbers. Which are infinite is known
// only where some are no numbers: a document that was read counts both together.
func oddWord(nonfinite, nan int, or string) string {
	if nan > 0 && nan == nonfinite {
		return "NaN"
	}
	return "NaN" + or + "Inf"
}

// Odd counts values that are not finite, of which so many are no numbers, and of these so many stand for what
// was never written: "3 NaN", "3 NaN, 2 Inf", "3 never written"; "3 NaN or Inf" where it is not known which.
func Odd(nonfinite, nan, unwritten int) string {
	if unwritten > 0 && unwritten <= nan {
		text := fmt.Sprintf("%d never written", unwritten)
		switch {
		case nonfinite == unwritten:
			return text
		case nan == unwritten:
			return fmt.Sprintf("%s, %d Inf", text, nonfinite-nan)
		}
		return text + ", " + Odd(nonfinite-unwritten, nan-unwritten, 0)
	}
	if nan > 0 && nan < nonfinite {
		return fmt.Sprintf("%d NaN, %d Inf", nan, nonfinite-nan)
	}
	return fmt.Sprintf("%d %s", nonfinite, oddWord(nonfinite, nan, " or "))
}
