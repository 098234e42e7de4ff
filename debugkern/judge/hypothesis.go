package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/ref/op"
)

// The contract's fingerprint names.
const (
	Transposed        = "transposed"
	OperandTransposed = "operand-transposed"
	OperandPermuted   = "operand-permuted"
	Permuted          = "permuted"
	Repeated          = "repeated"
	Expression        = "expression"
	Operand           = "operand"
	Rounded           = "rounded"
	Shifted           = "shifted"
	Factor            = "factor"
	Offset            = "offset"
	Term              = "term"
	PreviousTile      = "previous-tile"
	HalfMissing       = "half-missing"
	PartMissing       = "part-missing"
	Zero              = "zero"
	WarpRows          = "warp-rows"
	LastTile          = "last-tile"
	Mask              = "mask"
)

// opRel is the relative error of one float32 operation more than the stage's bound counts.
const opRel = op.OpRel

// hypotheses lists what a wrong tile of a stage is tried against: quantities of the algorithm
// before fitted ones.
func (j *Judgement) hypotheses(i int, sv *survey) []hypothesis {
	sp := j.g.Stage(i)
	var hs []hypothesis
	masks, others := j.mistakes(i)
	hs = append(hs, masks...)
	hs = append(hs, j.operatorHypotheses(i)...)
	hs = append(hs, j.halfTerms(i)...)
	hs = append(hs, j.partTerms(i)...)
	hs = append(hs, j.factorHypotheses(i)...)
	hs = append(hs, others...)
	hs = append(hs, j.operandHypotheses(i)...)
	hs = append(hs, moveHypotheses(sp)...)
	hs = append(hs, j.placeHypotheses(i)...)
	hs = append(hs, j.otherOperands(i)...)
	hs = append(hs, roundedHypotheses(sp)...)
	hs = append(hs, j.measured(i, sv)...)
	return append(hs, fittedHypotheses(sp)...)
}

// operatorHypotheses are the mistakes that are typical for the stage's operator.
func (j *Judgement) operatorHypotheses(i int) []hypothesis {
	var hs []hypothesis
	for _, h := range j.g.Suspects(i) {
		hs = append(hs, hypothesis{
			name: h.Name, value: h.Value, zero: h.Zero,
			predict: func(sc *scene, v, pre []float64) (int, bool) {
				if h.Own && !sc.terms() {
					return 0, false
				}
				return 0, h.Predict(&sc.op, v, pre)
			},
		})
	}
	return hs
}

// mistakes are the wrong masks of the operations that a stage is made of, and the other mistakes of those.
func (j *Judgement) mistakes(i int) (masks, others []hypothesis) {
	for _, m := range j.g.Mistakes(i) {
		h := hypothesis{
			name: m.Name, value: m.Value, predict: func(sc *scene, v, pre []float64) (int, bool) {
				if !sc.terms() || !m.Applies(&sc.op) {
					return 0, false
				}
				made, err := m.Make(sc.local, sc.i)
				for k, c := range sc.cells {
					v[k], pre[k] = made.Data[c], err.Data[c]
				}
				return 0, true
			},
		}
		if h.name == "" {
			h.name, h.zero = Mask, true // what it hides is 0
			masks = append(masks, h)
		} else {
			others = append(others, h)
		}
	}
	return masks, others
}

// scaling is a hypothesis that every cell is the right one times a quantity; f gives it for a row and column
// with its own relative error, ok false where it does not exist.
func scaling(value string, f func(sc *scene, r, c int) (q, rel float64, ok bool)) hypothesis {
	return hypothesis{name: Factor, value: value, predict: func(sc *scene, v, pre []float64) (int, bool) {
		for k, i := range sc.cells {
			q, rel, ok := f(sc, i/sc.stride, i%sc.stride)
			if !ok {
				return 0, false
			}
			if v[k], pre[k] = math.NaN(), 0; !sc.wrong[i] && (q == 0 || math.IsInf(q, 0)) {
				continue // a quantity that does not exist yet, as the maximum before the first iteration
			}
			v[k] = sc.e.Ref.Data[i] * q
			pre[k] = math.Abs(q)*sc.e.Pre.Data[i] + math.Abs(v[k])*(rel+opRel)
		}
		return 0, true
	}}
}

func constant(value string, q float64) hypothesis {
	return scaling(fmt.Sprintf("%s (%.6g)", value, q), func(*scene, int, int) (float64, float64, bool) {
		return q, 0, true
	})
}

// factorHypotheses are the quantities of the algorithm that a stage may be multiplied by once too often, or
// not at all: constants, and the columns of numbers by row that the graph has.
func (j *Judgement) factorHypotheses(i int) []hypothesis {
	if j.g.Maximum(i) {
		return nil // of a maximum the factor is on what it is taken of: its operator's
	}
	var hs []hypothesis
	own := j.g.Factors(i)
	for _, c := range j.g.Constants() {
		twice, not := constant(c.Name, c.Value), constant("1/"+c.Name, 1/c.Value)
		if slices.Contains(own, c) {
			twice.value += ": multiplied by it twice"
			not.value += ": not multiplied by it"
		}
		hs = append(hs, twice, not)
	}
	for _, c := range []op.Constant{{Name: "2", Value: 2}, {Name: "1/2", Value: 0.5}} {
		h := constant(c.Name, c.Value)
		h.value = c.Name
		hs = append(hs, h)
	}
	hs = append(hs, constant("-1: the sign", -1), constant("log2 e", math.Log2E), constant("ln 2", math.Ln2))
	return append(hs, j.rowFactors(i)...)
}

// rowFactors are the columns of numbers by row, from the kernel's own tiles: of what is computed relative to
// a maximum, exponentials of that; of any other column of the same iteration, the number and its reciprocal.
func (j *Judgement) rowFactors(i int) []hypothesis {
	var hs []hypothesis
	rows := j.g.Stage(i).Rows
	for c := range j.g.Stages() {
		sp := j.g.Stage(c)
		if sp.Cols != 1 || sp.Rows != rows || sp.Loaded || !j.g.Related(i, c) {
			continue
		}
		byRow := func(value string, q func(sc *scene, r int) (q, rel float64, ok bool)) {
			hs = append(hs, scaling(value, func(sc *scene, r, _ int) (float64, float64, bool) {
				return q(sc, r)
			}))
		}
		hs = append(hs, j.powers(i, c)...)
		if !j.g.Maximum(c) {
			continue
		}
		for _, sign := range []float64{1, -1} {
			value := fmt.Sprintf("exp(%s_new − %s_old) by row", sp.Stage, sp.Stage)
			if sign < 0 {
				value = fmt.Sprintf("exp(%s_old − %s_new) by row", sp.Stage, sp.Stage)
			}
			byRow(value, func(sc *scene, r int) (float64, float64, bool) {
				old, now, ok := sc.maxima(c, r)
				return math.Exp(sign * (now - old)), op.ExpError(sc.local.Coefs(), old, now), ok
			})
		}
		byRow(fmt.Sprintf("exp(%s) by row: no maximum subtracted", sp.Stage),
			func(sc *scene, r int) (float64, float64, bool) {
				_, now, ok := sc.maxima(c, r)
				return math.Exp(now), op.ExpError(sc.local.Coefs(), now, 0), ok
			})
	}
	return hs
}

// powers are factors by row that a column of numbers makes: its powers, and its quotients with other columns.
// Of a column that the stage is divided by they have names.
func (j *Judgement) powers(i, c int) []hypothesis {
	var hs []hypothesis
	name, rows := j.g.Stage(c).Stage.String(), j.g.Stage(i).Rows
	add := func(value string, q func(x float64) float64) {
		hs = append(hs, scaling(value, func(sc *scene, r, _ int) (float64, float64, bool) {
			x, ok := sc.column(c, r)
			return q(x), opRel, ok
		}))
	}
	divisor := j.g.Divisor(i) == c
	words := func(text string) string {
		if divisor {
			return ": " + text
		}
		return ""
	}
	add("1/"+name+" by row"+words("divided by "+name+" twice"), func(x float64) float64 { return 1 / x })
	add(name+" by row"+words("not divided by "+name), func(x float64) float64 { return x })
	add(name+"² by row"+words("multiplied by "+name+", where it is divided"),
		func(x float64) float64 { return x * x })
	add("1/"+name+"² by row", func(x float64) float64 { return 1 / (x * x) })
	add("√"+name+" by row", math.Sqrt)
	add("1/√"+name+" by row", func(x float64) float64 { return 1 / math.Sqrt(x) })
	for d := range j.g.Stages() {
		sp := j.g.Stage(d)
		if d == c || sp.Cols != 1 || sp.Rows != rows || sp.Loaded || !j.g.Related(i, d) {
			continue
		}
		value := fmt.Sprintf("%s/%s by row", name, sp.Stage)
		if divisor {
			value += fmt.Sprintf(": divided by %s in place of %s", sp.Stage, name)
		}
		hs = append(hs, scaling(value, func(sc *scene, r, _ int) (float64, float64, bool) {
			x, ok := sc.column(c, r)
			y, also := sc.column(d, r)
			return x / y, opRel, ok && also
		}))
	}
	return hs
}

// column is the kernel's own number of a row, in natural units.
func (sc *scene) column(c, r int) (x float64, ok bool) {
	if !sc.captured[c].ok {
		return 0, false
	}
	return sc.captured[c].m.Data[r] * sc.g.Stage(c).Natural(), true
}

// maxima returns the kernel's own maximum of a row after the iteration before (-Inf at the first) and after
// this one, in natural units.
func (sc *scene) maxima(c, r int) (old, now float64, ok bool) {
	old = math.Inf(-1)
	unit := sc.g.Stage(c).Natural()
	if sc.t > 0 {
		if !sc.previous[c].ok {
			return 0, 0, false
		}
		old = sc.previous[c].m.Data[r] * unit
	}
	if !sc.captured[c].ok {
		return 0, 0, false
	}
	return old, sc.captured[c].m.Data[r] * unit, true
}

// operandHypotheses compute the stage from a transposed operand, or from one whose values have changed
// places.
func (j *Judgement) operandHypotheses(i int) []hypothesis {
	if _, ok := j.g.Linear(i); !ok {
		return nil
	}
	type turn struct {
		name, text string
		turn       func(op.Matrix) op.Matrix
	}
	turns := []turn{
		{OperandTransposed, "each 16×16 block transposed in place (row- and column-major confused)", blockTranspose},
		{OperandTransposed, "the whole tile read as its transpose", retile},
	}
	for _, x := range permutations() {
		turns = append(turns, turn{OperandPermuted, x.value, x.matrix})
	}
	var hs []hypothesis
	uses := slices.Clone(j.g.Uses(i))
	slices.Reverse(uses) // the right operand before the left one
	for _, how := range turns {
		for _, u := range uses {
			sp := j.g.Stage(u.Stage)
			if u.Before || u.Needs == op.SameCell || sp.Cols == 1 || sp.Rows == 1 {
				continue
			}
			hs = append(hs, hypothesis{
				name: how.name, value: j.g.OperandName(i, u.Stage) + ": " + how.text,
				predict: func(sc *scene, v, pre []float64) (int, bool) {
					if !sc.terms() {
						return 0, false
					}
					m, err := sc.local.Again(sc.i, u.Stage, false, func(x op.Value) op.Value {
						x.M = how.turn(x.M)
						return x
					})
					for k, c := range sc.cells {
						v[k], pre[k] = m.Data[c], err.Data[c]
					}
					return 0, true
				},
			})
		}
	}
	return hs
}

// blockTranspose transposes each 16×16 block in place.
func blockTranspose(m op.Matrix) op.Matrix {
	out := op.NewMatrix(m.Rows, m.Cols)
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

// retile reads the memory of an R×C row-major array as C×R row-major, and transposes that: cell (r,
// c) is element c·R + r.
func retile(m op.Matrix) op.Matrix {
	out := op.NewMatrix(m.Rows, m.Cols)
	for r := range m.Rows {
		for c := range m.Cols {
			out.Data[r*m.Cols+c] = m.Data[c*m.Rows+r]
		}
	}
	return out
}

// halfTerms count one half of a sum twice, or not at all.
func (j *Judgement) halfTerms(i int) []hypothesis {
	over, ok := j.g.Linear(i)
	if !ok {
		return nil
	}
	var hs []hypothesis
	for _, x := range []struct {
		name, value string
		a, b        float64
	}{
		{Term, "one half: first half " + over + ", coefficient 2", 2, 1},
		{Term, "one half: second half " + over + ", coefficient 2", 1, 2},
		{HalfMissing, "first half " + over, 0, 1}, {HalfMissing, "second half " + over, 1, 0},
	} {
		hs = append(hs, hypothesis{
			name: x.name, value: x.value, predict: func(sc *scene, v, pre []float64) (int, bool) {
				lo, hi, ok := sc.halves()
				if !ok {
					return 0, false
				}
				for k, i := range sc.cells {
					whole := sc.e.Ref.Data[i] - lo.Data[i] - hi.Data[i] // the carried part
					v[k] = whole + x.a*lo.Data[i] + x.b*hi.Data[i]
					pre[k] = 2*sc.e.Pre.Data[i] + math.Abs(v[k])*opRel
				}
				return 0, true
			},
		})
	}
	return hs
}

// partTerms leave columns of a sum out, those that a lane or an element of a fragment has of every few.
func (j *Judgement) partTerms(i int) []hypothesis {
	over, ok := j.g.Linear(i)
	if !ok {
		return nil
	}
	groups := []int{1, 2, 4, 8, 16} // columns next to each other that go together
	if j.g.Stage(i).Cols > 1 {
		groups = []int{8, 16} // of a product: those of a step
	}
	var hs []hypothesis
	add := func(value string, part func(j, n int) bool) {
		hs = append(hs, hypothesis{
			name: PartMissing, value: value, predict: func(sc *scene, v, pre []float64) (int, bool) {
				if !sc.terms() {
					return 0, false
				}
				all := op.NewMatrix(sc.e.Ref.Rows, sc.e.Ref.Cols)
				some := op.NewMatrix(sc.e.Ref.Rows, sc.e.Ref.Cols)
				n := sc.op.Summed()
				sc.op.Part(func(int) bool { return true }, all)
				sc.op.Part(func(j int) bool { return part(j, n) }, some)
				for k, i := range sc.cells {
					v[k] = sc.e.Ref.Data[i] - all.Data[i] + some.Data[i]
					pre[k] = 2*sc.e.Pre.Data[i] + math.Abs(v[k])*opRel
				}
				return 0, true
			},
		})
	}
	noun := "columns"
	if !strings.HasPrefix(over, "of ") {
		noun = over
	}
	one := strings.TrimSuffix(noun, "s")
	if y, ok := strings.CutSuffix(noun, "ies"); ok {
		one = y + "y"
	}
	add("the first "+one+" of a tile takes no part in the sum", func(j, _ int) bool { return j > 0 })
	add("the last "+one+" of a tile takes no part in the sum", func(j, n int) bool { return j < n-1 })
	for _, n := range groups {
		for _, of := range []int{2, 4} {
			for g := range of {
				which := fmt.Sprintf("%s %d–%d of every %d", noun, g*n, (g+1)*n-1, of*n)
				if n == 1 {
					which = fmt.Sprintf("%s %d of every %d", noun, g, of)
				}
				missing := which + " take no part in the sum"
				if of == 2 {
					missing += ": half of the terms"
				}
				add(missing, func(j, _ int) bool { return j/n%of != g })
				if of > 2 {
					add("only "+which+" take part in the sum: a quarter of the terms",
						func(j, _ int) bool { return j/n%of == g })
				}
			}
		}
	}
	return hs
}

// halves are the two halves of the tile's own sum, without what is carried over.
func (sc *scene) halves() (lo, hi op.Matrix, ok bool) {
	if !sc.terms() {
		return lo, hi, false
	}
	if !sc.halved {
		sc.halved = true
		for k := range sc.spare {
			sc.spare[k] = op.NewMatrix(sc.e.Ref.Rows, sc.e.Ref.Cols)
			sc.op.Half(k == 1, sc.spare[k])
		}
	}
	return sc.spare[0], sc.spare[1], true
}
