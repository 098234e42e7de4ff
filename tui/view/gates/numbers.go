package gates

import (
	"cmp"
	"fmt"
	"strings"

	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// numbers is what stands behind the selected row's verdicts.
func (p *Pane) numbers(w, h int) []string {
	p.first = theme.Into(p.first, p.line, h-2, len(p.facts))
	var lines []string
	for i := p.first; i < len(p.facts); i++ {
		f := p.facts[i]
		pointer, style := " ", f.style
		if i == p.line && p.Focus == Numbers {
			pointer = p.Theme.Glyph.Pointer
			if f.cell != nil {
				style = p.Theme.Select
			}
		}
		lines = append(lines, p.Theme.Line(w-2).Add(p.Theme.Mark, pointer).
			Add(style, p.Theme.Fit(f.text, w-3)).Done())
	}
	note := ""
	if len(p.facts) > h-2 {
		note = fmt.Sprintf("%d-%d of %d", p.first+1, min(p.first+h-2, len(p.facts)), len(p.facts))
	}
	title := "NUMBERS " + p.Selected().Target
	if was := p.Selected().Previous; was != "" {
		title, lines = was, p.Theme.Fade(lines)
	}
	return p.Theme.Box(title, note, lines, w, h, p.Focus == Numbers)
}

// explain makes the facts of the selected row.
func (p *Pane) explain() {
	p.Changed = true
	p.facts = p.facts[:0]
	d := p.Selected().Doc
	if d == nil {
		p.unexplained()
		return
	}
	style, mark := p.mark(d.Verdict)
	switch {
	case d.Mergeable:
		p.say(style, "%s all three gates green: may be merged", mark)
	case d.Verdict == gates.Red:
		p.say(style, "%s red: may not be merged", mark)
	default:
		p.say(style, "%s what ran is green; not mergeable before all three gates ran", mark)
	}
	if b := d.Build; b != nil {
		p.say(p.Theme.Dim, "%s (%s), SHA-256 %.12s", report.BuilderText(b.Builder),
			cmp.Or(b.Compiler, "compiler unknown"), b.PTXSHA256)
	}
	p.explainPTXAS(&d.PTXAS)
	p.explainCorrectness(&d.Correctness)
	p.explainPerformance(d)
	p.elsewhere()
	p.line = max(0, min(p.line, len(p.facts)-1))
}

// noReference is what of the gates does not apply to a kernel without a reference.
const noReference = "No reference: limits of the output and bounds of stages do not apply."

// unexplained says what each gate will judge while nothing is judged.
func (p *Pane) unexplained() {
	a, say := &p.data.Ahead, func(format string, args ...any) { p.say(p.Theme.Text, format, args...) }
	p.elsewhere()
	say("PTXAS: the build without probes, assembled for %s. Green: at most %s.", strings.Join(a.Archs, ", "),
		ptxasLimits(a.Limits.Registers, a.Limits.SharedBytes, a.Limits.Spills))
	seeds := strings.Trim(fmt.Sprint(a.Seeds), "[]")
	runs := theme.Count(max(1, len(a.Shapes))*len(a.Seeds), "run")
	if len(a.Shapes) > 0 {
		runs += ": shapes " + strings.Join(a.Shapes, ", ") + ", each with"
	} else {
		runs += ":"
	}
	runs += " seeds " + seeds
	if p.data.Alone {
		say("Correctness: %s, under every checker. Green: no finding of severity error.", runs)
		say(noReference)
	} else {
		say("Correctness: %s. Green: output within %s, no stage wrong, no finding of severity error.", runs,
			outputLimits(a.Limits.MaxAbs, a.Limits.MeanAbs, a.Limits.BadFraction))
	}
	speed := "measured without a comparison: pin a variant as A in Flags to compare with it"
	if p.data.Against != "" {
		speed = "Green: significantly faster than " + p.data.Against + " by Mann-Whitney, and by the " +
			"manifest's factor"
	}
	say("Performance: %d warm-ups and %d timed launches on a GPU; %s. Without a GPU it is not run, and the "+
		"emulator's counts are shown as counts.", a.Warmups, a.Launches, speed)
	say("Nothing is judged until a key starts it: %s.", p.data.Keys)
	if len(p.data.Known) == 0 {
		return
	}
	p.say(p.Theme.Text, "")
	p.say(p.Theme.Strong, "The run on screen, which these gates do not judge: %s", p.data.KnownOf)
	for _, f := range p.data.Known {
		p.say(p.Theme.Text, "  %s: %s", f.Name, f.Text)
	}
}

// elsewhere says where the gates are that run a part of the kernel.
func (p *Pane) elsewhere() {
	if p.data.Parts != "" {
		p.say(p.Theme.Dim, "%s", p.data.Parts)
	}
}

// ptxasLimits writes limits of what ptxas reports.
func ptxasLimits(registers, shared, spills int) string {
	return fmt.Sprintf("%d registers, %d shared bytes, %d spilled", registers, shared, spills)
}

// outputLimits writes limits of the output's errors.
func outputLimits(maxAbs, meanAbs, badFraction float64) string {
	return fmt.Sprintf("max_abs %g, mean_abs %g, over the tolerance %g %%", maxAbs, meanAbs, 100*badFraction)
}

// say adds a line, or as many as the text takes.
func (p *Pane) say(style theme.Style, format string, args ...any) {
	all := fmt.Sprintf(format, args...)
	indent := all[:len(all)-len(strings.TrimLeft(all, " "))]
	for i, text := range p.Theme.Wrap(all, max(20, p.W-10)) {
		if text = indent + text; i > 0 {
			text = "    " + text
		}
		p.facts = append(p.facts, fact{style: style, text: text})
	}
}

// head adds a gate's line: its verdict, its limits, its reason.
func (p *Pane) head(name, verdict, limits, reason string) {
	style, mark := p.mark(verdict)
	text := fmt.Sprintf("%s %s: %s", mark, name, verdict)
	if limits != "" {
		text += " · limits " + limits
	}
	p.say(style, "%s", text)
	if reason != "" {
		p.say(p.Theme.Text, "  %s", strings.ReplaceAll(reason, "\n", " "))
	}
}

func (p *Pane) explainPTXAS(d *gates.PTXASDoc) {
	reason := d.Reason
	if d.Verdict == gates.Red && len(d.Archs) > 0 {
		reason = "" // by architecture below
	}
	p.head("PTXAS", d.Verdict, ptxasLimits(d.Limits.Registers, d.Limits.SharedBytes, d.Limits.Spills), reason)
	for _, a := range d.Archs {
		style, mark := p.mark(a.Verdict)
		switch x := a.Resources; {
		case a.Verdict == gates.Red: // what is over its limit
			p.say(style, "  %s %s: %s", mark, a.Arch, a.Reason)
		case x != nil:
			p.say(p.Theme.Text, "  %s %s: %d registers, %d shared bytes, %d spilled", mark, a.Arch,
				x.Registers, x.SharedBytes, x.SpillStoreBytes+x.SpillLoadBytes)
		}
		if a.Resources != nil {
			for _, note := range a.Resources.Notes {
				p.say(p.Theme.Text, "    the compiler reports: %s", note)
			}
		}
	}
}

func (p *Pane) explainCorrectness(d *gates.CorrectnessDoc) {
	l := d.Limits
	limits := outputLimits(l.MaxAbs, l.MeanAbs, l.BadFraction)
	if d.ByFindings() {
		limits = ""
	}
	p.head(fmt.Sprintf("correctness %d/%d pass", d.Passed, d.Total), d.Verdict, limits, d.Reason)
	if d.ByFindings() {
		p.say(p.Theme.Text, "  by findings alone. "+noReference)
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		style := p.Theme.Text
		_, mark := p.mark(c.Verdict)
		text := fmt.Sprintf("  %s %-10s seed %-3d", mark, c.Label(), c.Seed)
		if o := c.Output; o != nil {
			text += fmt.Sprintf("  max_abs %s  mean_abs %s  over %.2f %%", o.Size(o.MaxAbs, "%.4f"),
				o.Size(o.MeanAbs, "%.5f"), 100*float64(o.BadFraction))
		}
		if c.Verdict != gates.Green && c.Reason != "" {
			text += "  " + strings.ReplaceAll(c.Reason, "\n", " ")
			style = p.Theme.Wrong
		}
		p.facts = append(p.facts, fact{style, text, c})
	}
}

func (p *Pane) explainPerformance(t *gates.TargetDoc) {
	d := &t.Performance
	limits := ""
	if d.Against != "" {
		limits = fmt.Sprintf("faster than %s by more than ×%.2f, p below %g", d.Against,
			d.MinSpeedup, d.Alpha)
	}
	p.head("performance", d.Verdict, limits, d.Reason)
	for _, r := range []struct {
		name  string
		times *gates.Times
	}{{t.Target, d.Times}, {d.Against, d.Baseline}} {
		if x := r.times; x != nil {
			p.say(p.Theme.Text,
				"  %s%s, %d launches: median %.2f µs, p90 %.2f, mean %.2f ± %.2f, least %.2f, most %.2f",
				r.name, d.On(), x.Launches, x.P50, x.P90, x.Mean, x.Std, x.Min, x.Max)
		}
	}
	if d.Test != nil {
		p.say(p.Theme.Text, "  ×%.3f, Mann-Whitney p = %.3g, effect %+.2f", d.Speedup, d.Test.P,
			d.Test.Effect)
	}
	if d.Counts != nil {
		p.say(p.Theme.Text, "  counted by the emulator%s, no time: %s", d.On(), d.Counts.Summary())
	}
	if d.BaselineCounts != nil {
		p.say(p.Theme.Text, "  %s: %s", d.Against, d.BaselineCounts.Summary())
	}
}
