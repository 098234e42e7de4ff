package debugkern

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/probes"
)

// TestSilence holds every clean variant under every checker on every small shape and gate: agree, and no finding of severity
// error. Seed 0, or as many as TILESCOPE_SILENCE_SEEDS says; then also a twentieth as many on validation, and mission once.
func TestSilence(t *testing.T) {
	seeds, asked := 1, os.Getenv("TILESCOPE_SILENCE_SEEDS")
	if asked != "" {
		var err error
		if seeds, err = strconv.Atoi(asked); err != nil || seeds < 1 {
			t.Fatalf("TILESCOPE_SILENCE_SEEDS=%s: expected a number from 1 on", asked)
		}
	}
	shapes := map[string]int{"small": seeds, "partial": seeds, "partial49": seeds, "single16": seeds, "single32": seeds}
	if asked != "" {
		shapes["validation"], shapes["mission"] = max(seeds/20, 1), 1
	}
	s := openSession(t)
	var clean []string
	for _, m := range s.Catalogue().Manifests {
		for _, v := range m.Variants {
			if len(v.Faults) == 0 && len(m.Stages) > 0 {
				clean = append(clean, v.Name)
			}
		}
	}
	if len(clean) < 11 {
		t.Fatalf("the catalogue has %d clean variants: %v", len(clean), clean)
	}
	for _, name := range clean {
		t.Run(name, func(t *testing.T) {
			var reqs []Request
			for shape, n := range shapes {
				for _, gate := range []probes.Gate{probes.GateNone, "qk", "softmax", "pv"} {
					for seed := range n {
						reqs = append(reqs, Request{Target: name, Shape: shape, Gate: gate, Seed: uint64(seed), Backend: "emu", Check: check.All})
					}
				}
			}
			silent(t, s, reqs)
			t.Logf("%d runs, no finding of severity error", len(reqs))
		})
	}
}

// silent runs requests over the cores and fails for each that is not clean.
func silent(t *testing.T, s *Session, reqs []Request) {
	t.Helper()
	work := make(chan Request)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for req := range work {
				r, err := s.Run(context.Background(), req, nil)
				what := fmt.Sprintf("%s gate %s seed %d", req.Shape, req.Gate, req.Seed)
				if err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				var found []string
				for _, f := range r.Report.Findings {
					if f.Severity == "error" {
						found = append(found, f.Kind+" "+f.Variable+": "+f.Message)
					}
				}
				if r.Report.Verdict != Agree || len(found) > 0 {
					t.Errorf("%s: %s %s", what, r.Report.Verdict, strings.Join(found, "; "))
				}
			}
		})
	}
	for _, req := range reqs {
		work <- req
	}
	close(work)
	wg.Wait()
}
