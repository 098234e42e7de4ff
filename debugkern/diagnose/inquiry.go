package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// inquiry is one diagnosis under way.
type inquiry struct {
	ctx context.Context
	s   *debugkern.Session
	req debugkern.Request // as asked
	o   Options

	gpu     *debugkern.Run // where a GPU was requested: whose verdict it is
	run     *debugkern.Run // on the emulator, every checker attached: what experiments start from
	base    *debugkern.Run // the same on the blocks that experiments execute
	asItIs  *debugkern.Run // the run, executed as a trial of all its blocks; nil: not yet
	touched *scene.Touched // what that touches; nil: not yet
	blocks  []probes.Dim3  // nil: all
	doc     *Diagnosis

	suspects []*suspect
	// joint: everything that could be put right, put right; base where nothing could
	joint    *debugkern.Run
	blind    bool                      // a cause says that steps before it were not judged
	twins    map[string]*debugkern.Run // the same kernel with a planted fault left out; nil: cannot be built
	holes    map[probes.Dim3]bool      // blocks of which something was not captured; nil: not asked yet
	searched int                       // for how many suspects of findings edits of an index were tried
	loops    []int                     // by instruction: the innermost loop around it; nil: not asked yet
	slicer   *slicer                   // of the entry, made by sliced; nil: not asked yet
	hangs    map[probes.Dim3]*hanging  // by block, of those that were asked about
	// timelines: what was asynchronous, by block, of those that were asked about
	timelines map[probes.Dim3]*walk.Timeline
	larger    map[probes.Dim3][]*overrun // copies, than their destinations, by block, of the same
	// nan: the block in which the origin of NaN is followed, in every trial too; nil: none is
	nan *probes.Dim3
	// configurations: other shapes and inputs that edits are tried in, once configured
	configurations []*other
	large          *other // the run with large inputs; nil: there is none
	edits          int    // of the source that were tried, none of which is right
	configured     bool
	begun          time.Time // when the inquiry began
	// skippedStores are the stores that gave what wrong cells of a stage read again, as in Suspect.reread
	skippedStores []int
	// otherVariants: what edits of the source are tried in too, once varied
	otherVariants []*other
	varied        bool
	// trials is how many were made, under counter; counted: what makes them now, several at a time, says
	// itself how far it has come
	trials  int
	counter sync.Mutex
	counted bool
	// until ends the trials of that search; nil: nothing does but the end of the diagnosis
	until context.Context
}

// suspect is a hypothesis: what is wrong, and what may put it right.
type suspect struct {
	cause     Cause
	exclusive bool // no synchronisation can order it
	// operandOf is the stage of whose product an operand goes beyond its buffer; "": none does
	operandOf  probes.Stage
	remedy     *remedy
	explored   *ScheduleDoc
	tried      int            // experiments made to put it right
	edited     bool           // of findings: its remedy is an edit of an index, a bound or a condition
	decidedAt  string         // of findings, where an edit was proven: its place, for the title
	settled    string         // what schedules show when it is put right
	alone      *debugkern.Run // with only this put right; nil: nothing could be tried
	stages     []probes.Stage // locally wrong stages that go with it
	candidates []remedy
	gone       bool // taken in by another

	members  []*suspect          // other suspects that are the same cause: no trial separates them
	whole    bool                // its first wrong cell is made of what it should be made of
	contrast *debugkern.Contrast // of its first wrong cell with what that should be made of; nil: not known
	steps    []debugkern.Step    // of the index of operands that are foreign in it, which are wrong
	excess   *excess             // the index by which its accesses leave their variable; nil: not known
	strays   *debugkern.Strayed  // where its reads begin at the wrong element; nil: not known to
	skew     *skew               // a step from block to block by which they may do so; nil: none is known
	leftover *leftover           // its wrong cells keep what they had in the tile before; nil: not so
	covered  *scene.Covered      // of a variable of which nobody writes some elements: who writes the others
	padded   bool                // these are the ends of rows that are wider than the tile in them
	effect   bool                // follows from another that it is one cause with
	origin   *origin             // the address that all its wrong operands share with those of others
	drops    []string            // inputs without which values of its stage are right
	unstored bool                // what its stage leaves is never written in the loop
	mask     *maskOff            // which is off in its stages; nil: none is
	ring     *ring               // a buffer of several that is never used; nil: none is
	shared   string              // which cells several threads with the same part write, and which nobody
	// uncovered: some of these nobody in the block writes at all, so that no order puts them right
	uncovered bool
	borrowed  bool           // its remedy was found for another, which has its place
	partial   *remedy        // puts the suspect's own findings right, and leaves the rest of the cause
	partly    *debugkern.Run // with partial in place
	// elsewhere is where right cells of its stage are stored, and the wrong ones are not; nil: nowhere
	elsewhere *access
	// rule is what is wrong with an operation, where no edit of it was found; nil: not known
	rule      *explanation
	misstored *access   // where an operand of its first wrong cell is stored at the wrong index; nil: nowhere
	refuted   bool      // its edit leaves another configuration wrong
	standing  *standing // the barrier that stands where one is missing, and is not for all; nil: none
	late      bool      // a search for an edit ended for lack of time
	retyped   bool      // its cells are made of the bits of numbers of another type
	// compares are the comparisons of the entry's body by which its cells are what they are
	compares []int
	// reread is the store that gave what its first wrong cell reads again; nil: it reads nothing again
	reread *report.Source
	// rounded is where what its first wrong cell is made of is rounded to an integer; nil: nowhere
	rounded *report.Source
	invalid bool   // its first wrong cell is made of what an access out of bounds or misaligned reads
	beyond  string // where else its remedy was tried, as the end of a sentence

	explained   string          // what is known of why, in the place of what the finding says; "": nothing
	across      bool            // its accesses go across the ends of rows, by their width
	turn        *turn           // a line that uses buffers in a wrong turn; nil: none is known
	early       *scene.Early    // a copy further ahead of its reads than its buffers allow; nil: none is
	misdirected *misdirected    // an arrival that has to be at another mbarrier; nil: none is known
	miscounted  *miscounted     // an mbarrier that counts other arrivals than come; nil: none is known
	swizzled    *swizzled       // a swizzle of matrix descriptors that is not the copy's; nil: none is known
	circular    *circular       // the waits at barriers that its block is in a cycle of; nil: in none
	stale       *stalePhase     // a wait for a phase that is over; nil: none is known
	warpwide    *warpwide       // an arrival of all lanes where one has to arrive; nil: none is known
	skipped     *skipped        // a barrier that some warps go past; nil: none is known
	unawaited   *unawaited      // reads of a copy by warps that have not waited for it; nil: none are known
	unvisited   *unvisited      // an mbarrier that nobody waits at; nil: none is known
	leftWait    *unreachedWait  // a wait that a condition leads past; nil: none is known
	lacks       *report.Finding // of a product that its cells lack; nil: they lack none
	atOnce      *overAtOnce     // a wait that no phase has ended; nil: none is known
	tooEarly    *releasedEarly  // an arrival while a product reads; nil: none is known
	crowded     *crowded        // copies that write the same bytes; nil: none are known
	overrun     *overrun        // a copy that is larger than its destination; nil: none is
	parted      *parted         // where its threads parted from those that they wait for; nil: nowhere

	unreached bool // the reference in the place of its stages does not reach all that reads them
}

// checkers are what experiments attach: those whose findings are errors.
const checkers = check.Races | check.Async | check.Barriers | check.Registers | check.Overlap

// checkerCount is how many checkers watched the run.
func checkerCount() int { return bits.OnesCount16(uint16(check.All)) }

// trialBlocks is how many blocks an experiment executes: it is repeated for every hypothesis.
const trialBlocks = 16

// examine executes the kernel: on a GPU where that was asked for, for its verdict, and on the emulator
// with every checker.
func (q *inquiry) examine() error {
	if err := q.req.CheckBackend(); err != nil {
		return err
	}
	watched, asked := q.req, q.req
	watched.Backend, watched.Plain, watched.Check = "emu", true, check.All
	if q.o.Perturb > 0 && asked.Backend != "both" {
		asked.Backend = "cuda"
	}
	var err error
	if asked.Backend == "cuda" || asked.Backend == "both" {
		if q.gpu, err = q.s.Run(q.ctx, asked, q.progress); err != nil {
			return err
		}
	}
	if q.run, err = q.s.Run(q.ctx, watched, q.progress); err != nil {
		return err
	}
	if err := q.inOtherOrders(watched); err != nil {
		return err
	}
	rep := *q.run.Report
	if q.gpu != nil {
		rep = *q.gpu.Report
	}
	rep.Findings = slices.Clone(rep.Findings) // the run's own is not changed
	if q.gpu != nil {
		for _, f := range q.run.Report.Findings {
			if !slices.ContainsFunc(rep.Findings, func(g report.Finding) bool {
				return identity(&f) == identity(&g)
			}) {
				rep.Findings = append(rep.Findings, f)
			}
		}
	}
	notes, err := q.run.CompilerNotes(q.ctx)
	if err != nil {
		return err
	}
	rep.Findings = append(rep.Findings, notes...)
	rep.Schema = Schema
	q.doc = &Diagnosis{
		Run: rep, Causes: []Cause{}, Story: []string{}, Schedules: []ScheduleDoc{}, Barriers: []BarrierDoc{},
		Losses: []LossDoc{}, Sanitizer: []SanitizerDoc{}, Executed: q.run, gpu: q.gpu,
		again: q.req.Command("diagnose"),
	}
	for _, f := range rep.Findings {
		if f.Severity == severityError {
			q.o.OnEvent(Event{Finding: &f})
		}
	}
	return q.origins()
}

// mostPolled is how many warp instructions a run executes at most that is executed in other orders too.
const mostPolled = 8 << 20

// inOtherOrders executes a kernel whose blocks poll memory, and in which nothing is found, under other
// schedules, where the user has given none. The first under which something is wrong is the one that is
// diagnosed.
func (q *inquiry) inOtherOrders(watched debugkern.Request) error {
	clean := func(r *debugkern.Run) bool {
		return r.Report.Verdict != report.Diverge && len(errorsOf(r.Report)) == 0
	}
	if q.gpu != nil || q.req.Schedule != "" || !clean(q.run) || q.run.Plan.Grid.Count() < 2 ||
		q.run.Report.Cost.WarpInstructions > mostPolled || !debugkern.Polls(q.run.Entry()) {
		return nil
	}
	for _, name := range debugkern.PollingOrders {
		watched.Schedule = name
		r, err := q.s.Run(q.ctx, watched, q.progress)
		if err != nil {
			return err
		}
		if !clean(r) {
			q.run, q.req.Schedule = r, name
			return nil
		}
	}
	return nil
}

const severityError = "error"

// origins looks for the instruction that made the first NaN or infinity, where a stage holds one.
func (q *inquiry) origins() error {
	var block *probes.Dim3
	for i := range q.doc.Stages {
		st := &q.doc.Stages[i]
		if st.Local.Nonfinite+st.Global.Nonfinite > 0 && st.FirstBad != nil && block == nil {
			block = &st.FirstBad.Block
		}
	}
	if block == nil {
		return nil
	}
	q.nan = block
	found, err := q.originsIn(q.run, debugkern.Trial{})
	for _, f := range found {
		if !q.known(&f) {
			q.doc.Findings = append(q.doc.Findings, f)
			q.o.OnEvent(Event{Finding: &f})
		}
	}
	return err
}

// originsIn executes the block that holds NaN once more, changed as a trial changes it, and returns
// where NaN begins then.
func (q *inquiry) originsIn(run *debugkern.Run, t debugkern.Trial) ([]report.Finding, error) {
	if q.nan == nil || t.Blocks != nil && !slices.Contains(t.Blocks, *q.nan) {
		return nil, nil
	}
	t.Blocks, t.Check = []probes.Dim3{*q.nan}, check.Origins
	r, err := q.trial(run, t)
	if err != nil {
		return nil, q.fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(r.Report.Findings), func(f report.Finding) bool {
		return f.Kind != "nan-origin"
	}), nil
}

// known reports whether the document has the finding already.
func (q *inquiry) known(f *report.Finding) bool {
	return slices.ContainsFunc(q.doc.Findings, func(g report.Finding) bool {
		return identity(f) == identity(&g)
	})
}

func (q *inquiry) progress(p debugkern.Progress) { q.o.OnEvent(Event{Progress: &p}) }

// trial makes a trial of a run, and says which one of the diagnosis it is.
func (q *inquiry) trial(run *debugkern.Run, t debugkern.Trial) (*debugkern.Run, error) {
	if !q.counted {
		q.counter.Lock()
		q.trials++
		q.progress(debugkern.Progress{Phase: "explain", Detail: fmt.Sprintf("trial %d", q.trials)})
		q.counter.Unlock()
	}
	return run.Try(cmp.Or(q.until, q.ctx), t)
}

// fatal is err where it ends the diagnosis: it was cancelled, memory.max is used up (with more of
// it the answer may be another one), or there is a bug of ours. Any other experiment that cannot
// be made does not end it.
func (q *inquiry) fatal(err error) error {
	if q.ctx.Err() != nil || debugkern.OutOfMemory(err) {
		return err
	}
	var coded *report.Error
	if errors.As(err, &coded) && coded.Code == report.CodeInternal {
		return err
	}
	return nil
}

// identity is what findings of two runs are matched by: the same thing at the same place, whatever block,
// cell or count came first.
func identity(f *report.Finding) string {
	a, b := callText(f.Source), callText(f.Other)
	if f.Kind == "race" && b < a {
		a, b = b, a
	}
	return f.Kind + " " + f.Variable + " " + a + " " + b
}

// errorsOf lists the findings of severity error.
func errorsOf(rep *report.Run) []*report.Finding {
	var out []*report.Finding
	for i := range rep.Findings {
		if rep.Findings[i].Severity == severityError {
			out = append(out, &rep.Findings[i])
		}
	}
	return out
}

// wrongStages lists the stages with a local error over their bound, in the report's order.
func wrongStages(rep *report.Run) []probes.Stage {
	var out []probes.Stage
	for i := range rep.Stages {
		if rep.Stages[i].Verdict == report.Wrong {
			out = append(out, probes.Stage(rep.Stages[i].Name))
		}
	}
	return out
}
