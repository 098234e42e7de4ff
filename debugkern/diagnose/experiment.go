package diagnose

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// chooseBlocks picks the blocks that experiments execute, and runs them once as they are: of a large grid
// those of the findings and of the first bad cells, then the first ones.
func (q *inquiry) chooseBlocks() error {
	q.base = q.run
	all := q.run.Blocks()
	most := mostBlocks(q.run.Entry())
	if len(all) <= most || !q.troubled() {
		return nil
	}
	if q.nan != nil {
		q.blocks = append(q.blocks, *q.nan)
	}
	add := func(b probes.Dim3) {
		if len(q.blocks) < most && slices.Contains(all, b) && !slices.Contains(q.blocks, b) {
			q.blocks = append(q.blocks, b)
		}
	}
	var traced []string // arguments of which it is known who wrote the first wrong cell
	for _, g := range q.doc.Guilty {
		st := q.run.Plan.Stage(probes.Stage(g.Stage))
		doc := q.doc.Stage(g.Stage)
		if st == nil || !st.OfLaunch() || doc == nil || doc.FirstBad == nil {
			add(g.Block)
			continue
		}
		if slices.Contains(traced, g.Stage) {
			continue
		}
		traced = append(traced, g.Stage)
		w, err := q.run.Writer(q.ctx, debugkern.Cell{
			Place: debugkern.Place{Stage: st.Stage}, Row: doc.FirstBad.Row, Col: doc.FirstBad.Col,
		}) // an argument's cell is of no block: of the one that wrote it
		if err != nil && q.ctx.Err() != nil {
			return err
		}
		if w != nil && w.Block != nil {
			add(*w.Block)
		}
	}
	for i := range q.doc.Findings {
		if q.doc.Findings[i].Severity == severityError {
			add(q.doc.Findings[i].Block)
		}
	}
	for _, b := range all {
		add(b)
	}
	base, err := q.watch(q.run, debugkern.Trial{Blocks: q.blocks, Check: checkers})
	if err != nil {
		q.blocks = nil
		return q.fatal(err)
	}
	if q.run.Report.Cost.WarpInstructions <= wholeGrid && q.unseenOf(base) {
		q.blocks = nil
		return nil
	}
	q.base = base
	return nil
}

// wholeGrid is how many warp instructions a run executes at most of which experiments execute all blocks,
// where a part of them does not show what is wrong.
const wholeGrid = 50_000_000

// unseenOf reports whether a run of some blocks compares nothing of a stage that is wrong in the run: sums of
// all blocks are none of these.
func (q *inquiry) unseenOf(base *debugkern.Run) bool {
	return slices.ContainsFunc(wrongStages(q.run.Report), func(st probes.Stage) bool {
		doc := base.Report.Stage(st.String())
		return doc == nil || doc.Local.Cells == 0
	})
}

// troubled reports whether there is anything to explain.
func (q *inquiry) troubled() bool {
	return q.doc.Verdict != report.Agree || len(errorsOf(&q.doc.Run)) > 0
}

// apply executes the kernel with remedies in place, on the given blocks (nil: those of experiments).
func (q *inquiry) apply(blocks []probes.Dim3, remedies ...*remedy) (*debugkern.Run, error) {
	run := q.run
	t := debugkern.Trial{Blocks: blocks, Check: checkers}
	if blocks == nil {
		t.Blocks = q.blocks
	}
	var without []string
	for _, r := range remedies {
		if r.without != "" && !slices.Contains(without, r.without) {
			without = append(without, r.without)
		}
	}
	if len(without) > 0 {
		var err error
		if run, err = q.twin(without); err != nil || run == nil {
			return nil, errors.Join(err, errNoTwin)
		}
	}
	for _, r := range remedies {
		if r.edits != nil {
			t.Edits = append(t.Edits, r.edits(run)...)
		}
		t.Substitute = append(t.Substitute, r.substitute...)
		if r.build != nil {
			t.Build, t.Variant = r.build, r.variant
		}
	}
	if len(without) > 0 && len(t.Edits)+len(t.Substitute) == 0 && t.Blocks == nil {
		return run, nil
	}
	return q.watch(run, t)
}

// watch makes a trial under the checkers that watched the run, the origin of NaN among them
// where the run has one.
func (q *inquiry) watch(run *debugkern.Run, t debugkern.Trial) (*debugkern.Run, error) {
	r, err := q.trial(run, t)
	if err != nil {
		return nil, err
	}
	found, err := q.originsIn(run, t)
	if err != nil {
		return nil, err
	}
	r.Report.Findings = append(r.Report.Findings, found...)
	return r, nil
}

var errNoTwin = errors.New("the kernel without the fault cannot be built here")

// twin runs the same kernel without some of its planted faults; nil where it cannot be built.
func (q *inquiry) twin(without []string) (*debugkern.Run, error) {
	key := strings.Join(without, " ")
	if r, ok := q.twins[key]; ok {
		return r, nil
	}
	sel := q.run.Selection
	req := q.run.Request
	req.Check, req.Plain, req.Backend = checkers, false, "emu"
	req.Set, req.Faults = map[string]string{}, nil
	for name, value := range maps.All(sel.Flags) {
		req.Set[name] = fmt.Sprint(value)
	}
	for _, f := range sel.Faults {
		if !slices.Contains(without, f) {
			req.Faults = append(req.Faults, f)
		}
	}
	if req.Target = sel.Manifest.Name; sel.Manifest.Dir != "" {
		req.Target = filepath.Join(sel.Manifest.Dir, filepath.Base(sel.Manifest.File))
	}
	r, err := q.s.Run(q.ctx, req, q.progress)
	if err != nil {
		if err = q.fatal(err); err != nil {
			return nil, err
		}
		r = nil
	}
	if r != nil {
		found, err := q.originsIn(r, debugkern.Trial{})
		if err != nil {
			return nil, err
		}
		r.Report.Findings = append(r.Report.Findings, found...)
	}
	q.twins[key] = r
	return r, nil
}

// experiment tries the remedies of each suspect, merges suspects that go together, and runs what is left with
// everything put right that can be.
func (q *inquiry) experiment() error {
	for _, s := range q.suspects {
		if s.gone {
			continue
		}
		if err := q.cure(s); err != nil {
			return err
		}
		var err error
		if s.unvisited, err = q.unvisited(s); err != nil {
			return err
		}
		if s.leftWait, err = q.unreachedWait(s); err != nil {
			return err
		}
		if s.atOnce, err = q.overAtOnce(s); err != nil {
			return err
		}
		if s.tooEarly, err = q.releasedEarly(s); err != nil {
			return err
		}
		q.merge(s)
	}
	q.oneIndex()
	for _, s := range q.suspects {
		if !s.gone {
			if err := q.beyond(s); err != nil {
				return err
			}
			if err := q.strayed(s); err != nil {
				return err
			}
		}
		q.unwritten(s)
	}
	q.suspects = slices.DeleteFunc(q.suspects, func(s *suspect) bool { return s.gone })
	return q.together()
}

// maxCures is how many remedies of one strength that work are compared.
const maxCures = 4

// merit is how good a remedy is: does it leave the output no further off, how many stages does it leave
// wrong, how many findings, and how much does it stop.
type merit [4]int

// cure looks for the remedy that makes the suspect's findings go, brings no other error, and leaves least
// wrong; of those, for the weakest. A synchronisation may stand at several places between two lines: behind a
// probe that needs it as well it makes the finding go and leaves what the probe saw wrong; and one place
// orders more than another. A table's only has to change something for the better. Where no synchronisation
// does, an edit of an index or a bound may (access).
func (q *inquiry) cure(s *suspect) error {
	for _, step := range []func(*suspect) error{
		q.pitched, q.overran, q.reswizzle, q.oneLaneArrives, q.recounted, q.await, q.remedied, q.skip,
		q.withoutFault, q.cleared, q.part, q.arrive, q.waitStale, q.widened, q.wrapped, q.access,
	} {
		was := s.cause
		err := step(s)
		if err == nil {
			err = q.advisable(s, was)
		}
		if err != nil || s.remedy != nil {
			return err
		}
	}
	return nil
}

// remedied is cure by changes of synchronisation, or of a table, alone.
func (q *inquiry) remedied(s *suspect) error {
	one := []probes.Dim3{s.cause.Place.Block}
	var best merit
	tried := map[int]int{} // by strength
	for i := range s.candidates {
		r := &s.candidates[i]
		strength := r.strength()
		if tried[strength] == maxCures {
			continue
		}
		if len(s.cause.Findings) > 0 {
			quick, err := q.try(one, r)
			if err != nil {
				return err
			}
			if quick != nil {
				s.tried++
			}
			if quick == nil || !q.cured(s, quick) {
				continue
			}
		}
		alone, err := q.try(nil, r)
		if err != nil {
			return err
		}
		if alone == nil || !q.cured(s, alone) {
			continue
		}
		m := merit{0, len(wrongStages(alone.Report)), len(identities(errorsOf(alone.Report))), strength}
		if q.worse(alone) {
			m[0] = 1
		}
		if s.remedy == nil || slices.Compare(m[:], best[:]) < 0 {
			s.remedy, s.alone, best = r, alone, m
		}
		if tried[strength]++; m[0]+m[1]+m[2] == 0 || s.cause.Kind == kindTable {
			break
		}
	}
	return nil
}

// identities is what different findings there are.
func identities(fs []*report.Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range fs {
		out[identity(f)] = true
	}
	return out
}

// worse reports whether the output of a run is further off than that of the kernel as it is.
func (q *inquiry) worse(r *debugkern.Run) bool {
	was, now := q.damage(q.base.Report), q.damage(r.Report)
	return now.stage == was.stage && now.weight() > was.weight()
}

// try is apply whose failure is no more than an experiment that cannot be made: then there is no run.
func (q *inquiry) try(blocks []probes.Dim3, remedies ...*remedy) (*debugkern.Run, error) {
	r, err := q.apply(blocks, remedies...)
	if err != nil {
		return nil, q.fatal(err)
	}
	return r, nil
}

// withoutFault tries the clean twin: the same flags with one planted fault left out.
func (q *inquiry) withoutFault(s *suspect) error {
	for _, f := range q.run.Selection.Faults {
		r := &remedy{text: "without fault " + f + " (all else the same)", without: f}
		alone, err := q.try(nil, r)
		if err != nil {
			return err
		}
		if alone != nil && q.cured(s, alone) {
			s.remedy, s.alone = r, alone
			return nil
		}
		if alone != nil {
			s.tried++
		}
	}
	return nil
}

// cured reports whether a suspect's findings are absent from a run that has no error the base has not.
func (q *inquiry) cured(s *suspect, r *debugkern.Run) bool {
	if len(s.cause.Findings) == 0 {
		return q.improves(r)
	}
	for _, f := range errorsOf(r.Report) {
		if !q.known(f) {
			return false
		}
		for _, i := range s.cause.Findings {
			if identity(f) == identity(&q.doc.Findings[i]) {
				return false
			}
		}
	}
	if r.Report.Verdict == report.Failed || reached(r.Report) < reached(q.base.Report) {
		return false
	}
	was := wrongStages(q.base.Report)
	return !slices.ContainsFunc(wrongStages(r.Report), func(st probes.Stage) bool {
		return !slices.Contains(was, st) && !q.inParts(st, r)
	})
}

// inParts reports whether a run has a part of an output alone: blocks add to it, and not all were executed.
func (q *inquiry) inParts(st probes.Stage, r *debugkern.Run) bool {
	return len(r.Blocks()) < len(q.base.Blocks()) && q.run.Plan.OutputSet().Has(st) &&
		debugkern.AddsFloatsByAtomics(q.run.Entry())
}

// reached counts the stages that execution got to.
func reached(rep *report.Run) int {
	n := 0
	for i := range rep.Stages {
		if rep.Stages[i].Verdict != report.Off {
			n++
		}
	}
	return n
}

// improves reports whether some stage has fewer locally bad cells than in the base.
func (q *inquiry) improves(r *debugkern.Run) bool {
	better := false
	for i := range r.Report.Stages {
		now := &r.Report.Stages[i]
		was := q.base.Report.Stage(now.Name)
		if was == nil {
			continue
		}
		better = better || now.Local.Bad < was.Local.Bad
	}
	return better
}

// unwritten takes in the reads before a write that nothing could put right, on a variable whose writes
// this suspect loses.
func (q *inquiry) unwritten(s *suspect) {
	if s.gone ||
		!slices.Contains([]string{"out-of-bounds", "misaligned", "barrier", "deadlock", "overlap"},
			s.cause.Kind) {
		return
	}
	for _, o := range q.suspects {
		if o.gone || o.remedy != nil || o.cause.Kind != "uninitialised" ||
			!slices.Contains(s.cause.Place.Variables, o.cause.Place.Variable) {
			continue
		}
		o.gone = true
		s.cause.Findings = append(s.cause.Findings, o.cause.Findings...)
		s.cause.Proof = append(s.cause.Proof, o.cause.Title+": cells that it does not write")
	}
}

// merge takes in the suspects that go with this one: the same missing synchronisation seen at another
// variable, or what follows from this.
func (q *inquiry) merge(s *suspect) {
	if s.alone == nil {
		return
	}
	for _, o := range q.suspects {
		if o == s || o.gone || len(o.cause.Findings) == 0 || !q.cured(o, s.alone) {
			continue
		}
		if o.alone != nil && s.remedy.without != "" {
			// a fault may be more than one edit; an edit with a remedy of its own is reported by that remedy
			continue
		}
		o.gone = true
		switch {
		case o.cause.Kind == s.cause.Kind || o.cause.Kind == "cp-async" && s.cause.Kind == "race":
			for _, v := range o.cause.Place.Variables {
				if !slices.Contains(s.cause.Place.Variables, v) {
					s.cause.Place.Variables = append(s.cause.Place.Variables, v)
				}
			}
			s.cause.Findings = append(s.cause.Findings, o.cause.Findings...)
			q.describe(s)
		default:
			s.cause.Findings = append(s.cause.Findings, o.cause.Findings...)
			s.cause.Proof = append(s.cause.Proof, fmt.Sprintf("%s goes with it", o.cause.Title))
		}
	}
	if s.cause.Finding < 0 && len(s.cause.Findings) > 0 {
		s.cause.Finding = s.cause.Findings[0]
	}
}

// together runs the kernel with everything put right that could be, and finds which stages went
// with which suspect.
func (q *inquiry) together() error {
	q.joint = q.base
	var all []*remedy
	for _, s := range q.suspects {
		if s.remedy != nil {
			all = append(all, s.remedy)
		}
	}
	if len(all) == 0 {
		return nil
	}
	joint := q.suspectsOnly().alone
	if len(all) > 1 {
		var err error
		if joint, err = q.try(nil, all...); err != nil || joint == nil {
			return err
		}
	}
	q.joint = joint
	for _, s := range q.suspects {
		if err := q.attribute(s, all); err != nil {
			return err
		}
	}
	return nil
}

// suspectsOnly is the first suspect with a remedy.
func (q *inquiry) suspectsOnly() *suspect {
	return q.suspects[slices.IndexFunc(q.suspects, func(s *suspect) bool { return s.remedy != nil })]
}

// attribute finds the stages that a suspect spoils: those that are right once it alone is put right, and
// those still wrong when everything else is.
func (q *inquiry) attribute(s *suspect, all []*remedy) error {
	if s.remedy == nil {
		return nil
	}
	still := wrongStages(s.alone.Report)
	for _, st := range wrongStages(q.base.Report) {
		if !slices.Contains(still, st) && !slices.Contains(s.stages, st) {
			s.stages = append(s.stages, st)
		}
	}
	if len(all) < 2 {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(all), func(r *remedy) bool { return r == s.remedy })
	rest, err := q.try(nil, others...)
	if err != nil || rest == nil {
		return err
	}
	for _, st := range wrongStages(rest.Report) {
		if !slices.Contains(s.stages, st) && !slices.Contains(wrongStages(q.joint.Report), st) {
			s.stages = append(s.stages, st)
		}
	}
	s.stages = q.run.Plan.Ordered(s.stages)
	return nil
}
