package checkrun

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// adopted runs a kernel of testdata as a target, under every checker.
func adopted(t *testing.T, s *debugkern.Session, req Request) *debugkern.Run {
	t.Helper()
	r, err := Adopt(t.Context(), s, req)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// floatAt is an element of a tile of f32.
func floatAt(v *debugkern.TileView, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(v.Got.Data[4*i:]))
}

// TestAdopted: a file with the options of check runs as a target: its digests are check's, its verdict is by
// findings, its arguments are tiles before and after the launch, and who wrote an element is found in
// whichever block did.
func TestAdopted(t *testing.T) {
	s := debugtest.Open(t)
	req := request("reduce.ptx", 4, 256, "0=randn:f32[1000]", "1=unwritten:f32[5]", "2=1000")
	req.Seed = 3
	run := adopted(t, s, req)
	c, err := Kernel(t.Context(), s, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := run.Report
	if r.Digest != c.Doc.Digest || len(r.Outputs) != 2 || r.Outputs[1].Digest != c.Doc.Outputs[1].Digest ||
		*r.Outputs[1].Written != 4 || *r.Outputs[0].Written != 0 {
		t.Errorf("digest %s, outputs %+v; check has %s, %+v", r.Digest, r.Outputs, c.Doc.Digest,
			c.Doc.Outputs)
	}
	if r.Verdict != report.Agree || r.ExitCode() != 0 || r.Referenced() || r.Outcome() != "no error" ||
		len(r.Guilty) > 0 || r.Output != nil {
		t.Errorf("%s, exit %d, %q", r.Verdict, r.ExitCode(), r.Outcome())
	}
	var names []string
	for _, st := range r.Stages {
		if names = append(names, st.Name); st.Verdict != report.Off || !st.Reference.None() {
			t.Errorf("%+v", st)
		}
	}
	if strings.Join(names, " ") != "in_arg0 arg0 arg1" {
		t.Errorf("stages %v", names)
	}
	before, after, out := view(t, run, "in_arg0"), view(t, run, "arg0"), view(t, run, "arg1")
	if after.Referenced() || !after.Previous.Same(after.Got, 0, 7) ||
		floatAt(before, 7) != floatAt(after, 7) || after.Valid(0, 0) != true {
		t.Error("what was only read is not as before")
	}
	want := float32(0)
	for i := 512; i < 768; i++ {
		want += floatAt(before, i)
	}
	if got := floatAt(out, 2); math.Abs(float64(got-want)) > 1e-3 {
		t.Errorf("sum 2 is %g, want %g", got, want)
	}
	if out.Previous.Rows != 0 || out.Got.Captured(0, 4) || !out.Got.Captured(0, 3) ||
		out.Valid(0, 4) != true {
		t.Error("what was not written counts as captured")
	}
	for col, block := range map[int]int{0: 0, 2: 2, 3: 3} {
		w, err := run.Writer(t.Context(), debugkern.Cell{Place: debugkern.Place{Stage: "arg1"}, Col: col})
		if err != nil || w == nil || *w.Block != (probes.Dim3{block, 0, 0}) || w.Source == nil {
			t.Errorf("out[%d]: %+v, %v", col, w, err)
		}
	}
	for _, c := range []debugkern.Cell{
		{Place: debugkern.Place{Stage: "arg1"}, Col: 4}, {Place: debugkern.Place{Stage: "arg0"}},
		{Place: debugkern.Place{Stage: "in_arg0"}},
	} {
		if w, err := run.Writer(t.Context(), c); w != nil || err != nil {
			t.Errorf("%+v: %+v, %v", c, w, err)
		}
	}
	var b bytes.Buffer
	if err := run.Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	raw := arrays(t, b.Bytes())
	if len(raw) != 3 || !bytes.Equal(raw["arg1"], out.Got.Data) ||
		!bytes.Equal(raw["in_arg0"], before.Got.Data[:4000]) {
		t.Errorf("%d arrays in the dump", len(raw))
	}
	if len(run.Plan.Shared) == 0 || run.Plan.Shared[0].Bytes != 1024 {
		t.Errorf("shared arrays %+v", run.Plan.Shared)
	}
	if _, err := run.Walk(t.Context(), probes.Dim3{2, 0, 0}); err != nil {
		t.Error(err)
	}
}

func view(t *testing.T, run *debugkern.Run, name probes.Stage) *debugkern.TileView {
	t.Helper()
	v, err := run.View(debugkern.Place{Stage: name})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAdoptedDefects: a finding of severity error makes the verdict, at the line; what check refuses is
// refused with its code.
func TestAdoptedDefects(t *testing.T) {
	s := debugtest.Open(t)
	run := adopted(t, s, request("reduce-race.ptx", 2, 256, "0=ones:f32[512]", "1=zeros:f32[2]", "2=512"))
	r := run.Report
	if r.Verdict != report.Diverge || r.ExitCode() != 1 || r.Errors() == 0 ||
		!slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
			return f.Kind == string(target.Race) && f.Source.Line == 10
		}) {
		t.Errorf("%s: %+v", r.Verdict, r.Findings)
	}
	for _, f := range r.Findings {
		if f.ID == "" {
			t.Errorf("no id: %+v", f)
		}
	}
	clustered := request("reduce.ptx", 2, 256, "0=ones:f32[512]", "1=zeros:f32[2]", "2=512")
	clustered.Cluster = probes.Dim3{3, 1, 1}
	for says, req := range map[string]Request{
		"no --arg for":                     request("reduce.ptx", 2, 256, "0=ones:f32[512]"),
		"--block 2048,1,1":                 request("reduce.ptx", 2, 2048),
		"x is 3; expected 1 to 2":          clustered,
		"uses this parameter as":           request("reduce.ptx", 2, 256, "0=1", "1=zeros:f32[2]", "2=512"),
		"expected a .ptx, a .cu or a .tsl": request("../adopt_test.go", 1, 1),
		"no such file or directory":        request("nosuch.ptx", 1, 1),
		"choose one with --entry":          request("blend.ptx", 1, 64),
		"is given twice (first as 1)":      request("reduce.ptx", 2, 256, "2=1", "2=2"),
	} {
		if _, err := Adopt(t.Context(), s, req); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		} else if code := err.(*report.Error).Code; code != report.CodeUsage {
			t.Errorf("%v: code %d", err, code)
		}
	}
}

// TestAdoptedExpectations: what a launch states of its outputs is checked of the adopted target too: what
// differs is a finding of the run, what agrees a note. The launch's words have it, and a mistake is refused.
func TestAdoptedExpectations(t *testing.T) {
	s := debugtest.Open(t)
	for expect, differs := range map[string]bool{
		"arg1[i] <- arg0[256*i .. 256*i+255]": false, "arg1[i] <- arg0[256*i .. 256*i+254]": true,
	} {
		req := request("reduce.ptx", 2, 256, "0=randn:f32[512]", "1=unwritten:f32[2]", "2=512")
		req.Expect = []string{expect}
		r, err := Adopt(t.Context(), s, req)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Expectations(); len(got) != 1 || got[0] != expect ||
			!strings.Contains(r.Command("run"), "tilescope check ") ||
			!strings.Contains(r.Command("run"), " --expect ") ||
			strings.Contains(r.Command("diagnose"), "--expect") {
			t.Errorf("%q of %s", got, r.Command("run"))
		}
		run, err := s.Run(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Expectations(t.Context(), s, r, run.Report, nil); err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(run.Report.Findings, func(f report.Finding) bool {
			return f.Kind == string(target.Expectation)
		})
		noted := slices.ContainsFunc(run.Report.Build.Notes, func(n string) bool {
			return strings.HasPrefix(n, "expected: ")
		})
		if found != differs || !noted || run.Report.ExitCode() != map[bool]int{true: 1}[differs] {
			t.Errorf("%s: %+v, notes %q", expect, run.Report.Findings, run.Report.Build.Notes)
		}
	}
	req := request("reduce.ptx", 2, 256, "0=randn:f32[512]", "1=unwritten:f32[2]", "2=512")
	req.Expect = []string{"arg7[i] <- arg0[i]"}
	if _, err := Adopt(t.Context(), s, req); err == nil || !strings.Contains(err.Error(), "--expect") {
		t.Errorf("an output that is no argument: %v", err)
	}
}
