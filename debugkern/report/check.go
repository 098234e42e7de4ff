package report

import (
	"fmt"
	"tilescope/probes"
)

// CheckSchema names the document that check prints.
const CheckSchema = "tilescope.check/1"

// Verdicts of a check; the third is Failed.
const (
	Clean    = "clean"    // nothing was found, or advice alone
	Findings = "findings" // at least one finding of severity error
)

// Check is the document tilescope.check/1: what the checkers found in one launch of a kernel
// that has no manifest.
type Check struct {
	Schema string      `json:"schema"`
	File   string      `json:"file"`
	Entry  string      `json:"entry"`
	Launch CheckLaunch `json:"launch"`
	Args   []CheckArg  `json:"args"`
	// Steps: of a sequence: Args are its buffers, Launch the last step's
	Steps    []CheckStep   `json:"steps,omitempty"`
	Seed     uint64        `json:"seed"`
	Verdict  string        `json:"verdict"`
	Coverage Coverage      `json:"coverage"`
	Findings []Finding     `json:"findings"`
	Outputs  []CheckOutput `json:"outputs"`
	Backend  Backend       `json:"backend"`
	Build    RunBuild      `json:"build"`
	Cost     Cost          `json:"cost"`
	Digest   string        `json:"digest"` // SHA-256 over the outputs' raw digests, in order
	Printed  []string      `json:"printed,omitempty"`
	Error    *Failure      `json:"error"`
	// GuessedExtents says which extents of buffers are guesses of the manifest; "" where none is.
	GuessedExtents string `json:"guessed_extents,omitempty"`
}

// CheckLaunch is the launch's geometry; Shared is dynamic shared memory in bytes.
type CheckLaunch struct {
	Grid    probes.Dim3 `json:"grid"`
	Block   probes.Dim3 `json:"block"`
	Cluster probes.Dim3 `json:"cluster"`
	Shared  int         `json:"shared"`
}

// CheckStep is one launch of a sequence, or a fill of a buffer with a byte.
type CheckStep struct {
	Memset   string       `json:"memset,omitempty"`
	Byte     int          `json:"value,omitempty"`
	File     string       `json:"file,omitempty"`
	Entry    string       `json:"entry,omitempty"`
	Launch   *CheckLaunch `json:"launch,omitempty"`
	Args     []CheckArg   `json:"args"`
	Coverage *Coverage    `json:"coverage,omitempty"`
}

// CheckArg is an argument: Source is how it was given.
type CheckArg struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Dims   []int  `json:"dims"`
	Source string `json:"source"`
}

// Coverage is how much of the kernel a result speaks of.
type Coverage struct {
	Instructions int      `json:"instructions"` // of the entry and what it calls
	Executed     int      `json:"executed"`     // of them, at least once
	Blocks       int      `json:"blocks"`       // of the grid
	Sampled      int      `json:"sampled"`      // of them, executed under the checkers
	Schedules    int      `json:"schedules"`
	NotModelled  []string `json:"not_modelled"`
	// Unreached are source lines none of whose instructions were executed.
	Unreached []Source `json:"unreached"`
	// Expectations are those that were stated, in that order.
	Expectations []Expectation `json:"expectations,omitempty"`
}

// Expectation is how much of an expectation was checked.
type Expectation struct {
	Expect    string `json:"expect"`
	Elements  int    `json:"elements"`  // of the output, that it names
	Checked   int    `json:"checked"`   // of them
	Differing int    `json:"differing"` // of those that were checked
	// NotFollowed: elements that are looked at and not checked, since not all that they are made of is known;
	// Reason is why, of one of them.
	NotFollowed int    `json:"not_followed,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// Text is how much was checked, in a line.
func (e *Expectation) Text() string {
	text := fmt.Sprintf("%d of %d elements of %s", e.Checked, e.Elements, e.Expect)
	switch {
	case e.Differing > 0:
		text += fmt.Sprintf(", %d of them differ", e.Differing)
	case e.Checked > 0:
		text += ": as expected"
	}
	if e.NotFollowed > 0 {
		text += fmt.Sprintf("; %d could not be followed: %s", e.NotFollowed, e.Reason)
	} else if e.Checked < e.Elements {
		text += "; a sample, since following all takes longer"
	}
	return text
}

// Text is the coverage in one line.
func (c *Coverage) Text() string {
	if c.Instructions == 0 {
		return "outputs alone; on a GPU nothing can be observed"
	}
	schedules := "1 schedule"
	if c.Schedules != 1 {
		schedules = fmt.Sprintf("%d schedules", c.Schedules)
	}
	return fmt.Sprintf("%d of %d instructions, %d of %d blocks, %s; PTX was executed, not the GPU's own code",
		c.Executed, c.Instructions, c.Sampled, c.Blocks, schedules)
}

// CheckOutput is a pointer argument after the launch.
type CheckOutput struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Dims  []int  `json:"dims"`
	// Written: elements that the launch wrote whole; null where it was not observed, on a GPU
	Written *int   `json:"written"`
	Digest  string `json:"digest"` // SHA-256 of its bytes
	// Recorded compares it with what was recorded of it after the launch; nil where nothing was.
	Recorded *Recorded `json:"recorded,omitempty"`
}

// Recorded is how many elements of an output were recorded after the launch, and how many of
// these are others here.
type Recorded struct {
	Elements  int `json:"elements"`
	Differing int `json:"differing"`
}

// ExitCode is the contract's exit code: 0 clean, 1 findings, 4 failed.
func (d *Check) ExitCode() int {
	return exitCode(d.Verdict, Clean)
}

// KnownFindings are findings that do not count, by id, with the reason.
type KnownFindings map[string]string

// Apply marks the findings that do not count, and sets the verdict by the others.
func (d *Check) Apply(known KnownFindings) {
	d.Verdict = Clean
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Suppressed = known[f.ID]; f.Suppressed == "" && f.Severity == "error" {
			d.Verdict = Findings
		}
	}
}
