package view

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
)

// TestNotOpen: a file that was named without its launch is reported in a short line with the key that asks
// for it; one that failed, with its reason. Without a failure there is nothing to mend.
func TestNotOpen(t *testing.T) {
	failed := &report.Failure{Message: "--grid is missing; expected X[,Y[,Z]]; for example --grid 4 --block 64"}
	x := &Context{Req: debugkern.Request{Target: "k.cu"}, Keys: keymap.New()}
	if got := x.Remedies(failed); got != nil {
		t.Errorf("nothing has failed: %q", got)
	}
	x.Fail = &Run{Opening: []string{"k.cu"}, Asked: true, Report: &report.Run{Error: failed}}
	again := x.Keys.Label(keymap.Again) + " asks for its launch again"
	if !x.NotOpen() || x.Status.Text != "k.cu is not open: "+again || x.Remedies(failed)[0] != again {
		t.Errorf("%q; %q", x.Status.Text, x.Remedies(failed))
	}
	x.Fail.Asked = false
	if !x.NotOpen() || x.Status.Text != "k.cu is not open: "+failed.Message {
		t.Errorf("%q", x.Status.Text)
	}
}
