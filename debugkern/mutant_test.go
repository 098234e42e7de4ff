package debugkern

import (
	"context"
	"os"
	"slices"
	"testing"

	"tilescope/debugkern/ptx"
)

// TestMutants changes every synchronisation of clean kernels, one at a time: a checker names what races, or nothing does and
// no schedule changes the output. With TILESCOPE_LONG set (make mutants) every clean variant of the catalogue is taken, at
// validation and small.
func TestMutants(t *testing.T) {
	targets, shapes := []string{"stage2", "flashcore_fused_wmma"}, []string{"partial49"}
	if os.Getenv("TILESCOPE_LONG") != "" {
		targets, shapes = cleanTargets(t), []string{"validation", "small"}
	}
	for _, target := range targets {
		for _, shape := range shapes {
			t.Run(target+" "+shape, func(t *testing.T) {
				run := ran(t, Request{Target: target, Shape: shape})
				ms, err := run.Mutants(context.Background(), MutantOptions{Blocks: run.Blocks()[:1]})
				if err != nil {
					t.Fatal(err)
				}
				if len(ms) < 4 {
					t.Errorf("only %d mutants", len(ms))
				}
				found := map[string]bool{}
				for i := range ms {
					t.Log(&ms[i])
					for _, v := range ms[i].Variables() {
						found[v] = true
					}
					if ms[i].Outcome == MutantMissed {
						t.Errorf("no checker notices: %s", &ms[i])
					}
					sameWithoutRemoving(t, run, &ms[i])
				}
				if !found["U_smem"] || !found["sKT"] && !found["sK"] {
					t.Errorf("only %v need a synchronisation", found)
				}
			})
		}
	}
}

// cleanTargets are the catalogue's variants without faults that have stages.
func cleanTargets(t *testing.T) []string {
	t.Helper()
	s, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range s.Catalogue().Targets() {
		m, variant, err := s.Catalogue().Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if v := m.Variant(variant); len(m.Stages) > 0 && v != nil && len(v.Faults) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// sameWithoutRemoving holds what is found without a synchronisation to what the checkers say when the kernel keeps it and they
// take it to order nothing: the same variables.
func sameWithoutRemoving(t *testing.T, run *Run, m *MutantResult) {
	t.Helper()
	if m.Edit.Kind != ptx.Remove || m.Outcome == MutantUnreached {
		return
	}
	kept := tried(t, run, Trial{Plain: true, Blocks: run.Blocks()[:1], Check: errorChecks, Ignore: []int{m.Edit.At}})
	ignored := MutantResult{Findings: errorsOf(kept)}
	want, got := m.Variables(), ignored.Variables()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: taken to order nothing, findings on %v", m, got)
	}
}
