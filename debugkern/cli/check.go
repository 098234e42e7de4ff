package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/page"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sarif"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// checkOptions are the options of check, as text where they are parsed here.
type checkOptions struct {
	req                      checkrun.Request
	grid, block, cluster     string
	args                     []string
	dump, suppress, baseline string
	sarif, html, sanitizer   string
	blocks                   string
	shape                    string // of a manifest
	set, faults              []string
	changed                  bool   // files are those of a change
	temporary                string // folder of what a file was compiled to, for discard
}

// clone is a copy that shares no list.
func (o *checkOptions) clone() checkOptions {
	c := *o
	for _, list := range []*[]string{&c.args, &c.set, &c.faults, &c.req.Include, &c.req.Define,
		&c.req.Instantiate, &c.req.Expect} {
		*list = slices.Clone(*list)
	}
	return c
}

// rename gives the arguments of --arg the new names of their parameters; false where there are none.
func (o *checkOptions) rename(to map[string]string) bool {
	for i, x := range o.args {
		name, value, _ := strings.Cut(x, "=")
		if now, ok := to[name]; ok {
			o.args[i] = now + "=" + value
		}
	}
	return len(to) > 0
}

func (a *app) checkCommand() *cobra.Command {
	var opt checkOptions
	c := &cobra.Command{
		Use:   "check FILE.ptx|FILE.cu|FILE.py|BUNDLE.tsl|TARGET…",
		Short: "Every checker on any kernel, without a manifest or a reference",
		Long: "check executes one launch of a kernel on the emulator under every checker: races within and between blocks and in clusters, memory\n" +
			"read before it is written, accesses out of bounds, barriers, shuffles, asynchronous copies; bank conflicts and uncoalesced accesses\n" +
			"as advice. It says how much a clean result covers.\n\n" +
			"--arg is given once for each parameter: NAME is the parameter's name in the source or the PTX, or its index from 0. A scalar is a\n" +
			"number, with :DTYPE if wanted. Memory is SOURCE:DTYPE[DIM,...] with SOURCE one of zeros, ones, nan, inf, -inf, iota, randn, rand,\n" +
			"randint(LO,HI), list(N,...), main (what the source's main copies there) and unwritten; FILE.npy; FILE.npz:KEY; or null. A struct is {OFFSET: VALUE, ...}, a tensor map\n" +
			"tensormap{of: NAME, box: [..], swizzle: 128B, ...}, of memory that may be no parameter. The same options may be given in the\n" +
			"file, as lines \"// tilescope: --grid 4 --block 256\"; the command line wins.\n\n" +
			"FILE.py has a kernel of Triton's, --entry, which is compiled with no GPU; in its lines # is written for //, and --set OPTION=VALUE\n" +
			"is for Triton's compiler (num_warps=4). Its folder must be trusted. Several FILEs take their launches from their texts, and are\n" +
			"one log of --sarif; with --changed those that state none are left out, so that any changed files may be given.\n\n" +
			"--expect states what an output is made of, 'out[i] <- x[256*i .. 256*i+255]': elements that are missing, foreign or enter more often\n" +
			"than the others are findings at the line where they go wrong. A name on the right is memory, with an index or a range for each\n" +
			"dimension or for all; for restricts variables and gives others a range: 'C[m][n] <- A[m][*], B[k][n] for k in 0 ..< 64'. Arguments\n" +
			"that are not named must not enter, unless the list ends with \"...\". docs/check.md has the language.\n\n" +
			"Of a TARGET, a name of the catalogue or the path of a manifest, launch and arguments are the manifest's, for --shape, and the build\n" +
			"without probes is executed. A bundle (.tsl) has its launch and arguments in it (tilescope show); where it has the outputs that were\n" +
			"recorded, they are compared.\n\n" +
			"Exit code: 0 nothing found or advice alone, 1 a finding of severity error, 2 bad input, 3 compiler or backend not available, 4 the\n" +
			"kernel did not build, load or run; of several files the largest.",
		Example: "  tilescope check red.cu --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024 \\\n" +
			"    --expect 'out[i] <- x[256*i .. 256*i+255]'\n" +
			"  tilescope check attention.ptx --entry fwd --grid 8,4 --block 128 --arg 0=q.npy --arg 1=k.npy --arg 2=unwritten:f16[8,64] --arg 3=0.125",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s takes one FILE.ptx, FILE.cu, FILE.py, BUNDLE.tsl or TARGET, or several",
					cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			defer opt.discard()
			if len(args) > 1 || opt.changed {
				return a.checkFiles(cmd, &opt, args)
			}
			return a.check(cmd, &opt, args[0])
		},
	}
	opt.bind(c.Flags())
	bindHost(c)
	overKey(c.Flags(), "timeout", "device", "repeat")
	return c
}

func (o *checkOptions) bind(f *pflag.FlagSet) {
	o.bindLaunch(f)
	r := &o.req
	f.BoolVar(&r.Cooperative, "cooperative", false,
		"a cooperative launch: blocks may rely on being resident together")
	f.IntVar(
		&r.Resident,
		"resident",
		0,
		"blocks resident at once, for kernels whose blocks wait for each other (default: as many as fit on the chip)",
	)
	f.Uint64Var(&r.Seed, "seed", 0, "seed of generated arguments")
	f.StringVar(&r.Schedule, "schedule", "", "order of execution, POLICY[:SEED][:ASYNC], as for run")
	f.StringVar(&r.Backend, "backend", "",
		"where it runs: emu, cuda or both (default emu, which alone can be observed)")
	f.StringVar(&r.Builder, "builder", "", "who compiles a .cu: auto, nvrtc or nvcc (default auto)")
	f.StringVar(&r.Arch, "arch", "", "architecture to compile a .cu for, such as sm_80")
	f.StringArrayVarP(&r.Include, "include", "I", nil, "directory DIR to look for headers in, repeatable")
	f.StringArrayVarP(&r.Define, "define", "D", nil, "symbol to compile with: NAME[=VALUE], repeatable")
	f.StringVar(&r.Std, "std", "", "language to compile as, such as c++17 (the default)")
	f.StringArrayVar(&r.Instantiate, "instantiate", nil,
		"kernel template with arguments to compile, such as 'kernel<64,128>', repeatable")
	f.DurationVar(&r.Timeout, "timeout", 0, "end the command after this long")
	f.IntVar(&r.Device, "device", 0, "index of the GPU")
	f.IntVar(&r.Repeat, "repeat", 10, "launches compared bit for bit (GPU)")
	o.bindExpect(f)
	f.StringVar(&o.suppress, "suppress", "", "findings in FILE do not count: lines \"ID reason\"")
	f.StringVar(&o.baseline, "baseline", "", "findings of an earlier document in FILE.json do not count")
	f.StringVar(&o.blocks, "blocks", "", "blocks that are executed X,Y,Z, each N, A-B or * (default all)")
	f.StringVar(&o.shape, "shape", "",
		"of a TARGET: shape, a name or sizes (default validation, else the manifest's first)")
	f.StringArrayVar(&o.set, "set", nil, "of a TARGET: flag FLAG[=VALUE], repeatable")
	f.StringArrayVar(&o.faults, "fault", nil, "of a TARGET: planted fault NAME, repeatable")
	f.StringVar(
		&o.sanitizer,
		"sanitizer",
		"",
		"tools of compute-sanitizer that watch the same launch on a GPU: memcheck,racecheck,initcheck,synccheck, or all",
	)
	f.BoolVar(
		&o.changed,
		"changed",
		false,
		"leave out FILEs whose text states no launch: they are those of a change",
	)
	f.StringVar(&o.sarif, "sarif", "", "write findings to FILE as SARIF 2.1.0")
	f.StringVar(&o.html, "html", "", "write a self-contained page to FILE")
	f.StringVar(&o.dump, "dump", "", "write every pointer argument, before and after, to FILE.npz")
}

// bindExpect adds the option that states what outputs are made of.
func (o *checkOptions) bindExpect(f *pflag.FlagSet) {
	f.StringArrayVar(&o.req.Expect, "expect", nil,
		"what an output of FILE is made of, such as 'out[i] <- x[256*i .. 256*i+255]', repeatable")
}

// launchOptions are the options that say what of a file is launched, and how.
var launchOptions = []string{"entry", "grid", "block", "cluster", "shared", "arg"}

// sourceOptions are the options that say how a source is compiled, and what of a launch a bundle says itself.
var sourceOptions = []string{"include", "define", "std", "instantiate", "arch", "builder", "cooperative"}

// bindLaunch adds launchOptions.
func (o *checkOptions) bindLaunch(f *pflag.FlagSet) {
	f.StringVar(&o.req.Entry, "entry", "", "which kernel of FILE, where it holds several")
	f.StringVar(&o.grid, "grid", "", "blocks of the launch of FILE, X[,Y[,Z]]")
	f.StringVar(&o.block, "block", "", "threads of a block, X[,Y[,Z]]")
	f.StringVar(&o.cluster, "cluster", "1", "blocks of a cluster, X[,Y[,Z]]")
	f.IntVar(&o.req.Shared, "shared", 0, "dynamic shared memory of a block, BYTES")
	f.StringArrayVar(&o.args, "arg", nil, "argument NAME=VALUE, one for each parameter of FILE")
}

// comments adds the options that the kernel's text asks for, where the command line does not give them; its
// arguments too, by name. Options that a text may not give are an error, but for those of also.
func (o *checkOptions) comments(cmd *cobra.Command, lines []string, also ...string) error {
	set := pflag.NewFlagSet("tilescope:", pflag.ContinueOnError)
	var own checkOptions
	own.bind(set)
	for _, line := range lines {
		words, closed := text.Words(line)
		if !closed {
			return usageError("the comment \"// tilescope: %s\": a quote has no end", line)
		}
		if err := set.Parse(words); err != nil {
			return usageError("the comment \"// tilescope: %s\": %w", line, err)
		}
		if set.NArg() > 0 {
			return usageError("the comment \"// tilescope: %s\": %q is no option", line, set.Arg(0))
		}
	}
	refused := []string{
		"dump", "sarif", "html", "timeout", "suppress", "baseline", "shape", "set", "fault", "sanitizer",
		"changed",
	}
	var err error
	set.Visit(func(f *pflag.Flag) {
		switch {
		case err != nil:
		case slices.Contains(refused, f.Name) && !slices.Contains(also, f.Name):
			err = usageError(
				"the comment \"// tilescope: --%s\": a kernel's text may not choose files, limits or targets",
				f.Name)
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
			if target == nil {
				return // of check alone, as --expect
			}
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
		return d, &report.Error{Code: report.CodeUsage, Err: &checkrun.MissingLaunch{Option: option}}
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
func (o *checkOptions) request(file string) (checkrun.Request, error) {
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
	req.Args, err = namedArguments(o.args)
	return req, err
}

// namedArguments reads the values of --arg.
func namedArguments(list []string) ([]checkrun.Argument, error) {
	var out []checkrun.Argument
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError("--arg %s: expected NAME=VALUE", text)
		}
		out = append(out, checkrun.Argument{Name: strings.TrimSpace(name), Value: value})
	}
	return out, nil
}

// ofManifest reports whether what is checked is a target, by name or by its manifest, rather
// than a kernel's text.
func ofManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		return true
	case ".ptx", ".cu", bundle.Ext:
		return false
	}
	return slices.Contains(fromCatalogue((*configs.Catalogue).Targets), name)
}

// hasLaunch is why options of a launch are refused for a bundle.
func hasLaunch(bundle string) string {
	return bundle + " is a bundle, which has its launch and arguments in it"
}

// refuseOptions refuses the first of the options that the command line gives.
func refuseOptions(cmd *cobra.Command, options []string, why string) error {
	for _, o := range options {
		if f := cmd.Flags().Lookup(o); f != nil && f.Changed {
			return usageError("--%s: %s", o, why)
		}
	}
	return nil
}

// check refuses options of a file for a target, and the other way round.
func (o *checkOptions) check(cmd *cobra.Command, name string) error {
	foreign, why := []string{"shape", "set", "fault"},
		name+" is no TARGET: launch and arguments of a file are given by --grid, --block and --arg"
	switch {
	case ofPython(name):
		foreign, why = []string{
			"shape", "fault", "block", "cluster", "shared", "include", "define", "std", "instantiate",
			"builder", "cooperative",
		}, "Triton chooses it from the kernel and --set, or it is for another kind of FILE"
	case build.Bundled(name):
		foreign, why = slices.Concat(foreign, launchOptions, sourceOptions), hasLaunch(name)
	case ofManifest(name):
		foreign, why = []string{
			"entry", "grid", "block", "cluster", "shared", "arg", "include", "define", "std",
		}, "launch and arguments of a TARGET are its manifest's"
	}
	if err := refuseOptions(cmd, foreign, why); err != nil {
		return err
	}
	for _, tool := range o.sanitizers() {
		if !slices.Contains(debugkern.AllSanitizerTools, tool) {
			return usageError("--sanitizer %s: expected %s, or all", tool,
				strings.Join(debugkern.AllSanitizerTools, ", "))
		}
	}
	outputs := []string{o.dump, o.sarif, o.html}
	for i, a := range outputs {
		if a != "" && slices.Contains(outputs[i+1:], a) {
			return usageError("--dump, --sarif and --html must name different files")
		}
	}
	return nil
}

// checked executes a check of a file or a target.
func (o *checkOptions) checked(
	cmd *cobra.Command, a *app, s *debugkern.Session, name string, meter *meter,
) (*checkrun.Result, error) {
	blocks, err := debugkern.ParseBlocks(o.blocks)
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		seq, ok, err := configs.LoadSequence(ctx, name)
		if err != nil {
			return nil, &report.Error{Code: report.CodeUsage, Err: err}
		}
		if ok {
			return o.sequence(cmd, s, seq, meter)
		}
	}
	if ofManifest(name) {
		r := o.req
		req := debugkern.Request{
			Target: name, Shape: o.shape, Seed: r.Seed, Set: map[string]string{}, Faults: o.faults,
			Backend: r.Backend, Builder: r.Builder, Arch: r.Arch, Timeout: r.Timeout, Device: r.Device,
			Repeat: r.Repeat, Schedule: r.Schedule, Resident: r.Resident, Cooperative: r.Cooperative,
			Blocks: blocks,
		}
		for _, s := range o.set {
			flag, value, ok := strings.Cut(s, "=")
			if !ok {
				value = "1"
			}
			req.Set[flag] = value
		}
		return checkrun.Target(ctx, s, req, r.Expect, meter.report)
	}
	launched := o.launched
	if ofPython(name) {
		launched = func(cmd *cobra.Command, name string) (checkrun.Request, error) {
			return o.compiled(cmd, s, name)
		}
	}
	req, err := launched(cmd, name)
	if err != nil {
		return nil, err
	}
	req.Blocks = blocks
	c, err := checkrun.Kernel(ctx, s, req, meter.report)
	if c != nil {
		c.Doc.File = name
	}
	return c, err
}

// launched is the launch of a kernel's file, by the options and what its text says of them;
// of a bundle by itself.
func (o *checkOptions) launched(cmd *cobra.Command, name string) (checkrun.Request, error) {
	if build.Bundled(name) {
		req := o.req
		req.File = name
		return req, nil
	}
	lines, err := checkrun.OptionComments(cmd.Context(), name)
	if err != nil {
		return checkrun.Request{}, err
	}
	if err := o.comments(cmd, lines); err != nil {
		return checkrun.Request{}, err
	}
	for _, x := range []struct{ option, text string }{{"grid", o.grid}, {"block", o.block}} {
		if x.text == "" {
			return checkrun.Request{}, checkrun.WithoutLaunch(cmd.Context(), name, o.req.Entry, x.option)
		}
	}
	return o.request(name)
}

func (a *app) check(cmd *cobra.Command, opt *checkOptions, name string) error {
	if err := opt.check(cmd, name); err != nil {
		return err
	}
	var checked *checkrun.Result
	again := ""
	out := outputs{
		{
			option: "--dump", path: opt.dump, kind: dumpFile,
			fill: func(w io.Writer) error { return checked.Dump(w) },
		},
		{
			option: "--sarif", path: opt.sarif, kind: sarifFile,
			fill: func(w io.Writer) error { return writeCheckSARIF(w, checked, a.Version, again) },
		},
		{
			option: "--html", path: opt.html, kind: htmlFile,
			fill: func(w io.Writer) error {
				return page.WriteCheck(w, checked.Doc, a.Version, again, checked.Source)
			},
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
	known, err := checkrun.ReadKnownFindings(cmd.Context(), opt.suppress, opt.baseline)
	if err != nil {
		return err
	}
	meter := newMeter(a.Stderr, a.json)
	checked, err = opt.checked(cmd, a, s, name, meter)
	meter.clear()
	if err != nil {
		if checked != nil && a.json {
			if perr := a.print(checked.Doc, nil); perr != nil {
				return perr
			}
		}
		return err
	}
	d := checked.Doc
	d.Apply(known)
	again = opt.again(cmd, name)
	if err := out.write(); err != nil {
		return err
	}
	doc := checkDocument{Check: d}
	if doc.Sanitizer, err = opt.sanitize(cmd, checked); err != nil {
		return err
	}
	if err := a.print(doc, func(w io.Writer) {
		printCheck(w, d)
		for _, s := range doc.Sanitizer {
			fmt.Fprintf(w, "compute-sanitizer %s (%.1f s)\n", s.Says, s.Seconds)
		}
	}); err != nil {
		return err
	}
	return exitFor(d.ExitCode())
}

// checkDocument is what check prints: its document, with what NVIDIA's tools said where they were asked for.
type checkDocument struct {
	*report.Check
	Sanitizer []debugkern.Second `json:"sanitizer,omitempty"`
}

// sanitizers lists the tools that are asked for.
func (o *checkOptions) sanitizers() []string {
	switch o.sanitizer {
	case "":
		return nil
	case "all":
		return debugkern.AllSanitizerTools
	}
	return strings.Split(o.sanitizer, ",")
}

// sanitize lets NVIDIA's tools watch the launch that was checked.
func (o *checkOptions) sanitize(cmd *cobra.Command, c *checkrun.Result) ([]debugkern.Second, error) {
	var out []debugkern.Second
	for _, tool := range o.sanitizers() {
		s, err := debugkern.SecondOpinion(cmd.Context(), c.Doc.Findings, tool,
			func() (*debugkern.Sanitized, error) { return c.Sanitize(cmd.Context(), tool) })
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// sequence executes a sequence of launches, which names everything but seed, backend and schedule itself.
func (o *checkOptions) sequence(
	cmd *cobra.Command, s *debugkern.Session, seq *configs.Sequence, meter *meter,
) (*checkrun.Result, error) {
	for _, f := range []string{
		"shape", "set", "fault", "blocks", "resident", "cooperative", "sanitizer", "expect",
	} {
		if cmd.Flags().Changed(f) {
			return nil, usageError("--%s: %s is a sequence: its steps define each launch", f,
				seq.File)
		}
	}
	return checkrun.Sequence(cmd.Context(), s, seq, o.req, meter.report)
}

// again is the command line that asks for the same check.
func (o *checkOptions) again(cmd *cobra.Command, names ...string) string {
	words := append([]string{"tilescope", "check"}, names...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, ok := f.Value.(pflag.SliceValue); {
		case slices.Contains([]string{"dump", "sarif", "html", "json", "changed"}, f.Name):
		case f.Name == "arg": // those of the file's comments come after the command line's
			for _, v := range o.args {
				words = append(words, "--arg", v)
			}
		case ok:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name, v)
			}
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	return text.CommandLine(words)
}

// writeCheckSARIF writes the findings of a check, errors first.
func writeCheckSARIF(w io.Writer, c *checkrun.Result, version, again string) error {
	d := c.Doc
	log := sarif.Log{
		Version: version, Of: "check", Command: again, Successful: d.Verdict != report.Failed,
		Results: sarifResults(c),
	}
	return log.Write(w, nil)
}

// printCheck prints a check for people: the verdict, the findings, and what a clean result covers.
func printCheck(w io.Writer, d *report.Check) {
	errors, advice := 0, 0
	steps := map[string][]string{} // of a sequence, where the same advice holds, by its id
	for _, f := range d.Findings {
		switch {
		case f.Suppressed != "":
		case f.Severity == "error":
			errors++
		case f.Step == nil:
			advice++
		default:
			if steps[f.ID] == nil {
				advice++
			}
			steps[f.ID] = append(steps[f.ID], fmt.Sprint(*f.Step))
		}
	}
	verdict := "clean"
	if errors > 0 {
		verdict = plural(errors, "error")
	}
	if advice > 0 {
		verdict += ", " + plural(advice, "piece") + " of advice"
	}
	if d.Steps == nil {
		fmt.Fprintf(w, "%s grid %s, block %s: %s\n", d.Entry, d.Launch.Grid, d.Launch.Block, verdict)
	} else {
		fmt.Fprintf(w, "%s, %s: %s\n", d.Entry, plural(len(d.Steps), "step"), verdict)
		for i, st := range d.Steps {
			if st.Launch == nil {
				fmt.Fprintf(w, "  %d  %s filled with 0x%02x\n", i, st.Memset, st.Byte)
				continue
			}
			fmt.Fprintf(w, "  %d  %s grid %s, block %s\n", i, st.Entry, st.Launch.Grid, st.Launch.Block)
		}
	}
	if errors == 0 && d.GuessedExtents != "" {
		fmt.Fprintf(w, "  %s\n", d.GuessedExtents)
	}
	for _, f := range d.Findings {
		if f.Suppressed != "" {
			fmt.Fprintf(w, "\n  %s (does not count: %s): %s\n", f.Kind, f.Suppressed, f.Message)
			continue
		}
		at := steps[f.ID]
		if f.Step != nil && len(at) > 0 && at[0] != fmt.Sprint(*f.Step) {
			continue // the same as in an earlier step
		}
		printFinding(w, f)
		switch {
		case len(at) > 1:
			fmt.Fprintf(w, "    in steps %s, %s\n", strings.Join(at, ", "), d.Steps[*f.Step].Entry)
		case f.Step != nil:
			fmt.Fprintf(w, "    in step %d, %s\n", *f.Step, d.Steps[*f.Step].Entry)
		}
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
			fmt.Fprintf(w, "  %s %s%v: %d elements written%s\n", o.Name, o.DType, o.Dims, *o.Written,
				recordedText(o.Recorded))
		}
	}
	for _, line := range d.Printed {
		fmt.Fprintf(w, "  printed: %s\n", line)
	}
	c := d.Coverage
	fmt.Fprintf(w, "\ncovered: %s\n", c.Text())
	for i := range c.Expectations {
		fmt.Fprintf(w, "expected: %s\n", c.Expectations[i].Text())
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

// recordedText says how an output compares with what was recorded of it; nothing where nothing was.
func recordedText(r *report.Recorded) string {
	switch {
	case r == nil:
		return ""
	case r.Differing == 0:
		return fmt.Sprintf(", %d equal to what was recorded", r.Elements)
	}
	return fmt.Sprintf(", %d of %d recorded differ", r.Differing, r.Elements)
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
