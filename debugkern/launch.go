package debugkern

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// launch makes the backend's launch of a plan: arguments filled from the inputs, captures placed,
// injected tiles written.
func (r *resolved) launch(
	ctx context.Context, in *input.Inputs, ref *ref.Reference, instrumented bool,
) (*target.Launch, error) {
	p := r.plan
	l := &target.Launch{
		Grid: p.Grid, Block: p.Block, DynShared: p.DynShared, Shared: p.Shared, Schedule: r.schedule,
		Budget: r.req.Budget, Cluster: p.Cluster,
		Resident: r.req.Resident, Cooperative: r.req.Cooperative || p.Cooperative, Memory: r.memory,
	}
	if err := r.reserveHost(l, instrumented); err != nil {
		return nil, err
	}
	for i := range p.Args {
		arg, err := r.launchArg(ctx, i, in)
		if err != nil {
			return nil, err
		}
		l.Args = append(l.Args, arg)
	}
	if err := r.placeCaptures(l, instrumented); err != nil {
		return nil, err
	}
	if l.Probe != nil && instrumented {
		inject, err := r.injection(ref)
		if err != nil {
			return nil, err
		}
		l.Probe.Inject = inject
	}
	return l, nil
}

// reserveHost reserves what a launch allocates on the host before a backend gets it, as long as somebody has
// the launch: inputs in their arguments' types, where that is not how they are kept, and injected tiles.
func (r *resolved) reserveHost(l *target.Launch, instrumented bool) error {
	n := int64(0)
	for _, a := range r.plan.Args {
		if a.Pointer && a.Filled() && a.Contents == nil && a.DType != probes.U8 {
			n = budget.Add(n, budget.Mul(int64(a.MemoryElems()), int64(a.DType.Size())))
		}
	}
	if instrumented && len(r.plan.Gate.Injected) > 0 {
		n = budget.Add(n, budget.Mul(r.layout.InjectBytes))
	}
	release, err := r.memory.Reserve("arguments", n)
	if err == nil {
		budget.Until(r.memory, l, release)
	}
	return err
}

// instrumented reports whether any captured stage needs probes in the source.
func (r *resolved) instrumented() bool {
	for i := range r.plan.Stages {
		switch r.plan.Stages[i].Capture.Kind {
		case probes.CaptureProbe, probes.CaptureFrag:
			return true
		}
	}
	return false
}

// placeCaptures fills l.Probe: probes in the source where the build has them, watches for stages the
// backend takes itself.
func (r *resolved) placeCaptures(l *target.Launch, instrumented bool) error {
	probe := &target.Probe{Layout: r.layout, Control: instrumented}
	for i := range r.plan.Stages {
		sp := &r.plan.Stages[i]
		if sp.Capture.Kind == probes.CaptureRegister && r.stages.Has(sp.Stage) {
			probe.Gather = append(probe.Gather, target.Gather{Plan: sp, File: r.sourceFile()})
		}
		if sp.Capture.Kind != probes.CaptureShared || !r.stages.Has(sp.Stage) {
			continue
		}
		w, err := watch(r.plan, sp, r.sourceFile())
		if err != nil {
			return err
		}
		probe.Watch = append(probe.Watch, w)
	}
	if instrumented || len(probe.Watch) > 0 || len(probe.Gather) > 0 {
		l.Probe = probe
	}
	return nil
}

// sourceFile is the base name of the CUDA source that a manifest's lines are in, "" where it names PTX alone:
// then the lines are in whichever file of the kernel's own they are found.
func (r *resolved) sourceFile() string {
	if r.sel.Manifest.Source == "" {
		return ""
	}
	return filepath.Base(r.sel.Manifest.Source)
}

func watch(p *probes.Plan, sp *probes.StagePlan, file string) (target.Watch, error) {
	for _, a := range p.Shared {
		if a.Name == sp.Capture.Shared {
			return target.Watch{
				Stage: sp.Stage, Array: a, Transposed: sp.Transposed, Rows: sp.Rows, Cols: sp.Cols,
				PerTile: sp.PerTile, File: file, AtLine: sp.Capture.AtLine, Pass: sp.Capture.Pass,
				AtBarrier: sp.Capture.AtBarrier, TileLine: sp.Capture.TileLine,
			}, nil
		}
	}
	return target.Watch{},
		report.Usagef("stage %s is captured from shared array %q, which this variant does not have", sp.Stage,
			sp.Capture.Shared)
}

// injection is the buffer of tiles the gate feeds in.
func (r *resolved) injection(ref *ref.Reference) ([]byte, error) {
	set := r.plan.Gate.Injected
	if len(set) == 0 || r.layout.InjectBytes == 0 {
		return nil, nil
	}
	buf := make([]byte, r.layout.InjectBytes)
	for i := range r.plan.Grid.Count() {
		block := r.plan.Grid.At(i)
		for j := range r.plan.Stages {
			sp := &r.plan.Stages[j]
			if !set.Has(sp.Stage) {
				continue
			}
			tiles := 1
			if sp.PerTile {
				tiles = r.plan.Work.Tiles.At(block, 0)
			}
			for kv := range tiles {
				if err := r.layout.PutInjected(buf, sp.Stage, block, kv,
					fragment.ToLanes(r.cells[sp.Stage], ref.Injected(sp.Stage, block, kv))); err != nil {
					return nil, fmt.Errorf("inject: %w", err)
				}
			}
		}
	}
	return buf, nil
}

// launchArg fills the kernel's i-th parameter. What a kernel without stages leaves in its arguments is all
// there is to see of it.
func (r *resolved) launchArg(ctx context.Context, i int, in *input.Inputs) (target.Arg, error) {
	a := r.plan.Args[i]
	switch {
	case a.Map != nil:
		return target.Arg{
			Name: a.Name, Scalar: a.Data,
			Map: &target.TensorMap{Map: a.Map.Map, Of: a.Map.Of, Skip: a.Map.Skip},
		}, nil
	case a.Data != nil:
		return target.Arg{Name: a.Name, Scalar: a.Data}, nil
	case !a.Pointer:
		return target.Arg{Name: a.Name, Scalar: scalarBytes(a)}, nil
	}
	buf := &target.Buffer{
		DType: a.DType, Dims: a.Dims, Strides: a.Strides, Bytes: a.MemoryElems() * a.DType.Size(),
		Output: a.Role == probes.RoleOutput || a.Role == probes.RoleInOut || r.plan.Stageless(),
	}
	contents, err := r.contents(ctx, i, in)
	if err != nil {
		return target.Arg{}, err
	}
	switch {
	case contents == nil:
	case a.Contents != nil && a.Role == probes.RoleInOut: // given with its gaps
		buf.Init, buf.Written = contents, a.Known
	default:
		buf.Init, buf.Written = a.Scatter(contents)
	}
	arg := target.Arg{Name: a.Name, Buffer: buf}
	if a.Into != nil {
		arg.Into = []target.Place{}
	}
	for _, at := range a.Into {
		arg.Into = append(arg.Into, target.Place(at))
	}
	return arg, nil
}

// contents is what the i-th argument holds before the launch; nil for one that is not written
// then, and for a scalar.
func (r *resolved) contents(ctx context.Context, i int, in *input.Inputs) ([]byte, error) {
	a := r.plan.Args[i]
	switch {
	case a.Pointer && a.Role == probes.RoleInOut && a.Contents != nil:
		return a.Contents, nil
	case a.Pointer && a.Role == probes.RoleInOut:
		return input.Fill(ctx, a.Fill, a.DType, a.Elems(), r.req.Seed, i)
	case !a.Pointer || a.Role != probes.RoleInput:
		return nil, nil
	}
	init, ok := in.Argument(a)
	if !ok {
		return nil, report.Usagef("argument %s: there is no tensor %q", a.Name, a.Tensor)
	}
	if want := a.Elems() * a.DType.Size(); len(init) != want {
		return nil, report.Usagef("argument %s: tensor %s has %d bytes, the manifest's dims %v of %s want %d",
			a.Name, a.Tensor, len(init), a.Dims, a.DType, want)
	}
	return init, nil
}

// scalarBytes is a scalar argument in the bits of its type.
func scalarBytes(a probes.Arg) []byte {
	return binary.LittleEndian.AppendUint64(nil, a.Bits)[:a.DType.Size()]
}
