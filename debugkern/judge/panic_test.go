package judge

import (
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// brokenSource panics at the tiles of one stage from a block on.
type brokenSource struct {
	Source
	stage probes.Stage
	from  int
}

func (b brokenSource) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	if s == b.stage && block[0] >= b.from {
		panic("BUG: planted")
	}
	return b.Source.Tile(s, block, kv)
}

// TestPanicReachesTheCaller panics in the workers of Judge: the caller gets the panic.
func TestPanicReachesTheCaller(t *testing.T) {
	p := configstest.Plan(t, "stage2", "validation", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	src := toy{truth, "p-stale-columns"}.run()
	bug := join.Catch(func() {
		_, err := Judge(t.Context(), truth.Reference, brokenSource{src, "P", 1}, Options{Parallel: 4})
		t.Errorf("Judge returned %v", err)
	})
	if bug == nil || bug.Value != "BUG: planted" {
		t.Errorf("Judge raised %v", bug)
	}
}
