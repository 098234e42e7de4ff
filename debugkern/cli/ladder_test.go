package cli

import "testing"

// ladder is every clean rung.
var ladder = []string{
	"scalar", "stage1", "stage2", "stage3a", "swizzle", "swizzle3a", "stage3b", "pipe3", "kvlut",
	"flashcore_vec",
	"flashcore_fused_wmma",
}

// TestLadderAgrees runs every rung under every gate on a shape with a partial tile, and without a
// gate on two batches. One rung in three each time, all with TILESCOPE_LONG (make test-long).
func TestLadderAgrees(t *testing.T) {
	for i, variant := range sampled(ladder) {
		t.Run(variant, func(t *testing.T) {
			if !turn(i, 3) {
				t.Skip("one rung in three runs without TILESCOPE_LONG: make test-long has all")
			}
			t.Parallel()
			for _, c := range [][2]string{
				{"partial49", "none"}, {"partial49", "qk"}, {"partial49", "softmax"}, {"partial49", "pv"},
				{"2,2,81,64", "none"},
			} {
				rep, code, errText := runJSON(t, "run", variant, "--shape", c[0], "--gate", c[1], "--seed",
					"7", "--backend", "emu")
				if code != 0 || rep.Verdict != "agree" {
					t.Errorf("%s, gate %s: exit %d; %s %s", c[0], c[1], code, summary(rep), errText)
				}
			}
		})
	}
}

// TestSameOutput: what these rungs change is where numbers are kept and how they are fetched, so O is
// Stage 2's to the bit.
func TestSameOutput(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"partial49", "2,2,81,64"} {
		want := outputOf(t, "stage2", shape)
		for _, variant := range sampled([]string{"stage3a", "swizzle", "swizzle3a", "pipe3", "kvlut"}) {
			if got := outputOf(t, variant, shape); got != want {
				t.Errorf("%s %s: captured tiles and O are %.12s, Stage 2's %.12s", variant, shape, got, want)
			}
		}
	}
}

// outputOf is the digest over every captured tile and O.
func outputOf(t *testing.T, variant, shape string) string {
	t.Helper()
	rep, code, errText := runJSON(t, "run", variant, "--shape", shape, "--backend", "emu")
	if code != 0 {
		t.Fatalf("%s: exit %d: %s", variant, code, errText)
	}
	return rep.Digest
}
