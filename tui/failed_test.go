package tui

import (
	"errors"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

func TestFailedRunOnTheGPUOffersTheEmulator(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook, twoH200, onDevice("cuda", 0))
	d.e.Fail = failedWith("run", "kernel sdpa, launch 1 of 10: access to an illegal address", "", 0)
	d.do(d.m.Init())
	if !contains(d.text(), "RUN FAILED: 1 error") ||
		!contains(d.text(), "X runs the same launch on the emulator") {
		t.Fatalf("the failure:\n%s", d.text())
	}
	if d.press("5"); !contains(d.text(), "diagnoses on the emulator, which can show where") {
		t.Errorf("Races:\n%s", d.text())
	}
	d.press("1")
	d.e.Fail = nil
	d.press("X").hasStatus(":backend cuda goes back")
	if got := d.last(); got.Backend != "emu" {
		t.Errorf("X ran on %q", got.Backend)
	}
	if contains(d.text(), "FAILED") {
		t.Errorf("the failure is still on screen:\n%s", d.text())
	}
}

// TestARefusalIsClosed: Esc and q close a refusal that is shown in full, and nothing else.
func TestARefusalIsClosed(t *testing.T) {
	for _, key := range []string{"esc", "q"} {
		d := started(t, 80, 24, plainLook).open(view.Source)
		d.command("break 88 if nobody_knows_this_name == 1 && lane == 3")
		if !strings.Contains(d.text(), "threadIdx.x") {
			t.Fatalf("the refusal is not shown in full:\n%s", d.text())
		}
		d.press(key)
		if d.m.view != view.Source || d.m.Status.Text != "" {
			t.Errorf("%s: view %s, status %q", key, d.m.view, d.m.Status.Text)
		}
	}
}

func TestCompileErrorIsShownAtItsLine(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := newDriver(t, size[0], size[1], plainLook)
		d.e.Fail = failedWith("build", "mine.cu:33: identifier \"foo\" is undefined (and 1 more error)",
			"mine.cu", 33)
		d.do(d.m.Init())
		for _, s := range []keymap.Scope{view.Pipe, view.Tile} {
			d.open(s)
			fits(t, d, "failure")
			for _, want := range []string{"BUILD FAILED", "mine.cu:33: identifier", "line 33 of mine.cu"} {
				if !contains(d.text(), want) {
					t.Errorf("nothing says %q:\n%s", want, d.text())
				}
			}
		}
		if file, line := d.m.SourcePlace(); file != "mine.cu" || line != 33 {
			t.Errorf("the editor would open %s:%d", file, line)
		}
		d.press("tab", "j", "y").hasStatus("copied")
	}
}

// TestEditAfterAFailure: the editor is offered the compiler's file in every view, also in those that show no
// failure, and after the reason under the cursor.
func TestEditAfterAFailure(t *testing.T) {
	for _, s := range []keymap.Scope{view.Pipe, view.Flags, view.Source, view.GPU} {
		d := newDriver(t, 120, 40, plainLook, func(o *Options) { o.Environ = []string{"EDITOR=ed"} })
		d.e.Fail = failedWith("build", "mine.cu:33: identifier \"foo\" is undefined", "mine.cu", 33)
		d.do(d.m.Init())
		d.open(s).press("e").hasStatus("e again opens a read-only copy of mine.cu")
	}
}

// TestFailureNamesThePatch: the source below a failure is the patched one, and its title says by which fault.
func TestFailureNamesThePatch(t *testing.T) {
	d := newDriver(t, 120, 40, plainLook, func(o *Options) { o.Request.Faults = []string{"p-stale-m"} })
	d.e.Fail = failedWith("build", "mine.cu:33: identifier \"foo\" is undefined", "mine.cu", 33)
	d.do(d.m.Init())
	if !contains(d.text(), "SOURCE mine.cu:33 as patched by p-stale-m") {
		t.Errorf("the source does not say that it is patched:\n%s", d.text())
	}
}

// TestEveryDiagnosticIsListed: errors and warnings, each with its place, and the source follows the cursor.
func TestEveryDiagnosticIsListed(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook)
	failed := failedWith("build", "mine.cu:33:9: no such thing (and 1 more error)", "mine.cu",
		33).(*report.Error)
	failed.Report.Error.Diagnostics = []report.Diagnostic{
		{File: "mine.cu", Line: 33, Col: 9, Severity: "error", Message: "no such thing"},
		{File: "mine.cu", Line: 41, Severity: "error", Message: "expected a ;"},
		{File: "mine.cu", Line: 7, Severity: "warning", Message: "unused"},
	}
	d.e.Fail = failed
	d.do(d.m.Init())
	for _, want := range []string{
		"BUILD FAILED: 2 errors", "✗ mine.cu:33:9: no such thing", "~ mine.cu:7: unused",
		"line 33 of mine.cu",
	} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	if d.press("n"); !contains(d.text(), "line 41 of mine.cu") {
		t.Errorf("the source does not follow:\n%s", d.text())
	}
	if file, line := d.m.SourcePlace(); file != "mine.cu" || line != 41 {
		t.Errorf("the editor would open %s:%d", file, line)
	}
}

// failedWith is a run that ended without a verdict.
func failedWith(stage, message, file string, line int) error {
	e := &report.Failure{Stage: stage, Message: message}
	if file != "" {
		e.Source = &report.Source{File: file, Line: line}
	}
	r := &report.Run{
		Verdict: report.Failed, Error: e,
		Backend: report.Backend{Name: "cuda", Device: "NVIDIA H200", Builder: "nvrtc"},
	}
	return &report.Error{Code: report.CodeFailed, Err: errors.New(message), Report: r}
}

func TestProgressIsOneLineOfStages(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for p, want := range map[debugkern.Progress]string{
		{Phase: "build", Detail: "nvrtc"}:                  "●build nvrtc ▸ ○launch ▸ ○compare",
		{Phase: "run", Detail: "H200", Done: 3, Total: 10}: "✓build ▸ ●launch H200 3/10 ▸ ○compare",
		{Phase: "explain", Detail: "P"}:                    "✓build ▸ ✓launch ▸ ●compare P",
	} {
		if got := progressText(d.m.Theme, p); got != want {
			t.Errorf("%+v: %q, expected %q", p, got, want)
		}
	}
}

// TestNothingIsComparedWithAFailedB: where B could not run, bisecting and comparing say so with the reason,
// and do not take the run before it.
func TestNothingIsComparedWithAFailedB(t *testing.T) {
	d := started(t, 120, 40, plainLook).open(view.Flags).press("a")
	d.e.Fail = failedWith("build", `mine.cu:33: identifier "foo" is undefined`, "mine.cu", 33)
	d.command("fault p-stale-m")
	n := len(d.e.Asked())
	for _, line := range []string{"bisect", "compare"} {
		d.command(line).hasStatus(`B could not run, so A is compared with nothing: mine.cu:33: identifier "foo"`)
	}
	if len(d.e.Asked()) != n || d.e.Bisected[1].Target != "" || !d.m.Status.Bad {
		t.Errorf("asked %d more, bisected %+v", len(d.e.Asked())-n, d.e.Bisected)
	}
	d.e.Fail = nil
	d.command("run").command("bisect").hasStatus("smallest set: +p-stale-m")
}
