package frag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// TestALaneOfAMapIsNotTheWriter: the lane's box names the map that it is of; where the cell was stored from
// no fragment, it names the lane that wrote it, and the map's lane would hold it.
func TestALaneOfAMapIsNotTheWriter(t *testing.T) {
	th := theme.New(theme.Options{})
	p := NewPane(th)
	p.SetSize(160, 40)
	lanes := make([][]report.Cell16, 32)
	for i := range lanes {
		lanes[i] = []report.Cell16{{i / 2, i % 2}}
	}
	p.SetData(Data{Maps: []report.Fragment{{Kind: "acc", DType: "f32", Lanes: lanes}}})
	title := func() string { return ansi.Strip(p.Side(52, 10)[0]) }
	if s := title(); !strings.Contains(s, "LANE 0 of acc f32 row") ||
		!strings.Contains(s, "group 0, thread 0") {
		t.Errorf("%s", s)
	}
	p.live.Writer = &target.WriteSite{Lane: 16}
	if s := title(); !strings.Contains(s, "LANE 0 of acc f32 row") ||
		!strings.Contains(s, "the writer is lane 16") {
		t.Errorf("%s", s)
	}
	if s := ansi.Strip(p.cellLine()); !strings.Contains(s, "lane 0 element 0 would hold 0,0") {
		t.Errorf("%s", s)
	}
	p.live.Writer.Fragment = "acc[0] of mma #4"
	s := title() + ansi.Strip(p.cellLine())
	if strings.Contains(s, "writer") || strings.Contains(s, "would") {
		t.Errorf("%s", s)
	}
}

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
