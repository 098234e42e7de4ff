package debugkern

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/debugkern/checked"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// Trial is a run's launch with something changed virtually: nothing is compiled again except a Build that is
// given, and it always executes on the emulator. It is what a what-if, a schedule, a mutant and a
// counterfactual have in common.
type Trial struct {
	Plain    bool         // the build without probes: of the stages only O is judged, from the true inputs
	Build    *build.Build // executed in the place of the run's: see Compile; nil: the run's
	Edits    []ptx.Edit   // applied to the module before it is loaded
	Variant  int          // which of several kernels in Build is executed: see rewrite.Switched
	Schedule string       // POLICY:SEED; "" as the run's
	// Blocks: executed and judged; nil: those that the run captured. Output is nil unless all are executed
	Blocks []probes.Dim3
	// Substitute puts the exact reference's tile in place of the kernel's as soon as the block has captured
	// it, for each of these stages and every kv tile, and lets the block go on from there: which later stages
	// become right? Only stages that are Substitutable. The tile that the kernel left is what is captured and
	// judged; what later stages are computed from is the reference's.
	Substitute []probes.Stage
	Check      check.Set
	// Ignore lists synchronisation instructions (indices of the entry's body after Edits) that the checkers
	// take to order nothing, while execution keeps them: what each is needed for becomes a finding.
	Ignore []int
	// Stages are captured and judged; nil: those of the run.
	Stages probes.StageSet
	// Tiles: tiles alone are wanted, of a kernel with a reference. Reads of undefined values then stay
	// findings of severity error where they could be proven harmless: that takes a second execution. Without
	// checkers, what was not captured gets no finding either: its stage counts it as not captured.
	Tiles bool
	// Ends is asked of each finding about an access when it is made first: true ends the trial, with an
	// error. nil: none does. It is called by several goroutines.
	Ends func(*target.Finding) bool
	// Budget is how many warp instructions a block may execute before it is called endless; 0: the run's.
	Budget uint64
}

// Try executes a trial and judges it: a Run like any other, whose findings are the checkers' too. It has no
// fingerprints, and its first bad cells do not say who wrote them (Writer does). The run must not have
// failed. Errors are those of Session.Run. Safe for concurrent use.
func (r *Run) Try(ctx context.Context, t Trial) (*Run, error) {
	a, err := r.prepare(ctx, t)
	if err != nil {
		return nil, a.e.explain(err)
	}
	if err := a.execute(); err != nil {
		return nil, a.e.explain(err)
	}
	run, err := a.e.judge(nil)
	if err != nil {
		return nil, a.e.explain(err)
	}
	return run, nil
}

// Losses is where the first block of a trial with check.Precision lost bits, worst first;
// nil for any other run.
func (r *Run) Losses() []check.Loss {
	if r.state == nil {
		return nil
	}
	return r.state.losses
}

// Entry is the entry that the run's instrumented build executes: what the edits of a trial index. It is nil
// for a run that was not made by a session.
func (r *Run) Entry() *ptx.Func {
	if r.state == nil {
		return nil
	}
	return r.state.build.Module.Func(r.Plan.Entry)
}

// SharedBytes is how many bytes a statically sized shared array of the kernel has, by its name in the source;
// 0 where the compiler has none of that name.
func (r *Run) SharedBytes(name string) int {
	for _, sym := range r.state.build.Module.SharedLayout(r.Entry()) {
		if sym.Demangled == name {
			return sym.Size
		}
	}
	return 0
}

// Compile builds the run's kernel from other texts, with the options of the run: what a trial executes as its
// Build. texts are by the names of the source and its headers relative to the source's folder. Errors are
// those of Session.Run: a *report.KernelError where a text does not compile.
func (r *Run) Compile(ctx context.Context, texts map[string]string) (*build.Build, error) {
	if r.state == nil {
		return nil, errNoState
	}
	st := r.state
	return st.session.builder.Variant(ctx, st.r.sel, texts, buildOptions(r.Request, st.r.instrumented()))
}

// Texts are the run's source and the headers that belong to it, as they were compiled: by their names
// relative to the source's folder, as Compile takes them. It is empty where a manifest brings PTX, or a text
// is not known.
func (r *Run) Texts() map[string]string {
	if r.state == nil || r.Selection.Manifest.PTX != "" {
		return nil
	}
	m := r.Selection.Manifest
	names := []string{filepath.Base(m.SourcePath())}
	folder, err := filepath.Abs(filepath.Dir(m.SourcePath()))
	for _, h := range r.state.build.Headers {
		name := h.Path
		if h.Origin == cuda.OriginBuiltin || filepath.Base(name) == probes.HeaderName {
			continue
		}
		if filepath.IsAbs(name) {
			rel, rerr := filepath.Rel(folder, name)
			if err != nil || rerr != nil || !filepath.IsLocal(rel) {
				continue
			}
			name = filepath.ToSlash(rel)
		}
		names = append(names, name)
	}
	out := map[string]string{}
	for _, name := range names {
		if lines := r.Source(name); lines != nil {
			out[name] = strings.Join(lines, "\n")
		}
	}
	return out
}

// PlainEntry is the entry of the build without probes, which the edits of a plain trial index.
func (r *Run) PlainEntry(ctx context.Context) (*ptx.Func, error) {
	b, err := r.plainBuild(ctx)
	if err != nil {
		return nil, err
	}
	return b.Module.Func(r.Plan.Entry), nil
}

func (r *Run) plainBuild(ctx context.Context) (*build.Build, error) {
	st := r.state
	if !st.r.instrumented() {
		return st.build, nil
	}
	if err := st.r.separable(); err != nil {
		return nil, err
	}
	return st.session.builder.Kernel(ctx, st.r.sel, buildOptions(r.Request, false))
}

// Attempt is a trial that is ready to be launched, any number of times and by several goroutines.
type Attempt struct {
	run    *Run
	trial  Trial
	e      *execution
	kernel target.Kernel
	launch *target.Launch
}

// Attempt makes ready what a trial launches, without launching it. Errors are those of Try.
func (r *Run) Attempt(ctx context.Context, t Trial) (*Attempt, error) {
	a, err := r.prepare(ctx, t)
	if err != nil {
		return nil, a.e.explain(err)
	}
	return a, nil
}

// Entry is what is executed, the trial's edits applied.
func (a *Attempt) Entry() *ptx.Func { return a.e.st.build.Module.Func(a.e.r.plan.Entry) }

// Walk opens a block of the trial for stepping, at its start, as Run.Walk does of the run.
func (a *Attempt) Walk(block probes.Dim3) (walk.Walk, error) {
	return walk.Open(a.kernel, a.launch, block)
}

// Play executes one block of the trial under an observer, until it ends or cannot go on, and returns where
// its warps stand then. Errors are those of Try.
func (a *Attempt) Play(ctx context.Context, block probes.Dim3, o target.Observer) ([]target.Warp, error) {
	k, ok := a.kernel.(target.Stepper)
	if !ok {
		return nil, errNoState
	}
	b, err := k.Open(a.launch, block)
	if err != nil {
		return nil, a.Explain(err)
	}
	b.Observe(o)
	if _, err := b.Run(ctx, nil); err != nil {
		return nil, a.Explain(err)
	}
	return b.Warps(), nil
}

// Schedule is the trial's schedule, or else the run's.
func (a *Attempt) Schedule() target.Schedule { return a.launch.Schedule }

// Launch launches the trial; change, which may be nil, may set how: schedule, budget, parallelism, an
// observer. Nothing is judged. The error is the backend's, see Explain.
func (a *Attempt) Launch(ctx context.Context, change func(*target.Launch)) (*Outcome, error) {
	l := *a.launch
	if change != nil {
		change(&l)
	}
	res, err := a.kernel.Launch(ctx, &l)
	if err != nil {
		return nil, err
	}
	st := *a.e.st
	st.leave(res)
	return &Outcome{&st, a.e.header()}, nil
}

// Observe launches the trial with one observer for all of its blocks, which may execute on several cores.
// Errors are those of Try.
func (a *Attempt) Observe(ctx context.Context, o target.Observer) error {
	_, err := a.Launch(ctx, func(l *target.Launch) {
		l.Observe = func(probes.Dim3) target.Observer { return o }
	})
	if err != nil {
		return a.Explain(err)
	}
	return nil
}

// Explain gives the error of a launch its exit code and, where the kernel failed, its document,
// as Session.Run does.
func (a *Attempt) Explain(err error) error { return a.e.explain(report.LaunchError(err)) }

var errNoState = errors.New("trial: this run was not made by a session")

// prepare makes everything that a trial launches.
func (r *Run) prepare(ctx context.Context, t Trial) (*Attempt, error) {
	e, err := r.again(ctx)
	a := &Attempt{run: r, trial: t, e: e}
	if err != nil {
		return a, err
	}
	e.trial, e.tiles, e.req.Backend = true, t.Tiles && t.Check == 0, "emu"
	e.backend = e.s.localEmulator()
	e.st.backend, e.st.emulator = e.backend, nil
	for _, step := range []func() error{a.schedule, a.blocks, a.load, a.place, a.substitute} {
		if err := step(); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *Attempt) schedule() error {
	if a.trial.Schedule == "" {
		return nil
	}
	var err error
	a.e.req.Schedule = a.trial.Schedule
	a.e.r.schedule, err = ParseSchedule(a.trial.Schedule)
	return err
}

// blocks narrows what is captured to the blocks that are executed.
func (a *Attempt) blocks() error {
	rs, st, p := a.e.r, a.e.st, a.e.r.plan
	ids := slices.Clone(a.trial.Blocks)
	if ids == nil {
		ids = a.run.Blocks()
	}
	for _, id := range ids {
		if !(probes.Range{N: p.Grid}).Contains(id) {
			return report.Usagef("trial: block %s lies outside the grid %s", id, p.Grid)
		}
	}
	slices.SortFunc(ids, func(x, y probes.Dim3) int { return p.Grid.Linear(x) - p.Grid.Linear(y) })
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return report.Usagef("trial: no block to execute")
	}
	if len(ids) < p.Grid.Count() {
		st.only = ids
	}
	hi := ids[0]
	rs.rng.Lo = ids[0]
	for _, id := range ids {
		for i := range 3 {
			rs.rng.Lo[i], hi[i] = min(rs.rng.Lo[i], id[i]), max(hi[i], id[i])
		}
	}
	for i := range 3 {
		rs.rng.N[i] = hi[i] - rs.rng.Lo[i] + 1
	}
	if a.trial.Plain {
		if rs.sel.Gate != probes.GateNone {
			return report.Usagef(
				"trial: nothing is injected into a build without probes: it cannot be used under gate %s",
				rs.sel.Gate)
		}
		rs.stages = p.OutputSet()
	}
	if a.trial.Stages != nil {
		rs.stages = slices.DeleteFunc(slices.Clone(rs.stages), func(s probes.Stage) bool {
			return !a.trial.Stages.Has(s)
		})
	}
	rs.layout = probes.NewLayout(p, rs.stages, rs.rng)
	return nil
}

// load finds the build, edits it, and loads it. An edited module is not cached.
func (a *Attempt) load() error {
	st, ctx := a.e.st, a.e.ctx
	if a.trial.Plain {
		b, err := a.run.plainBuild(ctx)
		if err != nil {
			return err
		}
		st.build = b
	}
	if a.trial.Build != nil {
		st.build = a.trial.Build
	}
	var err error
	if len(a.trial.Edits) == 0 {
		a.kernel, err = a.e.load(a.e.backend, st.build)
	} else {
		b := *st.build
		if b.Module, err = b.Module.Edited(a.trial.Edits); err != nil {
			return report.Usagef("trial: %w", err)
		}
		b.Text, st.build = nil, &b
		if a.kernel, err = a.e.backend.Load(ctx, b.Module, a.e.r.plan.Entry); err != nil {
			err = &report.KernelError{Stage: "load", Err: err}
		}
	}
	st.kernel = a.kernel
	return err
}

// place makes the launch: the run's own, with its captures placed anew.
func (a *Attempt) place() error {
	base, rs := a.run.state, a.e.r
	rs.cells = nil
	if err := a.e.mapFragments(); err != nil {
		return err
	}
	l := *base.launch
	l.Schedule, l.Only, l.Observe, l.Repeat, l.Probe = rs.schedule, a.e.st.only, nil, 0, nil
	l.Label, l.Variant, l.Ends = rs.label()+", trial", uint32(a.trial.Variant), a.trial.Ends
	if a.trial.Budget > 0 {
		l.Budget = a.trial.Budget
	}
	a.launch, a.e.st.launch = &l, &l
	if a.trial.Plain {
		return nil
	}
	entry := a.e.st.build.Module.Func(rs.plan.Entry)
	instrumented := len(entry.Params) > len(rs.plan.Parameters())
	if err := rs.placeCaptures(&l, instrumented); err != nil || l.Probe == nil {
		return err
	}
	if was := base.launch.Probe; was != nil && len(rs.cells) == 0 {
		l.Probe.Inject = was.Inject // the inject buffer is laid out over the whole grid, whatever is captured
		return nil
	}
	var err error
	l.Probe.Inject, err = rs.injection(base.ref)
	return err
}

// substitute asks the backend to put references in place.
func (a *Attempt) substitute() error {
	var set probes.StageSet
	for _, s := range a.trial.Substitute {
		ok, err := a.run.Substitutable(a.e.ctx, s)
		if err != nil {
			return err
		}
		if !ok || a.trial.Plain {
			return report.Usagef(
				"trial: stage %s cannot be replaced: the kernel hands a copy of it to the probe", s)
		}
		set = set.Union(probes.StagesOf(s))
	}
	if set == nil {
		return nil
	}
	st := a.e.st
	for i := range a.e.r.plan.Stages {
		sp := &a.e.r.plan.Stages[i]
		if !set.Has(sp.Stage) {
			continue
		}
		a.launch.Probe.Replace = append(a.launch.Probe.Replace, target.Replace{
			Plan: sp, Cells: a.e.r.cells[sp.Stage],
			Tile: func(block probes.Dim3, kv int) (probes.Tile, int, int) {
				return st.rounded(sp, block, kv), sp.ValidRows.At(block, kv), sp.ValidCols.At(block, kv)
			},
		})
	}
	st.replaced = func(s probes.Stage, block probes.Dim3, kv int) (probes.Tile, bool) {
		if !set.Has(s) {
			return probes.Tile{}, false
		}
		sp, t := st.r.plan.Stage(s), st.Tile(s, block, kv)
		put := st.rounded(sp, block, kv)
		return overlay(t, put, sp.ValidRows.At(block, kv), sp.ValidCols.At(block, kv))
	}
	return nil
}

// overlay returns a copy of t whose first rows × cols cells are put's; false where either does not exist.
func overlay(t, put probes.Tile, rows, cols int) (probes.Tile, bool) {
	if !t.Reached() || !put.Reached() {
		return probes.Tile{}, false
	}
	out := t
	out.Data, out.Absent = slices.Clone(t.Data), nil
	size := t.DType.Size()
	for r := range min(rows, t.Rows) {
		from := r * t.Cols * size
		copy(out.Data[from:from+min(cols, t.Cols)*size], put.Data[from:])
	}
	return out, true
}

// execute launches the trial.
func (a *Attempt) execute() error {
	st := a.e.st
	var err error
	o := check.Options{Set: a.trial.Check, Ignore: a.trial.Ignore, Block: st.blocks()[0]}
	var c *check.Checker
	if a.trial.Tiles && a.trial.Check == 0 {
		st.result, err = a.kernel.Launch(a.e.ctx, a.launch)
	} else {
		st.result, c, err = checked.Launch(a.e.ctx, a.kernel, a.launch, o)
	}
	if err != nil {
		return report.LaunchError(err)
	}
	if c != nil {
		st.losses = c.Losses()
	}
	st.leave(st.result)
	n := st.result.Counts
	a.e.cost.Launches, a.e.cost.WarpInstructions, a.e.cost.MMAOutputs = 1, n.WarpInstructions, n.MMAOutputs
	a.e.cost.RunMS = report.Number(st.result.Elapsed.Seconds() * 1e3)
	return nil
}

// computedBefore is what was computed of a run before.
type computedBefore struct {
	asking      sync.Mutex
	asked       bool
	replaceable probes.StageSet // which stages a trial can replace, once computed

	mu        sync.Mutex
	key       string // blocks and checkers of
	unchanged *Run   // the last trial that changed nothing
}

// Unchanged is the trial that changes nothing, on blocks (nil: those that the run captured) under
// checkers: what a trial with a change is compared with. The last one is cached, as several trials of a
// run usually follow each other.
func (r *Run) Unchanged(ctx context.Context, blocks []probes.Dim3, set check.Set) (*Run, error) {
	if r.state == nil {
		return nil, &report.Error{Code: report.CodeInternal, Err: errNoState}
	}
	key := fmt.Sprint(blocks, set)
	m := r.state.before
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unchanged != nil && m.key == key {
		return m.unchanged, nil
	}
	run, err := r.Try(ctx, Trial{Blocks: blocks, Check: set})
	if err != nil {
		return nil, err
	}
	m.unchanged, m.key = run, key
	return run, nil
}

// Substitutable reports whether a trial can replace the stage's tiles: whether they lie in shared memory, or
// in an accumulator's registers, when the block captures them. The first question executes a block; it stays
// open, with an error, where ctx ends or memory.max is used up before there is an answer.
func (r *Run) Substitutable(ctx context.Context, s probes.Stage) (bool, error) {
	if r.state == nil || r.state.before == nil {
		return false, nil
	}
	m := r.state.before
	m.asking.Lock()
	defer m.asking.Unlock()
	if !m.asked {
		set, err := r.substitutable(ctx)
		if err != nil && (ctx.Err() != nil || OutOfMemory(err)) {
			return false, err
		}
		m.replaceable, m.asked = set, true
	}
	return m.replaceable.Has(s), nil
}

func (r *Run) substitutable(ctx context.Context) (probes.StageSet, error) {
	id := r.Blocks()[0]
	a, err := r.prepare(ctx, Trial{Blocks: []probes.Dim3{id}})
	if err != nil {
		return nil, err
	}
	k, ok := a.kernel.(target.Replacer)
	if !ok || a.launch.Probe == nil {
		return nil, fmt.Errorf("trial: %s cannot replace tiles", a.e.backend.Info().Device)
	}
	judged := r.Plan.Gate.Judged
	var stages []*probes.StagePlan
	for i := range r.Plan.Stages {
		if sp := &r.Plan.Stages[i]; judged.Has(sp.Stage) && r.state.r.stages.Has(sp.Stage) &&
			sp.Referenced() {
			stages = append(stages, sp)
		}
	}
	return k.Replaceable(ctx, a.launch, id, stages)
}

// CopiesAsync reports whether an entry uses cp.async, whose landing a schedule decides.
func CopiesAsync(f *ptx.Func) bool {
	return f != nil && slices.ContainsFunc(f.Body, func(in *ptx.Instr) bool { return in.Kind().Async() })
}

// MinBudget is the least number of warp instructions that a block may take under an explored schedule.
const MinBudget = 1 << 20
