package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// arithmetic makes a cause of every stage that is still wrong when everything that could be put right
// was, unless a suspect that nothing could put right explains it; and proves by counterfactual what
// each of them spoils.
func (q *inquiry) arithmetic() error {
	for _, s := range q.suspects {
		if s.remedy != nil && s.remedy.without != "" && len(s.stages) > 0 && s.cause.Kind != "race" {
			if err := q.entrance(s); err != nil {
				return err
			}
		}
	}
	was := wrongStages(q.base.Report)
	wrong := slices.DeleteFunc(wrongStages(q.joint.Report), func(st probes.Stage) bool {
		return !slices.Contains(was, st)
	})
	groups := q.stageGroups(wrong) // of what is wrong without any change too
	var made []*suspect
	for _, group := range groups {
		if s := q.explains(group); s != nil {
			s.stages = append(s.stages, group...)
			if err := q.replaced(s, group); err != nil {
				return err
			}
			if err := q.beforeNaN(s, group); err != nil {
				return err
			}
			continue
		}
		s := q.stageSuspect(group)
		q.suspects, made = append(q.suspects, s), append(made, s)
		if err := q.operands(s, group[0]); err != nil {
			return err
		}
	}
	if err := q.addresses(); err != nil {
		return err
	}
	// What puts a mask right puts a maximum over the same scores right too, which does not look like one.
	slices.SortStableFunc(made, func(a, b *suspect) int {
		return cmp.Compare(q.unmasked(a), q.unmasked(b))
	})
	for _, s := range made {
		if err := q.proven(s); err != nil {
			return err
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return q.everything()
}

// beforeNaN looks for the operation before the one that makes the first NaN or infinity, or the one that
// reads what nobody wrote: with an edit of it the stages are right, and no number leaves its range.
func (q *inquiry) beforeNaN(s *suspect, group []probes.Stage) error {
	// An asynchronous product reads memory by what its operands say of the layout.
	product := s.cause.Kind == "uninitialised" && q.anyAt(s.cause.Place.Source, func(in *ptx.Instr) bool {
		return in.Kind() == isa.WgmmaMultiply
	})
	if s.cause.Kind != "nan-origin" && !product || s.remedy != nil && s.remedy.changes() {
		return nil
	}
	remedy, alone := s.remedy, s.alone
	t := &suspect{stages: group, cause: Cause{Stage: group[0].String(), Place: s.cause.Place}}
	if err := q.operation(t, group); err != nil {
		return err
	}
	if t.remedy == nil || t.cause.Place.Source == nil {
		return q.madeByFormula(s, group[0])
	}
	if s.remedy, s.alone, s.beyond = t.remedy, t.alone, t.beyond; !s.remedy.changes() || t.refuted {
		s.remedy, s.alone, s.beyond = remedy, alone, ""
		return q.madeByFormula(s, group[0])
	}
	s.cause.Title += t.cause.Title
	s.cause.Place.Source, s.cause.Place.Other = t.cause.Place.Source, s.cause.Place.Source
	s.cause.Advice, s.cause.Rewrite = t.cause.Advice, t.cause.Rewrite
	return nil
}

// madeByFormula compares the formula by which a NaN or infinity was computed with the manifest's.
func (q *inquiry) madeByFormula(s *suspect, st probes.Stage) error {
	doc := q.doc.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || s.cause.why != "" || s.cause.Finding < 0 ||
		!strings.Contains(q.doc.Findings[s.cause.Finding].Message, "is made here") {
		return nil // what an input has no arithmetic made
	}
	at := s.cause.Place.Source
	if err := q.formula(s, st, doc.FirstBad); err != nil || s.cause.why == "" || s.cause.Advice != "" ||
		at == nil {
		return err
	}
	look := fmt.Sprintf("look at what the operands at %s are computed as", callText(at))
	s.cause.Advice = q.citing(look, ": ", at)
	return nil
}

// unmasked is 0 for a suspect with a stage that looks like a mask that is off, else 1.
func (q *inquiry) unmasked(s *suspect) int {
	if slices.ContainsFunc(s.stages, q.looksMasked) {
		return 0
	}
	return 1
}

// proven looks for what puts the stages of a suspect right: an edit that was found for another, an edit of
// its own, else the reference's tiles in their place, else a gate shows that the error is made there.
func (q *inquiry) proven(s *suspect) error {
	if o := q.rightWith(s); o != nil {
		s.remedy, s.alone, s.borrowed = o.remedy, o.alone, true
		return nil
	}
	if s.origin == nil || s.origin.lead == s {
		if err := q.neverStored(s); err != nil {
			return err
		}
		if err := q.operation(s, s.stages); err != nil {
			return err
		}
		if err := q.computedAt(s); err != nil {
			return err
		}
	}
	if err := q.replaced(s, s.stages); err != nil || s.alone != nil {
		return err
	}
	return q.gated(s, s.stages[0])
}

// everything runs the kernel with the stages replaced too, where more than one suspect can be put right.
func (q *inquiry) everything() error {
	var all []*remedy
	for _, s := range q.suspects {
		if s.remedy != nil {
			all = append(all, s.remedy)
		}
	}
	if len(all) < 2 {
		return nil
	}
	joint, err := q.try(nil, all...)
	if err != nil || joint == nil {
		return err
	}
	q.joint = joint
	return nil
}

// rightBut reports whether nothing is wrong in the joint run but the stages that were replaced, as
// the kernel left them.
func (q *inquiry) rightBut() bool {
	replaced := map[probes.Stage]bool{}
	for _, s := range q.suspects {
		if s.remedy != nil {
			for _, st := range s.remedy.substitute {
				replaced[st] = true
			}
		}
	}
	rep := q.joint.Report
	if q.joint == q.base || len(errorsOf(rep)) > 0 {
		return false
	}
	for i := range rep.Stages {
		st := probes.Stage(rep.Stages[i].Name)
		if v := rep.Stages[i].Verdict; !replaced[st] && (v == report.Wrong || v == report.Tainted) {
			return false
		}
	}
	return true
}

// stageGroups splits wrong stages into those with a reason of their own. A stage belongs to the group of one
// that it is computed from where both show the same pattern, or both first went wrong in the same tile and
// neither shows one: the kernel keeps such values in registers, so that the stage that was captured need not
// be what the next was computed from. A stage that belongs to several groups makes them one.
func (q *inquiry) stageGroups(wrong []probes.Stage) [][]probes.Stage {
	var groups [][]probes.Stage
	for _, s := range wrong {
		var one []probes.Stage // the groups that s belongs to, and s
		groups = slices.DeleteFunc(groups, func(g []probes.Stage) bool {
			its := slices.ContainsFunc(g, func(o probes.Stage) bool {
				return q.related(o, s) || q.through(o, s)
			})
			if its {
				one = append(one, g...)
			}
			return its
		})
		groups = append(groups, append(one, s))
	}
	slices.SortStableFunc(groups, func(a, b []probes.Stage) int { return q.order(a[0]) - q.order(b[0]) })
	return groups
}

// order is where a stage stands among those that are guilty: by kv tile, then stage.
func (q *inquiry) order(s probes.Stage) int {
	i := slices.IndexFunc(q.doc.Guilty, func(g report.Guilty) bool { return g.Stage == s.String() })
	if i < 0 {
		return len(q.doc.Guilty)
	}
	return i
}

func (q *inquiry) related(first, then probes.Stage) bool {
	sp, a, b := q.run.Plan.Stage(then), q.doc.Stage(first.String()), q.doc.Stage(then.String())
	if sp == nil || a == nil || b == nil || a.FirstBad == nil || b.FirstBad == nil {
		return false
	}
	siblings, apart := q.siblings(first, then)
	p, o := pattern(a), pattern(b)
	same := p != nil && o != nil && p.Name == o.Name && p.Value == o.Value
	if same && (sp.From.Has(first) || siblings) {
		return true
	}
	// What is carried on shows a tile later: at the first one it is multiplied with nothing.
	if late := b.FirstBad.KVTile - a.FirstBad.KVTile; late != 0 && !(late == 1 && sp.From.Has(then)) ||
		a.FirstBad.Block != b.FirstBad.Block {
		return false
	}
	if apart && (p == nil || o == nil) {
		// l is the sum of the exponentials that P is made of: a pattern of the one leaves none in the other
		return true
	}
	return (sp.From.Has(first) || siblings) && p == nil && o == nil
}

// siblings reports whether two stages are made of the same others, and if so whether apart from
// each other as well.
func (q *inquiry) siblings(a, b probes.Stage) (siblings, apart bool) {
	x, y := probes.StageSet(q.before(a)), probes.StageSet(q.before(b))
	both := probes.StagesOf(a, b)
	p, o := x.Without(both), y.Without(both)
	siblings = p != nil && p.Without(o) == nil && o.Without(p) == nil
	return siblings, siblings && !x.Has(b) && !y.Has(a)
}

// through reports whether a stage is computed from another by way of stages alone that nobody saw: judged
// with the reference's in their place, it is wrong because the other is.
func (q *inquiry) through(first, then probes.Stage) bool {
	seen, most := q.doc.Judged().Captured(), len(q.run.Plan.Definitions())
	var from func(s probes.Stage, depth int) bool
	from = func(s probes.Stage, depth int) bool {
		return depth < most && slices.ContainsFunc(q.before(s), func(o probes.Stage) bool {
			return o == first && depth > 0 || !seen.Has(o) && from(o, depth+1)
		})
	}
	return q.run.Plan.Gate.Name == probes.GateNone && from(then, 0)
}

// pattern is a stage's best fingerprint where it explains most of what is wrong. Cells that are no numbers
// fit anything that is none.
func pattern(st *report.Stage) *report.Fingerprint {
	if 2*st.Local.Nonfinite > st.Local.Bad {
		return nil
	}
	if len(st.Fingerprints) > 0 && st.Fingerprints[0].Explains >= 0.9 {
		return &st.Fingerprints[0]
	}
	return nil
}

// stale reports whether the wrong cells of a stage are as the kv tile before has them.
func stale(st *report.Stage) bool {
	p := pattern(st)
	return p != nil && p.Name == "previous-tile"
}

// explains returns the suspect without a remedy whose variable holds the stage, or what the stage is computed
// from, or that is met while the stage is made.
func (q *inquiry) explains(group []probes.Stage) *suspect {
	for _, s := range q.suspects {
		if s.remedy != nil || len(s.cause.Findings) == 0 {
			continue
		}
		if s.cause.Kind == "nan-origin" && q.tooLate(s, group[0]) {
			continue // the first of them was wrong before
		}
		for _, st := range group {
			if s.cause.Kind == "nan-origin" && (q.tooLate(s, st) || q.mostlyNumbers(s, st)) {
				continue
			}
			if q.feeds(s, st) || s.cause.Kind == "nan-origin" && q.mostlyNaN(st) {
				return s
			}
		}
	}
	return nil
}

// valueKinds are kinds of findings that put another value in the place of the right one.
var valueKinds = []string{
	"uninitialised", "out-of-bounds", "misaligned", "nan-origin", "overlap", "race", "cp-async",
	"barrier", "deadlock",
	"shuffle", "trap",
}

func (q *inquiry) feeds(s *suspect, st probes.Stage) bool {
	plan := q.run.Plan
	if !slices.Contains(valueKinds, s.cause.Kind) {
		return false
	}
	from := probes.StagesOf(st)
	if sp := plan.Stage(st); sp != nil {
		from = from.Union(sp.From)
	}
	for i := range plan.Stages {
		sp := &plan.Stages[i]
		if from.Has(sp.Stage) &&
			(sp.Array != "" && q.touches(s, sp.Array) ||
				sp.Capture.Output != "" && q.touches(s, sp.Capture.Output)) {
			return true
		}
	}
	for _, i := range s.cause.Findings {
		if read := q.tensorOf(q.doc.Findings[i].Variable); read.Meets(from) {
			return true
		}
	}
	return q.madeBy(s, st)
}

// touches reports whether a suspect's findings are on an array, or spoil it as a neighbour.
func (q *inquiry) touches(s *suspect, array string) bool {
	for _, i := range s.cause.Findings {
		f := &q.doc.Findings[i]
		if f.Variable == array || strings.Contains(f.Neighbour, array) {
			return true
		}
	}
	return false
}

// tensorOf is the stage that decodes the tensor in a kernel's argument, none for any other variable.
func (q *inquiry) tensorOf(variable string) probes.StageSet {
	for _, a := range q.run.Plan.Args {
		if a.Name == variable && variable != "" {
			st := probes.Stage(strings.TrimSuffix(a.Tensor, "s"))
			if sp := q.run.Plan.Definition(st); sp != nil && sp.Loaded && a.Role == probes.RoleInput {
				return probes.StagesOf(st)
			}
		}
	}
	return nil
}

// ancestors is a stage and all that it is computed from, directly or through others.
func (q *inquiry) ancestors(st probes.Stage) probes.StageSet {
	set := probes.StagesOf(st)
	for i := 0; i < len(set); i++ {
		if sp := q.run.Plan.Stage(set[i]); sp != nil {
			set = set.Union(sp.From)
		}
	}
	return set
}

// holds is the stages that a variable's data belong to: those kept in a shared array, that of an input
// tensor; nil where the plan does not tie the variable to any.
func (q *inquiry) holds(variable string) probes.StageSet {
	set := q.tensorOf(variable)
	for i := range q.run.Plan.Stages {
		if sp := &q.run.Plan.Stages[i]; sp.Array != "" && sp.Array == variable {
			set = set.Union(probes.StagesOf(sp.Stage))
		}
	}
	return set
}

// madeBy reports whether a finding lies in the code that makes the stage: between what wrote the stage
// before it and what wrote its first bad cell, in program order, at the same call sites of inlined code.
// A finding on data that the stage does not depend on is no part of that, wherever it stands: one
// function often loads all tensors.
func (q *inquiry) madeBy(s *suspect, st probes.Stage) bool {
	fn, doc := q.run.Entry(), q.doc.Stage(st.String())
	if fn == nil || doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil {
		return false
	}
	to := instructionsAt(fn, doc.FirstBad.Source)
	if len(to) == 0 {
		return false
	}
	begin := q.lastBarrier(to[len(to)-1])
	for _, i := range s.cause.Findings {
		f := &q.doc.Findings[i]
		if f.Source == nil || f.KVTile >= 0 && doc.FirstBad.KVTile >= 0 && f.KVTile > doc.FirstBad.KVTile {
			continue
		}
		if on := q.holds(f.Variable); on != nil && !on.Meets(q.ancestors(st)) {
			continue
		}
		for _, at := range instructionsAt(fn, f.Source) {
			if at >= begin && at <= to[len(to)-1] {
				return true
			}
		}
	}
	return false
}

// lastBarrier is the last block barrier before a body index, 0 where there is none.
func (q *inquiry) lastBarrier(at int) int {
	fn := q.run.Entry()
	for i := at - 1; i > 0; i-- {
		if in := fn.Body[i]; in.Op == "barrier" || in.Op == "bar" && !in.Has("warp") {
			return i
		}
	}
	return 0
}

// cellPlace names a cell within its stage: "(5,0)" of a tile, "out[125]" of memory.
func (q *inquiry) cellPlace(st probes.Stage, row, col int) string {
	sp := q.run.Plan.Stage(st)
	if sp == nil || !sp.OfLaunch() {
		return fmt.Sprintf("(%d,%d)", row, col)
	}
	var at []string
	for _, n := range probes.Index(row*sp.Cols+col, sp.Capture.Dims) {
		at = append(at, fmt.Sprint(n))
	}
	return st.String() + "[" + strings.Join(at, "][") + "]"
}

// cell names a cell with its stage: "cell (5,0) of P", "out[125]".
func (q *inquiry) cell(st probes.Stage, row, col int) string {
	own := q.ownCell(st, row, col)
	if strings.HasPrefix(own, "cell ") {
		own += " of " + st.String()
	}
	return own
}

// ownCell names a cell where its stage is known: "cell (5,0)", "out[125]".
func (q *inquiry) ownCell(st probes.Stage, row, col int) string {
	place := q.cellPlace(st, row, col)
	if strings.HasPrefix(place, "(") {
		return "cell " + place
	}
	return place
}

// stageSuspect is a stage, or several that go together, that are computed wrongly.
func (q *inquiry) stageSuspect(group []probes.Stage) *suspect {
	name := group[0].String()
	doc := q.doc.Stage(name)
	c := Cause{
		Kind: kindStage, Stage: name, Finding: -1, Findings: []int{},
		Place: Place{KVTile: -1, Row: -1, Col: -1, Variables: []string{}, Index: []int{}},
	}
	if sp := q.run.Plan.Stage(group[0]); sp != nil && sp.Array != "" {
		c.Place.Variable, c.Place.Variables = sp.Array, []string{sp.Array}
	}
	var names []string
	for _, s := range group {
		names = append(names, s.String())
	}
	c.Title = "arithmetic of stage " + strings.Join(names, ", ")
	if doc != nil && doc.FirstBad != nil {
		b := doc.FirstBad
		c.Region = doc.Region
		c.Place.Block, c.Place.KVTile, c.Place.Row, c.Place.Col, c.Place.Source = b.Block, b.KVTile, b.Row,
			b.Col, b.Source
		got, want := text.Differing(float64(b.Got), float64(b.Want))
		if doc.NeverWritten(b) {
			got = "never written"
		}
		c.Title += fmt.Sprintf(", first at%s %s: %s, should be %s",
			report.AtTile(" ", doc.Phase, doc.TileName, b.KVTile), q.cellPlace(group[0], b.Row, b.Col), got,
			want)
		if b.Source != nil {
			c.Title += ", written at " + b.Source.At()
		}
	}
	for _, n := range names {
		if st := q.doc.Stage(n); st != nil {
			although := " although it is computed from the kernel's own values"
			if len(q.unseen(q.before(probes.Stage(n)))) > 0 {
				although = ""
			}
			c.Proof = append(c.Proof,
				fmt.Sprintf("%s is wrong%s: %d of %d cells over their bound (the one furthest over it: off by %s, %.3g is allowed)",
					n, although, st.Local.Bad, st.Local.Cells, st.Local.Size(st.Local.Error, "%.3g"),
					float64(st.Local.Bound)))
			if p := pattern(st); p != nil {
				c.Proof = append(c.Proof,
					fmt.Sprintf("%s looks like %s %s: %s", n, p.Name, p.Value, p.Evidence))
			}
		}
	}
	s := &suspect{stages: group}
	c.Advice = stageAdvice(name, doc, c.Place.Source)
	q.blindly(&c, group[0])
	s.cause = c
	return s
}

// stageAdvice says where to look, at a place where that is known; what to change nobody tried.
func stageAdvice(name string, doc *report.Stage, at *report.Source) string {
	where := "where " + name + " is computed"
	if at != nil {
		where = "at " + callText(at)
	}
	looks := looksLike(doc)
	if p := pattern(doc); p != nil && p.Name == "term" && at != nil {
		return fmt.Sprintf("look at what writes %s up to %s, the last write: %s %s", name, callText(at), name,
			looks)
	}
	if looks != "" {
		subject := "the error"
		if strings.HasPrefix(looks, "is ") {
			subject = name
		}
		return fmt.Sprintf("look %s: %s %s", where, subject, looks)
	}
	return "look " + where + ", and at what its operands are"
}

// looksLike is what a stage's pattern says of it, as a predicate: "is C/(C - 1) (1.0063) times what it should
// be, in all 40 wrong cells"; "" where it has none.
func looksLike(doc *report.Stage) string {
	if doc == nil {
		return ""
	}
	p := pattern(doc)
	if p == nil {
		return ""
	}
	if p.Name == "term" {
		return fmt.Sprintf("is as if a term had another coefficient (%s; in %s)", p.Value, explained(doc, p))
	}
	if p.Name != "factor" {
		return fmt.Sprintf("looks like %s (%s; in %s)", p.Name, p.Value, explained(doc, p))
	}
	value, by, _ := strings.Cut(p.Value, ": ")
	value, rows := strings.CutSuffix(value, " by row")
	text := "is " + value + " times what it should be"
	if value == "fitted" {
		text = "is off by a factor"
	}
	if rows {
		text += ", another factor in each row"
	}
	if text += ", in " + explained(doc, p); by != "" {
		text += ": " + by
	}
	return text
}

// explained is how many of a stage's wrong cells a fingerprint explains.
func explained(doc *report.Stage, p *report.Fingerprint) string {
	n := int(math.Round(float64(p.Explains) * float64(doc.Local.Bad)))
	if n == doc.Local.Bad {
		return fmt.Sprintf("all %d wrong cells", n)
	}
	return fmt.Sprintf("%d of %d wrong cells", n, doc.Local.Bad)
}

// replaced puts the reference's tiles in the place of a group's, and sees what of the rest becomes right.
func (q *inquiry) replaced(s *suspect, group []probes.Stage) error {
	if ok, err := q.substitutable(group...); err != nil || !ok {
		return err
	}
	r := &remedy{text: "with the reference's " + stageList(group) + " in place", substitute: group}
	alone, err := q.try(nil, r)
	if err != nil || alone == nil {
		return err
	}
	if !q.reachesReaders(alone, group) {
		s.unreached = true
		return nil
	}
	if s.remedy == nil {
		s.remedy, s.alone = r, alone
	}
	return nil
}

// reachesReaders reports whether all that reads the stages which a trial replaced got the reference's values,
// as far as what was computed from them shows: a stage that departs from them in more cells than it departed
// from the kernel's own values had others, in a register or from before the replacement; and so had one where
// every stage is right by what it is computed from and the output is not.
func (q *inquiry) reachesReaders(alone *debugkern.Run, group []probes.Stage) bool {
	wrong := false
	for i := range alone.Report.Stages {
		now := &alone.Report.Stages[i]
		if slices.Contains(group, probes.Stage(now.Name)) {
			continue
		}
		was := q.base.Report.Stage(now.Name)
		if was == nil || now.Local.Bad > was.Local.Bad {
			return false
		}
		wrong = wrong || now.Local.Bad > 0
	}
	now := q.damage(alone.Report)
	return wrong || now.bad == 0 || slices.Contains(group, probes.Stage(now.stage))
}

// substitutable reports whether a trial can replace the tiles of all these stages.
func (q *inquiry) substitutable(group ...probes.Stage) (bool, error) {
	for _, st := range group {
		if ok, err := q.run.Substitutable(q.ctx, st); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// entrance puts the reference's tile in the place of the first stage that a finding spoils: what becomes
// right shows that the error enters there.
func (q *inquiry) entrance(s *suspect) error {
	first := s.stages[0]
	for _, st := range s.stages {
		if q.order(st) < q.order(first) {
			first = st
		}
	}
	if ok, err := q.substitutable(first); err != nil || !ok {
		return err
	}
	groups := [][]probes.Stage{{first}}
	if len(s.stages) > 1 {
		groups = append(groups, s.stages) // of values that stay in registers, all that they become
	}
	for _, group := range groups {
		if ok, err := q.substitutable(group...); err != nil || !ok {
			return err
		}
		r := &remedy{text: "with the reference's " + stageList(group) + " in place", substitute: group}
		run, err := q.try(nil, r)
		if err != nil || run == nil {
			return err
		}
		if now := q.damage(run.Report); now.bad == 0 {
			s.cause.Proof = append(s.cause.Proof, fmt.Sprintf("%s: %s: the error enters there",
				r.text, now))
			return nil
		}
	}
	return nil
}

// gated runs the stage alone, its inputs fed in: the error is made there and not before. A kernel that comes
// as PTX was compiled without the gate.
func (q *inquiry) gated(s *suspect, st probes.Stage) error {
	sp := q.run.Plan.Stage(st)
	if q.run.Selection.Manifest.PTX != "" {
		return nil
	}
	for _, gate := range q.run.Selection.Manifest.Gates {
		g := gate.Name
		if q.run.Plan.Gate.Name != probes.GateNone || g == probes.GateNone || !gate.Judged.Has(st) ||
			sp.Loaded && len(gate.Injected) == 0 {
			continue // where nothing is fed in, what is loaded is loaded as before
		}
		req := q.run.Request
		req.Gate, req.Plain, req.Backend = g, false, "emu"
		req.Blocks, req.Tiles, req.Stages = debugkern.Region{}, debugkern.Span{}, nil
		r, err := q.s.Run(q.ctx, req, q.progress)
		if err != nil {
			if err = q.fatal(err); err != nil {
				return err
			}
			continue
		}
		if doc := r.Report.Stage(st.String()); doc != nil && doc.Verdict == report.Wrong {
			s.cause.Proof = append(s.cause.Proof,
				fmt.Sprintf(
					"under gate %s, which runs only this part on the reference's inputs, %s is wrong too", g,
					st))
			s.cause.Again = req.Command("run")
		}
		return nil
	}
	return nil
}

func stageList(stages []probes.Stage) string {
	var names []string
	for _, s := range stages {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}
