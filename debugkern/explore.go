package debugkern

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// ExploreOptions say what is explored.
type ExploreOptions struct {
	N      int           // schedules besides the run's own; 0: 200
	Blocks []probes.Dim3 // executed; nil: those that the run captured
	Edits  []ptx.Edit    // of the module, as a Trial's
	Plain  bool          // the build without probes: only the output is compared
	First  bool          // stop at the first schedule that changes the output
	// Tell is called with the progress, from one goroutine at a time and in no particular order; may be nil.
	Tell func(tried, varied int)
}

// minBudget is the least number of warp instructions that a block may take under an explored schedule.
const minBudget = 1 << 20

// defaultSchedules is how many schedules are tried by default.
const defaultSchedules = 200

// Exploration is what a run's blocks do under other schedules: the same for the same run and options, whatever the number of
// cores.
type Exploration struct {
	Base   string // the run's own schedule, which the others are compared with
	Tried  int    // others
	Varied int    // of those, how many change the output (under a gate without O: any captured tile)
	// Rounding is how many change the output within its bound, which holds for any order, in a kernel that adds floats by
	// atomics: they do not count as Varied.
	Rounding int
	MaxAbs   float64 // largest change of an element of O, +Inf where one is not finite
	Worst    string  // a schedule that makes it, "" where none varied; --schedule takes it

	Stages   []Varying        // captured stages that vary, in the order in which they do first
	Outcomes []VariedSchedule // the schedules that changed anything, in the order of trying
}

// Varying is a stage whose tiles depend on the schedule.
type Varying struct {
	Stage     probes.Stage
	Schedules int   // under how many of those tried
	First     Place // lowest kv tile, then block
}

// VariedSchedule is one schedule under which something came out differently.
type VariedSchedule struct {
	Schedule string
	Output   bool    // the output differs, by more than the order of its additions explains
	Rounding bool    // the output differs, by no more than that
	MaxAbs   float64 // by how much
	First    *Place  // the tile that differs first: by kv tile, stage, block; nil: only the output
	Fault    string  // the block did not end: why
}

// Explore executes blocks of the run under other schedules on the emulator, and compares captured tiles and output bit for
// bit with what the run's own schedule gives. Errors are those of Try.
func (r *Run) Explore(ctx context.Context, o ExploreOptions) (*Exploration, error) {
	a, err := r.prepare(ctx, Trial{Edits: o.Edits, Blocks: o.Blocks, Plain: o.Plain})
	if err != nil {
		return nil, a.e.explain(err)
	}
	if err := a.execute(); err != nil {
		return nil, a.e.explain(err)
	}
	// A schedule under which the blocks take far longer than under the run's own does not end for all anybody cares.
	a.launch.Budget = max(minBudget, 64*a.e.st.result.Counts.WarpInstructions)
	if limit := a.e.req.Budget; limit > 0 {
		a.launch.Budget = min(a.launch.Budget, limit)
	}
	x := &explorer{ctx: ctx, a: a, o: o, base: a.e.st}
	x.names = scheduleNames(o, a.e.r.schedule, copies(a.e.st.build.Module.Func(r.Plan.Entry)))
	x.stopAt = len(x.names)
	x.results = make([]*VariedSchedule, len(x.names))
	x.stages = make([]map[probes.Stage]Place, len(x.names))
	if x.unordered, err = a.e.st.unordered(ctx); err != nil {
		return nil, a.e.explain(err)
	}
	if err := x.run(); err != nil {
		return nil, a.e.explain(err)
	}
	return x.sum(), nil
}

// copies reports whether an entry uses cp.async, whose landing a schedule decides.
func copies(f *ptx.Func) bool {
	return f != nil && slices.ContainsFunc(f.Body, func(in *ptx.Instr) bool { return in.Kind().Async() })
}

// scheduleNames lists the schedules to try. All asyncs of the orders without a seed come first, then seeds, policy by policy;
// of a policy, one async after the other.
func scheduleNames(o ExploreOptions, base target.Schedule, async bool) []string {
	n := o.N
	if n <= 0 {
		n = defaultSchedules
	}
	times := asyncTimes[:1]
	if async {
		times = asyncTimes
	}
	var names []string
	add := func(s target.Schedule) {
		if name := scheduleText(s); name != scheduleText(base) && len(names) < n {
			names = append(names, name)
		}
	}
	for _, t := range times[:min(2, len(times))] { // random is for those with a seed
		for _, p := range []string{"in-order", "reverse"} {
			add(target.Schedule{Policy: p, Async: t})
		}
	}
	policies := []string{"random", "priority", "ahead"}
	for k := 0; len(names) < n; k++ {
		round := k / len(policies)
		add(target.Schedule{Policy: policies[k%len(policies)], Seed: uint64(round), Async: times[round%len(times)]})
	}
	return names
}

// explorer is one exploration under way.
type explorer struct {
	ctx   context.Context
	a     *attempt
	o     ExploreOptions
	base  *runState
	names []string

	unordered bool // floats are added in no fixed order, and the base's output is within its bound

	mu            sync.Mutex
	next, stopAt  int // indices from stopAt on do not count
	tried, varied int
	results       []*VariedSchedule // by index, nil: nothing differs
	stages        []map[probes.Stage]Place
	err           error
}

func (x *explorer) run() error {
	wg := join.Group{Stop: x.end}
	for range min(runtime.GOMAXPROCS(0), len(x.names)) {
		wg.Go(func() {
			for {
				i, ok := x.take()
				if !ok {
					return
				}
				v, stages, err := x.try(x.names[i])
				x.note(i, v, stages, err)
			}
		})
	}
	wg.Wait()
	return x.err
}

// end stops workers from starting further schedules.
func (x *explorer) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopAt = 0
}

func (x *explorer) take() (int, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next >= x.stopAt || x.err != nil {
		return 0, false
	}
	x.next++
	return x.next - 1, true
}

func (x *explorer) note(i int, v *VariedSchedule, stages map[probes.Stage]Place, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.err = err
		return
	}
	x.results[i], x.stages[i] = v, stages
	x.tried++
	if v != nil && v.Output {
		x.varied++
		if x.o.First {
			x.stopAt = min(x.stopAt, i+1)
		}
	}
	if x.o.Tell != nil {
		x.o.Tell(x.tried, x.varied)
	}
}

// try executes one schedule and compares; nil: nothing differs.
func (x *explorer) try(name string) (*VariedSchedule, map[probes.Stage]Place, error) {
	l := *x.a.launch
	var err error
	if l.Schedule, err = parseSchedule(name); err != nil {
		return nil, nil, err
	}
	l.Parallel = 1
	res, err := x.a.kernel.Launch(x.ctx, &l)
	if f, ok := err.(*target.Fault); ok && f.Err == nil {
		return &VariedSchedule{Schedule: name, Output: true, MaxAbs: math.Inf(1), Fault: f.Msg}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	st := *x.base
	st.result, st.output = res, res.Outputs[x.a.e.outputArg()]
	v := &VariedSchedule{Schedule: name}
	stages, output := differing(x.base, &st), x.base.r.plan.OutputSet()
	for s, at := range stages {
		if v.First == nil || earlier(at, *v.First, x.base.r.plan) {
			v.First = &at
		}
		if output.Has(s) {
			v.Output = true
			v.MaxAbs = outputChange(x.base, &st)
		}
	}
	if v.Output && x.unordered {
		if v.Rounding, err = st.outputWithin(x.ctx); err != nil {
			return nil, nil, err
		}
		v.Output = !v.Rounding
	}
	if !x.base.r.plan.Gate.Judged.Meets(output) {
		v.Output = len(stages) > 0
	}
	if !res.Reached && x.base.result.Reached {
		v.Output, v.MaxAbs, v.Fault = true, math.Inf(1), "a thread waits for ever"
		if slices.ContainsFunc(res.Findings, func(f target.Finding) bool { return f.Kind == target.Trap }) {
			v.Fault = "a thread traps"
		}
	}
	if len(stages) == 0 && !v.Output && !v.Rounding {
		return nil, nil, nil
	}
	return v, stages, nil
}

// sum makes the result of what counts.
func (x *explorer) sum() *Exploration {
	out := &Exploration{Base: scheduleText(x.a.e.r.schedule), Tried: x.stopAt}
	by := map[probes.Stage]*Varying{}
	for i := range x.stopAt {
		v := x.results[i]
		if v == nil {
			continue
		}
		out.Outcomes = append(out.Outcomes, *v)
		if v.Rounding {
			out.Rounding++
		}
		if v.Output {
			out.Varied++
			if out.Worst == "" || v.MaxAbs > out.MaxAbs {
				out.Worst, out.MaxAbs = v.Schedule, v.MaxAbs
			}
		}
		for s, at := range x.stages[i] {
			w := by[s]
			if w == nil {
				w = &Varying{Stage: s, First: at}
				by[s] = w
			}
			w.Schedules++
			if earlier(at, w.First, x.base.r.plan) {
				w.First = at
			}
		}
	}
	for _, w := range by {
		out.Stages = append(out.Stages, *w)
	}
	slices.SortFunc(out.Stages, func(a, b Varying) int {
		if earlier(a.First, b.First, x.base.r.plan) {
			return -1
		}
		return 1
	})
	return out
}

// String words the result: "changes O by up to 3.2 in 41 of 200 schedules".
func (x *Exploration) String() string {
	if x.Varied == 0 && x.Rounding > 0 {
		return fmt.Sprintf("only the order of additions is observable, within the bound, in %d of %d schedules", x.Rounding, x.Tried)
	}
	if x.Varied == 0 {
		return fmt.Sprintf("never observable in %d schedules", x.Tried)
	}
	return fmt.Sprintf("changes O by up to %.3g in %d of %d schedules (--schedule %s)", x.MaxAbs, x.Varied, x.Tried, x.Worst)
}
