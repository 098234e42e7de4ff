package debugkern

import (
	"context"
	"fmt"
	"strings"

	"tilescope/configs"
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

// Bisection is the document tilescope.bisect/1: the smallest set of changes that turns one end's verdict into the other's.
type Bisection struct {
	Schema  string        `json:"schema"`
	Targets [2]BisectSide `json:"targets"` // A, B
	Kernel  string        `json:"kernel"`
	Gate    string        `json:"gate"`
	Shape   probes.Shape  `json:"shape"`
	Seed    uint64        `json:"seed"`
	Until   string        `json:"until"` // agree, diverge: the verdict sought

	Verdict     string       `json:"verdict"` // found, same, failed
	From        string       `json:"from"`    // "a" or "b": the end that changes are applied to; "" where not found
	Differences []Change     `json:"differences"`
	Steps       []BisectStep `json:"steps"`
	Minimal     []Change     `json:"minimal"`
	Proof       string       `json:"proof"` // smallest: every smaller set was tried; one-minimal: none of its changes can be left out
	Pair        *BisectPair  `json:"pair"`
	Error       *SideError   `json:"error"`
}

// BisectSide is an end of a bisection.
type BisectSide struct {
	Target  string         `json:"target"`
	Flags   map[string]int `json:"flags"`
	Faults  []string       `json:"faults"`
	Verdict string         `json:"verdict"`
	Because string         `json:"because"` // the first guilty stage, or the kind of the first error; "" where it agrees
}

// Change is a flag set to another value, or a fault planted (To 1) or removed (To 0).
type Change struct {
	Kind string `json:"kind"` // flag, fault
	Name string `json:"name"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

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

// BisectStep is one combination tried.
type BisectStep struct {
	Changes []Change `json:"changes"`
	Verdict string   `json:"verdict"` // agree, diverge, unresolved
	Because string   `json:"because"` // as of a side; why it is unresolved
}

// BisectPair are the two nearest kernels of different verdict, what they differ in, and the command that lays
// them over each other. To has the minimal set; From all of it but one change, or, where that is unresolved,
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
	switch b.Verdict {
	case Found:
		return 0
	case Failed:
		return 4
	}
	return 1
}

// maxChanges is how many differences are bisected: a combination is a set of bits.
const maxChanges = 64

// combination is one setting of a manifest's flags and faults.
type combination struct {
	flags  map[string]int
	faults []string
}

// bisector is one bisection under way.
type bisector struct {
	s        *Session
	ctx      context.Context
	progress func(Progress)
	doc      *Bisection
	m        *configs.Manifest
	request  Request // what every step has in common
	named    []namedVariant
	start    combination
	changes  []Change
	tried    map[uint64]string
	unbuilt  error // why B has no verdict
}

// namedVariant is a variant and what names it as a target.
type namedVariant struct {
	target string
	combination
}

// Bisect finds the smallest set of the flags and faults by which a and b differ that turns the verdict: from
// a to b, or, with until Agree or Diverge, from the end that has the other verdict. Combinations that the
// manifest refuses, or that do not run, are unresolved. It returns an *Error as Run does; an end that did not
// run has a document as well as the error.
func (s *Session) Bisect(ctx context.Context, a, b Request, until string, progress func(Progress)) (*Bisection, error) {
	if until != "" && until != Agree && until != Diverge {
		return nil, usage("--until %q: expected agree or diverge", until)
	}
	if progress == nil {
		progress = func(Progress) {}
	}
	w := &bisector{s: s, ctx: ctx, progress: progress, request: a, tried: map[uint64]string{}, doc: &Bisection{
		Schema: BisectSchema, Gate: a.Gate.String(), Seed: a.Seed, Until: until, Differences: []Change{}, Steps: []BisectStep{}, Minimal: []Change{},
	}}
	ends, err := w.ends(ctx, a, b)
	if err != nil {
		return nil, err
	}
	for i, req := range []Request{a, b} {
		if err := w.judgeEnd(i, req); err != nil {
			return w.failed(i, err), err
		}
	}
	from := 0
	switch va, vb := w.doc.Targets[0].Verdict, w.doc.Targets[1].Verdict; {
	case va == vb:
		w.doc.Verdict = Same
		return w.doc, nil
	case until == va && w.unbuilt == nil:
		from = 1
	}
	w.doc.Until = opposite(w.doc.Targets[from].Verdict)
	w.doc.From = "ab"[from : from+1]
	w.start = ends[from]
	if w.changes = differences(w.m, ends[from], ends[1-from]); len(w.changes) > maxChanges {
		return nil, usage("%s and %s differ in %d flags and faults; at most %d are bisected", a.Target, b.Target, len(w.changes), maxChanges)
	}
	w.doc.Differences = w.changes
	return w.doc, w.search()
}

func opposite(verdict string) string {
	if verdict == Agree {
		return Diverge
	}
	return Agree
}
