package debugkern

import (
	"context"
	"encoding/binary"
	"fmt"

	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// introspection is the catalogue's kernel that reads fragment layouts back.
const introspection = "accum_lut"

// FragmentMaps are what the introspection kernel found on a backend: by its output arguments' names, for each lane and
// element the row-major index of a cell of a 16×16 tile. "acc_f32" and "acc_f16" have 8 elements a lane, "a_row", "a_col",
// "b_row" and "b_col" have 16.
type FragmentMaps map[string][][]int

// accumulator returns the map of an accumulator of that element type.
func (m FragmentMaps) accumulator(t probes.DType) (*probes.Fragment, error) {
	lanes := m["acc_"+t.String()]
	var f probes.Fragment
	if len(lanes) != len(f) {
		return nil, fmt.Errorf("no accumulator holds %s", t)
	}
	for l, elems := range lanes {
		if copy(f[l][:], elems) != len(f[l]) {
			return nil, fmt.Errorf("lane %d of a %s accumulator has %d elements", l, t, len(elems))
		}
	}
	return &f, nil
}

// FragmentMaps executes the introspection kernel on the request's backend, once.
func (s *Session) FragmentMaps(ctx context.Context, req Request) (FragmentMaps, error) {
	be, _, err := s.backend(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.fragments(ctx, be)
}

func (s *Session) fragments(ctx context.Context, be target.Backend) (FragmentMaps, error) {
	name := be.Info().Name
	s.mu.Lock()
	maps := s.maps[name]
	s.mu.Unlock()
	if maps != nil {
		return maps, nil
	}
	maps, err := s.introspect(ctx, be)
	if err != nil {
		return nil, fmt.Errorf("introspect fragments: %w", err)
	}
	s.mu.Lock()
	s.maps[name] = maps
	s.mu.Unlock()
	return maps, nil
}

func (s *Session) introspect(ctx context.Context, be target.Backend) (FragmentMaps, error) {
	m, variant, err := s.catalogue.Open(ctx, introspection)
	if err != nil {
		return nil, err
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		return nil, err
	}
	plan, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		return nil, err
	}
	b, err := s.build(ctx, sel, "auto", "", false)
	if err != nil {
		return nil, err
	}
	kernel, err := be.Load(ctx, b.Module, plan.Entry)
	if err != nil {
		return nil, err
	}
	l := &target.Launch{Grid: plan.Grid, Block: plan.Block, Shared: plan.Shared, Label: introspection, Memory: s.mem}
	for _, a := range plan.Args {
		l.Args = append(l.Args, target.Arg{Name: a.Name, Buffer: &target.Buffer{
			DType: a.DType, Dims: a.Dims, Bytes: a.Elems() * a.DType.Size(), Output: true,
		}})
	}
	result, err := kernel.Launch(ctx, l)
	if err != nil {
		return nil, err
	}
	maps := FragmentMaps{}
	for _, a := range plan.Args {
		maps[a.Name] = lanes(result.Outputs[a.Name], a.Dims[0], a.Dims[1])
	}
	return maps, nil
}

// lanes reads a [lanes][elements] array of int32.
func lanes(raw []byte, n, elems int) [][]int {
	out := make([][]int, n)
	for l := range out {
		for e := range elems {
			out[l] = append(out[l], int(int32(binary.LittleEndian.Uint32(raw[4*(l*elems+e):]))))
		}
	}
	return out
}

// mapFragments finds, for the stages captured or injected as raw fragments, which cell each element is.
func (e *execution) mapFragments() error {
	for i := range e.r.plan.Stages {
		sp := &e.r.plan.Stages[i]
		if sp.Capture.Kind != probes.CaptureFrag {
			continue
		}
		maps, err := e.s.fragments(e.ctx, e.backend)
		if err != nil {
			return err
		}
		f, err := maps.accumulator(sp.DType)
		if err != nil {
			return &report.KernelError{Stage: "load", Err: fmt.Errorf("stage %s: %w", sp.Stage, err)}
		}
		cells, err := f.Cells(sp.Rows, sp.Cols, e.r.plan.Block.Count())
		if err != nil {
			return &report.KernelError{Stage: "load", Err: fmt.Errorf("stage %s: %w", sp.Stage, err)}
		}
		if e.r.cells == nil {
			e.r.cells = map[probes.Stage][]int{}
		}
		e.r.cells[sp.Stage] = cells
	}
	return nil
}

// fromFragment puts a captured tile's elements where they belong. Tiles that are none are returned as they are.
func (r *resolved) fromFragment(s probes.Stage, t probes.Tile) probes.Tile {
	cells := r.cells[s]
	if cells == nil || t.Data == nil {
		return t
	}
	out := probes.NewTile(t.DType, t.Rows, t.Cols)
	n := t.DType.Size()
	for i, c := range cells {
		copy(out.Data[c*n:(c+1)*n], t.Data[i*n:])
	}
	if t.Absent != nil {
		out.Absent = make([]bool, len(t.Absent))
		for i, c := range cells {
			out.Absent[c] = t.Absent[i]
		}
	}
	return out
}

// toFragment is the inverse of fromFragment: a tile's bytes in the order in which threads read them.
func (r *resolved) toFragment(s probes.Stage, t probes.Tile) []byte {
	cells := r.cells[s]
	if cells == nil || t.Data == nil {
		return t.Data
	}
	out := make([]byte, len(t.Data))
	n := t.DType.Size()
	for i, c := range cells {
		copy(out[i*n:(i+1)*n], t.Data[c*n:])
	}
	return out
}
