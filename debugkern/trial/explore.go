package trial

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"tilescope/debugkern"
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
	// OnProgress is called with the progress, from one goroutine at a time and in no particular
	// order; may be nil.
	OnProgress func(tried, varied int)
}

// defaultSchedules is how many schedules are tried by default.
const defaultSchedules = 200

// Exploration is what a run's blocks do under other schedules: the same for the same run and options,
// whatever the number of cores.
type Exploration struct {
	Base   string // the run's own schedule, which the others are compared with
	Output string // what the result is called: the stage that is the output, or "the output" of several
	Tried  int    // others
	Varied int    // of those, how many change the output (under a gate without O: any captured tile)
	// Rounding is how many change the output within its bound, which holds for any order, in a kernel that
	// adds floats by atomics: they do not count as Varied.
	Rounding int
	MaxAbs   float64 // largest change of an element of the output, +Inf where one is not finite
	Worst    string  // a schedule that makes it, "" where none varied; --schedule takes it

	Stages   []Varying        // captured stages that vary, in the order in which they do first
	Outcomes []VariedSchedule // the schedules that changed anything, in the order of trying
}

// Varying is a stage whose tiles depend on the schedule.
type Varying struct {
	Stage     probes.Stage
	Schedules int             // under how many of those tried
	First     debugkern.Place // lowest kv tile, then block
}

// VariedSchedule is one schedule under which something came out differently.
type VariedSchedule struct {
	Schedule string
	Output   bool             // the output differs, by more than the order of its additions explains
	Rounding bool             // the output differs, by no more than that
	MaxAbs   float64          // by how much
	First    *debugkern.Place // the tile that differs first: by kv tile, stage, block; nil: only the output
	Fault    string           // the block did not end: why
}

// Explore executes blocks of a run under other schedules on the emulator, and compares captured tiles and
// output bit for bit with what the run's own schedule gives. Errors are those of Try.
func Explore(ctx context.Context, r *debugkern.Run, o ExploreOptions) (*Exploration, error) {
	x := &explorer{ctx: ctx, o: o}
	if err := x.begin(r); err != nil {
		return nil, err
	}
	a := x.a
	// A schedule under which the blocks take far longer than under the run's own does not end for
	// all anybody cares.
	x.budget = max(debugkern.MinBudget, 64*x.base.Result().Counts.WarpInstructions)
	if limit := r.Request.Budget; limit > 0 {
		x.budget = min(x.budget, limit)
	}
	n := o.N
	if n <= 0 {
		n = defaultSchedules
	}
	x.list = a.Schedule().Others(n, debugkern.CopiesAsync(a.Entry()))
	x.stopAt = len(x.list)
	x.results = make([]*VariedSchedule, len(x.list))
	x.stages = make([]map[probes.Stage]debugkern.Place, len(x.list))
	var err error
	if x.unordered, err = x.base.Unordered(ctx); err != nil {
		return nil, a.Explain(err)
	}
	if err := x.run(); err != nil {
		return nil, a.Explain(err)
	}
	return x.sum(), nil
}

// explorer is one exploration under way.
type explorer struct {
	ctx    context.Context
	a      *debugkern.Attempt
	o      ExploreOptions
	base   *debugkern.Outcome
	list   []target.Schedule
	budget uint64 // of warp instructions, a block

	unordered bool // floats are added in no fixed order, and the base's output is within its bound

	mu            sync.Mutex
	next, stopAt  int // indices from stopAt on do not count
	tried, varied int
	results       []*VariedSchedule // by index, nil: nothing differs
	stages        []map[probes.Stage]debugkern.Place
	err           error
}

// begin makes the launch that others are compared with. Where blocks share memory, and that is all that is
// compared, all of them are executed: what others have done when one block ends is another thing in each
// order.
func (x *explorer) begin(r *debugkern.Run) (err error) {
	for {
		x.a, err = r.Attempt(x.ctx, debugkern.Trial{Edits: x.o.Edits, Blocks: x.o.Blocks, Plain: x.o.Plain})
		if err != nil {
			return err
		}
		if x.base, err = x.a.Launch(x.ctx, nil); err != nil {
			return x.a.Explain(err)
		}
		p := x.base.Plan()
		if !x.base.Result().Ordered || len(p.Stages) > 0 || len(x.base.Blocks()) == p.Grid.Count() {
			return nil
		}
		x.o.Blocks = nil
		for i := range p.Grid.Count() {
			x.o.Blocks = append(x.o.Blocks, p.Grid.At(i))
		}
	}
}

func (x *explorer) run() error {
	wg := join.Group{Stop: x.end}
	for range min(runtime.GOMAXPROCS(0), len(x.list)) {
		wg.Go(func() {
			for {
				i, ok := x.take()
				if !ok {
					return
				}
				v, stages, err := x.try(x.list[i])
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

func (x *explorer) note(i int, v *VariedSchedule, stages map[probes.Stage]debugkern.Place, err error) {
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
	if x.o.OnProgress != nil {
		x.o.OnProgress(x.tried, x.varied)
	}
}

// try executes one schedule and compares; nil: nothing differs.
func (x *explorer) try(s target.Schedule) (*VariedSchedule, map[probes.Stage]debugkern.Place, error) {
	out, err := x.a.Launch(x.ctx, func(l *target.Launch) {
		l.Schedule, l.Parallel, l.Budget = s, 1, x.budget
	})
	if f, ok := err.(*target.Fault); ok && f.Err == nil {
		return &VariedSchedule{Schedule: s.String(), Output: true, MaxAbs: math.Inf(1), Fault: f.Msg}, nil,
			nil
	}
	if err != nil {
		return nil, nil, err
	}
	res := out.Result()
	v := &VariedSchedule{Schedule: s.String()}
	stages, output := differing(x.base, out), x.base.Plan().OutputSet()
	for stage, at := range stages {
		if v.First == nil || earlier(at, *v.First, x.base.Plan()) {
			v.First = &at
		}
		if output.Has(stage) {
			v.Output = true
			v.MaxAbs = outputChange(x.base, out)
		}
	}
	if v.Output && x.unordered {
		if v.Rounding, err = out.OutputWithin(x.ctx); err != nil {
			return nil, nil, err
		}
		v.Output = !v.Rounding
	}
	if !x.base.Plan().Gate.Judged.Meets(output) {
		v.Output = len(stages) > 0
	}
	if !res.Reached && x.base.Result().Reached {
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
	out := &Exploration{Base: x.a.Schedule().String(), Output: outputName(x.base.Plan()), Tried: x.stopAt}
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
			if earlier(at, w.First, x.base.Plan()) {
				w.First = at
			}
		}
	}
	for _, w := range by {
		out.Stages = append(out.Stages, *w)
	}
	slices.SortFunc(out.Stages, func(a, b Varying) int {
		if earlier(a.First, b.First, x.base.Plan()) {
			return -1
		}
		return 1
	})
	return out
}

// outputName is the stage that is a plan's output, "the output" where it has several or none.
func outputName(p *probes.Plan) string {
	if out := p.OutputSet(); len(out) == 1 {
		return out[0].String()
	}
	return "the output"
}

// String words the result: "changes O by up to 3.2 in 41 of 200 schedules".
func (x *Exploration) String() string {
	if x.Varied == 0 && x.Rounding > 0 {
		return fmt.Sprintf(
			"only the order of additions is observable, within the bound, in %d of %d schedules",
			x.Rounding, x.Tried)
	}
	if x.Varied == 0 {
		return fmt.Sprintf("%s is the same in %d schedules", x.Output, x.Tried)
	}
	return fmt.Sprintf("changes %s by up to %.3g in %d of %d schedules (--schedule %s)", x.Output, x.MaxAbs,
		x.Varied, x.Tried, x.Worst)
}
