package debugkern

import (
	"context"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Relaunch launches a run's build without probes again, as it is or changed, on the backend that the run
// executed on and over the whole grid.
type Relaunch struct {
	e      *execution
	module *ptx.Module
	launch *target.Launch
}

// Backend describes what the run executed on; ok is false for a run that was not made by a session.
func (r *Run) Backend() (info target.Info, ok bool) {
	if r.state == nil {
		return info, false
	}
	return r.state.backend.Info(), true
}

// Relaunch makes ready launches of the build without probes. The run must have been made without a gate:
// nothing is injected. Errors are those of Session.Run.
func (r *Run) Relaunch(ctx context.Context) (*Relaunch, error) {
	e, err := r.again(ctx)
	if err != nil {
		return nil, e.explain(err)
	}
	b, err := r.plainBuild(ctx)
	if err != nil {
		return nil, e.explain(err)
	}
	e.r.rng = probes.Range{N: e.r.plan.Grid, TileN: e.r.plan.Work.MaxTiles}
	e.r.stages = e.r.plan.OutputSet()
	l := *r.state.launch
	l.Probe, l.Only, l.Observe, l.Repeat, l.Label = nil, nil, nil, 0, e.r.label()+", perturbed"
	return &Relaunch{e, b.Module, &l}, nil
}

// Module is the build without probes.
func (l *Relaunch) Module() *ptx.Module { return l.module }

// Execute loads a module, every rounding written out where the backend's compiler might fuse what a change
// parts, and launches it. The outcome has an output and no captured tile. The error wraps a *target.Fault
// where the kernel could not go on.
func (l *Relaunch) Execute(ctx context.Context, m *ptx.Module) (*Outcome, error) {
	load := l.e.backend.Load
	if pinner, ok := l.e.backend.(target.Pinner); ok {
		load = pinner.LoadPinned
	}
	k, err := load(ctx, m, l.e.r.plan.Entry)
	if err != nil {
		return nil, &report.KernelError{Stage: "load", Err: err}
	}
	res, err := k.Launch(ctx, l.launch)
	if err != nil {
		return nil, report.LaunchError(err)
	}
	st := *l.e.st
	st.leave(res)
	return &Outcome{&st, l.e.header()}, nil
}

// Explain gives the error of a launch its exit code and document, as Session.Run does.
func (l *Relaunch) Explain(err error) error { return l.e.explain(err) }
