package debugkern

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cache"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
)

// compiling opens a session with NVRTC and a cache of its own, or skips.
func compiling(t *testing.T, cacheDir string) *Session {
	t.Helper()
	tools, err := filepath.Abs(filepath.Join("..", ".toolchain"))
	if err != nil {
		t.Fatal(err)
	}
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: tools})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	tc.Close()
	s, err := Open(t.Context(), Options{
		Config: &configs.Config{
			CaptureMax: 1 << 30, CacheDir: cacheDir, CacheKey: cacheDir + ".key", CacheMax: 1 << 26,
			Toolchain: tools,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// The plain build is compiled beside the instrumented one; both are in the cache for the next session,
// which gets the same run.
func TestBothBuildsAreCompiledAndKept(t *testing.T) {
	dir := t.TempDir()
	req := Request{Target: "stage2", Shape: "small", Backend: "emu", Builder: "nvrtc", Plain: true}
	var digest string
	for i := range 2 {
		s := compiling(t, dir)
		var phases []string
		run, err := s.Run(t.Context(), req, func(p Progress) {
			if !slices.Contains(phases, p.Phase) {
				phases = append(phases, p.Phase)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if run.Plain == nil || run.Report.Verdict != report.Agree || run.Report.Backend.Builder != "nvrtc" {
			t.Errorf("session %d: plain %v, %s by %s", i, run.Plain, run.Report.Verdict,
				run.Report.Backend.Builder)
		}
		if want := []string{
			"resolve", "inputs", "build", "load", "run", "compare",
		}; !slices.Equal(phases[:min(len(phases), len(want))], want) {
			t.Errorf("phases %v", phases)
		}
		if digest == "" {
			digest = run.Report.Digest
		} else if run.Report.Digest != digest {
			t.Error("another digest from the cache")
		}
		u, err := cache.Open(cache.Options{Dir: filepath.Join(dir, "builds"), Max: 1 << 26}).Usage()
		if err != nil || u.Entries != 2 {
			t.Errorf("session %d: %d entries in the cache, %v", i, u.Entries, err)
		}
		if s.Trouble() != nil {
			t.Error(s.Trouble())
		}
	}
}

// TestArchitectureIsAName: what is not the name of an architecture is a usage error, not the compiler's.
func TestArchitectureIsAName(t *testing.T) {
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var coded *report.Error
	if _, err := s.Run(t.Context(), Request{
		Target: "flashcore_vec", Shape: "small", Backend: "emu", Arch: "sm_nosuch",
	}, nil); !errors.As(err, &coded) || coded.Code != report.CodeUsage {
		t.Errorf("run: %v", err)
	}
}
