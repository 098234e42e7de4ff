package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tilescope/probes"
)

// TestReferences: what stages and arguments are compared with, as the plan has it: by name or in place, of an
// output that a stage is cut out of as that stage's, of any other as an argument's; and under gates.
func TestReferences(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("kernels", "gemm_wmma.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plan := func(edit func(string) string, gate probes.Gate) *probes.Plan {
		t.Helper()
		m, err := ParseManifest("gemm.yaml", []byte(edit(string(text))))
		if err != nil {
			t.Fatal(err)
		}
		sel, err := m.Select("", nil, nil, gate)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sel.Resolve(m.Shapes[0].Shape)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	top := func(s string) string {
		return s + "references:\n  torch: {command: [python3, ref.py], timeout: 5s}\n  half: {npz: half.npz}\n"
	}
	whole := plan(func(s string) string { return s }, probes.GateNone)
	out := whole.Output()
	argument := "name: " + out.Capture.Output + ","
	p := plan(func(s string) string {
		at := strings.Index(s, argument)
		if at < 0 {
			t.Fatalf("no %q in the manifest", argument)
		}
		return top(strings.Replace(s, argument, argument+" reference: torch, tolerance: {baseline: half},",
			1))
	}, probes.GateNone)
	sp := p.Stage(out.Stage)
	if r := sp.Reference; r.Kind != probes.ReferenceCommand || r.Name != "torch" ||
		r.Source() != "python3 ref.py" || r.Timeout != 5*time.Second || r.At.Line == 0 ||
		!strings.HasSuffix(r.At.Field, ".reference") {
		t.Errorf("%+v", r)
	}
	if x := sp.Tolerance; x.Kind != probes.ToleranceBaseline || x.Of == nil || x.Of.File != "half.npz" ||
		x.Factor != 2 || !strings.HasSuffix(x.At.Field, ".tolerance") {
		t.Errorf("%+v", x)
	}
	if len(p.Memory) > 0 || !p.Referenced() {
		t.Errorf("%+v", p.Memory)
	}
	for _, g := range p.Gate.Judged { // the others are compared with the graph, as before
		if other := p.Stage(g); g != out.Stage && (other.Reference.Kind != probes.ReferenceGraph ||
			other.Tolerance.Kind != probes.ToleranceUsual) {
			t.Errorf("%s: %+v", g, other.Reference)
		}
	}

	// A stage of attention that a gate computes from values that the host feeds in.
	if text, err = os.ReadFile(filepath.Join("kernels", "sdpa_fp8_stage_c_wmma.yaml")); err != nil {
		t.Fatal(err)
	}
	stage := func(s string) string {
		return top(strings.ReplaceAll(s, "- name: P\n",
			"- name: P\n    reference: half\n    tolerance: {atol: 1}\n"))
	}
	for gate, want := range map[probes.Gate]probes.ReferenceKind{probes.GateNone: probes.ReferenceNPZ,
		"qk": probes.ReferenceNPZ, "softmax": probes.ReferenceGraph, "pv": probes.ReferenceGraph} {
		if sp := plan(stage, gate).Stage("P"); sp.Reference.Kind != want ||
			(sp.Tolerance.Kind == probes.ToleranceFixed) != (want == probes.ReferenceNPZ) || sp.Op == nil {
			t.Errorf("gate %s: %+v %+v", gate, sp.Reference, sp.Tolerance)
		}
	}
}

// TestKernelReferences: the kernels that a manifest leads to, each once, from stages, arguments and
// baselines.
func TestKernelReferences(t *testing.T) {
	text := strings.Replace(stageless, "role: output}",
		"role: output, reference: {kernel: a.yaml}, tolerance: {baseline: b}}", 1)
	text = strings.Replace(text, "fill: unwritten}", "fill: unwritten, reference: a}",
		1) + "references: {a: {kernel: a.yaml}, b: {kernel: b.yaml}}\n"
	m, err := ParseManifest("plain.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range m.KernelReferences() {
		got = append(got, r.File)
	}
	if strings.Join(got, " ") != "a.yaml b.yaml" {
		t.Errorf("%v", got)
	}
}
