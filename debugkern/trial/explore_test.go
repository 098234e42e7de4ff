package trial

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/debugtest"
	"tilescope/probes"
)

// TestExplore finds schedules that change the outcome of racy kernels and none for clean ones,
// and replays the worst.
func TestExplore(t *testing.T) {
	for _, c := range []struct {
		target, fault, shape string
		block                probes.Dim3
		varies               bool
	}{
		{"stage2", "", "small", probes.Dim3{0, 0, 0}, false},
		{"stage3b", "", "validation", probes.Dim3{1, 0, 0}, false},
		{"pipe3", "", "validation", probes.Dim3{0, 1, 0}, false},
		// adds by atomics: only roundings change
		{"flashcore_fused_wmma", "", "validation", probes.Dim3{0, 0, 0}, false},
		{"stage2", "sync-s", "small", probes.Dim3{0, 0, 0}, true},
		{"stage2", "sync-p", "small", probes.Dim3{0, 0, 0}, true},
		{"stage2", "sync-kv", "validation", probes.Dim3{0, 0, 0}, true},
		{"stage2", "cp-async-wait", "validation", probes.Dim3{0, 0, 0}, true},
		// a fragment is stored by all lanes at once: only the ISA allows otherwise
		{"stage2", "sync-frag", "small", probes.Dim3{0, 0, 0}, false},
		{"stage3b", "softmax-race", "small", probes.Dim3{0, 0, 0}, true},
		{"flashcore_fused_wmma", "merge-race", "small", probes.Dim3{0, 0, 0}, true},
	} {
		t.Run(c.target+" "+c.fault, func(t *testing.T) {
			req := debugkern.Request{Target: c.target, Shape: c.shape}
			if c.fault != "" {
				req.Faults = []string{c.fault}
			}
			run := debugtest.Run(t, req)
			o := ExploreOptions{N: 24, Blocks: []probes.Dim3{c.block}}
			x, err := Explore(context.Background(), run, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s; first %+v", x, x.Stages)
			if x.Rounding > 0 != (c.target == "flashcore_fused_wmma" && c.fault == "") {
				t.Errorf("%d schedules change roundings", x.Rounding)
			}
			if x.Tried != 24 || x.Varied > 0 != c.varies {
				t.Fatalf("%d of %d varied", x.Varied, x.Tried)
			}
			if !c.varies {
				return
			}
			worst := debugtest.Try(t, run, debugkern.Trial{Schedule: x.Worst, Blocks: o.Blocks})
			base := debugtest.Try(t, run, debugkern.Trial{Blocks: o.Blocks})
			if d := outputChange(base.Outcome(), worst.Outcome()); d != x.MaxAbs {
				t.Errorf("%s replayed changes O by %g, explored %g", x.Worst, d, x.MaxAbs)
			}
			was := runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(was)
			o.First = true
			first, err := Explore(context.Background(), run, o)
			if err != nil {
				t.Fatal(err)
			}
			if first.Varied != 1 ||
				!reflect.DeepEqual(first.Outcomes[len(first.Outcomes)-1], firstVaried(x)) {
				t.Errorf("stopping at the first gives %+v, the whole %+v", first.Outcomes, firstVaried(x))
			}
		})
	}
}

func firstVaried(x *Exploration) VariedSchedule {
	for _, v := range x.Outcomes {
		if v.Output {
			return v
		}
	}
	return VariedSchedule{}
}

// TestExploreBlocksThatShare: atomics of integers of several blocks leave the same in any order, also where
// one block is explored.
func TestExploreBlocksThatShare(t *testing.T) {
	s := debugtest.Open(t)
	req, err := checkrun.Adopt(t.Context(), s, checkrun.Request{
		File: filepath.Join("testdata", "count.ptx"), Grid: probes.Dim3{4, 1, 1},
		Block: probes.Dim3{64, 1, 1}, Cluster: probes.Dim3{1, 1, 1},
		Args: []checkrun.Argument{{Name: "bins", Value: "zeros:u32[8]"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Explore(t.Context(), run, ExploreOptions{N: 24, Blocks: []probes.Dim3{{0, 0, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	if x.Tried != 24 || x.Varied != 0 {
		t.Errorf("%d of %d varied: %+v", x.Varied, x.Tried, x.Outcomes)
	}
}
