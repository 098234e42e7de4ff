package debugkern

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/expect"
	"tilescope/debugkern/file"
	"tilescope/debugkern/input"
	"tilescope/debugkern/judge"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
	"tilescope/probes"
)

// References other than the graph: an archive is opened, a command executed, another kernel launched, each
// once for all the stages and arguments that are compared with it. What can be refused is refused before any
// of them is executed.

// referenceSource is where the arrays of some references come from.
type referenceSource struct {
	of      probes.Reference
	archive *expect.Archive
	launch  *expect.Launch
	sel     *configs.Manifest // of a kernel
}

// source is what it is to package expect.
func (s *referenceSource) source() expect.Source {
	if s.launch != nil {
		return s.launch
	}
	return s.archive
}

// referenceError is the error of a reference: exit code 2 where its file, its manifest or what the manifest
// says of it is wrong, 4 where a command or kernel failed. Errors with an exit code of their own, of memory
// and of the context stay what they are.
func (e *execution) referenceError(err error) error {
	var at *expect.Error
	var coded *report.Error
	var kernel *report.KernelError
	switch {
	case err == nil:
		return nil
	case e.ctx.Err() != nil && errors.Is(e.ctx.Err(), context.Canceled):
		return e.ctx.Err()
	case e.ctx.Err() != nil:
		return &report.KernelError{Stage: referenceStage, Err: context.Cause(e.ctx)}
	case errors.As(err, &coded), errors.As(err, &kernel), OutOfMemory(err):
		return err
	case errors.As(err, &at) && at.Kind == probes.ReferenceCommand:
		return failedReference(at)
	}
	return &report.Error{Code: report.CodeUsage, Err: err}
}

// referenceStage is the stage of a failure of a reference.
const referenceStage = "reference"

// failedReference is a reference that failed.
func failedReference(err *expect.Error) error {
	return &report.KernelError{Stage: referenceStage, Err: err,
		Source: &report.Source{File: err.At.File, Line: err.At.Line}}
}

// expected makes what stages and arguments are compared with, where the manifest says more of it than the
// graph.
func (e *execution) expected() error {
	sources := e.referenceSources()
	done := func() {
		for _, s := range sources {
			if s.archive != nil {
				s.archive.Release()
			}
		}
	}
	for _, step := range []func(*referenceSource) error{e.permit, e.openReference, e.execute} {
		for _, s := range sources {
			if err := step(s); err != nil {
				done()
				return e.referenceError(err)
			}
		}
	}
	set, err := expect.New(e.ctx, expect.Config{
		Plan: e.r.plan, Graph: e.st.ref, Stages: e.r.stages, Blocks: e.st.blocks(),
		Source: func(r *probes.Reference) expect.Source {
			i := slices.IndexFunc(sources, func(s *referenceSource) bool { return s.of.SameSource(r) })
			return sources[i].source()
		},
	})
	if err != nil {
		done()
		return e.referenceError(err)
	}
	if e.st.expected = set; set != nil {
		budget.Until(e.s.mem, set, done) // the arrays live as long as somebody compares with them
	}
	return nil
}

// expectation is the state's Set as judge takes it: nil where there is none.
func (st *runState) expectation() judge.Expected {
	if st.expected == nil {
		return nil
	}
	return st.expected
}

// referenceSources lists where the arrays of the plan's references come from, each once, in the order of the
// plan.
func (e *execution) referenceSources() []*referenceSource {
	var out []*referenceSource
	add := func(r *probes.Reference) {
		if r != nil && r.Arrays() && !slices.ContainsFunc(out,
			func(s *referenceSource) bool { return s.of.SameSource(r) }) {
			out = append(out, &referenceSource{of: *r})
		}
	}
	for _, sp := range e.r.plan.Tiles() {
		if sp.Referenced() && (sp.OfLaunch() || e.r.plan.Gate.Judged.Has(sp.Stage) &&
			e.r.stages.Has(sp.Stage)) {
			add(&sp.Reference)
			add(sp.Tolerance.Of)
		}
	}
	return out
}

// permit refuses a command whose folder is not trusted, and a kernel that is compared with itself.
func (e *execution) permit(s *referenceSource) error {
	m := e.r.sel.Manifest
	switch s.of.Kind {
	case probes.ReferenceCommand:
		if m.Dir == "" {
			return &expect.Error{At: s.of.At, Kind: probes.ReferenceGraph,
				Err: errors.New("a manifest without a folder has no commands")}
		}
		err := e.s.trust().Folder(m.Dir)
		var refused *trust.Refused
		if errors.As(err, &refused) {
			return report.Unavailablef("%s: the command %q is not executed: %w", s.of.At, s.of.Source(),
				refused)
		}
		return err
	case probes.ReferenceKernel:
		var err error
		s.sel, err = e.s.referenceKernel(e.ctx, m, &s.of)
		return err
	}
	return nil
}

// trust is the session's policy about foreign programs.
func (s *Session) trust() *trust.Policy { return s.builder.Tools().Trust }

// openReference opens an archive, and compares the inputs that it has with the launch's.
func (e *execution) openReference(s *referenceSource) error {
	if s.of.Kind != probes.ReferenceNPZ {
		return nil
	}
	path := e.r.sel.Manifest.Path(s.of.File)
	e.progress(Progress{Phase: "reference", Detail: s.of.File})
	limit := e.s.mem.Limit()
	if limit == 0 {
		limit = budget.Default()
	}
	content, err := file.Read(e.ctx, path, limit, file.Want{What: "a NumPy archive (.npz)"})
	if err != nil {
		return &expect.Error{At: s.of.At, Kind: s.of.Kind, Err: err}
	}
	if s.archive, err = e.archive(content, s.of.File); err != nil {
		return &expect.Error{At: s.of.At, Kind: s.of.Kind, Err: err}
	}
	inputs, err := e.givenInputs()
	if err == nil {
		err = s.archive.Differs(e.ctx, inputs)
	}
	if err != nil && !OutOfMemory(err) {
		return &expect.Error{At: s.of.At, Kind: s.of.Kind, Err: err}
	}
	return err
}

// archive opens the content of an archive.
func (e *execution) archive(content []byte, label string) (*expect.Archive, error) {
	return expect.OpenArchive(bytes.NewReader(content), int64(len(content)), label, e.r.plan, e.s.mem)
}

// givenInputs lists what an archive with references may have of the launch's inputs: each input under its
// name, and what an argument that is read and written has before the launch as in_NAME. A name that the
// reference of a stage may have means that.
func (e *execution) givenInputs() ([]expect.Input, error) {
	taken := map[string]bool{}
	for _, sp := range e.r.plan.Tiles() {
		for _, name := range append(expect.Names(sp), sp.Reference.Array, sp.Tolerance.Baseline) {
			taken[name] = taken[name] || sp.Reference.Arrays()
		}
	}
	var out []expect.Input
	for i, a := range e.r.plan.Args {
		name := a.Name
		if a.Role == probes.RoleInOut {
			name = "in_" + name
		}
		if !a.Pointer || !a.Filled() || taken[name] {
			continue
		}
		data, err := e.r.contents(e.ctx, i, e.st.inputs)
		if err != nil {
			return nil, err
		}
		out = append(out, expect.Input{Name: name, DType: a.DType, Dims: a.Dims, Data: data})
	}
	return out, nil
}

// execute runs what has to be executed for a reference.
func (e *execution) execute(s *referenceSource) (err error) {
	switch s.of.Kind {
	case probes.ReferenceCommand:
		s.archive, err = e.answer(&s.of)
	case probes.ReferenceKernel:
		s.launch, err = e.otherKernel(s)
	}
	return err
}

// writeArguments writes the archive that a command computes references from: the arguments by name as the
// kernel gets them. What NumPy has no type for is there as its bits: bf16 as u2, the 8-bit types as u1, a
// struct as bytes. Outputs, which hold nothing before the launch, are not there.
func writeArguments(ctx context.Context, w io.Writer, r *resolved, in *input.Inputs) error {
	z := npy.NewWriter(w)
	for i, a := range r.plan.Args {
		switch {
		case a.Data != nil:
			z.Array(a.Name, npy.U8, len(a.Data)).Write(a.Data)
		case !a.Pointer:
			z.Array(a.Name, input.RawArrayType(a.DType)).Write(scalarBytes(a))
		case a.Filled():
			data, err := r.contents(ctx, i, in)
			if err != nil {
				return err
			}
			z.Array(a.Name, input.RawArrayType(a.DType), a.Dims...).Write(data)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write the arguments: %w", err)
	}
	return nil
}

// exact is the exact reference of a tile: the graph's, or what it is compared with instead; ok is false where
// there is none.
func (st *runState) exact(s probes.Stage, block probes.Dim3, kv int) (m op.Matrix, ok bool) {
	if m, ok = st.expected.Exact(s, block, kv); ok {
		return m, true
	}
	return st.ref.Block(block).Values(s, kv)
}

// rounded is the exact reference of a tile in its stage's bits: what a trial puts in the place of the
// kernel's.
func (st *runState) rounded(sp *probes.StagePlan, block probes.Dim3, kv int) probes.Tile {
	m, ok := st.expected.Exact(sp.Stage, block, kv)
	if !ok {
		return st.ref.Rounded(sp.Stage, block, kv)
	}
	t := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	for r := range sp.Rows {
		for c, v := range m.Row(r) {
			if sp.DType.Float() {
				t.SetBits(r, c, op.Round(sp.DType, v))
			} else {
				t.SetBits(r, c, uint64(int64(v)))
			}
		}
	}
	return t
}
