package diff

import (
	"math"

	"tilescope/debugkern/attn"
)

// termHypotheses are sums of a stage's own terms with other coefficients.
func termHypotheses(s attn.Step) []hypothesis {
	switch s {
	case attn.StepM:
		return []hypothesis{
			{name: Term, value: "carried m left out", predict: maximumOf(true)},
			{name: Term, value: "the tile's row maximum left out", predict: maximumOf(false)},
		}
	case attn.StepL, attn.StepU:
		return append(carriedTerms(s), halfTerms(s)...)
	case attn.StepS:
		return halfTerms(s)
	}
	return nil
}

func maximumOf(tile bool) func(sc *scene, v, pre []float64) (int, bool) {
	return func(sc *scene, v, pre []float64) (int, bool) {
		for k, r := range sc.bad {
			old, top, ok := sc.rowMaximum(r, 1)
			if !ok {
				return 0, false
			}
			v[k], pre[k] = old*sc.maxUnit, 0
			if tile {
				v[k] = top * sc.maxUnit
			}
		}
		return 0, true
	}
}

// carriedTerms change the coefficient of the carried state (right: exp(m_old − m_new)) or of the tile's own sum (right: 1).
// Each is given as a power of that exponential times a number.
func carriedTerms(s attn.Step) []hypothesis {
	carried, made := "carried l", "the tile's Σ P"
	if s == attn.StepU {
		carried, made = "carried U", "the tile's P·V"
	}
	var hs []hypothesis
	for _, x := range []struct {
		value     string
		power     float64 // of exp(m_old − m_new)
		old, made float64
		madePower float64
	}{
		{carried + ", coefficient 1 instead of exp(m_old − m_new)", 0, 1, 1, 0},
		{carried + ", coefficient exp(m_old − m_new) squared", 2, 1, 1, 0},
		{carried + ", coefficient exp(m_new − m_old): the rescale inverted", -1, 1, 1, 0},
		{carried + " left out", 1, 0, 1, 0},
		{carried + " counted twice", 1, 2, 1, 0},
		{made + " left out", 1, 1, 0, 0},
		{made + " counted twice", 1, 1, 2, 0},
		{made + ", coefficient exp(m_new − m_old): relative to the old maximum", 1, 1, 1, -1},
		{made + " rescaled too, by exp(m_old − m_new)", 1, 1, 1, 1},
	} {
		hs = append(hs, hypothesis{name: Term, value: x.value, predict: func(sc *scene, v, pre []float64) (int, bool) {
			if !sc.terms() {
				return 0, false
			}
			for k, i := range sc.bad {
				old, made, madeErr, c, rel := sc.parts(i)
				a, b := x.old*math.Pow(c, x.power), x.made*math.Pow(c, x.madePower)
				if old == 0 {
					a = 0
				}
				v[k] = a*old + b*made
				pre[k] = math.Abs(b)*madeErr + math.Abs(b*made)*(math.Abs(x.madePower)*rel+opRel) + math.Abs(a*old)*(math.Abs(x.power)*(rel+u32)+opRel)
			}
			return 0, true
		}})
	}
	return hs
}

// terms reports whether the stage's own terms are at hand, which they are where its local estimate was made from them.
func (sc *scene) terms() bool { return sc.fromOwn(sc.s) }

// parts splits a cell of l or U into its carried state before rescaling, the tile's own sum with its error, and the right
// coefficient of the first with its relative error.
func (sc *scene) parts(i int) (old, made, madeErr, carry, rel float64) {
	r := i / sc.stride
	carry, rel = sc.carry[r], sc.cerr[r]
	if sc.t > 0 {
		old = sc.was[sc.s].m.Data[i]
	}
	if sc.s == attn.StepL {
		keys := float64(sc.blk.Tiles[sc.t].Keys)
		return old, sc.sums[r], sc.errs[r] + keys*u32*sc.sums[r], carry, rel
	}
	return old, sc.work.pv.Data[i], sc.work.err.Data[i], carry, rel
}

// halfTerms count one half of a sum of products twice, or not at all.
func halfTerms(s attn.Step) []hypothesis {
	over := "keys"
	if s == attn.StepS {
		over = "of D"
	}
	var hs []hypothesis
	for _, x := range []struct {
		name, value string
		a, b        float64
	}{
		{Term, "one half: first half " + over + ", coefficient 2", 2, 1}, {Term, "one half: second half " + over + ", coefficient 2", 1, 2},
		{HalfMissing, "first half " + over, 0, 1}, {HalfMissing, "second half " + over, 1, 0},
	} {
		hs = append(hs, hypothesis{name: x.name, value: x.value, predict: func(sc *scene, v, pre []float64) (int, bool) {
			lo, hi, ok := sc.halves()
			if !ok {
				return 0, false
			}
			for k, i := range sc.bad {
				whole := sc.e.ref.Data[i] - lo.Data[i] - hi.Data[i] // the carried part
				v[k] = whole + x.a*lo.Data[i] + x.b*hi.Data[i]
				pre[k] = 2*sc.e.pre.Data[i] + math.Abs(v[k])*opRel
			}
			return 0, true
		}})
	}
	return hs
}

// halves are the two halves of the tile's own sum, in the stage's unit: over keys for l and U, over D for S.
func (sc *scene) halves() (lo, hi attn.Matrix, ok bool) {
	if !sc.terms() {
		return lo, hi, false
	}
	if lo, hi = sc.spare[0], sc.spare[1]; sc.halved {
		return lo, hi, true
	}
	sc.halved = true
	for k := range sc.spare {
		if sc.spare[k].Rows == 0 {
			sc.spare[k] = attn.NewMatrix(sc.e.ref.Rows, sc.e.ref.Cols)
		}
		clear(sc.spare[k].Data)
	}
	lo, hi = sc.spare[0], sc.spare[1]
	keys := sc.blk.Tiles[sc.t].Keys
	switch sc.s {
	case attn.StepU:
		half := sc.own[attn.StepP].m.Cols / 2
		attn.Accumulate(lo, sc.own[attn.StepP].m, sc.own[attn.StepV].m, sc.blk.Rows, 0, half)
		attn.Accumulate(hi, sc.own[attn.StepP].m, sc.own[attn.StepV].m, sc.blk.Rows, half, 2*half)
	case attn.StepL:
		p := sc.local[attn.StepP].ref
		for r := range sc.blk.Rows {
			for j, x := range p.Row(r)[:keys] {
				sc.spare[min(1, 2*j/p.Cols)].Data[r] += x
			}
		}
	case attn.StepS:
		q, k := sc.own[attn.StepQ].m, sc.own[attn.StepK].m
		sc.first = resize(sc.first, 2*len(hi.Data))
		attn.Scores(hi, q, k, sc.blk.Rows, keys, sc.scale, sc.first, (q.Cols+1)/2)
		for r := range sc.blk.Rows {
			for j := range keys {
				i := r*lo.Cols + j
				lo.Data[i] = sc.first[2*i] * sc.scale
				hi.Data[i] -= lo.Data[i]
			}
		}
	}
	return lo, hi, true
}

// operandHypotheses compute the stage again from an operand that was read the other way round: each 16×16 block of it
// transposed in place (pointer and leading dimension stay), or the whole array taken for its transpose.
func operandHypotheses(s attn.Step) []hypothesis {
	var left, right attn.Step
	switch s {
	case attn.StepS:
		left, right = attn.StepQ, attn.StepK
	case attn.StepU:
		left, right = attn.StepP, attn.StepV
	default:
		return nil
	}
	name := map[attn.Step]string{attn.StepQ: "Q", attn.StepK: "Kᵀ", attn.StepP: "P", attn.StepV: "V"}
	var hs []hypothesis
	for _, x := range []struct {
		operand attn.Step
		how     string
		turn    func(attn.Matrix) attn.Matrix
	}{
		{right, ": each 16×16 block transposed in place (row- and column-major confused)", blockTranspose},
		{left, ": each 16×16 block transposed in place (row- and column-major confused)", blockTranspose},
		{right, ": the whole tile read as its transpose", retile},
		{left, ": the whole tile read as its transpose", retile},
	} {
		hs = append(hs, hypothesis{name: OperandTransposed, value: name[x.operand] + x.how, predict: func(sc *scene, v, pre []float64) (int, bool) {
			if !sc.terms() {
				return 0, false
			}
			a, b := sc.own[left].m, sc.own[right].m
			if x.operand == left {
				a = x.turn(a)
			} else {
				b = x.turn(b)
			}
			sc.again(a, b, v, pre)
			return 0, true
		}})
	}
	return hs
}

// again makes the stage's estimate from other operands and reads the bad cells from it.
func (sc *scene) again(a, b attn.Matrix, v, pre []float64) {
	e := newEstimate(sc.e.ref.Rows, sc.e.ref.Cols)
	var left, right operand
	rows := sc.blk.Rows
	if sc.s == attn.StepS {
		keys := sc.blk.Tiles[sc.t].Keys
		sc.rowOperand(&left, a, nil, rows, sc.scores)
		sc.rowOperand(&right, b, nil, keys, sc.scores)
		sc.scoresOf(e, &left, &right, rows, keys, nil)
	} else {
		w := newSumWork(e.ref.Rows, e.ref.Cols)
		sc.rowOperand(&left, a, nil, rows, sc.output)
		sc.columnOperand(&right, b, nil, b.Rows, sc.output)
		before, _ := sc.walker.before(attn.StepU, sc.zero)
		sc.weightedOf(e, &left, &right, before, sc.carry, sc.cerr, rows, b.Rows, &w)
	}
	for k, i := range sc.bad {
		v[k], pre[k] = e.ref.Data[i], e.pre.Data[i]
	}
}

// blockTranspose transposes each 16×16 block in place.
func blockTranspose(m attn.Matrix) attn.Matrix {
	out := attn.NewMatrix(m.Rows, m.Cols)
	for r := range m.Rows {
		for c := range m.Cols {
			br, bc := r&^15+c&15, c&^15+r&15
			if br < m.Rows && bc < m.Cols {
				out.Data[br*m.Cols+bc] = m.At(r, c)
			}
		}
	}
	return out
}

// retile reads the memory of an R×C row-major array as C×R row-major, and transposes that: cell (r, c) is element c·R + r.
func retile(m attn.Matrix) attn.Matrix {
	out := attn.NewMatrix(m.Rows, m.Cols)
	for r := range m.Rows {
		for c := range m.Cols {
			out.Data[r*m.Cols+c] = m.Data[c*m.Rows+r]
		}
	}
	return out
}
