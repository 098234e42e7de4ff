// Package diagnose goes from "wrong" to the guilty line: it runs a kernel with every checker and several
// schedules, tries what would put it right, and separates causes, each with its proof.
//
// The one idea: nothing is said that was not tried. A cause is a hypothesis that survived an experiment: a
// synchronisation inserted virtually that makes the finding go, a stage replaced by the reference after which
// later stages are right, a table replaced by what the hardware does. Every experiment is a debugkern.Trial,
// or the same kernel with a planted fault left out. Where nothing could be tried, the text says so.
//
// It must not know kernels, variants or faults by name: variables, lines, tables and faults
// are data of the run.
package diagnose

import (
	"context"
	"fmt"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Schema names the document.
const Schema = "tilescope.diagnose/1"

// Kinds of causes that are no kind of finding.
const (
	kindStage = "stage" // a stage computes something else: arithmetic
	kindTable = "table" // a fragment map that is not the hardware's
)

// How long after the diagnosis began a search for an edit of the PTX, and of the source, starts no further
// trial. Most searches end within seconds.
const (
	longestSearch = 45 * time.Second
	longestSource = 60 * time.Second
	// longestTrial is how long an experiment of that search may go on behind its end.
	longestTrial = 10 * time.Second
)

// Options of a diagnosis.
type Options struct {
	Schedules int // schedules explored where outcomes could vary; 0: the default
	Perturb   int // seeds of delays on a GPU; 0: none
	// OnEvent is called as things become known, in order and from one goroutine at a time; may be nil. What
	// it is given is never changed afterwards.
	OnEvent func(Event)

	sanitizer sanitizer // runs compute-sanitizer; nil: the session does, where there is a GPU
}

// Event is one thing that became known before the end. Exactly one member is set.
type Event struct {
	Progress *debugkern.Progress
	Finding  *report.Finding
	Cause    *Cause
}

// Diagnosis is what diagnose found: the document tilescope.diagnose/1 (run/1 plus causes and story)
// and the run behind it.
type Diagnosis struct {
	report.Run
	// Causes: in the order in which a person should look at them: what explains most, first
	Causes    []Cause       `json:"causes"`
	Story     []string      `json:"story"` // at most twelve lines
	Schedules []ScheduleDoc `json:"schedules"`
	Barriers  []BarrierDoc  `json:"barriers"` // why each synchronisation is there

	Losses    []LossDoc   `json:"losses"`    // where one block lost bits, worst first
	Perturbed *PerturbDoc `json:"perturbed"` // null where nobody asked
	// Sanitizer is what compute-sanitizer said of a launch on the GPU; empty where none was asked for.
	Sanitizer []SanitizerDoc `json:"sanitizer"`

	Executed *debugkern.Run `json:"-"` // what was executed on the emulator, checkers attached

	watch *watch         // compute-sanitizer at work; nil: none
	gpu   *debugkern.Run // whose verdict it is, where a GPU was asked for
	again string         // the command that shows all of it again
}

// Cause is one reason why the kernel is wrong.
type Cause struct {
	Kind     string   `json:"kind"`     // "stage" (arithmetic), "table", or the kind of the finding
	Title    string   `json:"title"`    // one line, for lists
	Stage    string   `json:"stage"`    // the stage that it spoils first, "" where none
	Stages   []string `json:"stages"`   // all stages whose local error goes with it
	Finding  int      `json:"finding"`  // index in Findings of the first finding, -1 where none
	Findings []int    `json:"findings"` // all of them: one cause may show at several variables
	With     []string `json:"with"`     // what else is seen of it, by title, that no trial separates from it
	Place    Place    `json:"place"`
	// Share is the part of the error that goes when this cause alone is put right, 0 to 1; null where that
	// cannot be tried. Causes that hide each other can each have a share near 0: Alone says so.
	Share *report.Number `json:"share_of_error"`
	// ShareOf names the outputs whose error the share is of; "" where there is no share.
	ShareOf string   `json:"share_of,omitempty"`
	Alone   string   `json:"alone"`  // what remains when only this one is put right
	Proof   []string `json:"proof"`  // what was tried, and what came of it
	Advice  string   `json:"advice"` // what to change, and where
	Again   string   `json:"again"`  // command that shows it again
	// Rewrite: the line of the source as it should read, where a trial of the PTX proved it and the line says
	// it in one place; null where not
	Rewrite *Rewrite `json:"rewrite"`
	// Region says which cells of the first stage are wrong, of all that were judged: that stage's region. ""
	// where nothing simple is true of them.
	Region string `json:"region,omitempty"`

	// AlsoFound marks what is wrong and explains none of the error in this run, all of
	// which has other causes.
	AlsoFound bool `json:"-"`

	of    *suspect
	short string // the proof in one line, where it is more than Alone
	why   string // what its first wrong cell is made of, where that is not what it should be made of
	but   string // an edit with which all is right here alone
}

// Place is where a cause is.
type Place struct {
	Block     probes.Dim3    `json:"block"`
	KVTile    int            `json:"kv_tile"` // -1 where unknown
	Row       int            `json:"row"`     // -1 where none
	Col       int            `json:"col"`
	Variable  string         `json:"variable"`
	Variables []string       `json:"variables"` // every variable it shows at
	Index     []int          `json:"index"`
	Source    *report.Source `json:"source"`
	Other     *report.Source `json:"other"`
}

// ScheduleDoc is what exploring schedules showed.
type ScheduleDoc struct {
	Finding int           `json:"finding"` // the race it is about, -1: the kernel as a whole
	Block   probes.Dim3   `json:"block"`   // that was executed
	Tried   int           `json:"tried"`
	Varied  int           `json:"varied"` // schedules whose output differs from the first
	Worst   string        `json:"worst"`  // POLICY:SEED with the largest change, "" where none
	MaxAbs  report.Number `json:"max_abs"`
	Says    string        `json:"says"`   // "changes O by up to 3.2 in 41 of 200 schedules"
	Replay  *Replay       `json:"replay"` // null where no schedule changed anything
}

// PerturbDoc is what seeded delays showed on a GPU.
type PerturbDoc struct {
	Device   string        `json:"device"`
	Seeds    int           `json:"seeds"`
	Places   int           `json:"places"` // instructions that a delay may stand in front of
	Differed int           `json:"differed"`
	MaxAbs   report.Number `json:"max_abs"`
	Worst    uint64        `json:"worst"` // the seed with the largest change, 0 where none differed
	Failed   int           `json:"failed"`
	Says     string        `json:"says"`
}

// BarrierDoc says what a synchronisation of the kernel is for: what would race without it.
type BarrierDoc struct {
	Source    *report.Source `json:"source"`
	Instr     string         `json:"instr"`
	Copies    int            `json:"copies"` // instructions that this line became
	Needed    bool           `json:"needed"`
	Because   string         `json:"because"` // "without it sKT races between lines 212 and 140"
	Variables []string       `json:"variables"`
}

// Diagnose runs and explains. It does not wait for compute-sanitizer, which watches the launch on a GPU
// meanwhile: a Diagnosis that is Pending gets its answers by Await, while ctx lives. Errors are those of
// Session.Run; a kernel that failed to run has no diagnosis.
func Diagnose(
	ctx context.Context, s *debugkern.Session, req debugkern.Request, o Options,
) (*Diagnosis, error) {
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	q := &inquiry{ctx: ctx, s: s, req: req, o: o, twins: map[string]*debugkern.Run{}, begun: time.Now()}
	for _, step := range []func() error{
		q.examine, q.sanitize, q.suspect, q.experiment, q.arithmetic, q.unite, q.signatures, q.inSource,
		q.orderedAt, q.schedules, q.barriers, q.losses,
	} {
		err := step()
		if err == nil {
			err = ctx.Err() // what experiments have shown from then on means nothing
		}
		if err != nil {
			q.abandon()
			return nil, err
		}
	}
	q.conclude()
	if err := q.doc.arrived(); err != nil {
		q.abandon()
		return nil, err
	}
	return q.doc, nil
}

// abandon ends what is still at work on the GPU.
func (q *inquiry) abandon() {
	if q.doc != nil && q.doc.watch != nil {
		q.doc.watch.cancel()
		q.doc.watch.wg.Wait()
	}
}

// Failure is the document of a kernel that did not build, load or run: everything known, and no causes.
func Failure(req debugkern.Request, rep *report.Run) *Diagnosis {
	d := &Diagnosis{
		Run: *rep, Causes: []Cause{}, Story: []string{}, Schedules: []ScheduleDoc{}, Barriers: []BarrierDoc{},
		Losses: []LossDoc{}, Sanitizer: []SanitizerDoc{}, again: req.Command("diagnose"),
	}
	d.Schema = Schema
	if rep.Error != nil {
		d.Story = []string{
			fmt.Sprintf("%s did not run: %s: %s", rep.Title(), rep.Error.Stage, rep.Error.Message),
		}
	}
	return d
}

// Judged is the run whose tiles the stages judge: the GPU's where one was asked for, else Executed.
func (d *Diagnosis) Judged() *debugkern.Run {
	if d.gpu != nil {
		return d.gpu
	}
	return d.Executed
}

// callText is placeText with the call sites of inlined code.
func callText(s *report.Source) string {
	text := s.At()
	if s != nil && s.Calls != "" {
		text += " (" + s.Calls.Text("") + ")"
	}
	return text
}
