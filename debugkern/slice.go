package debugkern

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Operation is an instruction of the entry that cells of a stage are made by.
type Operation struct {
	At    int          // index in the entry's body
	Kind  lineage.Kind // the strongest way in which the cells depend on it
	Depth int          // operations are numbered from the cells on, breadth first
	Cells int          // of those that were followed, how many depend on it
}

// Slice lists the instructions that make cells of a stage, in a block and iteration, out of what the
// manifest says they are computed from: values, addresses and control alike, ending where a tile of an
// operand was captured. What is nearest to the cells comes first. One block is executed on the emulator.
// Errors are those of Lineage.
func (r *Run) Slice(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) ([]Operation, error) {
	if r.state == nil || r.state.launch == nil {
		return nil, errNoState
	}
	sp := r.Plan.Stage(stage)
	if sp == nil {
		return nil, fmt.Errorf("kernel %s has no stage %s", r.Plan.Kernel, stage)
	}
	x := &ancestry{
		st: r.state, stage: sp, element: -1, cell: Cell{Place: Place{Stage: stage, Block: block, KVTile: kv}},
	}
	var err error
	if x.kernel, err = x.st.stepper(ctx); err != nil {
		return nil, err
	}
	trace, err := x.record(ctx)
	if err != nil {
		return nil, report.LaunchError(err)
	}
	if sp.Phase == probes.PhaseAfter { // of what the last iteration left
		kv = max(0, r.Plan.Work.Tiles.At(block, 0)-1)
	}
	cut := x.operands(trace, kv)
	found := map[int]*Operation{}
	for _, c := range cells {
		x.cell.Row, x.cell.Col, x.arg = c[0], c[1], ""
		if sp.Capture.Kind == probes.CaptureOutput {
			if err := x.output(); err != nil {
				return nil, err
			}
		}
		at, _, err := x.place(trace)
		if err != nil {
			return nil, err
		}
		g, err := trace.Walk(ctx, at, lineage.Query{
			Address: true, Control: true, Nodes: sliceNodes,
			CutValue: func(v lineage.Ref) (int, bool) {
				return 0, cut[lineage.Value{Step: v.Step, Lane: v.Lane}]
			},
		})
		if err != nil {
			return nil, err
		}
		here := map[int]bool{}
		for i, v := range g.Nodes {
			in := trace.Step(int(v.Step)).Instr
			if !trace.Step(int(v.Step)).Func.Entry {
				continue // a callee's body is not the entry's
			}
			op := found[in.Index]
			if op == nil {
				op = &Operation{At: in.Index, Depth: i}
				found[in.Index] = op
			}
			if op.Depth = min(op.Depth, i); !here[in.Index] {
				op.Cells++
				here[in.Index] = true
			}
		}
	}
	out := make([]Operation, 0, len(found))
	for _, at := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[at])
	}
	slices.SortStableFunc(out, func(a, b Operation) int { return a.Depth - b.Depth })
	return out, nil
}

// sliceNodes is the most values that the walk from one cell visits.
const sliceNodes = 1 << 18

// operands lists the values that were captured as tiles of what a stage is computed from, in the iteration
// and the one before it, under every name by which an instruction may take them.
func (x *ancestry) operands(trace *lineage.Trace, kv int) map[lineage.Value]bool {
	out := map[lineage.Value]bool{}
	p := x.st.r.plan
	for _, name := range x.stage.From {
		sp := p.Stage(name)
		if sp == nil || name == x.stage.Stage && !sp.PerTile || sp.Capture.Kind == probes.CaptureOutput ||
			sp.Capture.Kind == probes.CaptureNone {
			continue
		}
		tiles := []int{0}
		switch {
		case sp.PerTile && name == x.stage.Stage:
			tiles = []int{kv - 1}
		case sp.PerTile:
			tiles = []int{kv - 1, kv}
		}
		for _, t := range tiles {
			for r := range sp.Rows {
				for c := range sp.Cols {
					y := *x
					y.stage, y.cell.Stage, y.cell.KVTile, y.cell.Row, y.cell.Col, y.arg = sp,
						name, t, r, c, ""
					if t < 0 {
						continue
					}
					if at, _, err := y.place(trace); err == nil {
						for _, v := range trace.Carried(at) {
							out[lineage.Value{Step: v.Step, Lane: v.Lane}] = true
						}
					}
				}
			}
		}
	}
	return out
}
