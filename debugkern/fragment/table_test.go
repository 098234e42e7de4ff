package fragment_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
)

// TestTableOfAKernel finds the table in the module that ran, by its content, and judges it.
func TestTableOfAKernel(t *testing.T) {
	s := debugtest.Open(t)
	for _, c := range []struct {
		target, fault string
		has           bool
		says          string
	}{
		{"stage2", "", false, ""}, {"stage3b", "", true, "right"}, {"stage3b", "lut-order", true, "order wrong: sorted by row"},
		{"stage3b", "lut-hole", true, "does not cover every cell"},
	} {
		req := debugkern.Request{Target: c.target, Shape: "small", Backend: "emu"}
		if c.fault != "" {
			req.Faults = []string{c.fault}
		}
		run, err := s.Run(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		table, err := run.Table(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (table != nil) != c.has {
			t.Errorf("%s %s: table %v", c.target, c.fault, table)
			continue
		}
		if c.has && (!strings.Contains(table.Explanation, c.says) || table.Name != "WMMA_ACCUM_LUT" || len(table.Cells) != 32) {
			t.Errorf("%s %s: %s: %s", c.target, c.fault, table.Name, table.Explanation)
		}
	}
}

// A table is found by what it holds, judged against introspection, and placed in the header that was compiled in.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		target, fault    string
		covered, ordered bool
		explains, file   string
		line             int
	}{
		{"stage3b", "", true, true, "right", "wmma16x16_accum_lut.h", 5},
		{"stage3b", "lut-order", true, false, "sorted by row", "wmma16x16_accum_lut.h", 5},
		{"stage3b", "lut-hole", false, false, "never", "wmma16x16_accum_lut.h", 5},
	} {
		req := debugkern.Request{Target: c.target, Shape: "small", Backend: "emu"}
		if c.fault != "" {
			req.Faults = []string{c.fault}
		}
		run, err := debugtest.Open(t).Run(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := run.Tables(t.Context())
		if err != nil || len(tables) != 1 {
			t.Fatalf("%s %s: %d tables, %v", c.target, c.fault, len(tables), err)
		}
		tb := tables[0]
		if *tb.Covered != c.covered || *tb.Ordered != c.ordered || !strings.Contains(tb.Explanation, c.explains) {
			t.Errorf("%s %s: covered %v ordered %v: %s", c.target, c.fault, *tb.Covered, *tb.Ordered, tb.Explanation)
		}
		if tb.At == nil || !strings.HasSuffix(tb.At.File, c.file) || tb.At.Line != c.line {
			t.Errorf("%s %s: %s is declared at %+v, want %s:%d", c.target, c.fault, tb.Name, tb.At, c.file, c.line)
		}
	}
	run, err := debugtest.Open(t).Run(t.Context(), debugkern.Request{Target: "stage2", Shape: "small", Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tables, err := run.Tables(t.Context()); err != nil || len(tables) != 0 {
		t.Errorf("stage2 has no table; found %d, %v", len(tables), err)
	}
}
