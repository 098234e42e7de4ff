package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// MadeAt finds where cells of a block are computed, which need not be where they are stored: the last
// operation before the store, moves, selections and conversions left out. Of several cells, which may be of
// several stages, it is the last operation whose result goes into all of them. The walk ends at the tiles
// that their stages are computed from. nil where the cells have no such operation in the kernel's own code.
// One block is executed on the emulator; errors are those of Lineage.
func (r *Run) MadeAt(ctx context.Context, cells ...Cell) (*report.Source, error) {
	if len(cells) == 0 {
		return nil, nil
	}
	for _, c := range cells { // an argument's cells are of no tile
		if sp := r.Plan.Stage(c.Stage); sp == nil || sp.OfLaunch() {
			return nil, nil
		}
	}
	x, trace, _, err := r.follow(ctx, cells[0].Stage, cells[0].Block, cells[0].KVTile)
	if err != nil {
		return nil, err
	}
	var own probes.StageSet
	for _, c := range cells {
		own = own.Union(probes.StagesOf(c.Stage))
	}
	var common []lineage.Value
	for i, c := range cells {
		list, err := x.computed(ctx, trace, c, own)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			common = list
			continue
		}
		common = slices.DeleteFunc(common, func(v lineage.Value) bool { return !slices.Contains(list, v) })
	}
	if len(common) == 0 {
		return nil, nil
	}
	return report.SourceOf(target.Blame(r.Entry(), trace.Step(int(common[0].Step)).Instr.Index)), nil
}

// computed lists the results of operations that a cell is made of, the nearest first. The walk ends at tiles
// of stages that are not in own.
func (x *ancestry) computed(
	ctx context.Context, trace *lineage.Trace, cell Cell, own probes.StageSet,
) ([]lineage.Value, error) {
	y := *x
	y.stage, y.arg, y.element, y.cell = x.st.r.plan.Stage(cell.Stage), "", -1, cell
	if y.stage.Capture.Kind == probes.CaptureNone {
		return nil, nil
	}
	kv := cell.KVTile
	if y.stage.Phase == probes.PhaseAfter {
		kv = max(0, x.st.r.plan.Work.Tiles.At(cell.Block, 0)-1)
	}
	cut := map[lineage.Value]bool{}
	y.operandTiles(trace, kv, func(sp *probes.StagePlan, iter, _, _ int, way []lineage.Ref) {
		if own.Has(sp.Stage) && iter == kv {
			return
		}
		for _, v := range way {
			cut[lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}] = true
		}
	})
	at, err := y.at(trace, cell.Row, cell.Col)
	if err != nil {
		return nil, nil // it was not captured
	}
	g, err := trace.Walk(ctx, at, lineage.Query{Nodes: sliceNodes, CutValue: func(v lineage.Ref) (int, bool) {
		return 0, cut[lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}]
	}})
	if err != nil || g.Truncated {
		return nil, err
	}
	var out []lineage.Value
	for _, v := range g.Nodes {
		s := trace.Step(int(v.Step))
		if !s.Func.Entry || s.Instr.Loc.Within(target.IsProbe) {
			continue
		}
		if k := s.Instr.Kind(); computes(k) || k == isa.Atomic || k == isa.Reduce {
			out = append(out, lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index})
		}
	}
	return out, nil
}
