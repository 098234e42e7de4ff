package emu

import (
	"bytes"
	"fmt"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// asyncKernels are the kernels of testdata that use mbarriers or bulk copies, and have no findings.
func asyncKernels(t *testing.T) (out []*testKernel) {
	for _, k := range readKernels(t) {
		if load8(t, k.name, k.text).p.async && len(k.findings) == 0 && k.fault == "" {
			out = append(out, k)
		}
	}
	if len(out) < 10 {
		t.Fatalf("%d kernels with asynchronous operations", len(out))
	}
	return out
}

// TestLandingOrders: operations that land at random, in any order, change nothing in kernels that wait for
// them.
func TestLandingOrders(t *testing.T) {
	for _, k := range asyncKernels(t) {
		kern := load8(t, k.name, k.text)
		for seed := range uint64(60) {
			l := k.launch()
			policy := []string{"in-order", "random", "priority", "ahead", "reverse"}[seed%5]
			l.Schedule = target.Schedule{Policy: policy, Seed: seed, Async: "random"}
			k.check(t, kern, l)
		}
	}
}

// TestAsyncStateIsOfTheClock: the state of a block with operations under way is a function of its clock: what
// follows a snapshot is the same however often it is restored, and the same as without snapshots.
func TestAsyncStateIsOfTheClock(t *testing.T) {
	for _, k := range asyncKernels(t) {
		kern := load8(t, k.name, k.text)
		for _, when := range []string{"latest", "random"} {
			t.Run(k.name+" "+when, func(t *testing.T) {
				l := k.launch()
				l.Schedule = target.Schedule{Policy: "random", Seed: 7, Async: when}
				want := launchTB(t, kern, l)
				s, err := kern.open(l, probes.Dim3{})
				if err != nil {
					t.Fatal(err)
				}
				type moment struct {
					at    target.Snapshot
					state string
				}
				var seen []moment
				state := func() string {
					st := s.state()
					return fmt.Sprintf("%x %x %s %+v", st.out, st.shared, st.findings, s.Warps())
				}
				every := max(want.Counts.WarpInstructions/12, 1)
				for at := uint64(0); at < want.Counts.WarpInstructions; at += every {
					if _, err := s.RunTo(t.Context(), at, nil); err != nil {
						t.Fatal(err)
					}
					seen = append(seen, moment{s.Snapshot(), state()})
				}
				if _, err := s.Step(t.Context(), target.StepEnd); err != nil {
					t.Fatal(err)
				}
				if c := s.b.cluster; c != nil { // the other blocks, to their ends
					c.run(nil)
				}
				// of several clusters one is stepped
				if c := s.b.cluster; (c == nil || c.only) &&
					!bytes.Equal(s.state().out, want.Outputs["out"]) {
					t.Error("stepping leaves another output than launching")
				}
				for i := len(seen) - 1; i > 0; i-- { // forward again, from the moment before
					s.Restore(seen[i-1].at)
					if _, err := s.RunTo(t.Context(), seen[i].at.Steps(), nil); err != nil {
						t.Fatal(err)
					}
					if state() != seen[i].state {
						t.Fatalf("another state at step %d after going back", s.Steps())
					}
				}
			})
		}
	}
}
