package walk_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// recorded is a walk, with the timeline of its block.
func recorded(t *testing.T, req debugkern.Request) (walk.Walk, *walk.Timeline) {
	t.Helper()
	_, w := walked(t, req, probes.Dim3{0, 0, 0})
	line, err := w.(walk.Asynchronous).Record(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return w, line
}

// A timeline says of every moment what the block's own state says: which operations are pending, which phase
// each mbarrier is in, which warps wait at one.
func TestTimelineIsTheState(t *testing.T) {
	ctx := context.Background()
	for _, req := range []debugkern.Request{
		{Target: "stage5_hopper", Shape: "small"},
		{Target: "stage5_hopper", Schedule: "random:3"},
		{Target: "stage2", Shape: "small"},
		{Target: "stage2", Shape: "small", Schedule: "random:4"},
	} {
		w, line := recorded(t, req)
		a := w.(walk.Asynchronous)
		rng := rand.New(rand.NewPCG(7, 7))
		passesComplete(t, line)
		for range 60 {
			p := must(t)(w.Seek(ctx, rng.Uint64N(line.Steps)))
			if rng.IntN(2) == 0 {
				p = must(t)(w.Step(ctx, walk.StepAsync, 1))
			}
			s, ok := a.Async()
			if !ok {
				t.Fatalf("%s has nothing asynchronous", req.Target)
			}
			var want, got []uint64
			for _, o := range s.Operations {
				want = append(want, o.ID)
			}
			for _, f := range line.Flights {
				if f.Issued <= p.Step && p.Step < f.Landed {
					got = append(got, f.ID)
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Fatalf("%+v step %d: operations %x under way, the timeline has %x", req, p.Step, want, got)
			}
			for _, m := range s.MBarriers {
				n, _ := slices.BinarySearch(line.MBarriers[line.MBarrier(m.Addr)].Phases, p.Step+1)
				if uint64(n) != m.Phase {
					t.Errorf("%+v step %d: mbarrier %#x is in phase %d, the timeline says %d", req, p.Step,
						m.Addr, m.Phase, n)
				}
			}
			for _, x := range w.Warps() {
				name, waits := strings.CutPrefix(x.Wait, "mbarrier ")
				if waits && !slices.ContainsFunc(line.Warps[x.Index].Waits, func(y walk.Wait) bool {
					return y.At == name && y.From <= p.Step && p.Step < y.To
				}) {
					t.Errorf("%+v step %d: warp %d waits at %s, not by the timeline", req, p.Step, x.Index,
						name)
				}
			}
		}
	}
}

// The tiles of a ring go from owner to owner, and the mbarriers that say so are found.
func TestRingOfTiles(t *testing.T) {
	_, line := recorded(t, debugkern.Request{Target: "stage5_hopper"})
	ring := []walk.Owner{walk.Filling, walk.Full, walk.InUse, walk.Empty}
	for _, want := range []struct {
		name, full, empty string
		rounds            int
	}{
		{"sQ", "q_full[0]", "", 1}, {"sK[0]", "k_full[0]", "k_empty[0]", 2},
		{"sK[1]", "k_full[1]", "k_empty[1]", 2}, {"sV[0]", "v_full[0]", "v_empty[0]", 2},
		{"sV[1]", "v_full[1]", "v_empty[1]", 2},
	} {
		i := slices.IndexFunc(line.Buffers, func(s walk.Buffer) bool { return s.Name == want.name })
		if i < 0 {
			t.Fatalf("no buffer %s", want.name)
		}
		s := &line.Buffers[i]
		if s.Full != want.full || s.Empty != want.empty || len(s.Owned) != want.rounds*len(ring) {
			t.Errorf("%s: full %q, empty %q, owners %v", s.Name, s.Full, s.Empty, s.Owned)
			continue
		}
		for k, o := range s.Owned {
			if o.Owner != ring[k%len(ring)] || s.At(o.From) != o || o.From > 0 && s.At(o.From-1) == o {
				t.Errorf("%s: owners %v, at %d %v", s.Name, s.Owned, o.From, s.At(o.From))
			}
		}
		if s.Layout == nil || s.Layout.Swizzle != 128 || s.Layout.By[:10] != "tensor map" || s.Reader == nil {
			t.Errorf("%s: layout %+v, reader %+v", s.Name, s.Layout, s.Reader)
		}
	}
}

// A tile that is read while a copy writes it is marked where the two overlap.
func TestTileReadWhileItIsFilled(t *testing.T) {
	_, line := recorded(t, debugkern.Request{
		Target: "stage5_hopper", Shape: "validation", Faults: []string{"k-not-awaited"},
	})
	clash := func(name string) bool {
		i := slices.IndexFunc(line.Buffers, func(s walk.Buffer) bool { return s.Name == name })
		return slices.ContainsFunc(line.Buffers[i].Owned, func(o walk.Owned) bool {
			return o.Owner == walk.Clash
		})
	}
	if !clash("sK[0]") || clash("sV[0]") {
		t.Errorf("sK[0] is read while it is filled: %v; sV[0]: %v", clash("sK[0]"), clash("sV[0]"))
	}
}

// Steps by asynchronous events stop once at each moment that has one, both ways, and say what it was.
// Recording leaves the block where it is.
func TestAsynchronousEvents(t *testing.T) {
	ctx := context.Background()
	w, line := recorded(t, debugkern.Request{Target: "stage5_hopper", Shape: "small"})
	moments := map[uint64]bool{}
	for _, f := range line.Flights {
		moments[f.Issued], moments[f.Landed] = true, true
	}
	for _, m := range line.MBarriers {
		for _, step := range m.Phases {
			moments[step] = true
		}
	}
	var want, got, back []uint64
	for m := range moments {
		want = append(want, m)
	}
	slices.Sort(want)
	var notes []string
	step := func(n int) walk.Position { return must(t)(w.Step(ctx, walk.StepAsync, n)) }
	for p := step(1); p.Stop != "end"; p = step(1) {
		got, notes = append(got, p.Step), append(notes, p.Note)
	}
	if last := want[len(want)-1]; last == line.Steps { // the end is where a motion ends in any case
		want = want[:len(want)-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("stops at %d, expected %d", got, want)
	}
	text := strings.Join(notes, "\n")
	for _, want := range []string{
		"tensor copy q_map[0, 0, 0] → sQ (line 148) issued", "wgmma of warpgroup 1 (line 197) landed ×4",
		"sQ (line 148) landed; phase 0 of q_full[0] complete",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	from := see(w)
	if again, err := w.(walk.Asynchronous).Record(ctx); err != nil || again.Steps != line.Steps {
		t.Error(again, err)
	}
	if !reflect.DeepEqual(see(w), from) || w.Position().Stop != "end" {
		t.Errorf("after recording the block is at %+v", w.Position())
	}
	for p := step(-1); p.Stop != "start"; p = step(-1) {
		back = append(back, p.Step)
	}
	slices.Reverse(back)
	if !slices.Equal(back, want) {
		t.Errorf("back it stops at %d, expected %d", back, want)
	}
	if _, ok := w.(walk.Asynchronous).Async(); !ok {
		t.Error("nothing is asynchronous at the start")
	}
}

// A kernel without asynchronous operations has an empty timeline, and says so.
func TestNothingAsynchronous(t *testing.T) {
	w, line := recorded(t, debugkern.Request{Target: "softmax_row"})
	if _, ok := w.(walk.Asynchronous).Async(); ok || len(line.Flights) > 0 || len(line.Buffers) > 0 {
		t.Errorf("%d operations, %d buffers", len(line.Flights), len(line.Buffers))
	}
	if p := must(t)(w.Step(context.Background(), walk.StepAsync, 1)); p.Stop != "end" {
		t.Errorf("an asynchronous event at %+v", p)
	}
	if line.Steps == 0 || len(line.Warps[0].Runs) == 0 || line.End != "end" ||
		!slices.ContainsFunc(line.Warps, func(x walk.WarpTime) bool { return x.Ended }) {
		t.Errorf("%d steps, %q", line.Steps, line.End)
	}
}

// passesComplete checks that lanes passed at an mbarrier when the phase that they found complete was.
func passesComplete(t *testing.T, line *walk.Timeline) {
	t.Helper()
	passes := 0
	for _, m := range line.MBarriers {
		for _, p := range m.Passes {
			passes++
			if p.Lanes == 0 || p.Number >= uint64(len(m.Phases)) || m.Phases[p.Number] > p.Step {
				t.Errorf("%s: %+v, with phases complete at %d", m.Name, p, m.Phases)
			}
		}
	}
	if len(line.MBarriers) > 0 && passes == 0 {
		t.Error("no lane passed at an mbarrier")
	}
}
