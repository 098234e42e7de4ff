package tile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// TestRowLabels: no two rows have the same label, whatever rows are called and however narrow the pane is.
func TestRowLabels(t *testing.T) {
	for _, axis := range []string{"q", "row", "batch_and_head"} {
		for _, rows := range []int{8, 101, 1200} {
			for _, w := range []int{56, 80, 120, 200} {
				p := NewPane(theme.New(theme.Options{}))
				p.SetData(Data{Place: debugkern.Place{Stage: "X"}, View: &debugkern.TileView{
					Place: debugkern.Place{Stage: "X"},
					Plan: &probes.StagePlan{Stage: "X", DType: probes.F32, Rows: rows, Cols: 4,
						Axes: [2]string{axis, "col"}},
					Got: probes.NewTile(probes.F32, rows, 4), Local: make([]float64, rows*4),
					LocalBound: make([]float64, rows*4), ValidRows: rows, ValidCols: 4,
				}})
				p.SetSize(w, 20)
				p.SetCursor(rows-1, 0)
				seen := map[string]bool{}
				lines := p.View()[2 : 2+p.nrows]
				for i, l := range lines {
					l = strings.TrimLeft(ansi.Strip(l), theme.New(theme.Options{}).Glyph.V)
					name := strings.FieldsFunc(l, func(r rune) bool { return r == ' ' || r == '[' })[0]
					if seen[name] || !strings.HasSuffix(name, fmt.Sprint(p.top+i)) {
						t.Errorf("%s, %d rows, %d columns: row %d is called %q", axis, rows, w, p.top+i, name)
					}
					seen[name] = true
				}
			}
		}
	}
}
