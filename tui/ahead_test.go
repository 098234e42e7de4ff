package tui

import (
	"reflect"
	"testing"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/pane/flags"
)

// Where building takes time the kernels one switch away are built once nothing moves: what the selection is on first, and every
// one of them is what the switch then asks for.
func TestSwitchesAreBuiltAhead(t *testing.T) {
	d := started(t, 80, 24, plainLook, withRequest(debugkern.Request{Target: "stage2", Backend: "cuda"}))
	if len(d.e.built) != 1 {
		t.Fatalf("built %d times", len(d.e.built))
	}
	d.press("4")
	if !d.m.pane.flags.Select(flags.Flag, "USE_WMMA_PV") {
		t.Fatal("no such flag")
	}
	d.press("down", "up")
	built := d.e.built[len(d.e.built)-1]
	var gates, faults, sets, variants int
	for _, req := range built {
		switch {
		case req.Target != "stage2":
			variants++
		case req.Gate != probes.GateNone:
			gates++
		case len(req.Faults) > 0:
			faults++
		case len(req.Set) > 0:
			sets++
		}
	}
	man, _ := d.m.manifest()
	if gates != 3 || sets < len(man.Flags) || faults+variants > 2*aheadNear || gates+faults+sets+variants != len(built) {
		t.Errorf("%d gates, %d faults, %d flags, %d variants of %d", gates, faults, sets, variants, len(built))
	}
	d.press("space")
	if got := d.last(); !reflect.DeepEqual(got, built[0]) {
		t.Errorf("the switch ran %+v, built was %+v", got, built[0])
	}
}

// The archive's kernels on the emulator are there at once: nothing is built ahead.
func TestNothingIsBuiltAheadOfTheArchive(t *testing.T) {
	if d := started(t, 80, 24, plainLook).press("4", "down", "up"); len(d.e.built) != 0 {
		t.Errorf("built %v", d.e.built)
	}
}
