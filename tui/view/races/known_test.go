package races_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
	"tilescope/tui/view/viewtest"
)

// TestBeforeTheirOwnWork: until they are started, views that are about more than the run show what the run on
// screen has shown; where another request is on screen, they do not.
func TestBeforeTheirOwnWork(t *testing.T) {
	right := debugkern.Request{Target: "stage2"}
	for _, x := range []struct {
		view keymap.Scope
		req  debugkern.Request
		says string
	}{
		{view.Races, right, "✓ agree"}, // the wrong run has a finding, whose details take the room
		{view.Gates, viewtest.Faulty, "first bad: P 0,0,0 kv 1 q4,k9, stored at"},
		{view.GPU, viewtest.Faulty, "first bad  P 0,0,0 kv 1 q4,k9, stored at"},
	} {
		d := viewtest.Start(t, 200, 60, viewtest.Request(x.req)).Open(x.view)
		d.Says(x.says, "Q ✓, K ✓", "max error", "warp instructions")
		d.Manual = true
		if d.Command("seed 3"); strings.Contains(d.Text(), "max error") {
			t.Errorf("%s shows the run before as that on screen:\n%s", x.view, d.Text())
		}
	}
}
