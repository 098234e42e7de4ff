package cuda

import (
	"bytes"
	"strings"
	"testing"

	"tilescope/probes"
)

// TestClusterLaunch: a launch with clusters passes their size to the driver, and allows one that is not
// portable.
func TestClusterLaunch(t *testing.T) {
	b := openFake(t, "")
	for _, c := range []struct {
		grid, cluster probes.Dim3
		fails         bool
	}{
		{probes.Dim3{4, 1, 1}, probes.Dim3{2, 1, 1}, false},
		{probes.Dim3{4, 4, 1}, probes.Dim3{2, 2, 1}, false},
		{probes.Dim3{4, 4, 2}, probes.Dim3{4, 4, 1}, false},
		{probes.Dim3{3, 1, 1}, probes.Dim3{2, 1, 1}, true},
	} {
		l := floats(12)
		l.Grid, l.Cluster = c.grid, c.cluster
		r, err := load(t, b, "copy").Launch(t.Context(), l)
		switch {
		case c.fails && (err == nil || !strings.Contains(err.Error(), "cuLaunchKernelEx")):
			t.Errorf("grid %s in clusters of %s: %v, want an error of cuLaunchKernelEx", c.grid, c.cluster, err)
		case !c.fails && (err != nil || !bytes.Equal(r.Outputs["out"], l.Args[0].Buffer.Init)):
			t.Errorf("grid %s in clusters of %s: %v", c.grid, c.cluster, err)
		}
	}
	good(t, b)
}
