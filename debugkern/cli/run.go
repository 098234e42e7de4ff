package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// runOptions are the options shared by the commands that run a kernel.
type runOptions struct {
	// gateFrom: of the configuration, for messages; "" where the option gives it
	gateFrom                                                                                   string
	shape, gate, inject, backend, builder, arch, inputs, dump, schedule, blocks, tiles, stages string
	resident                                                                                   int
	cooperative                                                                                bool
	seed                                                                                       uint64
	set, faults, include, define, instantiate                                                  []string
	std                                                                                        string
	timeout                                                                                    time.Duration
	device, repeat                                                                             int
	// check: of run and sweep
	check bool
}

// clone is a copy that shares no list.
func (o *runOptions) clone() runOptions {
	c := *o
	for _, list := range []*[]string{&c.set, &c.faults, &c.include, &c.define, &c.instantiate} {
		*list = slices.Clone(*list)
	}
	return c
}

// The descriptions begin with a word of prose: the help that the library draws writes its first word
// with a capital letter and all others small, whatever it is, and a value or a placeholder is to be
// read as it is typed.
func (o *runOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.shape, "shape", "",
		"shape by name or B,H,S,D (default validation, else the manifest's first)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the inputs")
	f.StringArrayVar(&o.set, "set", nil, "flag to set: FLAG[=VALUE], repeatable")
	f.StringArrayVar(&o.faults, "fault", nil, "planted fault NAME, repeatable")
	f.StringVar(&o.gate, "gate", "none", "part that runs: none (all of it), "+gateList())
	f.StringVar(&o.inject, "inject", "reference", "what gate "+strings.Join(configs.UniformGates(), ", ")+
		" injects: reference or uniform")
	f.StringVar(&o.backend, "backend", "", "where it runs: auto, emu, cuda or both (default auto)")
	f.StringVar(&o.builder, "builder", "", "who compiles: auto, embedded, nvrtc or nvcc (default auto)")
	f.StringVar(&o.arch, "arch", "", "architecture to compile for, such as sm_80")
	f.StringArrayVarP(&o.include, "include", "I", nil, "directory DIR to look for headers in, repeatable")
	f.StringArrayVarP(&o.define, "define", "D", nil, "symbol to compile with: NAME[=VALUE], repeatable")
	f.StringVar(&o.std, "std", "", "language to compile as, such as c++17 (the default)")
	f.StringArrayVar(&o.instantiate, "instantiate", nil,
		"kernel template with arguments to compile, such as 'kernel<64,128>', repeatable")
	f.StringVar(&o.inputs, "inputs", "",
		"inputs from FILE.npz: Qx Kx Vx, or Q K V Qs Ks Vs; or from BUNDLE.tsl")
	f.StringVar(&o.dump, "dump", "", "write inputs, tiles and references to FILE.npz")
	f.DurationVar(&o.timeout, "timeout", 0, "end the command after this long")
	f.IntVar(&o.device, "device", 0, "index of the GPU")
	f.IntVar(&o.repeat, "repeat", 10, "launches compared bit for bit (GPU)")
	f.StringVar(&o.schedule, "schedule", "",
		"order of execution on the emulator, POLICY[:SEED][:ASYNC]: in-order, reverse, random, ahead (one warp, by the seed), priority (random order and change points); ASYNC, when a cp.async lands: latest, earliest, random")
	f.IntVar(&o.resident, "resident", 0,
		"blocks resident at once on the emulator, for kernels whose blocks wait for each other (default: as many as fit on the chip)")
	f.BoolVar(&o.cooperative, "cooperative", false,
		"a cooperative launch: blocks may rely on being resident together")
	f.StringVar(&o.blocks, "blocks", "", "captured blocks X,Y,Z, each N, A-B or *")
	f.StringVar(&o.tiles, "tiles", "", "captured kv tiles A-B")
	f.StringVar(&o.stages, "stages", "", "captured stages, comma-separated")
	overKey(f, "timeout", "device", "repeat")
	bindHost(c)
	completions(c)
}

// completeTargets offers the names of the catalogue, and files.
func completeTargets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return fromCatalogue((*configs.Catalogue).Targets), cobra.ShellCompDirectiveDefault
}

// completions lets the shell complete targets, faults, shapes, flags and the fixed words from the catalogue.
func completions(c *cobra.Command) {
	c.ValidArgsFunction = completeTargets
	each := func(name string, list func() []string) {
		// The only error is a flag that does not exist, which the tests would see.
		_ = c.RegisterFlagCompletionFunc(name,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return list(), cobra.ShellCompDirectiveNoFileComp
			})
	}
	doc := func(pick func(configs.KernelDoc) []string) func() []string {
		return func() []string {
			return fromCatalogue(func(cat *configs.Catalogue) (all []string) {
				for _, k := range cat.Doc().Kernels {
					all = append(all, pick(k)...)
				}
				return all
			})
		}
	}
	each("fault", doc(func(k configs.KernelDoc) (names []string) {
		for _, f := range k.Faults {
			names = append(names, f.Name)
		}
		return names
	}))
	each("shape", doc(func(k configs.KernelDoc) (names []string) {
		for _, s := range k.Shapes {
			names = append(names, s.Name)
		}
		return names
	}))
	each("set", doc(func(k configs.KernelDoc) (names []string) {
		for _, f := range k.Flags {
			names = append(names, f.Name)
		}
		return names
	}))
	for name, words := range map[string][]string{
		"gate":   append([]string{probes.GateNone.String()}, configs.ConventionalGates()...),
		"inject": {"reference", "uniform"}, "backend": {"auto", "emu", "cuda", "both"},
		"builder": {"auto", "embedded", "nvrtc", "nvcc"},
	} {
		each(name, func() []string { return words })
	}
}

func fromCatalogue(pick func(*configs.Catalogue) []string) []string {
	cat, err := configs.Kernels()
	if err != nil {
		return nil
	}
	return pick(cat)
}

// request merges options over configuration. Values that a manifest decides on are left for
// the session to refuse.
func (o *runOptions) request(
	c *cobra.Command, cfg *configs.Config, target string,
) (debugkern.Request, error) {
	blocks, err := debugkern.ParseBlocks(o.blocks)
	if err != nil {
		return debugkern.Request{}, err
	}
	tiles, err := debugkern.ParseTiles(o.tiles)
	if err != nil {
		return debugkern.Request{}, err
	}
	req := debugkern.Request{
		Target: target, Shape: cfg.Shape, Seed: cfg.Seed, Backend: cfg.Backend, Builder: cfg.Builder,
		Arch: cfg.Arch, Timeout: cfg.Timeout, Schedule: cfg.Schedule,
		Faults: append(slices.Clone(cfg.Faults), o.faults...), Inject: o.inject, Inputs: o.inputs,
		Device: cfg.Device, Repeat: cfg.Repeat, Blocks: blocks, Tiles: tiles,
		Stages: debugkern.ParseStages(o.stages), Set: map[string]string{}, Include: o.include,
		Define: o.define, Std: o.std, Instantiate: o.instantiate, Resident: o.resident,
		Cooperative: o.cooperative,
	}
	maps.Copy(req.Set, cfg.Flags)
	over := func(name string, dst *string, v string) {
		if c.Flags().Changed(name) {
			*dst = v
		}
	}
	over("shape", &req.Shape, o.shape)
	over("backend", &req.Backend, o.backend)
	over("builder", &req.Builder, o.builder)
	over("arch", &req.Arch, o.arch)
	over("schedule", &req.Schedule, o.schedule)
	if c.Flags().Changed("seed") {
		req.Seed = o.seed
	}
	if c.Flags().Changed("timeout") {
		req.Timeout = o.timeout
	}
	if c.Flags().Changed("device") {
		req.Device = o.device
	}
	if c.Flags().Changed("repeat") {
		req.Repeat = o.repeat
	}
	if !c.Flags().Changed("gate") {
		o.gate, o.gateFrom = cfg.Gate, cfg.GateFrom+": gate"
	}
	for _, s := range o.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			value = "1"
		}
		req.Set[name] = value
	}
	return req, nil
}

// gateList names the conventional gates: "qk, softmax or pv".
func gateList() string {
	list := configs.ConventionalGates()
	n := len(list) - 1
	return strings.Join(list[:n], ", ") + " or " + list[n]
}

// applyGate folds --gate and gates set as flags (--set DEBUG_QK_ONLY) into one gate, as the target's manifest
// has them; two at once are refused. A target that cannot be opened is left to the session to refuse.
func (o *runOptions) applyGate(ctx context.Context, req *debugkern.Request, target string) error {
	if o.gate == "" {
		return usageError("--gate: expected a gate's name (%s), found nothing", gateList())
	}
	req.Gate = probes.GateNamed(o.gate)
	if req.Gate == probes.GateNone && len(req.Set) == 0 {
		return nil
	}
	cat, err := configs.Kernels()
	if err != nil {
		return fmt.Errorf("catalogue: %w", err)
	}
	m, _, err := cat.Open(ctx, target)
	if err != nil {
		return nil
	}
	if req.Gate, err = m.ParseGate(o.gate); err != nil {
		return usageError("%s: %w", cmp.Or(o.gateFrom, "--gate"), err)
	}
	for name, value := range req.Set {
		g := m.Gate(name)
		if g == nil || g.Name == probes.GateNone || g.Define != name {
			continue
		}
		delete(req.Set, name)
		if value == "0" {
			continue
		}
		if req.Gate != probes.GateNone && req.Gate != g.Name {
			return usageError("gates %s and %s cannot be combined: choose one", req.Gate, g.Name)
		}
		req.Gate = g.Name
	}
	return nil
}

func usageError(format string, args ...any) error {
	return &report.Error{Code: report.CodeUsage, Err: fmt.Errorf(format, args...)}
}

func (a *app) runCommand() *cobra.Command {
	var opt runOptions
	c := &cobra.Command{
		Use:   "run TARGET|BUNDLE.tsl",
		Short: "Build, execute, compare, print the verdict",
		Long: "run builds a kernel, executes it, compares every captured tile with the reference and prints the verdict.\n\n" +
			"Exit code: 0 agreed, 1 a divergence or a finding of severity error, 2 bad input, 3 backend or compiler not available,\n" +
			"4 the kernel did not build, load or run.",
		Example: "  tilescope run stage2\n  tilescope run stage2 --fault kt-rowmajor --json\n  tilescope run stage2 --shape mission --seed 3 --dump tiles.npz",
		Args:    oneTarget,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.run(cmd, &opt, args[0]) },
	}
	opt.bind(c)
	opt.bindCheck(c)
	return c
}

// bindCheck adds --check.
func (o *runOptions) bindCheck(c *cobra.Command) {
	c.Flags().BoolVar(&o.check, "check", false,
		"attach every checker, on the emulator: races, uses before a write, barriers, asynchronous copies, banks")
}

// checked makes a request one with every checker, where --check asks for it.
func (o *runOptions) checked(req *debugkern.Request) error {
	if !o.check {
		return nil
	}
	if req.Check = debugkern.EveryChecker; req.Backend == "cuda" {
		return usageError(
			"--check: what a GPU executes cannot be observed; use --backend emu, or both for the emulator's findings with the GPU's verdict")
	}
	if req.Backend != "both" {
		req.Backend = "emu"
	}
	return nil
}

func oneTarget(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError(
			"%s takes one TARGET, a name of the catalogue (tilescope kernels) or the path of a manifest or bundle; it was given %d",
			c.CommandPath(), len(args))
	}
	return nil
}

func (a *app) run(cmd *cobra.Command, opt *runOptions, target string) error {
	req, err := opt.request(cmd, a.config, target)
	if err != nil {
		return err
	}
	if err := opt.applyGate(cmd.Context(), &req, target); err != nil {
		return err
	}
	if err := opt.checked(&req); err != nil {
		return err
	}
	dump, err := a.createOutput(cmd.Context(), "--dump", opt.dump, dumpFile)
	if err != nil {
		return err
	}
	defer dump.abandon()
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	if req, err = a.bundled(cmd, opt, s, req); err != nil {
		return err
	}
	meter := newMeter(a.Stderr, a.json)
	r, err := s.Run(cmd.Context(), req, meter.report)
	meter.clear()
	if err != nil {
		return a.failed(err)
	}
	if dump != nil {
		if err := dump.write(func(w io.Writer) error { return r.Dump(cmd.Context(), w) }); err != nil {
			return err
		}
	}
	if err := a.print(r.Report, func(w io.Writer) {
		printReport(w, r.Report, r.Plan, req.Check != 0)
	}); err != nil {
		return err
	}
	return exitFor(r.Report.ExitCode())
}

// failed prints the document of a run that has one (exit 4) and passes the error on.
func (a *app) failed(err error) error {
	var e *report.Error
	if errors.As(err, &e) && e.Report != nil && a.json {
		if perr := a.print(e.Report, nil); perr != nil {
			return perr
		}
	}
	return err
}

func exitFor(code int) error {
	if code == exitOK {
		return nil
	}
	return exit(code)
}

// print writes doc as JSON under --json, else calls words.
func (a *app) print(doc any, words func(io.Writer)) error {
	if !a.json {
		words(a.Stdout)
		return nil
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	_, err = a.Stdout.Write(append(text.JSON(b), '\n'))
	return err
}
