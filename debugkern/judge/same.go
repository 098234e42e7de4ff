package judge

import (
	"bytes"

	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Blocks that follow each other load the same tiles in the same iterations (K and V of one head), and a right
// kernel leaves the same bits of them in each. Those are widened and compared once: they are half of
// attention's cells.

// sameTile is the kernel's tile of a loaded stage that was compared last in an iteration, and the verdict.
type sameTile struct {
	raw     probes.Tile
	m       op.Matrix
	reused  *op.Reused
	against *op.Reused  // of the reference's tile that it was compared with; nil: with none yet
	verdict TileVerdict // of that comparison
}

// setSame fills x with a tile of a loaded stage, all of whose cells were captured.
func (w *walker) setSame(x *tile, raw probes.Tile, i int) {
	s := &w.same[i][max(w.t, 0)%len(w.same[i])]
	alike := s.raw.DType == raw.DType && s.raw.Rows == raw.Rows && s.raw.Cols == raw.Cols
	if !alike || !bytes.Equal(s.raw.Data, raw.Data) {
		m := op.Matrix{Rows: raw.Rows, Cols: raw.Cols, Data: op.Widen(s.m.Data, raw)}
		*s = sameTile{raw: raw, m: m, reused: &op.Reused{}}
	}
	x.m, x.raw, x.ok, x.absent, x.same = s.m, raw, true, nil, s
}

// reference identifies the reference's current tile of a loaded stage; nil where the pass does not keep it.
func (w *walker) reference(i int) *op.Reused {
	if v := w.global.Value(i, false); v != nil && !w.has(i) {
		return v.Reused
	}
	return nil
}

// earlierVerdict returns the verdict of the current tile of a stage where the same bits were compared with
// the same reference before and all were within their bounds: this worker's tallies have its errors.
func (w *walker) earlierVerdict(i int) (TileVerdict, bool) {
	s := w.left(i).same
	if s == nil || s.against == nil || s.against != w.reference(i) {
		return TileVerdict{}, false
	}
	return s.verdict, true
}

// storeVerdict stores the verdict of the current tile of a stage for earlierVerdict, where
// all is within bounds.
func (w *walker) storeVerdict(i int, v TileVerdict) {
	if s := w.left(i).same; s != nil && v.Bad == 0 && v.Tainted == 0 && v.Nonfinite == 0 {
		s.against, s.verdict = w.reference(i), v
	}
}
