package gates

import (
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// compare is COMPARE.md: the sweep for people, every figure with where it comes from.
func (d *Doc) compare() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Gates: %s\n\n", md(d.Headline()))
	d.compareProvenance(&b)
	fmt.Fprintf(&b,
		"\n## Verdicts\n\n| target | all three | PTXAS | correctness | performance |\n|---|---|---|---|---|\n")
	for i := range d.Targets {
		t := &d.Targets[i]
		merge := "not green"
		if t.Mergeable {
			merge = "green"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s %d/%d | %s |\n", md(t.Target), merge, md(t.PTXAS.Verdict),
			md(t.Correctness.Verdict), t.Correctness.Passed,
			t.Correctness.Total, md(t.Performance.Verdict))
	}
	d.compareResources(&b)
	d.compareOutput(&b)
	d.compareSpeed(&b)
	return b.String()
}

func (d *Doc) compareProvenance(b *strings.Builder) {
	p := &d.Provenance
	commit := p.Tool.Commit
	if commit == "" {
		commit = "not recorded"
	} else if p.Tool.Modified {
		commit += " with changes"
	}
	fmt.Fprintf(b, "- tilescope %s, commit %s, %s %s/%s, executable %s\n", md(p.Tool.Version), md(commit),
		md(p.Tool.Go), md(p.Tool.OS), md(p.Tool.Arch), md(short(p.Tool.Executable)))
	fmt.Fprintf(b, "- executed on %s (%s)", md(p.Environment.Device), md(p.Environment.Arch))
	if p.Environment.Driver != "" {
		fmt.Fprintf(b, ", driver for CUDA %s", md(p.Environment.Driver))
	}
	if c := p.Environment.Clocks; c != nil {
		fmt.Fprintf(b, ", SM clock %d of %d MHz", c.SM, c.MaxSM)
	}
	fmt.Fprintf(b, "\n- seeds %v; %d warm-ups, %d timed launches, second-level cache flushed: %v\n", p.Seeds,
		p.Warmups, p.Launches, p.FlushL2)
	for i := range d.Targets {
		if t := &d.Targets[i]; t.Build != nil {
			planted := ""
			if len(t.Build.Patches) > 0 {
				planted = ", with the faults " + md(strings.Join(t.Build.Patches, " "))
			}
			fmt.Fprintf(b, "- %s: %s, compiler %s, %s%s, PTX %s\n", md(t.Target),
				md(report.BuilderText(t.Build.Builder)), md(orDash(t.Build.Compiler)),
				text.MarkdownCode(strings.Join(append(append([]string{}, t.Build.Options...),
					t.Build.Defines...), " ")), planted, md(short(t.Build.PTXSHA256)))
		}
	}
}

func (d *Doc) compareResources(b *strings.Builder) {
	fmt.Fprintf(b,
		"\n## PTXAS\n\n| target | architecture | verdict | registers | shared bytes | spilled bytes | limits | by | why |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range d.Targets {
		t := &d.Targets[i]
		l := t.PTXAS.Limits
		limits := fmt.Sprintf("%d, %d, %d", l.Registers, l.SharedBytes, l.Spills)
		for _, a := range t.PTXAS.Archs {
			r := [4]string{"-", "-", "-", "-"}
			if a.Resources != nil {
				r = [4]string{
					fmt.Sprint(a.Resources.Registers), fmt.Sprint(a.Resources.SharedBytes),
					fmt.Sprint(a.Resources.SpillStoreBytes + a.Resources.SpillLoadBytes),
					md(orDash(a.Resources.By)),
				}
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", md(t.Target), md(a.Arch),
				md(a.Verdict), r[0], r[1], r[2], limits, r[3], md(a.Reason))
		}
		if len(t.PTXAS.Archs) == 0 {
			fmt.Fprintf(b, "| %s | - | %s | - | - | - | - | - | %s |\n", md(t.Target), md(t.PTXAS.Verdict),
				md(t.PTXAS.Reason))
		}
	}
}

func (d *Doc) compareOutput(b *strings.Builder) {
	fmt.Fprintf(b,
		"\n## Correctness\n\nAgainst attention on the un-quantised inputs; every stage is compared with its derived bound too.\n\n")
	for i := range d.Targets {
		if t := &d.Targets[i]; t.Correctness.ByFindings() {
			fmt.Fprintf(b, "%s has no reference: it is judged by the findings of every checker alone.\n\n",
				md(t.Target))
		}
	}
	fmt.Fprintf(b,
		"| target | shape | seed | verdict | max abs | mean abs | over | plain build | O | why |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range d.Targets {
		t := &d.Targets[i]
		for _, c := range t.Correctness.Cells {
			o := [3]string{"-", "-", "-"}
			if c.Output != nil {
				o = [3]string{
					c.Output.Size(c.Output.MaxAbs, "%.4g"),
					c.Output.Size(c.Output.MeanAbs, "%.4g"),
					fmt.Sprintf("%.2f %%", 100*float64(c.Output.BadFraction)),
				}
			}
			fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", md(t.Target),
				md(orDash(c.Label())), c.Seed, md(c.Verdict), o[0], o[1], o[2],
				md(orDash(c.Plain)), md(orDash(short(c.OutputSHA256))), md(c.Reason))
		}
	}
}

func (d *Doc) compareSpeed(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Performance\n\n")
	timed := false
	for i := range d.Targets {
		timed = timed || d.Targets[i].Performance.Times != nil
	}
	if timed {
		d.compareTimes(b)
	}
	for i := range d.Targets {
		t := &d.Targets[i]
		if p := &t.Performance; p.Reason != "" {
			fmt.Fprintf(b, "- %s: %s: %s\n", md(t.Target), md(p.Verdict), md(p.Reason))
		}
	}
	d.compareCounts(b)
}

// compareTimes writes each target's times, its baseline's below them: they were measured together.
func (d *Doc) compareTimes(b *strings.Builder) {
	fmt.Fprintf(b, "Microseconds, launches interleaved with the baseline's.\n\n"+
		"| target | shape | p50 | p90 | mean | std | min | max | speedup | p | effect | verdict |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range d.Targets {
		t := &d.Targets[i]
		p := &t.Performance
		if p.Times == nil {
			continue
		}
		test := [3]string{"-", "-", "-"}
		if p.Test != nil {
			test = [3]string{
				fmt.Sprintf("%.3f", p.Speedup), fmt.Sprintf("%.2g", p.Test.P),
				fmt.Sprintf("%+.2f", p.Test.Effect),
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", md(t.Target), md(orDash(p.Shape)),
			p.Times.row(), test[0], test[1], test[2], md(p.Verdict))
		if p.Baseline != nil {
			fmt.Fprintf(b, "| (%s) | %s | %s | 1 | - | - | - |\n", md(p.Against), md(orDash(p.Shape)),
				p.Baseline.row())
		}
	}
	b.WriteString("\n")
}

func (t *Times) row() string {
	return fmt.Sprintf("%.2f | %.2f | %.2f | %.2f | %.2f | %.2f", t.P50, t.P90, t.Mean, t.Std, t.Min, t.Max)
}

func (d *Doc) compareCounts(b *strings.Builder) {
	first := true
	row := func(name string, p *PerformanceDoc, c *report.Counts) {
		if c == nil {
			return
		}
		if first {
			first = false
			fmt.Fprintf(b,
				"\nWhat the emulator executes in one launch of the plain build. These are counts, not times.\n\n"+
					"| target | shape | warp instructions | mma outputs | shared accesses | global accesses | barriers |\n|---|---|---|---|---|---|---|\n")
		}
		fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d |\n", md(name), md(orDash(p.Shape)),
			c.WarpInstructions, c.MMAOutputs, c.SharedAccesses, c.GlobalAccesses, c.Barriers)
	}
	for i := range d.Targets {
		row(d.Targets[i].Target, &d.Targets[i].Performance, d.Targets[i].Performance.Counts)
	}
	for i := range d.Targets {
		if p := &d.Targets[i].Performance; p.BaselineCounts != nil {
			row("("+d.Against+")", p, p.BaselineCounts)
			return // the baseline is one
		}
	}
}

// Label is the shape's name, or its numbers.
func (c *CellDoc) Label() string {
	if c.Shape == "" || strings.Contains(c.Shape, ",") {
		return c.Dims.String()
	}
	return c.Shape
}

// Case names the case: "mission seed 1", or the seed alone where the kernel has no shapes.
func (c *CellDoc) Case() string {
	return strings.TrimPrefix(fmt.Sprintf("%s seed %d", c.Label(), c.Seed), " ")
}

// On is " on " and the shape that was measured; "" where the kernel has no shapes.
func (p *PerformanceDoc) On() string {
	if p.Shape == "" {
		return ""
	}
	return " on " + p.Shape
}

// Worst is the largest max_abs and mean_abs over the cells, NaN where one is; ok is false where no
// cell has an output.
func (c *CorrectnessDoc) Worst() (maxAbs, meanAbs float64, ok bool) {
	for _, cell := range c.Cells {
		if cell.Output != nil {
			maxAbs, meanAbs, ok = math.Max(maxAbs, float64(cell.Output.MaxAbs)),
				math.Max(meanAbs, float64(cell.Output.MeanAbs)), true
		}
	}
	return maxAbs, meanAbs, ok
}

// md is text that comes from elsewhere, in a table's cell or a list.
func md(s string) string { return text.Markdown(s) }

func short(digest string) string { return digest[:min(12, len(digest))] }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
