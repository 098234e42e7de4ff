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
	"tilescope/debugkern/report"
)

// TestSilence holds every clean variant under every checker on every small shape and gate: agree, and no
// finding of severity error. Seed 0, or as many as TILESCOPE_SILENCE_SEEDS says; then also a twentieth as
// many on validation, and mission once.
func TestSilence(t *testing.T) {
	seeds, asked := 1, os.Getenv("TILESCOPE_SILENCE_SEEDS")
	if asked != "" {
		var err error
		if seeds, err = strconv.Atoi(asked); err != nil || seeds < 1 {
			t.Fatalf("TILESCOPE_SILENCE_SEEDS=%s: expected a number from 1 on", asked)
		}
	}
	large := map[string]int{"validation": 0, "mission": 0, "long": 0} // seeds of shapes that are not small
	if asked != "" {
		large["validation"], large["mission"] = max(seeds/20, 1), 1
	}
	s := openSession(t)
	clean := 0
	for _, m := range s.Catalogue().Manifests {
		for _, v := range m.Variants {
			if len(v.Faults) > 0 || len(m.Stages) == 0 {
				continue
			}
			clean++
			t.Run(v.Name, func(t *testing.T) {
				var reqs []Request
				for _, shape := range m.Shapes {
					n, ok := large[shape.Name]
					if !ok {
						n = seeds
					}
					for _, gate := range m.Gates {
						for seed := range n {
							reqs = append(reqs, Request{
								Target: v.Name, Shape: shape.Name, Gate: gate.Name, Seed: uint64(seed),
								Backend: "emu", Check: check.All,
							})
						}
					}
				}
				silent(t, s, reqs)
				t.Logf("%d runs, no finding of severity error", len(reqs))
			})
		}
	}
	if clean < 22 {
		t.Fatalf("the catalogue has %d clean variants", clean)
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
				if r.Report.Verdict != report.Agree || len(found) > 0 {
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
