package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// storyLines is how long a story may be.
const storyLines = 12

// story is what a person reads: verdict, causes with place and reason, proof, change,
// command; at most twelve lines.
func (q *inquiry) story() []string {
	if len(q.doc.Causes) == 0 {
		return q.quiet()
	}
	lines := []string{q.verdict()}
	end := []string{"again: " + q.doc.again}
	if len(q.doc.Causes) > 1 {
		end = append([]string{q.relation()}, end...)
	}
	if text := q.onlyOutput(); text != "" {
		end = append([]string{text}, end...)
	}
	if rep := &q.doc.Run; rep.Guess != "" && rep.Verdict == report.Diverge && !q.mended() {
		end = append([]string{rep.Guess + "; the divergence may come from that"}, end...)
	}
	if text := q.doc.Run.GuessedStage; text != "" {
		end = append([]string{text}, end...)
	}
	room := storyLines - len(lines) - len(end)
	each := max(1, min(5, room/len(q.doc.Causes)))
	for i := range q.doc.Causes {
		left := room - (len(lines) - 1)
		if left == 1 && i+1 < len(q.doc.Causes) {
			lines = append(lines, fmt.Sprintf("and %d causes more: --json lists them", len(q.doc.Causes)-i))
			break
		}
		lines = append(lines, q.tell(i+1, &q.doc.Causes[i], each, q.doc.again)...)
	}
	return append(lines, end...)
}

// verdict is the first line: what is wrong, how much, and how many causes.
func (q *inquiry) verdict() string {
	rep := &q.doc.Run
	causes, also := "one cause", 0
	for i := range q.doc.Causes {
		if q.doc.Causes[i].AlsoFound {
			also++
		}
	}
	if n := len(q.doc.Causes) - also; n > 1 {
		if causes = fmt.Sprintf("%d independent causes", n); len(q.inseparable()) > 0 {
			causes = fmt.Sprintf("%d causes", n)
		}
	}
	switch {
	case also == 1:
		causes += "; also found: one thing that explains none of it"
	case also > 1:
		causes += fmt.Sprintf("; also found: %d things that explain none of it", also)
	}
	if !rep.Referenced() {
		return fmt.Sprintf("%s: %s found, and no reference to judge values by: %s", rep.Title(),
			errorCount(rep.Errors()), causes)
	}
	if rep.Verdict == report.Agree {
		for i := range q.doc.Causes {
			if slices.Contains(racing, q.doc.Causes[i].Kind) {
				return fmt.Sprintf("%s: agrees in this order of execution, and is not safe: %s",
					rep.Title(), causes)
			}
		}
		return fmt.Sprintf("%s: every stage agrees, and yet something is wrong: %s", rep.Title(), causes)
	}
	return fmt.Sprintf("%s: diverges, %s%s: %s", rep.Title(), q.outputs(rep), q.against(rep), causes)
}

// errorCount is a number of errors in words.
func errorCount(n int) string {
	if n == 1 {
		return "1 error"
	}
	return fmt.Sprintf("%d errors", n)
}

// mended reports whether edits were found with which nothing is wrong any more, the launch being what it is.
func (q *inquiry) mended() bool {
	return q.rightBut() && !slices.ContainsFunc(q.suspects, func(s *suspect) bool {
		return s.remedy != nil && len(s.remedy.substitute) > 0
	})
}

// effect is what a cause does to the stages that go with it. A race on arrays of later stages alone leaves
// the first stage's own values right: warps that nothing orders capture them before they are complete, or
// after they have changed again.
func (q *inquiry) effect(c *Cause) string {
	if !slices.Contains(racing, c.Kind) || q.run == nil || q.run.Plan == nil || len(c.Place.Variables) == 0 {
		return "spoils"
	}
	behind := computedFrom(q.run.Plan, probes.Stage(c.Stages[0]))
	for _, v := range c.Place.Variables {
		holds := func(sp probes.StagePlan) bool { return sp.Array == v }
		i := slices.IndexFunc(q.run.Plan.Stages, holds)
		if i < 0 || behind[q.run.Plan.Stages[i].Stage] {
			return "spoils"
		}
	}
	return "changes what was captured of"
}

// computedFrom returns a stage and all that it is computed from, by definition.
func computedFrom(p *probes.Plan, s probes.Stage) map[probes.Stage]bool {
	out, open := map[probes.Stage]bool{s: true}, []probes.Stage{s}
	for len(open) > 0 {
		sp := p.Stage(open[0])
		open = open[1:]
		if sp == nil {
			continue
		}
		for _, o := range p.Ordered(sp.Operands) {
			if !out[o] {
				out[o], open = true, append(open, o)
			}
		}
	}
	return out
}

// tell is one cause in so many lines; the command that stands at the end of the story is not repeated.
func (q *inquiry) tell(n int, c *Cause, lines int, again string) []string {
	head := fmt.Sprintf("%d. ", n)
	if c.AlsoFound {
		head += "also found: "
	}
	head += c.Title
	if len(c.Stages) > 0 && c.Kind != kindStage && !c.AlsoFound {
		head += "; " + q.effect(c) + " " + strings.Join(c.Stages, ", ")
	}
	if c.Region != "" {
		head += "; wrong"
		if len(c.Stages) > 1 {
			head += " in " + c.Stage
		}
		head += ": " + c.Region
	}
	if share := c.SharePhrase(); share != "" {
		head += " (" + share + ")"
	}
	out := []string{head}
	proof := c.Alone
	if c.short != "" {
		proof = c.short
	}
	for _, p := range c.Proof {
		says, explored := strings.CutPrefix(p, "schedules: ")
		if explored && proof != "" && strings.HasPrefix(says, "changes ") { // not what was put right does it
			says = "as it stands, another order of warps " + says
		}
		if explored {
			proof = strings.TrimSuffix(proof+"; "+says, "; ")
		}
	}
	if n := len(c.Proof); proof == "" && n > 0 && !strings.Contains(c.why, c.Proof[n-1]) {
		proof = c.Proof[n-1]
	}
	for _, l := range []struct{ name, text string }{
		{"why", c.why}, {"also seen of it", strings.Join(c.With, "; ")}, {"change", c.Advice},
		{"proof", strings.TrimPrefix(proof, "; ")}, {"see", c.Again},
	} {
		if l.text != "" && l.text != again && len(out) < lines {
			out = append(out, "   "+l.name+": "+l.text)
		}
	}
	return out
}

// relation says how several causes stand to each other.
func (q *inquiry) relation() string {
	all := ""
	if q.rightBut() {
		all = "; together they are all of it: with all of them fixed nothing is wrong"
	}
	for i := range q.doc.Causes {
		if c := &q.doc.Causes[i]; c.Share != nil && float64(*c.Share) >= everything {
			return fmt.Sprintf(
				"putting %d right alone brings the output within its bound; the others stay what they are%s",
				i+1, all)
		}
	}
	n := len(q.doc.Causes)
	switch pairs := q.inseparable(); {
	case len(pairs) == 1:
		return fmt.Sprintf("no edit that was tried separates %s: one edit may be behind both%s", pairs[0],
			all)
	case len(pairs) == n*(n-1)/2:
		return "no edit that was tried separates them: one edit may be behind several" + all
	case len(pairs) > 1:
		return fmt.Sprintf("no edit that was tried separates %s: one edit may be behind several%s",
			strings.Join(pairs, ", "), all)
	}
	const shares = " (a share is of the largest error times the wrong cells, and shares need not add up)"
	parts := slices.ContainsFunc(q.doc.Causes, func(c Cause) bool {
		return c.Share != nil && float64(*c.Share) >= nothing
	})
	return "none of them is the cause alone: each leaves the others' error" +
		map[bool]string{true: shares}[parts] + all
}

// quiet is the story of a kernel in which nothing was found.
func (q *inquiry) quiet() []string {
	rep := &q.doc.Run
	advice := 0
	for i := range rep.Findings {
		if rep.Findings[i].Severity != severityError {
			advice++
		}
	}
	if rep.Errors() > 0 && !rep.Referenced() {
		es := errorsOf(rep)
		return []string{
			fmt.Sprintf("%s: %s found; the first, %s: %s", rep.Title(), errorCount(len(es)), es[0].Kind,
				es[0].Message), "again: " + q.doc.again,
		}
	}
	if es := errorsOf(rep); rep.Verdict == report.Agree && len(es) > 0 {
		return []string{
			fmt.Sprintf("%s: agrees on the emulator; %s: %s", rep.Title(), es[0].Kind, es[0].Message),
			"again: " + q.doc.again,
		}
	}
	if rep.Verdict != report.Agree {
		lines := []string{
			fmt.Sprintf("%s: diverges, %s%s: no stage has an error of its own, and no checker found anything",
				rep.Title(), q.outputs(rep), q.against(rep)),
		}
		if len(q.doc.Losses) > 0 {
			lines = append(lines, "most bits are lost at "+q.doc.Losses[0].String())
		}
		if text := q.onlyOutput(); text != "" {
			lines = append(lines, text)
		}
		return append(lines, "again: "+q.doc.again)
	}
	needed := 0
	for _, b := range q.doc.Barriers {
		if b.Needed {
			needed++
		}
	}
	agrees := "agrees"
	if !rep.Referenced() {
		agrees = "no reference to judge values by"
	}
	if text := rep.Unjudged(q.doc.Judged().Plan); text != "" {
		agrees += ", but " + text
	}
	lines := []string{fmt.Sprintf("%s: %s; %d checkers found nothing", rep.Title(), agrees, checkerCount())}
	var more []string
	if len(q.doc.Barriers) > 0 {
		more = append(more, fmt.Sprintf("%d of its %d synchronisations are seen to be needed in block %s",
			needed, len(q.doc.Barriers), q.run.Blocks()[0]))
	}
	if advice > 0 {
		noun := "pieces"
		if advice == 1 {
			noun = "piece"
		}
		more = append(more, fmt.Sprintf("%d %s of advice", advice, noun))
	}
	if len(more) > 0 {
		lines = append(lines, strings.Join(more, ", "))
	}
	if text := q.onlyOutput(); text != "" {
		lines = append(lines, text)
	}
	if !rep.Referenced() {
		lines = append(lines, "a wrong value is not seen without a reference, and an expectation is no part of a "+
			"diagnosis: tilescope check --expect judges what outputs are made of")
	}
	return lines
}
