package debugkern

import (
	"context"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// fakeGPU is the emulator under a GPU's name: it executes on a schedule of its own, reports no findings of
// the emulator's, and alters what a launch leaves. Instrumented launches are counted from 0.
type fakeGPU struct {
	target.Backend
	arch     string
	schedule string
	alter    func(launch int, l *target.Launch, res *target.Result)
	launches int
}

func (g *fakeGPU) Info() target.Info {
	return target.Info{Name: "cuda", Device: "fake GPU", Arch: g.arch}
}

func (g *fakeGPU) Load(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	k, err := g.Backend.Load(ctx, m, entry)
	return &fakeKernel{k, g}, err
}

type fakeKernel struct {
	target.Kernel
	g *fakeGPU
}

func (k *fakeKernel) Launch(ctx context.Context, l *target.Launch) (*target.Result, error) {
	own := *l
	own.Observe = nil
	if k.g.schedule != "" {
		own.Schedule, _ = ParseSchedule(k.g.schedule)
	}
	res, err := k.Kernel.Launch(ctx, &own)
	if err != nil {
		return nil, err
	}
	res.Findings = nil
	if l.Probe != nil && k.g.alter != nil {
		k.g.alter(k.g.launches, l, res)
		k.g.launches++
	}
	return res, nil
}

// crossRun runs a request on both backends, the fake GPU and the emulator.
func crossRun(t *testing.T, g *fakeGPU, req Request) *Run {
	t.Helper()
	s := openSession(t)
	g.Backend = s.localEmulator()
	if g.arch == "" {
		g.arch = g.Backend.Info().Arch
	}
	s.worker = []string{"none"}
	s.gpus[0] = g
	t.Cleanup(func() { delete(s.gpus, 0) }) // it has nothing to close
	req.Backend = "both"
	run, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.Report.Cross == nil || run.Report.Cross.Differing == 0 {
		t.Fatalf("the backends do not differ: %+v", run.Report.Cross)
	}
	return run
}

func difference(r *Run) *report.Finding {
	for i := range r.Report.Findings {
		if r.Report.Findings[i].Kind == string(target.BackendDifference) {
			return &r.Report.Findings[i]
		}
	}
	return nil
}

func flip(_ int, l *target.Launch, res *target.Result) {
	captured := copied(l.Probe.Layout, res.Capture)
	captured[len(captured)/2] ^= 1
	res.Capture = captured
}

// copied is a capture buffer in one piece, which a test can change.
func copied(l *probes.Layout, from probes.Captured) probes.Buffer {
	out := make(probes.Buffer, l.CaptureBytes)
	for i := range l.Range.N.Count() {
		for _, s := range l.Spans(l.Range.Block(i)) {
			copy(out[s.Lo:s.Hi], from.Bytes(s.Lo, s.Hi))
		}
	}
	return out
}

// TestCrossClass: a difference between two backends is unexplained only after checkers, other schedules and
// more launches were tried; a race or an undefined value that the run was not checked for is found then, and
// reported with its lines.
func TestCrossClass(t *testing.T) {
	flipFirst := func(n int, l *target.Launch, res *target.Result) {
		if n == 0 {
			flip(n, l, res)
		}
	}
	for _, c := range []struct {
		name  string
		gpu   fakeGPU
		req   Request
		class string
		cause target.Kind // of a finding of the run with its line; "" none
		says  []string    // in the message or the consequence
	}{
		{"a race", fakeGPU{schedule: "reverse:0"}, Request{Target: "stage2", Faults: []string{"sync-p"}},
			crossSchedule, target.Race,
			[]string{"race on sP between sdpa", " and sdpa", "--schedule", "emulator's"}},
		{"a race in the softmax", fakeGPU{schedule: "random:3"},
			Request{Target: "stage3b", Faults: []string{"softmax-race"}},
			crossSchedule, target.Race, []string{"race on ", "sdpa"}},
		{"a read of unwritten memory", fakeGPU{alter: flip},
			Request{Target: "stage2", Faults: []string{"score-uninit"}},
			crossUndefined, target.Uninitialised, []string{"read of unwritten memory", "sdpa"}},
		{"launches that vary", fakeGPU{alter: flipFirst}, Request{Target: "stage2"},
			crossSchedule, "",
			[]string{"launch to launch", "no checker finds a race", "launched again, fake GPU's"}},
		{"another chip", fakeGPU{alter: flip, arch: "sm_80"}, Request{Target: "stage2"}, crossModel, "", nil},
		{"a bug of ours", fakeGPU{alter: flip}, Request{Target: "stage2", Seed: 7}, crossUnexplained, "",
			[]string{"(unexplained)", "bug of tilescope", "please report it", "tilescope run stage2",
				"--seed 7", "--backend both",
				"--schedule reverse:0", "10 more launches on fake GPU"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Shape = "small"
			run := crossRun(t, &c.gpu, c.req)
			checkCross(t, run, c.class, c.cause, c.says)
		})
	}
}

// TestCrossClassOfFindings: the class follows from the kinds of what was found, and from whether the bits
// vary.
func TestCrossClassOfFindings(t *testing.T) {
	find := func(kinds ...target.Kind) (fs []target.Finding) {
		for _, k := range kinds {
			fs = append(fs, target.Finding{Kind: k})
		}
		return fs
	}
	harmless := target.Finding{Kind: target.Uninitialised, Severity: target.SeverityAdvice}
	for _, c := range []struct {
		name   string
		found  []target.Finding
		varied []string
		class  string
		cause  target.Kind
	}{
		{"shuffle", find(target.Shuffle), nil, crossUndefined, target.Shuffle},
		{"shuffle, varying", find(target.Shuffle), []string{"O"}, crossUndefined, target.Shuffle},
		{"race and shuffle", find(target.Shuffle, target.Race), nil, crossUndefined, target.Shuffle},
		{"race and shuffle, varying", find(target.Shuffle, target.Race), []string{"O"},
			crossSchedule, target.Race},
		{"copy not awaited", find(target.CpAsync), nil, crossSchedule, target.CpAsync},
		{"read outside a buffer", find(target.OutOfBounds), nil, crossUndefined, target.OutOfBounds},
		{"varying", nil, []string{"O"}, crossSchedule, ""},
		{"harmless and advice", append(find(target.BankConflict, target.Overlap), harmless), nil,
			crossUnexplained, ""},
	} {
		emu := openSession(t).localEmulator()
		x := &crossSearch{e: &execution{backend: emu, st: &runState{emulator: emu}}, varied: c.varied}
		for _, f := range c.found {
			x.add(f)
		}
		class, cause := x.class()
		if class != c.class || (cause == nil) != (c.cause == "") || cause != nil && cause.Kind != c.cause {
			t.Errorf("%s: class %s with %+v, expected %s with %q", c.name, class, cause, c.class, c.cause)
		}
	}
}

func checkCross(t *testing.T, run *Run, class string, cause target.Kind, says []string) {
	t.Helper()
	if got := run.Report.Cross.Class; got != class {
		t.Errorf("class %s, expected %s", got, class)
	}
	d := difference(run)
	if (d == nil) != (class == crossModel) {
		t.Fatalf("finding %+v with class %s", d, class)
	}
	if d == nil {
		return
	}
	t.Logf("%s | %s", d.Message, d.Consequence)
	if d.Severity != string(target.SeverityError) {
		t.Errorf("severity %s", d.Severity)
	}
	for _, w := range says {
		if !strings.Contains(d.Message+d.Consequence, w) {
			t.Errorf("%q is not in %q, %q", w, d.Message, d.Consequence)
		}
	}
	if cause == "" {
		return
	}
	for _, f := range run.Report.Findings {
		placed := f.Source != nil && d.Source != nil && *f.Source == *d.Source
		if f.Kind == string(cause) && placed && f.Variable == d.Variable {
			return
		}
	}
	t.Errorf("no %s at the line of the difference, %v: %+v", cause, d.Source, run.Report.Findings)
}

func TestAddsFloatsByAtomics(t *testing.T) {
	const kernel = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n" +
		"\t.reg .b16 %h<2>;\n\t.reg .f32 %f<2>;\n\t.reg .f64 %d<2>;\n\tld.param.u64 %rd0, [p];\n\t%s\n\tret;\n}\n"
	for instr, want := range map[string]bool{
		"red.global.add.f32 [%rd0], %f0;": true, "atom.global.add.f64 %d0, [%rd0], %d1;": true,
		"red.global.add.noftz.f16x2 [%rd0], %r0;": true, "atom.global.add.noftz.bf16 %h0, [%rd0], %h1;": true,
		"red.global.add.noftz.bf16x2 [%rd0], %r0;": true, "red.global.add.u32 [%rd0], %r0;": false,
		"atom.global.exch.b32 %r0, [%rd0], %r1;": false, "st.global.f32 [%rd0], %f0;": false,
	} {
		m, err := ptx.Parse("k.ptx", []byte(strings.Replace(kernel, "%s", instr, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := AddsFloatsByAtomics(m.Func("k")); got != want {
			t.Errorf("%s: %v", instr, got)
		}
	}
}
