package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trust"
	"tilescope/probes"
)

// cloned is a builder in a directory that brings an nvcc and a libnvrtc of its own, and a mark that
// executing the one leaves.
func cloned(t *testing.T) (s *Builder, nvcc, library, mark string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the compilers of this test are a shell script and a .so")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", "/bin:/usr/bin")
	mark = filepath.Join(t.TempDir(), "mark")
	nvcc, library = filepath.Join(dir, ".toolchain", "bin", "nvcc"),
		filepath.Join(dir, ".toolchain", "lib", "libnvrtc.so.99")
	for path, text := range map[string]string{
		nvcc: "#!/bin/sh\n: > " + mark + "\nexit 1\n", library: "no library",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	record := &trust.Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	s = New(cuda.Config{Trust: &trust.Policy{Record: record}})
	t.Cleanup(func() { s.Close() })
	return s, nvcc, library, mark
}

// stage2 is the selection of a catalogue variant.
func stage2(t *testing.T) *configs.Selection {
	t.Helper()
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	m, variant, err := cat.Open(t.Context(), "stage2")
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select(variant, nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// TestQuestion: what the builder refuses it asks about, with every file and its digest. A yes counts from the
// next build on and covers what was shown; without one nothing is executed.
func TestQuestion(t *testing.T) {
	s, nvcc, library, mark := cloned(t)
	if q, err := s.Question(t.Context(), nil); q != nil || err != nil {
		t.Errorf("before anything is looked for: %v, %v", q, err)
	}
	sel := stage2(t)
	_, err := s.Kernel(t.Context(), sel, Options{Builder: "nvcc"})
	var failed *report.Error
	if !errors.As(err, &failed) || failed.Code != report.CodeUnavailable {
		t.Fatalf("without consent: %v", err)
	}
	q, problem := s.Question(t.Context(), err)
	if problem != nil || q == nil || len(q.Covers.Files) != 2 || q.Covers.Files[0].Path != nvcc ||
		q.Covers.Files[1].Path != library || !strings.HasPrefix(q.Reason, nvcc+": ") {
		t.Fatalf("question %+v, %v", q, problem)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("nvcc was executed without consent")
	}
	if err := s.Agree(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Kernel(t.Context(), sel, Options{Builder: "nvcc"}); err == nil ||
		strings.Contains(err.Error(), "not used") {
		t.Errorf("with consent: %v", err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("nvcc was not executed with consent")
	}
	// a yes covers what was shown, not what is there by now
	if q, err = s.Question(t.Context(), &trust.Refused{
		Path: nvcc, Dir: filepath.Dir(filepath.Dir(nvcc)),
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(nvcc, []byte("#!/bin/sh\n: > "+mark+".2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Agree(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Kernel(t.Context(), sel, Options{Builder: "nvcc"}); err == nil ||
		!strings.Contains(err.Error(), "has changed since it was trusted") {
		t.Errorf("changed between question and answer: %v", err)
	}
}

// TestQuestionAboutPassedOver: a library that the search for a toolchain passed over is asked about though
// nothing failed for it, and not any more after a yes.
func TestQuestionAboutPassedOver(t *testing.T) {
	s, _, library, _ := cloned(t)
	_, _ = s.Toolchain(t.Context()) // a toolkit of the machine may be found instead
	q, err := s.Question(t.Context(), errors.New("another cause"))
	if err != nil || q == nil || q.Covers.Files[len(q.Covers.Files)-1].Path != library {
		t.Fatalf("question %+v, %v", q, err)
	}
	if err := s.Agree(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if s.Refused() != nil {
		t.Errorf("after a yes: %v", s.Refused())
	}
	_, _ = s.Toolchain(t.Context())
	if q, err := s.Question(t.Context(), nil); q != nil || err != nil {
		t.Errorf("asked again: %+v, %v", q, err)
	}
	s.tools.config.Trust.Record.Path = ""
	if q, err := s.Question(t.Context(), &trust.Refused{
		Path: library, Dir: filepath.Dir(library),
	}); q != nil || err != nil {
		t.Errorf("no place for a record: %+v, %v", q, err)
	}
}

// TestSearchThatWasCancelled: a search for a toolchain that the context ended is made again, and nobody waits
// for another's search beyond the end of his own context.
func TestSearchThatWasCancelled(t *testing.T) {
	s, _, _, _ := cloned(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Toolchain(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	release, err := s.tools.once.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Toolchain(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while another searches: %v", err)
	}
	if err := s.Agree(ended, &Consent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while another searches: %v", err)
	}
	release()
	_, _ = s.Toolchain(t.Context())
	if s.Refused() == nil {
		t.Error("the search that was cancelled counts as made")
	}
}
