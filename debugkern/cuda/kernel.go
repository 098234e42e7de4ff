package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// kernel is one entry of a module. The worker's copy may go away with the worker; the text stays
// and is loaded again.
type kernel struct {
	b        *Backend
	name     string // of the module, for errors
	entry    *ptx.Func
	text     []byte
	jit      jitRecord
	proc     *process // the worker that has it loaded
	number   int      // what that worker calls it
	allotted atomic.Pointer[target.Resources]
}

// Load prints the module and has the driver compile it. PTX that the driver refuses is a *JITError. Launches
// go on meanwhile, and so do other loads.
func (b *Backend) Load(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	return b.load(ctx, m, entry, false)
}

// LoadPinned is Load with every rounding modifier written out: the compiler fuses nothing.
func (b *Backend) LoadPinned(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	return b.load(ctx, m, entry, true)
}

func (b *Backend) load(ctx context.Context, m *ptx.Module, entry string, pin bool) (target.Kernel, error) {
	f := m.Func(entry)
	if f == nil || !f.Entry {
		return nil, fmt.Errorf("load %s: no entry %s", m.Name, entry)
	}
	var text bytes.Buffer
	if err := (ptx.Printer{Pin: pin}).Print(&text, m); err != nil {
		return nil, fmt.Errorf("load %s: %w", m.Name, err)
	}
	k := &kernel{b: b, name: m.Name, entry: f, text: text.Bytes()}
	if err := b.apart(ctx, func(p *process) error { return k.ensure(ctx, p) }); err != nil {
		return nil, k.loadError(err)
	}
	return k, nil
}

// ensure loads the kernel into a worker. Nobody else has the kernel yet, or the caller has
// the backend's turn.
func (k *kernel) ensure(ctx context.Context, p *process) error {
	if k.proc == p {
		return nil
	}
	if k.jit.Salt == "" {
		k.jit = k.b.recall(k.text)
	}
	for {
		x := &exchange{
			request: &request{Load: &loadOp{Entry: k.entry.Name}}, buffers: [][]byte{k.jit.salted(k.text)},
			limit: max(k.b.cfg.Timeout, startTimeout), apart: true,
		}
		if err := p.exchange(ctx, x); err != nil {
			return err
		}
		if x.result.Load == nil {
			return errors.New("malformed answer")
		}
		fresh := x.result.Load.Log != ""
		if fresh {
			k.jit.Log = x.result.Load.Log
		}
		r, err := resources(x.result.Load.Info, k.jit.Log, k.entry.Name, k.b.device.Arch)
		switch {
		// what we remember is about other code: have it compiled again
		case err != nil && !fresh && k.jit.Log != "":
			k.jit = newJITRecord()
			continue
		case err != nil:
			return &hostError{err}
		}
		if fresh {
			k.b.remember(k.text, k.jit)
		}
		k.proc, k.number = p, x.result.Load.Kernel
		k.allotted.Store(r)
		return nil
	}
}

// Resources are those of the function as it was loaded.
func (k *kernel) Resources() *target.Resources {
	r := *k.allotted.Load()
	return &r
}

// Launch launches l.Repeat times and compares. The whole grid runs, whatever l.Only says: its
// blocks are among them.
func (k *kernel) Launch(ctx context.Context, l *target.Launch) (*target.Result, error) {
	u := &upload{}
	spec, err := k.spec(l, u)
	if err != nil {
		return nil, err
	}
	op := &launchOp{Spec: *spec, Repeat: max(l.Repeat, 1)}
	give, release, err := k.reserve(l, u)
	if err != nil {
		return nil, err
	}
	defer release()
	var out *target.Result
	err = k.b.call(ctx, func(p *process) error {
		if err := k.ensure(ctx, p); err != nil {
			return k.loadError(err)
		}
		op.Spec.Kernel = k.number
		x := &exchange{
			request: &request{Launch: op}, buffers: u.bodies, into: answered(l), limit: k.b.cfg.Timeout,
			onLaunch: l.OnLaunch,
		}
		if err := p.exchange(ctx, x); err != nil {
			return k.launchError(err, l, x.launched+1, op.Repeat)
		}
		if r := x.result.Launch; r == nil || !r.of(l) {
			return errors.New("malformed answer")
		}
		out = k.result(l, x.result.Launch, x.into, op.Repeat)
		return k.settleCapture(ctx, p, l, op, u, out)
	})
	if err != nil {
		give()
		return nil, err
	}
	budget.Until(l.Memory, out, give)
	return out, nil
}

// reserve asks for the memory of a launch on the host: give returns what the result holds, release what
// the worker takes for the buffers that it is sent and for the outputs that it sends, and what else is
// needed here meanwhile.
func (k *kernel) reserve(l *target.Launch, u *upload) (give, release func(), err error) {
	answer := answerBytes(l)
	var sum budget.Sum
	sum.Add("captures and outputs", answer, "")
	sum.Add("the GPU worker's copies", budget.Add(u.bytes(), answer), "")
	if err := sum.Within(l.Memory.Limit()); err != nil {
		return nil, nil, err
	}
	if give, err = l.Memory.Reserve("captures and outputs of "+k.entry.Name, answer); err != nil {
		return nil, nil, err
	}
	if release, err = l.Memory.Reserve("the GPU worker's copies for "+k.entry.Name,
		sum.Total()-answer); err != nil {
		give()
		return nil, nil, err
	}
	return give, release, nil
}

// upload collects the buffers that travel with a request.
type upload struct{ bodies [][]byte }

// add returns the buffer's number, -1 for none.
func (u *upload) add(b []byte) int {
	if b == nil {
		return -1
	}
	u.bodies = append(u.bodies, b)
	return len(u.bodies) - 1
}

// bytes is what the buffers take together.
func (u *upload) bytes() int64 {
	n := int64(0)
	for _, b := range u.bodies {
		n = budget.Add(n, int64(len(b)))
	}
	return n
}

// spec describes a launch for the worker; parameters must agree with the entry's, or the
// driver reads past them.
func (k *kernel) spec(l *target.Launch, u *upload) (*launchSpec, error) {
	if l.Probe != nil && len(l.Probe.Replace) > 0 {
		return nil, fmt.Errorf("launch %s: a GPU cannot replace tiles while a block runs", k.entry.Name)
	}
	s := &launchSpec{
		Cooperative: l.Cooperative,
		Dims:        [6]int{l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2]},
		DynShared:   l.DynShared,
	}
	if _, fixed := k.entry.Directive("reqnctapercluster"); !fixed {
		s.Cluster = l.Cluster
	}
	s.BigCluster = l.ClusterOf(k.entry).Count() > portableCluster
	own, err := l.Parameters()
	if err != nil {
		return nil, fmt.Errorf("launch %s: %w", k.entry.Name, err)
	}
	params := len(own)
	if l.Probe != nil && l.Probe.Control {
		params++
	}
	if params != len(k.entry.Params) {
		return nil, fmt.Errorf("launch %s: %d arguments for %d parameters", k.entry.Name, params,
			len(k.entry.Params))
	}
	for i := range l.Args {
		size := 8
		if i < len(own) {
			size = k.entry.Params[i].Size
		}
		a, err := argument(&l.Args[i], size, u)
		if err != nil {
			return nil, fmt.Errorf("launch %s: argument %s: %w", k.entry.Name, l.Args[i].Name, err)
		}
		s.Args = append(s.Args, a)
	}
	if l.Probe != nil {
		s.Probe = probeOf(l.Probe, u)
	}
	return s, nil
}

func argument(a *target.Arg, size int, u *upload) (argSpec, error) {
	if a.Map != nil {
		if size != tensormap.Bytes {
			return argSpec{}, fmt.Errorf("a tensor map for a parameter of %d bytes", size)
		}
		return argSpec{
			Name: a.Name, Init: -1, Map: &mapSpec{Map: a.Map.Map, Of: a.Map.Of, Skip: a.Map.Skip},
		}, nil
	}
	if a.Buffer == nil {
		if len(a.Scalar) != size || size == 0 {
			return argSpec{}, fmt.Errorf("%d bytes for a parameter of %d", len(a.Scalar), size)
		}
		return argSpec{Name: a.Name, Scalar: a.Scalar, Init: -1}, nil
	}
	b := a.Buffer
	if size != 8 {
		return argSpec{}, fmt.Errorf("a buffer for a parameter of %d bytes", size)
	}
	n := b.Bytes
	if b.Init != nil {
		n = len(b.Init)
	}
	return argSpec{
		Name: a.Name, Bytes: int64(n), Init: u.add(b.Init), Elem: elemSize(b), Output: b.Output,
		Into: a.Into, Apart: a.Into != nil,
		// what a kernel is given it may read: other contents could send it anywhere
		Probing: b.Output && b.Init == nil,
	}, nil
}

func elemSize(b *target.Buffer) int { return max(b.DType.Size(), 1) }

// probeOf describes the capture. Where the two addresses stand in the control block is asked
// of the layout itself.
func probeOf(p *target.Probe, u *upload) *probeSpec {
	l := p.Layout
	control := l.Control(0, 0)
	at := func(other []byte) int {
		for i := range other {
			if other[i] != control[i] {
				return i
			}
		}
		panic("BUG: the control block holds no address")
	}
	return &probeSpec{
		Capture: int64(l.CaptureBytes), Inject: int64(l.InjectBytes), Fill: captureFill,
		Injected: u.add(p.Inject), Control: u.add(control), CaptureAt: at(l.Control(^uint64(0), 0)),
		InjectAt: at(l.Control(0, ^uint64(0))), Pass: p.Control,
	}
}

// answerBytes is what answered makes.
func answerBytes(l *target.Launch) int64 {
	n := int64(0)
	for i := range l.Args {
		if b := l.Args[i].Buffer; b != nil && b.Output {
			n = budget.Add(n, int64(max(b.Bytes, len(b.Init))))
		}
	}
	if l.Probe != nil {
		n = budget.Add(n, budget.Mul(l.Probe.Layout.CaptureBytes))
	}
	return n
}

// answered makes room for what a launch sends back.
func answered(l *target.Launch) map[int][]byte {
	into := map[int][]byte{}
	for i, a := range l.Args {
		if a.Buffer != nil && a.Buffer.Output {
			into[i] = make([]byte, max(a.Buffer.Bytes, len(a.Buffer.Init)))
		}
	}
	if l.Probe != nil {
		into[len(l.Args)] = make([]byte, l.Probe.Layout.CaptureBytes)
	}
	return into
}

// result puts what came back into the seam's terms.
func (k *kernel) result(
	l *target.Launch, res *launchResult, into map[int][]byte, repeats int,
) *target.Result {
	out := &target.Result{
		Outputs: map[string][]byte{}, Unwritten: res.Unwritten, Reached: true, Printed: res.Printed,
		Elapsed: time.Duration(res.Micros * float64(time.Microsecond)),
	}
	for i, a := range l.Args {
		if b, ok := into[i]; ok {
			out.Outputs[a.Name] = b
		}
	}
	if l.Probe != nil {
		out.Capture = probes.Buffer(into[len(l.Args)])
	}
	out.Findings = slices.Concat(overruns(l, res.Overruns), varied(l, res.Varied, repeats),
		notDone(l, res.Uncompared))
	return out
}

// Time launches every run, interleaved, between events. Outputs are not read back.
func (b *Backend) Time(ctx context.Context, runs []target.Timed, o target.TimeOptions) ([][]float64, error) {
	u, op := &upload{}, &timeOp{Warmups: o.Warmups, Launches: o.Launches, FlushL2: o.FlushL2}
	kernels := make([]*kernel, len(runs))
	for i, r := range runs {
		k, ok := r.Kernel.(*kernel)
		if !ok || k.b != b {
			return nil, errors.New("time: a kernel of another backend")
		}
		spec, err := k.spec(r.Launch, u)
		if err != nil {
			return nil, err
		}
		kernels[i], op.Specs = k, append(op.Specs, *spec)
	}
	if len(runs) > 0 {
		release, err := runs[0].Launch.Memory.Reserve("the GPU worker's copies for timing", u.bytes())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	var times [][]float64
	err := b.call(ctx, func(p *process) error {
		for i, k := range kernels {
			if err := k.ensure(ctx, p); err != nil {
				return k.loadError(err)
			}
			op.Specs[i].Kernel = k.number
		}
		x := &exchange{request: &request{Time: op}, buffers: u.bodies, limit: b.cfg.Timeout}
		if err := p.exchange(ctx, x); err != nil {
			return kernels[0].launchError(err, runs[0].Launch, x.launched+1, o.Warmups+o.Launches)
		}
		times = x.result.Time
		if len(times) != len(runs) || slices.ContainsFunc(times, func(one []float64) bool {
			return len(one) != o.Launches
		}) {
			return errors.New("malformed answer")
		}
		return nil
	})
	return times, err
}

// linear turns an element's number into indices along dims, the last fastest.
func linear(element int, dims []int) []int {
	if len(dims) == 0 {
		return []int{element}
	}
	out := make([]int, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		d := max(dims[i], 1)
		out[i] = element % d
		element /= d
	}
	return out
}
