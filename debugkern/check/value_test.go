package check_test

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// cheap is the checkers of values and memory that watch every block.
const cheap = check.Registers | check.Overlap | check.Banks | check.Sectors

// watched runs a kernel of the archive, and then again with checkers attached.
func watched(t *testing.T, req debugkern.Request, tr debugkern.Trial) *debugkern.Run {
	t.Helper()
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	req.Backend = "emu"
	run, err := s.Run(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Try(context.Background(), tr)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ofKind(r *debugkern.Run, k target.Kind) []report.Finding {
	var out []report.Finding
	for _, f := range r.Report.Findings {
		if f.Kind == string(k) {
			out = append(out, f)
		}
	}
	return out
}

// TestOverlapOfTable: the decode table shares bytes with sS. The table is named, what was written over
// it, and both lines.
func TestOverlapOfTable(t *testing.T) {
	r := watched(t, debugkern.Request{Target: "kvlut", Faults: []string{"kv-lut-overlap"}}, debugkern.Trial{
		Check: check.Overlap,
	})
	fs := ofKind(r, target.Overlap)
	if len(fs) != 1 {
		t.Fatalf("%d findings of overlap: %+v", len(fs), fs)
	}
	f := fs[0]
	if f.Variable != "kv_lut" || f.Neighbour != "sS" || f.Severity != "error" || f.KVTile != 1 ||
		f.Other == nil ||
		!strings.HasSuffix(f.Source.File, "simulated_fp8.cuh") ||
		!strings.HasSuffix(f.Other.File, "sdpa_fp8_stage_c_wmma.cu") {
		t.Errorf("%+v, read at %+v, overwritten at %+v", f, f.Source, f.Other)
	}
}

// TestSilence: nothing is wrong with the values and the memory of a clean kernel, under any gate.
func TestSilence(t *testing.T) {
	targets := []string{
		"scalar", "stage1", "stage2", "stage3a", "swizzle", "swizzle3a", "stage3b", "pipe3", "kvlut",
		"flashcore_vec", "flashcore_fused_wmma",
	}
	gates := []probes.Gate{probes.GateNone, "qk", "softmax", "pv"}
	shapes := []string{"partial49"}
	if os.Getenv("TILESCOPE_LONG") != "" {
		shapes = []string{"small", "partial", "partial49", "single16", "single32", "validation"}
	}
	s, err := debugkern.Open(context.Background(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		for _, gate := range gates {
			for _, shape := range shapes {
				run, err := s.Run(context.Background(), debugkern.Request{
					Target: target, Shape: shape, Gate: gate, Backend: "emu",
				}, nil)
				if err != nil {
					t.Fatal(target, gate, shape, err)
				}
				r, err := run.Try(context.Background(), debugkern.Trial{Check: cheap | check.Origins})
				if err != nil {
					t.Fatal(target, gate, shape, err)
				}
				for _, f := range r.Report.Findings {
					if f.Severity == "error" {
						t.Errorf("%s %s %s: %s %s: %s", target, gate, shape, f.Kind, f.Variable, f.Message)
					}
				}
			}
		}
	}
}

// TestOriginOfNaN: the line that makes the NaN, in the first kv tile, with operands, and what became of it.
func TestOriginOfNaN(t *testing.T) {
	for _, blocks := range [][]probes.Dim3{nil, {{2, 1, 0}}} {
		r := watched(t, debugkern.Request{Target: "stage2", Faults: []string{"nan-first-tile"}},
			debugkern.Trial{Check: check.Origins, Blocks: blocks})
		fs := ofKind(r, target.NaNOrigin)
		if len(fs) != 1 {
			t.Fatalf("%d origins: %+v", len(fs), fs)
		}
		f := fs[0]
		if f.Severity != "error" || f.KVTile != 0 ||
			f.Source.Function != "(anonymous namespace)::exp_below" || f.Other == nil ||
			!strings.Contains(f.Message, "-inf - -inf") || f.Variable != "sP" || len(f.Warps) != 1 ||
			f.Warps[0] != 0 || f.Index[0] != 0 {
			t.Errorf("%+v at %+v, called at %+v", f, f.Source, f.Other)
		}
		for _, hop := range []string{"ex2.approx", "sP[0][*]", "wmma.mma", "U_smem[0][*]", "→ O["} {
			if !strings.Contains(f.Consequence, hop) {
				t.Errorf("the path %q does not come through %s", f.Consequence, hop)
			}
		}
	}
}

// TestPrecisionOfScores: kept in half, scores cost the output more bits than kept in float, and nothing
// else costs it many.
func TestPrecisionOfScores(t *testing.T) {
	worst := func(target string) float64 {
		r := watched(t, debugkern.Request{Target: target}, debugkern.Trial{
			Check: check.Precision, Blocks: []probes.Dim3{{1, 1, 0}},
		})
		ls := r.Losses()
		if len(ls) == 0 || len(r.Report.Findings) > 0 {
			t.Fatalf("%s: %d losses, findings %+v", target, len(ls), r.Report.Findings)
		}
		for _, l := range ls {
			if l.Out > 3 || l.Source == nil || l.Operation == "" || l.Cause == "" {
				t.Errorf("%s: %+v", target, l)
			}
		}
		return ls[0].Out
	}
	half, single := worst("stage2"), worst("stage3b")
	if half <= single {
		t.Errorf("scores in half cost %.2f bits of O, in float %.2f", half, single)
	}
}

// TestFindingsRepeat: what is found does not depend on the number of cores.
func TestFindingsRepeat(t *testing.T) {
	a := prepare(t, "stage2", "partial49", []string{"nan-first-tile"}, probes.GateNone, false)
	var first []target.Finding
	for _, cores := range []int{1, 2, 7} {
		c := check.New(check.Options{Set: cheap | check.Origins})
		l := *a.launch
		l.Observe, l.Discard, l.Parallel = c.Observer, c.Discard, cores
		if _, err := a.kernel.Launch(context.Background(), &l); err != nil {
			t.Fatal(err)
		}
		fs := c.Findings()
		if first == nil {
			first = fs
		}
		if len(fs) == 0 || !reflect.DeepEqual(fs, first) {
			t.Errorf("on %d cores: %+v, on one: %+v", cores, fs, first)
		}
	}
}

// TestEveryInstruction runs the emulator's own kernels, which have all the instructions that it models,
// under every checker.
func TestEveryInstruction(t *testing.T) {
	files := kernelFiles(t, "../emu/testdata/kernels/*.ptx")
	if len(files) < 10 {
		t.Fatalf("%d kernels", len(files))
	}
	for _, file := range files {
		m, _ := readModule(t, file)
		k, err := emu.New(chip.SM90()).Load(context.Background(), m, "t")
		if err != nil {
			t.Fatal(file, err)
		}
		run := func(o func(probes.Dim3) target.Observer) (*target.Result, error) {
			l := (&valueLitmus{block: 32, grid: 1, out: 1024, in: make([]byte, 4096)}).launch(
				check.New(check.Options{}))
			l.Observe = o
			return k.Launch(context.Background(), l)
		}
		c := check.New(check.Options{Set: check.All | check.Origins | check.Precision})
		plain, err1 := run(nil)
		watched, err2 := run(c.Observer)
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%s: %v unwatched, %v watched", file, err1, err2)
		}
		c.Findings()
		c.Losses()
		if err1 == nil && !reflect.DeepEqual(plain.Outputs, watched.Outputs) {
			t.Errorf("%s computes something else when it is watched", file)
		}
	}
}
