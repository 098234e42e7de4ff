package debugkern

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/expect"
	"tilescope/debugkern/input"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// referenceKernel reads the manifest of a kernel that another is compared with, and refuses one that leads
// back to where it came from.
func (s *Session) referenceKernel(ctx context.Context, m *configs.Manifest,
	r *probes.Reference) (*configs.Manifest, error) {
	other, err := s.openKernel(ctx, m, r)
	if err != nil {
		return nil, err
	}
	if round, err := s.leadsTo(ctx, other, []*configs.Manifest{m}); err != nil || round != "" {
		if err == nil {
			err = report.Usagef("%s: %s is compared with a kernel that is compared with itself: %s", r.At,
				filepath.Base(m.File), round)
		}
		return nil, err
	}
	return other, nil
}

// openKernel reads the manifest that a reference names.
func (s *Session) openKernel(ctx context.Context, m *configs.Manifest,
	r *probes.Reference) (*configs.Manifest, error) {
	other, err := configs.LoadManifest(ctx, m.Path(r.File))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, report.Usagef("%s: %w", r.At, err)
	}
	return other, nil
}

// leadsTo follows the kernels that a manifest's references name, and writes the way on which it comes back to
// one of those before; "" where it does not.
func (s *Session) leadsTo(ctx context.Context, m *configs.Manifest, before []*configs.Manifest) (round string,
	err error) {
	way := append(slices.Clone(before), m)
	for _, b := range before {
		if sameFile(b.File, m.File) {
			var names []string
			for _, x := range way {
				names = append(names, filepath.Base(x.File))
			}
			return strings.Join(names, " → "), nil
		}
	}
	for _, r := range m.KernelReferences() {
		other, err := s.openKernel(ctx, m, &r)
		if err != nil {
			return "", err
		}
		if round, err = s.leadsTo(ctx, other, way); err != nil || round != "" {
			return round, err
		}
	}
	return "", nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// otherKernel launches a kernel on the inputs of this one, up to its tiles. Its own references are not looked
// at: it is not judged.
func (e *execution) otherKernel(s *referenceSource) (*expect.Launch, error) {
	path := s.sel.File
	if !strings.ContainsRune(path, filepath.Separator) {
		path = "." + string(filepath.Separator) + path // and no name of the catalogue
	}
	req := Request{
		Target: path, Seed: e.req.Seed, Backend: e.req.Backend, Builder: e.req.Builder, Arch: e.req.Arch,
		Device: e.req.Device, Budget: e.req.Budget, Repeat: 1,
	}
	if req.Backend == "both" {
		req.Backend = "emu"
	}
	o := e.s.begin(e.ctx, req, func(p Progress) {
		p.Phase, p.Detail = "reference", s.of.File+": "+strings.TrimSpace(p.Phase+" "+p.Detail)
		e.progress(p)
	})
	o.from, o.exact = e.st, true
	for _, step := range []func() error{o.open, o.build, o.launch} {
		if err := step(); err != nil {
			return nil, e.otherFailed(s, o, err)
		}
	}
	for _, f := range o.st.result.Findings {
		if f.Severity == target.SeverityError {
			return nil, e.otherFailed(s, o, fmt.Errorf("it has an error itself: %s: %s", f.Kind, f.Message))
		}
	}
	if !o.st.result.Reached {
		return nil, e.otherFailed(s, o, errors.New("execution did not reach every stage"))
	}
	return &expect.Launch{
		Name: s.of.File, Plan: o.r.plan, For: e.r.plan, Tile: o.st.Tile,
		Argument: func(name string) []byte {
			for _, a := range o.r.plan.Args {
				if a.Name == name && a.Pointer && (a.Role == probes.RoleOutput ||
					a.Role == probes.RoleInOut) {
					return o.st.outputs[name]
				}
			}
			return nil
		},
	}, nil
}

// otherFailed is the error of a kernel that another is compared with: refused, missing a compiler, or failed.
func (e *execution) otherFailed(s *referenceSource, o *execution, err error) error {
	if e.ctx.Err() != nil || OutOfMemory(err) {
		return err
	}
	coded := o.explain(err)
	var re *report.Error
	if errors.As(coded, &re) && re.Code != report.CodeFailed {
		return &report.Error{Code: re.Code, Err: fmt.Errorf("%s: %s: %w", s.of.At, s.of.File, re.Err)}
	}
	var ke *report.KernelError
	text := err
	if errors.As(err, &ke) {
		text = fmt.Errorf("%s: %w", ke.Stage, ke.Err)
	}
	return failedReference(&expect.Error{At: s.of.At, Kind: s.of.Kind,
		Err: fmt.Errorf("%s: %w", s.of.File, text)})
}

// inputsFrom gives this execution the inputs of another kernel's, each tensor by its name. A reference has
// that kernel's shape, and all its inputs are that kernel's; any other execution makes what the other does
// not have from the seed.
func (e *execution) inputsFrom(from *runState) (*input.Inputs, error) {
	shape, err := e.shapeFrom(from)
	if err != nil {
		return nil, err
	}
	if e.r, err = e.s.resolve(e.ctx, e.req, shape, e.valuesFrom(from)); err != nil {
		return nil, err
	}
	if err := e.contentsFrom(from); err != nil {
		return nil, err
	}
	release, err := e.s.mem.Reserve(inputsPart, inputBytes(e.r.plan))
	if err != nil {
		return nil, err
	}
	in := input.Empty(e.r.plan)
	budget.Until(e.s.mem, in, release)
	var own *input.Inputs
	for i, t := range in.Tensors {
		of := from.inputs.Find(t.Name)
		if of != nil && (e.exact || t.Elems() == of.Elems()) {
			if err := takeTensor(e.ctx, t, of, e.exact); err != nil {
				return nil, err
			}
			continue
		}
		if e.exact {
			return nil, report.Usagef("it reads %s, which is no input of %s", t.Name, from.r.plan.Kernel)
		}
		if own == nil {
			if own, err = e.s.normal(e.ctx, e.r.plan, e.req.Seed); err != nil {
				return nil, err
			}
		}
		in.Tensors[i] = own.Tensors[i]
	}
	return in, nil
}

// shapeFrom is the shape of another kernel's execution in this one's dimensions, of a reference; else nil,
// for its request's own.
func (e *execution) shapeFrom(from *runState) (*probes.Shape, error) {
	if !e.exact {
		return nil, nil
	}
	m, _, err := e.s.catalogue.Open(e.ctx, e.req.Target)
	if err != nil {
		return nil, Unopened(e.ctx, err)
	}
	names, extents := m.DimNames(), []int(nil)
	for _, name := range names {
		n, ok := from.r.plan.Shape.Extent(name)
		if !ok {
			return nil, report.Usagef("its dimension %s is none of %s, those of %s", name,
				strings.Join(from.r.plan.Shape.Names(), " "), from.r.plan.Kernel)
		}
		extents = append(extents, n)
	}
	shape := probes.ShapeOf(names, extents...)
	return &shape, nil
}

// valuesFrom is the whole numbers that a shape is made of: another kernel's input of the same name and as
// many elements. A reference has no others; any other execution makes the rest from its seed.
func (e *execution) valuesFrom(from *runState) configs.Values {
	return func(ctx context.Context, p *probes.Plan, in *probes.Input) ([]int64, error) {
		if of := from.inputs.Find(in.Name); of != nil && of.Ints != nil && of.Elems() == in.Elems() {
			return of.Ints, nil
		}
		if e.exact {
			return nil, report.Usagef("its input %s is no input of whole numbers and as many elements of %s",
				in.Name, from.r.plan.Kernel)
		}
		return configs.Seeded(e.req.Seed)(ctx, p, in)
	}
}

// takeTensor makes t's numbers of another kernel's: the same bits where both take it as the same type, else,
// in t's type, what the other kernel gets (exact), or what that was encoded from.
func takeTensor(ctx context.Context, t, of *input.Tensor, exact bool) error {
	if t.Elems() != of.Elems() {
		return report.Usagef("input %s has %v elements, and %v where it comes from", t.Name, t.Dims, of.Dims)
	}
	switch {
	case t.Coded && of.Coded && *t.Quant == *of.Quant && slices.Equal(t.Dims, of.Dims), !t.Coded &&
		!of.Coded && t.DType == of.DType:
		t.X, t.Wide, t.Ints, t.Codes, t.Scales, t.Bits = of.X, of.Wide, of.Ints, of.Codes, of.Scales, of.Bits
		return nil
	case !t.DType.Float() && !t.Coded:
		if of.Ints == nil {
			return report.Usagef("input %s is %s, and %s where it comes from", t.Name, t.DType, of.DType)
		}
		t.Ints = make([]int64, len(of.Ints))
		for i, v := range of.Ints {
			if t.Ints[i] = input.Wrap(t.DType, v); t.Ints[i] != v {
				return report.Usagef("input %s: element %d is %d, which %s does not have", t.Name, i, v,
					t.DType)
			}
		}
		return ctx.Err()
	case !exact && of.X != nil:
		t.X = of.X
		return t.Encode(ctx)
	}
	given := of.Decoded()
	if t.DType == probes.F64 && !t.Coded {
		t.Wide = given
		return ctx.Err()
	}
	t.X = make([]float32, len(given))
	for i, v := range given {
		if t.X[i] = float32(v); math.IsInf(float64(t.X[i]), 0) && !math.IsInf(v, 0) {
			return report.Usagef("input %s: element %d is %g, which f32 does not have", t.Name, i, v)
		}
	}
	return t.Encode(ctx)
}

// contentsFrom gives arguments that are read and written the contents that those of the same name have. A
// reference whose argument is of another type or length is refused; any other execution fills it as its
// manifest says.
func (e *execution) contentsFrom(from *runState) error {
	plan := *e.r.plan
	plan.Args = slices.Clone(plan.Args)
	for i := range plan.Args {
		a := &plan.Args[i]
		k := slices.IndexFunc(from.r.plan.Args, func(x probes.Arg) bool {
			return x.Name == a.Name && x.Pointer
		})
		if !a.Pointer || a.Role != probes.RoleInOut || k < 0 {
			continue
		}
		of := from.r.plan.Args[k]
		if of.DType != a.DType || of.Elems() != a.Elems() {
			if e.exact {
				return report.Usagef("argument %s is %s%v, and %s%v where its contents come from", a.Name,
					a.DType, a.Dims, of.DType, of.Dims)
			}
			continue
		}
		data, err := from.r.contents(e.ctx, k, from.inputs)
		if err != nil {
			return err
		}
		if a.Contents = data; data == nil {
			a.Fill = probes.Fill{Kind: probes.FillUnwritten}
		}
	}
	e.r.plan = &plan
	return nil
}
