package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/file"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// maxRanges is how many ranges of a memory a bundle may have.
const maxRanges = 1 << 16

// Write makes the bundle of the recorded launch: the emulator executes it once, and of memory only what it
// touches is written. version is tilescope's own. Errors are *report.Error of CodeFailed: a kernel without
// PTX (*NoPTX), a launch that a bundle cannot hold, or that the emulator cannot execute.
func (r *Recording) Write(ctx context.Context, s *debugkern.Session, w io.Writer, version string) error {
	if err := r.write(ctx, s, w, version); err != nil {
		return debugkern.Explain(ctx, err)
	}
	return nil
}

func (r *Recording) write(ctx context.Context, s *debugkern.Session, w io.Writer, version string) error {
	text, origin, err := r.module(ctx)
	if err != nil {
		return err
	}
	l := r.Launch
	b := &writing{ctx: ctx, s: s, l: l}
	if b.parts.PTX, b.parts.Sources, err = portable(ctx, text); err != nil {
		return failedf("the PTX of %s: %w", l.Kernel, err)
	}
	if b.module, err = ptx.ParseContext(ctx, "module.ptx", b.parts.PTX); err != nil {
		return failedf("the PTX of %s: %w", l.Kernel, err)
	}
	if b.entry = b.module.Func(l.Kernel); b.entry == nil {
		return failedf("the PTX has no kernel %s", l.Kernel)
	}
	if n, want := len(l.Parameters), len(b.entry.Params); n != want {
		return failedf("%s was launched with %d parameters, and its PTX takes %d", l.Kernel, n, want)
	}
	b.inferred = scaffold.Parameters(b.entry, scaffold.Source{})
	defer b.reserved.Release()
	for _, step := range []func() error{b.memory, b.parameters, b.touch, b.keep} {
		if err := step(); err != nil {
			return err
		}
	}
	versions := maps.Clone(l.Versions)
	versions["tilescope"] = cmp.Or(version, "unknown")
	if origin == "" {
		origin = "record"
	}
	m := &b.manifest
	m.Origin, m.Versions, m.Entry = origin, versions, l.Kernel
	m.Launch = bundle.Launch{
		Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared, Cooperative: l.Cooperative,
	}
	for _, name := range slices.Sorted(maps.Keys(b.parts.Sources)) {
		m.Sources = append(m.Sources, bundle.Source{Path: name})
	}
	return bundle.Write(w, *m, b.parts)
}

// writing is a bundle that is being made.
type writing struct {
	ctx      context.Context
	s        *debugkern.Session
	l        *Launch
	module   *ptx.Module
	entry    *ptx.Func
	manifest bundle.Manifest
	parts    bundle.Parts
	before   [][]byte // by memory
	after    [][]byte
	touched  *touched
	inferred []scaffold.Parameter // by parameter
	reserved budget.Reservations
}

// memory describes each extent, and reads its contents.
func (b *writing) memory() error {
	for i := range b.l.Extents {
		x := &b.l.Extents[i]
		m := bundle.Memory{Name: fmt.Sprintf("memory%d", i)}
		at := slices.IndexFunc(b.l.Words, func(w Word) bool { return w.Extent == i })
		if at >= 0 {
			m.Name = b.name(b.l.Words[at].Parameter)
			if n := b.l.Words[at].At; n > 0 || len(b.l.Parameters[b.l.Words[at].Parameter]) > 8 {
				m.Name += fmt.Sprintf("+%d", n)
			}
		} else if at := slices.IndexFunc(b.l.Maps, func(m Map) bool { return m.Extent == i }); at >= 0 {
			m.Name = b.name(b.l.Maps[at].Parameter)
		}
		m.DType, m.Dims = b.shape(i)
		if err := b.reserved.Add(b.s.Memory(), "memory "+m.Name, budget.Mul(5, x.Bytes)); err != nil {
			return err
		}
		for _, side := range []struct {
			path string
			to   *[][]byte
		}{{x.Before, &b.before}, {x.After, &b.after}} {
			if side.to == &b.after && b.l.Unfinished != "" {
				continue
			}
			data, err := file.Read(b.ctx, side.path, x.Bytes, file.Want{What: "recorded memory"})
			if err == nil && int64(len(data)) != x.Bytes {
				err = fmt.Errorf("memory %s has %d bytes; %d were written", m.Name, x.Bytes, len(data))
			}
			if err != nil {
				return failedf("read what was recorded: %w", err)
			}
			*side.to = append(*side.to, data)
		}
		b.manifest.Memory = append(b.manifest.Memory, m)
	}
	return nil
}

// torchTypes are element types by PyTorch's names.
var torchTypes = map[string]probes.DType{
	"float64": probes.F64, "float32": probes.F32, "float16": probes.F16, "bfloat16": probes.BF16,
	"float8_e4m3fn": probes.E4M3, "float8_e5m2": probes.E5M2, "int64": probes.I64, "int32": probes.I32,
	"int16": probes.I16, "int8": probes.I8, "uint64": probes.U64, "uint32": probes.U32,
	"uint16": probes.U16, "uint8": probes.U8, "bool": probes.U8,
}

// shape is the element type and the extents of a memory: those of a tensor that is all of it, else the type
// of a tensor in it, else the type that the kernel reads or writes through its parameter, else bytes.
func (b *writing) shape(i int) (string, []int) {
	x := &b.l.Extents[i]
	dtype := b.accessed(i)
	for _, t := range b.l.Tensors {
		d, ok := torchTypes[t.DType]
		if !ok || t.Address < x.Address || t.Address-x.Address >= uint64(x.Bytes) ||
			x.Bytes%int64(d.Size()) != 0 {
			continue
		}
		if t.Address == x.Address && dense(&t) && elements(&t)*int64(d.Size()) == x.Bytes && len(t.Dims) > 0 {
			return d.String(), t.Dims
		}
		if x.Known {
			dtype = d
		}
	}
	return dtype.String(), []int{int(x.Bytes / int64(dtype.Size()))}
}

// accessed is the element type that the kernel has for a memory to which a pointer parameter leads, by its
// instructions; u8 where that is not known.
func (b *writing) accessed(i int) probes.DType {
	for _, w := range b.l.Words {
		p := b.inferred[w.Parameter]
		if w.Extent == i && w.At == 0 && p.Pointer && p.DType != 0 &&
			b.l.Extents[i].Bytes%int64(p.DType.Size()) == 0 {
			return p.DType
		}
	}
	return probes.U8
}

func elements(t *Tensor) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d)
	}
	return n
}

// dense reports whether a tensor's elements lie one after the other, row-major.
func dense(t *Tensor) bool {
	want := 1
	for i := len(t.Dims) - 1; i >= 0; i-- {
		if t.Dims[i] != 1 && t.Strides[i] != want {
			return false
		}
		want *= t.Dims[i]
	}
	return true
}

// name is a parameter's name, as the kernel's author would have it.
func (b *writing) name(i int) string { return fmt.Sprintf("arg%d", i) }

// parameters describes the parameters, with a place in memory for each address.
func (b *writing) parameters() error {
	l := b.l
	for i, data := range l.Parameters {
		if n := b.entry.Params[i].Size; n != len(data) {
			return failedf("parameter %d of %s has %d bytes, and in its PTX %d", i, l.Kernel, len(data), n)
		}
		p, data := bundle.Parameter{Name: b.name(i)}, slices.Clone(data)
		m, err := b.mapOf(i)
		if err != nil {
			return err
		}
		if m != nil {
			p.Map = m.described(&l.Extents[m.Extent])
			clear(data)
		}
		for _, w := range l.Words {
			if w.Parameter != i || w.At+8 > len(data) || w.Extent >= len(l.Extents) {
				continue
			}
			x := &l.Extents[w.Extent]
			ptr := bundle.Pointer{At: w.At, Memory: w.Extent, Offset: int64(w.Address - x.Address)}
			ptr.Dims, ptr.Strides = b.view(w, &b.manifest.Memory[w.Extent])
			p.Pointers = append(p.Pointers, ptr)
			clear(data[w.At : w.At+8])
		}
		p.Value = hex.EncodeToString(data)
		p.Type = scalarType(b.entry.Params[i], len(p.Pointers))
		b.manifest.Parameters = append(b.manifest.Parameters, p)
	}
	m := b.manifest
	m.Schema, m.Module, m.Origin, m.Entry = bundle.Schema, strings.Repeat("0", 64), "record", l.Kernel
	m.Versions = map[string]string{}
	m.Launch = bundle.Launch{Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Shared: l.Shared}
	if err := m.Check(); err != nil { // works out the sizes of memory too
		return failedf("the launch of %s: %w", l.Kernel, err)
	}
	return nil
}

// view is the tensor that the program sees at an address, where it is other than the memory as it lies.
func (b *writing) view(w Word, m *bundle.Memory) (dims, strides []int) {
	for _, t := range b.l.Tensors {
		if t.Address != w.Address || len(t.Dims) == 0 || torchTypes[t.DType].String() != m.DType ||
			slices.Equal(t.Dims, m.Dims) {
			continue
		}
		if slices.Contains(t.Dims, 0) || slices.ContainsFunc(t.Strides, func(n int) bool { return n < 0 }) {
			continue
		}
		return t.Dims, t.Strides
	}
	return nil, nil
}

// scalarType is the element type of a parameter that is one number, "" for others. PTX shows floats as such
// only where the compiler did.
func scalarType(v *ptx.Var, pointers int) string {
	if pointers > 0 || len(v.Dims) > 0 {
		return ""
	}
	t, err := probes.ParseDType(strings.Replace(v.Type.String(), "s", "i", 1))
	if err != nil || t.Size() != v.Size {
		return ""
	}
	return t.String()
}

// touch executes the launch on the emulator.
func (b *writing) touch() error {
	be, _, err := b.s.Backends(b.ctx, debugkern.Request{Backend: "emu"})
	if err != nil {
		return err
	}
	k, err := be.Load(b.ctx, b.module, b.l.Kernel)
	if err != nil {
		return failedf("the emulator does not execute it: %w", err)
	}
	l := &target.Launch{
		Grid: b.l.Grid, Block: b.l.Block, DynShared: b.l.Shared, Cooperative: b.l.Cooperative,
		Memory: b.s.Memory(), Label: b.l.Kernel,
	}
	if b.l.Cluster.Count() > 1 {
		l.Cluster = b.l.Cluster
	}
	for i, data := range b.l.Parameters {
		data := slices.Clone(data)
		for _, ptr := range b.manifest.Parameters[i].Pointers {
			clear(data[ptr.At : ptr.At+8])
		}
		arg := target.Arg{Name: fmt.Sprintf("parameter %d", i), Scalar: data}
		m, err := b.mapOf(i)
		if err != nil {
			return err
		}
		if m != nil {
			clear(data)
			arg.Map = m.target(&b.l.Extents[m.Extent], len(b.l.Parameters))
		}
		l.Args = append(l.Args, arg)
	}
	for i := range b.manifest.Memory {
		m := &b.manifest.Memory[i]
		arg := target.Arg{Name: m.Name, Buffer: &target.Buffer{
			DType: probes.U8, Dims: []int{int(m.Bytes())}, Init: b.before[i], Bytes: int(m.Bytes()),
		}, Into: []target.Place{}}
		for p := range b.manifest.Parameters {
			for _, ptr := range b.manifest.Parameters[p].Pointers {
				if ptr.Memory == i {
					arg.Into = append(arg.Into, target.Place{Arg: p, Offset: ptr.At, Skip: ptr.Offset})
				}
			}
		}
		l.Args = append(l.Args, arg)
	}
	b.touched = newTouched(b.manifest.Memory)
	err = b.touched.watch(b.ctx, k, l, b.manifest.Memory)
	var fault *target.Fault
	if err == nil || b.l.Unfinished != "" && errors.As(err, &fault) {
		return nil // it does not end here either: what it has read by then is needed to come there again
	}
	return report.LaunchError(err)
}

// keep chooses the bytes that stay: before the launch those that it read, after it those that it wrote, and
// those that the GPU changed. Of a launch that did not end there is nothing after it.
func (b *writing) keep() error {
	b.parts.Before, b.parts.After = map[string][]byte{}, map[string][]byte{}
	for i := range b.manifest.Memory {
		m := &b.manifest.Memory[i]
		before, read, wrote := b.before[i], b.touched.read[m.Name], b.touched.wrote[m.Name]
		var err error
		if m.Before, b.parts.Before[m.Name], err = b.kept(i, read, before); err != nil {
			return err
		}
		if b.l.Unfinished != "" {
			continue
		}
		after := b.after[i]
		if !bytes.Equal(before, after) {
			for at := range before {
				if before[at] != after[at] {
					wrote.set(int64(at), 1)
				}
			}
		}
		if m.After, b.parts.After[m.Name], err = b.kept(i, wrote, after); err != nil {
			return err
		}
	}
	return nil
}

// kept is the ranges of a memory that are marked, and their contents. A tensor of which they are more than a
// bundle may have is kept whole.
func (b *writing) kept(i int, marked bitmap, data []byte) ([]bundle.Range, []byte, error) {
	m := &b.manifest.Memory[i]
	list := marked.ranges(m.Bytes())
	if len(list) > maxRanges && b.l.Extents[i].Known {
		list = []bundle.Range{{0, m.Bytes()}}
	}
	if len(list) > maxRanges {
		return nil, nil, failedf("memory %s: the launch touches it in %d places, and a bundle has at most %d",
			m.Name, len(list), maxRanges)
	}
	var out []byte
	for _, r := range list {
		out = append(out, data[r[0]:r[0]+r[1]]...)
	}
	return list, out, nil
}
