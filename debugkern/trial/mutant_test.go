package trial

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/isa"
	"tilescope/probes"
)

// synchronised are variables of each kernel that race when the right synchronisation is removed,
// alternatives with | between.
var synchronised = map[string][]string{
	"sdpa_fp8_stage_c_wmma": {"U_smem", "sKT"},
	"flashcore_vec":         {"U_smem", "sK"},
	"flashcore_fused_wmma":  {"U_smem", "sKT"},
	"attention_causal":      {"sU", "sK"},
	"attention_gqa":         {"sU", "sK"},
	"attention_backward":    {"sS", "sP", "sdQ|sQ"},
	"gemm_wmma":             {"sA", "sB", "sC"},
	"softmax_row":           {"sX", "m_smem|l_smem"},
	"layernorm":             {"mean_smem|var_smem"},
	"stage5_hopper":         {"sK", "sV", "sQ"},
}

// TestMutants changes every synchronisation of clean kernels, one at a time: a checker names what races, or
// nothing does and no schedule changes the output. With TILESCOPE_LONG set (make mutants) every clean variant
// of the catalogue is taken, at validation and small; with TILESCOPE_TARGETS (make mutants TARGETS=...) the
// manifests that it lists.
func TestMutants(t *testing.T) {
	trials := [][]string{
		{"stage2", "partial49"}, {"flashcore_fused_wmma", "partial49"}, {"gemm_wmma", "ragged"},
		{"layernorm", "ragged"}, {"stage5_hopper", "partial"},
	}
	if os.Getenv("TILESCOPE_LONG") != "" {
		trials = nil
		for _, target := range cleanTargets(t) {
			trials = append(trials, []string{target, "validation", "small"})
		}
	}
	own := strings.Fields(os.Getenv("TILESCOPE_TARGETS"))
	if len(own) > 0 {
		trials = nil
		for _, target := range own {
			trials = append(trials, []string{target, ""})
		}
	}
	for _, x := range trials {
		target := x[0]
		for _, shape := range x[1:] {
			t.Run(target+" "+shape, func(t *testing.T) {
				run := debugtest.Run(t, debugkern.Request{Target: target, Shape: shape})
				blocks := run.Blocks()
				if len(own) == 0 {
					blocks = blocks[:1]
				}
				ms, err := Mutants(context.Background(), run, MutantOptions{Blocks: blocks})
				if err != nil {
					t.Fatal(err)
				}
				if len(ms) < 1 {
					t.Error("no mutants")
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
					sameWithoutRemoving(t, run, blocks, &ms[i])
				}
				for _, one := range synchronised[run.Plan.Kernel] {
					if !slices.ContainsFunc(strings.Split(one, "|"), func(v string) bool {
						return found[v]
					}) {
						t.Errorf("only %v need a synchronisation, not %s", found, one)
					}
				}
			})
		}
	}
}

// cleanTargets are the catalogue's variants without faults that have stages.
func cleanTargets(t *testing.T) []string {
	t.Helper()
	s := debugtest.Open(t)
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

// sameWithoutRemoving compares the findings of a kernel without a synchronisation with those of the checkers
// where the kernel has it and they ignore it: they name the same variables.
func sameWithoutRemoving(t *testing.T, run *debugkern.Run, blocks []probes.Dim3, m *MutantResult) {
	t.Helper()
	entry, err := run.PlainEntry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ignored := []isa.Kind{isa.Barrier, isa.WarpBarrier, isa.WaitAsync} // what check.Options.Ignore is for
	in := entry.Body[m.At]
	// without a barrier of some threads others wait for ever, or go on early: ignoring it does not show that
	ofSome := in.Kind() == isa.Barrier && len(in.Args) > 1
	if !m.Removed || ofSome || !slices.Contains(ignored, in.Kind()) || m.Outcome == MutantUnreached {
		return
	}
	kept := debugtest.Try(t, run, debugkern.Trial{
		Plain: true, Blocks: blocks, Check: errorChecks, Ignore: []int{m.At},
	})
	without := MutantResult{Findings: errorsOf(kept)}
	want, got := m.Variables(), without.Variables()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: taken to order nothing, findings on %v", m, got)
	}
}
