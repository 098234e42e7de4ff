package configs

import (
	"math"

	"tilescope/probes"
)

// takes evaluates the placements of a capture from registers.
func (r *resolver) takes(s *Stage, sp *probes.StagePlan) error {
	if sp.Capture.Kind != probes.CaptureRegister {
		return nil
	}
	sp.Capture.Takes = nil
	tiles := map[*Expr]probes.Extent{}
	for i := range s.takes {
		w := &s.takes[i]
		t := w.Take
		t.Warps = (r.plan.Block.Count() + 31) / 32
		var err error
		if t.Row, err = r.placement(w, &t, w.row, true); err != nil {
			return err
		}
		if t.Col, err = r.placement(w, &t, w.col, false); err != nil {
			return err
		}
		if t.Col == nil && !t.Fragment {
			t.Col = make([]int32, len(t.Row))
		}
		var known bool
		if t.Tile, known = tiles[w.tile]; !known {
			if t.Tile, err = r.takeTile(w); err != nil {
				return err
			}
			tiles[w.tile] = t.Tile
		}
		sp.Capture.Takes = append(sp.Capture.Takes, t)
	}
	return nil
}

// turns is how often an instruction may be executed in one iteration, where its entry says which tile an
// execution belongs to.
const turns = 64

// takeTile evaluates the tile of each execution, of one more than there are tiles, so that a loop
// that goes on is seen.
func (r *resolver) takeTile(w *take) (probes.Extent, error) {
	n := r.plan.Work.MaxTiles + 1
	if w.tile == nil {
		count := probes.Extent{Dims: [4]int{1, 1, 1, n}}
		for i := range n {
			count.Values = append(count.Values, i)
		}
		return count, nil
	}
	return r.extent(w.tile, n*turns, math.MinInt32, math.MaxInt32, 0)
}

// placement evaluates one side of an entry's placement: rows, or columns. nil where there is none.
func (r *resolver) placement(w *take, t *probes.Take, list []*Expr, rows bool) ([]int32, error) {
	if len(list) == 0 {
		return nil, nil
	}
	_, slots := r.m.takeScope()
	outer := r.env
	r.env = &env{
		vars: append(append([]value(nil), outer.vars...), make([]value, len(slots)+1)...), work: outer.work,
		steps: outer.steps,
	}
	defer func() { r.env = outer }()
	set := func(name int, v int) { r.env.vars[slots[name]] = intValue(int64(v)) }

	lanes, cells, in := 32, probes.TakeParts, 5 // of a register: lane, then e
	if t.Fragment {
		lanes = 1
		if cells, in = probes.TakeRows, 3; !rows {
			cells, in = probes.TakeCols, 4
		}
	}
	instrs, warps := t.Instrs(), t.Warps
	if r.corners {
		instrs, warps = 1, 1
	}
	if r.values += instrs * warps * lanes * cells; r.values > maxExtents {
		return nil, &ShapeError{
			Kernel: r.m.Name, Shape: r.shape,
			Say: "the placements of captured registers have too many values: give capture fewer entries",
		}
	}
	out := make([]int32, 0, instrs*warps*lanes*cells)
	for i := range instrs {
		x := list[min(i, len(list)-1)]
		set(0, i)
		for warp := range warps {
			set(1, warp)
			for lane := range lanes {
				set(2, lane)
				for cell := range cells {
					set(in, cell)
					v, err := x.integer(r.env, math.MinInt32, math.MaxInt32)
					if err != nil {
						return nil, err
					}
					out = append(out, int32(v))
				}
			}
		}
	}
	return out, r.ctx.Err()
}
