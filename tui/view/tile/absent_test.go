package tile

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// TestNotCaptured: a cell that was not captured has a mark of its own, in numbers and in the map, and its
// line says so. It counts as no bad cell, although its bits are those of 0.
func TestNotCaptured(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		th := theme.New(theme.Options{ASCII: ascii})
		n := 4
		v := &debugkern.TileView{
			Place: debugkern.Place{Stage: "S"},
			Plan: &probes.StagePlan{
				Stage: "S", DType: probes.F32, Rows: n, Cols: n, Axes: [2]string{"q", "k"},
			},
			Got: probes.NewTile(probes.F32, n, n), Local: make([]float64, n*n),
			LocalBound: make([]float64, n*n), ValidRows: n, ValidCols: n,
		}
		v.Got.Absent = make([]bool, n*n)
		v.NoLocal = make([]bool, n*n)
		for i := range n * n {
			v.Local[i], v.LocalBound[i] = 1.5, 0.01
			v.Got.SetBits(i/n, i%n, cell.Round(probes.F32, 1.5))
		}
		for col := range n { // row 3 is not captured; row 2 is, and cannot be judged
			v.Got.SetBits(3, col, 0)
			v.Got.SetBits(2, col, cell.Round(probes.F32, 9))
			v.Got.Absent[3*n+col], v.NoLocal[2*n+col] = true, true
		}
		p := NewPane(th)
		p.SetSize(100, 14)
		p.SetData(Data{Place: v.Place, View: v})
		if bad, cells := p.Counts(); bad != 0 || cells != 12 {
			t.Errorf("%d bad of %d compared cells", bad, cells)
		}
		mark := th.Glyph.Absent
		if th.Width(mark) != 1 {
			t.Errorf("the mark %q is %d columns wide", mark, th.Width(mark))
		}
		for _, heat := range []Heat{HeatOff, HeatMap} {
			set := p.Settings()
			set.Heat = heat
			p.Set(set)
			for row, want := range []int{0, 0, 0, 2 * n} { // kernel and error
				line := ""
				for _, l := range p.View() {
					if l = ansi.Strip(l); strings.Contains(l, "q"+string(rune('0'+row))+" ") {
						line = l
						break
					}
				}
				if got := strings.Count(line, mark); got != want {
					t.Errorf("heat %v row %d has %d marks, want %d: %q", heat, row, got, want, line)
				}
			}
		}
		for row, want := range []string{"", "", "not judged", "not captured"} {
			p.SetCursor(row, 1)
			if text := ansi.Strip(strings.Join(p.View(), "\n")); want != "" &&
				!strings.Contains(text, want) || row == 3 && strings.Contains(text, "k 0") {
				t.Errorf("row %d lacks %q:\n%s", row, want, text)
			}
		}
		if text := p.CellText(); !strings.HasPrefix(text, "not captured, reference") {
			t.Errorf("copied: %q", text)
		}
	}
}

// TestNothingCaptured: in the place of a tile stands why there is none.
func TestNothingCaptured(t *testing.T) {
	for kind, want := range map[probes.CaptureKind]string{
		probes.CaptureNone:  "the values of this stage are not captured",
		probes.CaptureProbe: "execution did not reach this tile",
	} {
		p := NewPane(theme.New(theme.Options{}))
		p.SetSize(100, 14)
		plan := &probes.StagePlan{Stage: "l", Rows: 4, Cols: 1, Capture: probes.Capture{Kind: kind}}
		v := &debugkern.TileView{Place: debugkern.Place{Stage: "l"}, Plan: plan}
		p.SetData(Data{Place: v.Place, View: v})
		if text := ansi.Strip(strings.Join(p.View(), "\n")); !strings.Contains(text, want) {
			t.Errorf("capture %v:\n%s", kind, text)
		}
	}
}
