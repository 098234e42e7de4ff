package report

import (
	"fmt"
	"strings"

	"tilescope/probes"
)

// BisectSchema names the document that bisect prints.
const BisectSchema = "tilescope.bisect/1"

// Outcomes of a bisection and of its steps; a step is otherwise Agree or Diverge.
const (
	Found      = "found"
	Same       = "same"       // both ends agree, or both diverge
	Unresolved = "unresolved" // an invalid combination, or one that does not build, load or run
)

// Bisection is the document tilescope.bisect/1: the smallest set of changes that turns one end's
// verdict into the other's.
type Bisection struct {
	Schema  string        `json:"schema"`
	Targets [2]BisectSide `json:"targets"` // A, B
	Kernel  string        `json:"kernel"`
	Gate    string        `json:"gate"`
	Shape   probes.Shape  `json:"shape"`
	Seed    uint64        `json:"seed"`
	Until   string        `json:"until"` // agree, diverge: the verdict sought

	Verdict string `json:"verdict"` // found, same, failed
	// From: "a" or "b": the end that changes are applied to; "" where not found
	From        string       `json:"from"`
	Differences []Change     `json:"differences"`
	Steps       []BisectStep `json:"steps"`
	Minimal     []Change     `json:"minimal"`
	// Also: other sets that turn the verdict, each by itself; they share no change with minimal nor with one
	// another
	Also [][]Change `json:"also"`
	// Proof: smallest: every smaller set was tried; one-minimal: none of its changes can be left out
	Proof string      `json:"proof"`
	Pair  *BisectPair `json:"pair"`
	Error *SideError  `json:"error"`
}

// BisectSide is an end of a bisection.
type BisectSide struct {
	Target  string         `json:"target"`
	Flags   map[string]int `json:"flags"`
	Faults  []string       `json:"faults"`
	Verdict string         `json:"verdict"`
	// Because: the first guilty stage, or the kind of the first error; "" where it agrees
	Because string `json:"because"`
}

// Change is a flag set to another value, or a fault planted (To 1) or removed (To 0).
type Change struct {
	Kind string `json:"kind"` // flag, fault
	Name string `json:"name"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// String is the change as a diff writes it: "FLAG=1", "+fault", "-fault".
func (c Change) String() string {
	switch {
	case c.Kind == "flag":
		return fmt.Sprintf("%s=%d", c.Name, c.To)
	case c.To == 0:
		return "-" + c.Name
	}
	return "+" + c.Name
}

// ChangesText lists changes in a line, as String writes each.
func ChangesText(list []Change) string {
	var text []string
	for _, c := range list {
		text = append(text, c.String())
	}
	return strings.Join(text, " ")
}

// AlsoText says which other sets turn the verdict, "" where there are none.
func (b *Bisection) AlsoText() string {
	if len(b.Also) == 0 {
		return ""
	}
	var sets []string
	for _, set := range b.Also {
		sets = append(sets, ChangesText(set))
	}
	each := ""
	if len(sets) > 1 {
		each = ", each"
	}
	return strings.Join(sets, "; ") + each + " by itself too"
}

// BisectStep is one combination tried.
type BisectStep struct {
	Changes []Change `json:"changes"`
	Verdict string   `json:"verdict"` // agree, diverge, unresolved
	Because string   `json:"because"` // as of a side; why it is unresolved
}

// BisectPair are the two nearest kernels of different verdict, what they differ in, and the command that
// compares them. To has the minimal set; From all of it but one change, or, where that is unresolved,
// none of it.
type BisectPair struct {
	From    TargetSpec `json:"from"`
	To      TargetSpec `json:"to"`
	Changes []Change   `json:"changes"`
	Compare string     `json:"compare"`
}

// TargetSpec names a combination as options do.
type TargetSpec struct {
	Target string         `json:"target"`
	Set    map[string]int `json:"set"`
	Faults []string       `json:"faults"`
}

// ExitCode is the contract's: 0 found, 1 the two do not differ, 4 an end did not run.
func (b *Bisection) ExitCode() int {
	return exitCode(b.Verdict, Found)
}
