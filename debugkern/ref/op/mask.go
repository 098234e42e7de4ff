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
// A rule may have elements of integer inputs: the lengths of sequences. Such a one is evaluated for each
// cell.
//
//	{mask: S, where: [key + c <= query + r]}
//	{mask: S, where: ["key + c < used[batch]"]}
type mask struct{ shared }

type maskKernel struct {
	sameValid
	env   *Env
	rules probes.Mask
	looks []func(p *spot) bool // rules with elements of inputs
	fill  float64              // in the result's dtype
	unit  float64              // of the operand, in the result's
	exact bool                 // the result's dtype holds every number of the operand's
}

func (mask) Bind(n *probes.Node, in []Extent, env *Env) (Kernel, Extent, error) {
	if err := want(n, in, 1); err != nil {
		return nil, Extent{}, err
	}
	var looks []func(p *spot) bool
	x := newIndexer(n, env)
	for i := 0; ; i++ {
		text, ok := n.Params.Word[fmt.Sprintf("rule.%d", i)]
		if !ok {
			break
		}
		f, err := x.condition(text)
		if err != nil {
			return nil, Extent{}, fmt.Errorf("mask: %w", err)
		}
		looks = append(looks, f)
	}
	if len(n.Params.Mask)+len(looks) == 0 {
		return nil, Extent{}, fmt.Errorf("mask has no rules: where: [key + c <= query + r]")
	}
	k := &maskKernel{env: env, rules: n.Params.Mask, looks: looks, unit: env.Units[0] / env.Unit}
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
			f(r, c, (all || k.rules.Visible(t.Block, t.Iter, r, c)) && k.lookedUp(&spot{t: t, r: r, c: c}))
		}
	}
}

// lookedUp reports whether a cell takes part by the rules with elements of inputs. An element that there is
// not lets nothing through.
func (k *maskKernel) lookedUp(p *spot) bool {
	for _, f := range k.looks {
		if !f(p) || p.bad {
			return false
		}
	}
	return true
}

// visible reports whether a cell takes part.
func (k *maskKernel) visible(p spot) bool {
	return k.rules.Visible(p.t.Block, p.t.Iter, p.r, p.c) && k.lookedUp(&p)
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
	return r < t.Rows && c < t.Cols && k.visible(spot{t: t, r: r, c: c})
}

func (k *maskKernel) Reason() string {
	return fmt.Sprintf("copied where the mask holds, %g elsewhere", k.fill)
}

// Suspects are the mask moved, left out, inverted, or without the tile's position, and 0 in the place of what
// it fills in.
func (k *maskKernel) Suspects([]Constant) []Suspect {
	var out []Suspect
	add := func(name, value string, fill float64, visible func(k *maskKernel, p spot) bool) {
		predict := func(sc *Scene, v, pre []float64) bool {
			if value == invertedMask && !sc.mostBad() {
				return false
			}
			x, k := sc.In[0], sc.Kernel.(*maskKernel)
			for n, i := range sc.Bad {
				r, c := i/sc.Stride, i%sc.Stride
				if v[n], pre[n] = fill, 0; visible(k, spot{t: &sc.Tile, r: r, c: c}) {
					v[n], pre[n] = x.M.At(r, c)*k.unit, x.err(i)*k.unit
				}
			}
			return true
		}
		out = append(out, Suspect{Name: name, Value: value, Own: true, Predict: predict})
	}
	for _, x := range maskMistakes {
		add(x.name, x.value, k.fill, func(k *maskKernel, p spot) bool {
			p.c -= x.by
			return x.by == 0 || k.visible(p)
		})
	}
	if len(k.rules) > 0 {
		add(termName, "the tile's position left out of the mask", k.fill, func(k *maskKernel, p spot) bool {
			return unplaced(k.rules).Visible(p.t.Block, p.t.Iter, p.r, p.c) && k.lookedUp(&p)
		})
	}
	if len(k.looks) > 0 {
		add(shiftedName, "the mask by the next entry of the index", k.fill, func(k *maskKernel, p spot) bool {
			p.step = 1
			return k.visible(p)
		})
	}
	add(termName, invertedMask, k.fill, func(k *maskKernel, p spot) bool { return !k.visible(p) })
	if k.fill != 0 {
		add(termName, fmt.Sprintf("0 in hidden cells instead of %g", k.fill), 0,
			func(k *maskKernel, p spot) bool { return k.visible(p) })
	}
	return out
}

// invertedMask is the value of a suspect that says that every cell is wrong: it would explain any wrong cells
// of a mask.
const invertedMask = "the mask inverted"

// mostBad reports whether nine of ten cells of the tile are bad.
func (sc *Scene) mostBad() bool { return 10*len(sc.Bad) >= 9*sc.Rows*sc.Cols }

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
