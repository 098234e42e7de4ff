// Package sweep runs every combination of targets, shapes, gates, flags, faults and seeds, in parts that may
// be cut short, repeated and spread over machines.
//
// The one idea: a plan is a list of runs in an order that depends on nothing but the plan, and a result is a
// line in a file that is only appended to. A folder has the plan and any number of such files, so that what
// is done is known whoever did it, and merging is reading: the same plan gives the same document, byte for
// byte, whether it ran at once, was killed and went on, or came in shards.
//
// It must not know screens or exit codes; it runs kernels through a Runner alone.
package sweep

import (
	"context"

	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
)

// Schema of the document. A field is never renamed or dropped without a new number.
const Schema = "tilescope.sweep/1"

// Files of a sweep's folder.
const (
	PlanFile     = "plan.json"
	DocumentFile = "sweep.json"
	TableFile    = "SWEEP.md"
	PageFile     = "sweep.html"
	LogFile      = "log"
	resultsDir   = "results"
)

// Doc is the document tilescope.sweep/1. Nothing in it depends on time, place or interruptions.
type Doc struct {
	Schema string   `json:"schema"`
	Plan   PlanDoc  `json:"plan"`
	Failed []Failed `json:"failed"` // runs that have no result, in the plan's order
	Runs   []Result `json:"runs"`   // runs that have one, in the plan's order
}

// PlanDoc says which runs a sweep has: every combination, but for those of Skipped.
type PlanDoc struct {
	Targets []string         `json:"targets"`
	Shapes  []string         `json:"shapes"`
	Seeds   []uint64         `json:"seeds"`
	Gates   []string         `json:"gates"`
	Faults  []string         `json:"faults"` // one at a time; "none" stands for a kernel without a fault
	Flags   map[string][]int `json:"flags"`
	Runs    int              `json:"runs"`
	Skipped []Skipped        `json:"skipped"`
}

// Spec identifies a run of a plan.
type Spec struct {
	Target string         `json:"target"`
	Shape  string         `json:"shape"`
	Seed   uint64         `json:"seed"`
	Gate   string         `json:"gate"`
	Faults []string       `json:"faults"`
	Flags  map[string]int `json:"flags"`
}

// Skipped is a combination that cannot be, for every seed.
type Skipped struct {
	Target string         `json:"target"`
	Shape  string         `json:"shape"`
	Gate   string         `json:"gate"`
	Faults []string       `json:"faults"`
	Flags  map[string]int `json:"flags"`
	Reason string         `json:"reason"`
}

// Result is what became of a run that ended with a verdict.
type Result struct {
	Spec
	Verdict  string    `json:"verdict"` // report.Agree, report.Diverge
	Exit     int       `json:"exit"`    // that of tilescope run
	Guilty   []string  `json:"guilty"`  // stages
	Findings []Finding `json:"findings"`
	Digest   string    `json:"digest"` // SHA-256 of the output
}

// Finding is a kind of finding of severity error on a variable, once.
type Finding struct {
	Kind     string `json:"kind"`
	Variable string `json:"variable"`
}

// String is the finding in words: "race on sP", or its kind alone where it names no variable.
func (f Finding) String() string {
	if f.Variable == "" {
		return f.Kind
	}
	return f.Kind + " on " + f.Variable
}

// Failed is a run that ended without a verdict, as often as it was tried.
type Failed struct {
	Run   string `json:"run"`   // Spec.Name
	Error string `json:"error"` // of the last try
}

// Status is how far a sweep is.
type Status struct {
	Planned int `json:"planned"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
}

// Runner executes kernels: a debugkern.Session.
type Runner interface {
	Describe(ctx context.Context, req debugkern.Request) (*debugkern.Subject, error)
	BuildInfo(ctx context.Context, req debugkern.Request) (*report.Build, error)
	Run(ctx context.Context, req debugkern.Request, progress func(debugkern.Progress)) (*debugkern.Run, error)
}

// Options are what a sweep is made of.
type Options struct {
	Targets, Shapes, Gates []string
	Faults                 []string // one at a time; "none"; "each": every fault of the target, one at a time
	Seeds                  []uint64
	Flags                  map[string][]int
	// FaultsOf lists the planted faults of a target, for "each".
	FaultsOf func(target string) ([]string, error)
	// Request has all other options of a run. Its faults and flags are part of every run: Make adds them to
	// each Spec.
	Request debugkern.Request
	Tool    gates.Tool
}

// Every option that a user leaves out.
const (
	NoFault   = "none"
	EachFault = "each"
)
