package judge

import (
	"math"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// spoiled is a source with one cell of one tile changed after the fact: nothing that is
// computed from it moves.
type spoiled struct {
	Source
	at       Place
	row, col int
	value    float64
}

func (s spoiled) Tile(st probes.Stage, block probes.Dim3, kv int) probes.Tile {
	t := s.Source.Tile(st, block, kv)
	if st != s.at.Stage || block != s.at.Block || kv != s.at.KVTile {
		return t
	}
	c := probes.NewTile(t.DType, t.Rows, t.Cols)
	copy(c.Data, t.Data)
	c.SetBits(s.row, s.col, op.Round(t.DType, s.value))
	return c
}

// beyond returns the value of a dtype next above x, and the one at or below it.
func beyond(dtype probes.DType, x float64) (above, within float64) {
	values := []float64{op.RoundTo(dtype, x)}
	step := 2 * op.HalfULP(dtype, math.Abs(x))
	for _, d := range []float64{-2, -1, 1, 2} {
		values = append(values, op.RoundTo(dtype, x+d*step))
	}
	slices.Sort(values)
	i := slices.IndexFunc(values, func(v float64) bool { return v > x })
	return values[i], values[i-1]
}

// TestErrorJustAboveTheBound moves one cell of every stage, at the first and at the second kv tile, to the
// last value within its bound and to the first beyond: the one is silent, the other is caught, locally as
// wrong and globally as tainted.
func TestErrorJustAboveTheBound(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	clean := newDouble(truth, nil)
	j, id := judged(t, truth, clean), probes.Dim3{1, 2, 0}
	if j.Diverges() {
		t.Fatal("the clean kernel diverges")
	}
	for i := range p.Stages {
		sp := &p.Stages[i]
		for _, kv := range []int{0, 1} {
			if !sp.PerTile && kv > 0 {
				continue
			}
			d, err := j.Compare(sp.Stage, id, kv)
			if err != nil {
				t.Fatal(err)
			}
			row, col := 3, min(5, sp.Cols-1)
			cell := row*sp.Cols + col
			tally := func(value float64) (local, global int32) {
				src := spoiled{clean, Place{sp.Stage, id, kv}, row, col, value}
				r, err := Judge(t.Context(), truth.Reference, src, Options{Blocks: []probes.Dim3{id}})
				if err != nil {
					t.Fatal(err)
				}
				v := r.Tile(sp.Stage, id, kv)
				return v.Bad, v.Tainted
			}
			above, within := beyond(sp.DType, d.Local[cell]+d.LocalBound[cell])
			if bad, _ := tally(within); bad != 0 {
				t.Errorf("%s kv tile %d: %g is within %g ± %g, yet bad", sp.Stage, kv, within, d.Local[cell],
					d.LocalBound[cell])
			}
			if bad, _ := tally(above); bad != 1 {
				t.Errorf("%s kv tile %d: %g is beyond %g ± %g, yet not bad", sp.Stage, kv, above,
					d.Local[cell], d.LocalBound[cell])
			}
			above, within = beyond(sp.DType, d.Global[cell]+d.GlobalBound[cell])
			if _, bad := tally(within); bad != 0 {
				t.Errorf("%s kv tile %d: %g is within the global %g ± %g, yet bad", sp.Stage, kv, within,
					d.Global[cell], d.GlobalBound[cell])
			}
			if _, bad := tally(above); bad != 1 {
				t.Errorf("%s kv tile %d: %g is beyond the global %g ± %g, yet not bad", sp.Stage, kv, above,
					d.Global[cell], d.GlobalBound[cell])
			}
		}
	}
}
