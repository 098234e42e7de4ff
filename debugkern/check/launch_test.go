package check_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/input"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/kernels"
	"tilescope/probes"
)

// attempt is a kernel of the catalogue, ready to be launched on the emulator.
type attempt struct {
	kernel target.Kernel
	launch *target.Launch
	plan   *probes.Plan
	module *ptx.Module
}

// loaded is the kernel t of a text in PTX.
func loaded(t *testing.T, text string) target.Kernel {
	t.Helper()
	m, err := ptx.Parse("t.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(t.Context(), m, "t")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// prepare builds the launch of a target. Gates get zeros for what is injected: no checker looks at values.
func prepare(
	tb testing.TB, name, shape string, faults []string, gate probes.Gate, instrumented bool,
) attempt {
	tb.Helper()
	sel := configstest.Select(tb, name, faults, gate)
	plan := configstest.Resolve(tb, sel, shape)
	defines := slices.Clone(sel.Defines())
	l := launchOf(plan)
	if instrumented {
		defines = append(defines, "TS_PROBES=1")
		all := probes.Range{N: plan.Grid, TileN: plan.Work.MaxTiles}
		l.Probe = &target.Probe{Layout: probes.NewLayout(plan, stagesOf(plan), all), Control: true}
	}
	slices.Sort(defines)
	e, ok, err := kernels.Find(kernels.Key{
		Kernel: sel.Manifest.Name, Defines: defines, Faults: sel.Planted(),
	})
	if err != nil || !ok {
		tb.Fatalf("archive: %s %v: found %v, %v", sel.Manifest.Name, defines, ok, err)
	}
	mod, err := ptx.Parse(e.Name, e.PTX)
	if err != nil {
		tb.Fatal(err)
	}
	k, err := emu.New(chip.SM90()).Load(context.Background(), mod, plan.Entry)
	if err != nil {
		tb.Fatal(err)
	}
	return attempt{k, l, plan, mod}
}

// reshape gives an attempt the launch of another shape.
func (a *attempt) reshape(tb testing.TB, name, shape string) *attempt {
	tb.Helper()
	a.plan = configstest.Plan(tb, name, shape, probes.GateNone)
	a.launch = launchOf(a.plan)
	return a
}

// launchOf is the launch of a plan without probes.
func launchOf(p *probes.Plan) *target.Launch {
	return &target.Launch{
		Grid: p.Grid, Block: p.Block, DynShared: p.DynShared, Shared: p.Shared, Args: arguments(p, p.Shape),
	}
}

func stagesOf(p *probes.Plan) probes.StageSet {
	var s probes.StageSet
	for i := range p.Stages {
		s = s.Union(probes.StagesOf(p.Stages[i].Stage))
	}
	return s
}

// arguments fills the kernel's parameters from seeded inputs.
func arguments(p *probes.Plan, sh probes.Shape) []target.Arg {
	in, err := input.New(context.Background(), p, 1)
	if err != nil {
		panic(err)
	}
	var out []target.Arg
	for _, a := range p.Args {
		if !a.Pointer {
			b := binary.LittleEndian.AppendUint64(nil, a.Bits)
			out = append(out, target.Arg{Name: a.Name, Scalar: b[:a.DType.Size()]})
			continue
		}
		buf := &target.Buffer{
			DType: a.DType, Dims: a.Dims, Bytes: a.Elems() * a.DType.Size(),
			Output: a.Role == probes.RoleOutput,
		}
		buf.Init, _ = in.Argument(a)
		out = append(out, target.Arg{Name: a.Name, Buffer: buf})
	}
	return out
}

// checked launches with checkers and returns what they found.
func (a attempt) checked(tb testing.TB, o check.Options, parallel int) []target.Finding {
	tb.Helper()
	c := check.New(o)
	a.watch(tb, c, parallel)
	return c.Findings()
}

// watch launches under a checker.
func (a attempt) watch(tb testing.TB, c *check.Checker, parallel int) *target.Result {
	tb.Helper()
	l := *a.launch
	l.Observe, l.Discard, l.Parallel = c.Observer, c.Discard, parallel
	r, err := a.kernel.Launch(context.Background(), &l)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// edited is the same launch of an edited module.
func (a attempt) edited(tb testing.TB, edits []ptx.Edit) attempt {
	tb.Helper()
	var err error
	if a.module, err = a.module.Edited(edits); err != nil {
		tb.Fatal(err)
	}
	if a.kernel, err = emu.New(chip.SM90()).Load(context.Background(), a.module, a.plan.Entry); err != nil {
		tb.Fatal(err)
	}
	return a
}

// kernelFiles are those that a pattern finds: at least one.
func kernelFiles(tb testing.TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

// readModule is a file of testdata, as text and parsed; it must be valid.
func readModule(tb testing.TB, file string) (*ptx.Module, string) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := ptx.Parse(filepath.Base(file), text)
	if err != nil {
		tb.Fatal(err)
	}
	if err := ptx.Validate(m); err != nil {
		tb.Error(err)
	}
	return m, string(text)
}
