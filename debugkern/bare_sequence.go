package debugkern

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"tilescope/configs"
	"tilescope/debugkern/argument"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// namedMemory is a buffer of a sequence of launches, as the last one left it.
type namedMemory struct {
	name    string
	dtype   probes.DType
	dims    []int
	init    []byte // nil: unwritten
	written []byte // target.Buffer.Written
	stores  check.Bytes
}

// fill sets every byte.
func (m *namedMemory) fill(value byte) {
	m.init, m.written = bytes.Repeat([]byte{value}, probes.Elems(m.dims)*m.dtype.Size()), nil
	m.stores.Add(0, len(m.init))
}

// sequence is a sequence of launches under way.
type sequence struct {
	whole *bareLaunch // has the document of all of it
	seq   *configs.Sequence
	names []*namedMemory
	raced bool // a launch before had an error
}

// CheckSequence executes launches in stream order over named buffers, each under every checker: what one leaves unwritten the next reads as
// unwritten. Of the request, File and what is of a single launch are not used. Errors are CheckKernel's.
func (s *Session) CheckSequence(ctx context.Context, seq *configs.Sequence, req CheckRequest, progress func(Progress)) (*Checked, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	req.File, req.Grid, req.Block, req.Cluster = seq.File, probes.Dim3{1, 1, 1}, probes.Dim3{1, 1, 1}, probes.Dim3{1, 1, 1}
	req.Include, req.Define, req.Std = seq.Compile.Include, seq.Compile.Defines, seq.Compile.Std
	req.Instantiate = seq.Compile.Instantiate
	b := s.bare(ctx, req, progress)
	b.doc.Entry, b.manifest = seq.Name, &configs.Manifest{Name: seq.Name, Dir: seq.Dir, File: seq.File}
	b.outputs = map[string][]byte{}
	x := &sequence{whole: b, seq: seq}
	return b.through(b.geometry, b.backends, x.buffers, x.steps, x.conclude)
}

// buffers makes the memory that the launches share.
func (x *sequence) buffers() error {
	b := x.whole
	b.module = &build.Build{} // the first launch's, once there is one
	for i := range x.seq.Buffers {
		d := &x.seq.Buffers[i]
		v, err := argument.Parse(d.Value)
		if err == nil && v.Buffer == nil && v.File == nil {
			err = errors.New("expected memory, such as randn:f32[64,128] or FILE.npy")
		}
		if err != nil {
			return &report.Error{Code: report.CodeUsage, Err: d.Fail(x.seq, err)}
		}
		a := &bareArg{param: &ptx.Var{Size: 8}, index: i, name: d.Name, text: d.Value, value: v}
		if err := b.reserve(a, budget.Mul(4, a.bytes())); err != nil { // as given, before and after a launch, and which bytes were written
			return err
		}
		if err := a.settle(b.ctx, b.s.mem, b.req.Seed); err != nil {
			var coded *report.Error
			if errors.As(err, &coded) {
				err = &report.Error{Code: coded.Code, Err: d.Fail(x.seq, coded.Err)}
			}
			return err
		}
		x.names = append(x.names, &namedMemory{a.name, a.dtype, a.dims, a.init, nil, check.Bytes{}})
		b.args = append(b.args, a)
		b.doc.Args = append(b.doc.Args, a.document())
	}
	return nil
}

// memory is the buffer of a name.
func (x *sequence) memory(name string) *namedMemory {
	for _, m := range x.names {
		if m.name == name {
			return m
		}
	}
	return nil
}

// steps executes launches and fills, one after the other.
func (x *sequence) steps() error {
	b := x.whole
	for i := range x.seq.Steps {
		st := &x.seq.Steps[i]
		if st.Memset != "" {
			x.memory(st.Memset).fill(byte(st.Byte))
			b.doc.Steps = append(b.doc.Steps, report.CheckStep{Memset: st.Memset, Byte: st.Byte, Args: []report.CheckArg{}})
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
		t := ArgText{Name: a.Name, Value: a.Value}
		if a.Buffer {
			t.memory, t.Value = x.memory(a.Value), "buffer "+a.Value
		}
		req.Args = append(req.Args, t)
	}
	b := w.s.bare(w.ctx, req, w.progress)
	defer func() { releaseAll(b.release) }()
	b.primary, b.emulator, b.raced = w.primary, w.emulator, x.raced
	for _, step := range []func() error{b.geometry, b.build, b.arguments, b.limits, b.execute} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, m := range x.names {
		if out, ok := b.outputs[m.name]; ok {
			m.init, m.written = out, b.defined[m.name]
			m.stores.Merge(b.covered.Written[m.name])
		}
	}
	if err := b.compare(); err != nil {
		return err
	}
	x.add(i, b)
	return nil
}

// add adds one launch's document to the whole's.
func (x *sequence) add(i int, b *bareLaunch) {
	d, one := x.whole.doc, b.doc
	d.Steps = append(d.Steps, report.CheckStep{File: one.File, Entry: one.Entry, Launch: &one.Launch, Args: one.Args, Coverage: &one.Coverage})
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
		x.whole.module = b.module
	}
}

// conclude lists the buffers as the last launch left them.
func (x *sequence) conclude() error {
	b := x.whole
	for _, m := range x.names {
		o := report.CheckOutput{Name: m.name, DType: m.dtype.String(), Dims: m.dims}
		if b.emulator != nil || target.Simulated(b.primary) {
			n := m.stores.Whole(m.dtype.Size())
			o.Written = &n
		}
		b.doc.Outputs = append(b.doc.Outputs, o)
		if m.init == nil {
			m.init = bytes.Repeat([]byte{0xff}, probes.Elems(m.dims)*m.dtype.Size())
		}
		b.outputs[m.name] = m.init
	}
	return nil
}
