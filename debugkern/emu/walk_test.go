package emu

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// tick is one instruction of an execution.
type tick struct {
	step     uint64
	warp, pc int
	mask     uint32
}

// ticks collects what a stop function sees, an instruction once.
func ticks(to *[]tick) func(*target.Event) bool {
	return func(e *target.Event) bool {
		if e.Class == target.ClassBarrierDone || e.Class == target.ClassAsyncLand {
			return false
		}
		if t := (tick{e.Step, e.Warp, e.PC, e.Mask}); len(*to) == 0 || (*to)[len(*to)-1].step != e.Step {
			*to = append(*to, t)
		}
		return false
	}
}

// walked opens a block of stage 2 under a schedule.
func walked(t *testing.T, policy target.Schedule) *stepper {
	t.Helper()
	l := stage2Launch(partial49)
	l.Schedule = policy
	b, err := stage2Kernel(t, stage2Flags).open(l, probes.Dim3{1, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var policies = []target.Schedule{
	{}, {Policy: "reverse"}, {Policy: "random", Seed: 3, Async: "random"}, {Policy: "ahead", Seed: 2},
	{Policy: "priority", Seed: 5},
}

// TestStoppingChangesNothing executes a block in one go and in pieces, in single instructions where it is
// near a barrier, and holds the two instruction by instruction.
func TestStoppingChangesNothing(t *testing.T) {
	for _, p := range policies {
		ctx := context.Background()
		var whole, pieces []tick
		if _, err := walked(t, p).RunTo(ctx, noStep, ticks(&whole)); err != nil {
			t.Fatal(err)
		}
		b := walked(t, p)
		rng := rand.New(rand.NewPCG(7, 11))
		for {
			n := uint64(1)
			if rng.IntN(3) == 0 {
				n = uint64(rng.IntN(60))
			}
			st, err := b.RunTo(ctx, b.Steps()+n, ticks(&pieces))
			if err != nil {
				t.Fatal(err)
			}
			if st.Reason == "end" {
				break
			}
			if rng.IntN(40) == 0 {
				b.Restore(b.Snapshot())
			}
		}
		if !reflect.DeepEqual(whole, pieces) {
			t.Errorf("%+v: %d instructions in one go, %d in pieces", p, len(whole), len(pieces))
			for i := range min(len(whole), len(pieces)) {
				if whole[i] != pieces[i] {
					t.Fatalf("instruction %d: %+v in one go, %+v in pieces", i, whole[i], pieces[i])
				}
			}
		}
	}
}

// TestMomentsHaveOneState comes to every moment by the clock, in front of an event, behind a barrier or a
// landed copy, and from a snapshot: the state is the same.
func TestMomentsHaveOneState(t *testing.T) {
	ctx := context.Background()
	for _, p := range policies {
		clock, event := walked(t, p), walked(t, p)
		from := event.Snapshot()
		for at := uint64(1); ; at++ {
			st, err := clock.RunTo(ctx, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			if st.Reason == "end" {
				break
			}
			if at%97 == 0 {
				event.Restore(from)
			}
			if _, err := event.RunTo(ctx, noStep, func(e *target.Event) bool {
				return e.Step >= at
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := event.RunTo(ctx, at, nil); err != nil {
				t.Fatal(err)
			}
			if got, want := event.Warps(), clock.Warps(); event.Steps() != at ||
				!reflect.DeepEqual(got, want) {
				t.Fatalf("%+v at %d: %+v at %d by an event, %+v by the clock", p, at, got,
					event.Steps(), want)
			}
			if at%97 == 50 {
				from = event.Snapshot()
			}
		}
	}
}

// TestRunToIsCalledOff returns the context's error from inside.
func TestRunToIsCalledOff(t *testing.T) {
	b := walked(t, target.Schedule{})
	ctx, cancel := context.WithCancel(context.Background())
	b.Observe(&canceller{cancel: cancel, at: 500})
	if _, err := b.RunTo(ctx, noStep, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
