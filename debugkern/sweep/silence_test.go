package sweep

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/file"
)

// TestSilence sweeps every clean variant under every checker over the small shapes and all gates: each run
// agrees, without a finding of severity error. Seed 0, or as many as TILESCOPE_SILENCE_SEEDS says; then also
// a twentieth as many on validation, and mission once. Without TILESCOPE_SILENCE_SEEDS (make silence) and
// TILESCOPE_LONG, one variant in three.
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
	s := debugtest.Open(t)
	clean := 0
	for _, m := range s.Catalogue().Manifests {
		for _, v := range m.Variants {
			if len(v.Faults) > 0 || len(m.Stages) == 0 {
				continue
			}
			clean++
			t.Run(v.Name, func(t *testing.T) {
				if clean%3 != 1 && asked == "" && os.Getenv("TILESCOPE_LONG") == "" {
					t.Skip("one variant in three is swept without TILESCOPE_SILENCE_SEEDS: make silence has all")
				}
				bySeeds := map[int][]string{}
				for _, shape := range m.Shapes {
					n, ok := large[shape.Name]
					if !ok {
						n = seeds
					}
					bySeeds[n] = append(bySeeds[n], shape.Name)
				}
				delete(bySeeds, 0)
				runs := 0
				for n, shapes := range bySeeds {
					runs += silent(t, s, m, v.Name, shapes, n)
				}
				t.Logf("%d runs, no finding of severity error", runs)
			})
		}
	}
	if clean < 22 {
		t.Fatalf("the catalogue has %d clean variants", clean)
	}
}

// silent sweeps a variant, fails for each run that is not clean, and returns how many there were.
func silent(
	t *testing.T, s *debugkern.Session, m *configs.Manifest, variant string, shapes []string, seeds int,
) int {
	t.Helper()
	o := &Options{
		Targets: []string{variant}, Shapes: shapes, Faults: []string{NoFault},
		Request: debugkern.Request{Backend: "emu", Check: debugkern.EveryChecker},
	}
	for _, gate := range m.Gates {
		o.Gates = append(o.Gates, gate.Name.String())
	}
	for seed := range uint64(seeds) {
		o.Seeds = append(o.Seeds, seed)
	}
	p, err := Make(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	w := Work{Dir: t.TempDir(), Files: file.New(), Jobs: runtime.GOMAXPROCS(0)}
	if _, err := p.Execute(t.Context(), s, w); err != nil {
		t.Fatal(err)
	}
	doc, missing, err := Merge(t.Context(), w.Files, w.Dir)
	if err != nil || missing > 0 || len(doc.Plan.Skipped) > 0 {
		t.Fatalf("%v, %d runs missing, skipped: %+v", err, missing, doc.Plan.Skipped)
	}
	for _, f := range doc.Failed {
		t.Errorf("%s: %s", f.Run, f.Error)
	}
	for i := range doc.Runs {
		if r := &doc.Runs[i]; r.Exit != 0 || len(r.Findings) > 0 {
			t.Errorf("%s: %s %v", r.Name(), r.Verdict, r.Findings)
		}
	}
	return len(doc.Runs)
}
