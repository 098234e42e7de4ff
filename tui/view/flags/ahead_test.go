package flags_test

import (
	"reflect"
	"testing"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/view/flags"
	"tilescope/tui/view/viewtest"
)

// Where building takes time the kernels one switch away are built once nothing moves: what the selection is
// on first, and every one of them is what the switch then asks for.
func TestSwitchesAreBuiltAhead(t *testing.T) {
	d := viewtest.Start(t, 80, 24, viewtest.Request(debugkern.Request{Target: "stage2", Backend: "cuda"}))
	if len(d.E.Built) != 1 {
		t.Fatalf("built %d times", len(d.E.Built))
	}
	d.Press("4")
	if !control(d).Pane().Select(flags.Flag, "USE_WMMA_PV") {
		t.Fatal("no such flag")
	}
	d.Press("down", "up")
	built := d.E.Built[len(d.E.Built)-1]
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
	man, _ := d.M.Manifest()
	if gates != 3 || sets < len(man.Flags) || faults+variants > 2*flags.AheadNear ||
		gates+faults+sets+variants != len(built) {
		t.Errorf("%d gates, %d faults, %d flags, %d variants of %d", gates, faults, sets,
			variants, len(built))
	}
	d.Press("space")
	if got := d.Last(); !reflect.DeepEqual(got, built[0]) {
		t.Errorf("the switch ran %+v, built was %+v", got, built[0])
	}
}

// The archive's kernels on the emulator are there at once: nothing is built ahead.
func TestNothingIsBuiltAheadOfTheArchive(t *testing.T) {
	if d := viewtest.Start(t, 80, 24).Press("4", "down", "up"); len(d.E.Built) != 0 {
		t.Errorf("built %v", d.E.Built)
	}
}
