package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/request"
	"tilescope/tui/tuitest"
)

// laden is a request of which nearly everything differs from the default.
var laden = debugkern.Request{
	Target: "stage2", Set: map[string]string{"USE_CP_ASYNC": "0"}, Faults: []string{"p-stale-m"}, Gate: "pv",
	Inject: "uniform", Shape: "mission", Seed: 7, Schedule: "random:12345", Backend: "emu", Builder: "nvrtc",
	Arch: "sm_90", Device: 1, Blocks: debugkern.Region{{Lo: 0, N: 4}, {Lo: 0, N: 1}, {Lo: 0, N: 1}},
	Plain: true,
}

// TestWhatChangesARunIsOnTheTopLine: every deviation of the request from the default is there, or counted, at
// every size and in every state of a run.
func TestWhatChangesARunIsOnTheTopLine(t *testing.T) {
	for _, w := range []int{80, 100, 120, 200} {
		all := request.Deviations(laden)
		for n := range len(all) + 1 {
			d := started(t, w, 40, plainLook)
			req := debugkern.Request{Target: "stage2"}
			for _, dev := range all[:n] {
				take(&req, dev.Name)
			}
			for _, job := range []bool{true, false} {
				d.m.Req, d.m.Job.Active = req, job
				if !job {
					now := *d.m.Run
					now.Request = req
					d.m.Run = &now
				}
				checkTopLine(t, d, w)
			}
		}
	}
}

// take gives req one part of laden.
func take(req *debugkern.Request, name string) {
	switch name {
	case "USE_CP_ASYNC":
		req.Set = laden.Set
	case "p-stale-m":
		req.Faults = laden.Faults
	case "gate":
		req.Gate = laden.Gate
	case "inject":
		req.Inject = laden.Inject
	case "shape":
		req.Shape = laden.Shape
	case "seed":
		req.Seed = laden.Seed
	case "schedule":
		req.Schedule = laden.Schedule
	case "backend":
		req.Backend = laden.Backend
	case "builder":
		req.Builder = laden.Builder
	case "arch":
		req.Arch = laden.Arch
	case "device":
		req.Device = laden.Device
	case "blocks":
		req.Blocks = laden.Blocks
	case "plain":
		req.Plain = laden.Plain
	default:
		panic("no part " + name)
	}
}

func checkTopLine(t *testing.T, d *driver, w int) {
	t.Helper()
	top := ansi.Strip(d.m.topLine().draw())
	if d.m.Theme.Width(top) != w {
		t.Errorf("%d columns of %d: %s", d.m.Theme.Width(top), w, top)
	}
	missing := 0
	for _, dev := range request.Deviations(d.m.Req) {
		if !contains(strings.ReplaceAll(top, "●emu", ""), dev.Short) {
			missing++
		}
	}
	counted := 0
	if _, more, ok := strings.Cut(top, "…+"); ok {
		fmt.Sscanf(more, "%d", &counted)
	}
	if missing != counted {
		t.Errorf("%d columns: %d of %d not said, %d counted: %s", w, missing,
			len(request.Deviations(d.m.Req)), counted, top)
	}
	want := d.m.Theme.VerdictMark(d.m.Run.Report.Verdict) + " " + d.m.Run.Report.Verdict
	if state := d.m.Standing(); state != "" {
		want = state
	}
	if !contains(top, want) {
		t.Errorf("%d columns: the top line does not say %q: %s", w, want, top)
	}
}

// TestAReplayEndsWithItsRun: while it is on screen the top line says so; the next run has the schedule and
// backend from before.
func TestAReplayEndsWithItsRun(t *testing.T) {
	next := map[string]func(d *driver) *driver{
		"again":   func(d *driver) *driver { return d.press("x") },
		"seed":    func(d *driver) *driver { return d.command("seed 3") },
		"fault":   func(d *driver) *driver { return d.command("fault p-stale-m") },
		"gate":    func(d *driver) *driver { return d.command("gate qk") },
		"shape":   func(d *driver) *driver { return d.command("shape small") },
		"variant": func(d *driver) *driver { return d.command("variant stage1") },
	}
	for name, act := range next {
		for _, before := range []debugkern.Request{
			{Target: "stage2"}, {Target: "stage2", Schedule: "reverse:4", Backend: "both"},
		} {
			d := started(t, 80, 24, plainLook, withRequest(before), withRaces(&tuitest.Races{})).
				press("5", "d")
			d.press("p").hasStatus("random:7")
			d.hasStatus("p or :undo ends")
			if got := d.last(); got.Schedule != "random:7" || got.Backend != "emu" {
				t.Fatalf("replayed %+v", got)
			}
			if top := ansi.Strip(d.m.topLine().draw()); !contains(top, "replay random:7") || !d.m.Current() {
				t.Errorf("the top line does not say that this is a replay: %s", top)
			}
			act(d)
			if got := d.last(); got.Schedule != before.Schedule || got.Backend != before.Backend {
				t.Errorf("%s after a replay, %q on %q before: ran %q on %q", name, before.Schedule,
					before.Backend, got.Schedule, got.Backend)
			}
			if top := ansi.Strip(d.m.topLine().draw()); contains(top, "replay") || contains(top, "random:7") {
				t.Errorf("%s: the replay is still on the top line: %s", name, top)
			}
		}
	}
}

// TestAReplayIsNotRemembered: the next session does not begin with its backend.
func TestAReplayIsNotRemembered(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRaces(&tuitest.Races{})).press("5", "d", "p")
	if got := d.m.remembered().Backend; got != "" {
		t.Errorf("backend %q is remembered", got)
	}
}

// TestShapeAndSeedAtEveryWidth: places are written short before shape and seed are left out.
// TestAHangIsOnTheTopLine: a launch that ends before any stage is judged says why it is no good, not how many
// stages are left.
func TestAHangIsOnTheTopLine(t *testing.T) {
	d := started(t, 120, 40, plainLook, withRequest(faulty))
	r := d.m.Run.Report
	f := &r.Findings[0]
	r.Guilty, f.Kind, f.Severity, f.Variable = nil, "hang", "error", "k_empty"
	for i := range r.Stages {
		r.Stages[i].Verdict = report.Off
	}
	if top := ansi.Strip(d.m.topLine().draw()); !strings.Contains(top, "✗ diverge · hang k_empty") {
		t.Errorf("%s", top)
	}
	r.Guess = "grid 3"
	if top := ansi.Strip(d.m.topLine().draw()); !strings.Contains(top, ", launch guessed · hang k_empty") {
		t.Errorf("%s", top)
	}
	f.Severity = "advice"
	if top := ansi.Strip(d.m.topLine().draw()); !strings.Contains(top, ", launch guessed · 0 of ") {
		t.Errorf("%s", top)
	}
	r.Guess = ""
	f.Severity = "advice"
	if top := ansi.Strip(d.m.topLine().draw()); !strings.Contains(top, "✗ diverge 0 of ") {
		t.Errorf("%s", top)
	}
}

func TestShapeAndSeedAtEveryWidth(t *testing.T) {
	for _, w := range []int{80, 100, 120, 200} {
		d := newDriver(t, w, 24, plainLook)
		d.do(d.m.Choose(debugkern.Request{Target: "stage2", Faults: []string{"p-stale-m"}}, ""))
		if top := ansi.Strip(d.m.topLine().draw()); !strings.Contains(top, "validation seed 0") {
			t.Errorf("%d columns: %s", w, top)
		}
	}
}
