package view

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/compare"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/pane/source"
)

// Pairing is a run laid over another. *compare.Pair is one.
type Pairing interface {
	debugkern.Viewer
	debugkern.Crossed
	First(s probes.Stage) (debugkern.Cell, bool)
	Compare() (*report.Comparison, error)
}

// Run is a run with the request that it answers. A run that failed has only request, report and text.
type Run struct {
	Name    string // a few words: what is at its default is left out
	Request debugkern.Request
	Report  *report.Run
	Plan    *probes.Plan
	Viewer  debugkern.Viewer
	Run     *debugkern.Run
	Pair    Pairing // it laid over A, nil where it is alone
	Against string  // A's name
	Summary *Summary
	Edition int // of a person's own source when the run was started: see Context.Edition
	// Changes are what captured values differ from the run before, where that answered the same request
	Changes []debugkern.Difference
	Source  func(file string) []string     // the target's source, for a run that failed
	Patch   func(file string) source.Patch // what patches have changed of it
	Code    report.Code                    // of a run that failed
	// NoCompiler: it failed for want of a compiler; Untrusted: of consent to one that was found.
	NoCompiler, Untrusted bool
	// Opening are the words of :open for a file that could not be opened: it did not come to a run, and every
	// run that is asked for opens the file first. nil for a run of what is open.
	Opening []string
	// Asked: nothing has failed. The file was named without its launch, which is asked for.
	Asked bool
}

// ChangeText says how values of a stage or argument differ from the run before: 4 of 4 elements differ,
// largest at [2]: -25.79 → -24.70.
func ChangeText(plan *probes.Plan, d *debugkern.Difference) string {
	if d.Why != "" {
		return "not compared: " + d.Why
	}
	what, at := "cells", ""
	name := cell.Name(d.Plan, d.At.Row, d.At.Col)
	if d.Plan.OfLaunch() {
		what, name = "elements", strings.TrimPrefix(name, d.Plan.Capture.Output)
	} else {
		at = "block " + d.At.Block.String() + " "
		if tile := TileText(plan, d.Plan, d.At.KVTile); tile != "" {
			at += tile + " "
		}
	}
	return fmt.Sprintf("%d of %d %s differ, largest at %s%s: %s → %s", d.Differing, d.Compared, what, at,
		name, cell.Typed(d.Plan.DType, d.Was), cell.Typed(d.Plan.DType, d.Now))
}

// FirstBad is the first bad cell of the first guilty stage; where none is guilty, as behind cells that were
// not captured, of the first stage that has one.
func (r *Run) FirstBad() (debugkern.Cell, bool) {
	for _, g := range r.Report.Guilty {
		if c, ok := r.BadOf(g.Stage); ok {
			return c, true
		}
	}
	for i := range r.Report.Stages {
		if c, ok := r.BadOf(r.Report.Stages[i].Name); ok {
			return c, true
		}
	}
	return debugkern.Cell{}, false
}

// BadOf is the first bad cell that the report names for a stage.
func (r *Run) BadOf(stage string) (debugkern.Cell, bool) {
	d := r.Report.Stage(stage)
	if d == nil || d.FirstBad == nil {
		return debugkern.Cell{}, false
	}
	b := d.FirstBad
	return r.Nearest(debugkern.Cell{Place: debugkern.Place{Stage: probes.Stage(stage), Block: b.Block,
		KVTile: b.KVTile}, Row: b.Row, Col: b.Col}), true
}

// Nearest is the cell of this run closest to c: its stage if the kernel has it, its block if it was captured,
// and so on.
func (r *Run) Nearest(c debugkern.Cell) debugkern.Cell {
	if r.Plan == nil || len(r.Plan.Stages)+len(r.Plan.Memory) == 0 {
		return c
	}
	sp := r.Plan.Stage(c.Stage)
	if sp == nil {
		sp = r.first()
		c.Stage = sp.Stage
	}
	blocks := r.Viewer.Blocks()
	if len(blocks) > 0 && !slices.Contains(blocks, c.Block) {
		c.Block = blocks[0]
	}
	lo, n := r.Viewer.Tiles(c.Block)
	c.KVTile = max(lo, min(c.KVTile, lo+n-1))
	c.Row = max(0, min(c.Row, sp.Rows-1))
	c.Col = max(0, min(c.Col, sp.Cols-1))
	return c
}

// gated is the stage to look at where one was on a stage: the same, unless the run's gate leaves that out,
// then the first that the gate injects, else the first that it judges.
func (r *Run) gated(s probes.Stage) probes.Stage {
	if r.Plan == nil || r.Plan.Stage(s) == nil {
		return s
	}
	g := r.Plan.Gate
	for _, set := range []probes.StageSet{g.Injected, g.Judged} {
		if g.Name == probes.GateNone || g.Judged.Has(s) || g.Injected.Has(s) {
			break
		}
		for i := range r.Plan.Stages {
			if set.Has(r.Plan.Stages[i].Stage) {
				return r.Plan.Stages[i].Stage
			}
		}
	}
	return s
}

// first is the tile that a run is opened on: that of its first stage; without stages of the first argument
// that the launch wrote to.
func (r *Run) first() *probes.StagePlan {
	if len(r.Plan.Stages) > 0 {
		return &r.Plan.Stages[0]
	}
	for _, o := range r.Report.Outputs {
		if o.Written != nil && *o.Written > 0 {
			return r.Plan.Stage(probes.Stage(o.Name))
		}
	}
	return &r.Plan.Memory[len(r.Plan.Memory)-1]
}

// Places lists a stage's tiles in the contract's order: kv tile, then block.
func (r *Run) Places(stage probes.Stage) []debugkern.Place {
	blocks := r.Viewer.Blocks()
	sp := r.Plan.Stage(stage)
	var out []debugkern.Place
	if sp != nil && sp.OfLaunch() {
		return []debugkern.Place{{Stage: stage}}
	}
	if sp == nil || !sp.PerTile {
		for _, b := range blocks {
			out = append(out, debugkern.Place{Stage: stage, Block: b})
		}
		return out
	}
	lo, hi := 1<<30, 0
	for _, b := range blocks {
		l, n := r.Viewer.Tiles(b)
		lo, hi = min(lo, l), max(hi, l+n)
	}
	for kv := lo; kv < hi; kv++ {
		for _, b := range blocks {
			if l, n := r.Viewer.Tiles(b); kv >= l && kv < l+n {
				out = append(out, debugkern.Place{Stage: stage, Block: b, KVTile: kv})
			}
		}
	}
	return out
}

// ViewerOf is how a run's tiles are seen: as the run itself says, unless the engine shows runs in its own
// way.
func ViewerOf(engine Engine, run *debugkern.Run) debugkern.Viewer {
	if e, ok := engine.(interface {
		Viewer(*debugkern.Run) debugkern.Viewer
	}); ok {
		return e.Viewer(run)
	}
	return run
}

// PairOf lays a run over another, within a tolerance or (nil) bit for bit, unless the engine pairs
// runs in its own way.
func PairOf(engine Engine, a, b *debugkern.Run, within *report.Tolerance) (Pairing, error) {
	if e, ok := engine.(interface {
		Pair(a, b *debugkern.Run, within *report.Tolerance) (Pairing, error)
	}); ok {
		return e.Pair(a, b, within)
	}
	return compare.NewPair(a, b, within)
}
