package debugkern

import (
	"slices"

	"tilescope/debugkern/checked"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Classes of a difference between two backends on the same PTX and inputs.
const (
	crossEqual = "equal"
	// crossSchedule: the kernel's result depends on the order of its threads: a race, or it varies by launch
	crossSchedule    = "schedule"
	crossAtomics     = "atomics"     // floats are added in an order nobody fixes
	crossModel       = "model"       // another chip than the emulator's
	crossUndefined   = "undefined"   // the kernel reads a value that PTX leaves undefined
	crossUnexplained = "unexplained" // a bug of ours
)

// cross executes the instrumented build on the emulator as well as the GPU and compares every captured tile.
func (e *execution) cross() (*report.Cross, error) {
	be := e.st.emulator
	if be == nil {
		return nil, nil
	}
	k, err := e.load(be, e.st.build)
	if err != nil {
		return nil, err
	}
	e.progress(Progress{Phase: "run", Detail: be.Info().Device})
	res, _, err := checked.Launch(e.ctx, k, e.st.launch, e.checks(be))
	if err != nil {
		return nil, report.LaunchError(err)
	}
	e.st.launch.Ordered = e.st.launch.Ordered || res.Ordered
	if err := e.settlePlain(); err != nil { // what a difference means depends on whether it varies
		return nil, err
	}
	e.cost.Launches++
	e.st.extra = append(e.st.extra, res.Findings...)
	other := *e.st
	other.leave(res)
	e.st.tracer, e.st.traced = k, &other
	doc := compareTiles(e.st, &other)
	return doc, e.classify(doc, &other)
}

func compareTiles(a, b *runState) *report.Cross {
	doc := &report.Cross{ByStage: []report.CrossStage{}}
	p := a.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		if a.elsewhere(sp) { // there is one set of tiles
			continue
		}
		differing := 0
		for j := range a.r.rng.N.Count() {
			block := a.r.rng.Block(j)
			lo, n := a.r.rng.Tiles(p, sp, block)
			for kv := lo; kv < lo+n; kv++ {
				x, y := a.Tile(sp.Stage, block, kv), b.Tile(sp.Stage, block, kv)
				if !x.Reached() && !y.Reached() {
					continue
				}
				doc.Tiles++
				for row := range sp.ValidRows.At(block, kv) {
					for col := range sp.ValidCols.At(block, kv) {
						doc.Cells++
						if !x.Same(y, row, col) {
							differing++
						}
					}
				}
			}
		}
		if differing > 0 {
			doc.ByStage = append(doc.ByStage, report.CrossStage{
				Stage: sp.Stage.String(), Differing: differing,
			})
		}
		doc.Differing += differing
	}
	return doc
}

// UpdatesMemory reports whether an entry updates memory that blocks may have in common: by atomics, in a
// state space that is not shared memory. What some blocks leave there is not what all of them leave.
func UpdatesMemory(entry *ptx.Func) bool {
	return entry != nil && slices.ContainsFunc(entry.Body, func(in *ptx.Instr) bool {
		return in.Kind().Updates() && in.Space() != ptx.SpaceShared
	})
}

// AddsFloatsByAtomics reports whether an entry adds floats of any type, packed ones included, by atomics:
// their sum depends on the order of execution.
func AddsFloatsByAtomics(entry *ptx.Func) bool {
	return entry != nil && slices.ContainsFunc(entry.Body, func(in *ptx.Instr) bool {
		return in.Kind().Updates() && in.Has("add") && in.Type().Float()
	})
}
