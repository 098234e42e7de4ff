package debugkern

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tilescope/debugkern/checked"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// plainRun is the result of the build without probes.
type plainRun struct {
	doc       *report.Plain     // nil where it was not launched
	resources *target.Resources // nil on an emulator
	findings  []target.Finding  // that the instrumented build did not have
	took      time.Duration
	launches  int
}

// plainTask is the plain build of a run: made ready while the instrumented one is, launched after it, on a
// GPU while the processor compares what that one left.
type plainTask struct {
	ready   join.Group           // the goroutines that build and load it
	task    *join.Task[struct{}] // launches it; nil: nothing was launched, or it is settled
	run     *plainRun
	err     error
	waiting atomic.Bool // the run has nothing else to do
}

// headStart is how long the plain build waits after the instrumented one has started: NVRTC parses one source
// at a time.
const headStart = 2 * time.Millisecond

// readyPlain starts compiling and loading the plain build, where there will be one to launch.
func (e *execution) readyPlain() {
	if e.emulated() || !e.twoBuilds() {
		return // it is built when it is launched, if at all
	}
	e.plainTask.ready.Go(func() {
		select {
		case <-e.ctx.Done():
		case <-time.After(headStart):
			_, _ = e.plainKernel() // whoever launches it gets the error
		}
	})
}

// twoBuilds reports that the build without probes is another than the instrumented one, and ours to make.
func (e *execution) twoBuilds() bool { return e.r.instrumented() && e.r.sel.Manifest.PTX == "" }

// plainKernel is the build without probes, loaded.
func (e *execution) plainKernel() (target.Kernel, error) {
	b, err := e.s.builder.Kernel(e.ctx, e.r.sel, buildOptions(e.req, false))
	if err != nil {
		return nil, err
	}
	return e.load(e.backend, b)
}

// startPlain launches the plain build: concurrently with what follows on a GPU, at once on the emulator,
// which needs the same processor.
func (e *execution) startPlain() error {
	p := &e.plainTask
	work := func() { p.run, p.err = e.plain() }
	if e.emulated() {
		p.waiting.Store(true)
		work()
		return e.takePlain()
	}
	p.task = join.Run(work)
	return nil
}

// settlePlain waits for the plain build and adds its results to the run's.
func (e *execution) settlePlain() error {
	p := &e.plainTask
	defer p.ready.Wait()
	if p.task == nil {
		return nil
	}
	p.waiting.Store(true)
	task := p.task
	p.task = nil
	task.Wait()
	return e.takePlain()
}

// takePlain adds the plain build's results to the run's.
func (e *execution) takePlain() error {
	p := &e.plainTask
	if p.err != nil || p.run == nil {
		return p.err
	}
	e.st.plain, e.st.resources = p.run.doc, p.run.resources
	e.st.extra = append(e.st.extra, p.run.findings...)
	e.cost.RunMS += report.Number(p.run.took.Seconds() * 1e3)
	e.cost.Launches += p.run.launches
	return nil
}

// plain launches the build without probes and compares the output with the instrumented one's bit for
// bit: an instrumented kernel that computes something else debugs another kernel. nil where there is no
// such build to launch.
func (e *execution) plain() (*plainRun, error) {
	emulated := e.emulated()
	if !e.plainRuns() {
		return nil, nil
	}
	if emulated && !e.r.instrumented() {
		return &plainRun{doc: plainDoc(e.st.result, e.st.output)}, nil // there is one build
	}
	if e.r.sel.Manifest.PTX != "" { // the manifest brings one build, compiled elsewhere
		return &plainRun{resources: e.st.kernel.Resources()}, nil
	}
	k, err := e.plainKernel()
	if err != nil {
		return nil, err
	}
	out := &plainRun{resources: k.Resources()}
	if e.r.plan.Gate.Name != probes.GateNone {
		// nothing is injected into a build without probes: what it would compute means nothing
		return out, nil
	}
	l, err := e.r.launch(e.ctx, e.st.inputs, e.st.ref, false)
	if err != nil {
		return nil, err
	}
	l.Repeat, l.Label, l.Probe = e.req.Repeat, e.r.label()+", plain build", nil
	l.OnLaunch = e.plainProgress()
	start := time.Now()
	res, err := k.Launch(e.ctx, l)
	if err != nil {
		return nil, report.LaunchError(err)
	}
	out.took, out.launches = time.Since(start), max(1, e.req.Repeat)
	if emulated {
		out.launches = 1
	}
	left := gathered(e.r.plan, res.Outputs)
	out.doc, out.findings = plainDoc(res, left[e.outputArg()]), e.unseen(res.Findings)
	for _, a := range e.r.plan.Results() {
		if bytes.Equal(left[a.Name], e.st.outputs[a.Name]) {
			continue
		}
		b, err := e.s.builder.Kernel(e.ctx, e.r.sel, buildOptions(e.req, false))
		if err != nil {
			return nil, err
		}
		out.findings = append(out.findings, e.probeChanged(b.Module, a, left[a.Name]))
	}
	return out, nil
}

// plainProgress reports the plain build's launches while no other progress is reported.
func (e *execution) plainProgress() func(int) {
	if e.plainTask.waiting.Load() {
		e.progress(Progress{Phase: "run", Detail: "plain build"})
	}
	repeated := e.repeated("plain build")
	if repeated == nil {
		return nil
	}
	return func(n int) {
		if e.plainTask.waiting.Load() {
			repeated(n)
		}
	}
}

// plainRuns reports that the build without probes is needed: always on a GPU, which at least reports what it
// is allotted, on the emulator on request. Under a gate it would have nothing to start from there: only the
// build with probes is fed.
func (e *execution) plainRuns() bool {
	return !e.emulated() || e.req.Plain && e.r.plan.Gate.Name == probes.GateNone
}

// unseen are the findings of the plain build that the instrumented one did not have: the same cause is
// reported once.
func (e *execution) unseen(findings []target.Finding) []target.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f target.Finding) bool {
		return slices.ContainsFunc(e.st.result.Findings, func(g target.Finding) bool {
			return f.Kind == g.Kind && f.Variable == g.Variable && f.Message == g.Message ||
				checked.Symptom(&f, &g)
		})
	})
}

// probeChanged words the difference between what both builds leave in an argument: advice where the compiler
// may have fused what the source left open, an error otherwise.
func (e *execution) probeChanged(m *ptx.Module, a probes.Arg, out []byte) target.Finding {
	n, size, was := 0, a.DType.Size(), e.st.outputs[a.Name]
	for i := 0; i+size <= min(len(out), len(was)); i += size {
		if !bytes.Equal(out[i:i+size], was[i:i+size]) {
			n++
		}
	}
	f := target.Finding{
		Kind: target.ProbeChangedResult, Severity: target.SeverityError, Variable: a.Name, Space: "global",
		KVTile: -1, Count: n,
		Message: fmt.Sprintf("%d elements of %s differ between the builds with and without probes", n,
			a.Name),
	}
	if entry := m.Func(e.r.plan.Entry); entry != nil {
		for _, in := range entry.Body {
			if ptx.Unpinned(in) {
				f.Severity = target.SeverityAdvice
				f.Consequence =
					"the PTX leaves roundings open, and the compiler may fuse them differently in the two builds"
				break
			}
		}
	}
	return f
}
