package probes

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReferenceKind is where the numbers come from that a stage, or an argument after the launch, is compared
// with.
type ReferenceKind uint8

const (
	ReferenceGraph   ReferenceKind = iota // the stage's operators, where it has some, from the inputs
	ReferenceNone                         // nothing: the values are shown and not judged
	ReferenceNPZ                          // arrays of a NumPy archive
	ReferenceCommand                      // arrays that a command writes
	ReferenceKernel                       // what another kernel leaves of the same inputs
)

// Reference says what a stage, or an argument after the launch, is compared with.
type Reference struct {
	Kind    ReferenceKind
	Name    string        // among the manifest's references; "" for one that stands in its place
	File    string        // of ReferenceNPZ and ReferenceKernel: the path, as the manifest has it
	Command []string      // of ReferenceCommand: program and arguments
	Timeout time.Duration // of ReferenceCommand: how long it may take
	Array   string        // the name of its array; "": the names of the stage or argument
	At      Where         // zero where the manifest does not say so
}

// Where is a place in a manifest.
type Where struct {
	File  string
	Line  int    // from 1
	Field string // "stages[0].reference"
}

// String writes a place as the manifest's mistakes have it: "k.yaml:12: stages[0].reference".
func (w Where) String() string { return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Field) }

// Arrays reports whether the numbers are given, and not computed by the stage's operators.
func (r *Reference) Arrays() bool { return r.Kind >= ReferenceNPZ }

// SameSource reports whether two references have their arrays from one place: a command is executed once for
// both.
func (r *Reference) SameSource(o *Reference) bool {
	return r.Kind == o.Kind && r.File == o.File && r.Timeout == o.Timeout &&
		slices.Equal(r.Command, o.Command)
}

// Source names the place that the numbers come from, for messages: "ref.npz", "python3 ref.py".
func (r *Reference) Source() string {
	switch r.Kind {
	case ReferenceGraph:
		return "graph"
	case ReferenceNone:
		return "none"
	case ReferenceCommand:
		return strings.Join(r.Command, " ")
	}
	return r.File
}

// ToleranceKind is how the bound of a cell is found.
type ToleranceKind uint8

const (
	// ToleranceUsual: ToleranceDerived where there is an error analysis, else UsualTolerance
	ToleranceUsual    ToleranceKind = iota
	ToleranceDerived                // the error analysis of the stage's operators
	ToleranceFixed                  // ATol + RTol·|reference|
	ToleranceBaseline               // Factor times the largest error of Baseline, and a rounding
)

// Tolerance says how far a right kernel's cell may be from its reference.
type Tolerance struct {
	Kind       ToleranceKind
	RTol, ATol float64
	Baseline   string     // the name of a reference, or of another array of the stage's own
	Of         *Reference // the reference that Baseline names; nil: it is an array
	Factor     float64
	At         Where // zero where the manifest does not say so
}

// UsualTolerance is the tolerance of numbers of a type of which nobody says how they are computed: that of
// PyTorch's torch.testing.assert_close; for the 8-bit types, which that has none for, twice the unit
// roundoff. Integers are compared exactly.
func UsualTolerance(t DType) Tolerance {
	out := Tolerance{Kind: ToleranceFixed}
	switch t {
	case F64:
		out.RTol, out.ATol = 1e-7, 1e-7
	case F32:
		out.RTol, out.ATol = 1.3e-6, 1e-5
	case F16:
		out.RTol, out.ATol = 1e-3, 1e-5
	case BF16:
		out.RTol, out.ATol = 1.6e-2, 1e-5
	case E4M3:
		out.RTol = 0x1p-3
	case E5M2:
		out.RTol = 0x1p-2
	}
	return out
}
