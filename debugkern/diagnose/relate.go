package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// One wrong line of source shows at many places: a wrong index is a race, a cell that nobody writes, an
// access past the end and a wrong stage at once. So suspects that share a variable, a spoilt stage or a
// fingerprint are one cause, unless trials prove them independent: each, put right alone, leaves the other
// standing, and both put right leave neither.

// unite merges linked suspects that no trial separates. It runs when every suspect has been tried.
func (q *inquiry) unite() error {
	for _, step := range []func() error{q.cover, q.crowd, q.functions} {
		if err := step(); err != nil {
			return err
		}
	}
	group := map[*suspect]*suspect{} // to its representative
	root := func(s *suspect) *suspect {
		for group[s] != nil {
			s = group[s]
		}
		return s
	}
	for _, a := range q.suspects {
		for _, b := range q.suspects {
			q.follow(a, b)
		}
	}
	for i, a := range q.suspects {
		for _, b := range q.suspects[i+1:] {
			if root(a) == root(b) || !q.linked(a, b) {
				continue
			}
			apart, err := q.independent(a, b)
			if err != nil {
				return err
			}
			if !apart || q.sameOperation(a, b) {
				group[root(b)] = root(a)
			}
		}
	}
	var out []*suspect
	for _, s := range q.suspects {
		if root(s) != s {
			continue
		}
		var all []*suspect
		for _, o := range q.suspects {
			if root(o) == s {
				all = append(all, o)
			}
		}
		lead, err := q.combine(all)
		if err != nil {
			return err
		}
		out = append(out, lead)
	}
	q.suspects = out
	for _, step := range []func() error{q.contested, q.rings, q.filled, q.deadlocked} {
		if err := step(); err != nil {
			return err
		}
	}
	return q.everything()
}

// andList is "2 and 3".
func andList(list []int) string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return strings.Join(out, " and ")
}

// linesText is "line 2" or "lines 2 and 3".
func linesText(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("line %d", list[0])
	}
	return "lines " + andList(list)
}

// linked reports whether two suspects may come from one edit: they share a variable, a spoilt stage, a
// fingerprint or cells that are no numbers.
func (q *inquiry) linked(a, b *suspect) bool {
	if a.cause.Kind == kindTable || b.cause.Kind == kindTable {
		return false // a table is wrong by its content, whatever else is
	}
	if q.sameOperation(a, b) || q.follow(a, b) || q.follow(b, a) {
		return true
	}
	if q.storedTogether(a, b) || overwritten(a, b) || overwritten(b, a) || q.endsBlock(a) || q.endsBlock(b) {
		return true
	}
	if slices.Contains(consequences, a.cause.Kind) || slices.Contains(consequences, b.cause.Kind) {
		return false // see follows
	}
	if q.ofOneEdit(a, b) || q.missesThoseParted(a, b) || q.missesThoseParted(b, a) {
		return true
	}
	if a.cause.Kind == kindStage && b.cause.Kind == kindStage { // that they lie in one array says nothing
		return q.samePattern(a, b) || lacksStage(a, b) || lacksStage(b, a) || q.wholeArguments(a, b)
	}
	shared := slices.ContainsFunc(q.variables(a), func(v string) bool {
		return slices.Contains(q.variables(b), v)
	})
	return shared || q.linkedByStage(a, b) || q.linkedByStage(b, a) || q.samePattern(a, b) ||
		q.sameParties(a, b)
}

// wholeArguments reports whether two suspects are arguments that are compared as a whole: nothing says which
// of them is computed from the other, or from what both have in common.
func (q *inquiry) wholeArguments(a, b *suspect) bool {
	return !slices.ContainsFunc(slices.Concat(a.stages, b.stages), func(st probes.Stage) bool {
		sp := q.run.Plan.Stage(st)
		return sp == nil || !sp.OfLaunch()
	})
}

// lacksStage reports whether the cells of a wrong stage lack what another wrong stage should have given them.
func lacksStage(s, of *suspect) bool {
	return s.contrast != nil && slices.ContainsFunc(s.contrast.Missing, func(o debugkern.Operands) bool {
		return slices.Contains(of.stages, probes.Stage(o.Of))
	})
}

// sameOperation reports whether one operation of the source is wrong in two suspects. A trial may correct
// what one of its calls or tiles became and leave the other: that shows nothing then.
func (q *inquiry) sameOperation(a, b *suspect) bool {
	return a.origin != nil && a.origin == b.origin || q.sameRule(a, b) || q.sameDecoder(a, b) ||
		q.neverStoredThere(a, b) || q.neverStoredThere(b, a) || sameMaskOff(a, b) || sameRounding(a, b) ||
		sameFunction(a, b) || madeOfInvalid(a, b) || madeOfInvalid(b, a) ||
		sideBySide(a, b) || sameOperands(a, b) || sameOperands(b, a) || q.mutual(a, b) ||
		lacksCrowded(a, b) || lacksCrowded(b, a) ||
		q.lacksProduct(a, b) || q.lacksProduct(b, a) ||
		q.limited(a, b) || a.reread != nil && b.reread != nil && a.reread.At() == b.reread.At()
}

// madeOfInvalid reports whether the cells of a suspect are made of what an access that cannot be executed
// should have read, and another one is such an access.
func madeOfInvalid(s, access *suspect) bool {
	return s.invalid && (access.cause.Kind == outOfBounds || access.cause.Kind == "misaligned")
}

// sameOperands reports whether the first wrong cells of two stages are the same one, and all that one is made
// of in the place of something else is so in the other too, as by a value that both are computed from.
func sameOperands(a, b *suspect) bool {
	x, y := a.contrast, b.contrast
	if a.cause.Kind != kindStage || b.cause.Kind != kindStage || x == nil || y == nil ||
		len(x.Foreign) == 0 || len(x.Missing) == 0 || x.Cell.Block != y.Cell.Block ||
		x.Cell.KVTile != y.Cell.KVTile || x.Cell.Row != y.Cell.Row || x.Cell.Col != y.Cell.Col {
		return false
	}
	within := func(list, of []debugkern.Operands) bool {
		return !slices.ContainsFunc(list, func(o debugkern.Operands) bool {
			return !slices.ContainsFunc(of, func(p debugkern.Operands) bool {
				return o.Of == p.Of && o.Text == p.Text
			})
		})
	}
	return within(x.Foreign, y.Foreign) && within(x.Missing, y.Missing)
}

// sameRule reports whether the same is wrong with an operation of two stages that one line stores, as of a
// function that several call.
func (q *inquiry) sameRule(a, b *suspect) bool {
	x, y := a.rule, b.rule
	if a.cause.Kind != kindStage || b.cause.Kind != kindStage || x == nil || y == nil || x.Kind != y.Kind ||
		x.Type != y.Type || x.Op != y.Op || x.Name != y.Name || x.Kind == needed.Constant && x.X != y.X {
		return false
	}
	return q.storedByOneLine(a, b)
}

// storedByOneLine reports whether one line stores the first wrong cells of two stages.
func (q *inquiry) storedByOneLine(a, b *suspect) bool {
	x, y := q.doc.Stage(a.cause.Stage), q.doc.Stage(b.cause.Stage)
	if x == nil || y == nil || x.FirstBad == nil || y.FirstBad == nil {
		return false
	}
	s, t := x.FirstBad.Source, y.FirstBad.Source
	return s != nil && t != nil && s.At() == t.At()
}

// sameRounding reports whether one line rounds to an integer what the cells of two stages are made of, or
// gives the value that is wrong in the other.
func sameRounding(a, b *suspect) bool {
	line := func(s *suspect) string {
		switch {
		case s.rounded != nil:
			return s.rounded.At()
		case s.rule != nil && s.rule.Kind == needed.Partial:
			return s.rule.at.At()
		}
		return ""
	}
	return (a.rounded != nil || b.rounded != nil) && line(a) == line(b)
}

// sameDecoder reports whether two stages that are read from inputs are wrong in cells that are made of the
// right elements, and one function computes both.
func (q *inquiry) sameDecoder(a, b *suspect) bool {
	decodes := func(s *suspect) bool {
		sp := q.run.Plan.Stage(probes.Stage(s.cause.Stage))
		return s.cause.Kind == kindStage && sp != nil && sp.Loaded && (s.whole || s.contrast == nil) &&
			s.cause.Place.Source != nil && s.cause.Place.Source.Calls != ""
	}
	return decodes(a) && decodes(b) && q.storedByOneLine(a, b) &&
		a.cause.Place.Source.At() == b.cause.Place.Source.At()
}

// neverStoredThere reports whether cells that nobody writes, and those that keep what they had in the tile
// before, are left out by one line that stores their neighbours.
func (q *inquiry) neverStoredThere(unwritten, stale *suspect) bool {
	if unwritten.cause.Kind != "uninitialised" || unwritten.covered == nil || stale.leftover == nil {
		return false
	}
	w, doc := unwritten.covered.Writer(), q.doc.Stage(stale.cause.Stage)
	return w != nil && doc != nil && doc.FirstBad != nil && doc.FirstBad.Source != nil &&
		doc.FirstBad.Source.At() == w.At()
}

// endsBlock reports whether a suspect is a wgmma whose tile cannot be read: it ends the block, and what is
// not done then, or not awaited, is its doing.
func (q *inquiry) endsBlock(s *suspect) bool {
	if s.cause.Kind != "wgmma" {
		return false
	}
	m := q.doc.Findings[s.cause.Finding].Message
	return strings.Contains(m, "its tile (") || strings.Contains(m, "its matrix descriptor")
}

// overwritten reports whether several threads write the same elements of an output of which nobody writes
// others.
func overwritten(race, unwritten *suspect) bool {
	of := race.cause.Place.Variable
	return race.cause.Kind == "race" && unwritten.cause.Kind == "unwritten" && of != "" &&
		of == unwritten.cause.Place.Variable
}

// follow reports whether a suspect is no more than what another leads to, and marks it: what is not computed
// once warps have left, the NaN that a wrong stage's values end in, an output's cells that nobody wrote.
func (q *inquiry) follow(s, from *suspect) bool {
	if q.cutShort(from, s) && !report.Uncaptures(s.cause.Kind) || q.symptom(s, from) ||
		q.missesThoseParted(s, from) || q.readThere(s, from) ||
		from.cause.Kind == "unwritten" && q.leftUnwritten(from, s) || q.waitsFor(s, from) ||
		q.addedOf(s, from) || q.unorderedByBypass(s, from) {
		s.effect = true
		return true
	}
	return q.cutShort(from, s)
}

// addedOf reports whether an output to which blocks add is right once another wrong stage is replaced by the
// reference: what a block leaves there is judged by its own tiles, and other blocks add of theirs.
func (q *inquiry) addedOf(s, from *suspect) bool {
	if s == from || s.cause.Kind != kindStage || from.cause.Kind != kindStage || from.alone == nil ||
		from.remedy == nil || from.remedy.changes() || !debugkern.AddsFloatsByAtomics(q.run.Entry()) {
		return false
	}
	wrong := wrongStages(from.alone.Report)
	return !slices.ContainsFunc(s.stages, func(st probes.Stage) bool {
		return !q.run.Plan.OutputSet().Has(st) || slices.Contains(wrong, st) || q.inParts(st, from.alone)
	})
}

// readThere reports whether a NaN that no arithmetic made came in by the read that a checker finds wrong:
// what lies past an array, or where nobody has written, need be no number.
func (q *inquiry) readThere(nan, read *suspect) bool {
	if nan.cause.Kind != "nan-origin" || nan.cause.Finding < 0 ||
		!slices.Contains([]string{"uninitialised", "out-of-bounds", "misaligned"}, read.cause.Kind) {
		return false
	}
	f := &q.doc.Findings[nan.cause.Finding]
	if strings.Contains(f.Message, "is made here") || f.Source == nil {
		return false
	}
	return slices.ContainsFunc(read.cause.Findings, func(i int) bool {
		r := &q.doc.Findings[i]
		if r.Source == nil {
			return false
		}
		m := loadedFrom.FindStringSubmatch(f.Message)
		return r.Source.At() == f.Source.At() ||
			m != nil && (m[1] == r.Variable || hasName(bare(q.quoted(r.Source)), m[1])) // it is stored there
	})
}

// variables lists what a suspect's findings are on, the arrays that they run into, and those of its stages.
func (q *inquiry) variables(s *suspect) []string {
	out := slices.Clone(s.cause.Place.Variables)
	add := func(v string) {
		if v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for _, i := range s.cause.Findings {
		f := &q.doc.Findings[i]
		add(f.Variable)
		if f.Kind == "out-of-bounds" || f.Kind == "overlap" {
			add(f.Neighbour)
		}
	}
	return out
}

// linkedByStage reports whether a and b reach cells of one stage that is wrong.
func (q *inquiry) linkedByStage(a, b *suspect) bool {
	if len(a.cause.Findings) == 0 {
		return false
	}
	for _, st := range wrongStages(q.base.Report) {
		if q.reaches(b, st) && (q.reaches(a, st) || a.cause.Kind == "nan-origin" && q.hasNaN(st)) {
			return true
		}
	}
	return false
}

// reaches reports whether a suspect spoils a stage, or may: one whose remedy changes what the kernel does,
// and changes none of the stage's bad cells, does not.
func (q *inquiry) reaches(s *suspect, st probes.Stage) bool {
	if slices.Contains(s.stages, st) {
		return true
	}
	if s.alone != nil && s.remedy.changes() {
		was, now := q.base.Report.Stage(st.String()), s.alone.Report.Stage(st.String())
		return was == nil || now == nil || was.Local != now.Local
	}
	return len(s.cause.Findings) > 0 && q.feeds(s, st)
}

// hasNaN reports whether some of what a stage made is no number.
func (q *inquiry) hasNaN(st probes.Stage) bool {
	doc := q.base.Report.Stage(st.String())
	return doc != nil && doc.Local.Nonfinite > 0
}

// mostlyNaN reports whether most of what is wrong with a stage is no number at all.
func (q *inquiry) mostlyNaN(st probes.Stage) bool {
	doc := q.base.Report.Stage(st.String())
	return doc != nil && doc.Local.Bad > 0 && 2*doc.Local.Nonfinite > doc.Local.Bad
}

// samePattern reports whether two wrong stages show one fingerprint, the name of the carried stage aside.
func (q *inquiry) samePattern(a, b *suspect) bool {
	if a.cause.Kind != kindStage || b.cause.Kind != kindStage {
		return false
	}
	x, y := q.fingerprint(a), q.fingerprint(b)
	if x == nil || y == nil || x.Name != y.Name {
		return false
	}
	tail := func(v string) string {
		if _, after, ok := strings.Cut(v, ", "); ok {
			return after
		}
		return v
	}
	return tail(x.Value) == tail(y.Value)
}

// fingerprint is what the first stage of a suspect looks like; nil where it looks like nothing known.
func (q *inquiry) fingerprint(s *suspect) *report.Fingerprint {
	if doc := q.doc.Stage(s.cause.Stage); doc != nil && s.cause.Kind == kindStage {
		return pattern(doc)
	}
	return nil
}

// sameParties reports whether two suspects are writes of the same cells by the same warps that no
// synchronisation puts right: one wrong index gives both warps the same part of every array that it is used
// for.
func (q *inquiry) sameParties(a, b *suspect) bool {
	curable := func(s *suspect) bool { return s.remedy != nil && s.remedy.changes() }
	if a.cause.Kind != "race" || b.cause.Kind != "race" || curable(a) || curable(b) {
		return false
	}
	x, y := &q.doc.Findings[a.cause.Finding], &q.doc.Findings[b.cause.Finding]
	writes := func(f *report.Finding) bool { return strings.HasPrefix(f.Message, "write-after-write") }
	return writes(x) && writes(y) && len(x.Warps) > 1 && slices.Equal(x.Warps, y.Warps)
}

// independent reports whether trials prove that two suspects have nothing to do with each other.
func (q *inquiry) independent(a, b *suspect) (bool, error) {
	if a.remedy == nil || b.remedy == nil || a.alone == nil || b.alone == nil {
		return false, nil
	}
	switch {
	case !a.remedy.changes() && !b.remedy.changes():
		// The reference in the place of stages changes nothing of what the kernel did before, and does not
		// show whether one edit made both wrong.
		return false, nil
	case !a.remedy.changes():
		a, b = b, a
		fallthrough
	case !b.remedy.changes():
		if !q.untouched(a, b) {
			return false, nil
		}
	}
	if !q.stands(b, a.alone) || b.remedy.changes() && !q.stands(a, b.alone) {
		return false, nil
	}
	both, err := q.try(nil, a.remedy, b.remedy)
	if err != nil || both == nil {
		return false, err
	}
	return !q.stands(a, both, a.remedy, b.remedy) && !q.stands(b, both, a.remedy, b.remedy), nil
}

// untouched reports whether a stage's error is its own although a finding is near: it has a fingerprint,
// which is arithmetic, or the finding is on other variables and putting it right does not change one cell of
// the stage.
func (q *inquiry) untouched(finding, stage *suspect) bool {
	if stage.cause.Kind != kindStage {
		return false
	}
	p := q.fingerprint(stage)
	if p != nil && slices.Contains(arithmetical, p.Name) && !strings.HasPrefix(p.Value, "fitted") {
		return true
	}
	if slices.ContainsFunc(q.variables(finding), func(v string) bool {
		return slices.Contains(stage.cause.Place.Variables, v)
	}) {
		return false
	}
	for _, st := range stage.stages {
		was, now := q.base.Report.Stage(st.String()), finding.alone.Report.Stage(st.String())
		if was == nil || now == nil || was.Local != now.Local {
			return false
		}
	}
	return true
}

// arithmetical are fingerprints that no order of accesses and no wrong address leaves behind.
var arithmetical = []string{"factor", "offset", "term", "operand-transposed"}

// stands reports whether a suspect's findings, or the wrong stages that it is, are in a run;
// put are the remedies of that run.
func (q *inquiry) stands(s *suspect, r *debugkern.Run, put ...*remedy) bool {
	if len(s.cause.Findings) > 0 {
		return slices.ContainsFunc(errorsOf(r.Report), func(f *report.Finding) bool { return q.owns(s, f) })
	}
	wrong := wrongStages(r.Report)
	return slices.ContainsFunc(s.stages, func(st probes.Stage) bool {
		// A replaced stage is captured as the kernel left it.
		replaced := slices.ContainsFunc(put, func(p *remedy) bool {
			return slices.Contains(p.substitute, st)
		})
		return slices.Contains(wrong, st) && !replaced
	})
}

// owns reports whether a finding is one of the suspect's.
func (q *inquiry) owns(s *suspect, f *report.Finding) bool {
	return slices.ContainsFunc(s.cause.Findings, func(i int) bool {
		return identity(f) == identity(&q.doc.Findings[i])
	})
}

// changes reports whether a remedy changes what the kernel does, rather than what later stages are computed
// from.
func (r *remedy) changes() bool { return len(r.substitute) == 0 }

// combine makes one suspect of several: the one that a person should look at first, with the others as what
// else is seen of it.
func (q *inquiry) combine(all []*suspect) (*suspect, error) {
	lead := all[0]
	for _, s := range all[1:] {
		if cmp.Or(cmp.Compare(q.rootRank(s), q.rootRank(lead)), cmp.Compare(q.vague(s), q.vague(lead))) < 0 {
			lead = s
		}
	}
	if i := slices.IndexFunc(all, func(o *suspect) bool { return q.hidden(o, lead) }); i >= 0 {
		lead = all[i] // it names the comparison
	}
	if lead.origin != nil && slices.Contains(all, lead.origin.lead) {
		lead = lead.origin.lead
	}
	if len(all) == 1 {
		return lead, nil
	}
	if lead.cause.Kind == "mbarrier" && lead.cause.why == "" {
		lead.cause.why = q.doc.Findings[lead.cause.Finding].Message
	}
	var stages []probes.Stage
	for _, s := range all {
		for _, st := range s.stages {
			if !slices.Contains(stages, st) {
				stages = append(stages, st)
			}
		}
	}
	stages = q.run.Plan.Ordered(stages)
	lead.stages = stages
	if err := q.cureAll(lead, all); err != nil {
		return nil, err
	}
	for _, s := range all {
		if s == lead {
			continue
		}
		lead.warpwide = cmp.Or(lead.warpwide, s.warpwide)
		if lead.cause.why == "" || tookBeyond(lead, s) && s.cause.why != "" {
			if lead.cause.Kind == kindStage || !strings.HasPrefix(s.cause.why, "the manifest has ") {
				lead.cause.because(s.cause.why) // what a stage should be says nothing of a finding
			}
		}
		if at, says := q.limitAt(lead, s); at != nil && lead.cause.Place.Other == nil {
			lead.cause.Place.Other = at
			lead.because(says)
		}
		q.besides(lead, s)
		lead.cause.Findings = append(lead.cause.Findings, s.cause.Findings...)
		if !q.poisoned(lead, s) {
			lead.cause.With = append(lead.cause.With, s.cause.Title)
		}
		lead.cause.With = append(lead.cause.With, s.cause.With...)
		if s.cause.Kind == kindStage {
			lead.cause.Proof = append(lead.cause.Proof, s.cause.Proof...)
		}
		lead.members = append(lead.members, s)
	}
	return lead, nil
}

// poisoned reports whether a suspect is a NaN that no arithmetic made, in a kernel with accesses that a
// checker finds wrong: what those read is no number.
func (q *inquiry) poisoned(lead, s *suspect) bool {
	return s.cause.Kind == "nan-origin" && slices.Contains(addressKinds, lead.cause.Kind) &&
		strings.Contains(q.doc.Findings[s.cause.Finding].Message, "made by no arithmetic")
}

// cureAll finds what puts all of a combined cause right: the remedy of one of its parts that leaves none of
// them, else the reference in the place of every stage that they spoil.
func (q *inquiry) cureAll(lead *suspect, all []*suspect) error {
	for _, s := range append([]*suspect{lead}, all...) {
		if s.alone != nil && s.remedy.changes() &&
			!slices.ContainsFunc(all, func(o *suspect) bool { return q.stands(o, s.alone) }) {
			lead.remedy, lead.alone = s.remedy, s.alone
			return nil
		}
	}
	if ok, err := q.bothWays(lead, all); err != nil || ok {
		return err
	}
	lead.partial, lead.partly = lead.remedy, lead.alone
	lead.remedy, lead.alone = nil, nil
	if len(lead.stages) > 0 {
		if err := q.replaced(lead, lead.stages); err != nil {
			return err
		}
	}
	for _, s := range all {
		if s.alone != nil &&
			(lead.alone == nil || q.damage(s.alone.Report).weight() < q.damage(lead.alone.Report).weight()) {
			lead.remedy, lead.alone = s.remedy, s.alone
		}
	}
	return nil
}

// rootRank orders the parts of one cause by how near they are to the edit that made them: what goes where it
// should not, before what is then missing, before what is computed from it.
func (q *inquiry) rootRank(s *suspect) int {
	order := []string{
		"ends", "loop-ended", "not-captured", "barrier", "deadlock", "out-of-bounds", "misaligned", "overlap",
		"layout", "mbarrier", "exclusive", "cp-async", "race", "wgmma",
		"made", "uninitialised",
		kindStage,
	}
	kind := s.cause.Kind
	switch {
	case s.effect:
		return len(order) + 1
	case q.endsBlock(s):
		if kind = "ends"; q.readOtherwise() {
			kind = "wgmma" // that is why it is read beyond its end
		}
	case kind == "race" && s.exclusive:
		kind = "exclusive"
	case kind == "misaligned" && s.across:
		return slices.Index(order, outOfBounds) - 1 // it is in many rows, and past the end in the last alone
	case kind == "nan-origin" && (strings.Contains(q.doc.Findings[s.cause.Finding].Message, "is made here") ||
		q.nanConstants(s) != nil):
		kind = "made"
	}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// readOtherwise reports whether an operand of a product is read in another layout than it was copied in.
func (q *inquiry) readOtherwise() bool {
	return slices.ContainsFunc(q.doc.Findings, func(f report.Finding) bool {
		return f.Kind == "layout" && readSwizzled.MatchString(f.Message)
	})
}

// vague orders wrong stages by how much is known of why: the operation, what it is made of or looks like,
// nothing.
func (q *inquiry) vague(s *suspect) int {
	switch {
	case s.cause.Kind != kindStage, s.remedy != nil && s.remedy.edits != nil && !s.borrowed:
		return 0
	case s.contrast != nil || q.fingerprint(s) != nil:
		return 1
	}
	return 2
}

// unlisted says which parts of a cause its remedy leaves, and why they are no causes of their own.
func (q *inquiry) unlisted(s *suspect) []string {
	var out []string
	for _, o := range s.members {
		if len(o.cause.Findings) == 0 {
			continue
		}
		if s.alone != nil && s.remedy.changes() && !q.stands(o, s.alone) {
			out = append(out, fmt.Sprintf("%s goes with it", o.cause.Title))
		} else if s.tried+o.tried > 0 {
			out = append(out, fmt.Sprintf("%s: no trial fixes one and leaves the other", o.cause.Title))
		}
	}
	return out
}
