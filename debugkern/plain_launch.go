package debugkern

import (
	"context"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/input"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// PlainLaunch is the launch of a request's build without probes: for those who execute it themselves, and
// compare it with no reference. Nothing of it is built yet. It is not safe for concurrent use.
type PlainLaunch struct {
	e      *execution
	inputs *input.Inputs
}

// PlainLaunch resolves a request and makes its inputs. A kernel that comes as PTX with probes in it has no
// such build: an error of CodeUsage. Other errors are those of Run before it executes anything; Explain gives
// them their exit code.
func (s *Session) PlainLaunch(
	ctx context.Context, req Request, progress func(Progress),
) (*PlainLaunch, error) {
	e := s.begin(ctx, req, progress)
	in, err := e.inputs()
	if err != nil {
		return nil, err
	}
	if err := e.r.separable(); err != nil {
		return nil, err
	}
	return &PlainLaunch{e, in}, nil
}

// separable refuses a kernel whose probes cannot be left out.
func (r *resolved) separable() error {
	if m := r.sel.Manifest; m.PTX != "" && r.instrumented() {
		return report.Usagef("%s brings its PTX with probes in it: there is no build without them", m.Name)
	}
	return nil
}

// Plan is what the request resolves to.
func (l *PlainLaunch) Plan() *probes.Plan { return l.e.r.plan }

// Manifest describes the kernel.
func (l *PlainLaunch) Manifest() *configs.Manifest { return l.e.r.sel.Manifest }

// Launch makes the launch: arguments from the inputs, and nothing captured. What they take stays reserved as
// long as somebody has the launch.
func (l *PlainLaunch) Launch(ctx context.Context) (*target.Launch, error) {
	out, err := l.e.r.launch(ctx, l.inputs, nil, false)
	if err != nil {
		return nil, err
	}
	out.Probe = nil
	return out, nil
}

// Build compiles the kernel without probes, or finds its build. A module that disagrees with the manifest is
// a *report.KernelError of stage load.
func (l *PlainLaunch) Build(ctx context.Context) (*build.Build, error) {
	e := l.e
	e.progressOfBuild()
	b, err := e.s.builder.Kernel(ctx, e.r.sel, buildOptions(e.req, false))
	if err != nil {
		return nil, err
	}
	if err := e.r.agreeEntry(b); err != nil {
		return nil, err
	}
	if _, err := agree(b.Module, e.r.plan); err != nil {
		return nil, &report.KernelError{Stage: "load", Err: err}
	}
	return b, nil
}
