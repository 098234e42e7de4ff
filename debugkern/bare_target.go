package debugkern

import (
	"strings"
	"time"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// describe takes geometry and arguments from a manifest.
func (b *bareLaunch) describe(e *execution) error {
	in, err := e.inputs()
	if err != nil {
		return err
	}
	r := e.r
	if r.plan.Gate.Name != probes.GateNone {
		return report.Usagef("check executes the build without probes, and gate %s is one of the build with them", r.plan.Gate.Name)
	}
	if r.sel.Manifest.PTX != "" && r.instrumented() {
		return report.Usagef("%s brings its PTX with probes in it: there is no build without them to check", r.sel.Manifest.Name)
	}
	l, err := r.launch(b.ctx, in, nil, false)
	if err != nil {
		return err
	}
	p := r.plan
	b.manifest, b.schedule, b.shared, b.budget = r.sel.Manifest, r.schedule, p.Shared, r.req.Budget
	b.req.Grid, b.req.Block, b.req.Cluster, b.req.Shared = p.Grid, p.Block, probes.Dim3{1, 1, 1}, p.DynShared
	b.doc.Launch = report.CheckLaunch{Grid: p.Grid, Block: p.Block, Cluster: b.req.Cluster, Shared: p.DynShared}
	if err := b.sample(); err != nil {
		return err
	}
	for i, a := range p.Args {
		arg := &bareArg{index: i, name: a.Name, dtype: a.DType, text: argumentText(a)}
		if buf := l.Args[i].Buffer; buf != nil {
			arg.dims, arg.init = a.Dims, buf.Init
			switch {
			case a.Strides != nil: // gaps are elements too
				arg.dims = []int{a.MemoryElems()}
			case arg.dims == nil:
				arg.dims = []int{}
			}
		} else {
			arg.scalar = l.Args[i].Scalar
		}
		b.args = append(b.args, arg)
		b.doc.Args = append(b.doc.Args, report.CheckArg{Name: a.Name, DType: a.DType.String(), Dims: append([]int{}, arg.dims...), Source: arg.text})
	}
	return nil
}

// argumentText is where the contents of a manifest's argument come from.
func argumentText(a probes.Arg) string {
	switch {
	case !a.Pointer:
		return "the manifest's value"
	case a.Role == probes.RoleInput:
		return "tensor " + a.Tensor
	case a.Filled():
		return "the manifest's fill"
	}
	return "unwritten"
}

// buildOf builds a manifest's kernel without probes.
func (b *bareLaunch) buildOf(e *execution) (err error) {
	start := time.Now()
	b.progress(Progress{Phase: "build", Detail: strings.Join(append(e.r.sel.Defines(), e.r.sel.Planted()...), " ")})
	if b.module, err = b.s.builder.Kernel(b.ctx, e.r.sel, buildOptions(e.req, false)); err != nil {
		return err
	}
	b.built(start)
	if _, err := agree(b.module.Module, e.r.plan); err != nil {
		return &report.KernelError{Stage: "load", Err: err}
	}
	b.entry = b.module.Module.Func(e.r.plan.Entry)
	b.doc.Entry = b.entry.Name
	return nil
}
