package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
)

// gatesOptions are the options of gates besides the shared ones.
type gatesOptions struct {
	runOptions
	against, out, shapes, seeds, sarif string
	warmups, launches                  int
	flushL2, changed                   bool
}

func (a *app) gatesCommand() *cobra.Command {
	var opt gatesOptions
	c := &cobra.Command{
		Use:   "gates TARGET…",
		Short: "What may be merged: PTXAS, correctness, performance",
		Long: "gates judges each TARGET three times: registers, shared memory and spills by ptxas (or the loaded function), for each\n" +
			"architecture of --arch (sm_80,sm_86,sm_89,sm_90); results over shapes and seeds, the build without probes next to the\n" +
			"instrumented one; and speed against --against on a GPU, on --shape (mission). Thresholds are the manifest's. Results of\n" +
			"a kernel without a reference are judged by the findings of every checker. What cannot be measured here is `not run`,\n" +
			"with its reason; the emulator's counts are given as counts.\n\n" +
			"With --out DIR it writes build_meta.json, correctness_summary.json, perf_baseline.json and COMPARE.md there. A sweep that\n" +
			"was cancelled or killed goes on where it was when the same command is given again.\n\n" +
			"With --changed the TARGETs are changed files: manifests, and kernels, for which the manifests in their folders are judged that name\n" +
			"them; other files are left out.\n\n" +
			"Exit code: 0 no gate is red, 1 one is, 2 bad input, 3 backend or compiler not available.",
		Example: "  tilescope gates stage2 --shapes small,validation --seeds 0-2\n  tilescope gates stage3a stage3b --against stage2 --out gates-out",
		Args:    targetsAtLeastOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !opt.changed {
				return a.gates(cmd, &opt, args)
			}
			targets, err := a.manifestsOf(cmd.Context(), args)
			if err != nil || len(targets) == 0 {
				return err
			}
			return a.gates(cmd, &opt, targets)
		},
	}
	opt.bind(c)
	f := c.Flags()
	f.Lookup("arch").Usage =
		"architectures that ptxas assembles for, comma-separated (default sm_80,sm_86,sm_89,sm_90)"
	f.Lookup("shape").Usage =
		"shape that speed is measured on (default mission), and of correctness unless --shapes is given"
	f.StringVar(&opt.against, "against", "", "what speed is compared with: TARGET")
	f.StringVar(&opt.out, "out", "", "directory for the artefacts")
	f.StringVar(&opt.shapes, "shapes", "",
		"shapes of the correctness gate, comma-separated names or B,H,S,D (default the manifest's, but long)")
	f.StringVar(&opt.seeds, "seeds", "",
		"seeds of the correctness gate: N, A-B or a list of them (default 0,1,2)")
	f.IntVar(&opt.warmups, "warmups", 100, "launches before those that are timed")
	f.IntVar(&opt.launches, "launches", 500, "timed launches")
	f.StringVar(&opt.sarif, "sarif", "", "write what is red to FILE as SARIF 2.1.0")
	f.BoolVar(&opt.changed, "changed", false,
		"judge the manifests of changed files; files that no manifest names are left out")
	f.BoolVar(&opt.flushL2, "flush-l2", false, "overwrite the second-level cache before each timed launch")
	return c
}

func targetsAtLeastOne(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError(
			"%s takes at least one TARGET, a name of the catalogue (tilescope kernels) or the path of a manifest",
			c.CommandPath())
	}
	return nil
}

func (a *app) gates(cmd *cobra.Command, opt *gatesOptions, targets []string) error {
	o, err := opt.resolve(cmd, a, targets)
	if err != nil {
		return err
	}
	dump, err := a.createOutput(cmd.Context(), "--dump", opt.dump, dumpFile)
	if err != nil {
		return err
	}
	defer dump.abandon()
	log, err := a.createOutput(cmd.Context(), "--sarif", opt.sarif, sarifFile)
	if err != nil {
		return err
	}
	defer log.abandon()
	if dump != nil {
		o.Ran = func(r *debugkern.Run) error {
			return dump.write(func(w io.Writer) error { return r.Dump(cmd.Context(), w) })
		}
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	meter := newGatesMeter(a.Stderr, a.json)
	doc, err := gates.Run(cmd.Context(), s, *o, meter.report)
	meter.line.clear()
	if err != nil {
		if cmd.Context().Err() != nil && o.Out != "" {
			fmt.Fprintf(a.Stderr,
				"tilescope: what was measured is kept in %s: the same command goes on from there\n", o.Out)
		}
		return err
	}
	if log != nil {
		if err := log.write(doc.WriteSARIF); err != nil {
			return err
		}
	}
	if err := a.print(doc, func(w io.Writer) { printGates(w, doc) }); err != nil {
		return err
	}
	if doc.Verdict == gates.Red {
		return exit(exitDiverged)
	}
	return nil
}

var archName = regexp.MustCompile(`^sm_[1-9][0-9]{1,2}[a-z]?$`)

// resolve turns options into what gates takes; everything malformed is refused here.
func (o *gatesOptions) resolve(cmd *cobra.Command, a *app, targets []string) (*gates.Options, error) {
	changed := cmd.Flags().Changed
	req, err := o.request(cmd, a.config, "")
	if err != nil {
		return nil, err
	}
	req.Arch, req.Shape = a.config.Arch, ""
	if err := o.applyGate(cmd.Context(), &req, targets[0]); err != nil {
		return nil, err
	}
	out := &gates.Options{
		Targets: targets, Against: o.against, Request: req, Warmups: o.warmups, Launches: o.launches,
		FlushL2: o.flushL2, Out: o.out,
		Tool: gates.ThisTool(a.Version), Files: a.Files,
	}
	if changed("shape") {
		out.Shape, out.Shapes = o.shape, []string{o.shape}
	}
	if changed("seed") {
		out.Seeds = []uint64{o.seed}
	}
	if changed("shapes") {
		if out.Shapes, err = shapeList(o.shapes); err != nil {
			return nil, err
		}
	}
	if changed("seeds") {
		if out.Seeds, err = seedList(o.seeds); err != nil {
			return nil, err
		}
	}
	if changed("arch") {
		for arch := range strings.SplitSeq(o.arch, ",") {
			arch = strings.TrimSpace(arch)
			if !archName.MatchString(arch) {
				return nil, usageError("--arch %s: %q is not an architecture such as sm_80", o.arch, arch)
			}
			out.Archs = append(out.Archs, arch)
		}
	}
	if o.inputs != "" && changed("shapes") {
		return nil, usageError("--shapes and --inputs cannot be combined: the shape is the file's")
	}
	if o.dump != "" && (len(targets) != 1 || len(out.Seeds) != 1 || len(out.Shapes) != 1 && o.inputs == "") {
		return nil, usageError("--dump takes one run: give one TARGET, --shapes and --seeds of one each")
	}
	return out, nil
}

// shapeList reads names and B,H,S,D, both separated by commas: a number is the first of four.
func shapeList(text string) ([]string, error) {
	var out []string
	parts := strings.Split(text, ",")
	for i := 0; i < len(parts); i++ {
		part := strings.TrimSpace(parts[i])
		if part == "" {
			return nil, usageError("--shapes %q: an empty name", text)
		}
		if part[0] >= '0' && part[0] <= '9' {
			if i+4 > len(parts) {
				return nil, usageError("--shapes %s: expected four numbers B,H,S,D, found %d", text,
					len(parts)-i)
			}
			part = strings.ReplaceAll(strings.Join(parts[i:i+4], ","), " ", "")
			i += 3
		}
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out, nil
}

// maxSeeds bounds a range: a slip of the finger is no sweep of years.
const maxSeeds = 10000

// seedList reads N, A-B and lists of them.
func seedList(text string) ([]uint64, error) {
	var out []uint64
	for part := range strings.SplitSeq(text, ",") {
		a, b, ranged := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.ParseUint(a, 10, 64)
		hi := lo
		if err == nil && ranged {
			hi, err = strconv.ParseUint(b, 10, 64)
		}
		if err != nil || hi < lo {
			return nil, usageError("--seeds %s: %q is no seed N or range A-B", text, part)
		}
		if hi-lo >= maxSeeds {
			return nil, usageError("--seeds %s: more than %d seeds", text, maxSeeds)
		}
		for seed := lo; ; seed++ {
			if !slices.Contains(out, seed) {
				out = append(out, seed)
			}
			if seed == hi {
				break
			}
		}
	}
	return out, nil
}

// gatesMeter shows a sweep's progress on standard error: on one line of a terminal, else a line
// for each gate decided.
type gatesMeter struct {
	line *meter
	w    io.Writer
	log  bool
}

func newGatesMeter(w io.Writer, quiet bool) *gatesMeter {
	f := errorFile(w)
	return &gatesMeter{line: newMeter(w, quiet), w: w, log: f != nil && !term.IsTerminal(f.Fd())}
}

func (m *gatesMeter) report(p gates.Progress) {
	if p.Verdict != "" && m.log {
		fmt.Fprintf(m.w, "tilescope: %d/%d %s: %s %s\n", p.Done, p.Total, p.Target, p.Gate, p.Verdict)
	}
	m.line.report(debugkern.Progress{
		Phase: p.Target + " " + p.Gate, Detail: p.Detail, Done: p.Done, Total: p.Total,
	})
}

// printGates prints a sweep for people: one line a target, then what is red and what did not run.
func printGates(w io.Writer, d *gates.Doc) {
	fmt.Fprintf(w, "gates: %s\n\n", d.Headline())
	tw := newTable(w)
	fmt.Fprintln(tw,
		"  target\tPTXAS\tregs\tshared\tspills\tcorrectness\tworst max_abs\tmean_abs\tperformance\t")
	for i := range d.Targets {
		t := &d.Targets[i]
		regs, shared, spills := allotted(&t.PTXAS)
		maxAbs, meanAbs := "", ""
		if x, y, ok := t.Correctness.Worst(); ok {
			maxAbs, meanAbs = report.Number(x).Size("%.4g"), report.Number(y).Size("%.4g")
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\t%s %d/%d\t%s\t%s\t%s\t\n", t.Target, t.PTXAS.Verdict, regs,
			shared, spills, t.Correctness.Verdict,
			t.Correctness.Passed, t.Correctness.Total, maxAbs, meanAbs, speedText(&t.Performance))
	}
	tw.Flush()
	for i := range d.Targets {
		printTarget(w, &d.Targets[i])
	}
	if d.Resumed > 0 {
		fmt.Fprintf(w, "\n%d measurements are of the same sweep, cut short before\n", d.Resumed)
	}
	for _, why := range d.Rejected {
		fmt.Fprintf(w, "\nnot used, measured again: %s\n", why)
	}
}

// allotted is the largest of each resource over the architectures.
func allotted(p *gates.PTXASDoc) (regs, shared, spills string) {
	r, s, sp, known := 0, 0, 0, false
	for _, a := range p.Archs {
		if a.Resources != nil {
			known = true
			r, s = max(r, a.Resources.Registers), max(s, a.Resources.SharedBytes)
			sp = max(sp, a.Resources.SpillStoreBytes+a.Resources.SpillLoadBytes)
		}
	}
	if !known {
		return "", "", ""
	}
	return strconv.Itoa(r), strconv.Itoa(s), strconv.Itoa(sp)
}

func speedText(p *gates.PerformanceDoc) string {
	switch {
	case p.Times == nil:
		return p.Verdict
	case p.Test == nil:
		return fmt.Sprintf("%s, %.2f µs", p.Verdict, p.Times.P50)
	}
	return fmt.Sprintf("%s ×%.3f, p %.2g", p.Verdict, p.Speedup, p.Test.P)
}

// printTarget says why: what is red cell by cell, what did not run, and the figures of speed.
func printTarget(w io.Writer, t *gates.TargetDoc) {
	var b strings.Builder
	if t.PTXAS.Verdict != gates.Green {
		fmt.Fprintf(&b, "  PTXAS %s: %s\n", t.PTXAS.Verdict, t.PTXAS.Reason)
	}
	for _, a := range t.PTXAS.Archs {
		if a.Resources != nil {
			for _, note := range a.Resources.Notes {
				fmt.Fprintf(&b, "  %s, reported by the compiler: %s\n", a.Arch, note)
			}
		}
	}
	if t.Correctness.Verdict == gates.Red {
		fmt.Fprintf(&b, "  correctness red: %s\n", t.Correctness.Reason)
	}
	for _, c := range t.Correctness.Cells {
		if c.Verdict != gates.Green {
			fmt.Fprintf(&b, "    %s: %s\n", c.Case(), c.Reason)
		}
	}
	if t.Correctness.ByFindings() {
		fmt.Fprintf(&b, "  correctness by findings alone: the kernel has no reference\n")
	}
	p := &t.Performance
	if p.Reason != "" {
		fmt.Fprintf(&b, "  performance %s: %s\n", p.Verdict, p.Reason)
	}
	for _, row := range []struct {
		name   string
		times  *gates.Times
		counts *report.Counts
	}{{t.Target, p.Times, p.Counts}, {p.Against, p.Baseline, p.BaselineCounts}} {
		if x := row.times; x != nil {
			fmt.Fprintf(&b, "    %s%s: p50 %.2f µs, p90 %.2f, mean %.2f, std %.2f, min %.2f, max %.2f\n",
				row.name, p.On(), x.P50, x.P90, x.Mean, x.Std, x.Min, x.Max)
		}
		if row.counts != nil {
			fmt.Fprintf(&b, "    %s%s, counted by the emulator, not timed: %s\n", row.name, p.On(),
				row.counts.Summary())
		}
	}
	if b.Len() > 0 {
		fmt.Fprintf(w, "\n%s\n%s", t.Target, b.String())
	}
}
