// Package cli is the command line: arguments and writers in, exit code out.
//
// The one idea: a command parses, calls one method of debugkern.Session, and prints what came back, as text
// or as the document of CONTRACT.md. Nothing is decided here. It must not know how a kernel is run or
// compared, nor anything of screens: the terminal is a function handed in by main.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/file"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
)

// Exit codes of the contract that no report.Code stands for.
const (
	exitOK       = 0
	exitDiverged = 1
	exitUsage    = 2
	exitInternal = 70
	exitPipe     = 141
)

// ExitCancelled is the exit code of a command that a signal or Ctrl-C has ended.
const ExitCancelled = 130

// workerCommand is the hidden command that serves a GPU on standard input and output (see debugkern/cuda).
const workerCommand = "__worker"

// linkedWorker are workerCommand's arguments where the streams are a connection from another machine.
var linkedWorker = []string{"linked"}

// compileCommand is the hidden command that serves compilations on standard input and output.
const compileCommand = "__compile"

// launchCommand is the hidden command that performs one launch from a file, for a tool to watch.
const launchCommand = "__launch"

// Terminal is what the terminal is opened with.
type Terminal struct {
	Session  *debugkern.Session
	Config   *configs.Config
	StateDir string // where the terminal remembers; "" where it cannot
	Request  debugkern.Request
	Tour     bool // begin with the tour
	Explicit bool // a target or option was given: it wins over what is remembered
	// Reopen reads again what the text of the file that Request runs says of its launch, and returns the
	// request that runs it. One call at a time. nil where Request is of no file.
	Reopen Reopen
	// Open reads the words of a command line that opens a target or a file, and returns the request that runs
	// it, and its Reopen. One call at a time.
	Open func(ctx context.Context, words []string) (debugkern.Request, Reopen, error)
	// Launched returns what a source shows of the launch that it makes of an entry itself, as options (grid,
	// block, and numbers that it passes), and its line; nil where it shows none.
	Launched func(ctx context.Context, file, entry string) (options []string, line int)
	// Expectations checks what the launch of a request that was run states its outputs to be made of, and
	// adds what differs to the run's document.
	Expectations func(
		context.Context, debugkern.Request, *report.Run, func(debugkern.Progress)) error
	// Lacking are words for Open of which the command line gave no whole launch, and Lacks is what it lacks,
	// with a launch to begin with; nil: Request is what was asked for.
	Lacking []string
	Lacks   error
	// Python are words for Open that name a file of Python, whose compiled kernel Request runs; nil: Request
	// is of no such file.
	Python []string
	Stdin  io.Reader
	Stdout io.Writer
	Files  *file.System
}

// Reopen reads again what a file's text says of its launch, and returns the request that runs it.
type Reopen func(context.Context) (debugkern.Request, error)

// Program is one invocation.
type Program struct {
	Version        string
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	OpenTerminal   func(context.Context, Terminal) error
	// CheckKeys returns the mistakes in settings of the terminal's keys; nil: they are not checked
	CheckKeys func([]configs.KeySetting) []*configs.Error
	Files     *file.System   // how files are read and written; nil: the real file system
	Memory    *budget.Budget // asked before memory is allocated; nil: one of memory.max
}

// exit carries a code that needs no message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Main runs one command and returns its exit code. It never panics: a bug of ours is exit 70, in one line.
func Main(ctx context.Context, p Program) (code int) {
	defer func() {
		if v := recover(); v != nil {
			p.Files.Abandon()
			fmt.Fprintf(p.Stderr,
				"tilescope: a bug of ours: %v; please report it, with this command line, on the issue tracker named in README (TILESCOPE_TRACE=1 prints the stack)\n",
				v)
			if os.Getenv("TILESCOPE_TRACE") != "" {
				p.Stderr.Write(stackOf(v))
			}
			code = exitInternal
		}
	}()
	if linked := len(p.Args) > 1; len(p.Args) > 0 && p.Args[0] == workerCommand &&
		(!linked || slices.Equal(p.Args[1:], linkedWorker)) {
		return serveWorker(ctx, p, linked)
	}
	if len(p.Args) == 1 && p.Args[0] == compileCommand {
		return cuda.CompilerMain(ctx, p.Stdin, p.Stdout, 0)
	}
	if len(p.Args) == 2 && p.Args[0] == launchCommand {
		return cuda.LaunchMain(ctx, p.Args[1], p.Stdout, p.Stderr)
	}
	out, errs := newStdout(p.Stdout), newStderr(p.Stderr)
	p.Stdout, p.Stderr = out, errs
	defer errs.Flush()
	a := &app{Program: p}
	err := a.execute(file.With(ctx, p.Files))
	out.flush()
	if a.release != nil {
		defer a.release()
	}
	if a.opened != nil {
		if trouble := a.opened.Trouble(); trouble != nil &&
			(err == nil || !strings.Contains(err.Error(), trouble.Error())) {
			fmt.Fprintf(p.Stderr, "tilescope: %v\n", trouble)
		}
	}
	switch {
	case out.closed():
		return exitPipe
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(p.Stderr, "tilescope: cancelled")
		return ExitCancelled
	case a.outOfTime(err):
		fmt.Fprintf(p.Stderr, "tilescope: %v\n", context.Cause(a.limited))
		return int(report.CodeFailed)
	case out.err != nil:
		fmt.Fprintf(p.Stderr, "tilescope: write to standard output: %v\n", out.err)
		return exitUsage
	}
	return reportError(p.Stderr, err)
}

// stackOf is the stack of the goroutine that panicked.
func stackOf(v any) []byte {
	if p, ok := v.(*join.Panic); ok {
		return p.Stack
	}
	return debug.Stack()
}

// reportError prints an error and returns the code it stands for.
func reportError(w io.Writer, err error) int {
	var quiet exit
	var coded *report.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.As(err, &coded) && len(coded.Diagnostics) > 0:
		printDiagnostics(w, coded)
		return int(coded.Code)
	case errors.As(err, &coded):
		fmt.Fprintf(w, "tilescope: %v\n", err)
		return int(coded.Code)
	case debugkern.OutOfMemory(err):
		fmt.Fprintf(w, "tilescope: %v\n", err)
		return int(report.CodeFailed)
	}
	fmt.Fprintf(w, "tilescope: %v\n", err)
	return exitUsage
}

// app is the command tree over one invocation.
type app struct {
	Program
	config  *configs.Config
	sources *configs.Sources
	json    bool
	options map[string]string  // options of every command that override a configuration key, by key
	accept  bool               // --trust
	drawn   bool               // the terminal is: no question can be printed
	opened  *debugkern.Session // the command's session, once it has one
	limited context.Context    // the command's, where it has a time limit
	release context.CancelFunc // of limited
	made    map[string]string  // folders of bundles that kernels of Triton's were compiled to, by file
}

// perRun annotates a command whose --timeout is that of each run, or of a program that it executes, not of
// the whole command.
const perRun = "timeout-per-run"

// limit ends a command at its --timeout, whatever it is at by then. That of the terminal and of commands
// with perRun is each run's.
func (a *app) limit(c *cobra.Command) error {
	f := c.Flags().Lookup("timeout")
	if f == nil || !c.HasParent() || c.Annotations[perRun] != "" {
		return nil
	}
	limit := a.config.Timeout
	if f.Changed {
		var err error
		if limit, err = c.Flags().GetDuration(f.Name); err != nil {
			return err
		}
	}
	a.limited, a.release = debugkern.Limited(c.Context(), limit)
	c.SetContext(a.limited)
	return nil
}

// outOfTime reports that a command ended because of its time limit, where its error does not say so itself.
func (a *app) outOfTime(err error) bool {
	var coded *report.Error
	return errors.Is(err, context.DeadlineExceeded) && a.limited != nil && a.limited.Err() != nil &&
		!(errors.As(err, &coded) && coded.Code == report.CodeFailed)
}

func (a *app) execute(ctx context.Context) error {
	root := a.root()
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout.(*stdout).style) // help and completions, which are our own text
	root.SetErr(a.Stderr)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.help(c) })
	return root.ExecuteContext(ctx)
}

func (a *app) root() *cobra.Command {
	var opt runOptions
	var launch checkOptions
	version := false
	root := &cobra.Command{
		Use:   "tilescope [TARGET|FILE.cu|FILE.ptx|BUNDLE.tsl]",
		Short: "A terminal debugger for CUDA tile kernels",
		Long: "tilescope runs a fused attention kernel stage by stage, compares every tile with a reference, and says which stage,\n" +
			"tile, cell, lane and source line went wrong, and why: on a GPU, or without one by executing the same PTX in an emulator.\n\n" +
			"Without a command it opens the terminal on TARGET: a variant or kernel of the catalogue, or the path of a manifest. A kernel\n" +
			"that no manifest describes is opened with the options of check (--grid, --block, --arg): its arguments are shown, before and\n" +
			"after the launch, with every checker's findings. Without --grid and --block the terminal proposes a launch for its parameters.",
		Example: "  tilescope\n  tilescope red.cu --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024\n  tilescope run stage2 --fault p-stale-m\n  tilescope diagnose stage3b-reported\n  tilescope kernels",
		Args:    oneTargetAtMost,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := a.load(c); err != nil {
				return err
			}
			return a.limit(c)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return a.version()
			}
			return a.open(cmd, &opt, &launch, args)
		},
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetHelpCommand(a.helpCommand())
	root.Flags().BoolVar(&version, "version", false, "print the version, as tilescope version does")
	root.PersistentFlags().BoolVar(&a.json, "json", false,
		"print the document of this command on standard output, and nothing else")
	root.PersistentFlags().String(memoryOption, "",
		"memory that the command may take: a size such as 8GiB, or auto (half of what the machine has)")
	root.PersistentFlags().BoolVar(&a.accept, "trust", false,
		"for this command, use compilers and tools of the working directory, and those that other users can change")
	opt.bind(root)
	launch.bindLaunch(root.Flags())
	launch.bindExpect(root.Flags())
	root.AddCommand(a.runCommand(), a.diagnoseCommand(), a.gatesCommand(), a.compareCommand(),
		a.bisectCommand(), a.checkCommand(), a.initCommand(), a.lineageCommand(), a.recordCommand(),
		a.showCommand(),
		a.lutCommand(), a.kernelsCommand(), a.doctorCommand(), a.configCommand(), a.trustCommand(),
		a.tourCommand(), a.sweepCommand(),
		a.versionCommand(), a.manCommand())
	for _, c := range append(root.Commands(), root) {
		c.Long = flowing(c.Long)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &report.Error{
			Code: report.CodeUsage,
			Err: fmt.Errorf("%w%s (%s --help lists the options)", spoken(err), nearOption(c, err),
				c.CommandPath()),
		}
	})
	return root
}

// nearOption asks for the option that an unknown one may have meant: ": did you mean --set?"; "" for none.
func nearOption(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	near := configs.Mistyped(unknown.GetSpecifiedName(), known)
	if len(near) == 0 {
		return ""
	}
	return ": did you mean --" + strings.Join(near, " or --") + "?"
}

// spoken says what an option expected in words, where the library repeats how a number was parsed.
func spoken(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	if o, ok := bad.GetFlag().Value.(*keyOption); ok {
		return fmt.Errorf("--%s %s: expected %s", bad.GetFlag().Name, bad.GetValue(), configs.Expected(o.key))
	}
	expected := map[string]string{"uint64": "a whole number from 0 on", "int": "a whole number",
		"float64": "a number", "bool": "true or false",
		"duration": "a time, such as 30s or 2m"}[bad.GetFlag().Value.Type()]
	if expected == "" {
		return err
	}
	return fmt.Errorf("--%s %s: expected %s", bad.GetFlag().Name, bad.GetValue(), expected)
}

// flowing joins the lines of each paragraph: help is wrapped to the terminal's width, which the
// source does not know.
func flowing(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

func (a *app) load(c *cobra.Command) error {
	a.options = map[string]string{}
	for option, key := range map[string]string{
		memoryOption: "memory.max", hostOption: "host.name", hostCopyOption: "host.copy",
	} {
		if f := c.Flags().Lookup(option); f != nil && f.Changed {
			a.options[key] = f.Value.String()
		}
	}
	var err error
	if a.config, a.sources, err = configs.Load(c.Context(), configs.LoadOptions{
		Flags: a.options, CheckKeys: a.CheckKeys,
	}); err != nil {
		return &report.Error{Code: report.CodeUsage, Err: err}
	}
	return nil
}

func (a *app) session(ctx context.Context) (*debugkern.Session, error) {
	o := debugkern.Options{
		Config: a.config, Files: a.Files, Memory: a.Memory,
		Trust: &trust.Policy{Record: a.record(), Accept: a.accept}, Version: a.Version,
		Linked: append([]string{workerCommand}, linkedWorker...), AskCopy: a.askCopy(),
	}
	if exe, err := os.Executable(); err == nil {
		o.Worker, o.Launcher = []string{exe, workerCommand}, []string{exe, launchCommand}
		o.Compiler = []string{exe, compileCommand}
	}
	s, err := debugkern.Open(ctx, o)
	a.opened = s
	return s, err
}

// memoryOption is the option that overrides the configuration key memory.max.
const memoryOption = "memory-max"

// open is the command without a name: the terminal.
func (a *app) open(cmd *cobra.Command, opt *runOptions, launch *checkOptions, args []string) error {
	if a.json {
		return &report.Error{
			Code: report.CodeUsage,
			Err:  errors.New("--json belongs to a command: tilescope run TARGET --json"),
		}
	}
	named := strings.Join(args, "")
	if err := mistyped(cmd, named); named != "" && err != nil {
		return err
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	defer a.discardMade()
	if named == "" {
		named = a.config.Target
	}
	explicit := named != "" || cmd.Flags().NFlag() > 0
	if named == "" {
		named = defaultTarget
	}
	again := a.reopening(cmd, opt, launch, s, named)
	req, err := a.opening(cmd, opt, launch, s, named)
	words, lacks := lacking(cmd, named, err)
	if lacks != nil { // the terminal proposes a launch, over what it opens without the file
		explicit, again = false, nil
		req, _, err = a.openLater(s)(cmd.Context(), []string{defaultTarget})
	}
	if err != nil {
		return err
	}
	if explicit {
		if req, err = accepted(cmd.Context(), s, req); err != nil {
			return err
		}
	}
	stateDir, err := configs.StateDir(os.Environ())
	if err != nil {
		fmt.Fprintf(a.Stderr, "tilescope: nothing will be remembered: %v\n", err)
	}
	// a question is asked before the terminal is drawn
	if err := s.Connect(cmd.Context()); err != nil {
		return err
	}
	a.drawn = true
	var python []string
	if ofPython(named) && lacks == nil {
		python = wordsOf(cmd, named)
	}
	return a.OpenTerminal(cmd.Context(), Terminal{
		Session: s, Config: a.config, StateDir: stateDir, Request: req, Explicit: explicit, Reopen: again,
		Open: a.openLater(s), Launched: checkrun.Launched,
		Expectations: expectations(s), Lacking: words, Lacks: lacks, Python: python,
		Stdin:  a.Stdin,
		Stdout: a.Stdout.(*stdout).Unwrap(), Files: a.Files,
	})
}

// expectations is Terminal.Expectations of a session.
func expectations(
	s *debugkern.Session,
) func(context.Context, debugkern.Request, *report.Run, func(debugkern.Progress)) error {
	return func(
		ctx context.Context, req debugkern.Request, rep *report.Run, progress func(debugkern.Progress),
	) error {
		return checkrun.Expectations(ctx, s, req, rep, progress)
	}
}

// lacking returns a file and the options that it was given, as words of openLater, where an error is that its
// launch is not given and a launch to begin with is known; nil and nil for any other error.
func lacking(cmd *cobra.Command, named string, err error) ([]string, error) {
	var lacks *checkrun.MissingLaunch
	if !errors.As(err, &lacks) || lacks.Example == nil {
		return nil, nil
	}
	return wordsOf(cmd, named), err
}

// wordsOf are a name and the options that it was given, as words of openLater.
func wordsOf(cmd *cobra.Command, named string) []string {
	words := []string{named}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	return words
}

// accepted checks a request that somebody asked for. One that is compared with nothing runs under every
// checker: that is all there is to say of it.
func accepted(ctx context.Context, s *debugkern.Session, req debugkern.Request) (debugkern.Request, error) {
	if err := s.Check(ctx, req); err != nil {
		return req, err
	}
	if !s.Referenced(ctx, req) {
		req.Check = debugkern.EveryChecker
	}
	return req, nil
}

// openLater is Terminal.Open: the command without a name, parsed from words, on the terminal's session.
func (a *app) openLater(
	s *debugkern.Session,
) func(context.Context, []string) (debugkern.Request, Reopen, error) {
	return func(ctx context.Context, words []string) (none debugkern.Request, _ Reopen, _ error) {
		var opt runOptions
		var launch checkOptions
		cmd := &cobra.Command{Use: "open"}
		cmd.SetContext(ctx)
		opt.bind(cmd)
		launch.bindLaunch(cmd.Flags())
		launch.bindExpect(cmd.Flags())
		if err := cmd.ParseFlags(words); err != nil {
			return none, nil, &report.Error{Code: report.CodeUsage, Err: spoken(err)}
		}
		args := cmd.Flags().Args()
		if len(args) != 1 {
			return none, nil, usageError("one TARGET or FILE is opened at a time, found %d: %s", len(args),
				strings.Join(args, " "))
		}
		again := a.reopening(cmd, &opt, &launch, s, args[0])
		req, err := a.opening(cmd, &opt, &launch, s, args[0])
		if err == nil {
			req, err = accepted(ctx, s, req)
		}
		return req, again, err
	}
}

// opening is the request that the terminal is opened on: of a target, or of a file that no
// manifest describes.
func (a *app) opening(
	cmd *cobra.Command, opt *runOptions, launch *checkOptions, s *debugkern.Session, named string,
) (debugkern.Request, error) {
	if isKernelFile(named) || ofPython(named) {
		return a.adopt(cmd.Context(), cmd, opt, launch, s, named)
	}
	if err := refuseLaunch(cmd, named); err != nil {
		return debugkern.Request{}, err
	}
	expect := []string{"expect"}
	if err := refuseOptions(cmd, expect, "given here for a FILE; of a TARGET by check"); err != nil {
		return debugkern.Request{}, err
	}
	named, err := s.Catalogue().ManifestIn(named)
	if err != nil {
		return debugkern.Request{}, &report.Error{Code: report.CodeUsage, Err: err}
	}
	req, err := opt.request(cmd, a.config, named)
	if err != nil {
		return req, err
	}
	return req, opt.applyGate(cmd.Context(), &req, named)
}

// refuseLaunch refuses options of a launch for a target; a bundle refuses them itself.
func refuseLaunch(cmd *cobra.Command, target string) error {
	if build.Bundled(target) {
		return nil
	}
	return refuseOptions(cmd, launchOptions, "launch and arguments of a TARGET are its manifest's; "+
		"they are given for a FILE.cu or FILE.ptx")
}

// reopening returns what adopts a file anew, from the options of the command line as they are now, which are
// those before the file's text has added its own; nil where a name is of no text. An argument given by the
// name that a parameter had when the file was adopted last goes with the parameter's new name.
func (a *app) reopening(
	cmd *cobra.Command, opt *runOptions, launch *checkOptions, s *debugkern.Session, named string,
) Reopen {
	if !isKernelFile(named) && !ofPython(named) || build.Bundled(named) {
		return nil
	}
	run, check := opt.clone(), launch.clone()
	adopt := func(ctx context.Context) (debugkern.Request, error) {
		*opt, *launch = run.clone(), check.clone()
		return a.adopt(ctx, cmd, opt, launch, s, named)
	}
	return func(ctx context.Context) (debugkern.Request, error) {
		before := checkrun.Adopted(s, named)
		req, err := adopt(ctx)
		var other *checkrun.MissingLaunch
		if !errors.As(err, &other) {
			return req, err
		}
		renamed := check.clone()
		if !renamed.rename(other.Renamed(before)) {
			return req, err
		}
		check = renamed // the names from now on
		return adopt(ctx)
	}
}

// isKernelFile reports whether a name is that of a kernel's text.
func isKernelFile(name string) bool {
	return slices.Contains([]string{".cu", ".ptx", bundle.Ext}, filepath.Ext(name))
}

// bundled is the request of a bundle, as a target that the session is given; any other
// request stays as it is.
func (a *app) bundled(
	cmd *cobra.Command, opt *runOptions, s *debugkern.Session, req debugkern.Request,
) (debugkern.Request, error) {
	if !build.Bundled(req.Target) {
		return req, nil
	}
	return a.adopt(cmd.Context(), cmd, opt, &checkOptions{}, s, req.Target)
}

// adopt makes a target of a file and the options of its launch.
func (a *app) adopt(
	ctx context.Context, cmd *cobra.Command, opt *runOptions, launch *checkOptions, s *debugkern.Session,
	named string,
) (debugkern.Request, error) {
	var none debugkern.Request
	for _, f := range []string{"shape", "set", "fault", "gate", "inject", "inputs", "tiles", "stages"} {
		if cmd.Flags().Changed(f) && !(f == "set" && ofPython(named)) {
			return none,
				usageError("--%s: %s is no TARGET: launch and arguments of a file are given by --grid, --block and --arg",
					f, named)
		}
	}
	if err := launch.check(cmd, named); err != nil {
		return none, err
	}
	launched := launch.launched
	if ofPython(named) {
		launched = func(cmd *cobra.Command, named string) (checkrun.Request, error) {
			return a.python(cmd, opt, launch, s, named)
		}
	}
	req, err := launched(cmd, named)
	if err != nil {
		return none, err
	}
	if req.Blocks, err = debugkern.ParseBlocks(opt.blocks); err != nil {
		return none, err
	}
	req.Seed, req.Schedule, req.Backend, req.Builder, req.Arch = opt.seed, opt.schedule, opt.backend,
		opt.builder, opt.arch
	if ofPython(named) {
		req.Arch = "" // the bundle has it
	}
	req.Include, req.Define, req.Std, req.Timeout, req.Device, req.Repeat = opt.include, opt.define, opt.std,
		opt.timeout, opt.device, opt.repeat
	req.Resident, req.Cooperative, req.Instantiate = opt.resident, opt.cooperative, opt.instantiate
	return checkrun.Adopt(ctx, s, req)
}

// defaultTarget is what the terminal opens on the first time.
const defaultTarget = "stage2"
