package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// lse is the logarithm of a row's sum of exponentials, m + log l, from the column of maxima and that of sums
// relative to them. Both move by the same number when a kernel's maximum is off, in opposite directions, so
// that its error cancels. A row that nothing takes part in (l = 0) has −Inf, or with empty: inf +Inf.
//
//	{lse: [m, l]}
type lse struct{ shared }

type lseKernel struct {
	columnValid
	sameCell
	env   *Env
	empty float64
	scale bool // m or the result is in another unit than the natural one: a product
}

func (lse) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 2); err != nil {
		return nil, Extent{}, err
	}
	if in[0] != in[1] || in[0][1] != 1 {
		return nil, Extent{}, fmt.Errorf("lse of %d×%d and %d×%d: two columns of as many rows are expected",
			in[0][0], in[0][1], in[1][0], in[1][1])
	}
	k := &lseKernel{env: env, empty: math.Inf(-1), scale: env.Units[0] != 1 || env.Unit != 1}
	if n.Params.Word["empty"] == "inf" {
		k.empty = math.Inf(1)
	}
	return k, in[0], nil
}

// of is m + log l, natural.
func (k *lseKernel) of(m, l float64) float64 {
	if l == 0 {
		return k.empty
	}
	return m + math.Log(l)
}

func (k *lseKernel) Exact(t *Tile, in []*Value, out *Value) {
	m, l := in[0], in[1]
	for i := range t.Rows {
		out.M.Data[i] = k.of(m.M.Data[i]*m.Unit, l.M.Data[i]*l.Unit) / out.Unit
	}
}

func (k *lseKernel) Estimate(t *Tile, in []*Value, out *Value) {
	m, l := in[0], in[1]
	cancel := l.Factor != nil && m.Shift != nil && l.Origin == m.Origin
	for i := range t.Rows {
		x, y := m.M.Data[i]*m.Unit, l.M.Data[i]*l.Unit
		dx, dy := m.err(i)*m.Unit, l.err(i)*l.Unit
		shift := 0.0
		if cancel {
			shift = m.shift(i)
			dx = max(0, dx-shift) // what is left is the rounding to m's dtype
		} else {
			dx = whole(x, dx, m.factor(i))
			dy = whole(y, dy, l.factor(i))
		}
		v := k.of(x, y)
		out.M.Data[i], out.Err.Data[i] = v/out.Unit, 0
		if y != 0 || dy != 0 {
			out.Err.Data[i] = k.off(x, y, dx, dy, shift) / out.Unit
		}
	}
	out.Certain = true
}

// off is the error of m + log l, natural; the kernel's l is up to exp(shift) times as large, and its m
// smaller by that.
func (k *lseKernel) off(x, y, dx, dy, shift float64) float64 {
	c := k.env.Coefs
	if !(y > dy) {
		return math.Inf(1)
	}
	log := math.Abs(math.Log(y)) + shift
	e := -math.Log1p(-dy/y) * c[TermLogSum]
	made := c[TermUnit] * (log + e)
	grow := math.Exp(shift)
	if k.env.Compute.By["log"] != "logf" && (y+dy)*grow > 0.5 && (y-dy)/grow < 2 {
		made += c[TermLog]
	}
	e += dx + made
	if k.scale {
		e += c[TermMaxScale] * (math.Abs(x) + dx + shift + log + e)
	}
	if accOf(k.env.Compute) != k.env.DType { // else the addition is the storing one
		e += c[TermRound] * (math.Abs(x+math.Log(y)) + e)
	}
	return e
}

func (k *lseKernel) Mirror(t *Tile, in []*Value, out *Value) {
	m, l := in[0], in[1]
	unit := instructionOf("log", k.env.Compute.By["log"])
	for i := range t.Rows {
		x, y := float32(m.M.Data[i]*m.Unit), float32(l.M.Data[i]*l.Unit)
		if y == 0 {
			out.M.Data[i] = k.empty
			continue
		}
		out.M.Data[i] = float64((x + unit.evaluate(k.env.Chip, math.Log, y)) / float32(out.Unit))
	}
}

func (k *lseKernel) Reason() string {
	if k.scale {
		return "a logarithm to 4 ulp or 2^-22, added to the maximum; 4·2^-24 for the change of units"
	}
	return "a logarithm to 4 ulp or 2^-22, added to the maximum"
}

// Suspects are the maximum or the logarithm left out, and a logarithm or a maximum in the other base.
func (k *lseKernel) Suspects([]Constant) []Suspect {
	var out []Suspect
	for _, x := range []struct {
		name, value string
		m, log      float64 // coefficients
	}{
		{termName, "m left out: log l alone", 0, 1}, {termName, "log l left out: m alone", 1, 0},
		{termName, "log l subtracted", 1, -1},
		{factorName, "log2 e on m", math.Log2E, 1}, {factorName, "ln 2 on m", math.Ln2, 1},
		{factorName, "log2 e on log l: log2 instead of log", 1, math.Log2E},
		{factorName, "ln 2 on log l", 1, math.Ln2},
	} {
		predict := func(sc *Scene, v, pre []float64) bool {
			m, l := sc.In[0], sc.In[1]
			for n, i := range sc.Cells {
				a, b := m.M.Data[i]*m.Unit*x.m, math.Log(l.M.Data[i]*l.Unit)*x.log
				v[n] = (a + b) / sc.Out.Unit
				pre[n] = 2*sc.Pre.Data[i] + (math.Abs(a)+math.Abs(b))*OpRel/sc.Out.Unit
			}
			return true
		}
		out = append(out, Suspect{Name: x.name, Value: x.value, Own: true, Predict: predict})
	}
	return out
}
