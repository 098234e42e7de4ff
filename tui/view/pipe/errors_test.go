package pipe

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// TestErrorsTable: local and global errors stand in the columns of one table; where a number has no room
// there they are sentences, and no figure is lost.
func TestErrorsTable(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	p.SetSize(80, 40)
	d := &report.Stage{Tiles: 64, Local: report.ErrorStats{
		Cells: 65536, Bad: 17472, Error: 0.184, Bound: 3.83e-6, MaxAbs: 11.8, Nonfinite: 3,
	}, Global: report.ErrorStats{Cells: 65536, Error: 0.1, Bound: 0.4, MaxAbs: 0.25}}
	draw := func() string {
		var out []string
		p.errors(d, func(name string, _ theme.Style, format string, args ...any) {
			out = append(out, fmt.Sprintf("%-6s|", name)+fmt.Sprintf(format, args...))
		})
		return strings.Join(out, "\n")
	}
	want := `errors|worst error  its bound  ratio    max error  bad of 65536 cells
local |1.84e-01     3.83e-06   ×48k     1.18e+01   17472, 3 NaN or Inf
global|1.00e-01     4.00e-01   25 %     2.50e-01   none
      |local: this stage alone; global: earlier stages' errors too`
	if got := draw(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d.Local.Bad, d.Local.Nonfinite = 1234567890, 1234567890
	for _, part := range []string{"local |all 64 tiles: 1234567890 of 65536", "global|all 64 tiles: none"} {
		if got := draw(); !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}
