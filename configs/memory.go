package configs

import (
	"slices"

	"tilescope/probes"
)

// memoryColumns is how many elements of a list stand in a row of its tile: as many as a warp has lanes.
const memoryColumns = 32

// inPrefix is before the name of an argument as it was before the launch, as in a dump.
const inPrefix = "in_"

// outPrefix is before the name of an argument after the launch that has the name of a stage.
const outPrefix = "out_"

// memory makes pointer arguments tiles of the launch, in the order of the arguments: of a kernel without
// stages first those that have contents before it, as they are then, then all as it leaves them; of one with
// stages the outputs with a reference that no stage is cut out of.
func (r *resolver) memory() error {
	stageless := len(r.m.Stages) == 0
	if stageless {
		r.before()
	}
	for i, a := range r.plan.Args {
		of := &r.m.Args[i]
		if !a.Pointer ||
			!stageless &&
				(!of.referenced || slices.ContainsFunc(r.plan.Stages, func(sp probes.StagePlan) bool {
					return sp.Capture.Kind == probes.CaptureOutput && sp.Capture.Output == a.Name
				})) {
			continue
		}
		sp := memoryTile(a, of.referenced)
		if of.referenced {
			sp.Reference, sp.Tolerance = of.Reference, of.Tolerance
		}
		for r.plan.Stage(sp.Stage) != nil && !stageless {
			sp.Stage = outPrefix + sp.Stage
		}
		r.plan.Memory = append(r.plan.Memory, sp)
	}
	return nil
}

// before makes tiles of the arguments as they are before the launch.
func (r *resolver) before() {
	taken := names(r.plan.Args, func(a probes.Arg) string { return a.Name })
	for i, a := range r.plan.Args {
		if !a.Pointer || !a.Filled() {
			continue
		}
		sp := memoryTile(a, r.m.Args[i].referenced)
		sp.Phase, sp.Loaded, sp.Help, sp.Capture.Before = probes.PhaseBefore, true,
			a.Name+" before the launch", true
		for slices.Contains(taken, string(sp.Stage)) {
			sp.Stage = inPrefix + sp.Stage
		}
		r.plan.Memory = append(r.plan.Memory, sp)
	}
}

// memoryTile is an argument after the launch as a matrix: its last dimension is the columns, all others are
// the rows. A list is folded into rows of memoryColumns elements, or of half as many and more where that
// divides its length. One with strides is a list of the memory that it takes, or, byIndex, of its elements.
func memoryTile(a probes.Arg, byIndex bool) probes.StagePlan {
	dims, strides := a.Dims, a.Strides
	if strides != nil && !byIndex {
		dims, strides = []int{a.MemoryElems()}, nil
	}
	elems, cols := probes.Elems(dims), dims[len(dims)-1]
	if elems == cols && cols > memoryColumns {
		cols = memoryColumns
		for n := memoryColumns; n >= memoryColumns/2; n-- {
			if elems%n == 0 {
				cols = n
				break
			}
		}
	}
	rows := (elems + cols - 1) / cols
	return probes.StagePlan{
		Stage: probes.Stage(a.Name), Slot: -1, Phase: probes.PhaseAfter, DType: a.DType, Rows: rows,
		Cols: cols, Reference: probes.Reference{Kind: probes.ReferenceNone}, ValidRows: probes.Fixed(rows),
		ValidCols: probes.Fixed(cols), Help: a.Name + " after the launch",
		Capture: probes.Capture{Kind: probes.CaptureMemory, Output: a.Name, Dims: dims, Strides: strides},
	}
}
