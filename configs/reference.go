package configs

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// A reference says what a stage, or an output after the launch, is compared with:
//
//	references:                                         # optional: names for what several of them use
//	  torch: {command: [python3, ref.py], timeout: 60s}
//	stages:
//	  - {…, reference: torch, tolerance: {rtol: 1e-3, atol: 1e-5}}
//	args:
//	  - {…, role: output, reference: {npz: ref.npz, array: y}, tolerance: {baseline: y_half, factor: 2}}

// Limits of a command that computes references.
const (
	DefaultReferenceTimeout = time.Minute
	maxReferenceTimeout     = 24 * time.Hour
	maxReferenceWords       = 256
)

// expectedTolerance lists the tolerances that need no operator.
const expectedTolerance = "expected {rtol: N, atol: N} or {baseline: NAME, factor: 2}"

// namedReferences reads the references that have names.
func (p *manifestParser) namedReferences(o *object) {
	p.m.References = map[string]probes.Reference{}
	r := o.sub("references")
	if r == nil {
		return
	}
	for _, name := range r.keys {
		switch {
		case name == "graph" || name == "none":
			r.fail(name, "%s already names what a stage is compared with; choose another name", name)
			continue
		case !identifier.MatchString(name):
			r.fail(name, "%q is not an identifier (letters, digits and _)", clip(name))
			continue
		}
		p.named = append(p.named, name)
		if ref, ok := p.referenceSource(r.vals[name], r.field(name), false); ok {
			ref.Name = name
			p.m.References[name] = ref
		}
	}
}

// reference reads the keys reference and tolerance of a stage or an argument; those that are absent give zero
// values.
func (p *manifestParser) reference(o *object) (ref probes.Reference, tol probes.Tolerance) {
	if o.has("reference") {
		ref = p.referenceOf(o)
	}
	if o.has("tolerance") {
		tol = p.tolerance(o, &ref)
	}
	return ref, tol
}

// referenceOf reads the word graph or none, a name, or where the numbers come from.
func (p *manifestParser) referenceOf(o *object) probes.Reference {
	at := o.place("reference")
	n := deref(o.vals["reference"])
	if n.Kind != yaml.ScalarNode {
		ref, _ := p.referenceSource(o.vals["reference"], o.field("reference"), true)
		return ref
	}
	out := probes.Reference{At: p.where(at)}
	switch name := o.str("reference"); name {
	case "", "graph":
	case "none":
		out.Kind = probes.ReferenceNone
	default:
		ref, ok := p.m.References[name]
		if !ok && !slices.Contains(p.named, name) { // a named one with a mistake is reported where it stands
			o.fail("reference", "no reference named %q%s; expected graph, none, a name of references, "+
				"{npz: FILE}, {command: [...]} or {kernel: MANIFEST}",
				clip(name), suggest(name, p.named))
		}
		if ok {
			ref.At = out.At
			out = ref
		}
	}
	return out
}

// referenceSource reads where numbers come from. own says that it stands with the stage or argument that is
// compared with them.
func (p *manifestParser) referenceSource(n *yaml.Node, field string, own bool) (probes.Reference, bool) {
	before := len(p.errs)
	section := "named-reference"
	if own {
		section = "reference"
	}
	o := p.section(n, field, section)
	if o == nil {
		return probes.Reference{}, false
	}
	out := probes.Reference{At: p.where(o.here()), Array: o.str("array")}
	var given []string
	for _, k := range []string{"npz", "command", "kernel"} {
		if o.has(k) {
			given = append(given, k)
		}
	}
	switch {
	case len(given) == 0:
		p.fail(n, field, "expected {npz: FILE}, {command: [...]} or {kernel: MANIFEST}")
	case len(given) > 1:
		o.fail(given[1], "%s is given too; keep one of them", given[0])
	case given[0] == "command":
		out.Kind, out.Command = probes.ReferenceCommand, o.strs("command")
		if words := o.list("command"); deref(o.vals["command"]).Kind == yaml.SequenceNode && len(words) == 0 {
			o.fail("command", "empty; expected a program and its arguments")
		} else if len(words) > maxReferenceWords {
			o.fail("command", "%d words; at most %d are possible", len(words), maxReferenceWords)
		}
		out.Timeout = p.referenceTimeout(o)
	case given[0] == "npz":
		out.Kind, out.File = probes.ReferenceNPZ, o.str("npz")
	default:
		out.Kind, out.File = probes.ReferenceKernel, o.str("kernel")
	}
	if o.has("timeout") && !o.has("command") {
		o.fail("timeout", "goes with command only")
	}
	return out, len(p.errs) == before
}

// referenceTimeout reads how long a command may take.
func (p *manifestParser) referenceTimeout(o *object) time.Duration {
	if !o.has("timeout") {
		return DefaultReferenceTimeout
	}
	text := o.str("timeout")
	d, err := time.ParseDuration(text)
	switch {
	case text == "":
	case err != nil || d <= 0:
		o.fail("timeout", "expected a duration above 0 such as 60s or 2m, found %q", clip(text))
	case d > maxReferenceTimeout:
		o.fail("timeout", "%s is more than %s", d, maxReferenceTimeout)
	}
	return d
}

// tolerance reads the word derived, {rtol, atol}, or {baseline, factor}.
func (p *manifestParser) tolerance(o *object, ref *probes.Reference) probes.Tolerance {
	out := probes.Tolerance{At: p.where(o.place("tolerance"))}
	if ref.Kind == probes.ReferenceNone {
		o.fail("tolerance", "reference: none is compared with nothing; remove one of them")
		return out
	}
	if n := deref(o.vals["tolerance"]); n.Kind == yaml.ScalarNode {
		if o.oneOf("tolerance") == "derived" {
			out.Kind = probes.ToleranceDerived
		}
		return out
	}
	t := o.within("tolerance")
	if t == nil {
		return out
	}
	fixed := t.has("rtol") || t.has("atol")
	switch {
	case fixed && t.has("baseline"):
		t.fail("baseline", "rtol or atol is given too; keep one of them")
	case fixed:
		out.Kind = probes.ToleranceFixed
		out.RTol, out.ATol = t.number("rtol"), t.number("atol")
	case t.has("baseline"):
		p.baseline(t, ref, &out)
	default:
		o.fail("tolerance", "expected derived, {rtol: N, atol: N} or {baseline: NAME, factor: 2}")
	}
	if t.has("factor") && !t.has("baseline") {
		t.fail("factor", "goes with baseline only")
	}
	return out
}

// baseline reads what the error of a right kernel is measured by: a reference of the manifest, else another
// array of the stage's own.
func (p *manifestParser) baseline(t *object, ref *probes.Reference, out *probes.Tolerance) {
	out.Kind, out.Baseline, out.Factor = probes.ToleranceBaseline, t.str("baseline"), t.number("factor")
	of, ok := p.m.References[out.Baseline]
	switch {
	case out.Baseline == "" || slices.Contains(p.named, out.Baseline) && !ok:
	case ok:
		of.At = out.At
		out.Of = &of
		if of.SameSource(ref) && ref.Array == "" {
			t.fail("baseline", "%s is the reference itself; its error is 0", out.Baseline)
		}
	case !ref.Arrays():
		t.fail("baseline",
			"no reference named %q%s; the stage is compared with its operators, which have no other array",
			clip(out.Baseline),
			suggest(out.Baseline, p.named))
	}
}

// where is a place as plans have it.
func (p *manifestParser) where(at place) probes.Where {
	return probes.Where{File: p.file, Line: at.line, Field: at.field}
}

// argReference reads the reference of an argument that is a pointer.
func (p *manifestParser) argReference(a *object, arg *Arg) {
	arg.Reference, arg.Tolerance = p.reference(a)
	arg.referenced = a.has("reference")
	switch role := arg.Role; {
	case !a.has("reference") && !a.has("tolerance"):
		return
	case !a.has("reference"):
		a.fail("tolerance", "there is no reference that it is of")
	case role != probes.RoleOutput && role != probes.RoleInOut:
		a.fail("reference",
			"only what a launch leaves in an output is compared; expected role: output or inout")
	case arg.Reference.Kind == probes.ReferenceGraph && len(p.errs) == 0:
		a.fail("reference",
			"an argument has no operator; expected {npz: FILE}, {command: [...]}, {kernel: MANIFEST}, "+
				"a name of references, or none")
	case arg.Tolerance.Kind == probes.ToleranceDerived:
		a.fail("tolerance", "an argument has no operator whose error could be derived; "+expectedTolerance)
	}
}

// stageReference reads the reference of a stage.
func (p *manifestParser) stageReference(s *object, st *Stage) {
	st.reference, st.tolerance = p.reference(s)
	st.referenced = s.has("reference")
}

// compared refuses references that nothing is compared with: of a stage that is not captured, and of an
// output that a stage with another reference is cut out of.
func (p *manifestParser) compared() {
	for i := range p.m.Stages {
		if s := &p.m.Stages[i]; s.Capture.Kind == probes.CaptureNone && s.reference.Arrays() {
			p.fail(&yaml.Node{Line: s.at.line, Column: s.at.col}, s.at.field+".reference",
				"stage %s is not captured: there is nothing to compare", s.Stage)
		}
	}
	for i := range p.m.Args {
		a := &p.m.Args[i]
		for k := range p.m.Stages {
			s := &p.m.Stages[k]
			if a.referenced && s.referenced && s.Capture.Kind == probes.CaptureOutput &&
				s.Capture.Output == a.Name {
				p.fail(&yaml.Node{Line: a.at.line, Column: a.at.col}, a.at.field+".reference",
					"stage %s, which is cut out of %s, has a reference too; keep one of them",
					s.Stage, a.Name)
			}
		}
	}
}

// references settles what each stage and output of the plan is compared with.
func (r *resolver) references() error {
	for i := range r.plan.Stages {
		sp := &r.plan.Stages[i]
		if s := r.entry(sp.Stage); s != nil {
			sp.Reference, sp.Tolerance = s.reference, s.tolerance
		}
		if sp.Capture.Kind == probes.CaptureOutput {
			for _, a := range r.m.Args {
				if a.Name == sp.Capture.Output && a.referenced {
					sp.Reference, sp.Tolerance = a.Reference, a.Tolerance
				}
			}
		}
		if err := r.comparable(sp); err != nil {
			return err
		}
		r.gated(sp)
	}
	for i := range r.plan.Memory {
		r.gated(&r.plan.Memory[i])
	}
	return nil
}

// comparable refuses what needs an operator of a stage that has none.
func (r *resolver) comparable(sp *probes.StagePlan) error {
	if sp.Op != nil {
		return nil
	}
	at, graph := r.stagePlace(sp.Stage), sp.Reference.Kind == probes.ReferenceGraph
	switch s := r.entry(sp.Stage); {
	case graph && s != nil && s.referenced:
		return r.m.errorAt(at.sub("reference"),
			"stage %s has no operator that it could be compared with; give it op:, or another reference",
			sp.Stage)
	case sp.Tolerance.Kind == probes.ToleranceDerived:
		return r.m.errorAt(at.sub("tolerance"),
			"stage %s has no operator whose error could be derived; "+expectedTolerance, sp.Stage)
	case graph && sp.Tolerance.Kind != probes.ToleranceUsual:
		return r.m.errorAt(at.sub("tolerance"),
			"stage %s has no operator and no reference that it could be of", sp.Stage)
	}
	return nil
}

// gated takes a stage's arrays from it where they do not hold: they are of a launch into which the host feeds
// nothing, and an argument is complete only where no gate leaves anything out.
func (r *resolver) gated(sp *probes.StagePlan) {
	g := &r.plan.Gate
	if len(g.Injected) == 0 && (!sp.OfLaunch() || g.Name == probes.GateNone) {
		return
	}
	if sp.Reference.Arrays() {
		sp.Reference = probes.Reference{}
		if sp.OfLaunch() {
			sp.Reference.Kind = probes.ReferenceNone
		}
		sp.Tolerance = probes.Tolerance{}
	}
	if sp.Tolerance.Kind == probes.ToleranceBaseline {
		sp.Tolerance = probes.Tolerance{}
	}
}

// KernelReferences lists the references of a manifest that are other kernels.
func (m *Manifest) KernelReferences() []probes.Reference {
	var out []probes.Reference
	add := func(r *probes.Reference) {
		if r != nil && r.Kind == probes.ReferenceKernel && !slices.ContainsFunc(out,
			func(o probes.Reference) bool { return o.SameSource(r) }) {
			out = append(out, *r)
		}
	}
	for i := range m.Stages {
		add(&m.Stages[i].reference)
		add(m.Stages[i].tolerance.Of)
	}
	for i := range m.Args {
		add(&m.Args[i].Reference)
		add(m.Args[i].Tolerance.Of)
	}
	return out
}

// Referenced reports whether a stage or an argument of the manifest may be compared with a reference.
func (m *Manifest) Referenced() bool {
	return slices.ContainsFunc(m.Stages,
		func(s Stage) bool { return s.reference.Kind != probes.ReferenceNone }) ||
		slices.ContainsFunc(m.Args, func(a Arg) bool { return a.Reference.Arrays() })
}
