// Package op has the operators of the reference: what one operation of a kernel's computation gives,
// exactly and as a kernel rounds it, how far a right kernel may be from that, which elements of its
// operands each cell is made of, and which mistakes are typical for it. One operator is one file; it is
// found by its name in the manifest.
//
// The one idea: a value carries its error. An operator makes numbers and a bound of their error from the
// numbers and bounds of its operands. Given operands without error (a kernel's own tiles) the bound is what
// this operation alone may lose: the local judgement. Given the exact reference with the errors allowed so
// far it is the global one. Neither is a case of its own.
//
// It must not know verdicts, captures, manifests or which kernel is looked at. It alone may know what
// attention calls its stages.
package op

import (
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// Value is a tile of numbers with what is known of their errors. A right kernel's number of cell (r, c) is
// exp(φ)·(M ± Err), with one φ for the row, |φ| ≤ Factor[r].
type Value struct {
	M          Matrix  // in the stage's own unit
	Err        Matrix  // not negative; Data nil: no error
	Rows, Cols int     // of M, those that hold numbers
	Whole      bool    // what lies beyond is the kernel's too; else it is 0
	Unit       float64 // natural units for one of the stage's

	// Factor is nil where there is no common factor. Values with the same Origin share φ, so it cancels
	// in their quotient.
	Factor []float64
	Origin int

	// Of a column of maxima: the interval of a right kernel's maximum, and how far it may be from
	// M, in natural units. The last is the Factor of what is computed relative to the maximum.
	// nil: M is the kernel's own.
	Lo, Hi, Shift []float64

	Missing bool // there is none: the iteration before the first

	// Reused is not nil where the tile enters several results with these numbers and errors: what one of them
	// worked out about it serves the others. Whoever changes M, Err or their extents in a copy of the value
	// clears it there.
	Reused *Reused

	// Of a result: how the number gets into the stage's dtype. Exact: it is representable as it is.
	// Power: the last operation is a product with a power of two in that dtype, exact unless the
	// result is subnormal.
	Exact, Power bool
	// Certain: a right kernel has this very infinity where M is infinite without an error, as in what a mask
	// hides. Of a maximum it may have a large negative number instead.
	Certain bool
}

// err is the error of a cell, 0 where there is none.
func (v *Value) err(i int) float64 {
	if v.Err.Data == nil {
		return 0
	}
	return v.Err.Data[i]
}

// errRow is a row of Err, nil where there is none.
func (v *Value) errRow(r int) []float64 {
	if v.Err.Data == nil {
		return nil
	}
	return v.Err.Row(r)
}

// factor is the common factor's bound of a row, 0 where there is none.
func (v *Value) factor(r int) float64 {
	if v.Factor == nil {
		return 0
	}
	return v.Factor[r]
}

// shift is how far the maximum of a row may be off, in natural units.
func (v *Value) shift(r int) float64 {
	if v.Shift == nil {
		return 0
	}
	return v.Shift[r]
}

// Tile is where a value is computed: one iteration of one block, and the extents that hold
// numbers in the result.
type Tile struct {
	Block      probes.Dim3
	Iter       int
	Rows, Cols int
}

// Tensor is an input of the launch as the reference reads it. Positions count elements in row-major order. It
// is safe for concurrent use.
type Tensor interface {
	Dims() []int
	// Decode writes the numbers from position first on, as many as dst has.
	Decode(dst []float64, first int)
	// Coded reports whether the kernel decodes them: codes times a scale, in float32.
	Coded() bool
	// Rounded is Decode with the kernel's own roundings: (code − zero)·((max/levels)·scale), each
	// operation in float32.
	Rounded(dst []float64, first int)
}

// Env is what a node is computed in.
type Env struct {
	Chip    *fp.Model
	Coefs   *Coefs
	Compute probes.Compute // of the stage
	DType   probes.DType   // of the stage; F64 for what is no stage
	Unit    float64        // of the stage
	Units   []float64      // of the operands
	DTypes  []probes.DType // of the operands; F64 for what is no stage
	Tensor  func(name string) Tensor
}

// dtype is that of an operand, F64 where none is given.
func (e *Env) dtype(i int) probes.DType {
	if i < len(e.DTypes) {
		return e.DTypes[i]
	}
	return probes.F64
}

// Extent is rows and columns of a tile.
type Extent [2]int

// Operator makes the computation of one node.
type Operator interface {
	// Bind checks a node and its operands' extents (as many as the node has operands, in order) and returns
	// what computes it, and the extent of the result. The error says what does not fit, without place.
	Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error)
	// Shares reports whether the same node of two stages with the arithmetic a and b is one value.
	Shares(a, b probes.Compute) bool
}

// shared is Shares of what depends on a stage's exponential at most.
type shared struct{}

func (shared) Shares(a, b probes.Compute) bool { return a.Exp == b.Exp }

// apart is Shares of sums: how they are made is the stage's.
type apart struct{}

func (apart) Shares(_, _ probes.Compute) bool { return false }

// Kernel computes one node. It owns scratch memory: one goroutine at a time.
type Kernel interface {
	// Exact computes the numbers alone. out.M has the result's extent; what lies beyond t.Rows and t.Cols
	// need not be written.
	Exact(t *Tile, in []*Value, out *Value)
	// Estimate computes the same numbers, and errors. out.M and out.Err have the result's extent; what lies
	// beyond t.Rows and t.Cols need not be written. Err leaves out the rounding to a dtype, and the common
	// factor where Factor is set. An operand without errors is exact.
	Estimate(t *Tile, in []*Value, out *Value)
	// Mirror computes the numbers as a kernel rounds them, before they are rounded to the stage's dtype.
	Mirror(t *Tile, in []*Value, out *Value)
	// Needs says which cells of operand i one cell of the result is made of.
	Needs(i int) Need
	// Reads reports whether cell (r, c) of operand i, which lies beyond that operand's valid cells, has a
	// part in a result: odd for one that is not finite, which 0 does not undo.
	Reads(t *Tile, in []*Value, out *Value, i, r, c int, odd bool) bool
	// Reason says in words how the error comes about.
	Reason() string
	// Valid is the extent of the result that holds numbers, where it is no stage with an extent of its own. t
	// says block and iteration.
	Valid(t *Tile, in []*Value) (rows, cols int)
}

// sameValid is Valid of what computes each cell from the same cell of its first operand.
type sameValid struct{}

func (sameValid) Valid(_ *Tile, in []*Value) (rows, cols int) { return in[0].Rows, in[0].Cols }

// sameCell is Needs and Reads of what computes each cell from the same cell of its operands alone.
type sameCell struct{}

func (sameCell) Needs(int) Need                                          { return SameCell }
func (sameCell) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

// columnValid is Valid of what computes one number for each row.
type columnValid struct{}

func (columnValid) Valid(_ *Tile, in []*Value) (rows, cols int) { return in[0].Rows, 1 }

// Uniform is what an operator may compute in the place of its value where a gate injects uniform values:
// softmax of equal scores.
type Uniform interface {
	Uniform(t *Tile, in []*Value, out *Value)
}

// Initial is what a kernel that carries a value over has before its first iteration, in natural units: what a
// block without iterations leaves.
type Initial interface {
	Initial() (x float64, ok bool)
}

// Padded is asked what has to stand in an operand's cells beyond the valid ones, where the host fills them.
type Padded interface {
	Pad(i int) float64
}

// Selective is an operator that leaves out operands of a cell by a rule of its own, other
// than the node's mask.
type Selective interface{ Selective() }

// Need says which cells of an operand cell (r, c) of a result is made of.
type Need uint8

const (
	SameCell    Need = iota // (r, c); of a column row r, of a row column c
	WholeRow                // all columns of row r
	WholeColumn             // all rows of column c
	RowOfColumn             // all columns of row c: the right operand of a product with a transpose
	ColumnOfRow             // all rows of column r: the left operand of a product with a transpose
	WholeTile               // all cells
)

// operators are found by name.
var operators = map[string]Operator{
	"load":       load{},
	"matmul":     matmul{},
	"rowmax":     rowmax{},
	"exp_below":  expBelow{},
	"rowsum":     rowsum{},
	"accumulate": accumulate{},
	"divide":     divide{},
	"map":        mapped{},
	"reduce":     reduce{},
	"cast":       cast{},
	"mask":       mask{},
	"scale":      scale{},
	"lse":        lse{},
	"gather":     gather{},
	"dropout":    dropout{},
}

// Lookup returns the operator of that name.
func Lookup(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Names lists the operators.
func Names() []string { return slices.Sorted(maps.Keys(operators)) }

// want checks how many operands a node has.
func want(n *probes.Node, in []Extent, k int) error {
	if len(in) != k {
		return fmt.Errorf("%s has %d operands, %d are expected", n.Op, len(in), k)
	}
	return nil
}

// number is a parameter, or its default.
func number(n *probes.Node, name string, def float64) float64 {
	if v, ok := n.Params.Number[name]; ok {
		return v
	}
	return def
}
