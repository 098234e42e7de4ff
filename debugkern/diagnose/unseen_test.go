package diagnose_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/kernels"
)

// Where nothing but the output is judged, a diagnosis says so, does not pretend to know the step, and
// says how to see it.
func TestOnlyTheOutput(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own := outputOnly(t)
	left, add := "leave out --stages O, and stages S, m, l, P, U show which step goes wrong",
		"stages S, m, l, P, U, added to own.yaml, show which step goes wrong"
	for i, c := range []struct {
		name, target, stages string
		faults               []string
		cause, want          string
	}{
		{"left out", "stage2", "O", []string{"p-normalised"}, "arithmetic up to stage O", left},
		{"left out and right", "stage2", "O", nil, "", "only the output is judged: " + left},
		{"not in the manifest", own, "", nil, "arithmetic up to stage O", add},
		{"some are", "stage2", "S,m,O", []string{"p-normalised"}, "arithmetic up to stage O",
			"leave out --stages S,m,O, and stages l, P, U show which step goes wrong"},
		{"all are", "stage2", "", []string{"p-normalised"}, "arithmetic of stage P", ""},
	} {
		if i%2 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
			continue // make test-long has all
		}
		d, err := diagnose.Diagnose(t.Context(), s, debugkern.Request{
			Target: c.target, Shape: "small", Faults: c.faults, Stages: debugkern.ParseStages(c.stages),
			Backend: "emu",
		}, diagnose.Options{Schedules: 2})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		story := strings.Join(d.Story, "\n")
		if strings.Count(story, "which step goes wrong") != min(1, len(c.want)) ||
			!strings.Contains(story, c.want) || !strings.Contains(story, c.cause) {
			t.Errorf("%s: the story does not say %q once and %q:\n%s", c.name, c.want, c.cause, story)
		}
		if len(d.Causes) == 1 && c.want != "" {
			if proof := strings.Join(d.Causes[0].Proof, "\n"); !strings.Contains(proof,
				"which O is computed from") || strings.Contains(proof, "taken as the kernel had it") {
				t.Errorf("%s: %s", c.name, proof)
			}
		}
	}
}

// outputOnly writes stage2 with an arithmetic fault as somebody's own kernel, of which the
// manifest captures O alone.
func outputOnly(t *testing.T) string {
	t.Helper()
	manifest, err := os.ReadFile("../../configs/kernels/sdpa_fp8_stage_c_wmma.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := kernels.Find(kernels.Key{
		Kernel: "sdpa_fp8_stage_c_wmma", Defines: []string{"TS_PROBES=1", "USE_CP_ASYNC=1", "USE_WMMA_PV=1"},
		Faults: []string{"p-normalised"},
	})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	from, to := bytes.Index(manifest, []byte("\nstages:")), bytes.Index(manifest, []byte("\nshapes:"))
	text := string(manifest[:from]) + `
stages:
  - {name: P, dtype: f16, dims: [TILE_M, TILE_N], valid: [min(TILE_M, S - bx * TILE_M), TILE_N], per: tile, capture: none}
  - {name: O, dtype: f16, dims: [TILE_M, HEAD_DIM], valid: [min(TILE_M, S - bx * TILE_M), HEAD_DIM], per: block, capture: {output: O}}
` + string(manifest[to:])
	dir := t.TempDir()
	path := filepath.Join(dir, "own.yaml")
	if err := errors.Join(os.WriteFile(path,
		[]byte(strings.Replace(text, "source: sdpa_fp8_stage_c_wmma.cu", "ptx: own.ptx", 1)), 0o600),
		os.WriteFile(filepath.Join(dir, "own.ptx"), e.PTX, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}
