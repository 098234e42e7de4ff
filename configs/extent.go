package configs

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// extent evaluates an expression for every block and kv tile that it depends on, and only those: a value that
// mentions bx alone costs grid.x evaluations. With corners only the ends of each axis are evaluated, and the
// result is good for its errors and its largest value, nothing else. nil is the constant def.
func (r *resolver) extent(x *Expr, kv int, lo, hi int64, def int) (probes.Extent, error) {
	if x == nil {
		return probes.Fixed(def), nil
	}
	dims := [4]int{1, 1, 1, 1}
	total := 1
	for d, n := range [4]int{r.plan.Grid[0], r.plan.Grid[1], r.plan.Grid[2], kv} {
		if x.uses[d] {
			dims[d] = n
		}
		count := dims[d]
		if r.corners {
			count = min(count, 2)
		}
		if total > (maxExtents-r.values)/max(count, 1) {
			return probes.Extent{}, &ShapeError{Kernel: r.m.Name, Shape: r.shape,
				Say: fmt.Sprintf("with %s there are more than %d values over the grid", x.Field, maxExtents)}
		}
		total *= count
	}
	r.values += total
	return r.fill(x, dims, make([]int, 0, total), lo, hi)
}

// idle reports whether no block at a point of an extent's axes has the iteration there: a position in it, or
// an element that an input has for it, may be anything. Where only corners are evaluated, the number of
// iterations between them is not there to ask.
func (r *resolver) idle(x *Expr, kv int) bool {
	tiles := r.plan.Work.Tiles
	if !x.uses[3] || tiles.Values == nil {
		return false
	}
	if r.corners {
		return kv > 0 && (x.reads || len(tiles.Values) > 1)
	}
	lo, n := [3]int{}, [3]int{1, 1, 1} // the blocks at the point
	for d := range n {
		if x.uses[d] {
			lo[d] = int(r.env.vars[slotBX+d].i)
		} else {
			n[d] = tiles.Dims[d]
		}
	}
	for i := range n[0] * n[1] * n[2] {
		if kv < tiles.At(probes.Dim3{lo[0] + i%n[0], lo[1] + i/n[0]%n[1], lo[2] + i/n[0]/n[1]}, 0) {
			return false
		}
	}
	return true
}

// lookEvery is how many values are evaluated between two looks at the context: a millisecond's work.
const lookEvery = 1 << 12

// fill evaluates over dims, bx fastest.
func (r *resolver) fill(x *Expr, dims [4]int, values []int, lo, hi int64) (probes.Extent, error) {
	step := [4]int{1, 1, 1, 1}
	if r.corners {
		for d, n := range dims {
			step[d] = max(1, n-1)
		}
	}
	vars := r.env.vars[slotBX : slotKV+1]
	for kv := 0; kv < dims[3]; kv += step[3] {
		vars[3] = intValue(int64(kv))
		for z := 0; z < dims[2]; z += step[2] {
			vars[2] = intValue(int64(z))
			for y := 0; y < dims[1]; y += step[1] {
				vars[1] = intValue(int64(y))
				for b := 0; b < dims[0]; b += step[0] {
					if len(values)%lookEvery == 0 && r.ctx.Err() != nil {
						return probes.Extent{}, r.ctx.Err()
					}
					vars[0] = intValue(int64(b))
					v, err := x.integer(r.env, math.MinInt64, math.MaxInt64)
					if err == nil && (int64(v) < lo || int64(v) > hi) {
						err = x.fail("%q is %d; expected %d to %d", clip(x.Text), v, lo, hi)
					}
					if err != nil && r.idle(x, kv) {
						v, err = int(max(lo, min(hi, 0))), nil
					}
					if err != nil {
						err.Msg += fmt.Sprintf(" (shape %s%s%s)", r.shape, atBlock(x, vars), r.readings(x))
						return probes.Extent{}, err
					}
					values = append(values, v)
				}
			}
		}
	}
	return probes.Extent{Dims: dims, Values: values}, nil
}

// atBlock says for which block and tile an expression failed.
func atBlock(x *Expr, vars []value) string {
	s := ""
	for d, name := range [4]string{"bx", "by", "bz", "kv"} {
		if x.uses[d] {
			s += fmt.Sprintf(", %s = %v", name, vars[d])
		}
	}
	return s
}

func largest(e probes.Extent) int {
	m := e.Values[0]
	for _, v := range e.Values {
		m = max(m, v)
	}
	return m
}

// workOf resolves how many iterations each block has, and where blocks and iterations are in the problem.
func (r *resolver) workOf() error {
	r.env.work = r.m.positionsOf(r.work)
	out := &r.plan.Work
	out.MaxTiles = 1
	if r.work == nil {
		out.Tiles, out.Once = probes.Fixed(1), true
		return nil
	}
	if err := r.iterations(out); err != nil {
		return err
	}
	for _, name := range r.m.positions {
		x := r.work.At[name]
		hi := int64(math.MaxInt32)
		if n, ok := r.shape.Extent(conventions().Positions[name]); ok {
			hi = int64(n) - 1
		}
		e, err := r.extent(x, out.MaxTiles, 0, hi, 0)
		if err != nil {
			return err
		}
		if x != nil {
			r.plan.Positions = append(r.plan.Positions, probes.Position{Name: name, At: e})
		}
	}
	return r.keys(out)
}

// iterations resolves how many iterations each block has, and the loops that they are made of.
func (r *resolver) iterations(out *probes.Work) (err error) {
	for _, l := range r.m.Loops {
		loop := probes.Loop{Name: l.Name}
		if loop.Count, err = r.extent(l.Count, 1, 0, maxKVTiles, 0); err != nil {
			return err
		}
		out.Loops = append(out.Loops, loop)
	}
	tiles := r.work.Tiles
	if out.Tiles, err = r.extent(tiles, 1, 0, math.MaxInt32, 1); err != nil || tiles == nil {
		out.Once = tiles == nil
		return err
	}
	if most := largest(out.Tiles); most == 0 && !tiles.reads && (!r.corners || tiles.uses == [4]bool{}) {
		return tiles.fail(
			"%q is 0 in every block (shape %s): no kv tile would be computed; expected at least 1",
			clip(tiles.Text), r.shape)
	}
	out.MaxTiles = max(1, largest(out.Tiles))
	out.Once = tiles.Text == "1"
	if out.MaxTiles > maxKVTiles {
		return tiles.fail("%q is %d (shape %s); at most %d kv tiles are possible", clip(tiles.Text),
			out.MaxTiles, r.shape, maxKVTiles)
	}
	return nil
}

// keys refuses iterations that begin where the one before them does, on an axis of which each has its own
// part by convention.
func (r *resolver) keys(out *probes.Work) error {
	for _, a := range conventions().Axes {
		x := r.work.At[a.From]
		most, ok := r.shape.Extent(a.Of)
		// the values between the corners are not there
		if x == nil || !ok || conventions().Positions[a.From] != "" || r.corners && x.uses != [4]bool{} {
			continue
		}
		first := r.plan.Position(a.From)
		n := first.Dims
		for i := range n[0] * n[1] * n[2] {
			block := probes.Dim3{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}
			for kv := range out.MaxTiles - 1 {
				if !r.corners && kv+1 >= out.Tiles.At(block, 0) {
					break
				}
				if k := first.At(block, kv); k == first.At(block, kv+1) && k < most {
					return x.fail(
						"%q is %d for kv tiles %d and %d of block %s (shape %s): each tile has keys of its own, counted from kv",
						clip(x.Text), k, kv, kv+1, block, r.shape)
				}
			}
		}
	}
	return nil
}

// stages resolves the stages that this build has: of several entries for one the first whose condition holds.
func (r *resolver) stages() error {
	var present probes.StageSet
	r.entries = map[probes.Stage]*Stage{}
	for i := range r.m.Stages {
		s := &r.m.Stages[i]
		if present.Has(s.Stage) {
			continue
		}
		there, err := r.holds(s.When)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		sp, err := r.stage(s)
		if err != nil {
			return err
		}
		present = present.Union(probes.StagesOf(s.Stage))
		r.entries[s.Stage] = s
		r.plan.Stages = append(r.plan.Stages, sp)
		if missing := s.From.Without(present); missing != nil {
			return r.m.errorAt(s.at,
				"stage %s is computed from a stage that this build does not have; its when: excludes it",
				s.Stage)
		}
	}
	r.undeclared()
	r.gate()
	r.resultPlace()
	return nil
}

// undeclared adds the stages that others are computed from and that this build does not have, as far as they
// are defined: by another entry of the manifest, or by convention.
func (r *resolver) undeclared() {
	var add func(probes.StageSet)
	add = func(of probes.StageSet) {
		for _, s := range of {
			if r.plan.Definition(s) != nil {
				continue
			}
			d := r.m.definition(s)
			r.plan.Undeclared = append(r.plan.Undeclared, probes.StagePlan{
				Stage: s, Slot: r.m.slot(s), Phase: d.Phase, Axes: d.Axes, Help: d.Help, Operands: d.Of,
				Loaded: len(d.Of) == 0, Rows: 1, Cols: 1, PerTile: d.Phase == probes.PhaseEach,
			})
			add(d.Of)
		}
	}
	for i := range r.plan.Stages {
		add(r.plan.Stages[i].Operands)
	}
}

// definition is what the manifest or the convention says of a stage that others are computed from.
func (m *Manifest) definition(s probes.Stage) Definition {
	for i := range m.Stages {
		if m.Stages[i].Stage == s {
			return m.Stages[i].Definition
		}
	}
	if c := conventions().stage(s); c != nil {
		return c.definition()
	}
	return Definition{}
}

// gate resolves the selected gate; without one every stage is judged.
func (r *resolver) gate() {
	g := r.m.gate(r.sel.Gate)
	if g == nil {
		g = &Gate{Name: r.sel.Gate}
	}
	r.plan.Gate = probes.GatePlan{
		Name: g.Name, Define: g.Define, Judged: g.Judged, Injected: g.Injected, Uniform: g.Uniform,
	}
	if g.Name == probes.GateNone {
		for i := range r.plan.Stages {
			r.plan.Gate.Judged = r.plan.Gate.Judged.Union(probes.StagesOf(r.plan.Stages[i].Stage))
		}
	}
}

// kvTiles is how many tiles of a stage a block has at most: one for each kv tile, or one.
func (r *resolver) kvTiles(perTile bool) int {
	if perTile {
		return r.plan.Work.MaxTiles
	}
	return 1
}

func (r *resolver) stage(s *Stage) (probes.StagePlan, error) {
	sp := probes.StagePlan{
		Stage: s.Stage, Slot: r.m.slot(s.Stage), Phase: s.Phase, Axes: s.Axes, Help: s.Help, Operands: s.Of,
		Loaded: len(s.Of) == 0,
		DType:  s.DType, PerTile: s.PerTile, Outside: s.Outside, Meaning: s.Meaning, From: s.From,
		Capture: s.Capture, Array: s.Array, Transposed: s.Transposed,
		Compute: probes.Compute{Acc: s.DType, Split: 1},
	}
	if s.op != nil && sp.Compute.Acc.Size() < probes.F32.Size() {
		sp.Compute.Acc = probes.F32 // what compute: may say otherwise
	}
	if s.fromOp {
		sp.From = s.Of
	}
	dims, err := r.integers([]*Expr{s.Rows, s.Cols}, 1, maxTileSide)
	if err != nil {
		return sp, err
	}
	sp.Rows, sp.Cols = dims[0], dims[1]
	if sp.Cells, err = r.cells(s, &sp); err != nil {
		return sp, err
	}
	tiles := r.kvTiles(s.PerTile)
	if sp.ValidRows, err = r.valid(s.ValidRows, tiles, sp.Rows); err != nil {
		return sp, err
	}
	if sp.ValidCols, err = r.valid(s.ValidCols, tiles, sp.Cols); err != nil {
		return sp, err
	}
	if err := r.placed(s, &sp); err != nil {
		return sp, err
	}
	for _, c := range s.Compute {
		ok, err := r.holds(c.When)
		if err != nil {
			return sp, err
		}
		if ok {
			sp.Compute = c.Compute
			if sp.Compute.Split = 1; c.Split != nil {
				n, bad := c.Split.integer(r.env, 1, maxSplit)
				if bad != nil {
					return sp, bad
				}
				sp.Compute.Split = n
			}
			break
		}
	}
	if err := r.takes(s, &sp); err != nil {
		return sp, err
	}
	return sp, r.fits(s, &sp)
}

// valid resolves how many rows or columns count; below zero (a tile past the end) is none.
func (r *resolver) valid(x *Expr, tiles, side int) (probes.Extent, error) {
	e, err := r.extent(x, tiles, math.MinInt64, int64(side), side)
	for i, v := range e.Values {
		e.Values[i] = max(0, v)
	}
	return e, err
}

// fits holds a stage that lies in a shared array to that array: it must be there and hold the tile.
func (r *resolver) fits(s *Stage, sp *probes.StagePlan) error {
	for _, name := range []string{sp.Array, sp.Capture.Shared} {
		if name == "" {
			continue
		}
		found := false
		for _, a := range r.plan.Shared {
			if a.Name != name {
				continue
			}
			found = true
			if need := sp.Rows * sp.Cols * sp.DType.Size(); a.Bytes < need {
				return r.m.errorAt(s.at, "stage %s is %d bytes, but its array %s has %d", s.Stage, need,
					name, a.Bytes)
			}
		}
		if !found {
			return r.m.errorAt(s.at,
				"stage %s lies in %s, an array that this build does not have; its when: excludes it",
				s.Stage, name)
		}
	}
	return nil
}
