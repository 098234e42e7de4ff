package debugkern

import (
	"context"

	"tilescope/debugkern/judge"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Outcome is what one launch left, without a verdict: captured tiles by place, the output, and what the
// backend reports. It is what two executions are compared by. Immutable, and safe for concurrent use.
type Outcome struct {
	state *runState
	doc   *report.Run
}

// Capture executes a request as Run does, up to its tiles: nothing is judged. With backend both the GPU's
// tiles are the outcome's, and the document says how the emulator's differ. Errors are Run's.
func (s *Session) Capture(ctx context.Context, req Request, progress func(Progress)) (*Outcome, error) {
	return s.CaptureOn(ctx, req, nil, progress)
}

// CaptureOn is Capture on the inputs that another launch had, where they are not nil: each tensor by its
// name, wherever it stands among the arguments, in the numbers before they were encoded. What the other
// launch does not have is made from the seed, as are all where the request names a file.
func (s *Session) CaptureOn(
	ctx context.Context, req Request, other *Outcome, progress func(Progress),
) (*Outcome, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	e := s.begin(ctx, req, progress)
	if other != nil && req.Inputs == "" {
		e.from = other.state
	}
	for _, step := range []func() error{e.open, e.build, e.launch} {
		if err := step(); err != nil {
			return nil, e.explain(err)
		}
	}
	cross, err := e.cross()
	if err != nil {
		return nil, e.explain(err)
	}
	doc := e.header()
	doc.Cross, doc.Findings = cross, e.named(report.FindingsOf(e.st.result.Findings))
	return &Outcome{e.st, doc}, nil
}

// Outcome is what the run's instrumented launch left; nil for a run that was not made by a session.
func (r *Run) Outcome() *Outcome {
	if r.state == nil {
		return nil
	}
	return &Outcome{r.state, r.Report}
}

// Document is what is determined of the launch without a verdict: target, flags, backend, build, findings.
func (o *Outcome) Document() *report.Run { return o.doc }

// Captures reports whether the launch took the tiles of a stage, or left something in an argument.
func (o *Outcome) Captures(s probes.Stage) bool {
	sp := o.state.r.plan.Stage(s)
	if sp != nil && sp.OfLaunch() {
		return !sp.Capture.Before
	}
	return sp != nil && sp.Capture.Kind != probes.CaptureNone && o.state.r.stages.Has(s)
}

// Range is what was captured.
func (o *Outcome) Range() probes.Range { return o.state.r.rng }

// Plan is the plan that the launch followed.
func (o *Outcome) Plan() *probes.Plan { return o.state.r.plan }

// Result is what the backend reports: counts, findings, whether every stage was reached. It is read-only.
func (o *Outcome) Result() *target.Result { return o.state.result }

// Output is the output argument after the launch, in its own element type; read-only, nil
// where there is none.
func (o *Outcome) Output() []byte { return o.state.output }

// Blocks lists the blocks that were executed and captured, in launch order.
func (o *Outcome) Blocks() []probes.Dim3 { return o.state.blocks() }

// Tiles is the first captured tile of a stage in a block, and how many follow: 0 and 1 for a stage
// taken once a block.
func (o *Outcome) Tiles(sp *probes.StagePlan, block probes.Dim3) (lo, n int) {
	return o.state.r.rng.Tiles(o.state.r.plan, sp, block)
}

// Tile is one captured tile; not Reached where there is none.
func (o *Outcome) Tile(p Place) probes.Tile { return o.state.Tile(p.Stage, p.Block, p.KVTile) }

// Unordered reports whether the kernel adds floats by atomics, in an order nobody fixes, and its output is
// within its bound: then so is any output that only another order makes.
func (o *Outcome) Unordered(ctx context.Context) (bool, error) {
	st := o.state
	if !st.r.plan.Gate.Judged.Meets(st.r.plan.OutputSet()) ||
		!AddsFloatsByAtomics(st.build.Module.Func(st.r.plan.Entry)) {
		return false, nil
	}
	return o.OutputWithin(ctx)
}

// Wrong counts the cells of the blocks executed that are beyond their bound from the true inputs, in every
// stage that was captured; -1 where nothing has a reference.
func (o *Outcome) Wrong(ctx context.Context) (int, error) {
	st := o.state
	j, err := judge.Judge(ctx, st.ref, st, judge.Options{
		Range: st.r.rng, Blocks: st.only, Stages: st.r.stages, Parallel: 1, Expected: st.expectation(),
	})
	if err != nil {
		return 0, err
	}
	wrong, judged := 0, 0
	for i := range j.Stages {
		wrong += j.Stages[i].Global.Bad
		judged += j.Stages[i].Global.Cells
	}
	if judged == 0 {
		return -1, nil
	}
	return wrong, nil
}

// OutputWithin reports whether the output of the blocks executed is within its bound from the true inputs.
func (o *Outcome) OutputWithin(ctx context.Context) (bool, error) {
	st := o.state
	outputs := st.r.plan.OutputSet()
	j, err := judge.Judge(ctx, st.ref, st, judge.Options{
		Range: st.r.rng, Blocks: st.only, Stages: outputs, Parallel: 1, Expected: st.expectation(),
	})
	if err != nil {
		return false, err
	}
	for _, stage := range outputs {
		if s := j.Stage(stage); s == nil || s.Verdict != judge.OK || s.Unreached > 0 {
			return false, nil
		}
	}
	return len(outputs) > 0, nil
}
