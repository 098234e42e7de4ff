package debugkern

import (
	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Classes of a difference between two backends on the same PTX and inputs.
const (
	crossEqual       = "equal"
	crossSchedule    = "schedule"    // the GPU's own result varies from launch to launch
	crossAtomics     = "atomics"     // floats are added in an order nobody fixes
	crossModel       = "model"       // another chip than the emulator's
	crossUndefined   = "undefined"   // the kernel reads a value that PTX leaves undefined
	crossUnexplained = "unexplained" // a bug of ours
)

// cross executes the instrumented build on the emulator beside the GPU and compares every captured tile.
func (e *execution) cross() (*CrossDoc, error) {
	be := e.st.beside
	if be == nil {
		return nil, nil
	}
	k, err := e.load(be, e.st.build)
	if err != nil {
		return nil, err
	}
	e.progress(Progress{Phase: "run", Detail: be.Info().Device})
	res, err := launchChecked(e.ctx, k, e.st.launch, e.checks(be))
	if err != nil {
		return nil, launchError(err)
	}
	if err := e.settlePlain(); err != nil { // whether it varies tells what a difference means
		return nil, err
	}
	e.cost.Launches++
	e.st.extra = append(e.st.extra, res.Findings...)
	other := *e.st
	other.result, other.output = res, res.Outputs[e.outputArg()]
	e.st.tracer, e.st.traced = k, &other
	doc := compareTiles(e.st, &other)
	doc.Class = e.classify(doc)
	if doc.Class == crossSchedule || doc.Class == crossUnexplained {
		e.st.extra = append(e.st.extra, target.Finding{
			Kind: target.BackendDifference, Severity: target.SeverityError, KVTile: -1, Count: doc.Differing,
			Message: fmt.Sprintf("%d of %d cells differ between %s and the emulator (%s)", doc.Differing, doc.Cells, e.backend.Info().Device, doc.Class),
		})
	}
	return doc, nil
}

func compareTiles(a, b *runState) *CrossDoc {
	doc := &CrossDoc{ByStage: []CrossStage{}}
	p := a.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		differing := 0
		for j := range a.r.rng.N.Count() {
			block := a.r.rng.Block(j)
			lo, n := tilesOf(sp, a.r.rng, p, block)
			for kv := lo; kv < lo+n; kv++ {
				x, y := a.Tile(sp.Stage, block, kv), b.Tile(sp.Stage, block, kv)
				if !x.Reached() && !y.Reached() {
					continue
				}
				doc.Tiles++
				for row := range sp.ValidRows.At(block, kv) {
					for col := range sp.ValidCols.At(block, kv) {
						doc.Cells++
						if x.Reached() != y.Reached() || x.Bits(row, col) != y.Bits(row, col) {
							differing++
						}
					}
				}
			}
		}
		if differing > 0 {
			doc.ByStage = append(doc.ByStage, CrossStage{sp.Stage.String(), differing})
		}
		doc.Differing += differing
	}
	return doc
}

// classify says why two backends differ.
func (e *execution) classify(doc *CrossDoc) string {
	if doc.Differing == 0 {
		return crossEqual
	}
	if floatAtomics(e.st.build.Module.Func(e.r.plan.Entry)) {
		return crossAtomics
	}
	for _, f := range append(e.st.result.Findings, e.st.extra...) {
		if f.Kind == target.Varies {
			return crossSchedule
		}
	}
	if e.backend.Info().Arch != e.st.beside.Info().Arch {
		return crossModel
	}
	return crossUnexplained
}

func floatAtomics(entry *ptx.Func) bool {
	if entry == nil {
		return false
	}
	for _, in := range entry.Body {
		if (in.Op == "atom" || in.Op == "red") && in.Has("add") && (in.Has("f32") || in.Has("f16") || in.Has("f16x2") || in.Has("f64")) {
			return true
		}
	}
	return false
}
