package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

var (
	expectError = regexp.MustCompile(`(?m)^// expect-error: (.*)$`)
	marked      = regexp.MustCompile(`// (RACE|OUT-OF-BOUNDS)$`)
)

// hostSources are CUDA sources with host code, each with the options that it is checked with in its comments.
// A line on which something is to be found is marked with its kind.
func hostSources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "hostcode", "*.cu"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d sources: %v", len(files), err)
	}
	return files
}

// hostSample: of so many sources one is checked without TILESCOPE_LONG.
const hostSample = 4

// TestHostCodeSources: without an nvcc the device's part of a source with host code is compiled, and findings
// name the source's own lines. One source in hostSample is checked each time, all with TILESCOPE_LONG (make
// test-long).
func TestHostCodeSources(t *testing.T) {
	t.Parallel()
	for i, file := range hostSources(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			if !turn(i, hostSample) {
				t.Skip("one source in four is checked without TILESCOPE_LONG: make test-long has all")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if wanted := expectError.FindAllStringSubmatch(string(text), -1); wanted != nil {
				out, errText, code := call(t, "check", file, "--builder", "nvrtc")
				skipWithoutNVRTC(t, code, errText)
				if code != 2 && code != 4 {
					t.Errorf("exit %d: %s%s", code, out, errText)
				}
				for _, w := range wanted {
					if !strings.Contains(errText, w[1]) {
						t.Errorf("%q is missing in:\n%s", w[1], errText)
					}
				}
				return
			}
			var doc report.Check
			code, errText := documentOf(t, &doc, "check", file, "--builder", "nvrtc")
			skipWithoutNVRTC(t, code, errText)
			if doc.Error != nil || code > 1 {
				t.Fatalf("exit %d: %s", code, errText)
			}
			if len(doc.Build.Notes) == 0 || !strings.Contains(doc.Build.Notes[0],
				"the device's part alone was compiled") {
				t.Errorf("notes %q", doc.Build.Notes)
			}
			want := map[string]bool{}
			for i, line := range strings.Split(string(text), "\n") {
				if m := marked.FindStringSubmatch(line); m != nil {
					want[fmt.Sprintf("%s:%d", strings.ToLower(m[1]), i+1)] = true
				}
			}
			got := errorLines(doc.Findings)
			for w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("%s is not found; found %q", w, got)
				}
			}
			for _, g := range got {
				if !want[g] {
					t.Errorf("%s is found, and not marked", g)
				}
			}
		})
	}
}

// errorLines are the kinds and lines that findings of severity error name.
func errorLines(list []report.Finding) []string {
	var out []string
	for _, f := range list {
		if f.Severity != "error" {
			continue
		}
		for _, s := range []*report.Source{f.Source, f.Other} {
			if s != nil {
				out = append(out, fmt.Sprintf("%s:%d", f.Kind, s.Line))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// skipWithoutNVRTC ends a test where nothing compiles; the exit code is then the contract's.
func skipWithoutNVRTC(t *testing.T, code int, errText string) {
	t.Helper()
	if code == int(report.CodeUnavailable) && strings.Contains(errText, "NVRTC") {
		t.Skip("no NVRTC on this machine; the exit code is right")
	}
}
