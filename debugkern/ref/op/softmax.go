package op

import (
	"fmt"
	"math"

	"tilescope/debugkern/fp"
	"tilescope/probes"
)

// exponential is the error model of exp(s − m) as kernels evaluate it.
type exponential struct {
	*Coefs
	// split: the argument is formed from scaled parts (raw scores, or m in the log2 domain), so it
	// loses by their size
	split bool
	flush float64 // the largest absolute error of a result that is not normal
}

// newExponential is the model for an exponential as a manifest names it: a result below the least normal
// f32 may lose all of itself where the unit flushes (or may, as far as the manifest says), else a
// rounding to subnormals.
func newExponential(c *Coefs, name string) exponential {
	x := exponential{Coefs: c, flush: 0x1p-126}
	if name == "ex2.approx" {
		x.flush = 0x1p-149
	}
	return x
}

// rel is the relative error of exp(s − m): the unit's own, and that of its argument, rounded
// after the subtraction, after the product with log2 e, and in that constant. off is how far s −
// m may be from the kernel's.
func (x *exponential) rel(s, m, off float64) float64 {
	arg := x.Coefs[TermExpArgument] * (math.Abs(s-m) + off)
	if x.split {
		arg = x.Coefs[TermExpSplit] * (math.Abs(s) + math.Abs(m) + 2*off)
	}
	if arg > 0.01 {
		return x.Coefs[TermExpUnit] + 2*math.Expm1(arg)
	}
	return x.Coefs[TermExpUnit] + 1.01*arg
}

// tiny is what an exponential may be off by on top of that, whatever its size.
func (x *exponential) tiny() float64 { return x.Coefs[TermExpFlush] * x.flush }

func (x *exponential) reason() string {
	arg := "3·2^-24·|s − m|"
	if x.split {
		arg = "4·2^-24·(|s| + |m|)"
	}
	return "exp to 2^-22 and its argument to " + arg
}

// Below is exp(x − m), 0 where x is −Inf (also against m = −Inf: what was never seen contributes nothing).
func Below(x, m float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return math.Exp(x - m)
}

// below32 is Below as a kernel computes it, by ex2.approx, both in m's domain; unit is that of m.
func below32(chip *fp.Model, x, top float32, unit float64) float32 {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	d := x - top
	if unit == 1 {
		d *= math.Log2E
	}
	return math.Float32frombits(chip.Ex232(fp.Bits32(d), false))
}

// rowmax is the maximum of each row of the cells that take part, and, with a second operand, of that: the
// maximum before. As the hardware does, it ignores NaN. A row of which no cell takes part gives −Inf.
//
//	{rowmax: S, running: true, mask: visible}
type rowmax struct{ shared }

type rowmaxKernel struct {
	columnValid
	env         *Env
	mask        probes.Mask
	rules       []string // of the mask, in words
	running     bool
	exact       bool // a maximum of representable numbers, nothing is computed
	lo, hi, off []float64
}

func (rowmax) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if len(in) != 1 && len(in) != 2 {
		return nil, Extent{}, fmt.Errorf("rowmax has %d operands, 1 or 2 are expected", len(in))
	}
	rows := in[0][0]
	k := &rowmaxKernel{
		env: env, mask: n.Params.Mask, rules: ruleTexts(n), running: len(in) == 2,
		exact: env.Unit == 1 && env.Units[0] == 1, lo: make([]float64, rows), hi: make([]float64, rows),
		off: make([]float64, rows),
	}
	return k, Extent{rows, 1}, nil
}

// Mistakes implements Masked.
func (k *rowmaxKernel) Mistakes() []Mistake {
	var out []Mistake
	for _, w := range wrongMasks(k.mask, k.rules) {
		wrong := *k
		wrong.mask = w.rules
		out = append(out, Mistake{Value: w.value, Kernel: &wrong})
	}
	return out
}

// Initial is −Inf of a running maximum: no row has a key.
func (k *rowmaxKernel) Initial() (float64, bool) { return math.Inf(-1), k.running }

func (k *rowmaxKernel) Exact(t *Tile, in []*Value, out *Value) {
	s := in[0]
	all := k.mask.All(t.Block, t.Iter, t.Rows, s.Cols)
	for i := range t.Rows {
		top, _, _ := k.before(in, i)
		for j, x := range s.M.Row(i)[:s.Cols] {
			if v := x * s.Unit; v > top && (all || k.mask.Visible(t.Block, t.Iter, i, j)) {
				top = v
			}
		}
		out.M.Data[i] = top / out.Unit
	}
}

func (k *rowmaxKernel) Estimate(t *Tile, in []*Value, out *Value) {
	s := in[0]
	all := k.mask.All(t.Block, t.Iter, t.Rows, s.Cols)
	c := k.env.Coefs
	for i := range t.Rows {
		top, lo, hi := k.before(in, i)
		off := s.errRow(i)
		for j, x := range s.M.Row(i)[:s.Cols] {
			if !all && !k.mask.Visible(t.Block, t.Iter, i, j) {
				continue
			}
			v, d := x*s.Unit, 0.0
			if v != v {
				continue
			}
			if v > top {
				top = v
			}
			if off != nil {
				d = off[j] * s.Unit
			}
			lo, hi = max(lo, v-d), max(hi, v+d)
		}
		k.lo[i], k.hi[i], k.off[i] = lo, hi, 0
		if !math.IsInf(top, 0) {
			if k.off[i] = max(hi-top, top-lo) * c[TermMaxScores]; !k.exact {
				k.off[i] += c[TermMaxScale] * (math.Abs(top) + k.off[i])
			}
		}
		out.M.Data[i], out.Err.Data[i] = top/out.Unit, k.off[i]/out.Unit
	}
	out.Lo, out.Hi, out.Shift = k.lo, k.hi, k.off
	out.Exact = k.exact
}

// before is the maximum before the tile, natural, and its interval.
func (k *rowmaxKernel) before(in []*Value, i int) (top, lo, hi float64) {
	none := math.Inf(-1)
	if !k.running || in[1].Missing {
		return none, none, none
	}
	old := in[1]
	if top = old.M.Data[i] * old.Unit; math.IsNaN(top) {
		top = none
	}
	if old.Lo == nil {
		return top, top, top
	}
	return top, old.Lo[i], old.Hi[i]
}

// Uniform is 0, so that nothing is rescaled.
func (k *rowmaxKernel) Uniform(t *Tile, _ []*Value, out *Value) { clear(out.M.Data) }

func (k *rowmaxKernel) Mirror(t *Tile, in []*Value, out *Value) {
	s := in[0]
	for i := range t.Rows {
		top := float32(math.Inf(-1))
		if k.running && !in[1].Missing {
			top = float32(in[1].M.Data[i])
		}
		for j, x := range s.M.Row(i)[:s.Cols] {
			if v := natural32(float32(x), s.Unit, out.Unit); v > top &&
				k.mask.Visible(t.Block, t.Iter, i, j) {
				top = v
			}
		}
		out.M.Data[i] = float64(top)
	}
}

// natural32 brings a stored score into m's domain, as a kernel does.
func natural32(s float32, unit, maxUnit float64) float32 {
	if unit != 1 || maxUnit != 1 {
		return s * float32(unit/maxUnit)
	}
	return s
}

func (k *rowmaxKernel) Needs(i int) Need {
	if i == 0 {
		return WholeRow
	}
	return SameCell
}

func (k *rowmaxKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

func (k *rowmaxKernel) Reason() string {
	if k.exact {
		return "a maximum of representable numbers"
	}
	return "maximum of scaled scores, 4·2^-24 relative"
}

// expBelow is exp(s − m) for the cells that take part, m a column of maxima, and 0 for the others.
//
//	{exp_below: [S, m], mask: visible}
type expBelow struct{ shared }

type expBelowKernel struct {
	sameValid
	env   *Env
	mask  probes.Mask
	rules []string // of the mask, in words
	exp   exponential
	slope float64 // of the exponent; 1 unless it is a mistake
}

func (expBelow) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 2); err != nil {
		return nil, Extent{}, err
	}
	if in[1] != (Extent{in[0][0], 1}) {
		return nil, Extent{},
			fmt.Errorf("exp_below of %d×%d: its second operand is %d×%d, a column of %d is expected",
				in[0][0], in[0][1], in[1][0], in[1][1], in[0][0])
	}
	k := &expBelowKernel{
		env: env, mask: n.Params.Mask, rules: ruleTexts(n), exp: newExponential(env.Coefs, env.Compute.Exp),
		slope: 1,
	}
	k.exp.split = env.Units[0] != 1 || env.Units[1] != 1
	return k, in[0], nil
}

// Mistakes implements Masked.
func (k *expBelowKernel) Mistakes() []Mistake {
	var out []Mistake
	for _, w := range wrongMasks(k.mask, k.rules) {
		wrong := *k
		wrong.mask = w.rules
		out = append(out, Mistake{Value: w.value, Kernel: &wrong})
	}
	for _, c := range []Constant{
		{"2 to the difference from the maximum, where e to it belongs: log2 e left out", math.Ln2},
		{"the difference from the maximum multiplied by log2 e twice", math.Log2E},
		{"half the difference from the maximum", 0.5}, {"twice the difference from the maximum", 2},
	} {
		wrong := *k
		wrong.slope = c.Value
		out = append(out, Mistake{Name: expressionName, Value: c.Name, Kernel: &wrong})
	}
	return out
}

func (k *expBelowKernel) Exact(t *Tile, in []*Value, out *Value) {
	s, m := in[0], in[1]
	all := k.mask.All(t.Block, t.Iter, t.Rows, s.Cols)
	for i := range t.Rows {
		row, p, top := s.M.Row(i), out.M.Row(i), m.M.Data[i]*m.Unit*k.slope
		for j := range p {
			if p[j] = 0; j < s.Cols && (all || k.mask.Visible(t.Block, t.Iter, i, j)) &&
				!math.IsInf(top, -1) {
				p[j] = Below(row[j]*s.Unit*k.slope, top)
			}
		}
	}
	out.Cols = s.Cols
}

func (k *expBelowKernel) Estimate(t *Tile, in []*Value, out *Value) {
	s, m := in[0], in[1]
	all := k.mask.All(t.Block, t.Iter, t.Rows, s.Cols)
	for i := range t.Rows {
		k.row(t, s, m, out, i, all)
	}
	out.Factor, out.Origin = m.Shift, m.Origin
	out.Cols = s.Cols
}

func (k *expBelowKernel) row(t *Tile, s, m, out *Value, i int, all bool) {
	row, off, p, err := s.M.Row(i), s.errRow(i), out.M.Row(i), out.Err.Row(i)
	top, dm, tiny := m.M.Data[i]*m.Unit*k.slope, m.shift(i), k.exp.tiny()
	scores := k.env.Coefs[TermExpScores]
	for j := range p {
		p[j], err[j] = 0, 0
		if j >= s.Cols || !all && !k.mask.Visible(t.Block, t.Iter, i, j) || math.IsInf(top, -1) {
			continue
		}
		v := row[j] * s.Unit * k.slope
		x := Below(v, top)
		if p[j] = x; x == 0 {
			continue
		}
		if off == nil {
			err[j] = x*k.exp.rel(v, top, dm) + tiny
			continue
		}
		d := off[j] * s.Unit
		grow := expm1(d)
		err[j] = x*grow*scores + x*(1+grow)*k.exp.rel(v, top, d+dm) + tiny
	}
}

// Uniform is 1/n for the cells that take part, n the columns of a tile. A score of −Inf is one that a mask
// hid before.
func (k *expBelowKernel) Uniform(t *Tile, in []*Value, out *Value) {
	for i := range t.Rows {
		p := out.M.Row(i)
		for j := range p {
			hidden := j < in[0].Cols && math.IsInf(in[0].M.At(i, j), -1)
			if p[j] = 0; j < in[0].Cols && !hidden && k.mask.Visible(t.Block, t.Iter, i, j) {
				p[j] = 1 / float64(len(p))
			}
		}
	}
	out.Cols = in[0].Cols
}

func (k *expBelowKernel) Mirror(t *Tile, in []*Value, out *Value) {
	s, m := in[0], in[1]
	for i := range t.Rows {
		p, row, top := out.M.Row(i), s.M.Row(i), float32(m.M.Data[i])
		for j := range p {
			p[j] = 0
			if j < s.Cols && k.mask.Visible(t.Block, t.Iter, i, j) {
				p[j] = float64(below32(k.env.Chip, natural32(float32(row[j]), s.Unit, m.Unit), top, m.Unit))
			}
		}
	}
}

func (k *expBelowKernel) Needs(int) Need { return SameCell }

// Reads reports whether the exponential of the cell is anything but 0.
func (k *expBelowKernel) Reads(_ *Tile, _ []*Value, out *Value, i, r, c int, _ bool) bool {
	return i == 0 && out != nil && r < out.M.Rows && c < out.M.Cols && out.M.At(r, c) != 0
}

func (k *expBelowKernel) Reason() string { return k.exp.reason() }

// rowsum adds each row, in any order.
//
//	{rowsum: {exp_below: [S, m]}}
type rowsum struct{ apart }

type rowsumKernel struct {
	columnValid
	env   *Env
	cells int
	over  string // what the sum runs along, in words
}

func (rowsum) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	k := &rowsumKernel{env: env, cells: in[0][1], over: n.Params.Word["over"]}
	if k.over == "" {
		k.over = "columns"
	}
	return k, Extent{in[0][0], 1}, nil
}

func (k *rowsumKernel) Exact(t *Tile, in []*Value, out *Value) {
	for i := range t.Rows {
		total := 0.0
		for _, x := range in[0].M.Row(i)[:in[0].Cols] {
			total += x
		}
		out.M.Data[i] = total
	}
}

func (k *rowsumKernel) Estimate(t *Tile, in []*Value, out *Value) { k.onto(t, in, Matrix{}, nil, out) }

// onto is Estimate where magnitudes base are in the sum before, or are added afterwards.
func (k *rowsumKernel) onto(t *Tile, in []*Value, base Matrix, grow []float64, out *Value) {
	p := in[0]
	if p.Factor != nil {
		out.Factor, out.Origin = p.Factor, p.Origin
	}
	for i := range t.Rows {
		total, size, made := 0.0, 0.0, 0.0
		off := p.errRow(i)
		for j, x := range p.M.Row(i)[:p.Cols] {
			total += x
			size += math.Abs(x)
			if off != nil {
				made += off[j]
			}
		}
		old := 0.0
		if base.Data != nil {
			old = base.Data[i]
		}
		made *= k.env.Coefs[TermSumOperands]
		rounded := float64(p.Cols) * k.env.Coefs[TermSumAdd] * (old + size + made)
		if grow != nil {
			rounded *= grow[i]
		}
		out.M.Data[i], out.Err.Data[i] = total, made+rounded
	}
}

// Mirror adds a row: a butterfly over the lanes (unit shuffle), else one after the other.
func (k *rowsumKernel) Mirror(t *Tile, in []*Value, out *Value) {
	v := make([]float32, in[0].M.Cols)
	for i := range t.Rows {
		for j, x := range in[0].M.Row(i) {
			v[j] = float32(x)
		}
		out.M.Data[i] = float64(rowSum32(v, k.env.Compute.Unit))
	}
}

// rowSum32 adds up v, which is overwritten.
func rowSum32(v []float32, unit probes.Unit) float32 {
	n := len(v)
	if unit == probes.UnitShuffle && n > 0 && n&(n-1) == 0 {
		for o := n / 2; o > 0; o /= 2 {
			for i := range o {
				v[i] += v[i+o]
			}
		}
		return v[0]
	}
	sum := float32(0)
	for _, x := range v {
		sum += x
	}
	return sum
}

func (k *rowsumKernel) Needs(int) Need                                          { return WholeRow }
func (k *rowsumKernel) Reads(*Tile, []*Value, *Value, int, int, int, bool) bool { return false }

func (k *rowsumKernel) Reason() string {
	return fmt.Sprintf("%d additions in any order, 2^-24 each", k.cells)
}

func (k *rowsumKernel) reasonOnto(carried string) string {
	return fmt.Sprintf("%d additions in any order, onto %s or apart, 2^-24 each", k.cells, carried)
}
