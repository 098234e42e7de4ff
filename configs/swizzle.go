package configs

import (
	"fmt"

	"tilescope/probes"
)

// index reads where in a tile, as it lies in its array, a cell lies: an expression of row r and column c.
func (p *manifestParser) index(s *object, st *Stage) {
	if !s.has("index") {
		return
	}
	st.index = s.str("index")
	switch st.Capture.Kind {
	case probes.CaptureProbe, probes.CaptureShared:
	default:
		s.fail("index",
			"goes with capture: probe and {shared: ...}; a fragment and an output have an order of their own")
	}
}

// cells evaluates which cell each element of a captured tile is; nil: they are row-major.
func (r *resolver) cells(s *Stage, sp *probes.StagePlan) ([]int, error) {
	if s.index == "" {
		return nil, nil
	}
	at := s.at.sub("index")
	sc, row, col := r.m.cellScope()
	x, err := r.compile(s.index, at, sc, inElement)
	if err != nil {
		return nil, err
	}
	n := sp.Rows * sp.Cols
	if n > maxExtents {
		return nil, r.m.errorAt(at, "a tile of %d cells; at most %d may be in an order of their own",
			n, maxExtents)
	}
	outer := r.env
	defer func() { r.env = outer }()
	r.env = outer.widened(2)
	cells := make([]int, n)
	for i := range cells {
		cells[i] = -1
	}
	for i := range n {
		r.env.vars[row], r.env.vars[col] = intValue(int64(i/sp.Cols)), intValue(int64(i%sp.Cols))
		v, bad := x.integer(r.env, 0, int64(n)-1)
		if bad != nil {
			bad.Msg += fmt.Sprintf(" (shape %s, r = %d, c = %d)", r.shape, i/sp.Cols, i%sp.Cols)
			return nil, bad
		}
		if was := cells[v]; was >= 0 {
			return nil, r.m.errorAt(at,
				"%q is %d for the cells (%d,%d) and (%d,%d): each has a place of its own", clip(s.index), v,
				was/sp.Cols, was%sp.Cols, i/sp.Cols, i%sp.Cols)
		}
		cells[v] = i
	}
	return cells, nil
}
