package gates

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// alpha is the level of significance.
const alpha = 0.05

// combine is the verdict over parts: red if any is red, not run if none ran.
func combine(parts ...string) string {
	v := NotRun
	for _, p := range parts {
		switch p {
		case Red:
			return Red
		case Green:
			v = Green
		}
	}
	return v
}

func overall(targets []TargetDoc) string {
	var parts []string
	for i := range targets {
		parts = append(parts, targets[i].Verdict)
	}
	return combine(parts...)
}

// Headline is the verdict in words: green alone means that every gate of every target ran, else it names
// those that did not run: "what ran is green; not run: performance".
func (d *Doc) Headline() string {
	if d.Verdict != Green {
		return d.Verdict
	}
	missing := []struct {
		gate string
		of   []string
	}{{gate: "PTXAS"}, {gate: "correctness"}, {gate: "performance"}}
	partly := false
	for i := range d.Targets {
		t := &d.Targets[i]
		partly = partly || !t.Mergeable
		for k, verdict := range []string{t.PTXAS.Verdict, t.Correctness.Verdict, t.Performance.Verdict} {
			if verdict == NotRun {
				missing[k].of = append(missing[k].of, t.Target)
			}
		}
	}
	if !partly {
		return d.Verdict
	}
	var list []string
	for _, m := range missing {
		switch len(m.of) {
		case 0:
		case len(d.Targets):
			list = append(list, m.gate)
		default:
			list = append(list, m.gate+" of "+strings.Join(m.of, " "))
		}
	}
	if list == nil {
		return "what ran is green"
	}
	return "what ran is green; not run: " + strings.Join(list, ", ")
}

// settle draws the target's verdict from its gates.
func (t *TargetDoc) settle() {
	t.Verdict = combine(t.PTXAS.Verdict, t.Correctness.Verdict, t.Performance.Verdict)
	t.Mergeable = t.PTXAS.Verdict == Green && t.Correctness.Verdict == Green && t.Performance.Verdict == Green
}

// settle draws the verdict over architectures, and says what decided it.
func (p *PTXASDoc) settle() {
	var parts []string
	for _, a := range p.Archs {
		parts = append(parts, a.Verdict)
	}
	p.Verdict = combine(parts...)
	decisive := p.Verdict
	if decisive == Green {
		decisive = NotRun // what is missing
	}
	var reasons []string
	archs := map[string][]string{}
	for _, a := range p.Archs {
		if a.Verdict != decisive {
			continue
		}
		if archs[a.Reason] == nil {
			reasons = append(reasons, a.Reason)
		}
		archs[a.Reason] = append(archs[a.Reason], a.Arch)
	}
	for i, r := range reasons {
		reasons[i] = strings.Join(archs[r], " ") + ": " + r
	}
	p.Reason = strings.Join(reasons, "; ")
}

// judgeResources lists the limits that an allotment is over.
func judgeResources(r *report.Resources, l probes.Limits) (verdict, reason string) {
	var over []string
	check := func(got, limit int, what string) {
		if got > limit {
			over = append(over, fmt.Sprintf("%d %s, limit %d", got, what, limit))
		}
	}
	check(r.Registers, l.Registers, "registers")
	check(r.SharedBytes, l.SharedBytes, "shared bytes")
	check(r.SpillStoreBytes+r.SpillLoadBytes, l.Spills, "spilled bytes")
	if len(over) > 0 {
		return Red, strings.Join(over, ", ")
	}
	return Green, ""
}

// judgeCell is a run's verdict. It is red where the run's exit code would not be 0: O over its limits,
// a stage over its bound, or a finding of severity error, O differing between the builds with and
// without probes among them.
func judgeCell(run *debugkern.Run) CellDoc {
	rep := run.Report
	c := CellDoc{
		Dims: rep.Shape, Seed: rep.Seed, Verdict: Green, Backend: rep.Backend, Output: rep.Output,
		Guilty:   []string{},
		Findings: countFindings(rep.Findings), Digest: rep.Digest,
	}
	for _, g := range rep.Guilty {
		c.Guilty = append(c.Guilty, g.Stage)
	}
	if run.Plain != nil && rep.Gate == probes.GateNone.String() {
		c.Plain, c.OutputSHA256 = "equal", run.Plain.OutputSHA256
		for _, f := range c.Findings {
			if f.Kind == "probe-changed-result" {
				c.Plain = "differs"
			}
		}
	}
	if rep.ExitCode() != 0 {
		c.Verdict, c.Reason = Red, whyRed(rep, &c)
	}
	return c
}

func whyRed(rep *report.Run, c *CellDoc) string {
	var why []string
	if len(c.Guilty) > 0 {
		why = append(why, "wrong: "+strings.Join(c.Guilty, " "))
	}
	if o := rep.Output; o != nil && o.Verdict != report.OK {
		errors := fmt.Sprintf("max_abs %s, mean_abs %s", o.Most(), o.Size(o.MeanAbs, "%.3g"))
		if odd := o.Odd(); odd != "" {
			errors = odd
		}
		why = append(why, fmt.Sprintf("output: %s, %.1f %% over the limit", errors,
			100*float64(o.BadFraction)))
	}
	for _, f := range c.Findings {
		if f.Severity == "error" {
			why = append(why, f.Kind+": "+f.Message)
		}
	}
	if len(why) == 0 {
		why = append(why, rep.Verdict)
	}
	return strings.Join(why, "; ")
}

// countFindings gathers findings by kind and severity, in order of first appearance.
func countFindings(all []report.Finding) []FindingCount {
	out := []FindingCount{}
next:
	for _, f := range all {
		for i := range out {
			if out[i].Kind == f.Kind && out[i].Severity == f.Severity {
				out[i].Count += max(1, f.Count)
				continue next
			}
		}
		out = append(out, FindingCount{f.Kind, f.Severity, max(1, f.Count), f.Message})
	}
	return out
}

// settle counts the cells.
func (c *CorrectnessDoc) settle(planned int) {
	for _, cell := range c.Cells {
		if cell.Verdict == Green {
			c.Passed++
		}
	}
	c.Total = planned
	switch {
	case planned == 0:
		c.Verdict, c.Reason = NotRun, "no shape and seed to run"
	case c.Passed == planned && len(c.Cells) == planned:
		c.Verdict = Green
	default:
		c.Verdict, c.Reason = Red, fmt.Sprintf("%d of %d fail", planned-c.Passed, planned)
	}
}

// settle compares both times: green where the median is faster by more than the threshold,
// and significantly so.
func (p *PerformanceDoc) settle() {
	if p.Times == nil || p.Baseline == nil {
		return
	}
	p.Speedup = p.Baseline.P50 / p.Times.P50
	test := mannWhitney(p.Times.Samples, p.Baseline.Samples)
	p.Test = &test
	p.Verdict = Red
	switch {
	case p.Speedup <= p.MinSpeedup:
		p.Reason = fmt.Sprintf("%.3f times as fast as %s, and more than %.2f is required", p.Speedup,
			p.Against, p.MinSpeedup)
	case test.P >= alpha:
		p.Reason = fmt.Sprintf("%.3f times as fast as %s, but p = %.3g: not significant", p.Speedup,
			p.Against, test.P)
	default:
		p.Verdict = Green
	}
}
