package frag

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// TestRowLabels: no two rows of the tile have the same label, whatever the kernel calls its rows.
func TestRowLabels(t *testing.T) {
	th := theme.New(theme.Options{})
	for _, axis := range []string{"q", "row", "batch_and_head"} {
		for _, origin := range []int{0, 96} {
			p := NewPane(th)
			p.SetData(Data{Maps: []report.Fragment{{Lanes: [][]report.Cell16{{{0, 0}, {15, 15}}}}}})
			p.live.View = &debugkern.TileView{
				Plan: &probes.StagePlan{Stage: "X", DType: probes.F32, Rows: 128, Cols: 16,
					Axes: [2]string{axis, "col"}},
				Got: probes.NewTile(probes.F32, 128, 16), Local: make([]float64, 128*16),
				LocalBound: make([]float64, 128*16), ValidRows: 128, ValidCols: 16,
			}
			p.origin = report.Cell16{origin, 0}
			p.tile = area{w: 40, h: 20}
			seen := map[string]bool{}
			for r, l := range p.drawTile(p.tile, Owners)[2:18] {
				label := strings.Fields(strings.TrimLeft(strings.ReplaceAll(l, "[", " "), th.Glyph.V))[0]
				if seen[label] || !strings.HasSuffix(label, fmt.Sprint(origin+r)) {
					t.Errorf("axis %s: row %d is called %q", axis, origin+r, label)
				}
				seen[label] = true
			}
		}
	}
}
