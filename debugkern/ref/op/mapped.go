package op

import (
	"fmt"
	"maps"
	"strings"

	"github.com/expr-lang/expr/parser"

	"tilescope/probes"
)

// mapped computes each cell from the same cell of its operands; a column or a row of an operand counts for
// all columns or rows. The error of every operation is followed: each rounds once, a function by 4 ulp of its
// result or as the instruction that the stage's compute names, exp as in exp_below. Operands count in natural
// units. Besides operands an expression may use the tile's row r and column c, and positions and constants of
// the launch; arithmetic of whole numbers is exact.
//
//	{map: "gelu(x + b)", x: C, b: bias}
//	{map: "x + exp2(-8 * (head + 1) / H) * (key + c - query - r)", x: S}
type mapped struct{}

// Shares holds where the operations are rounded alike too.
func (mapped) Shares(a, b probes.Compute) bool {
	return a.Acc == b.Acc && a.Exp == b.Exp && maps.Equal(a.By, b.By)
}

type mappedKernel struct {
	sameCell
	env     *Env
	text    string
	names   []string // of the operands
	cell    cell
	reasons []string // of functions whose instruction has a bound of its own
	args    []Extent
	result  Extent
	indices []string // index variables, after the operands in v, e and f
	at      map[string]probes.Extent
	v, e    []float64
	f       []float32

	builder  *cellBuilder
	mistakes *mistakeList
}

// Bind finds the expression in the word expr and the operands' names, in order and with commas between, in
// the word names. Every other name of the expression is that of a cell's row or column, or of a number or a
// position of the node's parameters.
func (mapped) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	k := &mappedKernel{
		env: env, text: n.Params.Word["expr"], args: in,
		at: map[string]probes.Extent{}, mistakes: &mistakeList{},
	}
	for name, e := range n.Params.Index {
		k.at[name] = e[0]
	}
	if k.names = split(n.Params.Word["names"]); len(k.names) != len(in) {
		return nil, Extent{}, fmt.Errorf("map has %d operands and %d names", len(in), len(k.names))
	}
	if err := k.fit(in); err != nil {
		return nil, Extent{}, err
	}
	tree, err := parser.Parse(k.text)
	if err != nil {
		return nil, Extent{}, fmt.Errorf("map %q: %v", k.text, err)
	}
	by := maps.Clone(env.Compute.By)
	if by == nil {
		by = map[string]string{}
	}
	by["exp"] = env.Compute.Exp
	b := cellBuilder{names: k.names, position: k.isPosition, numbers: n.Params.Number, by: by, chip: env.Chip,
		exponential: newExponential(env.Coefs, env.Compute.Exp), u: UnitRoundoff(accOf(env.Compute))}
	again := b
	k.builder = &again
	if k.cell, err = b.build(tree.Node); err != nil {
		return nil, Extent{}, fmt.Errorf("map %q: %w", k.text, err)
	}
	k.indices = b.indices
	k.reasons = b.reasons
	names := len(in) + len(k.indices)
	k.v, k.e, k.f = make([]float64, names), make([]float64, len(in)), make([]float32, names)
	return k, k.result, nil
}

// split is the names of a list with commas between.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// fit works out the extent of the result.
func (k *mappedKernel) fit(in []Extent) error {
	k.result = Extent{1, 1}
	for i, x := range in {
		for d := range 2 {
			if x[d] != 1 && k.result[d] != 1 && x[d] != k.result[d] {
				return fmt.Errorf("map: %s is %d×%d, which does not fit %d×%d",
					k.names[i], x[0], x[1], k.result[0], k.result[1])
			}
			k.result[d] = max(k.result[d], x[d])
		}
	}
	return nil
}

// isPosition reports whether a name is that of a position of the launch.
func (k *mappedKernel) isPosition(name string) bool { _, ok := k.at[name]; return ok }

// place writes the values of the index variables for a cell behind the operands'.
func (k *mappedKernel) place(t *Tile, r, c int) {
	for i, name := range k.indices {
		var x int
		switch name {
		case "r":
			x = r
		case "c":
			x = c
		default:
			x = k.at[name].At(t.Block, t.Iter)
		}
		k.v[len(k.args)+i] = float64(x)
	}
}

// element is where the operand's element for a cell is.
func (k *mappedKernel) element(i, r, c int) int {
	x := k.args[i]
	if x[0] == 1 {
		r = 0
	}
	if x[1] == 1 {
		c = 0
	}
	return r*x[1] + c
}

func (k *mappedKernel) Exact(t *Tile, in []*Value, out *Value) {
	clear(k.e)
	for r := range t.Rows {
		ref := out.M.Row(r)
		for c := range t.Cols {
			for i, x := range in {
				k.v[i] = x.M.Data[k.element(i, r, c)] * x.Unit
			}
			k.place(t, r, c)
			y, _ := k.cell.eval(k.v, k.e)
			ref[c] = y / out.Unit
		}
	}
}

func (k *mappedKernel) Estimate(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		ref, err := out.M.Row(r), out.Err.Row(r)
		for c := range t.Cols {
			k.fill(t, in, r, c)
			y, e := k.cell.eval(k.v, k.e)
			ref[c], err[c] = y/out.Unit, e/out.Unit
		}
	}
}

func (k *mappedKernel) Mirror(t *Tile, in []*Value, out *Value) {
	for r := range t.Rows {
		for c := range t.Cols {
			for i, x := range in {
				k.f[i] = float32(x.M.Data[k.element(i, r, c)] * x.Unit)
			}
			k.place(t, r, c)
			for i := len(in); i < len(k.f); i++ {
				k.f[i] = float32(k.v[i])
			}
			out.M.Row(r)[c] = float64(k.cell.round(k.f)) / out.Unit
		}
	}
}

// fill writes the numbers and errors of a cell's operands, and its index variables.
func (k *mappedKernel) fill(t *Tile, in []*Value, r, c int) {
	for i, x := range in {
		at := k.element(i, r, c)
		k.v[i] = x.M.Data[at] * x.Unit
		k.e[i] = whole(k.v[i], x.err(at)*x.Unit, x.factor(min(r, x.M.Rows-1)))
	}
	k.place(t, r, c)
}

// Valid is that of the operands that have more than one row or column.
func (k *mappedKernel) Valid(_ *Tile, in []*Value) (rows, cols int) {
	rows, cols = k.result[0], k.result[1]
	for i, x := range in {
		if k.args[i][0] > 1 {
			rows = min(rows, x.Rows)
		}
		if k.args[i][1] > 1 {
			cols = min(cols, x.Cols)
		}
	}
	return rows, cols
}

func (k *mappedKernel) Reason() string {
	const rounds = "%s: each operation rounded to %s, functions to 4 ulp, exp to 2^-22 and its argument to 3·2^-24"
	own := fmt.Sprintf(rounds, k.text, accOf(k.env.Compute))
	return strings.Join(append([]string{own}, k.reasons...), ", ")
}

// Suspects are an operand or a position left out (taken as 0, or, of an operand, as 1), and a row or column
// counted from another number.
func (k *mappedKernel) Suspects([]Constant) []Suspect {
	var out []Suspect
	add := func(name, value string, i int, change func(x float64) float64) {
		predict := func(sc *Scene, v, pre []float64) bool {
			sc.Kernel.(*mappedKernel).changed(sc, i, change, v, pre)
			return true
		}
		out = append(out, Suspect{Name: name, Value: value, Own: true, Predict: predict})
	}
	zero, one := func(float64) float64 { return 0 }, func(float64) float64 { return 1 }
	for i, name := range k.names {
		if len(k.names) > 1 {
			add(termName, name+" left out: taken as 0", i, zero)
			add(factorName, name+" left out: taken as 1", i, one)
		}
	}
	for i, name := range k.indices {
		at := len(k.names) + i
		if !isCellIndex(name) {
			add(termName, name+" left out: taken as 0", at, zero)
			continue
		}
		for _, by := range []float64{1, -1} {
			value := fmt.Sprintf("%s counted from %g", name, by)
			add(shiftedName, value, at, func(x float64) float64 { return x + by })
		}
	}
	return out
}

// changed computes the scene's cells with one of the numbers of the expression changed.
func (k *mappedKernel) changed(sc *Scene, i int, change func(x float64) float64, v, pre []float64) {
	for n, at := range sc.Cells {
		r, c := at/sc.Stride, at%sc.Stride
		k.fill(&sc.Tile, sc.In, r, c)
		k.v[i] = change(k.v[i])
		v[n], pre[n] = k.cell.eval(k.v, k.e)
		v[n], pre[n] = v[n]/sc.Out.Unit, pre[n]/sc.Out.Unit
	}
}
