// Package report has the documents that commands print, each type once: what a field is called, what it means
// and in which unit. It also has the errors that carry an exit code, as some of them carry a document.
//
// The one idea: a document is data. The packages that compute one fill it in, the command line encodes it,
// the terminal draws it, and none of them needs another for that. Its methods look fields up, derive the exit
// code, and word a value in one line.
//
// It must not know how anything in a document was found out: no session, no backend, no file.
package report

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/probes"
)

// RunSchema names the document that run prints. A field here is never renamed or dropped
// without a new number.
const RunSchema = "tilescope.run/1"

// Run is the document tilescope.run/1: everything one run found, in the contract's names and units.
type Run struct {
	Schema string         `json:"schema"`
	Target string         `json:"target"`
	Kernel string         `json:"kernel"`
	Flags  map[string]int `json:"flags"`
	Faults []string       `json:"faults"`
	Gate   string         `json:"gate"`
	Inject string         `json:"inject"`
	Shape  probes.Shape   `json:"shape"` // extents by name, in the manifest's order
	// Dims: the same: scripts for attention read shape, those for any kernel this
	Dims probes.Shape `json:"dims"`
	Seed uint64       `json:"seed"`

	Backend Backend  `json:"backend"`
	Build   RunBuild `json:"build"`
	Verdict string   `json:"verdict"` // agree, diverge, failed
	// Guess says that the launch is a guess, and which it is; "" where grid and block were given.
	Guess string `json:"guess,omitempty"`
	// GuessedExtents says which extents of buffers are guesses, and where they stand; "" where none is.
	GuessedExtents string `json:"guessed_extents,omitempty"`
	// GuessedStage says of the first stage that is wrong that what it should be is a guess; "" where it is
	// none.
	GuessedStage string `json:"guessed_stage,omitempty"`

	Guilty []Guilty `json:"guilty"`
	Stages []Stage  `json:"stages"`
	Output *Output  `json:"output"`
	// Outputs are the pointer arguments of a kernel without stages, in parameter order.
	Outputs   []CheckOutput `json:"outputs,omitempty"`
	Findings  []Finding     `json:"findings"`
	Cross     *Cross        `json:"cross"`
	Resources *Resources    `json:"resources"`
	Cost      Cost          `json:"cost"`
	Digest    string        `json:"digest"`
	Printed   []string      `json:"printed,omitempty"` // lines that the kernel printed, by block
	Error     *Failure      `json:"error"`
}

// Verdicts of a run, of a stage and of the output.
const (
	Agree   = "agree"
	Diverge = "diverge"
	Failed  = "failed"

	OK      = "ok"
	Wrong   = "wrong"
	Tainted = "tainted"
	Off     = "off"
	Fail    = "fail"
)

// Backend is what executed, and how it was built.
type Backend struct {
	Name     string `json:"name"`
	Device   string `json:"device"`
	Builder  string `json:"builder"`
	Arch     string `json:"arch"`
	Schedule string `json:"schedule"`
}

// Title names what was run: target, shape, seed, faults, gate.
func (r *Run) Title() string {
	t := r.Target
	if shape := r.Shape.String(); shape != "" {
		t += " " + shape
	}
	t += fmt.Sprintf(" seed %d", r.Seed)
	if len(r.Faults) > 0 {
		t += " with " + strings.Join(r.Faults, ", ")
	}
	if r.Gate != "none" {
		t += " under gate " + r.Gate
	}
	return t
}

// Referenced reports whether any stage is compared with a reference. Where none is, the verdict is by
// the findings alone. A run that failed before it had stages counts as referenced.
func (r *Run) Referenced() bool {
	return len(r.Stages) == 0 && (r.Error != nil || r.Verdict == "") ||
		slices.ContainsFunc(r.Stages, func(s Stage) bool {
			return !s.Reference.None()
		})
}

// Unjudged says which outputs the plan has neither a stage nor a reference of, while stages are judged:
// "outputs o, z_out are not judged". "" where there is none, and of a run that has no plan.
func (r *Run) Unjudged(p *probes.Plan) string {
	if p == nil || !r.Referenced() {
		return ""
	}
	list := p.Unjudged()
	if r.Output != nil {
		list = slices.DeleteFunc(list, func(name string) bool { return name == p.OutputArg() })
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "output " + list[0] + " is not judged"
	}
	return "outputs " + strings.Join(list, ", ") + " are not judged"
}

// LaunchDoubtful is Guess where the verdict depends on it: what is wrong may be wrong with the guess, and
// that nothing was found says little of another launch.
func (r *Run) LaunchDoubtful() string {
	if r.Verdict == Failed || r.Verdict != Diverge && r.Referenced() {
		return ""
	}
	return r.Guess
}

// Outcome is the verdict in words: where nothing has a reference, how many errors were found.
func (r *Run) Outcome() string {
	out := r.outcome()
	switch {
	case r.LaunchDoubtful() != "":
		out += ", launch guessed"
	case r.ExtentsDoubtful() != "":
		out += ", extents guessed"
	}
	return out
}

// ExtentsDoubtful is GuessedExtents where the verdict is that no error was found, which depends on them.
func (r *Run) ExtentsDoubtful() string {
	if r.Verdict == Failed || r.Referenced() || r.Errors() > 0 {
		return ""
	}
	return r.GuessedExtents
}

func (r *Run) outcome() string {
	if r.Verdict == Failed || r.Referenced() {
		return r.Verdict
	}
	switch n := r.Errors(); n {
	case 0:
		return "no error"
	case 1:
		return "1 error"
	default:
		return fmt.Sprintf("%d errors", n)
	}
}

// Judged counts the stages that were compared: those that are on, were reached and have a reference.
func (r *Run) Judged() int {
	n := 0
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Verdict != Off && !s.Reference.None() {
			n++
		}
	}
	return n
}

// Errors counts the findings of severity error.
func (r *Run) Errors() int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == "error" {
			n++
		}
	}
	return n
}

// ExitCode is the contract's exit code of this report: 0 agreed, 1 diverged or a finding of
// severity error, 4 failed.
func (r *Run) ExitCode() int {
	if r.Verdict == Failed {
		return 4
	}
	if r.Verdict != Agree {
		return 1
	}
	if r.Errors() > 0 {
		return 1
	}
	return 0
}

// Stage returns the stage of that name, or nil.
func (r *Run) Stage(name string) *Stage {
	for i := range r.Stages {
		if r.Stages[i].Name == name {
			return &r.Stages[i]
		}
	}
	return nil
}
