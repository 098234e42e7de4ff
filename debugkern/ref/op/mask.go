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
	texts []string             // the rules in words
	looks []func(p *spot) bool // rules with elements of inputs
	wrong struct {             // of a mistake
		left         bool // the mask is left out
		inverted     bool
		shift, entry int // rules with elements of inputs by so many columns, and entries of their index
	}
	fill  float64 // in the result's dtype
	unit  float64 // of the operand, in the result's
	exact bool    // the result's dtype holds every number of the operand's
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
	k := &maskKernel{
		env: env, rules: n.Params.Mask, texts: ruleTexts(n), looks: looks, unit: env.Units[0] / env.Unit,
	}
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
			visible := (all || k.rules.Visible(t.Block, t.Iter, r, c)) && k.lookedUp(spot{t: t, r: r, c: c})
			f(r, c, k.wrong.left || visible != k.wrong.inverted)
		}
	}
}

// lookedUp reports whether a cell takes part by the rules with elements of inputs. An element that there is
// not lets nothing through.
func (k *maskKernel) lookedUp(p spot) bool {
	p.c -= k.wrong.shift
	p.step = k.wrong.entry
	for _, f := range k.looks {
		if !f(&p) || p.bad {
			return false
		}
	}
	return true
}

// visible reports whether a cell takes part.
func (k *maskKernel) visible(p spot) bool {
	return k.rules.Visible(p.t.Block, p.t.Iter, p.r, p.c) && k.lookedUp(p)
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

// Mistakes implements Masked.
func (k *maskKernel) Mistakes() []Mistake {
	var out []Mistake
	add := func(value string, change func(wrong *maskKernel)) {
		wrong := *k
		change(&wrong)
		out = append(out, Mistake{Value: value, Kernel: &wrong, Most: wrong.wrong.inverted})
	}
	for _, w := range wrongMasks(k.rules, k.texts) {
		add(w.value, func(wrong *maskKernel) {
			wrong.rules = w.rules
			wrong.wrong.left = w.rules == nil
		})
	}
	if len(k.looks) > 0 {
		name := ""
		if len(k.rules) > 0 {
			name = "by elements of inputs "
		}
		if len(k.rules) == 0 {
			add("left out: hidden cells take part", func(wrong *maskKernel) { wrong.wrong.left = true })
		} else {
			add(name+"left out", func(wrong *maskKernel) { wrong.looks = nil })
		}
		add(name+"moved by one column to the right", func(wrong *maskKernel) { wrong.wrong.shift = 1 })
		add(name+"moved by one column to the left", func(wrong *maskKernel) { wrong.wrong.shift = -1 })
		add("by the next entry of the index", func(wrong *maskKernel) { wrong.wrong.entry = 1 })
	}
	add(invertedMask, func(wrong *maskKernel) { wrong.wrong.inverted = true })
	return out
}

// Suspects are 0 in the place of what it fills in.
func (k *maskKernel) Suspects([]Constant) []Suspect {
	if k.fill == 0 {
		return nil
	}
	return []Suspect{
		{
			Name: termName, Value: fmt.Sprintf("0 in hidden cells instead of %g", k.fill), Own: true,
			Zero: true,
			Predict: func(sc *Scene, v, pre []float64) bool {
				x, k := sc.In[0], sc.Kernel.(*maskKernel)
				for n, i := range sc.Cells {
					r, c := i/sc.Stride, i%sc.Stride
					if v[n], pre[n] = 0, 0; k.visible(spot{t: &sc.Tile, r: r, c: c}) {
						v[n], pre[n] = x.M.At(r, c)*k.unit, x.err(i)*k.unit
					}
				}
				return true
			},
		},
	}
}

// Selective: cells are left out by the operator's rule.
func (k *maskKernel) Selective() {}
