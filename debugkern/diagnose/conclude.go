package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/debugkern/trial"
	"tilescope/probes"
)

// blame is the place in the source that an instruction is blamed on, nil past the ends.
func blame(fn *ptx.Func, at int) *report.Source {
	if at < 0 || at >= len(fn.Body) {
		return nil
	}
	return report.SourceOf(target.Blame(fn, at))
}

// anyAt reports whether an instruction of a line is such; not where there is no line.
func (q *inquiry) anyAt(at *report.Source, is func(*ptx.Instr) bool) bool {
	fn := q.run.Entry()
	return fn != nil && at != nil && slices.ContainsFunc(instructionsAt(fn, at), func(i int) bool {
		return is(fn.Body[i])
	})
}

// conclude turns suspects into causes, in the order in which a person should look at them,
// and writes the story.
func (q *inquiry) conclude() {
	slices.SortStableFunc(q.suspects, func(a, b *suspect) int {
		return cmp.Or(cmp.Compare(q.when(a), q.when(b)), cmp.Compare(q.line(a), q.line(b)))
	})
	causes := slices.DeleteFunc(slices.Clone(q.suspects), func(s *suspect) bool {
		return q.follows(s) || !q.explainsSomething(s)
	})
	for _, s := range causes {
		if q.ordersStray(s) {
			s.remedy, s.alone = nil, nil
		}
		c := q.cause(s, len(causes))
		c.of = s
		c.signed()
		q.doc.Causes = append(q.doc.Causes, c)
	}
	q.rank()
	for _, c := range q.doc.Causes {
		q.o.OnEvent(Event{Cause: &c})
	}
	q.doc.Story = q.story()
}

// follows reports whether a suspect is no more than a consequence of others, or a table that is wrong and
// changes nothing, or a stage that goes wrong only once warps have left.
func (q *inquiry) follows(s *suspect) bool {
	if s.cause.Kind == kindTable {
		return s.alone == nil
	}
	if s.cause.Kind == kindStage && slices.ContainsFunc(q.doc.Findings, func(f report.Finding) bool {
		return f.Left && q.when(s) >= f.KVTile
	}) {
		return true // warps that are gone did not do their part of it
	}
	if len(s.members) > 0 {
		return false // what is wrong with it is explained by nothing else
	}
	return slices.Contains(consequences, s.cause.Kind) &&
		slices.ContainsFunc(q.suspects, func(o *suspect) bool {
			return o != s && !slices.Contains(consequences, o.cause.Kind)
		})
}

// explainsSomething reports whether there is anything that a suspect is the cause of: a finding of severity
// error, a table that is wrong, or a cell over its bound.
func (q *inquiry) explainsSomething(s *suspect) bool {
	if s.cause.Kind != kindStage || len(s.cause.Findings) > 0 {
		return true
	}
	return slices.ContainsFunc(s.stages, func(st probes.Stage) bool {
		doc := q.doc.Stage(st.String())
		return doc != nil && doc.Local.Bad+doc.Local.Nonfinite > 0
	})
}

// when is the kv tile at which a suspect first does harm: of its stages, else of its finding; the first
// where neither says.
func (q *inquiry) when(s *suspect) int {
	first := -1
	for _, g := range q.doc.Guilty {
		for _, st := range s.stages {
			if g.Stage == st.String() && (first < 0 || g.KVTile < first) {
				first = max(g.KVTile, 0)
			}
		}
	}
	switch {
	case first >= 0:
		return first
	case s.cause.Place.KVTile >= 0:
		return s.cause.Place.KVTile
	}
	return 0
}

// line is where a suspect stands in program order: its first instruction, or what was compiled from
// its stage's writer.
func (q *inquiry) line(s *suspect) int {
	fn := q.run.Entry()
	if s.cause.Kind == kindTable || fn == nil || s.cause.Place.Source == nil {
		return -1
	}
	if at := instructionsAt(fn, s.cause.Place.Source); len(at) > 0 {
		return at[0]
	}
	return len(fn.Body)
}

// cause writes down what experiments showed about one of n suspects.
func (q *inquiry) cause(s *suspect, n int) Cause {
	c := s.cause
	if c.Findings == nil {
		c.Findings = []int{}
	}
	if c.With == nil {
		c.With = []string{}
	}
	c.Stages = []string{}
	for _, st := range s.stages {
		c.Stages = append(c.Stages, st.String())
	}
	if c.Stage == "" && len(c.Stages) > 0 {
		c.Stage = slices.MinFunc(s.stages, func(a, b probes.Stage) int { return q.order(a) - q.order(b) }).
			String()
	}
	if c.Kind == kindTable && len(s.stages) > 0 {
		c.Place = q.spoilt(s, c.Place)
	}
	switch {
	case s.origin != nil && (s.remedy == nil || !s.remedy.changes()):
		c.short = s.origin.text // the address was tried; the reference in the place of stages adds nothing
	case s.alone != nil && !(n == 1 && q.leavesAll(s)):
		q.weigh(s, &c, n)
	case s.origin == nil:
		c.short = q.untried(s)
		c.Proof = append(c.Proof, c.short)
	}
	if c.Finding >= 0 {
		q.advise(s, &q.doc.Findings[c.Finding], &c)
	}
	q.traced(s, &c)
	if c.but != "" {
		c.Advice = strings.TrimPrefix(c.Advice+"; "+c.but, "; ")
	}
	c.Proof = append(c.Proof, q.unlisted(s)...)
	if s.explored != nil {
		c.Proof = append(c.Proof, "schedules: "+s.explored.Says)
		if s.settled != "" {
			c.Proof = append(c.Proof, s.settled)
		}
		// where no schedule shows more than the run does, the run itself
		if r := s.explored.Replay; r != nil && (r.Schedule != "" || r.RunWrong > 0) {
			req := q.run.Request
			req.Schedule = cmp.Or(r.Schedule, req.Schedule)
			c.Again = req.Command("run")
		}
	}
	if c.Again == "" {
		c.Again = q.again(s)
	}
	if c.Proof == nil {
		c.Proof = []string{}
	}
	return c
}

// spoilt gives a place the block and tile at which a suspect's first stage went wrong.
func (q *inquiry) spoilt(s *suspect, p Place) Place {
	if doc := q.doc.Stage(s.stages[0].String()); doc != nil && doc.FirstBad != nil {
		p.Block, p.KVTile, p.Row, p.Col = doc.FirstBad.Block, doc.FirstBad.KVTile, doc.FirstBad.Row,
			doc.FirstBad.Col
	}
	return p
}

// leavesAll reports whether the reference in the place of a suspect's stages leaves the output as wrong as it
// was: of an only cause that shows no more than that the trial does not reach it.
func (q *inquiry) leavesAll(s *suspect) bool {
	if s.remedy.changes() {
		return false
	}
	share := q.shareGone(s.alone.Report)
	return share != nil && float64(*share) < nothing
}

// triedText says how much was tried that does not put a suspect right.
func (q *inquiry) triedText(s *suspect) string {
	var parts []string
	n := 0
	count := func(more int, one, several string) {
		if more == 1 {
			several = one
		}
		if n += more; more > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", more, several))
		}
	}
	count(s.tried, "change", "changes")
	if len(q.suspects) == 1 {
		count(q.edits, "edit of the source", "edits of the source")
	}
	out := strings.Join(parts, " and ") + " were tried, and none fixes this"
	if n == 1 {
		out = parts[0] + " was tried, and does not fix this"
	}
	if s.tried > 0 && s.late {
		out += "; there was no time for more"
	}
	return out
}

// untried says that nothing proves a suspect but its finding.
func (q *inquiry) untried(s *suspect) string {
	switch {
	case s.cause.Finding >= 0 && q.stale(s):
		return "not tried: executed here every read sees the last write, and what a GPU's cache still holds no schedule shows"
	case s.cause.Finding >= 0 && q.throughNull(s):
		return "not tried: what is passed is to be changed, not the kernel"
	case s.tried > 0, q.edits > 0 && len(q.suspects) == 1:
		return "not proven: " + q.triedText(s)
	case s.unreached || s.alone != nil:
		return "not proven: no trial that was made shows how much of the error it is"
	case s.cause.Kind == kindStage && q.result(s.cause.Stage):
		return "not tried: " + s.cause.Stage +
			" is the kernel's output, and no later stage would show what changes once it is right"
	case s.cause.Kind == kindStage:
		return "not tried: the stage is not kept in shared memory, so that the reference cannot take its place"
	}
	return "not tried: nothing that could be changed without compiling is known to fix this"
}

// result reports whether a stage is the kernel's result.
func (q *inquiry) result(stage string) bool {
	run := q.doc.Judged()
	return run != nil && run.Plan.OutputSet().Has(probes.Stage(stage))
}

// weigh compares the run in which only this suspect was put right with the one as it was. A stage in
// whose place the reference was put is captured as the kernel left it: where it is the last, nothing
// shows what went with it.
func (q *inquiry) weigh(s *suspect, c *Cause, n int) {
	was, now := q.damage(q.base.Report), q.damage(s.alone.Report)
	if slices.Contains(s.remedy.substitute, probes.Stage(now.stage)) {
		if wrong := wrongStages(q.base.Report); !slices.ContainsFunc(wrong, func(w probes.Stage) bool {
			return !slices.Contains(s.remedy.substitute, w)
		}) {
			all := report.Number(1)
			c.Share, c.Alone = &all, stageList(s.remedy.substitute)+
				" is all that is wrong, and nothing after it is judged here"
		}
		return
	}
	if c.ShareOf = strings.Join(q.wrongOutputs(), ", "); c.ShareOf == "" {
		c.ShareOf = was.stage
	}
	if c.Share = q.shareGone(s.alone.Report); n == 1 && c.Share != nil && float64(*c.Share) < nothing {
		c.Share = nil // an only cause is the cause of all: the trial does not show its part
	}
	if q.blocks != nil {
		c.Proof = append(c.Proof,
			fmt.Sprintf(
				"tried on %d of %d blocks, those of the findings and of the first bad cells among them",
				len(q.blocks), len(q.run.Blocks())))
	}
	what := s.remedy.text
	if c.Finding >= 0 && len(s.remedy.substitute) == 0 {
		gone := fmt.Sprintf("%s the %s is gone%s", what, kindNoun(c.Kind), q.cost(s))
		c.Proof = append(c.Proof, gone)
		defer func() { c.short = gone + strings.TrimPrefix(c.Alone, what) }()
	}
	if was.bad > 0 {
		c.Proof = append(c.Proof, fmt.Sprintf("%s: %s, before %s", what,
			q.damageText(s.alone.Report), q.damageText(q.base.Report)))
	}
	c.Alone = q.remains(s, what, n) + s.beyond
}

// remains says what is still wrong when only this suspect is put right.
func (q *inquiry) remains(s *suspect, what string, n int) string {
	var left []string
	for _, st := range wrongStages(s.alone.Report) {
		if !slices.Contains(s.remedy.substitute, st) {
			left = append(left, st.String())
		}
	}
	var findings []string
	for _, f := range errorsOf(s.alone.Report) {
		if own := len(s.remedy.substitute) > 0 && slices.ContainsFunc(s.cause.Findings, func(i int) bool {
			return identity(f) == identity(&q.doc.Findings[i])
		}); own {
			continue // the reference in place of a stage does not change what the kernel did before
		}
		text := f.Kind + " on " + f.Variable
		if f.Variable == "" {
			text = f.Kind
			if f.Source != nil {
				text += " at " + f.Source.At()
			}
		}
		if !slices.Contains(findings, text) {
			findings = append(findings, text)
		}
	}
	now := q.damage(s.alone.Report)
	through := tainted(s.alone.Report)
	switch {
	case len(left) > 0:
		text := fmt.Sprintf("%s, %s %s still wrong", what, strings.Join(left, ", "), isAre(left))
		if len(through) > 0 {
			text += ", and through " + themIt(left) + " " + strings.Join(through, ", ")
		}
		return text + ": " + q.damageText(s.alone.Report)
	case len(findings) > 0:
		return fmt.Sprintf("%s, still found: %s", what, strings.Join(findings, ", "))
	case now.bad > 0:
		return fmt.Sprintf("%s, no stage has an error of its own, yet %s", what, now)
	case len(through) > 0 && len(s.remedy.substitute) == 0:
		return fmt.Sprintf("%s, no stage has an error of its own, yet %s %s off", what,
			strings.Join(through, ", "), isAre(through))
	case len(s.remedy.substitute) > 0 && len(s.cause.Findings) > 0:
		return what + ", every later stage is right: the error enters there"
	case len(s.remedy.substitute) > 0:
		return what + ", every later stage is right"
	case n > 1:
		return what + ", nothing else shows in this run"
	case !q.run.Report.Referenced():
		return what + ", nothing else is found"
	}
	return what + ", nothing is wrong"
}

// tainted lists the stages that are wrong only because of what they are computed from.
func tainted(rep *report.Run) []string {
	var out []string
	for i := range rep.Stages {
		if rep.Stages[i].Verdict == report.Tainted {
			out = append(out, rep.Stages[i].Name)
		}
	}
	return out
}

func themIt(list []string) string {
	if len(list) == 1 {
		return "it"
	}
	return "them"
}

func isAre(list []string) string {
	if len(list) == 1 {
		return "is"
	}
	return "are"
}

// cost is what a remedy costs, where it adds instructions.
func (q *inquiry) cost(s *suspect) string {
	was, now := q.base.Report.Cost.WarpInstructions, s.alone.Report.Cost.WarpInstructions
	if s.remedy.edits == nil || was == 0 || now <= was || !slices.Contains(racing, s.cause.Kind) {
		return ""
	}
	return fmt.Sprintf(" (%d warp instructions more, %s)", now-was,
		trial.Percent(100*float64(now-was)/float64(was)))
}

// kindNoun names what is gone with a change: a race, a hang; of a kind that is no noun, the finding.
func kindNoun(kind string) string {
	switch kind {
	case "race", "hang", "deadlock", "overlap":
		return kind
	}
	return "finding"
}

// advise says what to change, and whether it was tried. What a trial does not show to help is not advised.
func (q *inquiry) advise(s *suspect, f *report.Finding, c *Cause) {
	missed := found(s, func(o *suspect) *unvisited { return o.unvisited })
	leftWait := found(s, func(o *suspect) *unreachedWait { return o.leftWait })
	// No trial that changes the kernel makes it right. A trial without a planted fault is no advice.
	unchanged := s.remedy == nil || !s.remedy.changes() || s.remedy.without != ""
	atOnce := found(s, func(o *suspect) *overAtOnce { return o.atOnce })
	stale := found(s, func(o *suspect) *stalePhase { return o.stale })
	tooEarly := found(s, func(o *suspect) *releasedEarly { return o.tooEarly })
	other := q.elsewhereArrived(s, f)
	c.Proof = append([]string{f.Message}, c.Proof...)
	if c.Kind == "loop-ended" {
		q.firstTile(f, c)
	}
	constant := q.nanConstants(s)
	asAnother, readAs := q.readAsAnother(f)
	if asAnother != "" {
		c.why = asAnother
		c.Title = strings.Replace(c.Title, ", where the input has it", "", 1)
	}
	switch {
	case constant != nil && unchanged:
		constant.describe(q, c)
	case c.Advice != "":
	case s.ring != nil:
		c.why, c.Advice = s.ring.why, s.ring.advice
		c.Place.Source, c.Place.Other = s.ring.at, c.Place.Source
		if c.short != "" {
			c.short += "; a barrier only hides that the buffers do not change"
		}
	case s.turn != nil && s.remedy != nil && !s.remedy.changes():
		c.Advice, c.Place.Source, c.Place.Other = s.turn.advice, s.turn.wrong.Source, c.Place.Source
	case q.misnumbered(f):
		q.describeMisnumbered(f, c)
	case stale != nil && unchanged:
		stale.describe(q, c)
	case s.circular != nil && unchanged:
		s.circular.describe(q, c)
	case s.parted != nil:
		c.Title = c.Kind + ": " + s.parted.title
		c.why, c.Advice, c.Place.Other = s.parted.why, s.parted.advice, s.parted.at
	case unsetRegister(f) && unchanged:
		q.describeUnset(f, c)
	case s.operandOf != "" && unchanged:
		q.describeBeyond(s, c)
	case s.crowded != nil && unchanged:
		s.crowded.describe(q, c)
	case tooEarly != nil && unchanged:
		tooEarly.describe(q, c)
	case atOnce != nil && unchanged:
		atOnce.describe(q, c)
	case leftWait != nil && unchanged && c.Kind != "out-of-bounds":
		leftWait.describe(q, c)
	case missed != nil:
		missed.describe(q, c)
	case other != nil && unchanged:
		other.describe(q, c)
	case q.absentees(s, f, c):
	case s.early != nil:
		q.describeEarly(s.early, c)
	case s.overrun != nil:
		s.overrun.describe(q, c)
	case s.unawaited.stays(s):
		s.unawaited.describe(q, c)
	case s.uncovered && unchanged:
		c.Advice = s.shared
	case s.remedy != nil && s.remedy.advice != "" && !q.worse(s.alone) && !q.silencesOnly(s):
		c.Advice = s.remedy.advice
		if s.remedy.where != "" && s.remedy.file != "" && inlined(f) {
			c.Advice = strings.Replace(c.Advice, s.remedy.where, s.remedy.where+" of "+s.remedy.file, 1)
		}
		if s.remedy.cite {
			c.Advice = q.citing(c.Advice, ": ", s.remedy.at)
		}
		if behind := q.waitBehind(f); behind != "" && s.remedy.where != "" {
			c.Advice = behind
		}
		if s.remedy.at != nil {
			c.Place.Source, c.Place.Other = s.remedy.at, c.Place.Source
		}
		if why := arrivedWrongly(s); why != "" {
			c.why = why
		}
		if s.swizzled != nil {
			c.why = s.swizzled.describe(f)
		}
		if s.skipped != nil {
			s.skipped.describe(q, c)
		}
	case q.putRightAt(s) != nil:
		at := q.putRightAt(s)
		c.Title += "; made wrong at " + at.At()
		c.Advice = q.citing(s.remedy.text+", nothing is wrong: look at that line", ": ", at)
		c.Place.Source, c.Place.Other = at, c.Place.Source
	case s.shared != "":
		c.Advice = s.shared
	case f.Missing == nil:
		c.Advice = kindAdvice[c.Kind]
		if c.Kind == "shuffle" && strings.Contains(f.Message, "which leaves it out") {
			c.Advice = q.citing(
				"name every lane in the mask that executes the exchange, or have those alone execute it",
				": ",
				f.Source,
			)
		}
		if late := q.startsLate(s); c.Kind == "loop-ended" && late != "" {
			c.Advice, c.Title = late, strings.Replace(c.Title, " ended after ", " ran for ", 1)
		} else if report.Uncaptures(c.Kind) {
			if q.outsideTile(f, c); c.Advice == kindAdvice[c.Kind] {
				q.decided(s, f, c)
			}
			if c.Advice == kindAdvice[c.Kind] {
				c.Advice = q.citing(c.Advice, "; the line is ", f.Source)
			}
		}
		if c.Kind == "out-of-bounds" {
			if q.throughNull(s) {
				c.Advice = "pass memory for the pointer that this line goes through, which is null"
			}
			c.Advice = q.citing(c.Advice, ": ", f.Source)
		}
		if readAs != "" {
			c.Advice = q.citing(readAs, ": ", f.Source)
		}
		q.writtenOver(f, c)
	case s.partial != nil && s.partial.advice != "" || s.remedy != nil && s.remedy.advice != "":
		c.Advice = q.notThat(s, f)
	case s.tried > 0 && awaitsCopy(*f.Missing):
		c.Advice = *f.Missing + ", by every warp that comes there: no trial inserts one, and what was " +
			"tried awaits no copy"
	case !s.exclusive && s.tried > 0 && !strings.Contains(*f.Missing, check.Unfit) &&
		!lacksFence(f):
		c.Advice = "no synchronisation that was tried fixes this: look at which cells are used at " +
			bothPlaces(f)
	default:
		c.Advice = *f.Missing
	}
	if unchanged {
		c.why = cmp.Or(c.why, q.lacking(f))
	}
	if s.remedy != nil && s.remedy.where != "" { // a barrier is put there
		c.why = cmp.Or(c.why, q.unorderedText(f))
	}
}

// ordersStray reports whether a suspect's remedy orders accesses one of which strays, and something stays
// wrong with it: the race is of an access that should not be there.
func (q *inquiry) ordersStray(s *suspect) bool {
	return slices.Contains(addressKinds, s.cause.Kind) && s.remedy != nil && s.remedy.where != "" &&
		s.alone != nil && !q.nothingWrong(s.alone)
}

// inlined reports whether a finding names lines of a file that are inlined in another one.
func inlined(f *report.Finding) bool {
	return slices.ContainsFunc([]*report.Source{f.Source, f.Other}, func(src *report.Source) bool {
		return src != nil && src.Outermost().File != src.File
	})
}

// unorderedText says of a race who accesses what, and which barrier of the warp between the two places does
// not order them; "" of another finding.
func (q *inquiry) unorderedText(f *report.Finding) string {
	kind, text, ok := strings.Cut(f.Message, ": ")
	_, name, named := strings.Cut(kind, " race on ")
	if f.Kind != "race" || !ok || !named || !strings.Contains(text, "nothing orders them") {
		return ""
	}
	text = strings.Replace(text, " it at ", " "+name+" at ", 1)
	first, then := missingBetween(f)
	if first == nil || first.File != then.File {
		return text
	}
	for i := range q.doc.Findings {
		b := &q.doc.Findings[i]
		ofWarp := b.Kind == "redundant-barrier" && strings.HasPrefix(b.Message, "bar.warp.sync")
		if b.Source == nil || !ofWarp {
			continue
		}
		at := b.Source.Outermost()
		if at.File == first.File && first.Line < at.Line && at.Line < then.Line {
			return fmt.Sprintf("%s; the bar.warp.sync of %s orders the lanes of one warp alone", text,
				lineText(&at, first))
		}
	}
	return text
}

// putRightAt is the line of an edit with which nothing is wrong, where the edit has no advice of its own; nil
// where there is none.
func (q *inquiry) putRightAt(s *suspect) *report.Source {
	if s.remedy == nil || s.remedy.advice != "" || s.remedy.edits == nil || s.alone == nil ||
		!q.nothingWrong(s.alone) {
		return nil
	}
	m := fileLine.FindStringSubmatch(s.remedy.text)
	if m == nil {
		return nil
	}
	return &report.Source{File: m[1], Line: number(m[2])}
}

// silencesOnly reports whether a change of synchronisation makes a race go and leaves every stage wrong that
// its variable holds or is made from.
func (q *inquiry) silencesOnly(s *suspect) bool {
	if !slices.Contains(racing, s.cause.Kind) || len(s.stages) > 0 || s.remedy.edits == nil {
		return false
	}
	return slices.ContainsFunc(wrongStages(s.alone.Report), func(st probes.Stage) bool {
		return q.feeds(s, st)
	})
}

// startsLate is the advice for a loop of which the first iteration has another's data: it is not its end that
// is wrong; "" for any other.
func (q *inquiry) startsLate(s *suspect) string {
	for _, o := range append([]*suspect{s}, s.members...) {
		x := o.contrast
		if x == nil || x.Cell.KVTile > 0 || len(x.Foreign) == 0 || len(x.Missing) == 0 {
			continue
		}
		return fmt.Sprintf(
			"look at where the loop starts: its first tile of %s begins with %s, where %s belongs",
			x.Cell.Stage, x.Foreign[0].Text, x.Missing[0].Text)
	}
	return ""
}

// notThat says why the synchronisation that makes a finding go is not what to change, and
// where to look instead.
func (q *inquiry) notThat(s *suspect, f *report.Finding) string {
	r := s.partial
	if r == nil {
		r = s.remedy
	}
	if now := s.partly; s.partial != nil && now != nil && len(errorsOf(now.Report)) == 0 &&
		q.damage(q.base.Report).bad > 0 && q.damage(now.Report).bad == 0 {
		return fmt.Sprintf("%s, before any probe of %s: %s the %s is gone, and %s", r.advice,
			stageList(s.stages), r.text, kindNoun(f.Kind), q.damage(now.Report))
	}
	return fmt.Sprintf("look at which cells are used at %s: %s the %s is gone, and the rest of this stays",
		bothPlaces(f), r.text, kindNoun(f.Kind))
}

// awaitsCopy reports whether what a race lacks is a wait at an mbarrier, which no trial inserts: that
// barriers do not help says nothing against it.
func awaitsCopy(missing string) bool { return strings.HasPrefix(missing, target.MBarrierWait) }

// bothPlaces is the one or two lines of a finding.
func bothPlaces(f *report.Finding) string {
	switch {
	case f.Source == nil:
		return "both sides"
	case f.Other == nil || *f.Other == *f.Source:
		return f.Source.At()
	}
	return f.Source.At() + " and " + lineText(f.Other, f.Source)
}

// kindAdvice is what helps against a finding that no virtual change can put right.
var kindAdvice = map[string]string{
	"uninitialised": "write every element before the first read, or read only what was written",
	"out-of-bounds": "look at the index of this access, and at the bound that it should have",
	"misaligned":    "look at how this address is made, which has to be a multiple of the size of the access",
	"overlap":       "give each array bytes of its own, or synchronise where one takes over from the other",
	"nan-origin":    "guard the operands of this operation",
	"quantiser":     "encode and decode with the same number of levels",
	"deadlock":      "let every thread that is waited for reach the barrier",
	"hang":          "let every arrival and every byte come that a phase which is waited for needs",
	"loop-ended":    "let the loop over tiles run as often as there are tiles, for every warp",
	"not-captured":  "look at why no thread captures these cells: how often its loops run, which condition it does not meet, where it leaves the kernel, and which rows and columns it gives the probe",
	"unwritten":     "write every element of the output",
	"mbarrier":      "initialise each mbarrier before its first use, wait for the phase that it is in, and let as many arrive as it counts",
	"shuffle":       "let every lane that the mask names execute the exchange, and read only from those",
	"layout":        "make what describes where data lies (a capture's row and col, a sparse operand's positions and selector) agree with where the threads have it",
	"trap":          "find the undefined operation on this path, or the condition of the kernel's own trap",
}

// again is the command that shows a cause again.
func (q *inquiry) again(s *suspect) string {
	req := q.run.Request
	req.Backend = q.req.Backend
	switch {
	case s.cause.Kind == kindTable && s.cause.Place.Source != nil:
		command := "tilescope lut " + text.Shell(s.cause.Place.Source.File)
		for _, p := range q.run.Patches(s.cause.Place.Source.File) {
			command += " --patch " + text.Shell(p)
		}
		return command
	case s.cause.Kind == kindStage:
		return req.Command("run")
	}
	return req.Command("diagnose")
}
