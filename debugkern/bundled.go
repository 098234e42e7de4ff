package debugkern

import (
	"slices"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// open reads the description of a bundle, and takes entry and geometry from it. For another file it does nothing.
func (b *bareLaunch) open() error {
	if !build.Bundled(b.req.File) {
		return nil
	}
	limit := b.s.mem.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	x, err := bundle.Open(b.ctx, b.req.File, limit)
	if err != nil {
		return report.Unread("read the bundle:", err)
	}
	b.bundle = x
	b.release = append(b.release, func() { x.Close() })
	l := x.Launch
	b.req.Entry, b.req.Grid, b.req.Block, b.req.Cluster, b.req.Shared = x.Entry, l.Grid, l.Block, l.Cluster, l.Shared
	b.req.Cooperative = l.Cooperative
	b.doc.Launch = report.CheckLaunch{Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared}
	return nil
}

// bundled makes the arguments of a bundle: each parameter's bytes, and behind them its memory, with the places that get its address. What
// they take is reserved first.
func (b *bareLaunch) bundled() error {
	x := b.bundle
	defer x.Close()
	if n, want := len(x.Parameters), len(b.entry.Params); n != want {
		return report.Usagef("%s: it has %d parameters, and %s takes %d", x.Path, n, b.entry.Demangled, want)
	}
	var sum budget.Sum
	for i := range x.Memory {
		sum.Add("memory "+x.Memory[i].Name, budget.Mul(5, x.Memory[i].Bytes()), "") // as recorded before and after, as the launch has it and leaves it
	}
	limit := b.s.mem.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	if err := sum.Within(limit); err != nil {
		return report.Usagef("%s %w", x.Path, err)
	}
	memory, err := b.bundledMemory()
	if err != nil {
		return err
	}
	for i := range x.Parameters {
		p := &x.Parameters[i]
		if n, want := len(p.Bytes()), b.entry.Params[i].Size; n != want {
			return report.Usagef("%s: parameters[%d]: %s has %d bytes, and the kernel's parameter %d", x.Path, i, p.Name, n, want)
		}
		a := &bareArg{param: b.entry.Params[i], index: i, name: p.Name, scalar: slices.Clone(p.Bytes()), dtype: probes.U8, text: "bundle"}
		if t, err := probes.ParseDType(p.Type); err == nil && t.Size() == len(a.scalar) {
			a.dtype = t
		}
		for _, ptr := range p.Pointers {
			to := memory[ptr.Memory]
			to.into = append(to.into, target.Place{Arg: i, Offset: ptr.At, Skip: ptr.Offset})
		}
		b.args = append(b.args, a)
		b.doc.Args = append(b.doc.Args, bundledDocument(x, p, a))
	}
	for _, a := range memory {
		if a.into != nil { // else nothing leads to it
			b.args = append(b.args, a)
		}
	}
	return nil
}

// bundledMemory makes the arguments that memory is, in the order of the bundle.
func (b *bareLaunch) bundledMemory() ([]*bareArg, error) {
	x := b.bundle
	var out []*bareArg
	for i := range x.Memory {
		m := &x.Memory[i]
		a := &bareArg{name: m.Name, index: i, dtype: m.ElementType(), dims: append([]int{}, m.Dims...), text: "bundle"}
		if err := b.reserve(a, budget.Mul(2, m.Bytes())); err != nil {
			return nil, err
		}
		before, err := x.Before(b.ctx, i)
		if err != nil {
			return nil, report.Unread("read the bundle:", err)
		}
		if before != nil {
			a.init, a.written = before.Data, before.Known
		}
		if a.after, err = x.After(b.ctx, i); err != nil {
			return nil, report.Unread("read the bundle:", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// bundledDocument is a parameter as documents have it: where it is one address and nothing else, the memory that it leads to.
func bundledDocument(x *bundle.Bundle, p *bundle.Parameter, a *bareArg) report.CheckArg {
	doc := report.CheckArg{Name: p.Name, DType: a.dtype.String(), Dims: []int{}, Source: "bundle"}
	switch {
	case len(p.Pointers) == 1 && len(p.Bytes()) == 8:
		m := &x.Memory[p.Pointers[0].Memory]
		doc.DType, doc.Dims = m.DType, append(doc.Dims, m.Dims...)
	case len(p.Bytes()) > 8:
		doc.DType, doc.Dims = "struct", append(doc.Dims, len(p.Bytes()))
	}
	return doc
}
