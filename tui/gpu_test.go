package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
)

func onDevice(backend string, device int) func(*Options) {
	return withRequest(debugkern.Request{Target: "stage2", Backend: backend, Device: device})
}

func TestGPUScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := started(t, size[0], size[1], plainLook, twoH200, onDevice("cuda", 0)).press("7").pulses(40)
			fits(t, d, "GPU")
			golden.RequireEqual(t, d.text()+"\n")
		})
	}
}

// TestGPUFits draws every view with a device in the status bar, and every state of the GPU view, at every size.
func TestGPUFits(t *testing.T) {
	states := map[string]func(*driver){
		"sampled": func(d *driver) { d.press("7").pulses(300) },
		"second":  func(d *driver) { d.press("7", "j").pulses(3) },
		"no NVML": func(d *driver) {
			d.e.gpu.monErr = errors.New("no NVML: " + strings.Repeat("this user may not talk to the driver ", 9))
			d.press("7")
		},
		"elsewhere": func(d *driver) { d.press("2").pulses(2) },
	}
	for name, to := range states {
		d := started(t, 80, 24, plainLook, twoH200, onDevice("cuda", 0))
		to(d)
		for _, w := range []int{80, 81, 100, 111, 112, 113, 120, 160, 200, 300} {
			for _, h := range []int{24, 25, 30, 40, 60, 90} {
				d.m.resize(w, h)
				fits(t, d, name)
			}
		}
	}
}

func TestTelemetryIsSampledOnlyWhereItIsShown(t *testing.T) {
	d := started(t, 120, 40, plainLook, twoH200)
	if d.e.gpu.asked != 0 {
		t.Error("devices were asked for though nothing shows one")
	}
	d.press("7")
	mon := d.e.gpu.monitor
	if d.e.gpu.asked != 1 || mon == nil || mon.n != 1 {
		t.Fatalf("asked %d times, monitor %+v", d.e.gpu.asked, mon)
	}
	if d.pulses(5); mon.n != 6 || len(d.m.gpu.samples) != 6 {
		t.Errorf("%d samples taken, %d kept", mon.n, len(d.m.gpu.samples))
	}
	d.press("7", "tab", "tab") // nothing of this asks for a second sample beside the one awaited
	if mon.n != 6 {
		t.Errorf("%d samples: they are not coalesced", mon.n)
	}
	d.press("1").pulses(3) // an emulator's run needs no device
	if !mon.closed || mon.n != 6 {
		t.Errorf("still sampling elsewhere: %+v", mon)
	}
	d.press("7").pulses(1)
	if again := d.e.gpu.monitor; again == mon || again.n != 2 || d.e.gpu.asked != 1 {
		t.Errorf("back in the view: %+v, asked %d times", again, d.e.gpu.asked)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	d := started(t, 80, 24, plainLook, twoH200).press("7").pulses(keptPulse + 25)
	if n := len(d.m.gpu.samples); n != keptPulse {
		t.Errorf("%d samples kept", n)
	}
}

func TestStatusBarTellsOfTheDevice(t *testing.T) {
	d := started(t, 120, 40, plainLook, twoH200, onDevice("cuda", 0)).pulses(2)
	bar, _, _ := strings.Cut(d.text(), "\n")
	for _, want := range []string{"●cuda", "H200", "43°C", "348W", "51%"} {
		if !contains(bar, want) {
			t.Errorf("the bar does not say %q: %s", want, bar)
		}
	}
	if contains(bar, "NVIDIA") {
		t.Errorf("the maker's name takes room: %s", bar)
	}
	d.m.resize(80, 24)
	if bar, _, _ = strings.Cut(d.text(), "\n"); !contains(bar, "●cuda") || !contains(bar, "43°C") {
		t.Errorf("at 80 columns: %s", bar)
	}
	emu := started(t, 80, 24, plainLook)
	if bar, _, _ = strings.Cut(emu.text(), "\n"); !contains(bar, "●emu") {
		t.Errorf("the emulator's bar: %s", bar)
	}
}

func TestChoosingADeviceRunsThere(t *testing.T) {
	d := started(t, 80, 24, plainLook, twoH200, onDevice("emu", 0)).press("7", "j", "enter")
	if got := d.last(); got.Device != 1 || got.Backend != "cuda" {
		t.Fatalf("ran on device %d of %s", got.Device, got.Backend)
	}
	d.pulses(1)
	for _, want := range []string{"MIG", "not told", "✗ power limit, temperature (hardware)"} {
		if !contains(d.text(), want) {
			t.Errorf("the second device's state does not say %q:\n%s", want, d.text())
		}
	}
	d.send(tea.MouseClickMsg{X: 4, Y: topLines + 1, Button: tea.MouseLeft})
	if sel, _ := d.m.pane.gpu.Selected(); sel.Ordinal != 0 {
		t.Errorf("the click chose device %d", sel.Ordinal)
	}
	d.send(tea.MouseClickMsg{X: 4, Y: topLines + 1, Button: tea.MouseLeft})
	if got := d.last(); got.Device != 0 || got.Backend != "cuda" {
		t.Errorf("the second click ran on device %d", got.Device)
	}
}

// TestTheViewOpensOnTheRunsDevice: the list was asked for by the status bar, before the view was seen.
func TestTheViewOpensOnTheRunsDevice(t *testing.T) {
	d := started(t, 80, 24, plainLook, twoH200, onDevice("cuda", 1)).pulses(2)
	mon := d.e.gpu.monitor
	if mon == nil || mon.device != 1 {
		t.Fatalf("the status bar watches %+v", mon)
	}
	d.press("7").pulses(1)
	if sel, ok := d.m.pane.gpu.Selected(); !ok || sel.Ordinal != 1 || d.e.gpu.monitor != mon {
		t.Errorf("the view opens on device %d, with another monitor: %v", sel.Ordinal, d.e.gpu.monitor != mon)
	}
	if d.press("k").pulses(1); d.e.gpu.monitor.device != 0 || !mon.closed {
		t.Errorf("the cursor is on device 0, %d is watched", d.e.gpu.monitor.device)
	}
	if d.press("1").pulses(1); d.e.gpu.monitor.device != 1 {
		t.Errorf("back in Pipe, %d is watched", d.e.gpu.monitor.device)
	}
}

func TestNoGPUSaysWhyAndWhatElse(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("7")
	for _, want := range []string{"no CUDA driver found", "THE EMULATOR RUNS INSTEAD", "an NVIDIA driver, 525 or newer"} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	d.press("G")
	if d.press("enter"); d.e.gpu.asked != 2 {
		t.Errorf("Enter asked %d times", d.e.gpu.asked)
	}
}

func TestTheDevicesStateIsCopied(t *testing.T) {
	d := started(t, 80, 24, plainLook, twoH200).press("7").pulses(1)
	if text := d.m.yanked(); !contains(text, "GPU 0\tNVIDIA H200 sm_90") || !contains(text, "power\t258 W of 700") || !contains(text, "throttled\tidle") {
		t.Errorf("copied %q", text)
	}
	d = started(t, 80, 24, plainLook).press("7")
	if text := d.m.yanked(); !contains(text, "no CUDA driver found") || !contains(text, "NVRTC\ttrue\t12.0") {
		t.Errorf("copied %q", text)
	}
}

func TestNoNVMLSaysWhy(t *testing.T) {
	d := started(t, 80, 24, plainLook, twoH200)
	d.e.gpu.monErr = errors.New("no NVML: this user may not talk to the driver")
	if d.press("7"); !contains(d.text(), "no NVML: this user may not talk to the driver. Kernels run") {
		t.Errorf("the view does not say why:\n%s", d.text())
	}
}

func TestColumnsBesideEachOther(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(debugkern.Request{Target: "stage2", Backend: "both"}), twoH200).press("2")
	d.command("stage P").command("kv 1").press("D").hasStatus("GPU, emulator, reference, error")
	for _, want := range []string{"GPU f16", "EMULATOR ≠25", "REFERENCE", "ERROR"} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	d.press("n")
	if c := d.m.cursor; c.Row != 0 || c.Col != 3 || c.Stage != "P" {
		t.Errorf("n went to %+v, expected the first differing cell", c)
	}
	if !contains(d.text(), "≠ +1 ulp") {
		t.Errorf("the cell's line does not tell the difference:\n%s", d.text())
	}
	d.press("n", "N", "D").hasStatus("difference")
	golden.RequireEqual(t, d.text()+"\n")
	if d.press("D"); contains(d.text(), "EMULATOR") {
		t.Error("the third D does not go back")
	}
	d.press("D").command("stage S").press("n").hasStatus("no cell where GPU and emulator differ in S")
}

func TestFourColumnsFit(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := started(t, size[0], size[1], plainLook, withRequest(debugkern.Request{Target: "stage2", Backend: "both"}), twoH200).press("2", "D")
		for _, stage := range []string{"Q", "S", "m", "P", "U"} {
			d.command("stage "+stage).press("$", "G")
			for range 3 {
				for range 3 {
					fits(t, d, stage)
					d.press("z")
				}
				d.press("D")
			}
		}
	}
}

func TestColumnsWithoutASecondBackend(t *testing.T) {
	d := started(t, 80, 24, plainLook).press("2", "D")
	d.hasStatus("backend both")
	if contains(d.text(), "EMULATOR") {
		t.Error("columns changed all the same")
	}
}

func TestFailedRunOnTheGPUOffersTheEmulator(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook, twoH200, onDevice("cuda", 0))
	d.e.fail = failedWith("run", "kernel sdpa, launch 1 of 10: access to an illegal address", "", 0)
	d.do(d.m.Init())
	if !contains(d.text(), "RUN FAILED: 1 error") || !contains(d.text(), "X runs the same launch on the emulator") {
		t.Fatalf("the failure:\n%s", d.text())
	}
	if d.press("5"); !contains(d.text(), "diagnoses on the emulator, which can show where") {
		t.Errorf("Races:\n%s", d.text())
	}
	d.press("1")
	d.e.fail = nil
	d.press("X").hasStatus(":backend cuda goes back")
	if got := d.last(); got.Backend != "emu" {
		t.Errorf("X ran on %q", got.Backend)
	}
	if contains(d.text(), "FAILED") {
		t.Errorf("the failure is still on screen:\n%s", d.text())
	}
}

func TestCompileErrorIsShownAtItsLine(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := newDriver(t, size[0], size[1], plainLook)
		d.e.fail = failedWith("build", "mine.cu:33: identifier \"foo\" is undefined (and 1 more errors)", "mine.cu", 33)
		d.do(d.m.Init())
		for _, s := range []keymap.Scope{keymap.Pipe, keymap.Tile} {
			d.press(fmt.Sprint(int(s)))
			fits(t, d, "failure")
			for _, want := range []string{"BUILD FAILED", "mine.cu:33: identifier", "line 33 of mine.cu"} {
				if !contains(d.text(), want) {
					t.Errorf("nothing says %q:\n%s", want, d.text())
				}
			}
		}
		if file, line := d.m.sourcePlace(); file != "mine.cu" || line != 33 {
			t.Errorf("the editor would open %s:%d", file, line)
		}
		d.press("tab", "j", "y").hasStatus("copied")
	}
}

// TestEveryDiagnosticIsListed: errors and warnings, each with its place, and the source follows the cursor.
func TestEveryDiagnosticIsListed(t *testing.T) {
	d := newDriver(t, 80, 24, plainLook)
	failed := failedWith("build", "mine.cu:33:9: no such thing (and 1 more errors)", "mine.cu", 33).(*debugkern.Error)
	failed.Report.Error.Diagnostics = []debugkern.Diagnostic{
		{File: "mine.cu", Line: 33, Col: 9, Severity: "error", Message: "no such thing"}, {File: "mine.cu", Line: 41, Severity: "error", Message: "expected a ;"},
		{File: "mine.cu", Line: 7, Severity: "warning", Message: "unused"},
	}
	d.e.fail = failed
	d.do(d.m.Init())
	for _, want := range []string{"BUILD FAILED: 2 errors", "✗ mine.cu:33:9: no such thing", "~ mine.cu:7: unused", "line 33 of mine.cu"} {
		if !contains(d.text(), want) {
			t.Errorf("nothing says %q:\n%s", want, d.text())
		}
	}
	if d.press("n"); !contains(d.text(), "line 41 of mine.cu") {
		t.Errorf("the source does not follow:\n%s", d.text())
	}
	if file, line := d.m.sourcePlace(); file != "mine.cu" || line != 41 {
		t.Errorf("the editor would open %s:%d", file, line)
	}
}

// failedWith is a run that ended without a verdict.
func failedWith(stage, message, file string, line int) error {
	e := &debugkern.ErrorDoc{Stage: stage, Message: message}
	if file != "" {
		e.Source = &debugkern.SourceDoc{File: file, Line: line}
	}
	r := &debugkern.Report{Verdict: debugkern.Failed, Error: e, Backend: debugkern.BackendDoc{Name: "cuda", Device: "NVIDIA H200", Builder: "nvrtc"}}
	return &debugkern.Error{Code: debugkern.CodeFailed, Err: errors.New(message), Report: r}
}

// SourceText makes the fake an engine that knows sources.
func (e *fakeEngine) SourceText(_ context.Context, _ debugkern.Request, file string) []string {
	if file != "mine.cu" {
		return nil
	}
	out := make([]string, 60)
	for i := range out {
		out[i] = fmt.Sprintf("int x%d; // line %d of mine.cu", i, i+1)
	}
	return out
}

// TestAChangedSourceRunsAgain: the same stamp twice, and another than before.
func TestAChangedSourceRunsAgain(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels/sdpa_fp8_stage_c_wmma.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(mine, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: mine}))
	look := func(stamp string) int {
		d.send(sourceMsg{d.m.file.path, stamp})
		return len(d.e.asked())
	}
	look("a")
	if n := look("a"); n != 1 {
		t.Fatalf("%d runs after a file was first seen", n)
	}
	if n := look("b"); n != 1 {
		t.Errorf("%d runs in the middle of a write", n)
	}
	if n := look("b"); n != 2 {
		t.Errorf("%d runs after a change", n)
	}
}

func TestProgressIsOneLineOfStages(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for p, want := range map[debugkern.Progress]string{
		{Phase: "build", Detail: "nvrtc"}:                  "●build nvrtc ▸ ○launch ▸ ○compare",
		{Phase: "run", Detail: "H200", Done: 3, Total: 10}: "✓build ▸ ●launch H200 3/10 ▸ ○compare",
		{Phase: "explain", Detail: "P"}:                    "✓build ▸ ✓launch ▸ ●compare P",
	} {
		if got := progressText(d.m.th, p); got != want {
			t.Errorf("%+v: %q, expected %q", p, got, want)
		}
	}
}
