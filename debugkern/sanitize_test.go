package debugkern

import (
	"reflect"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

func line(file string, n int) *report.Source { return &report.Source{File: file, Line: n} }

func TestFoldMemcheck(t *testing.T) {
	findings := []report.Finding{
		// the caller's line
		{Kind: "out-of-bounds", Space: "global", Variable: "O", Source: line("kernels/k.cu", 31)},
		{Kind: "out-of-bounds", Space: "shared", Variable: "sK", Source: line("kernels/k.cu", 44)},
		{Kind: "race", Space: "shared", Source: line("kernels/k.cu", 31), Other: line("kernels/k.cu", 44)},
		{Kind: "out-of-bounds", Space: "global", Variable: "V"}, // a guard band: no line
		{Kind: "misaligned", Space: "global", Source: line("kernels/k.cu", 9)},
	}
	place := func(n int) cuda.SanitizerPlace {
		return cuda.SanitizerPlace{File: "/home/user/kernels/k.cu", Line: n}
	}
	s := &Sanitized{Tool: "memcheck", Complaints: []Complaint{
		{Kind: "out-of-bounds", Space: "global", Argument: "O", At: place(9),
			Frames: []cuda.SanitizerPlace{place(31)}},
		{Kind: "out-of-bounds", Space: "global", Argument: "V", At: place(70)},
		{Kind: "out-of-bounds", Space: "local", At: place(44)},
		{Kind: "other", Text: "Program hit CUDA_ERROR_LAUNCH_FAILED"},
		{
			Kind: "out-of-bounds", Space: "global",
			At: cuda.SanitizerPlace{File: "headers/tilescope.cuh", Line: 44},
		},
	}}
	got := Fold(findings, s)
	want := &Folded{
		Tool: "memcheck", Confirmed: []Confirmation{{0, 0}, {3, 1}}, OnlyOurs: []int{1, 4},
		OnlyTheirs: []int{2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if text := got.Summary(); text != "memcheck: 2 confirmed, 2 only ours, 1 only theirs" {
		t.Error(text)
	}
}

// TestFoldSynccheck: mbarriers are used in functions that all calls share, so that a line of such a function
// is the same place only under the same calls. Either place of a finding may be the complaint's.
func TestFoldSynccheck(t *testing.T) {
	arrive := func(calls ...int) *report.Source {
		s := line("hopper.cuh", 32)
		var sites []target.Site
		for _, n := range calls {
			sites = append(sites, target.Site{File: "kernels/k.cu", Line: n})
		}
		s.Calls = target.CallsOf(sites)
		return s
	}
	findings := []report.Finding{
		{Kind: "mbarrier", Source: line("hopper.cuh", 49), Other: arrive(155, 116)},
		{Kind: "mbarrier", Source: arrive(158, 116)},
		{Kind: "race", Source: arrive(155, 116), Other: line("k.cu", 1)},
	}
	s := &Sanitized{Tool: "synccheck", Complaints: []Complaint{{
		Kind: "barrier", At: cuda.SanitizerPlace{File: "hopper.cuh", Line: 32},
		Frames: []cuda.SanitizerPlace{{File: "k.cu", Line: 116}, {File: "k.cu", Line: 155}},
	}, {
		Kind: "barrier", At: cuda.SanitizerPlace{File: "hopper.cuh", Line: 32},
		Frames: []cuda.SanitizerPlace{{File: "k.cu", Line: 116}, {File: "k.cu", Line: 148}},
	}}}
	want := &Folded{
		Tool: "synccheck", Confirmed: []Confirmation{{0, 0}}, OnlyOurs: []int{1}, OnlyTheirs: []int{1},
	}
	if got := Fold(findings, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestFoldRacecheck(t *testing.T) {
	findings := []report.Finding{
		{Kind: "race", Space: "shared", Source: line("k.cu", 140), Other: line("k.cu", 120)},
		// racecheck looks at shared memory only
		{Kind: "race", Space: "global", Source: line("k.cu", 1), Other: line("k.cu", 2)},
		{Kind: "race", Space: "shared", Source: line("k.cu", 120), Other: line("k.cu", 150)},
		{Kind: "race", Space: "shared", Source: line("k.cu", 20), Other: line("k.cu", 20)},
		{Kind: "race", Space: "shared", Source: line("mma.hpp", 140), Other: line("k.cu", 120)},
	}
	place := func(n int) cuda.SanitizerPlace { return cuda.SanitizerPlace{File: `C:\src\k.cu`, Line: n} }
	s := &Sanitized{Tool: "racecheck", Complaints: []Complaint{
		{Kind: "race", Space: "shared", At: place(120),
			Others: []cuda.SanitizerPlace{place(140), place(155)}},
		{Kind: "race", Space: "shared", At: place(20), Others: []cuda.SanitizerPlace{place(20)}},
		{Kind: "race", Space: "shared", At: place(20), Others: []cuda.SanitizerPlace{place(21)}},
		{Kind: "race", Space: "shared", At: cuda.SanitizerPlace{Function: "k", Offset: 16},
			Others: []cuda.SanitizerPlace{{Function: "k", Offset: 32}}},
	}}
	want := &Folded{
		Tool: "racecheck", Confirmed: []Confirmation{{0, 0}, {3, 1}}, OnlyOurs: []int{2, 4},
		OnlyTheirs: []int{2, 3},
	}
	if got := Fold(findings, s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := Fold(nil, &Sanitized{Tool: "racecheck"}); got.Confirmed == nil || got.OnlyOurs == nil ||
		got.OnlyTheirs == nil {
		t.Error("empty lists are lists")
	}
}
