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
	At    int // index in the entry's body
	Depth int // how far from the cells it is: values are numbered from them on, breadth first
}

// Slice lists the instructions that make cells of a stage, in a block and iteration, out of what the
// manifest says they are computed from: values, addresses and control alike, ending where a tile of an
// operand was captured. What is nearest to the cells comes first. One block is executed on the emulator.
// Errors are those of Lineage.
func (r *Run) Slice(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) ([]Operation, error) {
	block, err := r.writerOf(ctx, stage, block, cells)
	if err != nil {
		return nil, err
	}
	x, trace, kv, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	walk := x.slicing(trace, kv)
	found := map[int]*Operation{}
	for _, c := range cells {
		at, err := x.at(trace, c[0], c[1])
		if err != nil {
			return nil, err
		}
		g, err := walk(ctx, at)
		if err != nil {
			return nil, err
		}
		for i, v := range g.Nodes {
			step := trace.Step(int(v.Step))
			if !step.Func.Entry {
				continue // a callee's body is not the entry's
			}
			at := step.Instr.Index
			if op := found[at]; op == nil {
				found[at] = &Operation{At: at, Depth: i}
			} else {
				op.Depth = min(op.Depth, i)
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

// slicing returns a walk from a place in the trace to all that decided its value, by value, address and
// control; it ends where a tile of an operand of the stage was captured.
func (x *ancestry) slicing(
	trace *lineage.Trace, kv int,
) func(context.Context, lineage.Place) (*lineage.Graph, error) {
	cut := map[lineage.Value]bool{}
	x.operandTiles(trace, kv, func(_ *probes.StagePlan, _, _, _ int, way []lineage.Ref) {
		for _, v := range way {
			cut[lineage.Value{Step: v.Step, Lane: v.Lane}] = true
		}
	})
	return func(ctx context.Context, at lineage.Place) (*lineage.Graph, error) {
		return trace.Walk(ctx, at, lineage.Query{
			Address: true, Control: true, Nodes: sliceNodes,
			CutValue: func(v lineage.Ref) (int, bool) {
				return 0, cut[lineage.Value{Step: v.Step, Lane: v.Lane}]
			},
		})
	}
}

// sliceNodes is the most values that the walk from one cell visits.
const sliceNodes = 1 << 18

// recorded executes a block of the run once more and records it.
func (r *Run) recorded(ctx context.Context, block probes.Dim3) (*ancestry, *lineage.Trace, error) {
	if r.state == nil || r.state.launch == nil {
		return nil, nil, errNoState
	}
	x := &ancestry{st: r.state, element: -1, cell: Cell{Place: Place{Block: block}}}
	var err error
	if x.kernel, err = x.st.stepper(ctx); err != nil {
		return nil, nil, err
	}
	trace, err := x.record(ctx)
	return x, trace, err
}

// writerOf is the block that wrote the first of some cells last, of a stage that is compared as a whole, when
// the launch is over; of another stage it is the block that is given.
func (r *Run) writerOf(
	ctx context.Context, stage probes.Stage, block probes.Dim3, cells [][2]int,
) (probes.Dim3, error) {
	sp := r.Plan.Stage(stage)
	if sp == nil || !sp.OfLaunch() || len(cells) == 0 || r.state == nil || r.state.launch == nil {
		return block, nil
	}
	x := &ancestry{
		st: r.state, stage: sp, element: -1,
		cell: Cell{Place: Place{Stage: stage, Block: block}, Row: cells[0][0], Col: cells[0][1]},
	}
	var err error
	if x.kernel, err = x.st.stepper(ctx); err != nil {
		return block, err
	}
	if err = x.output(); err == nil {
		err = x.writingBlock(ctx)
	}
	return x.cell.Block, err
}

// follow executes a block of the run once more and records it, to follow cells of a stage. It also returns
// the iteration whose tiles the stage is computed from: after the loop, the last one.
func (r *Run) follow(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int,
) (*ancestry, *lineage.Trace, int, error) {
	if r.state == nil || r.state.launch == nil {
		return nil, nil, 0, errNoState
	}
	sp := r.Plan.Stage(stage)
	if sp == nil {
		return nil, nil, 0, fmt.Errorf("kernel %s has no stage %s", r.Plan.Kernel, stage)
	}
	x := &ancestry{
		st: r.state, stage: sp, element: -1, cell: Cell{Place: Place{Stage: stage, Block: block, KVTile: kv}},
	}
	var err error
	if x.kernel, err = x.st.stepper(ctx); err != nil {
		return nil, nil, 0, err
	}
	trace, err := x.record(ctx)
	if err != nil {
		return nil, nil, 0, report.LaunchError(err)
	}
	if sp.Phase == probes.PhaseAfter {
		kv = max(0, r.Plan.Work.Tiles.At(block, 0)-1)
	}
	return x, trace, kv, nil
}

// at is where a cell of the stage is in the trace.
func (x *ancestry) at(trace *lineage.Trace, row, col int) (lineage.Place, error) {
	x.cell.Row, x.cell.Col, x.arg = row, col, ""
	if x.stage.Capture.Kind == probes.CaptureOutput || x.stage.OfLaunch() {
		if err := x.output(); err != nil {
			return lineage.Place{}, err
		}
	}
	at, _, err := x.place(trace)
	return at, err
}

// operandTiles visits the cells that were captured of tiles of what the stage is computed from, in an
// iteration and the one before it: with each the values by which an instruction may take it.
func (x *ancestry) operandTiles(
	trace *lineage.Trace, kv int, visit func(sp *probes.StagePlan, iter, row, col int, way []lineage.Ref),
) {
	for _, name := range x.stage.From {
		sp := x.st.r.plan.Stage(name)
		if sp == nil || sp.Capture.Kind == probes.CaptureOutput || sp.Capture.Kind == probes.CaptureNone {
			continue
		}
		for _, iter := range []int{kv - 1, kv} {
			if iter < 0 || iter == kv && name == x.stage.Stage || iter < kv && !sp.PerTile {
				continue
			}
			y := *x
			y.stage, y.arg, y.cell.Stage, y.cell.KVTile = sp, "", name, iter
			if !sp.PerTile {
				y.cell.KVTile = 0
			}
			for y.cell.Row = range sp.Rows {
				for y.cell.Col = range sp.Cols {
					if at, _, err := y.place(trace); err == nil { // else this cell was not captured
						visit(sp, iter, y.cell.Row, y.cell.Col, trace.Carried(at))
					}
				}
			}
		}
	}
}
