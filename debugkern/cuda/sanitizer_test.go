package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"tilescope/probes"
)

func sample(t *testing.T, name string) ([]Complaint, string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sanitizer", name))
	if err != nil {
		t.Fatal(err)
	}
	return ParseSanitizer(string(text))
}

func holds(t *testing.T, got, want []Complaint) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("complaint %d is missing: %+v", i, want[i])
		case i >= len(want):
			t.Errorf("complaint %d is too much: %+v", i, got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("complaint %d:\ngot  %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func TestParseMemcheck(t *testing.T) {
	got, summary := sample(t, "memcheck.txt")
	if summary != "ERROR SUMMARY: 5 errors" {
		t.Errorf("summary %q", summary)
	}
	const file = "/home/user/kernels/attention.cu"
	holds(t, got, []Complaint{
		{
			Kind: "out-of-bounds", Severity: "error", Access: "write", Bytes: 4, Space: "global",
			Address: 0x7f241b0001e0, Located: true,
			At: SanitizerPlace{Function: "store(float *, int, float)", Offset: 0xd0, File: file, Line: 9},
			Frames: []SanitizerPlace{
				{Function: "sdpa(const float *, float *, int)", Offset: 0x40, File: file, Line: 31},
			},
			Block: probes.Dim3{1, 2, 0}, Threads: []probes.Dim3{{}}, Count: 2,
			Text: "Invalid __global__ write of size 4 bytes",
		},
		{
			Kind: "out-of-bounds", Severity: "error", Access: "read", Bytes: 2, Space: "shared",
			Address: 0x9002, Located: true,
			At: SanitizerPlace{
				Function: "sdpa(const float *, float *, int)", Offset: 0x1a0, File: file, Line: 44,
			},
			Threads: []probes.Dim3{{31}}, Count: 1, Text: "Invalid __shared__ read of size 2 bytes",
		},
		{
			Kind: "misaligned", Severity: "error", Access: "read", Bytes: 8, Space: "global",
			Address: 0x7f241b000001, Located: true,
			At: SanitizerPlace{
				Function: "sdpa(float const *, float*, int)", Offset: 0x2f0, File: file, Line: 50,
			},
			Threads: []probes.Dim3{{3}}, Count: 1, Text: "Invalid __global__ read of size 8 bytes",
		},
		{Kind: "other", Severity: "error", Count: 1,
			Text: `Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuStreamSynchronize.`},
	})
}

func TestParseRacecheck(t *testing.T) {
	got, summary := sample(t, "racecheck.txt")
	if !strings.HasPrefix(summary, "RACECHECK SUMMARY: 2 hazards") {
		t.Errorf("summary %q", summary)
	}
	place := func(offset uint64, line int, access string) SanitizerPlace {
		return SanitizerPlace{
			Function: "sdpa(const unsigned char *)", Offset: offset, File: "kernels/attention.cu", Line: line,
			Access: access,
		}
	}
	holds(t, got, []Complaint{
		{
			Kind: "race", Severity: "warning", Access: "WAW", Space: "shared", Address: 0x20, Located: true,
			At: place(0x2f0, 20, "write"), Others: []SanitizerPlace{place(0x2f0, 20, "write")},
			Threads: []probes.Dim3{{}, {1}}, Count: 1,
			Text: "Warning: Potential WAW hazard detected at __shared__ 0x20 in block (0,0,0) :",
		},
		{
			Kind: "race", Severity: "error", Access: "RAW", Space: "shared", Address: 0x410, Located: true,
			At:     place(0x860, 120, "write"),
			Others: []SanitizerPlace{place(0x9d0, 140, "read"), place(0xfa0, 155, "read")},
			Block:  probes.Dim3{11}, Threads: []probes.Dim3{{127}, {}},
			Count: 412, Text: "Error: Race reported between Write access at sdpa(const unsigned char *)+0x860 in kernels/attention.cu:120",
		},
	})
}

// Other spellings that the documentation shows.
func TestParsePlaces(t *testing.T) {
	for text, want := range map[string]SanitizerPlace{
		"k():0x160 in demo.cu:6": {Function: "k()", Offset: 0x160, File: "demo.cu", Line: 6},
		"ns::k(int *, int)+0x50": {Function: "ns::k(int *, int)", Offset: 0x50},
		"RAW()+0x280 in raceGroupBasic:46": {Function: "RAW()", Offset: 0x280,
			File: "raceGroupBasic", Line: 46},
		"0x3c8 in k(int*,int)":    {Function: "k(int*,int)", Offset: 0x3c8},
		"NVIDIA Internal [0x520]": {Function: "NVIDIA Internal [0x520]"},
		"0x00000170 in ./race.cu:4:t(int*, int*)": {Function: "t(int*, int*)", Offset: 0x170,
			File: "./race.cu", Line: 4},
	} {
		if got := parsePlace(text); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Versions before 2022 write places the other way round.
func TestParseOldSanitizer(t *testing.T) {
	got, _ := sample(t, "old.txt")
	if len(got) != 3 || got[0].Severity != "warning" || got[0].At.Line != 4 ||
		got[0].At.File != "./race.cu" || got[0].Others[0].Access != "write" {
		t.Fatalf("got %+v", got)
	}
	if c := got[1]; c.At.File != "U:/demo/convolution.cu" || c.At.Line != 123 ||
		c.At.Function != "convolution(pixel const*, int)" || c.Others[0].Line != 63 || c.Count != 1088 {
		t.Errorf("got %+v", c)
	}
	if c := got[2]; c.At.Function != "prefix_sum" || c.At.Offset != 0x860 || c.At.File != "" ||
		c.Others[0].Offset != 0x9d0 {
		t.Errorf("got %+v", c)
	}
}

func TestParseSanitizerNonsense(t *testing.T) {
	for _, text := range []string{
		"", "=========", "========= \n=========     at\n", "no tool at all",
		"========= Internal Sanitizer Error: no device\n",
	} {
		if got, summary := ParseSanitizer(text); len(got) != 0 || summary != "" {
			t.Errorf("%q: %+v, %q", text, got, summary)
		}
	}
}

// launchArg makes the test binary perform one launch from a file.
const launchArg = "__launch"

// scriptedSanitizer is a compute-sanitizer that runs the program, then writes a report. The script finds the
// report's path in $log; what the program printed goes on to standard output.
func scriptedSanitizer(t *testing.T, script string) SanitizerConfig {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tool of this test is a shell script")
	}
	fake := fakeConfig(t)
	root := t.TempDir()
	text := `#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.3.1.0 (build 36398880)"; exit; }
while [ "$1" != "` + fake.Worker.(Local)[0] + `" ]; do
  [ "$1" = --log-file ] && log=$2
  shift
done
` + script + "\n"
	path := filepath.Join(root, "bin", "compute-sanitizer")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return SanitizerConfig{
		Tools: Config{Path: root}, Command: []string{fake.Worker.(Local)[0], launchArg},
		Library: fake.Library,
	}
}

// behindTheEnd is a report that speaks of the address 12 bytes behind the end of "out".
const behindTheEnd = `said=$("$@") || exit 9
echo "$said"
set -- $(echo "$said" | grep 'argument out ')
{ echo "========= COMPUTE-SANITIZER"
  echo "========= Invalid __global__ write of size 4 bytes"
  echo "=========     at overrun+0x40 in k.cu:7"
  echo "=========     by thread (0,0,0) in block (0,0,0)"
  printf "=========     Access at 0x%x is out of bounds\n" $(($3 + $4 + 11))
  echo "========= "
  echo "========= ERROR SUMMARY: 1 error"; } > "$log"`

func TestSanitizeRefusals(t *testing.T) {
	cfg := scriptedSanitizer(t,
		`echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" > "$log"`)
	if got, err := Sanitize(t.Context(), cfg, "racecheck", module(t, "copy", ""), "copy",
		floats(12)); err != nil || len(got.Complaints) != 0 {
		t.Errorf("a clean launch: %+v, %v", got, err)
	}
	if _, err := Sanitize(t.Context(), cfg, "nosuch", module(t, "copy", ""), "copy",
		floats(12)); err == nil || !strings.Contains(err.Error(), "memcheck, racecheck") {
		t.Errorf("another tool: %v", err)
	}
	missing := cfg
	missing.Library = "/nonexistent/libcuda.so.1"
	if _, err := Sanitize(t.Context(), missing, "memcheck", module(t, "copy", ""), "copy",
		floats(12)); !errors.Is(err, ErrNoDriver) {
		t.Errorf("no driver: %v", err)
	}
	cfg = scriptedSanitizer(t,
		`echo "Target application terminated before first instrumented API call" >&2; exit 1`)
	if _, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "copy", ""), "copy",
		floats(12)); err == nil || !strings.Contains(err.Error(), "terminated before first") {
		t.Errorf("no report: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CUDA_HOME", "")
	if isFile("/usr/local/cuda/bin/compute-sanitizer") {
		t.Skip("this machine has one that cannot be hidden")
	}
	cfg.Tools = Config{Root: t.TempDir()}
	if _, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "copy", ""), "copy",
		floats(12)); !errors.Is(err, ErrNoSanitizer) ||
		!strings.Contains(err.Error(), "nvidia-cuda-sanitizer-api") {
		t.Errorf("none: %v", err)
	}
}

func TestSanitizeTimeLimit(t *testing.T) {
	cfg := scriptedSanitizer(t, `sleep 1000 & wait`)
	cfg.Timeout = 50 * time.Millisecond
	if _, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "copy", ""), "copy",
		floats(12)); err == nil || !strings.Contains(err.Error(), "time limit of 50ms") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sanitize(ctx, cfg, "memcheck", module(t, "copy", ""), "copy", floats(12)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLaunchMainRefusesNonsense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job")
	for _, text := range []string{
		"nonsense that is longer than a header", strings.Repeat("\x00", 16),
		"\x05\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00{}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errOut strings.Builder
		if code := LaunchMain(t.Context(), path, &out, &errOut); code != 1 ||
			!strings.HasPrefix(errOut.String(), "launch: ") {
			t.Errorf("%q: exit %d, %s", text, code, errOut.String())
		}
	}
	if code := LaunchMain(t.Context(), path+"absent", os.Stdout, &strings.Builder{}); code != 1 {
		t.Error(fmt.Sprint("no file: exit ", code))
	}
}

// TestSanitizerKinds: what initcheck and synccheck say is counted under our kinds.
func TestSanitizerKinds(t *testing.T) {
	complaints, summary := ParseSanitizer(`========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at k+0x70 in k.cu:3
=========     by thread (32,0,0) in block (0,0,0)
=========     Access to 0x7f0000000280 is uninitialized
=========
========= Barrier error detected. Divergent thread(s) in block
=========     at k+0x90 in k.cu:7
=========     by thread (1,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 2 errors
`)
	if len(complaints) != 2 || summary != "ERROR SUMMARY: 2 errors" {
		t.Fatalf("%+v, %q", complaints, summary)
	}
	if c := complaints[0]; c.Kind != "uninitialised" || c.Space != "global" || c.At.Line != 3 {
		t.Errorf("%+v", c)
	}
	if c := complaints[1]; c.Kind != "barrier" || c.At.Line != 7 {
		t.Errorf("%+v", c)
	}
}
