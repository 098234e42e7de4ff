package debugkern

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/expect"
	"tilescope/debugkern/input"
	"tilescope/debugkern/judge"
	"tilescope/debugkern/memo"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// runState is what a Run answers later questions from.
type runState struct {
	session *Session
	r       *resolved
	inputs  *input.Inputs
	ref     *ref.Reference
	judged  *judge.Judgement

	expected *expect.Set // what stages are compared with in place of the graph; nil: nothing

	build   *build.Build
	kernel  target.Kernel
	launch  *target.Launch
	result  *target.Result
	output  []byte            // the output argument after the launch, row-major without gaps
	outputs map[string][]byte // all arguments that a launch leaves, so, by name
	losses  []check.Loss      // of a trial that studies precision

	backend   target.Backend    // what kernel was loaded on
	emulator  target.Backend    // with --backend both: it executes the same launch
	tracer    target.Kernel     // executes blocks again, where the backend itself cannot
	traced    *runState         // its tiles: a writer found on it is valid where the bits are equal
	resources *target.Resources // the plain build's
	plain     *report.Plain     // where it ran
	extra     []target.Finding  // found by other launches than the instrumented one

	only     []probes.Dim3  // executed, in launch order; nil: the whole grid
	replaced judge.Replaced // what a trial put in place of captured tiles; nil: nothing
	before   *computedBefore
	indexed  *memo.LRU[struct{}, *origin.Writers] // which blocks stored to the arguments: see writers
}

// blocks lists the blocks that were executed and captured, in launch order.
func (st *runState) blocks() []probes.Dim3 {
	if st.only != nil {
		return st.only
	}
	all := make([]probes.Dim3, st.r.rng.N.Count())
	for i := range all {
		all[i] = st.r.rng.Block(i)
	}
	return all
}

// Run builds, executes and compares. It returns a *report.Error where the request is refused (nothing was
// run), where a backend or compiler is missing, or where the kernel did not build, load or run; then its
// Report is the document.
func (s *Session) Run(ctx context.Context, req Request, progress func(Progress)) (*Run, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	e := s.begin(ctx, req, progress)
	run, err := e.run()
	if err == nil {
		return run, nil
	}
	return nil, e.explain(err)
}

// Limited returns ctx with a time limit, that of a run or of a command of several; 0 is none. What ends by it
// has context.DeadlineExceeded as its error; its cause names the limit. The caller calls the function that is
// returned.
func Limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no result within the time limit of %s", limit))
}

// oneAtATime is progress for calls from several goroutines.
func oneAtATime(progress func(Progress)) func(Progress) {
	if progress == nil {
		return func(Progress) {}
	}
	var mu sync.Mutex
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		progress(p)
	}
}

// begin is an execution of a request of which nothing is done yet. progress may be nil.
func (s *Session) begin(ctx context.Context, req Request, progress func(Progress)) *execution {
	return &execution{s: s, ctx: ctx, req: req, progress: oneAtATime(progress), st: &runState{session: s}}
}

// again is another execution of what the run executed: its problem, inputs, reference and build are settled,
// its launch is not. What is captured may be changed without the run.
func (r *Run) again(ctx context.Context) (*execution, error) {
	if r.state == nil {
		e := (*Session)(nil).begin(ctx, r.Request, nil)
		return e, errNoState
	}
	was := r.state
	e := was.session.begin(ctx, r.Request, nil)
	problem := *was.r
	e.r, e.backend, e.builder = &problem, was.backend, was.build.Builder
	st := e.st
	st.r, st.backend, st.emulator = e.r, was.backend, was.emulator
	st.inputs, st.ref, st.build, st.expected = was.inputs, was.ref, was.build, was.expected
	return e, nil
}

// execution is one Run under way.
type execution struct {
	s        *Session
	ctx      context.Context
	req      Request
	progress func(Progress)

	r         *resolved
	backend   target.Backend
	builder   string
	cost      report.Cost
	st        *runState
	whole     future[*exactOutput]
	plainTask plainTask
	covered   map[string]check.Bytes // what of each argument the launch wrote; nil where nobody watched
	from      *runState              // whose inputs it has
	// exact: as that kernel gets them: it is a reference; else as they were before encoding
	exact bool
	// trial: judged without what no trial uses: fingerprints, the writer of the first bad cell
	trial bool
	// tiles: a trial of which tiles alone are wanted: what was not captured gets no finding
	tiles bool
}

// open resolves the request: inputs, backends, reference.
func (e *execution) open() error {
	e.progress(Progress{Phase: "resolve", Detail: e.req.Target})
	in, err := e.inputs()
	if err != nil {
		return err
	}
	e.st.r, e.st.inputs = e.r, in
	if e.backend, e.st.emulator, err = e.s.Backends(e.ctx, e.req); err != nil {
		return err
	}
	e.st.backend = e.backend
	if err := e.withoutObserved(); err != nil {
		return err
	}
	e.st.ref, err = reference(e.r, in)
	return err
}

func (e *execution) run() (*Run, error) {
	for _, step := range []func() error{e.open, e.expected} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	e.readyPlain()
	defer e.settlePlain() // nothing of a run goes on after it
	for _, step := range []func() error{e.build, e.launch, e.startPlain} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	cross, err := e.cross()
	if err != nil {
		return nil, err
	}
	return e.judge(cross)
}

// emulated reports that the run has no GPU.
func (e *execution) emulated() bool { return e.st.emulator == nil && target.Simulated(e.backend) }

// build compiles the instrumented build and loads it.
func (e *execution) build() error {
	start := time.Now()
	e.progressOfBuild()
	b, err := e.s.builder.Kernel(e.ctx, e.r.sel, buildOptions(e.req, e.r.instrumented()))
	if err != nil {
		return err
	}
	e.st.build, e.builder = b, b.Builder
	if err := e.r.agreeEntry(b); err != nil {
		return err
	}
	if err := e.nameShared(); err != nil {
		return err
	}
	e.progress(Progress{Phase: "load", Detail: b.Builder})
	e.st.kernel, err = e.load(e.backend, b)
	e.cost.BuildMS = report.Number(time.Since(start).Seconds() * 1e3)
	return err
}

// progressOfBuild reports that the kernel is being built: its symbols and planted faults.
func (e *execution) progressOfBuild() {
	e.progress(Progress{
		Phase: "build", Detail: strings.Join(append(e.r.sel.Defines(), e.r.sel.Planted()...), " "),
	})
}

// repeated reports how many of the launches have ended, on backends that launch more than once.
func (e *execution) repeated(detail string) func(int) {
	if e.req.Repeat <= 1 || target.Simulated(e.backend) {
		return nil
	}
	return func(n int) {
		e.progress(Progress{Phase: "run", Detail: detail, Done: min(n, e.req.Repeat), Total: e.req.Repeat})
	}
}

// load prepares a module on a backend; loaded kernels are cached, so that a toggle back costs nothing. With
// --backend both the GPU gets every rounding written out, so that its compiler cannot fuse what the emulator
// does not.
func (e *execution) load(be target.Backend, b *build.Build) (target.Kernel, error) {
	key := loadKey{be, b, e.r.plan.Entry, e.st.emulator != nil}
	info, arch := be.Info(), b.Module.Target
	if build.Exclusive(arch) && info.Arch != "" && info.Arch != arch[:len(arch)-1] {
		return nil, report.Unavailablef("%s is for %s alone, and %s is %s; --backend emu executes it",
			e.r.plan.Entry, arch, info.Device, info.Arch)
	}
	return e.s.loaded.Get(e.ctx, key, func() (target.Kernel, error) {
		prepare := be.Load
		if pinner, ok := be.(target.Pinner); ok && key.pinned {
			prepare = pinner.LoadPinned
		}
		k, err := prepare(e.ctx, b.Module, e.r.plan.Entry)
		if err != nil {
			return nil, build.LoadError(err, b.Text)
		}
		return k, nil
	})
}

// loadKey identifies a loaded kernel.
type loadKey struct {
	backend target.Backend
	build   *build.Build
	entry   string
	pinned  bool
}

func (e *execution) launch() error {
	instrumented, err := agree(e.st.build.Module, e.r.plan)
	if err != nil {
		return &report.KernelError{Stage: "load", Err: err}
	}
	if err := e.mapFragments(); err != nil {
		return err
	}
	if e.st.launch, err = e.r.launch(e.ctx, e.st.inputs, e.st.ref, instrumented); err != nil {
		return err
	}
	e.st.launch.Repeat, e.st.launch.Label = e.req.Repeat, e.r.label()
	e.progress(Progress{Phase: "run", Detail: e.backend.Info().Device})
	start := time.Now()
	if !target.Simulated(e.backend) && e.r.plan.Gate.Name == probes.GateNone {
		// nothing else needs the processor meanwhile; the next caller gets the error
		e.plainTask.ready.Go(func() { _, _ = e.exactOutput() })
	}
	l := *e.st.launch
	l.OnLaunch = e.repeated(e.backend.Info().Device)
	o, c := e.checks(e.backend), (*check.Checker)(nil)
	if e.st.result, c, err = checked.Launch(e.ctx, e.st.kernel, &l, o); err != nil {
		return report.LaunchError(err)
	}
	if o.Set&check.Coverage != 0 {
		e.covered = c.Covered().Written
	}
	// who executes some of its blocks again needs what the others do
	e.st.launch.Ordered = e.st.result.Ordered
	e.cost.RunMS = report.Number(time.Since(start).Seconds() * 1e3)
	e.cost.Launches = 1
	e.cost.WarpInstructions, e.cost.MMAOutputs = e.st.result.Counts.WarpInstructions,
		e.st.result.Counts.MMAOutputs
	if !target.Simulated(e.backend) {
		e.cost.Launches = max(1, e.req.Repeat)
	}
	e.st.leave(e.st.result)
	return nil
}

// leave sets what a launch left: its result, and the arguments in it.
func (st *runState) leave(res *target.Result) {
	st.result, st.outputs = res, gathered(st.r.plan, res.Outputs)
	st.output = st.outputs[st.r.plan.OutputArg()]
}

// gathered are the arguments that a launch leaves, each row-major without gaps.
func gathered(p *probes.Plan, memory map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, a := range p.Args {
		if b, ok := memory[a.Name]; ok {
			out[a.Name] = a.Gather(b)
		}
	}
	return out
}

// checks are the checkers of a launch on a backend: a GPU cannot be observed.
func (e *execution) checks(be target.Backend) check.Options {
	o := check.Options{Set: e.req.Check, Block: e.st.blocks()[0]}
	if e.r.plan.Stageless() && o.Set != 0 {
		o.Set |= check.Coverage
	}
	if !target.Simulated(be) {
		o.Set = 0
	}
	return o
}

// outputArg is the argument that the result is written to.
func (e *execution) outputArg() string { return e.r.plan.OutputArg() }

// Explain gives an error of a build, a load or a launch its exit code: it returns a *report.Error, in which
// there is a *report.KernelError where the kernel failed or the time limit of ctx passed. An error that has a
// code, and a cancellation, stay as they are.
func Explain(ctx context.Context, err error) error {
	err = unreachable(overMemory(err))
	var coded *report.Error
	if errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	var re *report.KernelError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		re = &report.KernelError{Stage: "run", Err: context.Cause(ctx)}
	case !errors.As(err, &re):
		re = &report.KernelError{Stage: "launch", Err: err}
	}
	return &report.Error{Code: report.CodeFailed, Err: re, Diagnostics: re.Diagnostics}
}

// explain gives an error its exit code and, where the kernel failed, its document.
func (e *execution) explain(err error) error {
	var coded *report.Error
	if errors.As(err, &coded) {
		return overMemory(err)
	}
	err = Explain(e.ctx, err)
	var re *report.KernelError
	if errors.As(err, &coded) && coded.Code == report.CodeFailed && errors.As(coded.Err, &re) {
		coded.Report = e.failure(re)
	}
	return err
}

// failure is the document of a run that has no verdict.
func (e *execution) failure(re *report.KernelError) *report.Run {
	rep := e.header()
	rep.Verdict, rep.Error = report.Failed, re.Failure()
	return rep
}

// header returns a report with what is determined without the results.
func (e *execution) header() *report.Run {
	rep := &report.Run{
		Schema: report.RunSchema, Target: e.req.Target, Seed: e.req.Seed, Inject: "reference",
		Gate: e.req.Gate.String(), Faults: []string{}, Flags: map[string]int{}, Guilty: []report.Guilty{},
		Stages: []report.Stage{}, Findings: []report.Finding{}, Cost: e.cost,
	}
	if e.req.Inject != "" {
		rep.Inject = e.req.Inject
	}
	if e.r != nil {
		rep.Kernel, rep.Shape, rep.Dims = e.r.plan.Kernel, e.r.plan.Shape, e.r.plan.Shape
		rep.Flags, rep.Faults = e.r.sel.Flags, append(rep.Faults, e.r.sel.Faults...)
		rep.Gate = e.r.sel.Gate.String()
		rep.Backend.Schedule = e.r.schedule.String()
		rep.Guess = launchGuess(e.r.sel.Manifest, e.req.Guessed, e.r.plan)
	}
	if e.backend != nil {
		info := e.backend.Info()
		rep.Backend.Name, rep.Backend.Device, rep.Backend.Arch = info.Name, info.Device, info.Arch
		if e.st.emulator != nil {
			rep.Backend.Name = "both"
		}
	}
	rep.Build = build.Document(e.st.build)
	if e.r != nil && e.st.build != nil {
		if f := e.st.build.Module.Func(e.r.plan.Entry); f != nil {
			rep.Build.Notes = append(rep.Build.Notes, UnsetConstants(e.st.build.Module, f)...)
		}
	}
	rep.Backend.Builder = e.builder
	if rep.Backend.Builder == "" {
		rep.Backend.Builder = "none"
	}
	return rep
}

// digestChunk is how many bytes of O are digested between two looks at the context: some milliseconds.
const digestChunk = 1 << 20

// digest is SHA-256 over the run's tiles in stage order (blocks in launch order, kv tiles within), then O,
// then the other outputs that stages are cut out of. The error is ctx's.
func (st *runState) digest(ctx context.Context) (string, error) {
	if st.r.plan.Stageless() {
		return st.memoryDigest(ctx)
	}
	h := sha256.New()
	p := st.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		for _, block := range st.blocks() {
			lo, n := st.r.rng.Tiles(p, sp, block)
			for kv := range n {
				if err := ctx.Err(); err != nil {
					return "", err
				}
				h.Write(st.Tile(sp.Stage, block, lo+kv).Data)
			}
		}
	}
	for _, a := range p.Results() {
		for part := range slices.Chunk(st.outputs[a.Name], digestChunk) {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
