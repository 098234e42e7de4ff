package checkrun

import (
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// planned is the check of the launch that a manifest describes.
type planned struct {
	*launch
	req   debugkern.Request
	plain *debugkern.PlainLaunch
}

// describe takes geometry and arguments from the manifest.
func (t *planned) describe() (err error) {
	if t.plain, err = t.s.PlainLaunch(t.ctx, t.req, t.progress); err != nil {
		return err
	}
	p := t.plain.Plan()
	if p.Gate.Name != probes.GateNone {
		return report.Usagef(
			"check executes the build without probes, and gate %s is one of the build with them", p.Gate.Name)
	}
	given, err := t.plain.Launch(t.ctx)
	if err != nil {
		return err
	}
	l := t.launch
	l.manifest, l.schedule, l.shared, l.budget = t.plain.Manifest(), given.Schedule, p.Shared, given.Budget
	l.req.Grid, l.req.Block, l.req.Cluster, l.req.Shared = p.Grid, p.Block, p.Cluster, p.DynShared
	if p.Cluster == (probes.Dim3{}) {
		l.req.Cluster = probes.Dim3{1, 1, 1}
	}
	l.req.Cooperative = l.req.Cooperative || p.Cooperative
	l.doc.Launch = report.CheckLaunch{
		Grid: p.Grid, Block: p.Block, Cluster: l.req.Cluster, Shared: p.DynShared,
	}
	if err := l.sample(); err != nil {
		return err
	}
	for i, a := range p.Args {
		x := &arg{
			index: i, name: a.Name, dtype: a.DType, text: argumentText(a), into: given.Args[i].Into,
			tensor: given.Args[i].Map,
		}
		if buf := given.Args[i].Buffer; buf != nil {
			x.dims, x.init = a.Dims, buf.Init
			switch {
			case a.Strides != nil: // gaps are elements too
				x.dims = []int{a.MemoryElems()}
			case x.dims == nil:
				x.dims = []int{}
			}
		} else {
			x.scalar = given.Args[i].Scalar
		}
		l.args = append(l.args, x)
		l.doc.Args = append(l.doc.Args, x.document())
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

// guesses notes what of the result depends on a guess of the manifest.
func (t *planned) guesses() error {
	t.plain.NoteGuesses(t.doc)
	return nil
}

// build builds the manifest's kernel without probes.
func (t *planned) build() (err error) {
	start := time.Now()
	if t.module, err = t.plain.Build(t.ctx); err != nil {
		return err
	}
	t.built(start)
	t.entry = t.module.Module.Func(t.plain.Plan().Entry)
	t.doc.Entry = t.entry.Name
	t.doc.Build.Notes = append(t.doc.Build.Notes, t.plain.Guesses()...)
	return nil
}
