package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/probes"
)

// adder is what can add onto magnitudes that are there already.
type adder interface {
	Kernel
	// onto is Estimate where magnitudes base are in the sum before, or are added afterwards; base is not in
	// out. A Matrix without Data is 0. grow is by row how much larger than the exact numbers those may be
	// that a kernel rounds; nil: not at all.
	onto(t *Tile, in []*Value, base Matrix, grow []float64, out *Value)
	// reasonOnto is Reason, for sums onto what carried names.
	reasonOnto(carried string) string
}

// accumulate is the stage's own value of the iteration before plus an operation's: x + Σ. With `by`
// it is the online softmax's update: what is carried over is multiplied by exp(m_old − m), m the
// column named. Whether the kernel adds onto what it carries over, or sums apart and adds once, is
// left open: the bound covers both.
//
//	{accumulate: {matmul: [P, V]}, by: m}
//
// Its operands are those of the operation, then the stage itself before, then, with by, the
// column before and now.
type accumulate struct{ apart }

type accumulateKernel struct {
	env   *Env
	inner adder
	args  int // of the operation
	by    bool
	exp   exponential

	name, column string // of the stage, and of the column
	part         string // what is added, in words

	base        Matrix
	carry, cerr []float64
	grow        []float64
}

func (accumulate) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if len(n.Args) != 2 && len(n.Args) != 4 || n.Args[0].Node == nil {
		return nil, Extent{}, fmt.Errorf("accumulate adds up an operation: {accumulate: {matmul: [A, B]}}")
	}
	node := n.Args[0].Node
	o, ok := Lookup(node.Op)
	if !ok {
		return nil, Extent{}, fmt.Errorf("no operator %q", node.Op)
	}
	k := &accumulateKernel{
		env: env, by: len(n.Args) > 2, exp: newExponential(env.Coefs, env.Compute.Exp),
		args: len(in) - len(n.Args) + 1,
	}
	if k.args < 0 {
		return nil, Extent{}, fmt.Errorf("accumulate has %d operands", len(in))
	}
	inner, ext, err := o.Bind(node, in[:k.args], env)
	if err != nil {
		return nil, Extent{}, err
	}
	if k.inner, ok = inner.(adder); !ok {
		return nil, Extent{},
			fmt.Errorf("accumulate cannot add up %s; it can add up matmul, rowsum and scale", node.Op)
	}
	if k.by && in[k.args+1][0] != ext[0] {
		return nil, Extent{}, fmt.Errorf("accumulate by a column of %d rows, the tile has %d",
			in[k.args+1][0], ext[0])
	}
	k.part = describe(node)
	k.exp.split = k.by && env.Units[len(env.Units)-1] != 1
	if k.name = n.Args[1].Stage.String(); k.by {
		k.column = n.Args[len(n.Args)-1].Stage.String()
	}
	k.base, k.carry, k.cerr = NewMatrix(ext[0], ext[1]), make([]float64, ext[0]), make([]float64, ext[0])
	k.grow = make([]float64, ext[0])
	return k, ext, nil
}

// Operands are what a node is computed from, in the order in which its kernel has them: those of the
// operation that accumulate adds up come in its place.
func Operands(n *probes.Node) []probes.Operand {
	if n.Op != "accumulate" || len(n.Args) == 0 || n.Args[0].Node == nil {
		return n.Args
	}
	return append(slices.Clone(Operands(n.Args[0].Node)), n.Args[1:]...)
}

// Initial is 0: nothing has been added.
func (k *accumulateKernel) Initial() (float64, bool) { return 0, true }

// carries fills the factor of what is carried over and its relative error, by row.
func (k *accumulateKernel) carries(t *Tile, in []*Value) {
	old := in[k.args]
	for i := range t.Rows {
		k.carry[i], k.cerr[i] = 1, 0
		if old.Missing {
			k.carry[i] = 0
		}
	}
	if !k.by {
		return
	}
	before, now := in[k.args+1], in[k.args+2]
	for i := range t.Rows {
		k.carry[i], k.cerr[i] = 0, 0
		if before.Missing {
			continue
		}
		a, b := before.M.Data[i]*before.Unit, now.M.Data[i]*now.Unit
		if k.carry[i] = Below(a, b); k.carry[i] != 0 {
			k.cerr[i] = k.exp.rel(a, b, before.shift(i)+now.shift(i))
		}
	}
}

func (k *accumulateKernel) Exact(t *Tile, in []*Value, out *Value) {
	k.carries(t, in)
	k.inner.Exact(t, in[:k.args], out)
	k.addCarried(t, in, out)
}

// addCarried adds what is carried over to the numbers.
func (k *accumulateKernel) addCarried(t *Tile, in []*Value, out *Value) {
	old := in[k.args]
	for i := range t.Rows {
		f := k.carry[i]
		if f == 0 || old.Missing {
			continue
		}
		ref := out.M.Row(i)
		for d, x := range old.M.Row(i) {
			ref[d] += float64(x * f)
		}
	}
}

func (k *accumulateKernel) Estimate(t *Tile, in []*Value, out *Value) {
	k.carries(t, in)
	old, c := in[k.args], k.env.Coefs
	for i := range t.Rows {
		k.carryRow(old, i)
	}
	grow := k.grown(t, in)
	k.inner.onto(t, in[:k.args], k.base, grow, out)
	if k.by { // what is added is relative to the same maximum
		out.Factor, out.Origin = in[k.args+2].Shift, in[k.args+2].Origin
	}
	k.addCarried(t, in, out)
	for i := range t.Rows {
		most := 1.0
		if grow != nil {
			most = grow[i]
		}
		round := 0.0
		if k.by {
			round = float64(c[TermCarryExp]*k.cerr[i]) + c[TermCarry]
		}
		err := out.Err.Row(i)
		for d, x := range k.base.Row(i)[:len(err)] {
			err[d] += float64(float64(x*round) * most)
		}
		if f := k.carry[i] * c[TermCarried]; f != 0 {
			for d, off := range old.errRow(i) {
				err[d] += float64(off * f)
			}
		}
	}
}

// carryRow sets the base of row i to how large what is carried over may be.
func (k *accumulateKernel) carryRow(old *Value, i int) {
	base, f := k.base.Row(i), k.carry[i]
	if f == 0 || old.Missing {
		clear(base)
		return
	}
	m := old.M.Row(i)[:len(base)]
	for d, x := range m {
		base[d] = math.Abs(x) * f
	}
	if off := old.errRow(i); off != nil {
		weight := k.env.Coefs[TermCarried]
		for d, x := range off[:len(base)] {
			base[d] += float64(float64(x*f) * weight)
		}
	}
}

// grown is exp of the maximum's allowed error by row: what is rounded is relative to the kernel's maximum.
// nil where that is exact.
func (k *accumulateKernel) grown(t *Tile, in []*Value) []float64 {
	if !k.by || in[k.args+2].Shift == nil {
		return nil
	}
	for i := range t.Rows {
		k.grow[i] = math.Exp(in[k.args+2].Shift[i])
	}
	return k.grow
}

func (k *accumulateKernel) Mirror(t *Tile, in []*Value, out *Value) {
	k.inner.Mirror(t, in[:k.args], out)
	old := in[k.args]
	if old.Missing {
		return
	}
	for i := range t.Rows {
		carry := float32(1)
		if k.by {
			before, now := in[k.args+1], in[k.args+2]
			carry = below32(k.env.Chip, float32(before.M.Data[i]), float32(now.M.Data[i]), now.Unit)
		}
		row := out.M.Row(i)
		for d := range row {
			row[d] = float64(float32(float32(old.M.Data[i*old.M.Cols+d])*carry) + float32(row[d]))
		}
	}
}

// Valid is the operation's.
func (k *accumulateKernel) Valid(t *Tile, in []*Value) (rows, cols int) {
	return k.inner.Valid(t, in[:k.args])
}

func (k *accumulateKernel) Needs(i int) Need {
	if i < k.args {
		return k.inner.Needs(i)
	}
	return SameCell
}

func (k *accumulateKernel) Reads(t *Tile, in []*Value, out *Value, i, r, c int, odd bool) bool {
	return i < k.args && k.inner.Reads(t, in[:k.args], out, i, r, c, odd)
}

func (k *accumulateKernel) Reason() string {
	if !k.by {
		return k.inner.reasonOnto(k.name + " of the iteration before")
	}
	return k.inner.reasonOnto(fmt.Sprintf("%s_old·exp(%s_old − %s)", k.name, k.column, k.column)) + k.suffix()
}

// suffix names the exponential, where the operation's own operands do not.
func (k *accumulateKernel) suffix() string {
	if _, ok := k.inner.(*matmulKernel); ok {
		return ", the product 2^-24, " + k.exp.reason()
	}
	return ""
}

// describe writes an operation as a formula.
func describe(n *probes.Node) string {
	var names []string
	for _, a := range n.Args {
		switch {
		case a.Node != nil:
			names = append(names, describe(a.Node))
		case a.Tensor != "":
			names = append(names, a.Tensor)
		default:
			names = append(names, a.Stage.String())
		}
	}
	switch n.Op {
	case "matmul":
		switch n.Params.Word["transpose"] {
		case "right":
			names[1] += "ᵀ"
		case "left":
			names[0] += "ᵀ"
		}
		return strings.Join(names, "·")
	case "rowsum":
		return "Σ " + names[0]
	case "exp_below":
		return "exp(" + strings.Join(names, " − ") + ")"
	case "load":
		return names[0]
	}
	return n.Op + "(" + strings.Join(names, ", ") + ")"
}
