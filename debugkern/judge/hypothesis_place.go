package judge

import (
	"fmt"
	"math"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// moving is a hypothesis that cell (r, c) holds what belongs to another cell of the right tile.
func moving(name, value string, fitted int, from func(sc *scene, r, c int) (int, int)) hypothesis {
	return hypothesis{
		name: name, value: value, fitted: fitted, predict: func(sc *scene, v, pre []float64) (int, bool) {
			for k, i := range sc.bad {
				r, c := from(sc, i/sc.stride, i%sc.stride)
				v[k], pre[k] = math.NaN(), 0
				if r >= 0 && c >= 0 && r < sc.rows && c < sc.cols {
					v[k], pre[k] = sc.e.Ref.At(r, c), sc.e.Pre.At(r, c)
				}
			}
			return 0, true
		},
	}
}

// moveHypotheses permute, transpose and shift the right tile.
func moveHypotheses(sp *probes.StagePlan) []hypothesis {
	type at = func(sc *scene, r, c int) (int, int)
	if sp.Cols == 1 {
		return shifts(true)
	}
	hs := []hypothesis{
		moving(Transposed, "the whole tile", 0, func(_ *scene, r, c int) (int, int) { return c, r }),
		moving(Transposed, "each 16×16 block", 0, func(_ *scene, r, c int) (int, int) {
			return r&^15 + c&15, c&^15 + r&15
		}),
	}
	for _, x := range []struct {
		value string
		from  at
	}{
		{"rows r and r^8 exchanged", func(_ *scene, r, c int) (int, int) { return r ^ 8, c }},
		{"columns c and c^8 exchanged", func(_ *scene, r, c int) (int, int) { return r, c ^ 8 }},
		{"rows r and r^16 exchanged", func(_ *scene, r, c int) (int, int) { return r ^ 16, c }},
		{"columns c and c^16 exchanged", func(_ *scene, r, c int) (int, int) { return r, c ^ 16 }},
		{"neighbouring rows exchanged", func(_ *scene, r, c int) (int, int) { return r ^ 1, c }},
		{"neighbouring columns exchanged", func(_ *scene, r, c int) (int, int) { return r, c ^ 1 }},
		{
			"accumulator elements in row order: (r+8, c) and (r, c+8) of each 16×16 block exchanged",
			func(_ *scene, r, c int) (int, int) {
				if (r^c)&8 != 0 {
					return r ^ 8, c ^ 8
				}
				return r, c
			},
		},
		{"columns c^8 on odd rows: swizzled on one side only",
			func(_ *scene, r, c int) (int, int) { return r, c ^ (r&1)*8 }},
		{"rows reversed", func(sc *scene, r, c int) (int, int) { return sc.rows - 1 - r, c }},
		{"columns reversed", func(sc *scene, r, c int) (int, int) { return r, sc.cols - 1 - c }},
	} {
		hs = append(hs, moving(Permuted, x.value, 0, x.from))
	}
	return append(hs, shifts(false)...)
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
		for k, i := range sc.bad {
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
				func(sc *scene, _, c int) bool { return 2*c < sc.stride }, zeroCell),
			replacing(HalfMissing, "columns of the second half are 0",
				func(sc *scene, _, c int) bool { return 2*c >= sc.stride }, zeroCell))
	}
	warps := j.ref.Plan().Block.Count() / 32
	if warps > 1 && sp.Rows%warps == 0 {
		per := sp.Rows / warps
		for w := range warps {
			in := func(_ *scene, r, _ int) bool { return r/per == w }
			rows := fmt.Sprintf("rows %d to %d (warp %d's)", w*per, (w+1)*per-1, w)
			hs = append(hs, replacing(WarpRows, rows+" are 0", in, zeroCell),
				replacing(WarpRows, rows+" are the "+tile+"'s before", in, previousCell))
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
		for k, i := range sc.bad {
			v[k], pre[k] = m.Data[i], err.Data[i]
		}
		return 0, true
	}
}
