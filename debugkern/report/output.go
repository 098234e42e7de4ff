package report

import (
	"fmt"
	"strings"
)

// Output compares the kernel's result with the exact one from the un-quantised inputs. The rules are there
// where that is attention.
type Output struct {
	Of          string `json:"-"` // of several outputs the one that is judged, the first; "": there is one
	MaxAbs      Number `json:"max_abs"`
	MeanAbs     Number `json:"mean_abs"`
	BadFraction Number `json:"bad_fraction"`
	Cosine      Number `json:"cosine"`
	Verdict     string `json:"verdict"` // ok, fail: the manifest's gate
	// Guess says that the limits of the gate are a guess, and where they stand; "" where they are given.
	Guess string `json:"guess,omitempty"`
	// Other projects' acceptance tests: context, never part of a verdict.
	FlashRule *Rule `json:"flash_rule,omitempty"`
	PyTorch   *Rule `json:"pytorch,omitempty"`
	Triton    *Rule `json:"triton,omitempty"`
	Histogram []int `json:"histogram,omitempty"` // |error| counts by decade: <1e-6, <1e-5, … <1, rest
	// Of Cells so many are not finite, of these so many are no numbers, and of these so many stand for what
	// was never written. Documents do not have them: all are 0 in one that was read.
	Cells     int `json:"-"`
	Nonfinite int `json:"-"`
	NaN       int `json:"-"`
	Unwritten int `json:"-"`
}

// Against names what the result is compared with. It is another reference than that of the stages, which
// has the inputs as the kernel reads them: the two largest errors of one output differ.
func (o *Output) Against() string {
	if o.FlashRule == nil { // the manifest's own operators
		return "the reference on the inputs before they are rounded"
	}
	return "attention on the un-quantised inputs"
}

// Outcome is the verdict in words: by limits that are a guess it says that they are.
func (o *Output) Outcome() string {
	if o.Guess != "" {
		return o.Verdict + " by a guessed limit"
	}
	return o.Verdict
}

// AgainstShort is Against in two words, for places that have room for no more.
func (o *Output) AgainstShort() string { return "exact inputs" }

// Most is the largest error as it is printed everywhere.
func (o *Output) Most() string { return o.Size(o.MaxAbs, "%.3g") }

// Size writes the size of one of the errors as ErrorStats.Size does.
func (o *Output) Size(n Number, verb string) string { return n.sizeOf(verb, o.Nonfinite, o.NaN) }

// Odd says of how many cells the errors have no size: "3 of 2048 cells NaN"; "" where all have one, or a
// document does not say how many have none.
func (o *Output) Odd() string {
	if o.Nonfinite == 0 {
		return ""
	}
	text := Odd(o.Nonfinite, o.NaN, o.Unwritten)
	n, what, _ := strings.Cut(text, " ")
	if strings.Contains(what, ", ") {
		return fmt.Sprintf("of %d cells %s", o.Cells, text)
	}
	return fmt.Sprintf("%s of %d cells %s", n, o.Cells, what)
}

// Rule is another project's acceptance test, evaluated on O.
type Rule struct {
	Error Number `json:"error"`
	Limit Number `json:"limit"`
	Holds bool   `json:"holds"`
	// Context: where it does not hold: why, from what storing in the same dtypes costs alone
	Context string `json:"context,omitempty"`
}
