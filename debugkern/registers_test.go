package debugkern

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

const registersDir = "testdata/registers"

// TestRegistersPTXIsCurrent compares the committed PTX with what its source gives; with
// TILESCOPE_WRITE_PTX set it writes it.
func TestRegistersPTXIsCurrent(t *testing.T) {
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: "../.toolchain"})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	defer tc.Close()
	src, err := os.ReadFile("cli/corpus/testdata/attention_mma.cu")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tc.Compile(context.Background(), cuda.Build{
		Name: "attention_mma.cu", Source: string(src), Arch: "sm_80",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(registersDir, "attention_mma.ptx")
	if os.Getenv("TILESCOPE_WRITE_PTX") != "" {
		if err := os.WriteFile(path, []byte(p.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != p.Text {
		t.Errorf("%s is not what %s gives now (%v)", path, p.Compiler, err)
	}
}

// runRegisters runs the kernel with every stage captured from registers; edits change the
// PTX and the manifest.
func runRegisters(t *testing.T, req Request, ptx, manifest func(string) string) (*Run, error) {
	t.Helper()
	dir := t.TempDir()
	for name, edit := range map[string]func(string) string{
		"attention_mma.ptx": ptx, "attention_mma.yaml": manifest,
	} {
		text, err := os.ReadFile(filepath.Join(registersDir, name))
		if err != nil {
			t.Fatal(err)
		}
		s := string(text)
		if edit != nil {
			if s = edit(s); s == string(text) {
				t.Fatalf("the edit changes nothing in %s", name)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if req.Target = filepath.Join(dir, "attention_mma.yaml"); req.Backend == "" {
		req.Backend = "emu"
	}
	return s.Run(context.Background(), req, nil)
}

func replaced(old, by string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, by, 1) }
}

// TestRegisters: scores, maxima, sums, probabilities and U are captured from registers of a kernel without
// probes, and judged.
func TestRegisters(t *testing.T) {
	run, err := runRegisters(t, Request{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.Report.Verdict != report.Agree || len(run.Report.Findings) > 0 {
		t.Fatalf("verdict %s, findings %+v", run.Report.Verdict, run.Report.Findings)
	}
	for name, tiles := range map[string]int{"S": 12, "m": 12, "l": 12, "P": 12, "U": 12, "O": 4} {
		if st := run.Report.Stage(name); st == nil || st.Verdict != "ok" || st.Tiles != tiles ||
			st.NotCaptured > 0 {
			t.Errorf("stage %s: %+v, want ok in %d tiles", name, st, tiles)
		}
	}
}

// TestRegistersFindTheStage: with one instruction wrong, the stage that it computes is wrong first, and the
// writer is that warp.
func TestRegistersFindTheStage(t *testing.T) {
	for _, c := range []struct{ name, old, by, stage string }{
		{"one accumulator of S doubles", "mul.rn.f32 	%f109, %f57, 0f3E800000;",
			"add.rn.f32 	%f57, %f57, %f57;\n	mul.rn.f32 	%f109, %f57, 0f3E800000;", "l"},
		{"l is not rescaled", "mul.rn.f32 	%f125, %f108, %f183;", "mov.f32 	%f125, %f183;", "l"},
		{"half of U is not rescaled", "mul.rn.f32 	%f181, %f141, %f181;", "", "U"},
		{"P is packed in the wrong order", "cvt.rn.f16x2.f32 %r81, %f74, %f73;",
			"cvt.rn.f16x2.f32 %r81, %f73, %f74;", "P"},
	} {
		run, err := runRegisters(t, Request{}, replaced(c.old, c.by), func(s string) string {
			return shifted(s, c.by)
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		g := run.Report.Guilty
		if len(g) == 0 || g[0].Stage != c.stage {
			t.Errorf("%s: guilty %+v, want %s", c.name, g, c.stage)
			continue
		}
		bad := run.Report.Stage(c.stage).FirstBad
		if bad == nil || bad.Warp == nil || *bad.Warp != 0 || bad.Lane == nil || bad.Source == nil {
			t.Errorf("%s: first bad cell %+v has no writer", c.name, bad)
		}
	}
}

// shifted corrects the manifest's PTX lines where the edit adds a line before them.
func shifted(s, by string) string {
	if strings.Contains(by, "\n") {
		return strings.NewReplacer("[330, 421]", "[330, 422]", "[380, 470]", "[381, 471]").Replace(s)
	}
	return s + "\n"
}

// TestRegistersDisagree: threads that hold different values of one cell are a finding, and parts of one
// are added where asked.
func TestRegistersDisagree(t *testing.T) {
	partial := replaced("{register: {ptx: [380, 470], row: \"div(lane, 4) + 8 * i\"}}",
		"{register: {ptx: [363, 454], row: \"div(lane, 4) + 8 * i\"}}")
	run, err := runRegisters(t, Request{}, nil, partial)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, f := range run.Report.Findings {
		kinds = append(kinds, f.Kind)
		if f.Kind == "layout" &&
			(f.Variable != "l" || !strings.Contains(f.Message, "warp 0 lane 0 has") ||
				f.Severity != "error") {
			t.Errorf("finding %+v", f)
		}
	}
	if !slices.Equal(kinds, []string{"layout"}) {
		t.Errorf("findings %v, want one", kinds)
	}
}

// TestRegistersAreAdded: where each lane keeps the sum of its own columns, the parts of a row are added.
func TestRegistersAreAdded(t *testing.T) {
	alone := strings.NewReplacer("add.rn.f32 	%f127, %f124, %f126;", "mov.f32 	%f127, %f124;",
		"add.rn.f32 	%f129, %f127, %f128;", "mov.f32 	%f129, %f127;",
		"add.rn.f32 	%f160, %f157, %f159;", "mov.f32 	%f160, %f157;",
		"add.rn.f32 	%f162, %f160, %f161;", "mov.f32 	%f162, %f160;")
	run, err := runRegisters(t, Request{}, alone.Replace,
		replaced("{register: {ptx: [380, 470], row: \"div(lane, 4) + 8 * i\"}}",
			"{register: {ptx: [380, 470], row: \"div(lane, 4) + 8 * i\"}, combine: sum}"))
	if err != nil {
		t.Fatal(err)
	}
	if st := run.Report.Stage("l"); st.Verdict != "ok" || len(run.Report.Findings) > 0 {
		t.Errorf("l %+v, findings %v", st, run.Report.Findings)
	}
	if st := run.Report.Stage("O"); st.Verdict != "wrong" { // it divides by a lane's part
		t.Errorf("O is %s, want wrong", st.Verdict)
	}
}

// TestRegistersRefused: captures that mean no register, or lie outside the tile, are refused before
// anything is executed.
func TestRegistersRefused(t *testing.T) {
	at := "{mma: [{line: 48, row: r, col: c}, {line: 49, row: r, col: 8 + c}]}"
	for _, c := range []struct{ capture, want string }{
		{"{mma: {ptx: 296}}", "stages[3].capture.mma: no instruction of attention_mma begins on line 296"},
		{
			"{mma: {ptx: 307}}",
			"stages[3].capture.mma: attention_mma.ptx:307 (max.f32) is no tensor-core product",
		},
		{"{mma: {line: 55}}", "no tensor-core product of attention_mma stems from line 55"},
		{"{mma: {line: 48, nth: 1}}", "nth 1: line 48 has 1 of that kind"},
		{"{mma: {line: 48, row: r + 8, col: c}}", "has row 16, column 0, and a tile of S is 16×16"},
		{
			"{mma: {line: 48, of: a, row: r, col: c}}",
			"its elements have 16 bits, the stage's dtype f32 has 32",
		},
		{"{register: {ptx: 330, name: \"%f7\", row: lane}}", "it has no register %f7"},
		{"{register: {ptx: 330, row: lane}}", "warp 0 lane 16 executes attention_mma.cu:18"},
		{"{register: {ptx: 330, operand: 5, row: 0}}", "it has 3 operands"},
		{"{register: {ptx: 320, operand: 0, element: 1, row: 0}}", "%p4 is a predicate"},
		{
			"{register: {line: 57, row: 0}}",
			"of that kind (instruction that writes a register): say which with nth",
		},
		{"{mma: {line: 48, ptx: 3}}", "expected ptx: LINES or line: L, one of them"},
		{"{mma: {ptx: [297, 304], row: r, col: [c]}}", "1 expressions for 2 instructions"},
		{"{mma: {ptx: 297, row: r}}", "row and col go together"},
		{"{mma: {ptx: 297, nth: 0}}", "goes with line only"},
		{"{mma: {ptx: 297}, shared: sS}", "does not go with mma or register"},
		{"{mma: {ptx: 297, row: bx, col: c}}", "bx may not stand here"},
		{"{mma: {ptx: 297}, tile_at: {line: 3, ptx: 4}}", "expected {line: L} or {ptx: L}, one of them"},
		{"{mma: {ptx: 297}, tile_at: {ptx: 3}}", "no instruction of attention_mma begins on line 3"},
		{"{register: {ptx: 330}}", "row: missing"},
		{"{mma: []}", "empty; name at least one instruction"},
		{
			"{mma: {ptx: 297}, tile_at: {line: 25}}",
			"is executed 3 times in an iteration: say which with pass",
		},
	} {
		_, err := runRegisters(t, Request{}, nil, replaced(at, c.capture))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.capture, err, c.want)
		}
	}
}

// TestRegistersBesideAGPU: a GPU gathers no registers, and reads no shared array. With --backend both the
// emulator's tiles are judged; without it the stages are off, and nothing is missing.
func TestRegistersBesideAGPU(t *testing.T) {
	run, err := runRegisters(t, Request{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := *run.state
	st.backend = stubGPU{}
	empty := *run.state.result
	empty.Capture = probes.Buffer(make([]byte, st.r.layout.CaptureBytes))
	st.result, st.traced = &empty, run.state
	at := Place{Stage: "P", KVTile: 1}
	if got, want := st.Tile(at.Stage, at.Block, at.KVTile),
		run.state.Tile(at.Stage, at.Block, at.KVTile); !got.Reached() || !slices.Equal(got.Data, want.Data) {
		t.Error("the emulator's tile does not stand for the GPU's")
	}
	if d := compareTiles(&st, run.state); d.Differing > 0 {
		t.Errorf("%d cells differ from themselves", d.Differing)
	}
	e := &execution{s: run.state.session, st: &st, r: run.state.r, backend: stubGPU{}}
	was, plan := *e.r, *e.r.plan
	plan.Stages = slices.Clone(plan.Stages)
	// as little as registers
	plan.Stage("S").Capture = probes.Capture{Kind: probes.CaptureShared, Shared: "sS"}
	was.plan = &plan
	e.r = &was
	if err := e.withoutObserved(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []probes.Stage{"S", "m", "l", "P", "U"} {
		if k := e.r.plan.Stage(name).Capture.Kind; k != probes.CaptureNone {
			t.Errorf("stage %s is captured on a GPU (%d)", name, k)
		}
	}
	if k := e.r.plan.Stage("O").Capture.Kind; k != probes.CaptureOutput {
		t.Errorf("O is no output any more (%d)", k)
	}
	if n := len(st.extra); n != 1 || st.extra[0].Severity != target.SeverityAdvice ||
		!strings.Contains(st.extra[0].Message, "S, m, l, P, U") {
		t.Errorf("findings %+v", st.extra)
	}
}

// stubGPU is a backend that is no simulator.
type stubGPU struct{ target.Backend }

func (stubGPU) Info() target.Info { return target.Info{Name: "cuda"} }
