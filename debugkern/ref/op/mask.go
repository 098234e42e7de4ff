package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// mask is its operand where the rules over rows and columns hold, and a number elsewhere: −Inf, unless the
// node says another. Nothing is computed, so a cell that takes part has the error of its operand, and one
// that does not has none.
//
//	{mask: S, where: [key + c <= query + r]}
type mask struct{ shared }

type maskKernel struct {
	sameValid
	env   *Env
	rules probes.Mask
	fill  float64 // in the result's dtype
	unit  float64 // of the operand, in the result's
	exact bool    // the result's dtype holds every number of the operand's
}

func (mask) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	if len(n.Params.Mask) == 0 {
		return nil, Extent{}, fmt.Errorf("mask has no rules: where: [key + c <= query + r]")
	}
	k := &maskKernel{env: env, rules: n.Params.Mask, unit: env.Units[0] / env.Unit}
	k.fill = RoundTo(env.DType, number(n, "fill", math.Inf(-1)))
	k.exact = k.unit == 1 && holds(env.DType, env.dtype(0))
	return k, in[0], nil
}

// holds reports whether every number of type x is one of type t.
func holds(t, x probes.DType) bool {
	if t == x {
		return true
	}
	eight := x == probes.E4M3 || x == probes.E5M2
	switch t {
	case probes.F64:
		return true
	case probes.F32:
		return eight || x == probes.F16 || x == probes.BF16
	case probes.F16, probes.BF16:
		return eight
	}
	return false
}

// each calls f with the row and column of every cell, and whether it takes part.
func (k *maskKernel) each(t *Tile, f func(r, c int, visible bool)) {
	all := k.rules.All(t.Block, t.Iter, t.Rows, t.Cols)
	for r := range t.Rows {
		for c := range t.Cols {
			f(r, c, all || k.rules.Visible(t.Block, t.Iter, r, c))
		}
	}
}

func (k *maskKernel) Exact(t *Tile, in []*Value, out *Value) {
	k.each(t, func(r, c int, visible bool) {
		x := k.fill
		if visible {
			x = in[0].M.At(r, c) * k.unit
		}
		out.M.Row(r)[c] = x
	})
}

func (k *maskKernel) Estimate(t *Tile, in []*Value, out *Value) {
	x := in[0]
	apart := x.Factor != nil && k.fill != 0 // what is hidden does not have the factor
	k.each(t, func(r, c int, visible bool) {
		v, e := k.fill, 0.0
		if visible {
			v, e = x.M.At(r, c)*k.unit, x.err(r*x.M.Cols+c)*k.unit
			if apart {
				e = whole(v, e, x.factor(r))
			}
		}
		out.M.Row(r)[c], out.Err.Row(r)[c] = v, e
	})
	out.Exact, out.Certain = k.exact, true
	if !apart {
		out.Factor, out.Origin = x.Factor, x.Origin
	}
}

func (k *maskKernel) Mirror(t *Tile, in []*Value, out *Value) { k.Exact(t, in, out) }

func (k *maskKernel) Needs(int) Need { return SameCell }

// Reads reports whether the cell takes part.
func (k *maskKernel) Reads(t *Tile, _ []*Value, _ *Value, _, r, c int, _ bool) bool {
	return r < t.Rows && c < t.Cols && k.rules.Visible(t.Block, t.Iter, r, c)
}

func (k *maskKernel) Reason() string {
	return fmt.Sprintf("copied where the mask lets through, %g elsewhere", k.fill)
}

// Suspects are the mask moved, left out, inverted, or without the tile's position, and 0 in the place of what
// it fills in.
func (k *maskKernel) Suspects([]Constant) []Suspect {
	predict := func(sc *Scene, fill float64, visible func(r, c int) bool, v, pre []float64) {
		x := sc.In[0]
		for n, i := range sc.Bad {
			r, c := i/sc.Stride, i%sc.Stride
			if v[n], pre[n] = fill, 0; visible(r, c) {
				v[n], pre[n] = x.M.At(r, c)*k.unit, x.err(i)*k.unit
			}
		}
	}
	out := maskSuspects(k.rules, func(sc *Scene, visible func(r, c int) bool, v, pre []float64) {
		predict(sc, k.fill, visible, v, pre)
	})
	add := func(name, value string, fill float64, visible func(sc *Scene, r, c int) bool) {
		all := func(sc *Scene, v, pre []float64) bool {
			predict(sc, fill, func(r, c int) bool { return visible(sc, r, c) }, v, pre)
			return true
		}
		out = append(out, Suspect{Name: name, Value: value, Own: true, Predict: all})
	}
	right := func(sc *Scene, r, c int) bool { return k.rules.Visible(sc.Block, sc.Iter, r, c) }
	add(termName, "the mask inverted", k.fill, func(sc *Scene, r, c int) bool { return !right(sc, r, c) })
	add(termName, "the tile's position left out of the mask", k.fill, func(sc *Scene, r, c int) bool {
		return unplaced(k.rules).Visible(sc.Block, sc.Iter, r, c)
	})
	if k.fill != 0 {
		add(termName, fmt.Sprintf("0 in hidden cells instead of %g", k.fill), 0, right)
	}
	return out
}

// unplaced are the rules of a tile at position 0.
func unplaced(m probes.Mask) probes.Mask {
	out := make(probes.Mask, len(m))
	for i, rule := range m {
		for _, l := range rule {
			l.Base = probes.Fixed(0)
			out[i] = append(out[i], l)
		}
	}
	return out
}
