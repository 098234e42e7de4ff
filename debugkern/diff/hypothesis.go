package diff

import (
	"fmt"
	"math"

	"tilescope/debugkern/attn"
)

// The contract's fingerprint names.
const (
	Transposed        = "transposed"
	OperandTransposed = "operand-transposed"
	Permuted          = "permuted"
	Shifted           = "shifted"
	Factor            = "factor"
	Offset            = "offset"
	Term              = "term"
	PreviousTile      = "previous-tile"
	HalfMissing       = "half-missing"
	WarpRows          = "warp-rows"
	LastTile          = "last-tile"
)

// opRel is one more float32 operation, beside those the stage's bound knows.
const opRel = 2 * u32

// hypotheses lists what a wrong tile of a stage is tried against: quantities of the algorithm before fitted ones.
func hypotheses(ref *attn.Reference, s attn.Step) []hypothesis {
	var hs []hypothesis
	hs = append(hs, termHypotheses(s)...)
	hs = append(hs, factorHypotheses(ref, s)...)
	hs = append(hs, offsetHypotheses(ref, s)...)
	hs = append(hs, operandHypotheses(s)...)
	hs = append(hs, moveHypotheses(s)...)
	hs = append(hs, placeHypotheses(ref, s)...)
	return append(hs, fittedHypotheses(s)...)
}

// scaling is a hypothesis that every cell is the right one times a quantity; f gives it for a row and column with its own
// relative error, ok false where it does not exist.
func scaling(value string, f func(sc *scene, r, c int) (q, rel float64, ok bool)) hypothesis {
	return hypothesis{name: Factor, value: value, predict: func(sc *scene, v, pre []float64) (int, bool) {
		for k, i := range sc.bad {
			q, rel, ok := f(sc, i/sc.stride, i%sc.stride)
			if !ok {
				return 0, false
			}
			v[k] = sc.e.ref.Data[i] * q
			pre[k] = math.Abs(q)*sc.e.pre.Data[i] + math.Abs(v[k])*(rel+opRel)
		}
		return 0, true
	}}
}

func constant(value string, q float64) hypothesis {
	return scaling(fmt.Sprintf("%s (%.6g)", value, q), func(*scene, int, int) (float64, float64, bool) { return q, 0, true })
}

// factorHypotheses are the quantities of the algorithm that a stage may be multiplied by once too often, or not at all.
func factorHypotheses(ref *attn.Reference, s attn.Step) []hypothesis {
	p := ref.Plan()
	if s == attn.StepM {
		return maximumFactors(p.Scale)
	}
	hs := []hypothesis{constant("softmax_scale", p.Scale), constant("1/softmax_scale", 1/p.Scale), constant("-1: the sign", -1),
		constant("log2 e", math.Log2E), constant("ln 2", math.Ln2)}
	switch s {
	case attn.StepQ, attn.StepK, attn.StepV:
		return append(hs, scaleFactors(ref, int(s-attn.StepQ))...)
	case attn.StepS:
		return hs
	}
	return append(hs, rowFactors()...)
}

// scaleFactors are the scales of other heads and other tensors in place of a decoded tile's own.
func scaleFactors(ref *attn.Reference, tensor int) []hypothesis {
	in := ref.Inputs()
	if in.Quant == nil {
		return nil
	}
	name := attn.Tensors[tensor] + "s[h]"
	ratio := func(value string, other func(head int) float64) hypothesis {
		return scaling(value, func(sc *scene, _, _ int) (float64, float64, bool) {
			h := sc.blk.Head
			return other(h) / float64(in.Scales[tensor][h]), 0, true
		})
	}
	var hs []hypothesis
	heads := in.Shape.H
	for o := 1; o < min(heads, 9); o++ {
		value := fmt.Sprintf("%ss[(h+%d) %% H]/%s", attn.Tensors[tensor], o, name)
		if o == 1 {
			value = fmt.Sprintf("%ss[h+1]/%s", attn.Tensors[tensor], name)
		}
		hs = append(hs, ratio(value, func(h int) float64 { return float64(in.Scales[tensor][(h+o)%heads]) }))
	}
	if heads > 1 {
		hs = append(hs, ratio(attn.Tensors[tensor]+"s[0]/"+name, func(int) float64 { return float64(in.Scales[tensor][0]) }))
	}
	for t := range 3 {
		if t != tensor {
			hs = append(hs, ratio(attn.Tensors[t]+"s[h]/"+name, func(h int) float64 { return float64(in.Scales[t][h]) }))
		}
	}
	hs = append(hs, ratio("1/"+name+": the scale left out", func(int) float64 { return 1 }))
	hs = append(hs, ratio(name+": the scale applied twice", func(h int) float64 { v := float64(in.Scales[tensor][h]); return v * v }))
	hs = append(hs, constant("levels/max: the range left out", in.Quant.Levels/in.Quant.Max))
	return append(hs, constant("levels/(levels+1/2)", in.Quant.Levels/(in.Quant.Levels+0.5)), constant("levels/(levels+1)", in.Quant.Levels/(in.Quant.Levels+1)))
}

// rowFactors are the online softmax's quantities of a row, from the kernel's own m and l.
func rowFactors() []hypothesis {
	type quantity = func(sc *scene, r int) (q, rel float64, ok bool)
	exp := func(sign float64) quantity {
		return func(sc *scene, r int) (float64, float64, bool) {
			old, now, ok := sc.maxima(r)
			return math.Exp(sign * (now - old)), sc.exp.rel(old, now, 0), ok
		}
	}
	sum := func(power int) quantity {
		return func(sc *scene, r int) (float64, float64, bool) {
			if !sc.own[attn.StepL].ok {
				return 0, 0, false
			}
			l := sc.own[attn.StepL].m.Data[r]
			if power < 0 {
				l = 1 / l
			}
			return l, 0, true
		}
	}
	top := func(sc *scene, r int) (float64, float64, bool) {
		_, now, ok := sc.maxima(r)
		return math.Exp(now), sc.exp.rel(now, 0, 0), ok
	}
	var hs []hypothesis
	for _, x := range []struct {
		value string
		q     quantity
	}{
		{"exp(m_new − m_old) by row", exp(1)}, {"exp(m_old − m_new) by row", exp(-1)},
		{"1/l by row", sum(-1)}, {"l by row", sum(1)}, {"exp(m) by row: no maximum subtracted", top},
	} {
		hs = append(hs, scaling(x.value, func(sc *scene, r, _ int) (float64, float64, bool) { return x.q(sc, r) }))
	}
	return hs
}

// maxima returns the kernel's own m of the tile before (-Inf at the first) and of this one, in natural units.
func (sc *scene) maxima(r int) (old, now float64, ok bool) {
	old = math.Inf(-1)
	if sc.t > 0 {
		if !sc.was[attn.StepM].ok {
			return 0, 0, false
		}
		old = sc.was[attn.StepM].m.Data[r] / sc.maxUnit
	}
	if !sc.own[attn.StepM].ok {
		return 0, 0, false
	}
	return old, sc.own[attn.StepM].m.Data[r] / sc.maxUnit, true
}

// maximumFactors scale the tile's own row maximum, beside m_old.
func maximumFactors(scale float64) []hypothesis {
	var hs []hypothesis
	for _, x := range []struct {
		value string
		q     float64
	}{{"softmax_scale", scale}, {"1/softmax_scale", 1 / scale}, {"log2 e", math.Log2E}, {"ln 2", math.Ln2}, {"-1: the sign", -1}} {
		hs = append(hs, hypothesis{name: Factor, value: fmt.Sprintf("%s (%.6g) on the tile's row maximum", x.value, x.q),
			predict: func(sc *scene, v, pre []float64) (int, bool) {
				for k, r := range sc.bad {
					old, top, ok := sc.rowMaximum(r, x.q)
					if !ok {
						return 0, false
					}
					v[k], pre[k] = max(old, top)*sc.maxUnit, math.Abs(top)*opRel
				}
				return 0, true
			}})
	}
	return hs
}

// rowMaximum returns m_old and the maximum of q·s over the visible keys of row r, natural, from the kernel's own S.
func (sc *scene) rowMaximum(r int, q float64) (old, top float64, ok bool) {
	if !sc.own[attn.StepS].ok || sc.t > 0 && !sc.was[attn.StepM].ok {
		return 0, 0, false
	}
	old, top = math.Inf(-1), math.Inf(-1)
	if sc.t > 0 {
		old = sc.was[attn.StepM].m.Data[r] / sc.maxUnit
	}
	row := sc.own[attn.StepS].m.Row(r)
	for j := range sc.blk.Tiles[sc.t].Keys {
		if s := row[j] * sc.unit * q; s > top && sc.blk.Visible(sc.t, r, j) {
			top = s
		}
	}
	return old, top, true
}

// offsetHypotheses add whole or half codes to a decoded tile.
func offsetHypotheses(ref *attn.Reference, s attn.Step) []hypothesis {
	in := ref.Inputs()
	if s > attn.StepV || in.Quant == nil {
		return nil
	}
	tensor := int(s - attn.StepQ)
	var hs []hypothesis
	zero := float64(in.Quant.Zero)
	for _, steps := range []float64{zero, -zero, 1, -1, 0.5, -0.5} {
		value := fmt.Sprintf("%g steps of max/levels·%ss[h]", steps, attn.Tensors[tensor])
		if math.Abs(steps) == zero {
			value += ": the zero point"
		}
		hs = append(hs, hypothesis{name: Offset, value: value, predict: func(sc *scene, v, pre []float64) (int, bool) {
			d := steps * in.Step(tensor, sc.blk.Head)
			for k, i := range sc.bad {
				v[k] = sc.e.ref.Data[i] + d
				pre[k] = sc.coefs[termDecode] * (math.Abs(v[k]) + math.Abs(d))
			}
			return 0, true
		}})
	}
	return hs
}
