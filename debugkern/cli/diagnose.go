package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
)

// diagnoseOptions are the options of diagnose besides the shared ones.
type diagnoseOptions struct {
	runOptions
	launch             checkOptions // of a file that no manifest describes
	schedules, perturb int
	sarif, html        string
}

// Bounds of what can be requested: a slip of the finger is no work of years.
const (
	maxSchedules   = 100000
	maxPerturb     = 10000
	defaultPerturb = "200" // seeds of --perturb without a number
)

func (a *app) diagnoseCommand() *cobra.Command {
	var opt diagnoseOptions
	c := &cobra.Command{
		Use:   "diagnose TARGET|FILE.ptx|FILE.cu|BUNDLE.tsl",
		Short: "Run with every checker and several schedules, then explain",
		Long: "diagnose runs a kernel with every checker attached, tries what would fix it, and says why it is wrong: each cause with\n" +
			"its place, the share of the error that goes with it, how it was proven, and what to change. Synchronisation is put in and\n" +
			"taken out virtually, stages and tables are replaced by the reference's: nothing is compiled again. Races are explored under\n" +
			"many schedules. What is printed last is the story: at most twelve lines to act on.\n\n" +
			"It executes on the emulator; with --backend cuda or both the verdict is the GPU's, and --perturb launches the kernel there\n" +
			"with seeded delays.\n\n" +
			"Of a FILE without a manifest launch and arguments are given as for check; nothing has a reference then, and what is explained\n" +
			"are the findings of the checkers.\n\n" +
			"Exit code: 0 agreed and no finding of severity error, 1 a divergence or such a finding, 2 bad input, 3 backend or compiler\n" +
			"not available, 4 the kernel did not build, load or run.",
		Example: "  tilescope diagnose stage3b-reported\n  tilescope diagnose stage2 --fault sync-s --schedules 1000\n" +
			"  tilescope diagnose stage2 --fault sync-frag --html report.html --sarif report.sarif\n" +
			"  tilescope diagnose red.cu --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024",
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error { return a.diagnose(cmd, &opt, args[0]) },
	}
	opt.bind(c)
	f := c.Flags()
	opt.launch.bindLaunch(f)
	f.IntVar(&opt.schedules, "schedules", 0,
		"schedules explored for each race (default 200, fewer for long blocks)")
	f.IntVar(&opt.perturb, "perturb", 0,
		"seeds of delays at shared accesses and synchronisations, on a GPU (200 without a number)")
	f.Lookup("perturb").NoOptDefVal = defaultPerturb
	f.StringVar(&opt.sarif, "sarif", "", "write causes and findings to FILE as SARIF 2.1.0")
	f.StringVar(&opt.html, "html", "", "write one self-contained page to FILE")
	return c
}

// check refuses values that mean nothing.
func (o *diagnoseOptions) check(cmd *cobra.Command, req *debugkern.Request) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("schedules") && (o.schedules < 1 || o.schedules > maxSchedules):
		return usageError("--schedules %d: expected 1 to %d", o.schedules, maxSchedules)
	case changed("perturb") && (o.perturb < 1 || o.perturb > maxPerturb):
		return usageError("--perturb=%d: expected 1 to %d seeds", o.perturb, maxPerturb)
	case changed("perturb") && req.Backend == "emu":
		return usageError(
			"--perturb delays launches on a GPU, and --backend emu asks for none: use --schedules, or --backend cuda")
	case o.sarif != "" && o.sarif == o.html, o.dump != "" && (o.dump == o.sarif || o.dump == o.html):
		return usageError("--dump, --sarif and --html must name different files")
	}
	return nil
}

// asked is the request of a target. Of a file it is not complete: the file is compiled for it, by adopt.
func (o *diagnoseOptions) asked(
	cmd *cobra.Command, a *app, file bool, target string,
) (req debugkern.Request, err error) {
	if file {
		return debugkern.Request{Target: target, Backend: o.backend}, nil
	}
	if err := refuseLaunch(cmd, target); err != nil {
		return req, err
	}
	if req, err = o.request(cmd, a.config, target); err != nil {
		return req, err
	}
	return req, o.applyGate(cmd.Context(), &req, target)
}

func (a *app) diagnose(cmd *cobra.Command, opt *diagnoseOptions, target string) error {
	file := (isKernelFile(target) || ofPython(target)) && !build.Bundled(target)
	req, err := opt.asked(cmd, a, file, target)
	if err != nil {
		return err
	}
	if err := opt.check(cmd, &req); err != nil {
		return err
	}
	var d *diagnose.Diagnosis
	out := outputs{
		{
			option: "--dump", path: opt.dump, kind: dumpFile,
			fill: func(w io.Writer) error { return d.Judged().Dump(cmd.Context(), w) },
		},
		{
			option: "--sarif", path: opt.sarif, kind: sarifFile,
			fill: func(w io.Writer) error { return d.WriteSARIF(w, a.Version) },
		},
		{
			option: "--html", path: opt.html, kind: htmlFile,
			fill: func(w io.Writer) error { return d.WriteHTML(w, a.Version) },
		},
	}
	defer out.abandon()
	if err := out.create(cmd.Context(), a); err != nil {
		return err
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	if file {
		req, err = a.adopt(cmd.Context(), cmd, &opt.runOptions, &opt.launch, s, target)
	} else {
		req, err = a.bundled(cmd, &opt.runOptions, s, req)
	}
	if err != nil {
		return err
	}
	t := &eventPrinter{w: a.Stdout, meter: newMeter(a.Stderr, a.json), quiet: a.json}
	d, err = diagnose.Diagnose(cmd.Context(), s, req,
		diagnose.Options{Schedules: opt.schedules, Perturb: opt.perturb, OnEvent: t.print})
	t.meter.clear()
	if err != nil {
		var coded *report.Error
		if opt.perturb > 0 && errors.As(err, &coded) && coded.Code == report.CodeUnavailable {
			err = &report.Error{
				Code: coded.Code, Err: fmt.Errorf("--perturb delays launches on a GPU: %w", coded.Err),
			}
		}
		return a.undiagnosed(req, err)
	}
	answer := func(*diagnose.SanitizerDoc) {}
	late := d.Pending() && !a.json
	if late { // the story first: what a tool says is added when it comes
		if err := a.print(d, func(w io.Writer) { printDiagnosis(w, d) }); err != nil {
			return err
		}
		answer = func(s *diagnose.SanitizerDoc) { fmt.Fprintf(a.Stdout, "compute-sanitizer %s\n", s.Says) }
	}
	if err := d.Await(cmd.Context(), diagnose.SanitizerWait, answer); err != nil {
		return err
	}
	if err := out.write(); err != nil {
		return err
	}
	if !late {
		if err := a.print(d, func(w io.Writer) { printDiagnosis(w, d) }); err != nil {
			return err
		}
	}
	return exitFor(d.ExitCode())
}

// undiagnosed prints the document of a kernel that did not run (exit 4) and passes the error on.
func (a *app) undiagnosed(req debugkern.Request, err error) error {
	var e *report.Error
	if errors.As(err, &e) && e.Report != nil && a.json {
		if perr := a.print(diagnose.Failure(req, e.Report), nil); perr != nil {
			return perr
		}
	}
	return err
}

// eventPrinter shows what becomes known before the end: findings of severity error, as they come.
type eventPrinter struct {
	w     io.Writer
	meter *meter
	quiet bool
	mu    sync.Mutex
}

func (t *eventPrinter) print(e diagnose.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Progress != nil:
		t.meter.report(*e.Progress)
	case e.Finding != nil && !t.quiet:
		t.meter.clear()
		fmt.Fprintf(t.w, "found %s\n", findingLine(e.Finding))
	}
}

// findingLine is a finding in one line: place, kind, what happened.
func findingLine(f *report.Finding) string {
	text := f.Kind + ": " + f.Message
	if f.Source != nil && !strings.Contains(f.Message, fmt.Sprintf(":%d", f.Source.Line)) {
		text = fmt.Sprintf("%s:%d: %s", f.Source.File, f.Source.Line, text)
	}
	return text
}

// printDiagnosis prints causes with their proof, what the synchronisations are for, advice,
// and last the story.
func printDiagnosis(w io.Writer, d *diagnose.Diagnosis) {
	if d.Verdict != report.Agree {
		printStages(w, &d.Run)
		fmt.Fprintln(w)
	}
	for i := range d.Causes {
		printCause(w, i+1, &d.Causes[i])
	}
	if len(d.Causes) > 0 && len(d.Barriers) > 0 {
		printBarriers(w, d.Barriers)
	}
	if d.Perturbed != nil {
		fmt.Fprintf(w, "perturbed: %s\n", d.Perturbed.Says)
	}
	for i := range d.Sanitizer {
		fmt.Fprintf(w, "compute-sanitizer %s\n", d.Sanitizer[i].Says)
	}
	advice := 0
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Severity != "error" {
			advice++
			fmt.Fprintf(w, "advice %s\n", findingLine(f))
		}
	}
	for i := range d.Losses {
		if d.Losses[i].Matters() {
			advice++
			fmt.Fprintf(w, "bits lost at %s\n", d.Losses[i].String())
		}
	}
	if advice > 0 || len(d.Causes) > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range d.Story {
		fmt.Fprintln(w, line)
	}
}

func printCause(w io.Writer, n int, c *diagnose.Cause) {
	kind := "cause"
	if c.AlsoFound {
		kind = "also found,"
	}
	fmt.Fprintf(w, "\n%s %d: %s\n", kind, n, c.Title)
	if share := c.ShareText(); share != "" {
		of := ""
		if p := c.SharePhrase(); strings.HasPrefix(p, "alone ") {
			of = fmt.Sprintf(" of %s's, when this alone is right", c.ShareOf)
		}
		fmt.Fprintf(w, "  share of the error: %s%s\n", share, of)
	}
	for _, p := range c.Proof {
		fmt.Fprintf(w, "  - %s\n", p)
	}
	if c.Alone != "" {
		fmt.Fprintf(w, "  alone: %s\n", c.Alone)
	}
	if c.Advice != "" {
		fmt.Fprintf(w, "  change: %s\n", c.Advice)
	}
	if c.Again != "" {
		fmt.Fprintf(w, "  see: %s\n", c.Again)
	}
}

func printBarriers(w io.Writer, barriers []diagnose.BarrierDoc) {
	fmt.Fprintln(w, "\nwhat each synchronisation is for:")
	tw := newTable(w)
	for i := range barriers {
		b := &barriers[i]
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", b.Line(), b.Instr, b.Because)
	}
	tw.Flush()
	fmt.Fprintln(w)
}
