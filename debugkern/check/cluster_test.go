package check_test

import (
	"os"
	"runtime"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestClusterSchedules: what is found between the blocks of a cluster does not depend on the schedule. Every
// wrong kernel is found, and every right one silent, under 20 seeds of each policy that has one, with each
// time at which asynchronous operations may land; under five seeds without TILESCOPE_LONG (make test-long).
func TestClusterSchedules(t *testing.T) {
	seeds := 20
	if os.Getenv("TILESCOPE_LONG") == "" {
		seeds = 5
	}
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

// TestClustersAreForgotten: a launch of many clusters takes the memory of those that execute.
func TestClustersAreForgotten(t *testing.T) {
	const blocks, each, most = 512, 64, 64 << 20
	m, _ := readModule(t, "testdata/litmus/cluster.ptx")
	k, err := emu.New(chip.SM90()).Load(t.Context(), m, "cluster_load_ok")
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(check.Options{Set: check.Races})
	var args []target.Arg
	for _, name := range []string{"out", "in"} {
		args = append(args, target.Arg{Name: name, Buffer: &target.Buffer{
			DType: probes.I32, Dims: []int{blocks * each}, Bytes: 4 * blocks * each, Output: name == "out",
		}})
	}
	if _, err := k.Launch(t.Context(), &target.Launch{
		Grid: probes.Dim3{blocks, 1, 1}, Block: probes.Dim3{each, 1, 1}, DynShared: 96 << 10, Args: args,
		Observe: c.Observer, Discard: c.Discard,
	}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if s.HeapAlloc > most {
		t.Errorf("%d MiB are in use after the launch", s.HeapAlloc>>20)
	}
	if list := c.Findings(); len(list) > 0 {
		t.Errorf("findings: %+v", list)
	}
}
