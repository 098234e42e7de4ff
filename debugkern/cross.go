package debugkern

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Classes of a difference between two backends on the same PTX and inputs.
const (
	crossEqual       = "equal"
	crossSchedule    = "schedule"    // the GPU's own result varies from launch to launch
	crossAtomics     = "atomics"     // floats are added in an order nobody fixes
	crossModel       = "model"       // another chip than the emulator's
	crossUnexplained = "unexplained" // a bug of ours
)

// plainRun is what the build without probes did.
type plainRun struct {
	doc       *PlainDoc         // nil where it was not launched
	resources *target.Resources // nil on an emulator
	findings  []target.Finding  // that the instrumented build did not have
	took      time.Duration
	launches  int
}

// plainBeside is the plain build's launch, which on a GPU goes on while the processor compares what the instrumented build left.
type plainBeside struct {
	done    chan struct{} // nil: none was started, or it is settled
	run     *plainRun
	err     error
	waiting atomic.Bool // the run has nothing else to do
}

// startPlain launches the plain build: beside what follows on a GPU, at once on the emulator, which needs the same processor.
func (e *execution) startPlain() error {
	p := &e.beside
	p.done = make(chan struct{})
	work := func() {
		defer close(p.done)
		p.run, p.err = e.plain()
	}
	if e.emulated() {
		p.waiting.Store(true)
		work()
		return e.settlePlain()
	}
	go work()
	return nil
}

// settlePlain waits for the plain build and takes in what it did.
func (e *execution) settlePlain() error {
	p := &e.beside
	if p.done == nil {
		return nil
	}
	p.waiting.Store(true)
	<-p.done
	p.done = nil
	if p.err != nil || p.run == nil {
		return p.err
	}
	e.st.plain, e.st.resources = p.run.doc, p.run.resources
	e.st.extra = append(e.st.extra, p.run.findings...)
	e.cost.RunMS += Number(p.run.took.Seconds() * 1e3)
	e.cost.Launches += p.run.launches
	return nil
}

// plain launches the build without probes and compares the output with the instrumented one's bit for bit: an instrumented
// kernel that computes something else debugs another kernel. nil where there is no such build to launch.
func (e *execution) plain() (*plainRun, error) {
	emulated := e.emulated()
	if !e.plainRuns() {
		return nil, nil
	}
	if emulated && !e.r.instrumented() {
		return &plainRun{doc: plainDoc(e.st.result, e.st.output)}, nil // there is one build
	}
	if e.r.sel.Manifest.PTX != "" { // somebody else compiled it, once
		return &plainRun{resources: e.st.kernel.Resources()}, nil
	}
	k, err := e.plainKernel()
	if err != nil {
		return nil, err
	}
	out := &plainRun{resources: k.Resources()}
	if e.r.plan.Gate != probes.GateNone {
		return out, nil // nothing is injected into a build without probes: what it would compute means nothing
	}
	l, err := e.r.launch(e.st.inputs, e.st.ref, false)
	if err != nil {
		return nil, err
	}
	l.Repeat, l.Label, l.Probe = e.req.Repeat, e.r.label()+", plain build", nil
	l.Tell = e.tellPlain()
	start := time.Now()
	res, err := k.Launch(e.ctx, l)
	if err != nil {
		return nil, launchError(err)
	}
	out.took, out.launches = time.Since(start), max(1, e.req.Repeat)
	if emulated {
		out.launches = 1
	}
	o := res.Outputs[e.outputArg()]
	out.doc, out.findings = plainDoc(res, o), e.unseen(res.Findings)
	if bytes.Equal(o, e.st.output) {
		return out, nil
	}
	b, err := e.s.build(e.ctx, e.r.sel, e.req.Builder, e.req.Arch, false)
	if err != nil {
		return nil, err
	}
	out.findings = append(out.findings, e.probeChanged(b.Module, o))
	return out, nil
}

// tellPlain tells of the plain build's launches while nothing else is told.
func (e *execution) tellPlain() func(int) {
	if e.beside.waiting.Load() {
		e.progress(Progress{Phase: "run", Detail: "plain build"})
	}
	repeated := e.repeated("plain build")
	if repeated == nil {
		return nil
	}
	return func(n int) {
		if e.beside.waiting.Load() {
			repeated(n)
		}
	}
}

// emulated reports that the run has no GPU.
func (e *execution) emulated() bool { return e.st.beside == nil && e.backend.Info().Name == "emu" }

// plainRuns reports that the build without probes is needed: always on a GPU, which at least tells what it is allotted, on the
// emulator on request. Under a gate it would have nothing to start from there: only the build with probes is fed.
func (e *execution) plainRuns() bool {
	return !e.emulated() || e.req.Plain && e.r.plan.Gate == probes.GateNone
}

// unseen are the findings of the plain build that the instrumented one did not have: the same cause is told once.
func (e *execution) unseen(findings []target.Finding) []target.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f target.Finding) bool {
		return slices.ContainsFunc(e.st.result.Findings, func(g target.Finding) bool {
			return f.Kind == g.Kind && f.Variable == g.Variable && f.Message == g.Message || stuckAt(&f, &g)
		})
	})
}

// probeChanged words the difference between both builds' outputs: advice where the compiler may have fused what the
// source left open, an error otherwise.
func (e *execution) probeChanged(m *ptx.Module, out []byte) target.Finding {
	size := 1
	if sp := e.r.plan.Stage(probes.StageO); sp != nil {
		size = sp.DType.Size()
	}
	n := 0
	for i := 0; i+size <= len(out); i += size {
		if !bytes.Equal(out[i:i+size], e.st.output[i:i+size]) {
			n++
		}
	}
	f := target.Finding{
		Kind: target.ProbeChangedResult, Severity: target.SeverityError, Variable: e.outputArg(), Space: "global", KVTile: -1, Count: n,
		Message: fmt.Sprintf("%d elements of %s differ between the builds with and without probes", n, e.outputArg()),
	}
	if entry := m.Func(e.r.plan.Entry); entry != nil {
		for _, in := range entry.Body {
			if ptx.Unpinned(in) {
				f.Severity = target.SeverityAdvice
				f.Consequence = "the PTX leaves roundings open, and the compiler may fuse them differently in the two builds"
				break
			}
		}
	}
	return f
}

// cross executes the instrumented build on the emulator beside the GPU and compares every captured tile.
func (e *execution) cross() (*CrossDoc, error) {
	be := e.st.beside
	if be == nil {
		return nil, nil
	}
	k, err := e.load(be, e.st.build)
	if err != nil {
		return nil, err
	}
	e.progress(Progress{Phase: "run", Detail: be.Info().Device})
	res, err := launchChecked(e.ctx, k, e.st.launch, e.checks(be))
	if err != nil {
		return nil, launchError(err)
	}
	if err := e.settlePlain(); err != nil { // whether it varies tells what a difference means
		return nil, err
	}
	e.cost.Launches++
	e.st.extra = append(e.st.extra, res.Findings...)
	other := *e.st
	other.result, other.output = res, res.Outputs[e.outputArg()]
	e.st.tracer, e.st.traced = k, &other
	doc := compareTiles(e.st, &other)
	doc.Class = e.classify(doc)
	if doc.Class == crossSchedule || doc.Class == crossUnexplained {
		e.st.extra = append(e.st.extra, target.Finding{
			Kind: target.BackendDifference, Severity: target.SeverityError, KVTile: -1, Count: doc.Differing,
			Message: fmt.Sprintf("%d of %d cells differ between %s and the emulator (%s)", doc.Differing, doc.Cells, e.backend.Info().Device, doc.Class),
		})
	}
	return doc, nil
}

func compareTiles(a, b *runState) *CrossDoc {
	doc := &CrossDoc{ByStage: []CrossStage{}}
	p := a.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		differing := 0
		for j := range a.r.rng.N.Count() {
			block := a.r.rng.Block(j)
			lo, n := tilesOf(sp, a.r.rng, p, block)
			for kv := lo; kv < lo+n; kv++ {
				x, y := a.Tile(sp.Stage, block, kv), b.Tile(sp.Stage, block, kv)
				if !x.Reached() && !y.Reached() {
					continue
				}
				doc.Tiles++
				for row := range sp.ValidRows.At(block, kv) {
					for col := range sp.ValidCols.At(block, kv) {
						doc.Cells++
						if x.Reached() != y.Reached() || x.Bits(row, col) != y.Bits(row, col) {
							differing++
						}
					}
				}
			}
		}
		if differing > 0 {
			doc.ByStage = append(doc.ByStage, CrossStage{sp.Stage.String(), differing})
		}
		doc.Differing += differing
	}
	return doc
}

// classify says why two backends differ.
func (e *execution) classify(doc *CrossDoc) string {
	if doc.Differing == 0 {
		return crossEqual
	}
	if floatAtomics(e.st.build.Module.Func(e.r.plan.Entry)) {
		return crossAtomics
	}
	for _, f := range append(e.st.result.Findings, e.st.extra...) {
		if f.Kind == target.Varies {
			return crossSchedule
		}
	}
	if e.backend.Info().Arch != e.st.beside.Info().Arch {
		return crossModel
	}
	return crossUnexplained
}

func floatAtomics(entry *ptx.Func) bool {
	if entry == nil {
		return false
	}
	for _, in := range entry.Body {
		if (in.Op == "atom" || in.Op == "red") && in.Has("add") && (in.Has("f32") || in.Has("f16") || in.Has("f16x2") || in.Has("f64")) {
			return true
		}
	}
	return false
}
