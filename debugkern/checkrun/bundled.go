package checkrun

import (
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/argument"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// open reads the description of a bundle, and takes entry and geometry from it. For another
// file it does nothing.
func (l *launch) open() error {
	if !build.Bundled(l.req.File) {
		return nil
	}
	limit := l.s.Memory().Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	x, err := bundle.Open(l.ctx, l.req.File, limit)
	if err != nil {
		return report.Unread("read the bundle:", err)
	}
	l.bundle = x
	l.reserved = append(l.reserved, func() { x.Close() })
	given := x.Launch
	l.req.Entry, l.req.Grid, l.req.Block, l.req.Cluster, l.req.Shared = x.Entry, given.Grid, given.Block,
		given.Cluster, given.Shared
	l.req.Cooperative = given.Cooperative
	l.doc.Launch = report.CheckLaunch{
		Grid: given.Grid, Block: given.Block, Cluster: given.Cluster, Shared: given.Shared,
	}
	return nil
}

// bundled makes the arguments of a bundle: each parameter's bytes, and behind them its memory, with the
// places that get its address. What they take is reserved first.
func (l *launch) bundled() error {
	x := l.bundle
	defer x.Close()
	if n, want := len(x.Parameters), len(l.entry.Params); n != want {
		return report.Usagef("%s: it has %d parameters, and %s takes %d", x.Path, n, l.entry.Demangled, want)
	}
	var sum budget.Sum
	for i := range x.Memory {
		// as recorded before and after, as the launch has it and leaves it
		sum.Add("memory "+x.Memory[i].Name, budget.Mul(5, x.Memory[i].Bytes()), "")
	}
	limit := l.s.Memory().Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	if err := sum.Within(limit); err != nil {
		return report.Usagef("%s %w", x.Path, err)
	}
	memory, err := l.bundledMemory()
	if err != nil {
		return err
	}
	for i := range x.Parameters {
		p := &x.Parameters[i]
		if n, want := len(p.Bytes()), l.entry.Params[i].Size; n != want {
			return report.Usagef("%s: parameters[%d]: %s has %d bytes, and the kernel's parameter %d", x.Path,
				i, p.Name, n, want)
		}
		a := &arg{
			param: l.entry.Params[i], index: i, name: p.Name, scalar: slices.Clone(p.Bytes()),
			dtype: probes.U8, text: "bundle",
		}
		if t, err := probes.ParseDType(p.Type); err == nil && t.Size() == len(a.scalar) {
			a.dtype = t
		}
		for _, ptr := range p.Pointers {
			to := memory[ptr.Memory]
			to.into = append(to.into, target.Place{Arg: i, Offset: ptr.At, Skip: ptr.Offset})
		}
		if p.Map != nil && memory[p.Map.Memory].into == nil {
			memory[p.Map.Memory].into = []target.Place{} // the map alone leads to it
		}
		l.args = append(l.args, a)
		l.doc.Args = append(l.doc.Args, bundledDocument(x, p, a))
	}
	for _, a := range memory {
		if a.into != nil { // else nothing leads to it
			l.args = append(l.args, a)
		}
	}
	return l.bundledMaps(memory)
}

// bundledMaps makes the tensor maps among the parameters of a bundle.
func (l *launch) bundledMaps(memory []*arg) error {
	for i := range l.bundle.Parameters {
		p := &l.bundle.Parameters[i]
		if p.Map == nil {
			continue
		}
		spec, of := p.Map.Spec(), memory[p.Map.Memory]
		m, err := spec.Map(p.Map.DType, nil, nil)
		if err != nil {
			return report.Usagef("%s: parameters[%d]: %w", l.bundle.Path, i, err)
		}
		l.args[i].value = &argument.Value{Map: &argument.TensorMap{Of: of.name, Spec: spec}}
		l.args[i].tensor = &target.TensorMap{Map: *m, Of: slices.Index(l.args, of), Skip: p.Map.Offset}
	}
	return nil
}

// bundledMemory makes the arguments that memory is, in the order of the bundle.
func (l *launch) bundledMemory() ([]*arg, error) {
	x := l.bundle
	var out []*arg
	for i := range x.Memory {
		m := &x.Memory[i]
		a := &arg{
			name: m.Name, index: i, dtype: m.ElementType(), dims: append([]int{}, m.Dims...), text: "bundle",
		}
		if err := l.reserve(a, budget.Mul(2, m.Bytes())); err != nil {
			return nil, err
		}
		before, err := x.Before(l.ctx, i)
		if err != nil {
			return nil, report.Unread("read the bundle:", err)
		}
		if before != nil {
			a.init, a.written = before.Data, before.Known
		}
		if a.after, err = x.After(l.ctx, i); err != nil {
			return nil, report.Unread("read the bundle:", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// bundledDocument is a parameter as documents have it: where it is one address and nothing else, the
// memory that it leads to.
func bundledDocument(x *bundle.Bundle, p *bundle.Parameter, a *arg) report.CheckArg {
	doc := report.CheckArg{Name: p.Name, DType: a.dtype.String(), Dims: []int{}, Source: "bundle"}
	switch {
	case p.Map != nil:
		doc.DType = "tensormap"
	case len(p.Pointers) == 1 && len(p.Bytes()) == 8:
		m := &x.Memory[p.Pointers[0].Memory]
		doc.DType, doc.Dims = m.DType, append(doc.Dims, m.Dims...)
	case len(p.Bytes()) > 8:
		doc.DType, doc.Dims = "struct", append(doc.Dims, len(p.Bytes()))
	}
	return doc
}

// recorded compares what the launch left with what was recorded of it. A difference is a finding, as one
// between the emulator and a GPU is.
func (l *launch) recorded() error {
	var found []target.Finding
	for i := range l.doc.Outputs {
		o := &l.doc.Outputs[i]
		for _, a := range l.args {
			if a.name != o.Name || a.after == nil || !a.isMemory() {
				continue
			}
			then := debugkern.RecordedOutput{
				Name: a.name, DType: a.dtype, Dims: a.dims, Data: a.after.Data, Known: a.after.Known,
			}
			r, f := then.Compare(l.outputs[a.name])
			if o.Recorded = r; f != nil {
				found = append(found, *f)
			}
		}
	}
	found, err := l.excused(found)
	if err != nil {
		return err
	}
	l.doc.Findings = append(l.doc.Findings, report.FindingsOf(found)...)
	return nil
}
