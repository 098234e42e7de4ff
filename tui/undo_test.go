package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/request"
	"tilescope/tui/tuitest"
)

// withKernels opens the terminal on the embedded catalogue.
func withKernels(t testing.TB) func(*Options) {
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Engine.(*tuitest.Engine).Cat = cat }
}

// TestUndoOfARequestThatCannotRun goes back to the request of the run that ended well.
func TestUndoOfARequestThatCannotRun(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	d.command("undo").hasStatus("nothing to undo: no other request has run before this one")
	d.e.Fail = errNoCompiler
	d.command("set USE_CP_ASYNC=0").press("2", "j", "J", "L", "enter", "n")
	if d.m.Current() || !d.m.Failing() {
		t.Fatal("the failed request counts as run")
	}
	d.e.Fail = nil
	d.command("revert") // another name
	if got := d.last(); !request.Same(got, debugkern.Request{Target: "stage2"}) || !d.m.Current() {
		t.Errorf("ran %+v", got)
	}
	if contains(d.text(), "NOT RUN") || contains(d.text(), "previous run") {
		t.Errorf("still marked:\n%s", d.text())
	}
}

// TestUndoGoesBackRunByRun: every request that ran is gone back to, once each and in its order, whatever was
// switched; redo goes the same way forwards.
func TestUndoGoesBackRunByRun(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	ran := []debugkern.Request{d.last()}
	for _, line := range []string{"shape mission", "flag USE_WMMA_PV off", "flag USE_WMMA_PV on", "gate qk",
		"gate none", "seed 4", "fault p-stale-m", "schedule reverse", "variant stage1", "open stage2"} {
		if line == "open stage2" { // another way to another target
			d.do(d.m.opened(openedMsg{gen: d.m.Task.Gen, words: []string{"stage2"},
				opened: Opened{Request: debugkern.Request{Target: "stage2", Seed: 9}}}))
		} else {
			d.command(line)
		}
		ran = append(ran, d.last())
		d.press("x") // the same request again is no other
	}
	for i := len(ran) - 2; i >= 0; i-- {
		d.command("undo")
		if got := d.last(); !request.Same(got, ran[i]) {
			t.Fatalf("undo %d: ran %s, expected %s", i, request.InFull(got), request.InFull(ran[i]))
		}
		d.hasStatus("undo: back to " + request.InFull(ran[i]))
	}
	d.command("undo").hasStatus("nothing to undo")
	for _, want := range ran[1:] {
		d.command("redo")
		if got := d.last(); !request.Same(got, want) {
			t.Fatalf("redo: ran %s, expected %s", request.InFull(got), request.InFull(want))
		}
	}
	d.command("redo").hasStatus("nothing to redo")
	d.command("undo").command("seed 77").command("redo").hasStatus("nothing to redo")
	d.command("undo")
	if got := d.last(); !request.Same(got, ran[len(ran)-2]) {
		t.Errorf("after another way: ran %s", request.InFull(got))
	}
}

// TestUndoForgetsTheOldest keeps a bounded number, and says where it ends.
func TestUndoForgetsTheOldest(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	for i := range maxUndo + 5 {
		d.m.undone.ran(d.m, debugkern.Request{Target: "stage2", Seed: uint64(i)})
	}
	if n := len(d.m.undone.list); n != maxUndo {
		t.Fatalf("%d are kept", n)
	}
	d.m.undone.at = 0
	d.m.Req = d.m.undone.list[0].req
	d.command("undo").hasStatus(fmt.Sprintf("the oldest of the %d requests", maxUndo))
}

// TestResetTakesBackAllThatTheTopLineShows: whatever the top line shows of a request, reset takes it back. It
// says that nothing differs only where the top line shows nothing.
func TestResetTakesBackAllThatTheTopLineShows(t *testing.T) {
	d := started(t, 200, 40, plainLook)
	d.command("reset").hasStatus("at its default already")
	for _, dev := range request.Deviations(laden) {
		req := debugkern.Request{Target: "stage2"}
		take(&req, dev.Name)
		if dev.Name == "inject" {
			req.Gate = "pv"
		}
		d.do(d.m.Start(req))
		if len(request.Deviations(d.m.Req)) == 0 {
			t.Fatalf("%s makes no difference", dev.Name)
		}
		d.command("reset")
		if strings.Contains(d.m.Status.Text, "already") || len(request.Deviations(d.m.Req)) > 0 {
			t.Errorf("%s: %s, and the top line has %v", dev.Name, d.m.Status.Text,
				request.Deviations(d.m.Req))
		}
		d.hasStatus("reset: ")
		d.command("reset").hasStatus("at its default already")
	}
	d.do(d.m.Start(laden))
	d.command("reset")
	if got := d.last(); !request.Same(got, debugkern.Request{Target: "stage2"}) {
		t.Errorf("ran %s", request.InFull(got))
	}
	for _, line := range []string{"backend cuda", "builder nvcc"} { // of a request that could not run
		d.e.Fail = errNoCompiler
		d.command(line)
		d.e.Fail = nil
		d.command("reset").hasStatus("reset: without " + line)
		if top := ansi.Strip(d.m.topLine().draw()); contains(top, line) || !contains(top, "✓ agree") {
			t.Errorf("%s: %s", line, top)
		}
	}
}

// hosted is an engine whose workers can be on another machine.
type hosted struct {
	*tuitest.Engine
	name string
}

func (h *hosted) Host() string { return h.name }
func (h *hosted) SetHost(name string) error {
	h.name = name
	return nil
}

// TestTheHostIsOnTheTopLine as long as another machine executes, and reset goes back to this one.
func TestTheHostIsOnTheTopLine(t *testing.T) {
	var h *hosted
	d := started(t, 120, 40, plainLook, func(o *Options) {
		h = &hosted{Engine: o.Engine.(*tuitest.Engine)}
		o.Engine = h
	})
	d.command("host box")
	if top := ansi.Strip(d.m.topLine().draw()); !contains(top, "▸host box") {
		t.Errorf("no host: %s", top)
	}
	d.command("seed 3").command("reset").hasStatus("reset: without seed 3, without host box")
	if top := ansi.Strip(d.m.topLine().draw()); contains(top, "box") || h.name != "" {
		t.Errorf("still there: %s", top)
	}
	d.command("host box").command("reset").hasStatus("reset: without host box")
}

// TestResetKeepsWhatHasNoDefault: a kernel without named shapes keeps the one it has, and reset says so.
func TestResetKeepsWhatHasNoDefault(t *testing.T) {
	d := started(t, 120, 40, plainLook,
		withRequest(debugkern.Request{Target: "stage2", Shape: "1,1,32,64"}))
	man, _ := d.m.Manifest()
	was := man.Shapes
	t.Cleanup(func() { man.Shapes = was })
	man.Shapes = nil
	d.command("reset").hasStatus("nothing else differs from its default · shape 1,1,32,64 stays: ")
}

// TestAVariantsOwnFaults are on where the variant is chosen. Each can be taken out, which leads to the
// variant that does not have it, with the others on top; put in again it leads back.
func TestAVariantsOwnFaults(t *testing.T) {
	d := started(t, 120, 40, plainLook, withKernels(t),
		withRequest(debugkern.Request{Target: "stage3b-reported"}))
	d.press("4")
	item := func(name, mark string) {
		t.Helper()
		d.press("/").typed(name).press("enter")
		for _, l := range strings.Split(d.text(), "\n") {
			if strings.Contains(l, "] "+name) {
				if !strings.Contains(l, mark+" "+name) {
					t.Errorf("%s is not %s: %s", name, mark, l)
				}
				return
			}
		}
		t.Errorf("no %s:\n%s", name, d.text())
	}
	item("softmax-race", "[x]")
	item("lut-order", "[x]")
	if !contains(d.text(), "of the variant") ||
		!contains(d.text(), "It is of variant stage3b-reported itself.") {
		t.Errorf("where it comes from is not said:\n%s", d.text())
	}
	d.command("fault lut-order on").hasStatus("lut-order is on already")
	d.press(" ")
	want := debugkern.Request{Target: "stage3b", Faults: []string{"softmax-race"}}
	if got := d.last(); !request.Same(got, want) {
		t.Fatalf("ran %s", request.InFull(got))
	}
	d.hasStatus("lut-order off · target stage3b: lut-order is of stage3b-reported itself")
	if top := ansi.Strip(d.m.topLine().draw()); !contains(top, "stage3b▸softmax-race") {
		t.Errorf("%s", top)
	}
	item("lut-order", "[ ]")
	item("softmax-race", "[x]")
	d.command("flag USE_KV_LUT on").command("fault lut-order on").hasStatus("target stage3b-reported again")
	want = debugkern.Request{Target: "stage3b-reported", Set: map[string]string{"USE_KV_LUT": "1"}}
	if got := d.last(); !request.Same(got, want) {
		t.Errorf("ran %s", request.InFull(got))
	}
	d.command("fault none").hasStatus("lut-order, softmax-race off · target stage3b: ")
	if got := d.last(); got.Target != "stage3b" || len(got.Faults) > 0 || got.Set["USE_KV_LUT"] != "1" {
		t.Errorf("ran %s", request.InFull(got))
	}
	d.command("fault none").hasStatus("no fault is on")
	d.command("reset")
	if got := d.last(); !request.Same(got, debugkern.Request{Target: "stage3b-reported"}) {
		t.Errorf("reset ran %s", request.InFull(got))
	}
	d.command("fault kv-lut-overlap on").hasStatus("off, not planted there: lut-order softmax-race")
	d.command("fault kv-lut-overlap off").hasStatus("target stage3b-reported again")
	if got := d.last(); !request.Same(got, debugkern.Request{Target: "stage3b-reported"}) {
		t.Errorf("ran %s", request.InFull(got))
	}
}

// TestAVariantsOnlyOwnFault: where no other variant has the flags, it cannot be taken out, and that is said.
func TestAVariantsOnlyOwnFault(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	man, variant := d.m.Manifest()
	v := man.Variant(variant)
	was := man.Variants
	t.Cleanup(func() { man.Variants = was })
	only := *v
	only.Faults = []string{"kt-ld"}
	man.Variants = []configs.Variant{only}
	d.command("fault kt-ld off").hasStatus("kt-ld is of variant stage2 itself: no target of the kernel")
}

// TestAFaultLeadsBack: off and reset go back to the target, its flags and the shape from which a fault led
// away, whatever was switched since; a target that a person has asked for is never left so.
func TestAFaultLeadsBack(t *testing.T) {
	start := debugkern.Request{Target: "stage2", Set: map[string]string{"USE_CP_ASYNC_3STAGE": "1"}}
	for _, tt := range []struct {
		lines []string
		want  debugkern.Request
	}{
		{[]string{"fault kv-lut-overlap on", "fault kv-lut-overlap off"}, start},
		{[]string{"fault kv-lut-overlap on", "seed 3", "gate qk", "fault none", "gate none", "seed 0"},
			start},
		{[]string{"fault kv-lut-overlap on", "reset"}, debugkern.Request{Target: "stage2"}},
		{[]string{"fault kv-lut-overlap on", "fault kt-ld on", "fault kv-lut-overlap off"},
			debugkern.Request{Target: "stage2", Set: start.Set, Faults: []string{"kt-ld"}}},
		{[]string{"fault kv-lut-overlap on", "flag USE_SMEM_SWIZZLE_XOR on", "fault kv-lut-overlap off"},
			debugkern.Request{Target: "stage2", Set: map[string]string{"USE_CP_ASYNC_3STAGE": "1",
				"USE_SMEM_SWIZZLE_XOR": "1"}}},
		{[]string{"fault kv-lut-overlap on", "variant kvlut", "fault kv-lut-overlap off"},
			debugkern.Request{Target: "kvlut"}},
		{[]string{"variant kvlut", "fault kv-lut-overlap on", "fault kv-lut-overlap off", "reset"},
			debugkern.Request{Target: "kvlut"}},
		{[]string{"fault kv-lut-overlap on", "reset", "undo", "fault kv-lut-overlap off"}, start},
		{[]string{"fault kv-lut-overlap on", "fault none", "undo", "undo", "redo", "reset"},
			debugkern.Request{Target: "stage2"}},
		{[]string{"fault mask-missing on", "fault kt-ld on", "fault mask-missing off"},
			debugkern.Request{Target: "stage2", Set: start.Set, Faults: []string{"kt-ld"}}},
		{[]string{"fault mask-missing on", "shape partial49", "fault mask-missing off"},
			debugkern.Request{Target: "stage2", Set: start.Set, Shape: "partial49"}},
	} {
		d := started(t, 120, 40, plainLook, withKernels(t), withRequest(start))
		for _, line := range tt.lines {
			if d.command(line); d.m.Status.Bad {
				t.Errorf("%q: %s", line, d.m.Status.Text)
			}
		}
		if got := d.last(); !request.Same(got, tt.want) || d.m.Req.Gate != probes.GateNone {
			t.Errorf("%q: ran %s, expected %s", tt.lines, request.InFull(got), request.InFull(tt.want))
		}
	}
}
