package debugkern_test

import (
	"strings"
	"testing"

	"tilescope/debugkern"
)

// TestTableOfAKernel finds the table in the module that ran, by its content, and judges it.
func TestTableOfAKernel(t *testing.T) {
	s := openSession(t)
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
