package debugkern_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/kernels"
)

// The source that a run shows is the text that ran: with its faults' patches applied, and the
// file's own without.
func TestSourceIsTheTextThatRan(t *testing.T) {
	s := debugtest.Open(t)
	const file, lost = "kernels/sdpa_fp8_stage_c_wmma.cu", "        __syncthreads();  // C"
	text, _ := kernels.Source("sdpa_fp8_stage_c_wmma.cu")
	clean := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") // what follows the last line is none
	for _, c := range []struct {
		faults  []string
		changed bool
	}{{nil, false}, {[]string{"sync-p"}, true}, {[]string{"quant-127.5"}, false}} {
		req := debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu", Faults: c.faults}
		run, err := s.Run(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, lines := range map[string][]string{
			"run": run.Source(file), "request": s.SourceText(t.Context(), req, file),
			"request, by manifest": s.SourceText(t.Context(), req, ""),
		} {
			if len(lines) == 0 || slices.Equal(lines, clean) == c.changed ||
				slices.Contains(lines, lost) == c.changed {
				t.Errorf("%v: %s: %d lines, changed %t", c.faults, what, len(lines), c.changed)
			}
		}
		if patches := run.Patches(file); (len(patches) > 0) != c.changed ||
			run.Patches("kernels/cp_async.cuh") != nil {
			t.Errorf("%v: patches %v", c.faults, patches)
		}
		faults, lines := run.Changes(file)
		if c.changed && !slices.Equal(faults, c.faults) || (len(lines) > 0) != c.changed {
			t.Errorf("%v: the lines %v are changed by %v", c.faults, lines, faults)
		}
		if lines := run.Source("cp_async.cuh"); len(lines) == 0 {
			t.Errorf("%v: a header that no patch changes is not available", c.faults)
		}
	}
}

// A finding's line, in the source that the run shows, is the line that it is about: here the access behind
// the lines that earlier hunks moved.
func TestLinesAreOfThePatchedText(t *testing.T) {
	run, err := debugtest.Open(t).Run(t.Context(), debugkern.Request{
		Target: "stage3b-reported", Shape: "small", Backend: "emu",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := run.Table(t.Context())
	if err != nil || table == nil || table.At == nil {
		t.Fatal(table, err)
	}
	if lines := run.Source(table.At.File); !strings.Contains(strings.Join(lines, "\n"),
		"{0, 0}, {0, 1}, {0, 8}") || !strings.Contains(lines[table.At.Line-1], table.Name) {
		t.Errorf("line %d of %s is not the table that ran", table.At.Line, table.At.File)
	}
	if p := run.Patches(table.At.File); len(p) != 1 ||
		p[0] != "kernels/faults/sdpa_fp8_stage_c_wmma/lut-order.patch" {
		t.Errorf("patches of the table: %v", p)
	}
	cell := run.Report.Stage("m").FirstBad
	if cell == nil || cell.Source == nil {
		t.Fatalf("m: %+v", cell)
	}
	if lines := run.Source(cell.Source.File); !strings.Contains(lines[cell.Source.Line-1],
		"m_smem[row] = m_new[i];") {
		t.Errorf("m was written at line %d: %q", cell.Source.Line, lines[cell.Source.Line-1])
	}
}
