package tuitest

import (
	"context"
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/request"
)

// Shapes, Describe and the rest make the fake engine a gates.Runner: resources by a formula, no GPU, counts.
// Variant stage3b-reported spills and is wrong.

func (e *Engine) Shapes(context.Context, string) ([]string, error) {
	return []string{"small", "validation", "partial49", "long"}, nil
}

func (e *Engine) Describe(_ context.Context, req debugkern.Request) (*debugkern.Subject, error) {
	m, variant, err := e.Cat.Lookup(req.Target)
	if err != nil {
		return nil, err
	}
	shape, err := m.ParseShape(request.ShapeName(req))
	if err != nil {
		return nil, err
	}
	return &debugkern.Subject{
		Kernel: m.Name, Variant: variant, Shape: shape, Faults: []string{}, Referenced: len(m.Stages) > 0,
		Limits: probes.Limits{
			Registers: 128, SharedBytes: 49152, MinSpeedup: 1.1, MaxAbs: 0.06, MeanAbs: 0.01,
			BadFraction: 0.001,
		},
	}, nil
}

func (e *Engine) Environment(context.Context, debugkern.Request) (*report.Environment, error) {
	return &report.Environment{Backend: "emu", Device: "emulator", Arch: "sm_90"}, nil
}

func (e *Engine) BuildInfo(ctx context.Context, req debugkern.Request) (*report.Build, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &report.Build{Entry: "k", Builder: "embedded", Compiler: "NVRTC 12.0.140",
		PTXSHA256: fmt.Sprintf("%064x", len(req.Target))}, nil
}

func (e *Engine) Resources(_ context.Context, req debugkern.Request, arch string) (*report.Resources,
	string, error) {
	r := &report.Resources{Registers: 80 + len(req.Target), SharedBytes: 37120, Arch: arch}
	if req.Target == "stage1" {
		r.Registers, r.SpillStoreBytes = 168, 24
	}
	return r, "", nil
}

func (e *Engine) Time(context.Context, []debugkern.Request, debugkern.TimeOptions) (*debugkern.Timing, string,
	error) {
	return nil, "no GPU: there is no driver", nil
}

func (e *Engine) Count(context.Context, debugkern.Request) (*report.Counts, error) {
	return &report.Counts{WarpInstructions: 18345678, MMAOutputs: 4194304, SharedAccesses: 912345,
		GlobalAccesses: 54321, Barriers: 8192}, nil
}
