package checkrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/argument"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
	"tilescope/debugkern/input"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// arg is an argument of a launch under way.
type arg struct {
	param    *ptx.Var
	index    int
	name     string             // in documents: the source's, else argN
	inferred scaffold.Parameter // from the PTX, and the source where there is one
	text     string
	value    *argument.Value
	dtype    probes.DType
	dims     []int
	init     []byte // contents before the launch; nil: unwritten
	written  []byte // which of them were written (target.Buffer.Written)
	scalar   []byte
	into     []target.Place // where its address stands, of memory that is no parameter of its own
	tensor   *target.TensorMap
	buffer   *namedBuffer         // of a sequence: the parameter is its address
	within   map[int]*namedBuffer // of a sequence: what pointers of a struct lead to, by offset
	fields   []*arg               // memory that pointers within a struct lead to
	after    *bundle.Contents     // what was recorded of it after the launch; nil: nothing
}

// matchArgs matches what was given with the parameters of an entry that is launched with grid and block. text
// is the source that it was compiled from, zero of PTX.
func matchArgs(f *ptx.Func, text scaffold.Source, given []Argument, grid, block probes.Dim3) ([]*arg, error) {
	inferred := scaffold.Parameters(f, text)
	args := make([]*arg, len(f.Params))
	for i, p := range f.Params {
		args[i] = &arg{param: p, index: i, inferred: inferred[i], name: inferred[i].Name}
		if args[i].name == "" {
			args[i].name = fmt.Sprintf("arg%d", i)
		}
	}
	params := len(args)
	var unknown []string
	for i := range given {
		g := &given[i]
		a := findArg(args, g.Name)
		if a == nil && mapped(given, g.Name) {
			a = &arg{
				param: &ptx.Var{Size: 8}, index: len(args), name: g.Name,
				inferred: scaffold.Parameter{Name: g.Name}, into: []target.Place{},
			}
			args = append(args, a)
		}
		if a == nil {
			unknown = append(unknown, g.Name)
			continue
		}
		if a.value != nil || a.buffer != nil {
			return nil, report.Usagef("--arg %s: parameter %s is given twice (first as %s)", g.Name,
				a.title(), a.text)
		}
		if a.buffer, a.within, a.text = g.buffer, g.within, g.Value; a.buffer != nil {
			continue
		}
		var err error
		if a.value, err = argument.Parse(g.Value); err != nil {
			return nil, report.Usagef("--arg %s: %w", g.Name, err)
		}
		if err = a.takeMain(f, text); err != nil {
			return nil, report.Usagef("--arg %s=%s: %w", g.Name, g.Value, err)
		}
	}
	lacks := func(a *arg) bool { return a.value == nil && a.buffer == nil }
	if unknown == nil && !slices.ContainsFunc(args, lacks) {
		return args, nil
	}
	missing := &MissingLaunch{Option: "arg", Takes: parameterList(args[:params]), Unknown: unknown}
	for _, a := range args[:params] {
		missing.Parameters = append(missing.Parameters, Parameter{a.name, a.inferred.Pointer})
	}
	missing.Example = &scaffold.Example{Kernel: f.Demangled}
	examples := scaffold.ValuesFor(f, text, givenOf(args[:params], grid, block))
	for i, a := range args {
		name, value := a.inferred.Name, a.text
		if name == "" {
			name = strconv.Itoa(a.index)
		}
		if lacks(a) {
			value = examples[i]
			missing.Lacking, missing.Titles = append(missing.Lacking, i), append(missing.Titles, a.title())
		}
		missing.Example.Options = append(missing.Example.Options, "--arg", name+"="+value)
	}
	return nil, &report.Error{Code: report.CodeUsage, Err: missing}
}

// takeMain gives memory that has what main copies there its numbers.
func (a *arg) takeMain(f *ptx.Func, text scaffold.Source) error {
	values, offsets := []*argument.Value{a.value}, []int{0}
	for i := range a.value.Fields {
		values, offsets = append(values, a.value.Fields[i].Value), append(offsets, a.value.Fields[i].Offset)
	}
	for i, v := range values {
		b := v.Buffer
		if b == nil || !b.Main {
			continue
		}
		numbers, err := text.MainNumbers(f, a.index, offsets[i], b.DType)
		if err != nil {
			return err
		}
		if n := probes.Elems(b.Dims); n != len(numbers) {
			return fmt.Errorf("%d elements are requested, and main copies %d", n, len(numbers))
		}
		b.Fill = probes.Fill{Kind: probes.FillValues, Values: numbers}
	}
	return nil
}

// givenOf is what was given of a launch.
func givenOf(args []*arg, grid, block probes.Dim3) scaffold.Given {
	out := scaffold.Given{Grid: grid, Block: block, Extents: make([][]int, len(args)),
		Integers: make([]*int64, len(args))}
	for i, a := range args {
		if a.value == nil {
			continue
		}
		if a.value.Buffer != nil {
			out.Extents[i] = a.value.Buffer.Dims
		}
		if a.value.Number == nil {
			continue
		}
		if n, err := strconv.ParseInt(a.value.Number.Text, 0, 64); err == nil {
			out.Integers[i] = &n
		}
	}
	return out
}

// mapped reports whether a tensor map among the values given is of a buffer of that name.
func mapped(given []Argument, name string) bool {
	return slices.ContainsFunc(given, func(g Argument) bool {
		v, err := argument.Parse(g.Value)
		return err == nil && v.Map != nil && v.Map.Of == name
	})
}

func findArg(args []*arg, name string) *arg {
	for _, match := range []func(a *arg) bool{
		func(a *arg) bool { return a.inferred.Name != "" && a.inferred.Name == name },
		func(a *arg) bool { return a.param.Name == name || a.name == name },
		func(a *arg) bool { return strconv.Itoa(a.index) == name },
	} {
		if i := slices.IndexFunc(args, match); i >= 0 {
			return args[i]
		}
	}
	return nil
}

// title is a parameter in messages: its index, and its name where the source has one.
func (a *arg) title() string {
	if a.inferred.Name == "" {
		return strconv.Itoa(a.index)
	}
	return fmt.Sprintf("%s (%d)", a.inferred.Name, a.index)
}

// parameterList describes what an entry takes: "0 pointer, 1 pointer, n (2) 4 bytes".
func parameterList(args []*arg) string {
	var out []string
	for _, a := range args {
		kind := fmt.Sprintf("%d bytes", a.param.Size)
		if a.inferred.Read || a.inferred.Written || a.param.Ptr {
			kind = "pointer"
		}
		out = append(out, a.title()+" "+kind)
	}
	if len(out) == 0 {
		return "no parameters"
	}
	return strings.Join(out, ", ")
}

// address reports whether the kernel reaches memory through the parameter.
func (a *arg) address() bool { return a.inferred.Read || a.inferred.Written || a.param.Ptr }

// settle checks a value against its parameter, and makes its bytes. What buffers take is
// reserved by the caller.
func (a *arg) settle(ctx context.Context, memory *budget.Budget, seed uint64) error {
	v := a.value
	fail := func(format string, args ...any) error {
		return report.Usagef("--arg %s=%s: %w", a.title(), a.text, fmt.Errorf(format, args...))
	}
	switch {
	case a.buffer != nil:
		if a.param.Size != 8 {
			return fail("memory is passed by its address of 8 bytes, and the parameter has %d", a.param.Size)
		}
		a.scalar = make([]byte, 8)
		return nil
	case v.Map != nil:
		if a.param.Size != tensormap.Bytes {
			return fail("a tensor map is a parameter of %d bytes, and this one has %d", tensormap.Bytes,
				a.param.Size)
		}
		a.scalar = make([]byte, tensormap.Bytes)
		return nil
	case v.Fields != nil:
		return a.structure(ctx, memory, seed, fail)
	case v.Null:
		if a.param.Size != 8 {
			return fail("null is an address, and the parameter has %d bytes", a.param.Size)
		}
		a.scalar, a.dtype = make([]byte, 8), probes.U64
		return nil
	case v.Number != nil:
		if a.param.Size == 8 && a.address() && v.Number.DType == 0 {
			return fail(
				"the kernel uses this parameter as an address: give memory, such as zeros:f32[1024], or null")
		}
		if v.Number.DType == 0 && v.Number.Fraction() && a.param.Type.Integer() {
			return fail("%s is not a whole number, and the kernel declares the parameter as %s",
				v.Number.Text, a.param.Type)
		}
		var err error
		if a.scalar, err = v.Number.Bytes(int(a.param.Size), a.param.Type.Float()); err != nil {
			return fail("%w", err)
		}
		if a.dtype = v.Number.DType; a.dtype == 0 {
			a.dtype = a.inferred.DType
		}
		return nil
	}
	if a.param.Size != 8 {
		return fail("memory is passed by its address of 8 bytes, and the parameter has %d: give a number",
			a.param.Size)
	}
	if v.File != nil {
		return a.fromFile(ctx, memory)
	}
	a.dtype, a.dims = v.Buffer.DType, v.Buffer.Dims
	var err error
	a.init, err = input.Fill(ctx, v.Buffer.Fill, a.dtype, a.elems(), seed, a.index)
	return err
}

// asDeclared refuses memory whose elements are of another type than the source declares the parameter with:
// the kernel would read other numbers than those that were asked for, or beyond the end. Bytes are memory for
// anything, raw integers of 16 and 8 bits are what files have for bf16 and fp8, and memory that is zeros or
// unwritten has no numbers.
func (a *arg) asDeclared() error {
	want, got, v := a.inferred.DType, a.dtype, a.value
	if a.inferred.Declared == "" || !a.inferred.Pointer || v == nil || v.Buffer == nil && v.File == nil ||
		want == got {
		return nil
	}
	same := want.Size() == got.Size()
	blank := v.Buffer != nil && (v.Buffer.Fill.Kind == probes.FillZeros ||
		v.Buffer.Fill.Kind == probes.FillUnwritten)
	switch {
	case want.Size() == 1 && !want.Float(), same && blank, same && !want.Float() && !got.Float(),
		same && want.Size() <= 2 && want.Float() != got.Float():
		return nil
	}
	return report.Usagef("--arg %s=%s: the source declares the parameter as %s, so its elements are %s, not %s",
		a.title(), a.text, a.inferred.Declared, lower(want), lower(got))
}

// lower is an element type as --arg has it.
func lower(t probes.DType) string { return strings.ToLower(t.String()) }

func (a *arg) elems() int { return probes.Elems(a.dims) }

// bytes is how much memory an argument's buffer takes; 0 for a scalar. A file has to be read first.
func (a *arg) bytes() int64 {
	if a.value == nil {
		return 0
	}
	n := bufferBytes(a.value)
	for _, f := range a.value.Fields {
		n = budget.Add(n, bufferBytes(f.Value))
	}
	return n
}

func bufferBytes(v *argument.Value) int64 {
	if v.Buffer == nil {
		return 0
	}
	return budget.Mul(int64(v.Buffer.DType.Size()), budget.Elements(v.Buffer.Dims))
}

// structure makes the bytes of a struct passed by value, and the memory that its pointers lead to.
func (a *arg) structure(
	ctx context.Context, memory *budget.Budget, seed uint64, fail func(string, ...any) error,
) error {
	a.scalar = make([]byte, a.param.Size)
	for _, f := range a.value.Fields {
		n := f.Value.Number
		if n == nil {
			if err := a.pointer(ctx, memory, seed, f, fail); err != nil {
				return err
			}
			continue
		}
		if n.DType == 0 {
			return fail("field at byte %d: %s needs its type, such as %s:i32", f.Offset, n.Text, n.Text)
		}
		b, err := n.Bytes(n.DType.Size(), false)
		if err != nil {
			return fail("field at byte %d: %w", f.Offset, err)
		}
		if f.Offset+len(b) > len(a.scalar) {
			return fail("field at byte %d: it ends at byte %d, and the parameter has %d bytes", f.Offset,
				f.Offset+len(b), len(a.scalar))
		}
		copy(a.scalar[f.Offset:], b)
	}
	a.dtype = probes.U8
	return nil
}

// pointer makes the memory that a pointer within a struct leads to.
func (a *arg) pointer(
	ctx context.Context, memory *budget.Budget, seed uint64, f argument.Field,
	fail func(string, ...any) error,
) error {
	switch {
	case f.Value.Fields != nil:
		return fail("field at byte %d: a struct within a struct: give its fields at their own offsets",
			f.Offset)
	case f.Offset+8 > len(a.scalar):
		return fail("field at byte %d: a pointer ends at byte %d, and the parameter has %d bytes", f.Offset,
			f.Offset+8, len(a.scalar))
	case f.Value.Null:
		return nil
	}
	p := &arg{
		param: &ptx.Var{Size: 8}, index: a.index, name: fmt.Sprintf("%s+%d", a.name, f.Offset),
		text: f.Value.Text, value: f.Value,
		into: []target.Place{{Arg: a.index, Offset: f.Offset}},
	}
	a.fields = append(a.fields, p)
	return p.settle(ctx, memory, seed)
}

// fromFile reads an argument's contents from a NumPy file.
func (a *arg) fromFile(ctx context.Context, memory *budget.Budget) error {
	f := a.value.File
	option := "--arg " + a.title()
	limit := memory.Bound()
	r, size, err := file.Open(ctx, f.Path, limit, file.Want{What: "a NumPy array (.npy) or archive (.npz)"})
	if err != nil {
		return report.Unread(option, err)
	}
	defer r.Close()
	var array *npy.Array
	if f.Key == "" {
		array, err = npy.ReadArray(ctx, r, size, f.Path, limit/2)
	} else {
		var archive *npy.Archive
		if archive, err = npy.Open(r, size, f.Path, limit/2); err != nil {
			return report.Unread(option, err)
		}
		if !slices.Contains(archive.Names(), f.Key) {
			return report.Usagef("%s: %s has no array %q (it has %q)", option, f.Path, f.Key, archive.Names())
		}
		array, err = archive.Read(ctx, f.Key)
	}
	if err != nil {
		return report.Unread(option, err)
	}
	a.dtype, a.dims, a.init = input.ElementType(array.DType), array.Shape, array.Data
	if f.DType != 0 {
		if f.DType.Size() != a.dtype.Size() {
			return report.Usagef("%s: %s has elements of %d bytes, which cannot be read as %s", option,
				f.Path, a.dtype.Size(), f.DType)
		}
		a.dtype = f.DType
	}
	if len(a.init) == 0 {
		return report.Usagef("%s: %s has no elements", option, f.Path)
	}
	return nil
}

// isMemory reports whether the argument is memory.
func (a *arg) isMemory() bool { return a.dims != nil }

// target is the argument as a backend takes it.
func (a *arg) target() target.Arg {
	if !a.isMemory() {
		return target.Arg{Name: a.name, Scalar: a.scalar, Map: a.tensor}
	}
	return target.Arg{Name: a.name, Buffer: &target.Buffer{
		DType: a.dtype, Dims: a.dims, Init: a.init, Written: a.written, Bytes: a.elems() * a.dtype.Size(),
		Output: true,
	}, Into: a.into}
}

// document is the argument as documents have it.
func (a *arg) document() report.CheckArg {
	if m := a.tensor; m != nil {
		out := report.CheckArg{Name: a.name, DType: "tensormap", Source: a.text}
		for _, d := range slices.Backward(m.Dims) {
			out.Dims = append(out.Dims, int(d))
		}
		return out
	}
	t, dims := a.dtype, a.dims
	if a.buffer != nil {
		t, dims = a.buffer.dtype, a.buffer.dims
	}
	return report.CheckArg{Name: a.name, DType: t.String(), Dims: append([]int{}, dims...), Source: a.text}
}
