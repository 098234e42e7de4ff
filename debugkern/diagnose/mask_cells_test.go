package diagnose

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/probes"
)

// TestMaskText: the first wrong row, and what all wrong rows have in common.
func TestMaskText(t *testing.T) {
	v := &debugkern.TileView{
		Place: debugkern.Place{Stage: "P", KVTile: 2}, Plan: &probes.StagePlan{Phase: probes.PhaseEach},
		ValidRows: 4, ValidCols: 4,
	}
	all, one, two := []int{0, 1, 2, 3}, []int{0}, []int{0, 1}
	for _, c := range []struct {
		rows map[int]maskRow
		want string
	}{
		{
			map[int]maskRow{1: {all, two}},
			"in row 1 of P of kv tile 2 all columns take part, where columns 0, 1 should",
		},
		{map[int]maskRow{1: {all, two}, 2: {all, one}}, "; so do all in each of its 2 wrong rows"},
		{map[int]maskRow{1: {two, one}, 3: {[]int{0, 1, 2}, two}}, "is 1 too far"},
		{map[int]maskRow{1: {nil, one}, 2: {one, two}}, "no column takes part, where column 0 should"},
		{
			map[int]maskRow{1: {nil, one}, 2: {one, two}},
			"in each of its 2 wrong rows the last that takes part is 1 short",
		},
	} {
		if got := maskText(v, "", 1, c.rows); !strings.Contains(got, c.want) {
			t.Errorf("got %q, expected it to have %q", got, c.want)
		}
	}
}

// TestMaskedCells: a mask that is off is said in cells, with what was compared.
func TestMaskedCells(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{
		Target: "stage2", Shape: "partial49", Faults: []string{"mask-missing"}, Backend: "emu",
	})
	q := &inquiry{ctx: t.Context(), run: run, base: run}
	m := q.maskedIn("P")
	if m == nil || !m.shown || m.col != 17 || m.kv != 1 ||
		!strings.Contains(m.text, "all columns take part, where columns 0–16 should") {
		t.Errorf("got %+v, expected columns 17 and on of kv tile 1 to take part", m)
	}
	if m := q.maskedIn("U"); m != nil {
		t.Errorf("got %+v of a stage that no mask hides cells of", m)
	}
}
