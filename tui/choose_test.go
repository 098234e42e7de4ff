package tui

import (
	"reflect"
	"testing"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/pane/flags"
)

func TestFaultBringsItsShapeAndGivesItBack(t *testing.T) {
	d := started(t, 80, 24, plainLook).command("fault p-stale-columns")
	if got := d.last(); got.Shape != "partial49" {
		t.Fatalf("shape %q", got.Shape)
	}
	d.hasStatus("shape partial49 (it needs")
	d.command("fault p-stale-columns").hasStatus("shape validation again")
	if got := d.last(); got.Shape != "validation" {
		t.Errorf("shape %q", got.Shape)
	}
}

func TestFaultBringsItsVariant(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: "scalar"})).command("fault p-stale-m")
	if got := d.last(); got.Target != "stage2" || len(got.Faults) != 1 {
		t.Errorf("ran %+v", got)
	}
	d.hasStatus("target stage2: it is planted there")
}

func TestFlagOffAFaultsBaseIsRefused(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(faulty))
	n := len(d.e.asked())
	d.press("4")
	if !d.m.pane.flags.Select(flags.Flag, "USE_WMMA_PV") {
		t.Fatal("no such flag")
	}
	d.press("space").hasStatus("p-stale-m is planted in stage2 and needs USE_WMMA_PV=1")
	if len(d.e.asked()) != n {
		t.Error("it ran all the same")
	}
	if !contains(d.text(), "is planted in") {
		t.Errorf("the view does not say why:\n%s", d.text())
	}
}

func TestFlagOnTopOfTheVariant(t *testing.T) {
	d := started(t, 80, 24, plainLook).command("set USE_WMMA_PV=0")
	if got := d.last().Set; !reflect.DeepEqual(got, map[string]string{"USE_WMMA_PV": "0"}) {
		t.Fatalf("set %v", got)
	}
	d.command("set USE_WMMA_PV=1")
	if got := d.last().Set; len(got) != 0 {
		t.Errorf("the variant's own value is still set: %v", got)
	}
	d.command("set USE_NOTHING=1").hasStatus("unknown flag")
	d.command("set USE_WMMA_PV=7").hasStatus("expected one of")
}

func TestGatesExcludeEachOther(t *testing.T) {
	d := started(t, 80, 24, plainLook).command("gate qk").command("gate pv")
	if d.last().Gate != "pv" {
		t.Errorf("gate %s", d.last().Gate)
	}
	if !contains(d.text(), "off Q K S m l P") {
		t.Errorf("Pipe does not say what is off:\n%s", d.text())
	}
	d.command("gate none")
	if d.last().Gate != probes.GateNone {
		t.Errorf("gate %s", d.last().Gate)
	}
}

func TestVariantWithoutTheShapeBringsOne(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: "stage2", Shape: "1,1,32,64"})).command("variant stage1")
	if got := d.last(); got.Target != "stage1" || got.Shape != "1,1,32,64" {
		t.Errorf("a shape in numbers should stay: ran %+v", got)
	}
	d.m.req.Shape = "huge"
	d.command("variant scalar").hasStatus("it has no huge")
	if got := d.last(); got.Target != "scalar" || got.Shape != "small" {
		t.Errorf("ran %+v", got)
	}
}
