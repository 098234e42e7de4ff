package flags_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/flags"
	"tilescope/tui/view/viewtest"
)

// control is the view.
func control(d *viewtest.Driver) *flags.Controller {
	return viewtest.View[*flags.Controller](d, view.Flags)
}

func TestScreens(t *testing.T) { viewtest.Screens(t, view.Flags, viewtest.Request(viewtest.Faulty)) }

// TestHelpOfSearchInFlags: / looks for names here, not for cells.
func TestHelpOfSearchInFlags(t *testing.T) {
	d := viewtest.Start(t, 120, 60, viewtest.Request(viewtest.Faulty)).Press("4", "?")
	text := d.Text()
	if !strings.Contains(text, "search: text of a name") || strings.Contains(text, "0x4140") {
		t.Errorf("help:\n%s", text)
	}
}

// TestSearchGoesThroughAllThatIsMarked: the first match is the switch of that name; n and N go on to the
// others that are marked, and around.
func TestSearchGoesThroughAllThatIsMarked(t *testing.T) {
	d := viewtest.Start(t, 120, 60).Press("4", "/", "p", "v", "enter")
	name := func() string { return control(d).Pane().Selected().Name }
	if name() != "pv" {
		t.Fatalf("the first match is %s", name())
	}
	var names []string
	for len(names) < 4 {
		d.Press("n")
		names = append(names, name())
	}
	if got := strings.Join(names, " "); got != "sync-frag stage2 USE_WMMA_PV pv" { // two by their description
		t.Errorf("n went to %s:\n%s", got, d.Text())
	}
	d.Press("n", "N")
	if name() != "pv" {
		t.Errorf("N went to %s", name())
	}
}

// TestSearchFindsWhatIsOnScreen: values and headings are searched too, and a name that has the text in other
// letters is no better than one that has it as a part: the nearest below the cursor is the first.
func TestSearchFindsWhatIsOnScreen(t *testing.T) {
	p := flags.NewPane(theme.New(theme.Options{}))
	p.SetData(flags.Data{Items: []flags.Item{
		{Kind: flags.Flag, Name: "USE_CP_ASYNC", On: true}, {Kind: flags.Flag, Name: "USE_SWIZZLE_XOR"},
		{Kind: flags.Gate, Name: "qk", Value: "DEBUG_QK_ONLY", Help: "S alone"},
		{Kind: flags.Shape, Name: "small", Help: "a gate's shape"}, {Kind: flags.Variant, Name: "swizzle"},
	}})
	for _, c := range []struct{ text, want string }{
		{"SWIZZLE", "USE_SWIZZLE_XOR"}, {"swizzle", "swizzle"}, {"DEBUG_QK", "qk"}, {"gate", "qk"},
		{"alone", "qk"}, {"nowhere", ""},
	} {
		p.Select(flags.Flag, "USE_CP_ASYNC")
		p.SetMatch(c.text)
		if found := p.Find(c.text, 1); found != (c.want != "") || found && p.Selected().Name != c.want {
			t.Errorf("%s: found %t, %s", c.text, found, p.Selected().Name)
		}
	}
}

// TestRefusedIsMarkedWhereOn: a flag that is on and cannot be switched off has the mark of the legend.
func TestRefusedIsMarkedWhereOn(t *testing.T) {
	for _, on := range []bool{false, true} {
		p := flags.NewPane(theme.New(theme.Options{}))
		p.SetSize(80, 24)
		p.SetData(flags.Data{Items: []flags.Item{{Kind: flags.Flag, Name: "USE_CP_ASYNC", On: on,
			Refused: "a fault needs it"}}})
		row := ansi.Strip(p.View()[2])
		if !strings.Contains(row, "] USE_CP_ASYNC") || !strings.Contains(row, p.Theme.Glyph.Off) {
			t.Errorf("on %t: %q", on, row)
		}
	}
}

func TestFaultBringsItsShapeAndGivesItBack(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Command("fault p-stale-columns")
	if got := d.Last(); got.Shape != "partial49" {
		t.Fatalf("shape %q", got.Shape)
	}
	d.HasStatus("shape partial49 (it needs")
	d.Command("fault p-stale-columns").HasStatus("shape validation again")
	if got := d.Last(); got.Shape != "validation" {
		t.Errorf("shape %q", got.Shape)
	}
}

// TestOnlyUnmetNeedsAreShown: of what a fault needs, what holds is not shown.
func TestOnlyUnmetNeedsAreShown(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4")
	needs := func(kind flags.Kind, name, want string) {
		t.Helper()
		p := control(d).Pane()
		if !p.Select(kind, name) || p.Selected().Needs != want {
			t.Errorf("%s needs %q, expected %q", name, p.Selected().Needs, want)
		}
	}
	needs(flags.Fault, "p-stale-columns", "S % TILE_N != 0")
	d.Command("shape partial49").Press("4")
	needs(flags.Fault, "p-stale-columns", "")
}

func TestFaultBringsItsVariant(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(debugkern.Request{Target: "scalar"})).
		Command("fault p-stale-m")
	if got := d.Last(); got.Target != "stage2" || len(got.Faults) != 1 {
		t.Errorf("ran %+v", got)
	}
	d.HasStatus("target stage2: it is planted there")
}

// TestFaultWithoutUseUnderTheFlags: a fault that can do nothing with the flags of the target names the flag
// that it needs, no shape, and brings the target that it is planted in; faults that are not planted there go.
func TestFaultWithoutUseUnderTheFlags(t *testing.T) {
	d := viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("4")
	p := control(d).Pane()
	if !p.Select(flags.Fault, "cp-async-wait") || p.Selected().Needs != "USE_WMMA_PV=0" {
		t.Fatalf("selected %+v", p.Selected())
	}
	d.Says("it can do nothing with these flags.", "Switching it on goes to target stage1.")
	d.Press("space").HasStatus("target stage1: it needs USE_WMMA_PV=0 · off, not planted there: p-stale-m")
	if got := d.Last(); got.Target != "stage1" || !reflect.DeepEqual(got.Faults, []string{"cp-async-wait"}) {
		t.Errorf("ran %+v", got)
	}
	d.Command("set USE_WMMA_PV=1").HasStatus("cp-async-wait can do nothing with these flags")
}

// TestFaultsThatExcludeEachOther: a fault whose target takes away what another one needs is refused with both
// names and the one to switch off; a flag that a fault takes back is named where the target stays.
func TestFaultsThatExcludeEachOther(t *testing.T) {
	d := viewtest.Start(t, 200, 60, viewtest.Request(debugkern.Request{Target: "stage1",
		Faults: []string{"cp-async-wait"}}))
	n := len(d.E.Asked())
	d.Command("fault p-stale-m").HasStatus("faults p-stale-m and cp-async-wait cannot be combined: " +
		"p-stale-m is planted in target stage2, and cp-async-wait needs USE_WMMA_PV=0; " +
		":fault cp-async-wait switches that one off")
	if !d.M.Status.Bad || len(d.E.Asked()) != n {
		t.Errorf("it was run: %+v", d.Last())
	}
	d = viewtest.Start(t, 200, 60, viewtest.Request(debugkern.Request{Target: "stage1",
		Set: map[string]string{"USE_WMMA_PV": "1"}}))
	d.Command("fault cp-async-wait").HasStatus("USE_WMMA_PV=1 taken back: it needs USE_WMMA_PV=0")
	if got := d.Last(); got.Target != "stage1" || len(got.Set) != 0 ||
		strings.Contains(d.M.Status.Text, "target") {
		t.Errorf("%q ran %+v", d.M.Status.Text, got)
	}
}

func TestFlagOffAFaultsBaseIsRefused(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(viewtest.Faulty))
	n := len(d.E.Asked())
	d.Press("4")
	if !control(d).Pane().Select(flags.Flag, "USE_WMMA_PV") {
		t.Fatal("no such flag")
	}
	d.Press("space").HasStatus("fault p-stale-m needs USE_WMMA_PV as it is: switch the fault off first")
	if len(d.E.Asked()) != n {
		t.Error("it ran all the same")
	}
	for _, want := range []string{"cannot be switched now:", "switch the fault off first"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("the view does not say %q:\n%s", want, d.Text())
		}
	}
}

// TestAFaultOfAnotherTargetMoves: a fault that Space goes to another target for is not said to be impossible.
func TestAFaultOfAnotherTargetMoves(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Command("set USE_CP_ASYNC=0").Press("4")
	if p := control(d).Pane(); !p.Select(flags.Fault, "l-no-rescale") || !p.Selected().Moves {
		t.Fatalf("selected %+v", p.Selected())
	}
	d.Press("tab", "tab") // draws what was selected
	d.Says("fault l-no-rescale is planted in stage2 and needs", "USE_CP_ASYNC=1.",
		"Switching it on goes to target stage2.")
	if strings.Contains(d.Text(), "cannot be switched") {
		t.Errorf("it can:\n%s", d.Text())
	}
	d.Press("space")
	if got := d.Last(); len(got.Set) != 0 || !reflect.DeepEqual(got.Faults, []string{"l-no-rescale"}) {
		t.Errorf("ran %+v", got)
	}
}

func TestFlagOnTopOfTheVariant(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Command("set USE_WMMA_PV=0")
	if got := d.Last().Set; !reflect.DeepEqual(got, map[string]string{"USE_WMMA_PV": "0"}) {
		t.Fatalf("set %v", got)
	}
	d.Command("set USE_WMMA_PV=1")
	if got := d.Last().Set; len(got) != 0 {
		t.Errorf("the variant's own value is still set: %v", got)
	}
	d.Command("set USE_NOTHING=1").HasStatus(`no flag "USE_NOTHING"`)
	d.Command("set USE_WMMA_PV=7").HasStatus("is none of on, off")
}

func TestGatesExcludeEachOther(t *testing.T) {
	d := viewtest.Start(t, 80, 24).Command("gate qk").Command("gate pv")
	if d.Last().Gate != "pv" {
		t.Errorf("gate %s", d.Last().Gate)
	}
	if !strings.Contains(d.Text(), "injected m l P · not judged Q K S") {
		t.Errorf("Pipe does not say what is off:\n%s", d.Text())
	}
	d.Command("gate none")
	if d.Last().Gate != probes.GateNone {
		t.Errorf("gate %s", d.Last().Gate)
	}
}

func TestVariantWithoutTheShapeBringsOne(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(debugkern.Request{Target: "stage2", Shape: "1,1,32,64"})).
		Command("variant stage1")
	if got := d.Last(); got.Target != "stage1" || got.Shape != "1,1,32,64" {
		t.Errorf("a shape in numbers should stay: ran %+v", got)
	}
	d.M.Req.Shape = "huge"
	d.Command("variant scalar").HasStatus("it has no huge")
	if got := d.Last(); got.Target != "scalar" || got.Shape != "small" {
		t.Errorf("ran %+v", got)
	}
}

// TestSettingsAreSwitches: what a gate injects, backend, schedule, when copies land and builder are switches
// like flags, "none" among the gates.
func TestSettingsAreSwitches(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4")
	choose := func(kind flags.Kind, name string) debugkern.Request {
		t.Helper()
		if !control(d).Pane().Select(kind, name) {
			t.Fatalf("no switch %s", name)
		}
		d.Press("space")
		return d.Last()
	}
	if req := choose(flags.Inject, "uniform"); req.Inject != "" {
		t.Errorf("without a gate that takes them uniform values were injected: %+v", req)
	}
	d.HasStatus("uniform values are for gate pv, this is gate none")
	if req := choose(flags.Gate, "pv"); req.Gate != "pv" {
		t.Errorf("ran %+v", req)
	}
	if req := choose(flags.Inject, "uniform"); req.Inject != "uniform" {
		t.Errorf("ran %+v", req)
	}
	d.Command("gate qk").HasStatus("gate qk, which takes no uniform values: back to the reference's")
	d.Command("gate pv").HasStatus("gate pv")
	if req := choose(flags.Inject, "uniform"); req.Inject != "uniform" {
		t.Errorf("ran %+v", req)
	}
	if req := choose(flags.Gate, "none"); req.Gate != probes.GateNone || req.Inject == "uniform" {
		t.Errorf("ran %+v", req)
	}
	if req := choose(flags.Schedule, "random"); req.Schedule != "random:0" {
		t.Errorf("ran %+v", req)
	}
	if d.Press("l", "l"); d.Last().Schedule != "random:2" {
		t.Errorf("l l ran %+v", d.Last())
	}
	if req := choose(flags.Landing, "earliest"); req.Schedule != "random:2:earliest" {
		t.Errorf("ran %+v", req)
	}
	if req := choose(flags.Builder, "nvrtc"); req.Builder != "nvrtc" {
		t.Errorf("ran %+v", req)
	}
	if req := choose(flags.Backend, "emu"); req.Backend != "emu" {
		t.Errorf("ran %+v", req)
	}
}

// TestListIsOfTheRequestWhenItIsShown: what was switched while another view was on screen is in the list.
func TestListIsOfTheRequestWhenItIsShown(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("1")
	d.Command("fault p-stale-m").Command("seed 7").Press("4")
	d.Says("[x] p-stale-m", "stage2 p-stale-m seed 7")
	d.Command("view pipe").Command("fault p-stale-m off").Command("view flags")
	d.Says("[ ] p-stale-m")
}
