package debugkern

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// walkFaults are the builds of testdata/walk/walk.cu, by FAULT.
var walkFaults = []string{
	"clean", "warp_exit", "warp_short", "short", "block_short", "long", "skip", "scale", "lines",
}

const walkDir = "testdata/walk"

// TestWalkPTXIsCurrent holds the committed builds to their source; with TILESCOPE_WRITE_PTX
// set it writes them.
func TestWalkPTXIsCurrent(t *testing.T) {
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: "../.toolchain"})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	defer tc.Close()
	src, err := os.ReadFile(filepath.Join(walkDir, "walk.cu"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range walkFaults {
		p, err := tc.Compile(context.Background(), cuda.Build{
			Name: "walk.cu", Source: string(src),
			Headers: map[string]string{probes.HeaderName: probes.Header},
			Defines: []string{"TS_PROBES=1", fmt.Sprintf("FAULT=%d", i)}, Arch: "sm_80",
		})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(walkDir, name+".ptx")
		if os.Getenv("TILESCOPE_WRITE_PTX") != "" {
			if err := os.WriteFile(path, []byte(p.Text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != p.Text {
			t.Errorf("%s is not what %s gives now (%v)", path, p.Compiler, err)
		}
	}
}

// runWalk runs one of the builds; edit changes the manifest.
func runWalk(t *testing.T, fault string, req Request, edit func(string) string) (*Run, error) {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"walk.yaml": "walk.yaml", fault + ".ptx": "walk.ptx"} {
		text, err := os.ReadFile(filepath.Join(walkDir, from))
		if err != nil {
			t.Fatal(err)
		}
		if edit != nil && to == "walk.yaml" {
			text = []byte(edit(string(text)))
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	req.Target, req.Backend = filepath.Join(dir, "walk.yaml"), "emu"
	return s.Run(context.Background(), req, nil)
}

// lineWith is the number of the only line of walk.cu with that text.
func lineWith(t *testing.T, text string) int {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(walkDir, "walk.cu"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(src), "\n") {
		if strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("walk.cu has no line with %q", text)
	return 0
}

func mustWalk(t *testing.T, fault string) *Run {
	t.Helper()
	run, err := runWalk(t, fault, Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestNotCaptured: cells that a warp did not store are no zeros. They are named with their cause, and
// nothing is judged by them.
func TestNotCaptured(t *testing.T) {
	for _, c := range []struct {
		fault, kind, message string
		line                 int
		warps                []int
		stages               map[string]int // cells not captured
	}{
		{
			"warp_exit", "not-captured",
			"not captured: warp 3 exited at line %d (1536 cells of S, P, U, in 8 of 8 blocks)",
			lineWith(t, "kv == tiles - 1) return"), []int{3}, map[string]int{"S": 512, "P": 512, "U": 512},
		},
		{
			"skip", "not-captured",
			"not captured: warp 2 did not reach the probe at line %d (2048 cells of S, in 8 of 8 blocks)",
			lineWith(t, "TS_OWN(TS_S"), []int{2}, map[string]int{"S": 2048},
		},
		{
			"warp_short", "loop-ended",
			"warp 3 left the kv loop after 3 of 4 tiles (1536 cells of S, P, U, in 8 of 8 blocks not captured)",
			lineWith(t, "for (int kv"), []int{3}, map[string]int{"S": 512, "P": 512, "U": 512},
		},
	} {
		run := mustWalk(t, c.fault)
		rep := run.Report
		if rep.Verdict != report.Diverge || rep.ExitCode() != 1 || len(rep.Findings) == 0 {
			t.Fatalf("%s: %s, exit %d, %d findings", c.fault, rep.Verdict, rep.ExitCode(), len(rep.Findings))
		}
		f := &rep.Findings[0]
		want := strings.ReplaceAll(c.message, "%d", fmt.Sprint(c.line))
		if f.Kind != c.kind || f.Message != want || f.Source == nil || f.Source.Line != c.line ||
			!slices.Equal(f.Warps, c.warps) || f.Severity != "error" {
			t.Errorf("%s: %+v at %v; want %s", c.fault, f, f.Source, want)
		}
		for _, st := range rep.Stages {
			if st.NotCaptured != c.stages[st.Name] {
				t.Errorf("%s: %s has %d cells not captured, want %d", c.fault, st.Name, st.NotCaptured,
					c.stages[st.Name])
			}
			if st.Global.Cells+st.NotCaptured != mustCells(run, st.Name) {
				t.Errorf("%s: %s compares %d cells and misses %d", c.fault, st.Name, st.Global.Cells,
					st.NotCaptured)
			}
			// What the absent cells would have gone into is judged from the true inputs alone: nobody is
			// blamed for them.
			if st.Verdict == report.Wrong && c.fault != "warp_short" {
				t.Errorf("%s: stage %s is called wrong", c.fault, st.Name)
			}
		}
	}
}

// mustCells is how many cells of a stage should be compared in a whole run of walk.
func mustCells(run *Run, stage string) int {
	n, sp := 0, run.Plan.Stage(probes.Stage(stage))
	for _, b := range run.Blocks() {
		lo, tiles := run.Range.Tiles(run.Plan, sp, b)
		for kv := lo; kv < lo+tiles; kv++ {
			n += sp.ValidRows.At(b, kv) * sp.ValidCols.At(b, kv)
		}
	}
	return n
}

// TestAbsentCellsInViews: a cell that was not captured has no value on screen and is never bad; one that is
// computed from it is not judged locally.
func TestAbsentCellsInViews(t *testing.T) {
	run := mustWalk(t, "warp_exit")
	s, err := run.View(Place{Stage: "S", KVTile: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{0, 11, 12, 15} {
		if got := s.Got.Captured(row, 3); got != (row < 12) || s.Bad(row, 3, true) ||
			s.Got.Bits(row, 3) == 0 == got {
			t.Errorf("S row %d: captured %v, bad %v, bits %#x", row, got, s.Bad(row, 3, true),
				s.Got.Bits(row, 3))
		}
	}
	m, err := run.View(Place{Stage: "m", KVTile: 3})
	if err != nil {
		t.Fatal(err)
	}
	if m.Judged(13, 0, true) || !m.Judged(13, 0, false) || !m.Judged(5, 0, true) {
		t.Error("m of a row whose S is not captured is judged by that S")
	}
	if v := run.Tile(Place{Stage: "S", KVTile: 3}); v.Absent != 64 || v.Bad != 0 {
		t.Errorf("%+v", v)
	}
	for range 2 { // nothing is found by searching for bad cells in S
		if c, ok := run.NextBad(Cell{Place: Place{Stage: "S"}}, 1); ok {
			t.Errorf("bad cell %+v", c)
		}
	}
}

// TestCapturedInDump: a dump says of each cell whether it was captured.
func TestCapturedInDump(t *testing.T) {
	run := mustWalk(t, "warp_exit")
	var buf bytes.Buffer
	if err := run.Dump(context.Background(), &buf); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("captured_S.npy")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	const cells = 8 * 4 * 16 * 16
	head, marks := string(data[:len(data)-cells]), data[len(data)-cells:]
	if !strings.Contains(head, "'|b1'") || !strings.Contains(head, "(8, 4, 16, 16)") {
		t.Errorf("header %q", head)
	}
	for i, m := range marks {
		kv, row := i/256%4, i/16%16
		if want := kv < 3 || row < 12; (m == 1) != want || m > 1 {
			t.Fatalf("cell %d (kv tile %d, row %d): %d", i, kv, row, m)
		}
	}
}

// TestLoopEnded: the tiles that were captured are compared with the plan's, and the loop is named,
// before anything else.
func TestLoopEnded(t *testing.T) {
	line := lineWith(t, "for (int kv")
	for _, c := range []struct {
		fault, message, severity, verdict string
		kv, count                         int
	}{
		{"short", "the kv loop ended after 3 of 4 tiles", "error", report.Diverge, 3, 8},
		{"block_short", "the kv loop ended after 3 of 4 tiles in 2 of 8 blocks, first block 1,0,0", "error",
			report.Diverge, 3, 2},
		{"long", "the kv loop went on after its 4 tiles, to at least 5", "advice", report.Agree, 4, 8},
	} {
		rep := mustWalk(t, c.fault).Report
		if len(rep.Findings) == 0 {
			t.Fatalf("%s: no finding, %s", c.fault, rep.Verdict)
		}
		f := &rep.Findings[0]
		if f.Kind != "loop-ended" || f.Message != c.message || f.Severity != c.severity || f.KVTile != c.kv ||
			f.Count != c.count || f.Source == nil || f.Source.Line != line {
			t.Errorf("%s: %+v at %v, want line %d", c.fault, f, f.Source, line)
		}
		if rep.Verdict != c.verdict {
			t.Errorf("%s: %s", c.fault, rep.Verdict)
		}
		for _, st := range rep.Stages {
			if st.Verdict == report.Wrong {
				t.Errorf("%s: stage %s is called wrong", c.fault, st.Name)
			}
		}
	}
	rep := mustWalk(t, "clean").Report
	if rep.Verdict != report.Agree || len(rep.Findings) != 0 {
		t.Errorf("clean: %s, %+v", rep.Verdict, rep.Findings)
	}
	// Tiles that were not asked for are not missed, and a block whose share of the tiles is smaller ends
	// where the manifest says.
	run, err := runWalk(t, "clean", Request{Tiles: Span{1, 2}, Blocks: Region{{1, 1}, {}, {0, 1}}}, nil)
	if err != nil || len(run.Report.Findings) != 0 || run.Report.Verdict != report.Agree {
		t.Errorf("%v: %+v", err, run.Report)
	}
	run, err = runWalk(t, "block_short", Request{}, func(m string) string {
		return strings.Replace(m, "tiles: ceil_div(S, T)}",
			"tiles: \"ceil_div(S, T) - (bx == 1 ? 1 : 0)\"}", 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range run.Report.Findings {
		t.Errorf("a block that has a tile less by its manifest: %+v", f)
	}
	// Loops that end after different numbers of tiles are one finding, which counts all their blocks.
	run, err = runWalk(t, "short", Request{}, func(m string) string {
		return strings.Replace(m, "tiles: ceil_div(S, T)}",
			"tiles: \"ceil_div(S, T) + (bx == 1 ? 1 : 0)\"}", 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := run.Report.Findings; len(f) != 1 || f[0].Count != 8 ||
		f[0].Message != "the kv loop ended after 3 of 4 and 3 of 5 tiles" {
		t.Errorf("%+v", f)
	}
}

// TestNotCapturedAfterTheLoop: cells of a stage after the loop over tiles that no thread captures are no
// matter of that loop, though the probe stands in one; and a loop is called what the manifest calls it.
func TestNotCapturedAfterTheLoop(t *testing.T) {
	run := ran(t, Request{Target: "gemm_wmma", Shape: "ragged", Faults: []string{"n-edge"}})
	i := slices.IndexFunc(run.Report.Findings, func(f report.Finding) bool {
		return f.Kind == "not-captured"
	})
	if i < 0 || !strings.Contains(run.Report.Findings[i].Message, "cells of pre") ||
		run.Report.Findings[i].Source == nil {
		t.Fatalf("findings %+v", run.Report.Findings)
	}
	for _, f := range run.Report.Findings {
		if f.Kind == "loop-ended" {
			t.Errorf("%s", f.Message)
		}
	}
	run = ran(t, Request{Target: "gemm_wmma", Shape: "ragged", Faults: []string{"k-tail"}})
	if f := run.Report.Findings; len(f) != 1 || f[0].Kind != "loop-ended" ||
		f[0].Message != "the k loop ended after 3 of 4 tiles" {
		t.Errorf("findings %+v", f)
	}
}

// sharedS is the manifest of walk with S taken out of shared memory at a line instead of by a probe.
func sharedS(t *testing.T, line int, more string) func(string) string {
	return func(m string) string {
		at := fmt.Sprintf("{shared: sS, at: {line: %d%s}, tile_at: {line: %d}}", line, more,
			lineWith(t, "const int key = kv * T + row"))
		return strings.Replace(m, "array: sS, capture: probe", "array: sS, capture: "+at, 1)
	}
}

// TestLinePassedTwice: a line that is passed more than once in a kv tile is refused with the count, before
// any verdict, unless the manifest says which pass is meant.
func TestLinePassedTwice(t *testing.T) {
	line := lineWith(t, "// passed twice")
	for more, want := range map[string]string{
		"":             "is passed 2 times in tile 0 of block 0,0,0: say which with pass: first, last or 1 to 2",
		", pass: 3":    "is captured at pass 3 of line ",
		", pass: 2":    "",
		", pass: last": "",
	} {
		run, err := runWalk(t, "lines", Request{}, sharedS(t, line, more))
		if want == "" {
			if err != nil || run.Report.Verdict != report.Agree || run.Report.ExitCode() != 0 {
				t.Errorf("%q: %v %+v", more, err, run)
			}
			continue
		}
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeFailed ||
			!strings.Contains(err.Error(), want) || coded.Report == nil ||
			coded.Report.Verdict != report.Failed {
			t.Errorf("%q: %v", more, err)
			continue
		}
		if src := coded.Report.Error.Source; src == nil || src.Line != line {
			t.Errorf("%q: at %+v", more, src)
		}
	}
	// The first pass is one that was requested: half of the tile is not there yet.
	run, err := runWalk(t, "lines", Request{}, sharedS(t, line, ", pass: first"))
	if err != nil || run.Report.Stage("S").Verdict != report.Wrong ||
		run.Report.Stage("S").Probe != fmt.Sprintf("sS at line %d, pass 1", line) {
		t.Errorf("%v: %+v", err, run.Report.Stage("S"))
	}
}

// TestBarrierLineIsItsCompletion: a tile that is taken, and replaced, at a barrier's line is so before any
// warp has gone on: with the reference in the place of a wrong S, whatever is computed from it is right.
func TestBarrierLineIsItsCompletion(t *testing.T) {
	for _, more := range []string{"", ", pass: last"} {
		for _, schedule := range []string{"in-order", "reverse", "random:7", "ahead:1", "priority:3"} {
			run, err := runWalk(t, "scale", Request{Schedule: schedule},
				sharedS(t, lineWith(t, "// S is there"), more))
			if err != nil {
				t.Fatal(err)
			}
			if v := run.Report.Stage("S").Verdict; v != report.Wrong ||
				run.Report.Stage("O").Verdict != report.Tainted {
				t.Fatalf("%s: S %s, O %s", schedule, v, run.Report.Stage("O").Verdict)
			}
			cured, err := run.Try(t.Context(), Trial{Substitute: []probes.Stage{"S"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"m", "l", "P", "U", "O"} {
				if st := cured.Report.Stage(name); st.Verdict != report.OK {
					t.Errorf("%s%s: with S replaced, %s is %s", schedule, more, name, st.Verdict)
				}
			}
		}
	}
}

// TestReplacedAtTheLastPass: a tile whose line is passed several times is replaced at the pass that was
// asked for, not before.
func TestReplacedAtTheLastPass(t *testing.T) {
	run, err := runWalk(t, "scale", Request{}, sharedS(t, lineWith(t, "// passed twice"), ", pass: last"))
	if err != nil {
		t.Fatal(err)
	}
	cured, err := run.Try(t.Context(), Trial{Substitute: []probes.Stage{"S"}})
	if err != nil {
		t.Fatal(err)
	}
	if st := cured.Report.Stage("O"); st.Verdict != report.OK {
		t.Errorf("with S replaced, O is %s", st.Verdict)
	}
	if st := cured.Report.Stage("S"); st.Verdict != report.Wrong ||
		st.Local.Bad != run.Report.Stage("S").Local.Bad {
		t.Errorf("what was captured is not what the kernel left: %s, %d bad", st.Verdict, st.Local.Bad)
	}
}

// TestInjectedViews: what a gate injects can be looked at as a tile of its own, the reference's values in the
// stage's bits, and is neither compared nor judged; what the gate leaves out is not reached.
func TestInjectedViews(t *testing.T) {
	run, err := openSession(
		t,
	).Run(
		context.Background(),
		Request{Target: "stage2", Shape: "small", Gate: "pv"},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := openSession(t).Run(context.Background(), Request{Target: "stage2", Shape: "small"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := Place{Stage: "P", Block: run.Blocks()[0]}
	v, err := run.View(at)
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.View(at)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Injected || v.Referenced() || !v.Got.Reached() || v.Verdict.Bad != 0 {
		t.Fatalf(
			"injected %t, compared %t, reached %t, verdict %+v",
			v.Injected,
			v.Referenced(),
			v.Got.Reached(),
			v.Verdict,
		)
	}
	for i, x := range want.Global {
		row, col := i/want.Plan.Cols, i%want.Plan.Cols
		if got := v.Got.Bits(row, col); want.Valid(row, col) && got != op.Round(v.Plan.DType, x) {
			t.Fatalf("P[%d][%d] was injected as %#x, the reference is %g", row, col, got, x)
		}
	}
	if s, err := run.View(Place{Stage: "S", Block: at.Block}); err != nil || s.Injected || s.Got.Reached() {
		t.Errorf("S, which the gate leaves out: %+v, %v", s, err)
	}
	if past, err := run.View(Place{Stage: "P", Block: at.Block, KVTile: 99}); err != nil ||
		past.Got.Reached() {
		t.Errorf("a kv tile that the block does not have: %v", err)
	}
}

// TestTileLineOutsideTheLoop: a line that is not passed once a tile begins none, and is refused with those
// that may be meant: it may be the line of an earlier text.
func TestTileLineOutsideTheLoop(t *testing.T) {
	begins, at := lineWith(t, "const int key = kv * T + row"), lineWith(t, "// S is there")
	for text, want := range map[string]string{
		"if (threadIdx.x < T) m_s[": "lies in no loop, and the kv loop has several tiles",
		"s = __fmul_rn(s, FAULT":    fmt.Sprintf("lies in a loop that does not pass at: {line: %d}", at),
	} {
		tile := lineWith(t, text)
		_, err := runWalk(t, "lines", Request{}, func(m string) string {
			capture := fmt.Sprintf("{shared: sS, at: {line: %d}, tile_at: {line: %d}}", at, tile)
			return strings.Replace(m, "array: sS, capture: probe", "array: sS, capture: "+capture, 1)
		})
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "name a line that the loop passes once a tile (") ||
			!strings.Contains(err.Error(), "the manifest's lines have moved") {
			t.Errorf("tile_at at line %d: %v", tile, err)
			continue
		}
		_, list, _ := strings.Cut(err.Error(), "once a tile (")
		list, _, _ = strings.Cut(list, ")")
		if !strings.Contains(", "+list+",", fmt.Sprintf(", %d,", begins)) &&
			!strings.Contains(", "+list, fmt.Sprintf(", %d–", begins)) {
			t.Errorf("line %d, which begins an iteration, is not one of %s", begins, list)
		}
	}
}
