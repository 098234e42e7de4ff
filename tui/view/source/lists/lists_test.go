package lists

import (
	"strings"
	"testing"

	"tilescope/tui/theme"
)

// TestLastTextTakesTheRow: a column has two fifths of the pane at most, but a text with nothing behind it has
// what is left of its row.
func TestLastTextTakesTheRow(t *testing.T) {
	p := New(theme.New(theme.Options{}))
	long := `no shared array "sP" (shared arrays: sX m_smem l_smem)`
	p.SetSize(100, 5)
	p.SetData(Data{Title: "WATCHES", Rows: []Row{
		{Cols: []string{"1", "sP[3][5]", long, ""}},
		{Cols: []string{"2", "m_smem[1]", "2.61", "was 0"}},
	}})
	lines := p.View()
	if !strings.Contains(lines[1], long) {
		t.Errorf("cut: %s", lines[1])
	}
	if !strings.Contains(lines[2], "2.61") || !strings.Contains(lines[2], "was 0") {
		t.Errorf("the other row: %s", lines[2])
	}
}
