package diagnose_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/ptx/ptxtest"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// FuzzDiagnose diagnoses kernels whose PTX was damaged: whatever still loads has a story, and what does not
// is an error that says where, never a bug of ours. Four of six seeds need TILESCOPE_LONG (make test-long).
func FuzzDiagnose(f *testing.F) {
	f.Add(uint64(0), true)
	f.Add(uint64(71), false) // an access that wraps
	if os.Getenv("TILESCOPE_LONG") != "" {
		for _, seed := range []uint64{6, 71} {
			f.Add(seed, true)
		}
		f.Add(uint64(0), false)
		f.Add(uint64(6), false)
	}
	f.Fuzz(func(t *testing.T, seed uint64, fused bool) {
		name := "flashcore_vec"
		if fused {
			name = "flashcore_fused_wmma"
		}
		s, err := debugkern.Open(t.Context(), debugkern.Options{})
		if err != nil {
			t.Fatal(err)
		}
		req := debugkern.Request{
			Target: damagedKernel(t, name, rand.New(rand.NewPCG(seed, 1))), Shape: "partial", Backend: "emu",
			Timeout: 20 * time.Second,
		}
		d, err := diagnose.Diagnose(t.Context(), s, req, diagnose.Options{Schedules: 4})
		var coded *report.Error
		switch {
		case err != nil && (!errors.As(err, &coded) || coded.Code == report.CodeInternal):
			t.Errorf("%v", err)
		case err == nil && (len(d.Story) == 0 || len(d.Story) > 12):
			t.Errorf("a story of %d lines", len(d.Story))
		}
	})
}

// damagedKernel writes a manifest that brings a damaged build of an embedded kernel, and returns its path.
func damagedKernel(t *testing.T, name string, rng *rand.Rand) string {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join("..", "..", "configs", "kernels", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := kernels.Find(kernels.Key{Kernel: name, Defines: []string{"TS_PROBES=1"}})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "k.yaml")
	manifest = regexp.MustCompile(`(?m)^source: .*$`).ReplaceAll(manifest, []byte("ptx: k.ptx"))
	if err := errors.Join(os.WriteFile(path, manifest, 0o600),
		os.WriteFile(filepath.Join(dir, "k.ptx"),
			[]byte(ptxtest.Statements(rng, string(e.PTX), string(e.PTX), 1+rng.IntN(2))),
			0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}
