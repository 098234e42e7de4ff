package gates

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// fake is a session without kernels: what each run reports, and how often it was asked.
type fake struct {
	report func(req debugkern.Request) (*report.Run, error)
	micros map[string][]float64 // by target; nil: no GPU
	noTool bool                 // there is no ptxas
	runs   []string
	stopAt int // cancel after so many runs
	cancel context.CancelFunc
}

var fakeShapes = map[string]probes.Shape{
	"small": probes.Listed(1, 1, 32, 64), "single32": probes.Listed(1, 1, 32, 64),
	"mission": probes.Listed(1, 8, 512, 64), "long": probes.Listed(1, 8, 2048, 64),
	"": probes.Listed(1, 4, 128, 64),
}

func (f *fake) Shapes(context.Context, string) ([]string, error) {
	// wide is refused: its fault does nothing there
	return []string{"small", "mission", "long", "wide", "single32"}, nil
}

func (f *fake) Describe(_ context.Context, req debugkern.Request) (*debugkern.Subject, error) {
	shape, ok := fakeShapes[req.Shape]
	if !ok {
		return nil, report.Usagef("unknown shape %q", req.Shape)
	}
	return &debugkern.Subject{
		Kernel: "k", Variant: req.Target, Shape: shape, Faults: []string{},
		Referenced: req.Target != "unreferenced",
		Limits:     probes.Limits{Registers: 128, SharedBytes: 49152, MinSpeedup: 1.1, MaxAbs: 0.06},
	}, nil
}

func (f *fake) Environment(context.Context, debugkern.Request) (*report.Environment, error) {
	return &report.Environment{Backend: "emu", Device: "fake", Arch: "sm_90"}, nil
}

func (f *fake) BuildInfo(_ context.Context, req debugkern.Request) (*report.Build, error) {
	if req.Target == "broken" {
		return nil, &report.Error{Code: report.CodeFailed, Err: errors.New("k.cu:3: error")}
	}
	return &report.Build{
		Entry: "k", Builder: "embedded", PTXSHA256: digest(req.Target), Options: []string{},
		Defines: []string{},
	}, nil
}

func (f *fake) Resources(
	_ context.Context, _ debugkern.Request, arch string,
) (*report.Resources, string, error) {
	if f.noTool {
		return nil, "no ptxas found", nil
	}
	return &report.Resources{Registers: 95, SharedBytes: 37120, Arch: arch}, "", nil
}

func (f *fake) Run(
	_ context.Context, req debugkern.Request, _ func(debugkern.Progress),
) (*debugkern.Run, error) {
	if f.stopAt > 0 && len(f.runs) == f.stopAt {
		f.cancel()
		return nil, context.Canceled
	}
	f.runs = append(f.runs, req.Target+" "+req.Shape)
	rep := agreed()
	if f.report != nil {
		var err error
		if rep, err = f.report(req); err != nil {
			return nil, err
		}
	}
	rep.Shape = fakeShapes[req.Shape]
	return &debugkern.Run{Request: req, Report: rep, Plain: &report.Plain{OutputSHA256: digest(req.Shape)}},
		nil
}

func (f *fake) Time(
	_ context.Context, reqs []debugkern.Request, _ debugkern.TimeOptions,
) (*debugkern.Timing, string, error) {
	if f.micros == nil {
		return nil, "no GPU: none here", nil
	}
	t := &debugkern.Timing{Environment: report.Environment{Device: "fake GPU"}}
	for _, r := range reqs {
		t.Micros = append(t.Micros, f.micros[r.Target])
	}
	return t, "", nil
}

func (f *fake) Count(context.Context, debugkern.Request) (*report.Counts, error) {
	return &report.Counts{WarpInstructions: 7, SharedAccesses: 3, Barriers: 2}, nil
}

func agreed() *report.Run {
	return &report.Run{
		Verdict: report.Agree, Gate: "none", Output: &report.Output{MaxAbs: 0.01, Verdict: report.OK},
	}
}

func options(targets ...string) Options {
	return Options{Targets: targets, Warmups: 1, Launches: 20}
}

func TestJudgeCell(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*report.Run)
		want   string
		reason string
		plain  string
	}{
		{"agree", func(*report.Run) {}, Green, "", "equal"},
		{"output over its limits", func(r *report.Run) {
			r.Verdict, r.Output.Verdict, r.Output.MaxAbs = report.Diverge, report.Fail, 4.28
		}, Red, "output: max_abs 4.28", "equal"},
		{"a stage over its bound, output within the gate", func(r *report.Run) {
			r.Verdict, r.Guilty = report.Diverge, []report.Guilty{{Stage: "P"}}
		}, Red, "wrong: P", "equal"},
		{"an error finding alone", func(r *report.Run) {
			r.Findings = []report.Finding{{Kind: "race", Severity: "error", Message: "sS"}}
		}, Red, "race: sS", "equal"},
		{"advice alone", func(r *report.Run) {
			r.Findings = []report.Finding{{Kind: "bank-conflict", Severity: "advice"}}
		}, Green, "", "equal"},
		{"probes change the result", func(r *report.Run) {
			r.Findings = []report.Finding{
				{Kind: "probe-changed-result", Severity: "error", Message: "3 elements"},
			}
		}, Red, "probe-changed-result", "differs"},
		{"under a gate", func(r *report.Run) { r.Gate, r.Output = "qk", nil }, Green, "", ""},
		{"not reached", func(r *report.Run) { r.Verdict = report.Diverge }, Red, "diverge", "equal"},
	} {
		rep := agreed()
		c.change(rep)
		got := judgeCell(&debugkern.Run{Report: rep, Plain: &report.Plain{}})
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) || got.Plain != c.plain ||
			(got.Reason == "") != (c.want == Green) {
			t.Errorf("%s: %s %q plain %q, want %s %q plain %q", c.name, got.Verdict, got.Reason, got.Plain,
				c.want, c.reason, c.plain)
		}
	}
}

// TestWithoutReference: a kernel without a reference is judged by the findings of every checker, and says so;
// others are run as before.
func TestWithoutReference(t *testing.T) {
	for target, want := range map[string]struct {
		reference string
		checked   bool
	}{"unreferenced": {report.NoReference, true}, "new": {report.Graph, false}} {
		f := &fake{report: func(req debugkern.Request) (*report.Run, error) {
			if (req.Check == debugkern.EveryChecker) != want.checked {
				t.Errorf("%s is run with checkers %b", target, req.Check)
			}
			return agreed(), nil
		}}
		o := options(target)
		o.Out = t.TempDir()
		doc, err := Run(t.Context(), f, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &doc.Targets[0].Correctness
		if c.Reference != want.reference || c.ByFindings() != (target == "unreferenced") ||
			c.Verdict != Green {
			t.Errorf("%s: %+v", target, c)
		}
		text, err := os.ReadFile(filepath.Join(o.Out, CompareFile))
		if err != nil || strings.Contains(string(text), "has no reference") != c.ByFindings() {
			t.Errorf("%s: %v\n%s", target, err, text)
		}
	}
}

func TestJudgeResources(t *testing.T) {
	l := probes.Limits{Registers: 128, SharedBytes: 49152}
	for _, c := range []struct {
		r      report.Resources
		reason string
	}{
		{report.Resources{Registers: 128, SharedBytes: 49152}, ""},
		{report.Resources{Registers: 129}, "129 registers, limit 128"},
		{report.Resources{SharedBytes: 49153}, "49153 shared bytes, limit 49152"},
		{report.Resources{SpillStoreBytes: 4, SpillLoadBytes: 8}, "12 spilled bytes, limit 0"},
	} {
		verdict, reason := judgeResources(&c.r, l)
		if reason != c.reason || (verdict == Green) != (c.reason == "") {
			t.Errorf("%+v: %s %q, want %q", c.r, verdict, reason, c.reason)
		}
	}
}

func TestCombine(t *testing.T) {
	for want, parts := range map[string][][]string{
		Red: {{Green, Red, NotRun}, {Red}}, Green: {{Green, NotRun}, {Green}}, NotRun: {{}, {NotRun, NotRun}},
	} {
		for _, p := range parts {
			if got := combine(p...); got != want {
				t.Errorf("%v: %s, want %s", p, got, want)
			}
		}
	}
}

// near20 is 20 launches around a median.
func near20(median float64) []float64 {
	var out []float64
	for i := range 20 {
		out = append(out, median+float64(i-10)/10)
	}
	return out
}

func TestPerformance(t *testing.T) {
	for _, c := range []struct {
		name    string
		micros  map[string][]float64
		against string
		verdict string
		reason  string
	}{
		{"faster", map[string][]float64{"new": near20(100), "old": near20(150)}, "old", Green, ""},
		{"too little", map[string][]float64{"new": near20(100), "old": near20(105)}, "old", Red,
			"more than 1.10"},
		{"noise", map[string][]float64{"new": {10, 400}, "old": {300, 200}}, "old", Red, "not significant"},
		{"slower", map[string][]float64{"new": near20(150), "old": near20(100)}, "old", Red, "0.66"},
		{"nothing to compare with", map[string][]float64{"new": near20(100)}, "", NotRun, "--against"},
		{"itself", map[string][]float64{"new": near20(100)}, "new", NotRun, "what is compared with"},
		{"no GPU", nil, "old", NotRun, "no GPU"},
		{"baseline does not build", nil, "broken", NotRun, "no GPU"},
	} {
		o := options("new")
		o.Against, o.Shapes = c.against, []string{"small"}
		doc, err := Run(context.Background(), &fake{micros: c.micros}, o, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		p := doc.Targets[0].Performance
		if p.Verdict != c.verdict || !strings.Contains(p.Reason, c.reason) || p.Shape != "mission" {
			t.Errorf("%s: %s %q on %s, want %s %q", c.name, p.Verdict, p.Reason, p.Shape, c.verdict, c.reason)
		}
		if (p.Counts != nil) != (c.micros == nil) || (p.Times != nil) != (c.micros != nil) {
			t.Errorf("%s: counts stand where nothing was timed, times where something was: %+v", c.name, p)
		}
		if doc.Targets[0].Mergeable != (c.verdict == Green) || (doc.Verdict == Red) != (c.verdict == Red) {
			t.Errorf("%s: mergeable %v, verdict %s", c.name, doc.Targets[0].Mergeable, doc.Verdict)
		}
	}
}

// TestNotRunChangesNothing leaves ptxas and the GPU away: the verdict is correctness alone.
func TestNotRunChangesNothing(t *testing.T) {
	o := options("a")
	doc, err := Run(context.Background(), &fake{noTool: true}, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := doc.Targets[0]
	if a.Verdict != Green || a.PTXAS.Verdict != NotRun ||
		!strings.Contains(a.PTXAS.Reason, "sm_80 sm_86 sm_89 sm_90: no ptxas found") ||
		a.Performance.Verdict != NotRun || a.Mergeable {
		t.Errorf("%+v", a)
	}
}

// TestBrokenKernels are red, each where it broke, and stop nobody else.
func TestBrokenKernels(t *testing.T) {
	f := &fake{report: func(req debugkern.Request) (*report.Run, error) {
		if req.Target == "faults" && req.Seed == 1 {
			return nil, &report.Error{Code: report.CodeFailed, Err: errors.New("run: illegal address")}
		}
		return agreed(), nil
	}}
	o := options("broken", "faults", "good")
	o.Shapes = []string{"small"}
	doc, err := Run(context.Background(), f, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, fl, g := doc.Targets[0], doc.Targets[1], doc.Targets[2]
	if b.Verdict != Red || b.PTXAS.Verdict != Red || b.Build != nil ||
		!strings.Contains(b.Correctness.Reason, "k.cu:3") {
		t.Errorf("broken: %+v", b)
	}
	if fl.Correctness.Verdict != Red || fl.Correctness.Passed != 2 || fl.Correctness.Total != 3 ||
		fl.Correctness.Cells[1].Reason != "run: illegal address" {
		t.Errorf("faults: %+v", fl.Correctness)
	}
	if g.Verdict != Green || doc.Verdict != Red {
		t.Errorf("good is %s, the sweep %s", g.Verdict, doc.Verdict)
	}
}

// TestShapes runs the manifest's shapes but long, and one of two names and the same numbers once.
func TestShapes(t *testing.T) {
	f := &fake{}
	doc, err := Run(context.Background(), f, options("a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, c := range doc.Targets[0].Correctness.Cells {
		cells = append(cells, c.Shape)
	}
	if want := []string{
		"small", "small", "small", "mission", "mission", "mission", "single32", "single32", "single32",
	}; !slices.Equal(cells, want) {
		t.Errorf("cells %v, want %v", cells, want)
	}
	if len(f.runs) != 6 || doc.Resumed != 0 {
		t.Errorf("%d runs %v, resumed %d: single32 is small", len(f.runs), f.runs, doc.Resumed)
	}
}

// TestResume cancels a sweep in the middle: the same call goes on from there, another one does
// not take its results.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	o := options("a", "b")
	o.Shapes, o.Out = []string{"small", "mission"}, dir
	ctx, cancel := context.WithCancel(context.Background())
	first := &fake{stopAt: 4, cancel: cancel}
	if _, err := Run(ctx, first, o, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the cancellation", err)
	}
	if _, err := os.Stat(filepath.Join(dir, CompareFile)); err == nil {
		t.Error("a sweep cut short has no artefacts")
	}
	other := o
	other.Request.Schedule = "reverse:1"
	if s := finished(t, other, dir); s != 12 {
		t.Errorf("another schedule ran %d of 12: it took over what was measured under the first", s)
	}
	// The other sweep has finished and taken the store away: cut the first one short again.
	ctx, cancel = context.WithCancel(context.Background())
	if _, err := Run(ctx, &fake{stopAt: 4, cancel: cancel}, o, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	second := &fake{}
	doc, err := Run(context.Background(), second, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(second.runs) != 8 || doc.Resumed != 4 || doc.Targets[0].Correctness.Total != 6 ||
		doc.Targets[1].Correctness.Passed != 6 {
		t.Errorf("%d runs, %d resumed", len(second.runs), doc.Resumed)
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a finished sweep leaves no store: %v", err)
	}
}

// TestForgedMeasurements puts other things in the place of what a killed sweep has left: each is measured
// again and listed, and none makes a red sweep green.
func TestForgedMeasurements(t *testing.T) {
	whole := func(b []byte) entry {
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	write := func(e entry) []byte {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	green, err := json.Marshal(CellDoc{Verdict: Green})
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func([]byte) []byte{
		"an empty object": func([]byte) []byte { return []byte("{}") },
		"an empty file":   func([]byte) []byte { return nil },
		"cut short":       func(b []byte) []byte { return b[:len(b)/2] },
		"the value alone": func(b []byte) []byte { return whole(b).Value },
		"an edited value": func(b []byte) []byte { e := whole(b); e.Value = green; return write(e) },
		"another's key": func(b []byte) []byte {
			e := whole(b)
			e.Key = digest("x")
			e.Sum = e.sum()
			return write(e)
		},
		"another schema": func(b []byte) []byte {
			e := whole(b)
			e.Schema = "x/1"
			e.Sum = e.sum()
			return write(e)
		},
		"more after it": func(b []byte) []byte { return append(b, "{}"...) },
		"an empty value": func(b []byte) []byte {
			e := whole(b)
			e.Value = []byte("{\"x\":1}")
			e.Sum = e.sum()
			return write(e)
		},
	} {
		o := options("a")
		o.Shapes, o.Out = []string{"small", "mission"}, t.TempDir()
		red := func(debugkern.Request) (*report.Run, error) {
			rep := agreed()
			rep.Verdict = report.Diverge
			return rep, nil
		}
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := Run(ctx, &fake{report: red, stopAt: 4, cancel: cancel}, o, nil); !errors.Is(err,
			context.Canceled) {
			t.Fatalf("error %v, want the cancellation", err)
		}
		left, err := filepath.Glob(filepath.Join(o.Out, unfinished, "*.json"))
		if err != nil || len(left) != 4 {
			t.Fatalf("%d measurements left, %v", len(left), err)
		}
		for _, path := range left {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, forge(b), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		again := &fake{report: red}
		doc, err := Run(context.Background(), again, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Targets[0].Correctness.Verdict != Red || len(again.runs) != 6 || doc.Resumed != 0 ||
			len(doc.Rejected) != 4 {
			t.Errorf("%s: %s, %d runs, %d taken over, rejected %q", name, doc.Targets[0].Correctness.Verdict,
				len(again.runs), doc.Resumed, doc.Rejected)
		}
	}
}

// TestOneSweepADirectory: a second sweep in a directory where one is at work is refused, and works
// once that has ended.
func TestOneSweepADirectory(t *testing.T) {
	o := options("a")
	o.Out = t.TempDir()
	var second error
	tries := 0
	o.Judged = func(TargetDoc) {
		other := options("b")
		other.Out = o.Out
		_, second = Run(context.Background(), &fake{}, other, nil)
		tries++
	}
	if _, err := Run(context.Background(), &fake{}, o, nil); err != nil {
		t.Fatal(err)
	}
	var coded *report.Error
	if tries != 1 || !errors.Is(second, file.ErrLocked) || !errors.As(second, &coded) ||
		coded.Code != report.CodeUsage {
		t.Errorf("a second sweep beside the first: %v", second)
	}
	if n := finished(t, options("b"), o.Out); n == 0 {
		t.Error("nothing ran after the first sweep had ended")
	}
}

// TestGreenNeedsRuns: a correctness gate is green only where everything planned was run and
// passed, and something was.
func TestGreenNeedsRuns(t *testing.T) {
	for _, c := range []struct {
		cells   []string
		planned int
		want    string
	}{
		{nil, 0, NotRun}, {nil, 2, Red}, {[]string{Green}, 2, Red}, {[]string{Green, ""}, 2, Red},
		{[]string{Green, Red}, 2, Red},
		{[]string{Green, Green}, 2, Green},
	} {
		var d CorrectnessDoc
		for _, v := range c.cells {
			d.Cells = append(d.Cells, CellDoc{Verdict: v})
		}
		if d.settle(c.planned); d.Verdict != c.want {
			t.Errorf("%q of %d planned: %s, want %s", c.cells, c.planned, d.Verdict, c.want)
		}
	}
}

func finished(t *testing.T, o Options, dir string) int {
	t.Helper()
	f := &fake{}
	if _, err := Run(context.Background(), f, o, nil); err != nil {
		t.Fatal(err)
	}
	return len(f.runs)
}

// TestArtefacts holds the four files to their schemas: nothing in them that the types do not have,
// nothing of the types missing.
func TestArtefacts(t *testing.T) {
	dir := t.TempDir()
	o := options("new", "broken")
	o.Against, o.Out, o.Tool = "old", dir, ThisTool("test")
	if o.Tool.Executable == "" || o.Tool.Go == "" {
		t.Errorf("tool %+v", o.Tool)
	}
	if _, err := Run(context.Background(),
		&fake{micros: map[string][]float64{"new": near20(100), "old": near20(150)}}, o, nil); err != nil {
		t.Fatal(err)
	}
	strict(t, filepath.Join(dir, BuildFile), BuildSchema, &BuildMeta{})
	strict(t, filepath.Join(dir, CorrectnessFile), CorrectnessSchema, &CorrectnessSummary{})
	perf := &PerfBaseline{}
	strict(t, filepath.Join(dir, PerfFile), PerfSchema, perf)
	if p := perf.Targets[0].Performance; p.Times.Launches != 20 || len(p.Baseline.Samples) != 20 ||
		p.Test.Effect != 1 || p.Verdict != Green {
		t.Errorf("%+v", p)
	}
	md, err := os.ReadFile(filepath.Join(dir, CompareFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Gates: red", "| new | green | green | green 9/9 | green |", "| broken | not green | red |",
		"| (old) | mission | 149.95 |", "fake",
	} {
		if !strings.Contains(string(md), want) {
			t.Errorf("COMPARE.md has no %q:\n%s", want, md)
		}
	}
}

func strict(t *testing.T, path, schema string, doc any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var have map[string]any
	if err := json.Unmarshal(b, &have); err != nil {
		t.Fatal(err)
	}
	if have["schema"] != schema {
		t.Errorf("%s: schema %v, want %s", path, have["schema"], schema)
	}
	ty := reflect.TypeOf(doc).Elem()
	for i := range ty.NumField() {
		name, _, _ := strings.Cut(ty.Field(i).Tag.Get("json"), ",")
		if v, ok := have[name]; !ok || v == nil {
			t.Errorf("%s: no %s", path, name)
		}
	}
}

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"no target":   func(o *Options) { o.Targets = nil },
		"shape":       func(o *Options) { o.Shapes = []string{"nix"} },
		"timed shape": func(o *Options) { o.Shape = "nix" }, "launches": func(o *Options) { o.Launches = 1 },
		"out": func(o *Options) { o.Out = filepath.Join(file, "x") },
	} {
		f, o := &fake{}, options("a")
		change(&o)
		_, err := Run(context.Background(), f, o, nil)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage || len(f.runs) > 0 {
			t.Errorf("%s: %v after %d runs, want a refusal", name, err, len(f.runs))
		}
	}
}

// TestHeadline: green alone says that every gate of every target ran; else what did not run is named.
func TestHeadline(t *testing.T) {
	target := func(name, ptxas, correct, speed string) TargetDoc {
		d := TargetDoc{Target: name}
		d.PTXAS.Verdict, d.Correctness.Verdict, d.Performance.Verdict = ptxas, correct, speed
		d.settle()
		return d
	}
	for _, c := range []struct {
		targets []TargetDoc
		want    string
	}{
		{[]TargetDoc{target("a", Green, Green, Green)}, "green"},
		{[]TargetDoc{target("a", Green, Green, NotRun)}, "what ran is green; not run: performance"},
		{[]TargetDoc{target("a", NotRun, Green, NotRun), target("b", NotRun, Green, Green)},
			"what ran is green; not run: PTXAS, performance of a"},
		{[]TargetDoc{target("a", Green, Green, Green), target("b", NotRun, NotRun, NotRun)},
			"what ran is green; not run: PTXAS of b, correctness of b, performance of b"},
		{[]TargetDoc{target("a", Green, Red, NotRun)}, "red"},
		{[]TargetDoc{target("a", NotRun, NotRun, NotRun)}, "not run"},
	} {
		d := &Doc{Targets: c.targets, Verdict: overall(c.targets)}
		if got := d.Headline(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
