package debugkern

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
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
	Shape   ShapeDoc      `json:"shape"`
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

// BisectStep is one combination tried.
type BisectStep struct {
	Changes []Change `json:"changes"`
	Verdict string   `json:"verdict"` // agree, diverge, unresolved
	Because string   `json:"because"` // as of a side; why it is unresolved
}

// BisectPair are the two nearest kernels of different verdict, what tells them apart, and the command that lays them over
// each other. To has the minimal set; From all of it but one change, or, where that is unresolved, none of it.
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

// Bisect finds the smallest set of the flags and faults by which a and b differ that turns the verdict: from a to b, or, with
// until Agree or Diverge, from the end that has the other verdict. Combinations that the manifest refuses, or that do not
// run, are unresolved. It returns an *Error as Run does; an end that did not run has a document beside the error.
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
	ends, err := w.ends(a, b)
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

// ends settles both requests on their common manifest.
func (w *bisector) ends(a, b Request) (ends [2]combination, err error) {
	var ms [2]*configs.Manifest
	var variants [2]string
	for i, req := range []Request{a, b} {
		m, variant, err := w.s.catalogue.Open(req.Target)
		if err != nil {
			return ends, &Error{Code: CodeUsage, Err: err}
		}
		sel, err := m.Select(variant, req.Set, req.Faults, req.Gate)
		if err != nil {
			return ends, &Error{Code: CodeUsage, Err: err}
		}
		ms[i], variants[i], ends[i] = m, variant, combination{sel.Flags, sel.Faults}
		w.doc.Targets[i] = BisectSide{Target: req.Target, Flags: sel.Flags, Faults: append([]string{}, sel.Faults...)}
	}
	if !sameManifest(ms[0], ms[1]) {
		return ends, usage("%s is a variant of kernel %s, %s of %s: only variants of one manifest have flags to bisect (compare takes any two)",
			a.Target, ms[0].Name, b.Target, ms[1].Name)
	}
	w.m = ms[0]
	w.doc.Kernel = w.m.Name
	return ends, w.name(a.Target, variants)
}

func sameManifest(a, b *configs.Manifest) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a.File)
	y, errB := os.Stat(b.File)
	return a.Dir != "" && b.Dir != "" && errA == nil && errB == nil && os.SameFile(x, y)
}

// name lists the variants that a target can name, those asked for first: of a manifest's path only the default.
func (w *bisector) name(target string, asked [2]string) error {
	add := func(target, variant string) error {
		sel, err := w.m.Select(variant, nil, nil, probes.GateNone)
		if err != nil {
			return fmt.Errorf("variant %s: %w", variant, err)
		}
		w.named = append(w.named, namedVariant{target, combination{sel.Flags, sel.Faults}})
		return nil
	}
	if w.m.Dir != "" {
		return add(target, w.m.Default)
	}
	order := asked[:]
	for _, v := range w.m.Variants {
		order = append(order, v.Name)
	}
	for i, v := range order {
		if slices.Contains(order[:i], v) {
			continue
		}
		if err := add(v, v); err != nil {
			return err
		}
	}
	return nil
}

func opposite(verdict string) string {
	if verdict == Agree {
		return Diverge
	}
	return Agree
}

// judgeEnd runs one end. B may be a combination that nobody has built: then it is unresolved, and the search goes up from A.
func (w *bisector) judgeEnd(i int, req Request) error {
	w.progress(Progress{Phase: "bisect", Detail: req.Target})
	run, err := w.s.Run(w.ctx, req, w.progress)
	var coded *Error
	if i == 1 && errors.As(err, &coded) && coded.Code == CodeUnavailable {
		w.unbuilt = err
		w.doc.Targets[i].Verdict, w.doc.Targets[i].Because = Unresolved, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	w.doc.Shape = run.Report.Shape
	w.doc.Targets[i].Verdict, w.doc.Targets[i].Because = outcome(run.Report)
	return nil
}

// outcome is the verdict by exit code, and what decided it.
func outcome(r *Report) (verdict, because string) {
	if r.ExitCode() == 0 {
		return Agree, ""
	}
	if len(r.Guilty) > 0 {
		return Diverge, r.Guilty[0].Stage
	}
	for _, f := range r.Findings {
		if f.Severity == "error" {
			return Diverge, f.Kind
		}
	}
	if r.Output != nil && r.Output.Verdict == Fail {
		return Diverge, "output"
	}
	return Diverge, "a stage was not reached"
}

func (w *bisector) failed(side int, err error) *Bisection {
	var coded *Error
	if !errors.As(err, &coded) || coded.Report == nil || coded.Report.Error == nil {
		return nil
	}
	w.doc.Verdict, w.doc.Shape = Failed, coded.Report.Shape
	w.doc.Error = &SideError{Side: "ab"[side : side+1], ErrorDoc: *coded.Report.Error}
	return w.doc
}

// differences lists what turns one combination into another, in the manifest's order: flags, then faults.
func differences(m *configs.Manifest, from, to combination) []Change {
	list := []Change{}
	for _, f := range m.Flags {
		if x, y := from.flags[f.Name], to.flags[f.Name]; x != y {
			list = append(list, Change{"flag", f.Name, x, y})
		}
	}
	for _, f := range m.Faults {
		if x, y := count(from.faults, f.Name), count(to.faults, f.Name); x != y {
			list = append(list, Change{"fault", f.Name, x, y})
		}
	}
	return list
}

func count(list []string, name string) int {
	if slices.Contains(list, name) {
		return 1
	}
	return 0
}

// search reduces all changes to the smallest set, and names the pair.
func (w *bisector) search() error {
	all := uint64(1)<<len(w.changes) - 1
	w.tried[0], w.tried[all] = opposite(w.doc.Until), w.doc.Until
	set, err := all, error(nil)
	if w.unbuilt == nil {
		if set, err = minimise(all, w.turns); err != nil {
			return err
		}
	}
	set, proved, err := smallest(all, set, w.turns)
	switch {
	case err != nil:
		return err
	case w.unbuilt != nil && set == all:
		return w.unbuilt
	case proved:
		w.doc.Proof = "smallest"
	default:
		w.doc.Proof = "one-minimal"
	}
	w.doc.Verdict, w.doc.Minimal = Found, w.list(set)
	return w.pair(set)
}

// pair finds the nearest kernel of the other verdict: without one change of the set, else the start.
func (w *bisector) pair(set uint64) error {
	below := uint64(0)
	for i := range w.changes {
		if without := set &^ (1 << i); without != set && w.tried[without] == opposite(w.doc.Until) {
			below = without
		}
	}
	from, errFrom := w.spec(w.apply(below))
	to, errTo := w.spec(w.apply(set))
	if err := errors.Join(errFrom, errTo); err != nil {
		return err
	}
	w.doc.Pair = &BisectPair{From: from, To: to, Changes: w.list(set &^ below), Compare: w.command(from, to)}
	return nil
}

func (w *bisector) list(set uint64) []Change {
	list := []Change{}
	for i, c := range w.changes {
		if set>>i&1 != 0 {
			list = append(list, c)
		}
	}
	return list
}

func (w *bisector) apply(set uint64) combination {
	c := combination{maps.Clone(w.start.flags), slices.Clone(w.start.faults)}
	for _, ch := range w.list(set) {
		switch {
		case ch.Kind == "flag":
			c.flags[ch.Name] = ch.To
		case ch.To == 1:
			c.faults = append(c.faults, ch.Name)
		default:
			c.faults = slices.DeleteFunc(c.faults, func(f string) bool { return f == ch.Name })
		}
	}
	return c
}

// turns reports whether a set of changes has the verdict sought. Errors are those that end the bisection.
func (w *bisector) turns(set uint64) (bool, error) {
	if v, ok := w.tried[set]; ok {
		return v == w.doc.Until, nil
	}
	step := BisectStep{Changes: w.list(set), Verdict: Unresolved}
	spec, err := w.spec(w.apply(set))
	if err == nil {
		w.progress(Progress{Phase: "bisect", Detail: changesText(step.Changes), Done: len(w.doc.Steps) + 1})
		var run *Run
		if run, err = w.s.Run(w.ctx, spec.request(w.request), nil); err == nil {
			step.Verdict, step.Because = outcome(run.Report)
		}
	}
	if err != nil {
		var coded *Error
		if w.ctx.Err() != nil || !errors.As(err, &coded) || coded.Code == CodeInternal {
			return false, err
		}
		step.Because = err.Error()
	}
	w.tried[set] = step.Verdict
	w.doc.Steps = append(w.doc.Steps, step)
	return step.Verdict == w.doc.Until, nil
}

func changesText(list []Change) string {
	var text []string
	for _, c := range list {
		text = append(text, c.String())
	}
	return strings.Join(text, " ")
}
