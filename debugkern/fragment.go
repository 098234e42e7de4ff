package debugkern

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/build"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// FragmentMaps returns the fragment maps of the request's backend: the introspection kernel is executed
// there once a session.
func (s *Session) FragmentMaps(ctx context.Context, req Request) (*fragment.Maps, error) {
	be, _, err := s.Backends(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.fragments(ctx, be)
}

func (s *Session) fragments(ctx context.Context, be target.Backend) (*fragment.Maps, error) {
	maps, err := s.maps.Get(ctx, be.Info().Name, func() (*fragment.Maps, error) {
		return s.introspect(ctx, be)
	})
	if err != nil {
		return nil, fmt.Errorf("introspect fragments: %w", err)
	}
	return maps, nil
}

func (s *Session) introspect(ctx context.Context, be target.Backend) (*fragment.Maps, error) {
	m, variant, err := s.catalogue.Open(ctx, fragment.Introspection)
	if err != nil {
		return nil, err
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		return nil, err
	}
	plan, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		return nil, err
	}
	b, err := s.builder.Kernel(ctx, sel, build.Options{})
	if err != nil {
		return nil, err
	}
	kernel, err := be.Load(ctx, b.Module, plan.Entry)
	if err != nil {
		return nil, err
	}
	return fragment.Introspect(ctx, be.Info(), kernel, plan, s.mem)
}

// mapFragments finds, for the stages captured or injected as raw fragments or from arrays of an order of
// their own, which cell each element is.
func (e *execution) mapFragments() error {
	for i := range e.r.plan.Stages {
		sp := &e.r.plan.Stages[i]
		if e.r.cells == nil && (sp.Cells != nil || sp.Capture.Kind == probes.CaptureFrag) {
			e.r.cells = map[probes.Stage][]int{}
		}
		if sp.Cells != nil {
			e.r.cells[sp.Stage] = sp.Cells
		}
		if sp.Capture.Kind != probes.CaptureFrag {
			continue
		}
		maps, err := e.s.fragments(e.ctx, e.backend)
		if err != nil {
			return err
		}
		f, err := maps.Accumulator(sp.DType)
		if err != nil {
			return &report.KernelError{Stage: "load", Err: fmt.Errorf("stage %s: %w", sp.Stage, err)}
		}
		cells, err := f.Cells(sp.Rows, sp.Cols, e.r.plan.Block.Count())
		if err != nil {
			return &report.KernelError{Stage: "load", Err: fmt.Errorf("stage %s: %w", sp.Stage, err)}
		}
		e.r.cells[sp.Stage] = cells
	}
	return nil
}

// Lut returns the fragment maps of the request's backend that the filter picks. A filter that
// picks none is refused.
func (s *Session) Lut(ctx context.Context, req Request, pick fragment.Filter) (*report.Lut, error) {
	maps, err := s.FragmentMaps(ctx, req)
	if err != nil {
		return nil, err
	}
	return maps.Document(pick)
}

// JudgeLut compares a header's WMMA_ACCUM_LUT, as the patches leave it, with the float accumulator of
// the request's backend. Of a file that does not name WMMA_ACCUM_LUT it judges every array that looks like
// the table of a fragment, see fragment.TextTable. A file that has no full table, or that a patch does not
// apply to, is a usage error that names it.
func (s *Session) JudgeLut(
	ctx context.Context, req Request, path string, pick fragment.Filter, patches ...string,
) (*report.Lut, error) {
	text, err := build.ReadText(ctx, path, "a header with a table")
	if err != nil {
		return nil, report.Unread("read the table:", err)
	}
	if text, err = build.PatchFile(ctx, path, text, patches); err != nil {
		return nil, err
	}
	t, err := s.judgeHeader(ctx, req, path, text, pick)
	if err != nil {
		return nil, err
	}
	return t.Lut, nil
}

// TableFile is a header's table with what JudgeLut found.
func (s *Session) TableFile(ctx context.Context, req Request, path string) (*fragment.Table, error) {
	text, err := build.ReadText(ctx, path, "a header with a table")
	if err != nil {
		return nil, report.Unread("read the table:", err)
	}
	return s.judgeHeader(ctx, req, path, text, fragment.Filter{})
}

// judgeHeader reads the table of a header's text, and then judges it.
func (s *Session) judgeHeader(
	ctx context.Context, req Request, path string, text []byte, pick fragment.Filter,
) (*fragment.Table, error) {
	t, unread := fragment.HeaderTable(path, text)
	if unread != nil && fragment.NamesTable(text) {
		return nil, unread
	}
	arrays := fragment.Arrays(path, string(text))
	if unread != nil && len(arrays) == 0 { // refused before a backend is started
		return nil, report.Usagef("%w; no other array in it has 32 integers or more", unread)
	}
	maps, err := s.FragmentMaps(ctx, req)
	if err != nil {
		return nil, err
	}
	if unread != nil {
		doc, err := maps.Document(fragment.Filter{})
		if err != nil {
			return nil, err
		}
		all := slices.DeleteFunc(slices.Concat(doc.Maps, fragment.Instructions()),
			func(f report.Fragment) bool { return !pick.Picks(&f) })
		if len(all) == 0 {
			return nil, report.Usagef("no instruction has a fragment of kind %q, dtype %q, layout %q", pick.Kind,
				pick.DType, pick.Layout)
		}
		if t = fragment.TextTable(path, arrays, all); t == nil {
			return nil, report.Usagef("%w; no other array of integers in it has the cells of %s: pairs or structs of row "+
				"and column, row·columns + column, or an array of rows and one of columns (ACC_ROW, ACC_COL)", unread,
				pick.Words())
		}
		t.Schema, t.File, t.Backend = doc.Schema, path, doc.Backend
		return t, nil
	}
	dtype := probes.F32
	switch {
	case pick.Kind != "" && pick.Kind != "acc", pick.Layout != "":
		return nil, report.Usagef("%s has the table of an accumulator of WMMA, not of %s", path,
			pick.Words())
	case pick.DType == probes.F16.String():
		dtype = probes.F16
	}
	if err := maps.Judge(t, dtype); err != nil {
		return nil, err
	}
	t.File = path
	return t, nil
}

// Table finds the table by which a run's kernel takes an accumulator apart, and judges it; nil where its
// module has none. It is recognised by its content, not its name: constant data of 32×8 pairs of integers
// that name most cells of a 16×16 tile.
func (r *Run) Table(ctx context.Context) (*fragment.Table, error) {
	all, err := r.Tables(ctx)
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

// Tables is all of them, in the order of the module, each judged.
func (r *Run) Tables(ctx context.Context) ([]fragment.Table, error) {
	m := r.state.build.Module
	found := fragment.FindTables(m, m.Func(r.Plan.Entry), r.Source)
	if len(found) == 0 {
		return nil, nil
	}
	maps, err := r.state.session.FragmentMaps(ctx, r.Request)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if err := maps.Judge(&found[i], probes.F32, probes.F16); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Lookups is every table by which the kernel says which cell of a fragment an element is, of WMMA, mma.sync
// and ldmatrix, in its module or in its sources, each judged; see fragment.FindLookups.
func (r *Run) Lookups(ctx context.Context) ([]fragment.Table, error) {
	found, err := r.Tables(ctx)
	if err != nil {
		return nil, err
	}
	m := r.state.build.Module
	doc, err := r.state.session.Lut(ctx, r.Request, fragment.Filter{})
	if err != nil {
		return nil, err
	}
	all := fragment.FindLookups(m, m.Func(r.Plan.Entry), r.Source,
		slices.Concat(doc.Maps, fragment.Instructions()))
	for _, t := range all {
		if !slices.ContainsFunc(found, func(o fragment.Table) bool { return o.Name == t.Name }) {
			found = append(found, t)
		}
	}
	return found, nil
}
