package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// checkOptions are the options of check, as text where they are parsed here.
type checkOptions struct {
	req                      debugkern.CheckRequest
	grid, block, cluster     string
	args                     []string
	dump, suppress, baseline string
}

func (a *app) checkCommand() *cobra.Command {
	var opt checkOptions
	c := &cobra.Command{
		Use:   "check FILE.ptx|FILE.cu",
		Short: "Every checker on any kernel, without a manifest or a reference",
		Long: "check executes one launch of a kernel on the emulator under every checker: races within and between blocks, memory read before it\n" +
			"is written, accesses out of bounds, barriers, shuffles, asynchronous copies; bank conflicts and uncoalesced accesses as advice. It\n" +
			"says how much a clean result covers.\n\n" +
			"--arg is given once for each parameter: NAME is the parameter's name in the source or the PTX, or its index from 0. A scalar is a\n" +
			"number, with :DTYPE if wanted. Memory is SOURCE:DTYPE[DIM,...] with SOURCE one of zeros, ones, nan, inf, -inf, iota, randn, rand,\n" +
			"randint(LO,HI) and unwritten; FILE.npy; FILE.npz:KEY; or null. A struct is {OFFSET: VALUE, ...}. The same options may stand in the\n" +
			"file, as lines \"// tilescope: --grid 4 --block 256\"; the command line wins.\n\n" +
			"Exit code: 0 nothing found or advice alone, 1 a finding of severity error, 2 bad input, 3 compiler or backend not available, 4 the\n" +
			"kernel did not build, load or run.",
		Example: "  tilescope check red.cu --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024\n" +
			"  tilescope check attention.ptx --entry fwd --grid 8,4 --block 128 --arg 0=q.npy --arg 1=k.npy --arg 2=unwritten:f16[8,64] --arg 3=0.125",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s takes one FILE.ptx or FILE.cu; it was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.check(cmd, &opt, args[0]) },
	}
	opt.bind(c.Flags())
	overKey(c.Flags(), "timeout", "device", "repeat")
	return c
}

func (o *checkOptions) bind(f *pflag.FlagSet) {
	r := &o.req
	f.StringVar(&r.Entry, "entry", "", "which kernel of FILE, where it holds several")
	f.StringVar(&o.grid, "grid", "", "blocks of the launch, X[,Y[,Z]]")
	f.StringVar(&o.block, "block", "", "threads of a block, X[,Y[,Z]]")
	f.StringVar(&o.cluster, "cluster", "1", "blocks of a cluster, X[,Y[,Z]]")
	f.IntVar(&r.Shared, "shared", 0, "dynamic shared memory of a block, BYTES")
	f.StringArrayVar(&o.args, "arg", nil, "argument NAME=VALUE, one for each parameter")
	f.BoolVar(&r.Cooperative, "cooperative", false, "a cooperative launch: blocks may rely on being resident together")
	f.IntVar(&r.Resident, "resident", 0, "blocks resident at once, for kernels whose blocks wait for each other (default: what the chip holds)")
	f.Uint64Var(&r.Seed, "seed", 0, "seed of generated arguments")
	f.StringVar(&r.Schedule, "schedule", "", "order of execution, POLICY[:SEED][:ASYNC], as for run")
	f.StringVar(&r.Backend, "backend", "", "where it runs: emu, cuda or both (default emu, which alone can be observed)")
	f.StringVar(&r.Builder, "builder", "", "who compiles a .cu: auto, nvrtc or nvcc (default auto)")
	f.StringVar(&r.Arch, "arch", "", "architecture to compile a .cu for, such as sm_80")
	f.StringArrayVarP(&r.Include, "include", "I", nil, "directory DIR to look for headers in, repeatable")
	f.StringArrayVarP(&r.Define, "define", "D", nil, "symbol to compile with: NAME[=VALUE], repeatable")
	f.StringVar(&r.Std, "std", "", "language to compile as, such as c++17 (the default)")
	f.StringArrayVar(&r.Instantiate, "instantiate", nil, "kernel template with arguments to compile, such as 'kernel<64,128>', repeatable")
	f.DurationVar(&r.Timeout, "timeout", 0, "end the command after this long")
	f.IntVar(&r.Device, "device", 0, "index of the GPU")
	f.IntVar(&r.Repeat, "repeat", 10, "launches compared bit for bit (GPU)")
	f.StringVar(&o.suppress, "suppress", "", "findings in FILE do not count: lines \"ID reason\"")
	f.StringVar(&o.baseline, "baseline", "", "findings of an earlier document in FILE.json do not count")
	f.StringVar(&o.dump, "dump", "", "write every pointer argument, before and after, to FILE.npz")
}

// comments adds the options that the kernel's text asks for, where the command line does not give them; its arguments too, by name.
func (o *checkOptions) comments(cmd *cobra.Command, lines []string) error {
	set := pflag.NewFlagSet("tilescope:", pflag.ContinueOnError)
	var own checkOptions
	own.bind(set)
	for _, line := range lines {
		if err := set.Parse(strings.Fields(line)); err != nil {
			return usageError("the comment \"// tilescope: %s\": %w", line, err)
		}
		if set.NArg() > 0 {
			return usageError("the comment \"// tilescope: %s\": %q is no option", line, set.Arg(0))
		}
	}
	var err error
	set.Visit(func(f *pflag.Flag) {
		switch {
		case err != nil:
		case f.Name == "dump" || f.Name == "timeout" || f.Name == "suppress" || f.Name == "baseline":
			err = usageError("the comment \"// tilescope: --%s\": a kernel's text may not choose files or limits", f.Name)
		case f.Name == "arg":
			given := map[string]bool{}
			for _, x := range o.args {
				name, _, _ := strings.Cut(x, "=")
				given[name] = true
			}
			for _, x := range own.args {
				if name, _, _ := strings.Cut(x, "="); !given[name] {
					o.args = append(o.args, x)
				}
			}
		case !cmd.Flags().Changed(f.Name):
			target := cmd.Flags().Lookup(f.Name)
			if list, ok := f.Value.(pflag.SliceValue); ok {
				for _, v := range list.GetSlice() {
					err = errors.Join(err, target.Value.Set(v))
				}
				return
			}
			err = target.Value.Set(f.Value.String())
		}
	})
	return err
}

// dim3 reads X[,Y[,Z]].
func dim3(option, text string) (probes.Dim3, error) {
	d := probes.Dim3{1, 1, 1}
	if text == "" {
		return d, usageError("--%s is missing; expected X[,Y[,Z]]", option)
	}
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return d, usageError("--%s %s: expected X[,Y[,Z]], found %d numbers", option, text, len(parts))
	}
	for i, p := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil {
			return d, usageError("--%s %s: %q is not a whole number", option, text, p)
		}
		d[i] = n
	}
	return d, nil
}

// request turns options into what the session takes.
func (o *checkOptions) request(file string) (debugkern.CheckRequest, error) {
	req := o.req
	req.File = file
	var err error
	for _, d := range []struct {
		option, text string
		to           *probes.Dim3
	}{{"grid", o.grid, &req.Grid}, {"block", o.block, &req.Block}, {"cluster", o.cluster, &req.Cluster}} {
		if *d.to, err = dim3(d.option, d.text); err != nil {
			return req, err
		}
	}
	for _, text := range o.args {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return req, usageError("--arg %s: expected NAME=VALUE", text)
		}
		req.Args = append(req.Args, debugkern.ArgText{Name: strings.TrimSpace(name), Value: value})
	}
	return req, nil
}

func (a *app) check(cmd *cobra.Command, opt *checkOptions, file string) error {
	out, err := a.createOutput("--dump", opt.dump)
	if err != nil {
		return err
	}
	defer out.abandon()
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	lines, err := debugkern.OptionComments(cmd.Context(), file)
	if err != nil {
		return err
	}
	if err := opt.comments(cmd, lines); err != nil {
		return err
	}
	req, err := opt.request(file)
	if err != nil {
		return err
	}
	known, err := debugkern.ReadKnownFindings(cmd.Context(), opt.suppress, opt.baseline)
	if err != nil {
		return err
	}
	meter := newMeter(a.Stderr, a.json)
	checked, err := s.CheckKernel(cmd.Context(), req, meter.report)
	meter.clear()
	if err != nil {
		if checked != nil && a.json {
			if perr := a.print(checked.Doc, nil); perr != nil {
				return perr
			}
		}
		return err
	}
	checked.Doc.Apply(known)
	if err := out.fill(checked.Dump); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	if err := a.print(checked.Doc, func(w io.Writer) { printCheck(w, checked.Doc) }); err != nil {
		return err
	}
	return exitFor(checked.Doc.ExitCode())
}

// printCheck prints a check for people: the verdict, the findings, and what a clean result covers.
func printCheck(w io.Writer, d *report.Check) {
	errors, advice := 0, 0
	for _, f := range d.Findings {
		switch {
		case f.Suppressed != "":
		case f.Severity == "error":
			errors++
		default:
			advice++
		}
	}
	verdict := "clean"
	if errors > 0 {
		verdict = plural(errors, "error")
	}
	if advice > 0 {
		verdict += ", " + plural(advice, "piece") + " of advice"
	}
	fmt.Fprintf(w, "%s grid %s, block %s: %s\n", d.Entry, d.Launch.Grid, d.Launch.Block, verdict)
	for _, f := range d.Findings {
		if f.Suppressed != "" {
			fmt.Fprintf(w, "\n  %s (does not count: %s): %s\n", f.Kind, f.Suppressed, f.Message)
			continue
		}
		printFinding(w, f)
		if f.Missing != nil {
			fmt.Fprintf(w, "    missing: %s\n", *f.Missing)
		}
		if f.Consequence != "" {
			fmt.Fprintf(w, "    %s\n", f.Consequence)
		}
		fmt.Fprintf(w, "    id %s\n", f.ID)
	}
	if len(d.Build.Notes)+len(d.Outputs) > 0 {
		fmt.Fprintln(w)
	}
	for _, n := range d.Build.Notes {
		fmt.Fprintf(w, "  note: %s\n", n)
	}
	for _, o := range d.Outputs {
		if o.Written != nil {
			fmt.Fprintf(w, "  %s %s%v: %d elements written\n", o.Name, o.DType, o.Dims, *o.Written)
		}
	}
	for _, line := range d.Printed {
		fmt.Fprintf(w, "  printed: %s\n", line)
	}
	c := d.Coverage
	if c.Instructions > 0 {
		fmt.Fprintf(w, "\ncovered: %d of %d instructions, %d of %d blocks, %s; PTX was executed, not the GPU's own code\n", c.Executed, c.Instructions, c.Sampled, c.Blocks,
			plural(c.Schedules, "schedule"))
	} else {
		fmt.Fprintf(w, "\ncovered: outputs alone; on a GPU nothing can be observed\n")
	}
	if n := len(c.Unreached); n > 0 {
		var lines []string
		for _, l := range c.Unreached[:min(n, 12)] {
			lines = append(lines, fmt.Sprintf("%s:%d", l.File, l.Line))
		}
		if n > 12 {
			lines = append(lines, fmt.Sprintf("and %d more", n-12))
		}
		fmt.Fprintf(w, "never executed: %s\n", strings.Join(lines, ", "))
	}
}

// plural is a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if first, rest, ok := strings.Cut(noun, " "); ok {
		return fmt.Sprintf("%d %ss %s", n, first, rest)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
