package checkrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/argument"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// namedBuffer is a buffer that the launches of a sequence share, as the last one left it.
type namedBuffer struct {
	name    string
	dtype   probes.DType
	dims    []int
	init    []byte // nil: unwritten
	written []byte // target.Buffer.Written
	stores  check.Bytes
}

// fill sets every byte.
func (b *namedBuffer) fill(value byte) {
	b.init, b.written = bytes.Repeat([]byte{value}, b.bytes()), nil
	b.stores.Add(0, len(b.init))
}

func (b *namedBuffer) bytes() int { return probes.Elems(b.dims) * b.dtype.Size() }

// sequence is a sequence of launches under way.
type sequence struct {
	whole   *launch // has the document of all of it
	seq     *configs.Sequence
	buffers []*namedBuffer
	raced   bool // a launch before had an error
}

// Sequence executes launches in stream order over named buffers, each under every checker: what one leaves
// unwritten the next reads as unwritten. Of the request, File and what is of a single launch are not used.
// Errors are Kernel's.
func Sequence(
	ctx context.Context, s *debugkern.Session, seq *configs.Sequence, req Request,
	progress func(debugkern.Progress),
) (*Result, error) {
	ctx, cancel := debugkern.Limited(ctx, req.Timeout)
	defer cancel()
	one := probes.Dim3{1, 1, 1}
	req.File, req.Grid, req.Block, req.Cluster = seq.File, one, one, one
	req.Include, req.Define, req.Std = seq.Compile.Include, seq.Compile.Defines, seq.Compile.Std
	req.Instantiate = seq.Compile.Instantiate
	l := begin(ctx, s, req, progress)
	l.doc.Entry, l.manifest = seq.Name, &configs.Manifest{Name: seq.Name, Dir: seq.Dir, File: seq.File}
	l.outputs = map[string][]byte{}
	x := &sequence{whole: l, seq: seq}
	return l.through(l.geometry, l.backends, x.makeBuffers, x.steps, x.conclude)
}

// makeBuffers makes the memory that the launches share.
func (x *sequence) makeBuffers() error {
	l := x.whole
	l.module = &build.Build{} // the first launch's, once there is one
	for i := range x.seq.Buffers {
		d := &x.seq.Buffers[i]
		v, err := argument.Parse(d.Value)
		if err == nil && v.Buffer == nil && v.File == nil {
			err = errors.New("expected memory, such as randn:f32[64,128] or FILE.npy")
		}
		if err != nil {
			return &report.Error{Code: report.CodeUsage, Err: d.Fail(x.seq, err)}
		}
		a := &arg{param: &ptx.Var{Size: 8}, index: i, name: d.Name, text: d.Value, value: v}
		const copies = 4 // as given, before and after a launch, and which bytes were written
		if err := l.reserve(a, budget.Mul(copies, a.bytes())); err != nil {
			return err
		}
		if err := a.settle(l.ctx, l.s.Memory(), l.req.Seed); err != nil {
			var coded *report.Error
			if errors.As(err, &coded) {
				err = &report.Error{Code: coded.Code, Err: d.Fail(x.seq, coded.Err)}
			}
			return err
		}
		x.buffers = append(x.buffers, &namedBuffer{
			name: a.name, dtype: a.dtype, dims: a.dims, init: a.init, stores: check.Bytes{},
		})
		l.args = append(l.args, a)
		l.doc.Args = append(l.doc.Args, a.document())
	}
	return nil
}

// buffer is the buffer of a name.
func (x *sequence) buffer(name string) *namedBuffer {
	for _, b := range x.buffers {
		if b.name == name {
			return b
		}
	}
	return nil
}

// steps executes launches and fills, one after the other.
func (x *sequence) steps() error {
	d := x.whole.doc
	for i := range x.seq.Steps {
		st := &x.seq.Steps[i]
		if st.Memset != "" {
			x.buffer(st.Memset).fill(byte(st.Byte))
			d.Steps = append(d.Steps, report.CheckStep{
				Memset: st.Memset, Byte: st.Byte, Args: []report.CheckArg{},
			})
			continue
		}
		if err := x.launch(i, st); err != nil {
			var coded *report.Error
			var failed *report.KernelError
			switch {
			case errors.As(err, &coded) && coded.Code == report.CodeUsage:
				return &report.Error{Code: coded.Code, Err: st.Fail(x.seq, coded.Err)}
			case errors.As(err, &failed):
				again := *failed
				again.Err = fmt.Errorf("steps[%d]: %w", i, failed.Err)
				return &again
			}
			return err
		}
	}
	return nil
}

// launch executes one launch, and adds what it found and left to the whole.
func (x *sequence) launch(i int, st *configs.SequenceStep) error {
	w := x.whole
	req := w.req
	req.File, req.Entry, req.Grid, req.Block, req.Shared = st.File, st.Entry, st.Grid, st.Block, st.Shared
	req.Cooperative, req.Args = st.Cooperative, nil
	for _, a := range st.Args {
		given := Argument{Name: a.Name, Value: a.Value}
		if a.Buffer {
			given.buffer, given.Value = x.buffer(a.Value), "buffer "+a.Value
		}
		if a.Fields != nil {
			given.Value, given.within = x.structure(a.Fields)
		}
		req.Args = append(req.Args, given)
	}
	l := begin(w.ctx, w.s, req, w.progress)
	defer func() { l.reserved.Release() }()
	l.primary, l.emulator, l.raced = w.primary, w.emulator, x.raced
	for _, step := range []func() error{l.geometry, l.build, l.arguments, l.limits, l.execute} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, b := range x.buffers {
		if out, ok := l.outputs[b.name]; ok {
			b.init, b.written = out, l.defined[b.name]
			b.stores.Merge(l.covered.Written[b.name])
		}
	}
	if err := l.compare(); err != nil {
		return err
	}
	x.add(i, l)
	return nil
}

// structure is a struct as --arg takes it, with null where a pointer leads to a buffer, and those buffers by
// the pointers' offsets.
func (x *sequence) structure(fields []configs.SequenceField) (value string, within map[int]*namedBuffer) {
	within = map[int]*namedBuffer{}
	var parts []string
	for _, f := range fields {
		if f.Buffer {
			within[f.Offset], f.Value = x.buffer(f.Value), "null"
		}
		parts = append(parts, fmt.Sprintf("%d: %s", f.Offset, f.Value))
	}
	return "{" + strings.Join(parts, ", ") + "}", within
}

// add adds one launch's document to the whole's.
func (x *sequence) add(i int, l *launch) {
	d, one := x.whole.doc, l.doc
	d.Steps = append(d.Steps, report.CheckStep{
		File: one.File, Entry: one.Entry, Launch: &one.Launch, Args: one.Args, Coverage: &one.Coverage,
	})
	for _, f := range one.Findings {
		f.Step = &i
		d.Findings = append(d.Findings, f)
		x.raced = x.raced || f.Severity == "error"
	}
	c := &d.Coverage
	c.Instructions += one.Coverage.Instructions
	c.Executed += one.Coverage.Executed
	c.Blocks += one.Coverage.Blocks
	c.Sampled += one.Coverage.Sampled
	c.Schedules = one.Coverage.Schedules
	c.Unreached = append(c.Unreached, one.Coverage.Unreached...)
	c.NotModelled = append(c.NotModelled, one.Coverage.NotModelled...)
	d.Printed = append(d.Printed, one.Printed...)
	d.Backend, d.Build, d.Launch = one.Backend, one.Build, one.Launch
	d.Cost.BuildMS += one.Cost.BuildMS
	d.Cost.RunMS += one.Cost.RunMS
	d.Cost.WarpInstructions += one.Cost.WarpInstructions
	d.Cost.MMAOutputs += one.Cost.MMAOutputs
	d.Cost.Launches += one.Cost.Launches
	if x.whole.module.Module == nil {
		x.whole.module = l.module
	}
}

// conclude lists the buffers as the last launch left them.
func (x *sequence) conclude() error {
	l := x.whole
	for _, b := range x.buffers {
		o := report.CheckOutput{Name: b.name, DType: b.dtype.String(), Dims: b.dims}
		if l.emulator != nil || target.Simulated(l.primary) {
			n := b.stores.Whole(b.dtype.Size())
			o.Written = &n
		}
		l.doc.Outputs = append(l.doc.Outputs, o)
		if b.init == nil {
			b.init = bytes.Repeat([]byte{0xff}, b.bytes())
		}
		l.outputs[b.name] = b.init
	}
	return nil
}
