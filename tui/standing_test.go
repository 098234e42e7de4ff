package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	"tilescope/tui/request"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
)

const wasFaulty = "previous run: stage2 p-stale-m validation seed 0"

// verdictWords are what an undimmed screen may not say while the only verdict is an earlier run's.
// ✓build is progress.
var verdictWords = []string{
	"DIVERGE", "diverge", "guilty", "tainted", "✗24", "✗ wrong", "> bound", "uninitialised",
}

// unmarked are the lines of the body on which a verdict stands in another style than the dim one.
func unmarked(d *driver) []string {
	dim := string(d.m.Theme.Dim)
	var out []string
	for _, line := range d.m.screen()[topLines : d.m.h-bottomLines] {
		for _, part := range strings.Split(line, "\x1b[0m") {
			for _, styled := range styledParts(part) {
				if strings.HasPrefix(styled, strings.TrimPrefix(dim, "\x1b[0")) {
					continue
				}
				for _, w := range verdictWords {
					if strings.Contains(ansi.Strip(styled), w) && !strings.Contains(styled, "previous run:") {
						out = append(out, w+" in "+ansi.Strip(line))
					}
				}
			}
		}
	}
	return out
}

// styledParts splits a line where its style changes; each part begins with what its sequence
// says after the reset.
func styledParts(line string) []string { return strings.Split(line, "\x1b[0") }

var colourLook = Look{Profile: colorprofile.TrueColor}

// errNoCompiler is what an engine answers that has no compiler for what is not in the archive.
var errNoCompiler = &report.Error{
	Code: report.CodeUnavailable,
	Err: build.Missing(errors.New(
		"sdpa_fp8_stage_c_wmma USE_CP_ASYNC=0 is not in the embedded archive and cannot be built: " +
			"no NVRTC: looked for libnvrtc.so.12 and libnvrtc.so in .toolchain, $CUDA_HOME/lib64, $CUDA_PATH/lib64, /usr/local/cuda/lib64 and the loader's path; nvcc is not in $PATH either (tilescope doctor says what to install)")),
}

// TestWhatIsMissing: the page of a request that lacks something names what it lacks: a compiler, consent to
// one, or a GPU, each with the terminal's own commands.
func TestWhatIsMissing(t *testing.T) {
	const compiler, kernels = "tilescope doctor", "tilescope kernels"
	const trusting, gpu = ":trust asks again", ":backend emu"
	refused := &trust.Refused{Path: "/w/nvrtc.so", Dir: "/w/.toolchain", Reason: "it is not trusted"}
	for _, c := range []struct {
		name, command string
		err           error
		want, not     []string
	}{
		{"a driver", "backend cuda", errors.New("backend cuda: no CUDA driver found (tilescope doctor says what is " +
			"missing; --backend emu runs without a GPU)"), []string{gpu, compiler},
			[]string{kernels, "--backend", trusting}},
		{"a compiler", "seed 3", build.Missing(errors.New("no NVRTC")), []string{compiler, kernels},
			[]string{gpu, trusting}},
		{"consent", "seed 3", build.Missing(refused), []string{trusting, kernels, "(to use it: :trust)"},
			[]string{gpu, "--trust"}},
	} {
		d := started(t, 120, 40, plainLook)
		d.e.Fail = &report.Error{Code: report.CodeUnavailable, Err: c.err}
		d.command(c.command)
		text := strings.Join(strings.Fields(d.text()), " ")
		for _, s := range c.want {
			if !strings.Contains(text, s) {
				t.Errorf("%s: the page does not say %q:\n%s", c.name, s, d.text())
			}
		}
		for _, s := range c.not {
			if strings.Contains(text, s) {
				t.Errorf("%s: the page says %q:\n%s", c.name, s, d.text())
			}
		}
	}
}

// TestAnEarlierRunIsDimmedAndHeaded: while another request runs, after it was cancelled, and where it could
// not run, no view shows a verdict of the run before other than dimmed, below that run's own request.
func TestAnEarlierRunIsDimmedAndHeaded(t *testing.T) {
	states := []struct {
		name  string
		reach func(d *driver)
		top   string
	}{
		{"under way", func(d *driver) { d.Manual = true; d.command("seed 5") }, "running"},
		{
			"cancelled", func(d *driver) {
				d.Manual = true
				d.command("seed 5").press("esc")
				d.Manual = false
			}, "not run",
		},
		{"failed", func(d *driver) { d.e.Fail = errNoCompiler; d.command("seed 5") }, "✗ failed"},
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for _, v := range append([]keymap.Scope{view.Races}, allViews...) {
			for _, st := range states {
				t.Run(fmt.Sprintf("%s/%s/%dx%d", v, st.name, size[0], size[1]), func(t *testing.T) {
					d := started(t, size[0], size[1], colourLook, withRequest(faulty))
					d.open(v)
					st.reach(d)
					d.Manual = true
					d.open(v)
					checkMarked(t, d, v)
					if top := ansi.Strip(d.m.topLine().draw()); !contains(top, st.top) ||
						!contains(top, "seed 5") {
						t.Errorf("the top line does not say %q of seed 5: %s", st.top, top)
					}
				})
			}
		}
	}
}

func checkMarked(t *testing.T, d *driver, v keymap.Scope) {
	t.Helper()
	fits(t, d, string(v))
	for _, l := range unmarked(d) {
		t.Errorf("not dimmed: %s", l)
	}
	if v == view.GPU || v == view.Gates { // they draw nothing of this run
		return
	}
	seen := d.text()
	for k := range 40 { // a small screen scrolls to it
		if v != view.Flags {
			break
		}
		if k == 0 {
			d.press("tab")
		}
		d.press("j")
		seen += "\n" + d.text()
		for _, l := range unmarked(d) {
			t.Errorf("not dimmed: %s", l)
		}
	}
	if !contains(running(seen, v), wasFaulty) {
		t.Errorf("nothing says %q:\n%s", wasFaulty, d.text())
	}
}

// running is a screen as running text: what is wrapped within borders is joined again. Of Flags it is what
// stands to the right of the list.
func running(screen string, v keymap.Scope) string {
	var out []string
	for _, l := range strings.Split(screen, "\n") {
		if _, about, ok := strings.Cut(l, "││"); ok && v == view.Flags {
			l = about
		}
		out = append(out, strings.Fields(strings.Trim(l, "│"))...)
	}
	return strings.Join(out, " ")
}

// TestACurrentRunIsNeitherDimmedNorHeaded is the control: the same screens once the run has ended.
func TestACurrentRunIsNeitherDimmedNorHeaded(t *testing.T) {
	for _, v := range []keymap.Scope{view.Pipe, view.Tile, view.Flags, view.Races} {
		d := started(t, 200, 60, colourLook, withRequest(faulty)).open(v)
		if len(unmarked(d)) == 0 {
			t.Errorf("%s: a verdict of the request itself is dimmed:\n%s", v, d.text())
		}
		if contains(d.text(), "previous run") {
			t.Errorf("%s: headed as a previous run:\n%s", v, d.text())
		}
	}
}

// TestEveryPartOfARequestMakesItAnother: whatever changes what runs, the verdict of the run
// before is another request's.
func TestEveryPartOfARequestMakesItAnother(t *testing.T) {
	base := debugkern.Request{Target: "stage2"}
	for name, change := range map[string]func(*debugkern.Request){
		"target":   func(r *debugkern.Request) { r.Target = "stage1" },
		"shape":    func(r *debugkern.Request) { r.Shape = "small" },
		"seed":     func(r *debugkern.Request) { r.Seed = 3 },
		"flag":     func(r *debugkern.Request) { r.Set = map[string]string{"A": "1"} },
		"fault":    func(r *debugkern.Request) { r.Faults = []string{"f"} },
		"gate":     func(r *debugkern.Request) { r.Gate = "pv" },
		"inject":   func(r *debugkern.Request) { r.Inject = "uniform" },
		"backend":  func(r *debugkern.Request) { r.Backend = "both" },
		"builder":  func(r *debugkern.Request) { r.Builder = "nvrtc" },
		"arch":     func(r *debugkern.Request) { r.Arch = "sm_90" },
		"inputs":   func(r *debugkern.Request) { r.Inputs = "x.npz" },
		"device":   func(r *debugkern.Request) { r.Device = 1 },
		"repeat":   func(r *debugkern.Request) { r.Repeat = 5 },
		"schedule": func(r *debugkern.Request) { r.Schedule = "random:7" },
		"blocks":   func(r *debugkern.Request) { r.Blocks[0] = debugkern.Span{Lo: 0, N: 1} },
		"tiles":    func(r *debugkern.Request) { r.Tiles = debugkern.Span{Lo: 0, N: 2} },
		"stages":   func(r *debugkern.Request) { r.Stages = []probes.Stage{"S"} },
		"check":    func(r *debugkern.Request) { r.Check = 1 },
		"plain":    func(r *debugkern.Request) { r.Plain = true },
	} {
		other := request.Clone(base)
		change(&other)
		if request.Same(base, other) {
			t.Errorf("%s: the same request", name)
		}
		if name != "target" && len(request.Deviations(other)) != 1 {
			t.Errorf("%s: the top line would say %v", name, request.Deviations(other))
		}
		if request.InFull(base) == request.InFull(other) || len(request.Differences(base, other)) != 1 {
			t.Errorf("%s: both are called %q; they differ in %q", name, request.InFull(base),
				request.Differences(base, other))
		}
	}
	usual := debugkern.Request{
		Target: "stage2", Shape: "validation", Inject: "reference", Backend: "auto", Builder: "auto",
		Schedule: "in-order:0", Repeat: 10, Set: map[string]string{}, Faults: []string{},
	}
	if !request.Same(base, usual) || len(request.Deviations(usual)) != 0 {
		t.Errorf("defaults written out are another request: %v", request.Deviations(usual))
	}
}

// TestAFailureTakesThePane: its whole reason, wrapped, what to do, and how to get back, in every view
// that would show a run.
func TestAFailureTakesThePane(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for _, v := range []string{"1", "2", "4", "5", "8"} {
			d := started(t, size[0], size[1], plainLook).press(v)
			d.e.Fail = errNoCompiler
			d.command("set USE_CP_ASYNC=0")
			if v == "4" {
				d.press("tab")
			}
			scope, seen := d.m.Keys.Scopes()[v[0]-'1'], d.text()
			for range 40 { // what a small pane does not show at once, it scrolls to
				if v != "4" {
					break
				}
				d.press("j")
				seen += "\n" + d.text()
			}
			text := running(seen, scope)
			for _, word := range []string{
				"libnvrtc.so.12", "loader's path", "$PATH", "tilescope doctor", "tilescope kernels",
				":undo", "previous run: stage2 validation seed 0",
			} {
				if !contains(text, word) {
					t.Errorf("view %s at %v does not say %q:\n%s", v, size, word, seen)
				}
			}
		}
	}
}

// TestASwitchSaysWhatItHasChanged: the status of a flag or a fault says what differs from the run before;
// that of a seed, a shape or a gate, whose numbers are of another problem, the verdict.
func TestASwitchSaysWhatItHasChanged(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	d.command("fault p-stale-m").hasStatus("p-stale-m on · P: 0 bad cells in all blocks → ")
	d.command("fault p-stale-m").hasStatus("p-stale-m off · P: ")
	d.command("seed 3").hasStatus("seed 3 · ✓ agree")
	d.command("shape mission").hasStatus("shape mission · ✓ agree")
	// what loads in Source is silent
	d.open(view.Source).command("fault p-stale-m").hasStatus("p-stale-m on · P: ")
	d.Manual = true
	d.command("seed 4")
	d.press("j") // the status is of another key by now
	kept := d.Kept
	d.Manual = false
	for _, cmd := range kept {
		d.do(cmd)
	}
	if got := d.m.Status.Text; strings.Contains(got, "seed 4") {
		t.Errorf("status %q", got)
	}
}

// TestAPinnedComparisonIsOfItsRun: A compared with B shows no verdict for a B that has not run, and a
// bisection keeps its heading.
func TestAPinnedComparisonIsOfItsRun(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty)).press("4", "a")
	d.press("B")
	d.Manual = true
	d.command("seed 9")
	for _, want := range []string{"B stage2 p-stale-m seed 9", "running", wasFaulty} {
		if !contains(d.text(), want) {
			t.Errorf("no %q:\n%s", want, d.text())
		}
	}
	if n := strings.Count(d.text(), wasFaulty); n != 2 { // the verdict's and the bisection's
		t.Errorf("%d headings:\n%s", n, d.text())
	}
}

// TestOutcomeKeepsItsRequest: no verdict comes without the request it answers.
func TestOutcomeKeepsItsRequest(t *testing.T) {
	r := &report.Run{Verdict: report.Agree}
	if o := outcome.New("stage2 validation seed 0", r, true); o.Current() != nil || o.Report() != r ||
		o.Heading() != "previous run: stage2 validation seed 0" {
		t.Errorf("a previous run: %+v", o)
	}
	if o := outcome.New("stage2", r, false); o.Current() != r || o.Heading() != "" {
		t.Errorf("a current run: %+v", o)
	}
	if o := (outcome.Outcome{}); o.Previous() || o.Heading() != "" {
		t.Errorf("no run: %+v", o)
	}
}

// TestADiagnosisEndsWithItsSource: once a person's source has changed, what was diagnosed before
// is of another kernel.
func TestADiagnosisEndsWithItsSource(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRaces(&tuitest.Races{})).press("5", "d")
	if !contains(d.text(), "STORY") {
		t.Fatal("nothing was diagnosed")
	}
	f := d.m.file
	f.settled, f.looked, f.same = map[string]string{"k.cu": "1"},
		map[string]watchedFile{"k.cu": {stamp: "2"}}, 1
	d.send(sourceMsg{roots: f.roots, files: f.looked})
	if contains(d.text(), "STORY") {
		t.Errorf("the diagnosis of the source before is on screen:\n%s", d.text())
	}
}
