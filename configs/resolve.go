package configs

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// ShapeError refuses a shape: the kernel's requires, a fault's needs, or its size. Nothing was run.
type ShapeError struct {
	Kernel  string
	Shape   probes.Shape
	Fault   string // the fault whose condition fails; ""
	That    string // the condition; of a fault's, what does not hold: a flag's as a setting, USE_LOG=0
	Say     string // the manifest's words for it, or the size
	Suggest string // name of a shape that would do; "" where none is known
	Base    string // the target of a fault that can do nothing with these flags on any shape; else ""
}

func (e *ShapeError) Error() string {
	var b strings.Builder
	switch {
	case e.Base != "":
		fmt.Fprintf(&b, "fault %s can do nothing with these flags: it needs %s; try target %s", e.Fault, e.That,
			e.Base)
	case e.Fault != "":
		fmt.Fprintf(&b, "fault %s can do nothing on shape %s: it needs %s", e.Fault, e.Shape, e.That)
	default:
		fmt.Fprintf(&b, "kernel %s cannot take shape %s: %s", e.Kernel, e.Shape, e.Say)
		if e.That != "" {
			fmt.Fprintf(&b, " (it requires %s)", e.That)
		}
	}
	if e.Suggest != "" {
		fmt.Fprintf(&b, "; try --shape %s", e.Suggest)
	}
	return b.String()
}

// Resolve evaluates the manifest for a shape, and for the inputs of seed 0 where its expressions read
// elements of them. Errors are *ShapeError for a shape that is refused, *Error for an expression that does
// not give what its field needs.
func (s *Selection) Resolve(shape probes.Shape) (*probes.Plan, error) {
	return s.ResolveContext(context.Background(), shape)
}

// ResolveContext is Resolve with a context, which large grids take long enough for: where that ends first,
// the error is its own.
func (s *Selection) ResolveContext(ctx context.Context, shape probes.Shape) (*probes.Plan, error) {
	return s.ResolveFor(ctx, shape, Seeded(0))
}

// ResolveFor is ResolveContext for other inputs: values gives the elements that expressions read. An error of
// values comes as it is.
func (s *Selection) ResolveFor(ctx context.Context, shape probes.Shape, values Values) (*probes.Plan, error) {
	return s.resolve(ctx, shape, values, false, new(int64))
}

// resolver is one evaluation.
type resolver struct {
	ctx     context.Context
	m       *Manifest
	sel     *Selection
	env     *env
	shape   probes.Shape
	corners bool // evaluate extents at the ends of each axis only
	values  int  // of extents so far
	steps   *int64
	plan    *probes.Plan
	work    *Work
	given   Values                  // the elements of inputs
	rules   map[string]probes.Rule  // of masks, by phase and text
	nodes   map[*probes.Node]place  // of operations
	entries map[probes.Stage]*Stage // of the stages that this build has
}

// resolve is ResolveContext that counts what it evaluates in steps.
func (s *Selection) resolve(
	ctx context.Context, shape probes.Shape, values Values, corners bool, steps *int64,
) (*probes.Plan, error) {
	r := &resolver{
		ctx: ctx, m: s.Manifest, sel: s, shape: shape, given: values, corners: corners, steps: steps,
		plan: &probes.Plan{
			Kernel: s.Manifest.Name, Entry: s.Manifest.Entry, Shape: shape, Limits: s.Manifest.Thresholds,
		},
	}
	for _, step := range []func() error{
		r.variables, r.conditions, r.limits, r.args, r.computed, r.geometry, r.shared, r.faults, r.workOf,
		r.stages, r.memory, r.uses, r.operators, r.references,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := step()
		if r.env != nil && r.env.elements.err != nil { // expressions failed for it
			err = r.env.elements.err
		}
		if err != nil {
			return nil, err
		}
	}
	return r.plan, nil
}

// variables fills the environment: shape, flags, fault and gate symbols, constants.
func (r *resolver) variables() error {
	if have, want := strings.Join(r.shape.Names(), ", "), strings.Join(r.m.DimNames(), ", "); have != want {
		return &ShapeError{Kernel: r.m.Name, Shape: r.shape, Say: "its dimensions are " + want}
	}
	for _, d := range r.shape.Dims() {
		if d.N < 1 {
			return &ShapeError{Kernel: r.m.Name, Shape: r.shape, Say: "every dimension must be at least 1"}
		}
	}
	r.env = r.m.flagEnv(r.sel.Flags)
	r.env.steps, r.env.elements = r.steps, &elementSource{load: r.elementsOf, made: map[int]*elements{}}
	v := r.env.vars
	for i, d := range r.m.Dims {
		v[d.slot] = intValue(int64(r.shape[i].N))
	}
	for _, name := range r.sel.Faults {
		if f := r.m.Fault(name); f.slot > 0 {
			v[f.slot] = intValue(1)
		}
	}
	if g := r.m.gate(r.sel.Gate); g != nil && g.Define != "" {
		v[r.m.scope.slots[g.Define]] = intValue(1)
	}
	r.plan.Consts = make(map[string]int, len(r.m.Constants)+len(r.sel.Flags))
	for name, x := range r.sel.Flags {
		r.plan.Consts[name] = x
	}
	for _, c := range r.m.Constants {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		x, err := c.Value.integer(r.env, math.MinInt32, math.MaxInt32)
		if err != nil {
			return err
		}
		v[c.slot] = intValue(int64(x))
		r.plan.Consts[c.Name] = x
	}
	return nil
}

// limits picks the speed that the performance gate asks of these flags.
func (r *resolver) limits() error {
	for _, s := range r.m.Speedups {
		ok, err := r.holds(s.When)
		if err != nil {
			return err
		}
		if ok {
			r.plan.Limits.MinSpeedup = s.Min
			break
		}
	}
	return nil
}

func (r *resolver) conditions() error {
	for _, q := range r.m.Requires {
		ok, err := r.holds(q.That)
		if err != nil {
			return err
		}
		if !ok {
			return &ShapeError{Kernel: r.m.Name, Shape: r.shape, That: q.That.Text, Say: q.Say}
		}
	}
	for _, name := range r.sel.Faults {
		f := r.m.Fault(name)
		ok, err := r.holds(f.Needs)
		if err != nil {
			return err
		}
		if !ok {
			return r.pointless(f)
		}
	}
	return nil
}

// pointless refuses a fault whose condition does not hold: with the shape that the manifest names for it,
// where it holds there, else with the target that the fault is planted in.
func (r *resolver) pointless(f *Fault) *ShapeError {
	e := &ShapeError{Kernel: r.m.Name, Shape: r.shape, Fault: f.Name, That: f.Needs.unmet(r.env)}
	if to, ok := r.m.Shape(f.Shape); ok {
		other := &resolver{ctx: r.ctx, m: r.m, sel: r.sel, shape: to, given: r.given, steps: r.steps,
			plan: &probes.Plan{}}
		if other.variables() == nil {
			if ok, err := other.holds(f.Needs); ok && err == nil {
				e.Suggest = f.Shape
				return e
			}
			e.That = f.Needs.unmet(other.env) // what no shape would change
		}
	}
	e.Base = f.Base
	return e
}

// holds evaluates a condition; a missing one holds.
func (r *resolver) holds(x *Expr) (bool, error) {
	if x == nil {
		return true, nil
	}
	v, err := x.value(r.env)
	if err != nil {
		return false, err
	}
	return v.truth(), nil
}

// integers evaluates dimensions.
func (r *resolver) integers(list []*Expr, lo, hi int64) ([]int, error) {
	out := make([]int, len(list))
	for i, x := range list {
		v, err := x.integer(r.env, lo, hi)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Limits of CUDA: grid and block extents, threads a block.
var (
	maxGrid  = [3]int64{math.MaxInt32, 65535, 65535}
	maxBlock = [3]int64{1024, 1024, 64}
)

const (
	maxThreads   = 1024
	maxCluster   = 16        // blocks of a cluster, with a size that is not portable
	maxDynShared = 227 << 10 // bytes of shared memory a block: the most of any GPU (compute capability 9.0)
	maxExtents   = 1 << 23   // values of all Extents of a plan together: 64 MiB, under a second
	maxSplit     = 1 << 20   // partial sums of a stage
	maxTileSide  = 65535     // rows or columns of a stage: what a slot header can say
)

func (r *resolver) geometry() error {
	p, l := r.plan, r.m.Launch
	p.Cooperative = l.Cooperative
	for i, e := range l.Cluster {
		var err *Error
		if p.Cluster[i], err = e.integer(r.env, 1, maxCluster); err != nil {
			return err
		}
	}
	for i := range 3 {
		var err *Error
		if p.Grid[i], err = l.Grid[i].integer(r.env, 1, maxGrid[i]); err != nil {
			return err
		}
		if p.Block[i], err = l.Block[i].integer(r.env, 1, maxBlock[i]); err != nil {
			return err
		}
	}
	if n := p.Block.Count(); n > maxThreads {
		return l.Block[0].fail("a block of %d threads; at most %d are possible", n, maxThreads)
	}
	if l.Shared != nil {
		var err *Error
		if p.DynShared, err = l.Shared.integer(r.env, 0, maxDynShared); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) args() error {
	limit := r.sel.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	total := 0.0 // a float cannot overflow; the exact count matters only below the limit, where it is exact
	if err := r.scale(); err != nil {
		return err
	}
	for _, a := range r.m.Args {
		out := probes.Arg{Name: a.Name, DType: a.DType, Pointer: a.Pointer, Role: a.Role, Tensor: a.Tensor}
		if a.Within != nil {
			out.Into = []probes.ArgPlace{{Arg: a.Within.Arg, Offset: a.Within.Offset}}
		}
		if a.Apart {
			out.Into = []probes.ArgPlace{}
		}
		switch {
		case a.given != nil:
			out = *a.given
			total += float64(a.DType.Size()) * float64(out.Elems())
		case a.Pointer:
			dims, err := r.integers(a.Dims, 1, math.MaxInt64)
			if err != nil {
				return err
			}
			bytes := float64(a.DType.Size())
			for _, d := range dims {
				bytes *= float64(d)
			}
			out.Dims = dims
			if out.Strides, bytes, err = r.strides(a, dims, bytes); err != nil {
				return err
			}
			if total += bytes; a.Role == probes.RoleInOut && total <= float64(limit) {
				if out.Fill, err = r.filled(a, out.Elems()); err != nil {
					return err
				}
			}
		case a.Map != nil:
			out.Data = make([]byte, tensormap.Bytes)
		case a.Size > 0:
			if err := r.structure(a, &out); err != nil {
				return err
			}
		default:
			if err := r.scalar(a, &out); err != nil {
				return err
			}
		}
		r.plan.Args = append(r.plan.Args, out)
	}
	for i, a := range r.m.Args {
		if a.Map != nil {
			if err := r.tensorMap(a, &r.plan.Args[i]); err != nil {
				return err
			}
		}
	}
	if total > float64(limit) {
		return &ShapeError{
			Kernel: r.m.Name, Shape: r.shape,
			Say: fmt.Sprintf("its arguments would take %s, and the limit is %s",
				Bytes(total), Bytes(float64(limit))),
		}
	}
	return r.inputs(float64(limit))
}

// scale is what scores are multiplied by where no argument says it: the manifest's scale, else the
// convention's where the shape has the dimensions for it.
func (r *resolver) scale() error {
	x := r.m.Scale
	if x == nil {
		var err error
		if x, err = r.expression(conventions().Scale, place{field: "scale"}, inShape); err != nil {
			r.plan.Scale = 1
			return nil
		}
	}
	v, err := x.value(r.env)
	if err != nil {
		return err
	}
	if math.IsInf(float64(float32(v.real())), 0) {
		return x.fail("%q is %v, which f32 cannot hold", clip(x.Text), v)
	}
	r.plan.Scale = float64(float32(v.real()))
	return nil
}

// Bytes prints a size in binary units, three digits.
func Bytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	if i == 0 || n >= 100 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}

// ranges of the integer scalars.
var ranges = map[probes.DType][2]int64{
	probes.U8: {0, math.MaxUint8}, probes.I8: {math.MinInt8, math.MaxInt8}, probes.U16: {0, math.MaxUint16},
	probes.U32: {0, math.MaxUint32}, probes.I32: {math.MinInt32, math.MaxInt32},
	probes.U64: {0, math.MaxInt64},
	probes.I64: {math.MinInt64, math.MaxInt64},
}

// scalar encodes a scalar argument. Real values are rounded to the argument's type; integers
// must be whole and fit.
func (r *resolver) scalar(a Arg, out *probes.Arg) error {
	v, err := a.Value.value(r.env)
	if err != nil {
		return err
	}
	switch a.DType {
	case probes.F32:
		if math.IsInf(float64(float32(v.real())), 0) {
			return a.Value.fail("%q is %v, which f32 cannot hold", clip(a.Value.Text), v)
		}
		out.Bits = uint64(math.Float32bits(float32(v.real())))
	case probes.F64:
		out.Bits = math.Float64bits(v.real())
	default:
		i, err := a.Value.integer(r.env, ranges[a.DType][0], ranges[a.DType][1])
		if err != nil {
			return err
		}
		out.Bits = uint64(i)
		if n := a.DType.Size(); n < 8 {
			out.Bits &= 1<<(8*n) - 1
		}
	}
	if a.IsScale {
		r.plan.Scale = float64(float32(v.real()))
	}
	return nil
}

// shared resolves the arrays that this build has.
func (r *resolver) shared() error {
	byName := map[string]probes.SharedArray{}
	for _, s := range r.m.Shared {
		there, err := r.holds(s.When)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		dims, err := r.integers(s.Dims, 1, maxDynShared)
		if err != nil {
			return err
		}
		out := probes.SharedArray{
			Name: s.Name, DType: s.DType, Dims: dims, Within: s.Within, Bytes: s.DType.Size(),
		}
		for _, d := range dims {
			if out.Bytes *= d; out.Bytes > maxDynShared {
				return r.m.errorAt(s.at, "%s takes more than %d bytes of shared memory", s.Name, maxDynShared)
			}
		}
		if s.Offset != nil {
			var bad *Error
			if out.Offset, bad = s.Offset.integer(r.env, 0, maxDynShared); bad != nil {
				return bad
			}
		}
		if _, twice := byName[s.Name]; twice {
			return r.m.errorAt(s.at, "two arrays named %s are there at once: their when: conditions overlap",
				s.Name)
		}
		byName[s.Name] = out
		r.plan.Shared = append(r.plan.Shared, out)
		if err := r.inside(s, out, byName); err != nil {
			return err
		}
	}
	return nil
}

// inside holds a part to the symbol that it lies in: a declared array, or the dynamic shared memory.
func (r *resolver) inside(s Shared, part probes.SharedArray, byName map[string]probes.SharedArray) error {
	if part.Within == "" {
		return nil
	}
	room, what := r.plan.DynShared, "launch.shared"
	if whole, ok := byName[part.Within]; ok {
		room, what = whole.Bytes, part.Within
	}
	if end := part.Offset + part.Bytes; end > room {
		return r.m.errorAt(s.at, "%s ends at byte %d, but %s is %d bytes", s.Name, end, what, room)
	}
	if part.Offset%part.DType.Size() != 0 {
		return r.m.errorAt(s.at, "%s starts at byte %d, which is not aligned for %s", s.Name,
			part.Offset, part.DType)
	}
	return nil
}

// faults applies what the selected faults change on the host's side.
func (r *resolver) faults() error {
	if q := r.m.Quantiser; q != nil {
		c := *q
		r.plan.Quant = &c
	}
	if r.m.Work != nil {
		r.work = &Work{At: maps.Clone(r.m.Work.At), Tiles: r.m.Work.Tiles}
	}
	for _, name := range r.sel.Faults {
		f := r.m.Fault(name)
		if f.EncodeLevels != 0 && r.plan.Quant != nil {
			r.plan.Quant.EncodeLevels = f.EncodeLevels
		}
		if f.Work == nil || r.work == nil {
			continue
		}
		for name, x := range f.Work.At {
			if x != nil {
				r.work.At[name] = x
			}
		}
		if f.Work.Tiles != nil {
			r.work.Tiles = f.Work.Tiles
		}
	}
	return nil
}
