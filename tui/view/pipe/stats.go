package pipe

import (
	"fmt"
	"math"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

func (p *Pane) statsStyle(s report.ErrorStats) theme.Style {
	if s.Bad > 0 {
		return p.Theme.Wrong
	}
	return p.Theme.Text
}

// tileText counts the tile under the cursor, of which the map and the histogram are: P kv 1 of block 0,0,0:
// 3 of 1024 cells bad. Until the tile is there it is its name alone, so that no line moves when it comes.
func (p *Pane) tileText() string {
	if p.stats.Cells == 0 {
		return fmt.Sprintf("%s of block %s", p.tileName(), p.at.Block)
	}
	bad := "no cell"
	if p.stats.Bad > 0 {
		bad = fmt.Sprintf("%d of %d cells", p.stats.Bad, p.stats.Cells)
	}
	text := fmt.Sprintf("%s of block %s: %s bad", p.tileName(), p.at.Block, bad)
	if p.judged != "" {
		text += ", " + p.judged
	}
	return text + worstText(p.stats.Worst)
}

// worstText relates the error of a tile's worst cell to its bound; "" where it has none, or is no number.
func worstText(w float64) string {
	if share := cell.OfBound(w); share != "" {
		return " · worst error " + share
	}
	return ""
}

// statsText: none of 32768 cells bad · worst error 0.000972 = 99 % of its bound 0.000977 · max error
// 0.00163, where the bound is larger
//
// The worst error is the one that is the largest share of its cell's bound; bounds differ by cell, so that
// another cell may have a larger error.
func statsText(s report.ErrorStats) string {
	if s.Cells == 0 {
		return "no cell is compared: what it is computed from was not captured"
	}
	text := fmt.Sprintf("none of %d cells bad", s.Cells)
	if s.Bad > 0 {
		text = fmt.Sprintf("%d of %d cells bad", s.Bad, s.Cells)
	}
	if s.MaxAbs == 0 && s.Error == 0 {
		return text + " · no error in any"
	}
	text += fmt.Sprintf(" · worst error %s%s bound %.3g", s.Size(s.Error, "%.3g"), shareWords(&s),
		float64(s.Bound))
	if s.Error != s.MaxAbs {
		text += fmt.Sprintf(" · max error %s", s.Size(s.MaxAbs, "%.3g"))
		if !math.IsInf(float64(s.MaxAbs), 0) && !math.IsNaN(float64(s.MaxAbs)) {
			text += ", where the bound is larger"
		}
	}
	if s.Nonfinite > 0 {
		text += " · " + s.Odd()
	}
	return text
}

// shareWords relates the worst error to the bound that is written behind it.
func shareWords(s *report.ErrorStats) string {
	switch share := shareText(s); {
	case share == "" || share == "exact":
		return ","
	case strings.HasPrefix(share, "×"):
		return ", " + strings.TrimPrefix(share, "×") + " times its"
	default:
		return " = " + share + " of its"
	}
}
