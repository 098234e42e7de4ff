package checked

import (
	"slices"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestRedundantOnlyOfWholeRuns: a barrier that orders nothing is advice where every block ends, and is not
// reported where one cannot go on.
func TestRedundantOnlyOfWholeRuns(t *testing.T) {
	for waitsFor, advised := range map[string]bool{"64": true, "96": false} {
		m, err := ptx.Parse("t.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry t()
{
	bar.sync 0;
	bar.sync 1, `+waitsFor+`;
	ret;
}
`))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(t.Context(), m, "t")
		if err != nil {
			t.Fatal(err)
		}
		l := &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{64, 1, 1}}
		res, _, err := Launch(t.Context(), k, l, check.Options{Set: check.All})
		if err != nil {
			t.Fatal(err)
		}
		redundant := slices.ContainsFunc(res.Findings, func(f target.Finding) bool {
			return f.Kind == target.RedundantBarrier
		})
		if res.Reached != advised || redundant != advised {
			t.Errorf("for %s threads: reached %v, %+v", waitsFor, res.Reached, res.Findings)
		}
	}
}
