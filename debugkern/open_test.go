package debugkern

import (
	"bytes"
	"encoding/binary"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

var updateOpen = flag.Bool("update-open", false, "compile testdata/open anew with NVRTC")

// opened runs a kernel of testdata/open from its prebuilt PTX: of a fault, of a gate, or plain where what is
// "". edits are texts of the manifest and what is written in their place.
func opened(t *testing.T, kernel, what string, req Request, edits ...string) *Run {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "open"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, kernel+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Join(strings.Fields(kernel+" "+what), "-")
	text = bytes.Replace(text, []byte("source: "+kernel+".cu"),
		[]byte("ptx: "+filepath.Join(dir, name+".ptx")), 1)
	for i := 0; i+1 < len(edits); i += 2 {
		if !bytes.Contains(text, []byte(edits[i])) {
			t.Fatalf("the manifest has no %q", edits[i])
		}
		text = bytes.Replace(text, []byte(edits[i]), []byte(edits[i+1]), 1)
	}
	path := filepath.Join(t.TempDir(), kernel+".yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Config: &configs.Config{CaptureMax: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	req.Target, req.Backend = path, "emu"
	run, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// openBuilds are the prebuilt files: kernel, then the gate or fault each was built for.
var openBuilds = [][2]string{{"linear", ""}, {"linear", "twice"}, {"linear", "half"}}

// TestOpenKernelsAreCurrent: the prebuilt PTX is what NVRTC makes of the sources. With
// -update-open it is written.
func TestOpenKernelsAreCurrent(t *testing.T) {
	s := compiling(t, t.TempDir())
	for _, b := range openBuilds {
		m, err := configs.LoadManifest(t.Context(), filepath.Join("testdata", "open", b[0]+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var faults []string
		gate := ""
		if m.Fault(b[1]) != nil {
			faults = []string{b[1]}
		} else {
			gate = b[1]
		}
		sel, err := m.Select("", nil, faults, probes.Gate(gate))
		if err != nil {
			t.Fatal(err)
		}
		built, err := s.builder.Kernel(t.Context(), sel, build.Options{Builder: "nvrtc", Probes: true})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "open", strings.Join(strings.Fields(b[0]+" "+b[1]), "-")+".ptx")
		if *updateOpen {
			if err := os.WriteFile(path, built.Text, 0o644); err != nil { //nolint:gosec // testdata
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, built.Text) {
			t.Errorf("%s is not what NVRTC makes of its source (%v); go test ./debugkern -run TestOpenKernelsAreCurrent -update-open",
				path, err)
		}
	}
}

// catalogued runs a kernel: of the catalogue, or linear of testdata/open, with a fault or a gate
// as the request says.
func catalogued(t *testing.T, kernel string, req Request) *report.Run {
	t.Helper()
	if kernel == "linear" {
		return opened(t, kernel, strings.Join(req.Faults, " "), req).Report
	}
	req.Target, req.Backend = kernel, "emu"
	run, err := openSession(t).Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run.Report
}

// Kernels that are not attention, or not the attention of the conventions, agree with what their
// manifests say that they compute, and so does their output as a whole; no other project's rule for
// attention is applied to it.
func TestOpenKernelsAgree(t *testing.T) {
	for kernel, shapes := range map[string][]string{
		"linear": {"partial", "partial49", "validation"}, "attention_causal": {"validation"},
		"attention_window": {"validation"}, "attention_gqa": {"validation"},
		"attention_gqa_causal": {"validation"}, "attention_backward": {"validation", "partial"},
		"attention_backward_causal": {"partial"}, "gemm_wmma": {"validation"},
		"gemm_double_buffer": {"validation"}, "gemm_gelu_tanh": {"validation"}, "softmax_row": {"validation"},
		"log_softmax_row": {"validation"}, "layernorm": {"validation"}, "rmsnorm": {"validation"},
	} {
		for _, shape := range shapes {
			rep := catalogued(t, kernel, Request{Shape: shape, Seed: 3})
			if rep.Verdict != report.Agree || len(rep.Guilty) > 0 || len(rep.Findings) > 0 {
				t.Errorf("%s at %s: %s, guilty %v, findings %v", kernel, shape, rep.Verdict, rep.Guilty,
					rep.Findings)
			}
			for _, st := range rep.Stages {
				if st.Verdict != report.OK || st.Tiles == 0 || st.Local.Cells == 0 {
					t.Errorf("%s at %s: stage %s is %s over %d tiles", kernel, shape, st.Name,
						st.Verdict, st.Tiles)
				}
			}
			if o := rep.Output; o == nil || o.Verdict != report.OK || float64(o.Cosine) < 0.9999 {
				t.Errorf("%s at %s: output %+v", kernel, shape, o)
			} else if o.FlashRule != nil || o.PyTorch != nil || o.Triton != nil {
				t.Errorf("%s at %s: rules for attention on an output that is not the conventional one",
					kernel, shape)
			}
		}
	}
}

// Every gate agrees, each with what it judges, and with uniform values fed in where the gate has them.
func TestOpenGates(t *testing.T) {
	for _, g := range []struct{ kernel, gate, inject, judged string }{
		{"attention_causal", "qk", "", "Q K S"}, {"attention_causal", "softmax", "", "m l P"},
		{"attention_causal", "pv", "", "V U O"}, {"attention_causal", "pv", "uniform", "V U O"},
		{"gemm_wmma", "mainloop", "", "A B acc"}, {"gemm_wmma", "epilogue", "", "pre C"},
		{"softmax_row", "stats", "", "X m l"}, {"softmax_row", "normalise", "", "Y"},
		{"attention_gqa", "pv", "uniform", "V U O"},
	} {
		for _, shape := range []string{"partial", "small"} {
			rep := catalogued(t, g.kernel, Request{Shape: shape, Gate: probes.Gate(g.gate), Inject: g.inject})
			if rep.Verdict != report.Agree || rep.Output != nil {
				t.Errorf("%s %s %s at %s: %s, output %v", g.kernel, g.gate, g.inject, shape,
					rep.Verdict, rep.Output)
			}
			var judged []string
			for _, st := range rep.Stages {
				if st.Verdict == report.OK {
					judged = append(judged, st.Name)
				}
			}
			if strings.Join(judged, " ") != g.judged {
				t.Errorf("%s %s at %s judges %v, expected %s", g.kernel, g.gate, shape, judged, g.judged)
			}
		}
	}
}

// Planted faults are found at the stage that makes them, what follows is tainted, and a fingerprint says what
// happened where one fits.
func TestOpenFaults(t *testing.T) {
	for _, f := range []struct {
		kernel, fault string
		guilty        string // the first wrong stage; "": none, a finding says it
		kv            int
		finding       string
		name, value   string // of a fingerprint, at stage
		stage         string
		tainted       string
	}{
		{kernel: "attention_causal", fault: "mask-late", guilty: "m", name: "mask",
			value: "moved by one column to the right", stage: "P", tainted: "U O"},
		{kernel: "attention_causal", fault: "loop-short", finding: "loop-ended", tainted: "O"},
		{kernel: "layernorm", fault: "divisor", guilty: "var", kv: 1, name: "factor", value: "C/(C − 1)",
			stage: "var", tainted: "xhat Y"},
		{kernel: "layernorm", fault: "neighbour", guilty: "xhat", kv: 1, name: "offset",
			value: "fitted by row", stage: "xhat", tainted: "Y"},
		{kernel: "gemm_wmma", fault: "b-colmajor", guilty: "acc", name: "operand-transposed",
			value: "B: each 16×16 block", stage: "acc", tainted: "pre C"},
		{kernel: "gemm_wmma", fault: "k-half", guilty: "acc", name: "half-missing", value: "second half of K",
			stage: "acc", tainted: "pre C"},
		{kernel: "softmax_row", fault: "x-half", guilty: "l", name: "half-missing",
			value: "second half columns", stage: "l", tainted: "Y"},
		{kernel: "softmax_row", fault: "sum-no-rescale", guilty: "l", kv: 1, name: "term",
			value: "carried l, coefficient 1", stage: "l", tainted: "Y"},
		{kernel: "softmax_row", fault: "max-neighbour", guilty: "Y", kv: 5, name: "factor",
			value: "fitted by row", stage: "Y"},
		{kernel: "attention_gqa", fault: "carry-reset", guilty: "U", kv: 1, name: "term",
			value: "carried U left out", stage: "U", tainted: "O"},
		{kernel: "linear", fault: "twice", guilty: "sum", kv: 1, name: "term",
			value: "carried sum counted twice", stage: "sum", tainted: "out"},
		{kernel: "linear", fault: "half", guilty: "A", name: "half-missing", value: "second half of D",
			stage: "A", tainted: "sum out"},
	} {
		rep := catalogued(t, f.kernel, Request{Shape: "validation", Faults: []string{f.fault}})
		if rep.Verdict != report.Diverge || rep.Output == nil || rep.Output.Verdict != report.Fail {
			t.Errorf("%s %s: %s, output %+v", f.kernel, f.fault, rep.Verdict, rep.Output)
		}
		switch {
		case f.guilty == "" && len(rep.Guilty) > 0, f.guilty != "" && len(rep.Guilty) == 0:
			t.Errorf("%s %s: guilty %v", f.kernel, f.fault, rep.Guilty)
		case f.guilty != "" && (rep.Guilty[0].Stage != f.guilty || rep.Guilty[0].KVTile != f.kv):
			t.Errorf("%s %s: guilty %+v, expected %s at kv tile %d", f.kernel, f.fault, rep.Guilty[0],
				f.guilty, f.kv)
		}
		var tainted []string
		for _, st := range rep.Stages {
			if st.Verdict == report.Tainted {
				tainted = append(tainted, st.Name)
			}
		}
		if strings.Join(tainted, " ") != f.tainted {
			t.Errorf("%s %s: tainted %v, expected %s", f.kernel, f.fault, tainted, f.tainted)
		}
		if f.finding != "" && (len(rep.Findings) == 0 || rep.Findings[0].Kind != f.finding) {
			t.Errorf("%s %s: findings %v", f.kernel, f.fault, rep.Findings)
		}
		if st := rep.Stage(f.stage); f.stage != "" &&
			(len(st.Fingerprints) == 0 || st.Fingerprints[0].Name != f.name ||
				!strings.Contains(st.Fingerprints[0].Value, f.value) || st.Fingerprints[0].Explains < 0.99) {
			t.Errorf("%s %s: fingerprints of %s: %+v", f.kernel, f.fault, f.stage, st.Fingerprints)
		} else if f.kernel == "layernorm" && (strings.Contains(st.Fingerprints[0].Evidence, "tile") ||
			!strings.Contains(st.Fingerprints[0].Evidence, "block 0,0,0 (0,0): ")) {
			t.Errorf("%s %s, which has no loop: %s", f.kernel, f.fault, st.Fingerprints[0].Evidence)
		}
	}
}

// Derivations name what the kernel computes, not attention.
func TestOpenDerivations(t *testing.T) {
	for _, kernel := range []string{"layernorm", "linear", "gemm_wmma"} {
		rep := catalogued(t, kernel, Request{Shape: "partial"})
		for _, st := range rep.Stages {
			if st.Name == "A" && kernel != "linear" || st.Name == "B" {
				continue // copied
			}
			for _, text := range []string{st.Local.Derivation, st.Global.Derivation} {
				for _, word := range []string{"softmax", "copied", "f16:", "exp("} {
					if text == "" || strings.Contains(text, word) {
						t.Errorf("%s, stage %s: %q has %q", kernel, st.Name, text, word)
					}
				}
			}
		}
	}
}

// floatsFile is an array member of f32 numbers of the given dimensions.
func floatsFile(rows, cols int, dims string, value func(row, col int) float32) []byte {
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + "), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	for i := range rows * cols {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value(i/cols, i%cols)))
	}
	return b
}

// A row of equal numbers has no variance: without eps it is divided by 0, and no number of that row is
// finite. A right kernel agrees on such inputs.
func TestOpenEqualRow(t *testing.T) {
	path := inputsFile(t, map[string][]byte{
		"Xx.npy": floatsFile(16, 64, "16, 64", func(row, col int) float32 {
			if row == 5 {
				return 0.5
			}
			return float32(col%7) - float32(row)/4
		}),
		"gammax.npy": floatsFile(1, 64, "64,", func(_, col int) float32 { return 1 + float32(col)/64 }),
		"betax.npy":  floatsFile(1, 64, "64,", func(_, col int) float32 { return float32(col) / 8 }),
	}, "Xx.npy", "gammax.npy", "betax.npy")
	if rep := catalogued(t, "layernorm", Request{Inputs: path}); rep.Verdict != report.Agree ||
		rep.Output == nil || rep.Output.Verdict != report.OK {
		t.Errorf("a right kernel: %s, guilty %v, output %+v", rep.Verdict, rep.Guilty, rep.Output)
	}
	rep := catalogued(t, "layernorm", Request{Inputs: path, Faults: []string{"eps"}})
	x := rep.Stage("xhat")
	if rep.Verdict != report.Diverge || x.FirstBad == nil || len(rep.Guilty) != 1 ||
		rep.Guilty[0].Stage != "xhat" || x.Local.Nonfinite != 64 {
		t.Errorf("eps forgotten: %s, guilty %v, xhat %+v", rep.Verdict, rep.Guilty, x)
	}
}

// A stage of which nothing says what it computes is shown and compared with nothing; what is computed
// from it is judged from the kernel's own tiles, and the output, which does not follow from the inputs
// then, as a whole not at all.
func TestOpenStageWithoutOperator(t *testing.T) {
	hide := []string{`    op:
      matmul:
        - {load: Q, at: [batch, head, query, 0], rows: 2, cols: 3, dims: [TILE, D]}
        - {load: K, at: [batch, head, key, 0], rows: 2, cols: 3, dims: [TILE, D]}
      transpose: right
      over: D
    compute: {unit: fma, acc: f32}
`, "    of: []\n"}
	for _, x := range []struct{ fault, verdict, guilty string }{
		{"", report.Agree, ""}, {"twice", report.Diverge, "sum"},
	} {
		req := Request{Shape: "partial49"}
		if x.fault != "" {
			req.Faults = []string{x.fault}
		}
		rep := opened(t, "linear", x.fault, req, hide...).Report
		if rep.Verdict != x.verdict || rep.Output != nil || rep.Stage("A").Verdict != "off" {
			t.Errorf("%q: %s, output %v, A %s", x.fault, rep.Verdict, rep.Output, rep.Stage("A").Verdict)
		}
		if got := rep.Stage("sum").Verdict == "wrong"; got != (x.guilty == "sum") ||
			got != (len(rep.Guilty) > 0) {
			t.Errorf("%q: sum is %s, guilty %v", x.fault, rep.Stage("sum").Verdict, rep.Guilty)
		}
	}
}

// TestHopper: stage5_hopper agrees under every gate, with each of its flags, under other orders of execution
// and of the landing of copies, and so does every tile that its consumers have in registers alone. Each time
// half of the sets of flags are tried under each gate, with TILESCOPE_LONG (make test-long) all of them.
func TestHopper(t *testing.T) {
	judged := map[probes.Gate]string{
		probes.GateNone: "Q K V S m l P U O", "qk": "Q K S", "softmax": "m l P", "pv": "V U O",
	}
	for i, set := range []map[string]string{
		nil, {"STAGES": "3", "PING_PONG": "0"}, {"SWIZZLE": "64"}, {"SWIZZLE": "32"}, {"SWIZZLE": "16"},
	} {
		for j, gate := range slices.Sorted(maps.Keys(judged)) {
			want := judged[gate]
			if (i+j)%2 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
				continue
			}
			for _, schedule := range []string{"in-order:0:latest", "random:3:random"} {
				rep := catalogued(t, "stage5_hopper", Request{
					Shape: "partial", Set: set, Gate: gate, Schedule: schedule,
				})
				var got []string
				for _, st := range rep.Stages {
					if st.Verdict == report.OK && st.Tiles > 0 && st.Local.Cells > 0 {
						got = append(got, st.Name)
					}
				}
				if rep.Verdict != report.Agree || len(rep.Findings) > 0 || strings.Join(got, " ") != want {
					t.Errorf("%v, gate %s, %s: %s of %v, want %s; %+v", set, gate, schedule, rep.Verdict, got,
						want, rep.Findings)
				}
			}
		}
	}
}

// A kernel that is written for one architecture is compiled for no other.
func TestArchitectureOfSource(t *testing.T) {
	req := Request{Target: "stage5_hopper", Backend: "emu", Arch: "sm_80"}
	_, err := openSession(t).Run(t.Context(), req, nil)
	if err == nil || !strings.Contains(err.Error(), "--arch sm_80: stage5_hopper is written for sm_90a") {
		t.Errorf("%v", err)
	}
}
