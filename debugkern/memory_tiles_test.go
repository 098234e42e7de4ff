package debugkern

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

func view(t *testing.T, run *Run, name probes.Stage) *TileView {
	t.Helper()
	v, err := run.View(Place{Stage: name})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// stageless is a manifest without stages of checkrun's reduction. out has one element more
// than the launch writes.
const stageless = `schema: tilescope.kernel/1
name: reduce
ptx: reduce.ptx
entry: reduce
launch: {grid: [4, 1, 1], block: [256, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [1024], role: input}
  - {name: out, type: "f32*", dims: [5], role: output}
  - {name: n, type: u32, value: 1024}
`

// TestStagelessManifest: a manifest without stages runs; an output that was not written whole is a finding,
// and so the verdict.
func TestStagelessManifest(t *testing.T) {
	dir := t.TempDir()
	ptx, err := os.ReadFile(filepath.Join("checkrun", "testdata", "reduce.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"reduce.ptx": string(ptx), "reduce.yaml": stageless,
		"whole.yaml": strings.Replace(stageless, "dims: [5]", "dims: [4]", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := openSession(t)
	req := Request{Target: filepath.Join(dir, "reduce.yaml"), Backend: "emu"}
	run, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := run.Report; r.Verdict != report.Diverge || r.Errors() != 1 ||
		r.Findings[0].Kind != string(target.Unwritten) || r.Outputs[1].Written != nil {
		t.Errorf("%s: %+v %+v", r.Verdict, r.Findings, r.Outputs)
	}
	if s.Referenced(t.Context(), req) || !s.Referenced(t.Context(), Request{Target: "stage2"}) {
		t.Error("what has a reference")
	}
	req.Target = filepath.Join(dir, "whole.yaml")
	if run, err = s.Run(t.Context(), req, nil); err != nil || run.Report.Verdict != report.Agree ||
		run.Report.ExitCode() != 0 {
		t.Errorf("%v %+v", err, run)
	}
}

// TestReferenceNone: a stage that the manifest compares with nothing is captured, its verdict off, and its
// tile has no reference; the others are judged as before.
func TestReferenceNone(t *testing.T) {
	s := openSession(t)
	text, err := os.ReadFile(filepath.Join("..", "configs", "kernels", "softmax_row.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Run(t.Context(), Request{Target: "softmax_row", Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := string(whole.Plan.Stages[1].Stage)
	off := strings.Replace(string(text), "- name: "+name+"\n", "- name: "+name+"\n    reference: none\n", 1)
	if off == string(text) {
		t.Fatalf("no stage %s in the manifest's text", name)
	}
	m, err := configs.ParseManifest("unreferenced.yaml", []byte(off)) // its PTX is the archive's
	if err != nil {
		t.Fatal(err)
	}
	s.catalogue.Adopt(m)
	run, err := s.Run(t.Context(), Request{Target: m.File, Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := run.Report.Stage(name)
	if st.Verdict != report.Off || !st.Reference.None() || run.Report.Verdict != report.Agree {
		t.Errorf("%+v", st)
	}
	v := view(t, run, probes.Stage(name))
	if v.Referenced() || !v.Got.Reached() {
		t.Errorf("referenced %t, reached %t", v.Referenced(), v.Got.Reached())
	}
	for _, other := range whole.Report.Stages {
		if x := run.Report.Stage(other.Name); other.Name != name &&
			(x.Verdict != other.Verdict || x.Local != other.Local) {
			t.Errorf("%s: %+v, was %+v", other.Name, x, other)
		}
	}
}
