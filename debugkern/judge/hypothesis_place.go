package judge

import (
	"fmt"
	"math"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// moving is a hypothesis that cell (r, c) holds what belongs to another cell of the right tile. It says
// nothing of a right cell in whose place a right cell's value would be: values may have changed places
// elsewhere alone.
func moving(name, value string, fitted int, from func(sc *scene, r, c int) (int, int)) hypothesis {
	return hypothesis{
		name: name, value: value, fitted: fitted, whole: true,
		predict: func(sc *scene, v, pre []float64) (int, bool) {
			for k, i := range sc.cells {
				r, c := from(sc, i/sc.stride, i%sc.stride)
				v[k], pre[k] = math.NaN(), 0
				if r >= 0 && c >= 0 && r < sc.rows && c < sc.cols &&
					(sc.wrong[i] || sc.wrong[r*sc.stride+c]) {
					v[k], pre[k] = sc.e.Ref.At(r, c), sc.e.Pre.At(r, c)
				}
			}
			return 0, true
		},
	}
}

// moveHypotheses permute, transpose and shift the right tile.
func moveHypotheses(sp *probes.StagePlan) []hypothesis {
	if sp.Cols == 1 {
		return shifts(true)
	}
	hs := []hypothesis{
		moving(Transposed, "the whole tile", 0, func(_ *scene, r, c int) (int, int) { return c, r }),
		moving(Transposed, "each 16×16 block", 0, func(_ *scene, r, c int) (int, int) {
			return r&^15 + c&15, c&^15 + r&15
		}),
	}
	for _, x := range permutations() {
		hs = append(hs, moving(Permuted, x.value, 0, func(sc *scene, r, c int) (int, int) {
			return x.from(sc.rows, sc.cols, r, c)
		}))
	}
	return append(append(hs, repeats()...), shifts(false)...)
}

// permutation is a tile whose values have changed places: cell (r, c) of one of rows×cols valid cells holds
// what belongs to the cell that from gives.
type permutation struct {
	value string
	from  func(rows, cols, r, c int) (int, int)
}

// matrix is a tile with its values in these places; those that would come from outside stay.
func (p *permutation) matrix(m op.Matrix) op.Matrix {
	out := op.NewMatrix(m.Rows, m.Cols)
	copy(out.Data, m.Data)
	for r := range m.Rows {
		for c := range m.Cols {
			if x, y := p.from(m.Rows, m.Cols, r, c); x >= 0 && y >= 0 && x < m.Rows && y < m.Cols {
				out.Data[r*m.Cols+c] = m.At(x, y)
			}
		}
	}
	return out
}

// permutations are those that layouts, swizzles and fragments make.
func permutations() []permutation {
	return []permutation{
		{"rows r and r^8 exchanged", func(_, _, r, c int) (int, int) { return r ^ 8, c }},
		{"columns c and c^8 exchanged", func(_, _, r, c int) (int, int) { return r, c ^ 8 }},
		{"rows r and r^16 exchanged", func(_, _, r, c int) (int, int) { return r ^ 16, c }},
		{"columns c and c^16 exchanged", func(_, _, r, c int) (int, int) { return r, c ^ 16 }},
		{"neighbouring rows exchanged", func(_, _, r, c int) (int, int) { return r ^ 1, c }},
		{"neighbouring columns exchanged", func(_, _, r, c int) (int, int) { return r, c ^ 1 }},
		{
			"accumulator elements in row order: (r+8, c) and (r, c+8) of each 16×16 block exchanged",
			func(_, _, r, c int) (int, int) {
				if (r^c)&8 != 0 {
					return r ^ 8, c ^ 8
				}
				return r, c
			},
		},
		{
			"the 16×16 blocks off the diagonal of each 32×32 exchanged",
			func(_, _, r, c int) (int, int) {
				if (r^c)&16 != 0 {
					return r ^ 16, c ^ 16
				}
				return r, c
			},
		},
		{"columns c^8 on odd rows: swizzled on one side only",
			func(_, _, r, c int) (int, int) { return r, c ^ (r&1)*8 }},
		{"rows reversed", func(rows, _, r, c int) (int, int) { return rows - 1 - r, c }},
		{"columns reversed", func(_, cols, r, c int) (int, int) { return r, cols - 1 - c }},
		{"columns c^8 where bit 3 of the row is set", func(_, _, r, c int) (int, int) { return r, c ^ r&8 }},
		{"rows r and r+8 exchanged where bit 3 of the column is set",
			func(_, _, r, c int) (int, int) { return r ^ c&8, c }},
	}
}

// repeats are rows or columns that hold another's values, which stand in their own place too.
func repeats() []hypothesis {
	var hs []hypothesis
	for _, k := range []int{1, 2, 4, 8, 16, 32} {
		for _, x := range []struct {
			noun string
			from func(_ *scene, r, c int) (int, int)
			up   bool
		}{
			{"columns", func(_ *scene, r, c int) (int, int) { return r, c &^ k }, false},
			{"columns", func(_ *scene, r, c int) (int, int) { return r, c | k }, true},
			{"rows", func(_ *scene, r, c int) (int, int) { return r &^ k, c }, false},
			{"rows", func(_ *scene, r, c int) (int, int) { return r | k, c }, true},
		} {
			hs = append(hs, moving(Repeated, repeatText(x.noun, k, x.up), 0, x.from))
		}
	}
	return hs
}

// repeatText says which rows or columns hold whose values, where k is how far apart they are.
func repeatText(noun string, k int, up bool) string {
	one := noun[:len(noun)-1]
	switch {
	case k == 1 && up:
		return fmt.Sprintf("even %s hold the values of the odd %s after them", noun, one)
	case k == 1:
		return fmt.Sprintf("odd %s hold the values of the even %s before them", noun, one)
	case up:
		return fmt.Sprintf("%s %d–%d of every %d hold the values of those %d further on", noun, 0, k-1, 2*k, k)
	}
	return fmt.Sprintf("%s %d–%d of every %d hold the values of those %d before", noun, k, 2*k-1, 2*k, k)
}

// shifts move the right tile by whole rows or columns; how far is a fitted number.
func shifts(rowsOnly bool) []hypothesis {
	var hs []hypothesis
	for _, d := range []int{1, -1, 2, -2, 4, -4, 8, -8, 16, -16} {
		hs = append(hs, moving(Shifted, fmt.Sprintf("by %+d rows", d), 1,
			func(_ *scene, r, c int) (int, int) { return r - d, c }))
		if !rowsOnly {
			hs = append(hs, moving(Shifted, fmt.Sprintf("by %+d columns", d), 1,
				func(_ *scene, r, c int) (int, int) { return r, c - d }))
		}
	}
	return hs
}

// replacing is a hypothesis that the cells of some region hold something else, and the others are right.
func replacing(
	name, value string, in func(sc *scene, r, c int) bool,
	by func(sc *scene, i int) (v, pre float64, ok bool),
) hypothesis {
	return hypothesis{name: name, value: value, predict: func(sc *scene, v, pre []float64) (int, bool) {
		for k, i := range sc.cells {
			v[k], pre[k] = math.NaN(), 0
			if !in(sc, i/sc.stride, i%sc.stride) {
				continue
			}
			var ok bool
			if v[k], pre[k], ok = by(sc, i); !ok {
				return 0, false
			}
		}
		return 0, true
	}}
}

// zeros marks a hypothesis that says that the cells that it names are 0.
func (h hypothesis) zeros() hypothesis {
	h.zero, h.whole = true, true
	return h
}

// named marks a hypothesis that names the cells that it is about.
func named(h hypothesis) hypothesis {
	h.whole = true
	return h
}

func zeroCell(*scene, int) (v, pre float64, ok bool) { return 0, 0, true }

func previousCell(sc *scene, i int) (v, pre float64, ok bool) {
	if sc.before == nil {
		return 0, 0, sc.g.Carried(sc.i) // it starts from 0
	}
	return sc.before.Ref.Data[i], sc.before.Pre.Data[i], true
}

func everywhere(*scene, int, int) bool { return true }

// placeHypotheses say that a part of the tile is stale or missing.
func (j *Judgement) placeHypotheses(i int) []hypothesis {
	sp, tile := j.g.Stage(i), j.ref.Plan().Work.TileName()
	hs := []hypothesis{replacing(PreviousTile, "the "+tile+" before", everywhere, previousCell)}
	if sp.Cols > 1 {
		hs = append(hs,
			replacing(HalfMissing, "columns of the first half are 0",
				func(sc *scene, _, c int) bool { return 2*c < sc.stride }, zeroCell).zeros(),
			replacing(HalfMissing, "columns of the second half are 0",
				func(sc *scene, _, c int) bool { return 2*c >= sc.stride }, zeroCell).zeros())
	}
	never := replacing(Zero, "the wrong cells are 0", everywhere, zeroCell)
	never.zero = true
	hs = append(hs, never)
	warps := j.ref.Plan().Block.Count() / 32
	if warps > 1 && sp.Rows%warps == 0 {
		per := sp.Rows / warps
		for w := range warps {
			in := func(_ *scene, r, _ int) bool { return r/per == w }
			rows := fmt.Sprintf("rows %d to %d (warp %d's)", w*per, (w+1)*per-1, w)
			hs = append(hs, replacing(WarpRows, rows+" are 0", in, zeroCell).zeros(),
				named(replacing(WarpRows, rows+" are the "+tile+"'s before", in, previousCell)))
		}
	}
	for _, u := range j.g.Uses(i) {
		if !u.Before && j.g.Stage(u.Stage).Cols > 1 && !j.g.Stage(u.Stage).Loaded && j.g.Masked(i, u.Stage) {
			hs = append(hs, hypothesis{
				name: LastTile, value: "columns past the last key take part with the scores stored there",
				predict: unmasked(u.Stage),
			})
		}
	}
	return hs
}

// unmasked computes the stage of a partial tile as if the cells of an operand beyond its valid
// columns were valid.
func unmasked(operand int) func(sc *scene, v, pre []float64) (int, bool) {
	return func(sc *scene, v, pre []float64) (int, bool) {
		if !sc.terms() {
			return 0, false
		}
		if x := sc.local.Value(operand, false); x == nil || x.Cols == x.M.Cols {
			return 0, false
		}
		m, err := sc.local.Again(sc.i, operand, false, func(x op.Value) op.Value {
			x.Cols = x.M.Cols
			return x
		})
		for k, i := range sc.cells {
			v[k], pre[k] = m.Data[i], err.Data[i]
		}
		return 0, true
	}
}
