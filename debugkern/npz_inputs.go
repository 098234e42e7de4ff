package debugkern

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
	"tilescope/debugkern/input"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// inputArchive is an --inputs file being read: of each tensor T the array Tx, the numbers before
// encoding, or T as the kernel takes it, with Ts, the scales of codes; or both, where they agree. A
// bundle has the contents of memory before the launch, by the names of arguments. What its arrays take is
// reserved until release is called.
type inputArchive struct {
	bundled  bool
	ctx      context.Context
	path     string
	archive  *npy.Archive
	source   io.Closer
	memory   *budget.Budget
	sum      budget.Sum          // what the arrays take
	reserved budget.Reservations // for them
}

// madeBytes is the most that is made of an element of an array, in addition to the element: a float32 and the
// half that it becomes.
const madeBytes = 4 + 2

// openInputs opens an --inputs file. memory says how large the file and its arrays may be.
func openInputs(ctx context.Context, path string, memory *budget.Budget) (*inputArchive, error) {
	limit := memory.Bound()
	f, size, err := file.Open(ctx, path, limit, file.Want{What: "a NumPy archive (.npz), or a bundle (.tsl)"})
	if err != nil {
		return nil, report.Unread("--inputs", err)
	}
	archive, err := npy.Open(f, size, path, limit/2)
	if err != nil {
		f.Close()
		return nil, report.Usagef("--inputs %w", err)
	}
	out := &inputArchive{ctx: ctx, path: path, archive: archive, source: f, memory: memory}
	if out.bundled = build.Bundled(path); out.bundled {
		out.archive = archive.Sub(bundle.Before)
	}
	return out, nil
}

func (f *inputArchive) close() { f.source.Close() }

// release gives back what was reserved for the arrays.
func (f *inputArchive) release() { f.reserved.Release() }

// notInName is what a bundle's names have and those of a manifest's arguments have not.
var notInName = regexp.MustCompile(`[^A-Za-z0-9_]`)

// nameOf is the name of the array that has a tensor as the kernel takes it.
func (f *inputArchive) nameOf(t *input.Tensor, p *probes.Plan) string {
	if !f.bundled {
		return t.Name
	}
	name := p.Args[t.Arg].Name
	for _, n := range f.archive.Names() {
		if notInName.ReplaceAllString(n, "_") == name {
			return n
		}
	}
	return name
}

func (f *inputArchive) has(name string) bool { return slices.Contains(f.archive.Names(), name) }

// shapeOfFile is the problem size that the file's arrays have: each dimension from the first tensor that has
// it. Where no array gives a dimension, the request's shape does.
func (s *Session) shapeOfFile(ctx context.Context, req Request, f *inputArchive) (*probes.Shape, error) {
	m, _, err := s.catalogue.Open(ctx, req.Target)
	if err != nil {
		return nil, Unopened(ctx, err)
	}
	extents, from := map[string]int{}, map[string]string{}
	for _, t := range m.Tensors() {
		name := t.Name + "x"
		if f.bundled || !f.has(name) {
			name = t.Name
		}
		h, ok, err := f.archive.Header(name)
		if err != nil {
			return nil, report.Usagef("--inputs %w", err)
		}
		if !ok || len(h.Shape) != len(t.Dims) {
			continue // reported where it is read
		}
		for i, dim := range t.Dims {
			switch n, known := extents[dim]; {
			case dim == "":
			case !known:
				extents[dim], from[dim] = h.Shape[i], name
			case n != h.Shape[i]:
				return nil, report.Usagef("--inputs %s: array %s has shape %v: %s is %d, but %d in array %s",
					f.path, name, h.Shape, dim, h.Shape[i], n, from[dim])
			}
		}
	}
	return shapeWith(m, req.Shape, extents)
}

// shapeWith is a shape of the given extents, what is missing from a shape's text.
func shapeWith(m *configs.Manifest, text string, extents map[string]int) (*probes.Shape, error) {
	names := m.DimNames()
	v := make([]int, len(names))
	for i, name := range names {
		n, ok := extents[name]
		if !ok {
			if text == "" {
				text = DefaultShape
			}
			other, err := m.ParseShape(text)
			if err != nil {
				return nil, &report.Error{Code: report.CodeUsage, Err: err}
			}
			n, _ = other.Extent(name)
		}
		v[i] = n
	}
	shape := probes.ShapeOf(names, v...)
	return &shape, nil
}

// read reads the arrays of a plan's inputs. Every complaint names the file, the array, and what was expected.
func (f *inputArchive) read(p *probes.Plan) (*input.Inputs, error) {
	plain := !f.bundled && slices.ContainsFunc(p.Inputs, func(in probes.Input) bool {
		return f.has(in.Name + "x")
	})
	in := input.Empty(p)
	for _, t := range in.Tensors {
		var err error
		switch {
		case t.Fill.Kind == probes.FillComputed && !f.has(t.Name+"x"):
		case !t.DType.Float() && !t.Coded:
			err = f.ints(t, p)
		case plain:
			err = f.plain(t, p)
		case t.Coded:
			err = f.coded(t, p)
		case f.bundled || f.has(t.Name):
			err = f.taken(t, p)
		default:
			err = report.Usagef("--inputs %s: kernel %s takes %s as %s; give the array %sx", f.path, p.Kernel,
				t.Name, t.DType, t.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// plain reads a tensor's numbers before encoding, and compares what is made of them with what else
// the file has of it.
func (f *inputArchive) plain(t *input.Tensor, p *probes.Plan) error {
	a, err := f.array(t.Name+"x", t.Dims, p, npy.F32, npy.F64)
	if err != nil {
		return err
	}
	if t.DType == probes.F64 {
		return f.wide(t, a, t.Name+"x")
	}
	t.X = a.Float32s()
	if err := finite(f, t.X, t.Name+"x"); err != nil {
		return err
	}
	if err := t.Encode(f.ctx); err != nil {
		return err
	}
	return f.agrees(t, p)
}

// taken reads a tensor of floats as the kernel takes it.
func (f *inputArchive) taken(t *input.Tensor, p *probes.Plan) error {
	name := f.nameOf(t, p)
	a, err := f.array(name, t.Dims, p, input.RawArrayType(t.DType))
	if err != nil {
		return err
	}
	if t.DType == probes.F64 {
		return f.wide(t, a, name)
	}
	size := t.DType.Size()
	t.X = make([]float32, len(a.Data)/size)
	for i := range t.X {
		var word [8]byte
		copy(word[:], a.Data[i*size:(i+1)*size])
		t.X[i] = float32(t.DType.Value(binary.LittleEndian.Uint64(word[:])))
	}
	if err := finite(f, t.X, name); err != nil {
		return err
	}
	return t.Encode(f.ctx)
}

// finite refuses an array's numbers that are none.
func finite[T float32 | float64](f *inputArchive, list []T, array string) error {
	for i, v := range list {
		if v-v != 0 {
			return report.Usagef("--inputs %s: array %s holds %v at element %d: inputs must be finite",
				f.path, array, v, i)
		}
	}
	return nil
}

// wide takes an array of that name for a tensor of double precision.
func (f *inputArchive) wide(t *input.Tensor, a *npy.Array, array string) error {
	if a.DType == npy.F32 {
		for _, v := range a.Float32s() {
			t.Wide = append(t.Wide, float64(v))
		}
	} else {
		t.Wide = make([]float64, len(a.Data)/8)
		for i := range t.Wide {
			t.Wide[i] = math.Float64frombits(binary.LittleEndian.Uint64(a.Data[8*i:]))
		}
	}
	return finite(f, t.Wide, array)
}

// coded reads a tensor's codes and scales.
func (f *inputArchive) coded(t *input.Tensor, p *probes.Plan) error {
	a, err := f.array(t.Name, t.Dims, p, npy.U8)
	if err != nil {
		return err
	}
	t.Codes = a.Data
	if t.Scales, err = f.scales(t, p); err != nil {
		return err
	}
	return t.FillX(f.ctx)
}

// values reads the elements of an integer input that a plan's expressions read. It is a configs.Values.
func (f *inputArchive) values(_ context.Context, p *probes.Plan, in *probes.Input) ([]int64, error) {
	t := &input.Tensor{Input: *in, DType: p.Args[in.Arg].DType}
	if err := f.ints(t, p); err != nil {
		return nil, err
	}
	return t.Ints, nil
}

// ints reads a tensor of an integer type.
func (f *inputArchive) ints(t *input.Tensor, p *probes.Plan) error {
	want, ok := input.ArrayType(t.DType)
	if !ok {
		return report.Usagef("--inputs %s: there is no array of type %s for %s", f.path, t.DType, t.Name)
	}
	a, err := f.array(f.nameOf(t, p), t.Dims, p, want)
	if err != nil {
		return err
	}
	size := t.DType.Size()
	t.Ints = make([]int64, len(a.Data)/size)
	for i := range t.Ints {
		var word [8]byte
		copy(word[:], a.Data[i*size:(i+1)*size])
		t.Ints[i] = input.Wrap(t.DType, int64(binary.LittleEndian.Uint64(word[:])))
	}
	return nil
}

// scales reads a coded tensor's scales.
func (f *inputArchive) scales(t *input.Tensor, p *probes.Plan) ([]float32, error) {
	name := t.Name + "s"
	a, err := f.array(name, []int{t.Dims[t.Quant.Along]}, p, npy.F32)
	if err != nil {
		return nil, err
	}
	out := a.Float32s()
	for i, v := range out {
		if v-v != 0 || v <= 0 {
			return nil, report.Usagef(
				"--inputs %s: array %s holds %v for head %d: scales are positive and finite",
				f.path, name, v, i)
		}
	}
	return out, nil
}

// array reads an array of the file whose type and extents are as expected.
func (f *inputArchive) array(
	name string, dims []int, p *probes.Plan, types ...npy.DType,
) (*npy.Array, error) {
	h, ok, err := f.archive.Header(name)
	if err != nil {
		return nil, report.Usagef("--inputs %w", err)
	}
	if !ok {
		return nil, report.Usagef("--inputs %s: no array %q (expected %s; it has %q)", f.path, name,
			expectedArrays(p), f.archive.Names())
	}
	if !slices.Contains(types, h.DType) || len(h.Shape) != len(dims) {
		return nil, report.Usagef("--inputs %s: array %s is %s; expected %v of rank %d", f.path, name, h,
			types, len(dims))
	}
	if !slices.Equal(h.Shape, dims) {
		return nil, report.Usagef("--inputs %s: array %s has shape %v; expected %v (shape %s)", f.path, name,
			h.Shape, dims, p.Shape)
	}
	part, bytes := "array "+name, budget.Mul(budget.Elements(h.Shape), int64(h.DType.Size())+madeBytes)
	f.sum.Add(part, bytes, "")
	if err := f.sum.Within(f.memory.Limit()); err != nil {
		return nil, report.Usagef("--inputs %s %w", f.path, err)
	}
	if err := f.reserved.Add(f.memory, part+" of --inputs", bytes); err != nil {
		return nil, err
	}
	a, err := f.archive.Read(f.ctx, name)
	if err != nil {
		return nil, report.Unread("--inputs", err)
	}
	return a, nil
}

// expectedArrays names the arrays that a kernel's inputs may be given as.
func expectedArrays(p *probes.Plan) string {
	var plain, given []string
	coded := false
	for _, in := range p.Inputs {
		switch given = append(given, in.Name); {
		case in.Coded:
			coded = true
			plain = append(plain, in.Name+"x")
		case p.Args[in.Arg].DType.Float():
			plain = append(plain, in.Name+"x")
		default:
			plain = append(plain, in.Name)
		}
	}
	if !coded {
		return strings.Join(plain, " ")
	}
	for _, in := range p.Inputs {
		if in.Coded {
			given = append(given, in.Name+"s")
		}
	}
	return strings.Join(plain, " ") + ", or " + strings.Join(given, " ")
}

// agrees refuses a file that has a tensor twice, before and after it was encoded, where encoding the one does
// not give the other: there is no telling which of them was meant.
func (f *inputArchive) agrees(t *input.Tensor, p *probes.Plan) error {
	if f.has(t.Name) {
		if err := f.agreesEncoded(t, p); err != nil {
			return err
		}
	}
	name := t.Name + "s"
	if p.Input(name) != nil || !f.has(name) {
		return nil
	}
	if !t.Coded {
		return f.notTaken(t, name)
	}
	scales, err := f.scales(t, p)
	if err != nil {
		return err
	}
	return f.differs(t, name, differsAt(scales, t.Scales))
}

// agreesEncoded compares a tensor as the file has it encoded with what X gives.
func (f *inputArchive) agreesEncoded(t *input.Tensor, p *probes.Plan) error {
	a, err := f.array(t.Name, t.Dims, p, npy.U8, npy.F16, npy.F32)
	switch {
	case err != nil:
		return err
	case t.Coded && a.DType == npy.U8:
		return f.differs(t, t.Name, differsAt(a.Data, t.Codes))
	case t.DType == probes.F16 && a.DType == npy.F16:
		return f.differs(t, t.Name, differsAt(halves(a.Data), t.Bits))
	case t.DType == probes.F32 && a.DType == npy.F32:
		return f.differs(t, t.Name, differsAt(a.Float32s(), t.X))
	}
	return f.notTaken(t, t.Name)
}

func (f *inputArchive) notTaken(t *input.Tensor, name string) error {
	return report.Usagef(
		"--inputs %s: arrays %sx and %s are both there, and this kernel does not take %s as it is: keep %sx alone",
		f.path, t.Name, name, name, t.Name)
}

// differs is the error of an array that disagrees with X at an element; nil for -1.
func (f *inputArchive) differs(t *input.Tensor, name string, at int) error {
	if at < 0 {
		return nil
	}
	how := "rounding it to " + t.DType.String()
	if t.Coded {
		how = "quantising it"
	}
	return report.Usagef(
		"--inputs %s: arrays %sx and %s are both there, and disagree: %s does not give %s (first at element %d): keep one of them",
		f.path, t.Name, name, how, name, at)
}

// halves are the bits of little-endian halves.
func halves(raw []byte) []uint16 {
	out := make([]uint16, len(raw)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return out
}

// differsAt is the first index at which two slices differ; -1: none.
func differsAt[T comparable](a, b []T) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}
