package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep"
	"tilescope/debugkern/sweep/job"
	"tilescope/probes"
)

// sweepOptions are the options of sweep: those of run, and its own.
type sweepOptions struct {
	runOptions
	shapes, seeds, gates, many, out, on, shard string
	jobs                                       int
}

func (a *app) sweepCommand() *cobra.Command {
	var opt sweepOptions
	c := &cobra.Command{
		Use:   "sweep TARGET…",
		Short: "Run every combination of shapes, seeds, gates, faults and flags",
		Long: "sweep runs each TARGET on every combination of --shapes, --seeds, --gates, --faults and the values of each --set, and\n" +
			"judges each run as run does. Combinations that a manifest refuses are listed with the reason. Results go to the folder of --out as they\n" +
			"come: a sweep that was cancelled or killed goes on when the same command is given again. Then the folder has sweep.json, SWEEP.md and\n" +
			"sweep.html, and log has when each run was tried. The same plan gives the same sweep.json, byte for byte.\n\n" +
			"Other machines take a part each: --shard I/N runs every N-th run from the I-th on (from 0), all in one folder or in folders whose results/\n" +
			"are put together; sweep merge DIR makes the document. A run that ends without a verdict is tried twice.\n\n" +
			"--on slurm submits the shards as array jobs by sbatch, --on kubernetes as an indexed Job by kubectl; the folder of --out is on a file\n" +
			"system that all nodes share. The command waits until they have ended; Ctrl-C detaches, and the same command attaches again. A shard that\n" +
			"dies is submitted again, and after sweep.tries times its runs are listed as failed. sweep cancel DIR ends the jobs too.\n\n" +
			"Exit code: 0 all agree, 1 some do not, 2 bad input, DIR has another plan or a job is refused, 3 no sbatch or kubectl, 4 some could not be run,\n" +
			"130 cancelled or detached.",
		Example: "  tilescope sweep stage2 stage3b --shapes small,validation --seeds 0-99 --gates none,qk --out out\n" +
			"  tilescope sweep stage2 --faults each --out faults\n  tilescope sweep stage2 --seeds 0-9999 --shard 3/16 --out out\n" +
			"  tilescope sweep stage2 --seeds 0-9999 --backend emu --on slurm --out /shared/out\n  tilescope sweep status /shared/out",
		Args:        targetsAtLeastOne,
		Annotations: map[string]string{perRun: "yes"},
		RunE:        func(cmd *cobra.Command, args []string) error { return a.sweep(cmd, &opt, args) },
	}
	opt.bind(c)
	opt.bindCheck(c)
	f := c.Flags()
	f.StringVar(&opt.shapes, "shapes", "", "names of shapes or B,H,S,D, comma-separated (default validation)")
	f.StringVar(&opt.seeds, "seeds", "", "seeds of the inputs: N, A-B or a list of them (default 0)")
	f.StringVar(&opt.gates, "gates", "",
		"parts that run, comma-separated: none, "+gateList()+" (default none)")
	f.StringVar(&opt.many, "faults", "",
		"planted faults, comma-separated, one at a time: names, none, or each for all of a target's (default none)")
	f.StringVar(&opt.out, "out", "", "folder DIR of the sweep, needed")
	f.StringVar(&opt.on, "on", onLocal, "where it runs: local, "+strings.Join(schedulers(), " or "))
	f.StringVar(&opt.shard, "shard", "", "part I/N of the plan, I from 0")
	f.IntVar(&opt.jobs, "jobs", runtime.NumCPU(), "runs at a time")
	f.Lookup("set").Usage = "flag to set: FLAG[=VALUE,…], every value in turn, repeatable"
	for _, name := range []string{"shape", "seed", "gate", "fault", "dump"} {
		f.Lookup(name).Hidden = true // --shapes and so on
	}
	status := &cobra.Command{
		Use: "status DIR", Short: "How far a sweep is", Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := sweep.StatusOf(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(s, func(w io.Writer) {
				fmt.Fprintf(w, "%d of %d runs done, %d failed\n", s.Done, s.Planned, s.Failed)
			})
		},
	}
	merge := &cobra.Command{
		Use: "merge DIR", Short: "Make the documents of a sweep of what is done", Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error { return a.merged(c.Context(), args[0]) },
	}
	cancel := &cobra.Command{
		Use: "cancel DIR", Short: "End a sweep's jobs, and its processes after the runs that they are at", Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			return a.cancelSweep(c.Context(), args[0])
		},
	}
	c.AddCommand(status, merge, cancel)
	return c
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError("%s takes the folder DIR of a sweep", c.CommandPath())
	}
	return nil
}

func (a *app) sweep(cmd *cobra.Command, opt *sweepOptions, targets []string) error {
	o, err := opt.resolve(cmd, a, targets)
	if err != nil {
		return err
	}
	w := sweep.Work{Dir: opt.out, Files: a.Files, Jobs: opt.jobs}
	if opt.shard != "" {
		if w.Part, w.Of, err = shardOf(opt.shard); err != nil {
			return err
		}
	}
	var on job.Scheduler
	if opt.on != onLocal {
		if on, err = a.scheduler(cmd.Context(), opt.on); err != nil {
			return err
		}
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	o.FaultsOf = func(target string) ([]string, error) { return faultsOf(cmd.Context(), s, target) }
	if err := knownFaults(cmd.Context(), s, o); err != nil {
		return err
	}
	plan, err := sweep.Make(cmd.Context(), s, o)
	if err != nil {
		return err
	}
	if on != nil {
		return a.submitted(cmd, opt, plan, on, o.Request.Backend)
	}
	meter := newMeter(a.Stderr, a.json)
	first := true
	w.Progress = func(p sweep.Progress) {
		if first && p.Found > 0 {
			fmt.Fprintf(a.Stderr, "tilescope: %d of %d runs were done before\n", p.Found, p.Total)
		}
		first = false
		detail := p.Last
		if p.Left > 0 {
			detail += fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
		}
		meter.report(debugkern.Progress{Phase: "sweep", Detail: detail, Done: p.Done, Total: p.Total})
	}
	at, err := plan.Execute(cmd.Context(), s, w)
	meter.clear()
	switch {
	case errors.Is(err, sweep.ErrCancelled), err != nil && cmd.Context().Err() != nil:
		fmt.Fprintf(a.Stderr, "tilescope: %d of %d runs are done and kept in %s: the same command goes on\n",
			at.Done, at.Total, opt.out)
		if errors.Is(err, sweep.ErrCancelled) {
			return exit(ExitCancelled)
		}
		return err
	case err != nil:
		return err
	case w.Of > 1:
		return a.sharded(cmd.Context(), opt, at)
	}
	return a.merged(cmd.Context(), opt.out)
}

// sharded says that a part is done. Its verdict is its results'; the document is made of all parts.
func (a *app) sharded(ctx context.Context, opt *sweepOptions, at sweep.Progress) error {
	s, err := sweep.StatusOf(ctx, opt.out)
	if err != nil {
		return err
	}
	return a.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "shard %s: %d runs done; %s has %d of %d\n", opt.shard, at.Done-at.Failed, opt.out,
			s.Done, s.Planned)
	})
}

// merged makes the documents of a folder and prints what it came to.
func (a *app) merged(ctx context.Context, dir string) error {
	doc, missing, err := sweep.Merge(ctx, a.Files, dir)
	if err != nil {
		return err
	}
	if err := a.print(doc, func(w io.Writer) { printSweep(w, doc, dir, missing) }); err != nil {
		return err
	}
	return exitFor(doc.ExitCode(missing))
}

// printSweep prints a sweep for people: what it came to, and the runs that do not agree.
func printSweep(w io.Writer, d *sweep.Doc, dir string, missing int) {
	fmt.Fprintf(w, "sweep: %s\n", d.Title(missing))
	const most = 20
	shown := 0
	for i := range d.Runs {
		r := &d.Runs[i]
		if r.Exit == 0 {
			continue
		}
		if shown++; shown > most {
			continue
		}
		what := r.Verdict
		if len(r.Guilty) > 0 {
			what += " in " + strings.Join(r.Guilty, ", ")
		}
		for _, f := range r.Findings {
			what += ", " + f.String()
		}
		fmt.Fprintf(w, "  %s: %s\n", r.Name(), what)
	}
	if shown > most {
		fmt.Fprintf(w, "  and %d more\n", shown-most)
	}
	for _, f := range d.Failed {
		fmt.Fprintf(w, "  failed: %s: %s\n", f.Run, f.Error)
	}
	reasons := map[string]int{}
	var order []string
	for _, s := range d.Plan.Skipped {
		if reasons[s.Reason]++; reasons[s.Reason] == 1 {
			order = append(order, s.Reason)
		}
	}
	for _, r := range order {
		fmt.Fprintf(w, "  skipped, %d combinations: %s\n", reasons[r], r)
	}
	fmt.Fprintf(w, "%s has %s, %s and %s\n", dir, sweep.DocumentFile, sweep.TableFile, sweep.PageFile)
}

// shardOf reads I/N.
func shardOf(text string) (part, of int, err error) {
	i, n, ok := strings.Cut(text, "/")
	part, err = strconv.Atoi(i)
	if err == nil {
		of, err = strconv.Atoi(n)
	}
	if !ok || err != nil || of < 1 || part < 0 || part >= of {
		return 0, 0, usageError("--shard %s: expected I/N, I from 0 to N - 1", text)
	}
	return part, of, nil
}

// resolve turns options into a sweep's, without FaultsOf; everything malformed is refused here.
func (o *sweepOptions) resolve(cmd *cobra.Command, a *app, targets []string) (*sweep.Options, error) {
	switch {
	case o.out == "":
		return nil, usageError("%s needs --out DIR, the folder that results are kept in", cmd.CommandPath())
	case o.jobs < 1:
		return nil, usageError("--jobs %d: expected a number from 1 on", o.jobs)
	}
	if err := o.checkOn(a, cmd); err != nil {
		return nil, err
	}
	flags, err := flagValues(o.set)
	if err != nil {
		return nil, err
	}
	single := o.clone()
	single.set = nil
	req, err := single.request(cmd, a.config, "")
	if err != nil {
		return nil, err
	}
	out := &sweep.Options{
		Targets: unique(targets), Shapes: []string{debugkern.DefaultShape}, Seeds: []uint64{0},
		Gates: []string{probes.GateNone.String()}, Faults: []string{sweep.NoFault}, Flags: flags,
		Tool: gates.ThisTool(a.Version),
	}
	for _, x := range []struct {
		given string
		list  *[]string
	}{{o.gates, &out.Gates}, {o.many, &out.Faults}} {
		if x.given == "" {
			continue
		}
		*x.list = nil
		for part := range strings.SplitSeq(x.given, ",") {
			if part = strings.TrimSpace(part); part == "" {
				return nil, usageError("%q: an empty name in a list", x.given)
			}
			*x.list = append(*x.list, part)
		}
		*x.list = unique(*x.list)
	}
	changed := cmd.Flags().Changed
	switch {
	case o.shapes != "":
		if out.Shapes, err = shapeList(o.shapes); err != nil {
			return nil, err
		}
	case changed("shape"):
		out.Shapes = []string{o.shape}
	}
	switch {
	case o.seeds != "":
		if out.Seeds, err = seedList(o.seeds); err != nil {
			return nil, err
		}
	case changed("seed"):
		out.Seeds = []uint64{o.seed}
	}
	if changed("gate") && o.gates == "" {
		out.Gates = []string{o.gate}
	}
	if o.dump != "" {
		return nil, usageError("--dump is of one run: tilescope run writes it")
	}
	if err := single.checked(&req); err != nil {
		return nil, err
	}
	req.Shape, req.Seed = "", 0
	out.Request = req
	return out, nil
}

// flagValues reads the values of each --set.
func flagValues(set []string) (map[string][]int, error) {
	out := map[string][]int{}
	for _, s := range set {
		name, values, ok := strings.Cut(s, "=")
		if !ok {
			values = "1"
		}
		if name == "" || out[name] != nil {
			return nil, usageError("--set %s: expected FLAG=VALUE,… once for each flag", s)
		}
		for v := range strings.SplitSeq(values, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				return nil, usageError("--set %s: %q is no whole number", s, v)
			}
			if !slices.Contains(out[name], n) {
				out[name] = append(out[name], n)
			}
		}
	}
	return out, nil
}

func unique(list []string) []string {
	var out []string
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// knownFaults refuses a name of --faults that is no fault of any target. A fault of some of them is left to
// the plan, which lists what cannot be combined.
func knownFaults(ctx context.Context, s *debugkern.Session, o *sweep.Options) error {
	var known []string
	for _, target := range o.Targets {
		m, _, err := s.Catalogue().Open(ctx, target)
		if err != nil {
			return debugkern.Unopened(ctx, err)
		}
		for i := range m.Faults {
			known = append(known, m.Faults[i].Name)
		}
	}
	known = unique(known)
	for _, name := range o.Faults {
		if name != sweep.NoFault && name != sweep.EachFault && !slices.Contains(known, name) {
			return usageError("--faults: no target has a fault %q%s", name, configs.Suggest(name, known))
		}
	}
	return nil
}

// faultsOf lists the planted faults of a target's kernel.
func faultsOf(ctx context.Context, s *debugkern.Session, target string) ([]string, error) {
	m, _, err := s.Catalogue().Open(ctx, target)
	if err != nil {
		return nil, debugkern.Unopened(ctx, err)
	}
	var out []string
	for i := range m.Faults {
		out = append(out, m.Faults[i].Name)
	}
	if len(out) == 0 {
		return nil, report.Usagef("--faults each: %s has no planted faults", target)
	}
	return out, nil
}
