package check_test

import (
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
)

// TestClusterSchedules: what is found between the blocks of a cluster does not depend on the schedule. Every
// wrong kernel is found, and every right one silent, under 20 seeds of each policy that has one, with each
// time at which asynchronous operations may land.
func TestClusterSchedules(t *testing.T) {
	const seeds = 20
	m, text := readModule(t, "testdata/litmus/cluster.ptx")
	for _, l := range readLitmus(t, text) {
		t.Run(l.entry, func(t *testing.T) {
			t.Parallel()
			k, err := emu.New(chip.SM90()).Load(t.Context(), m, l.entry)
			if err != nil {
				t.Fatal(err)
			}
			for _, async := range []string{"latest", "earliest", "random"} {
				for _, policy := range []string{"random", "priority", "ahead"} {
					for seed := range uint64(seeds) {
						s := target.Schedule{Policy: policy, Seed: seed, Async: async}
						l.check(t, s, l.run(t, k, s, 1))
					}
				}
			}
		})
	}
}
