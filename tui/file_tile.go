package tui

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/cell"
	"tilescope/tui/view"
)

// tileFile splits the argument of :dump where it names a tile's file: FILE.csv or FILE.npy, and reference
// behind it for the numbers that the tile is compared with. ext is "" where it names none.
func tileFile(arg string) (path, ext string, reference bool) {
	path, reference = strings.CutSuffix(arg, " reference")
	path = strings.TrimSpace(path)
	if ext = strings.ToLower(filepath.Ext(path)); ext != ".csv" && ext != ".npy" {
		return arg, "", false
	}
	return path, ext, reference
}

// dumpTile writes the tile under the cursor: FILE.csv as :yank tile csv copies it, FILE.npy as an array.
func (m *Model) dumpTile(command, path, ext string, reference bool) tea.Cmd {
	viewer, at, ref := m.Run.Viewer, m.PlaceOf(m.Cursor), m.Numbers.Ref
	c := copying{part: "tile", form: cell.CSV, reference: reference}
	fill := func(_ context.Context, w io.Writer) error {
		v, err := viewer.View(at.Place)
		if err != nil {
			return err
		}
		if err := c.missing(v, at); err != nil {
			return err
		}
		switch {
		case ext == ".npy" && reference:
			judge := cell.NewJudge(v, ref, cell.Bound(0))
			return v.WriteArray(w, func(row, col int) float64 { return judge.At(row, col).Want })
		case ext == ".npy":
			return v.WriteArray(w, nil)
		}
		rows, _ := c.form.Rows("", 0, v.ValidRows, v.ValidCols, math.MaxInt, c.texts(v, ref))
		_, err = io.WriteString(w, rows)
		return err
	}
	return m.writing(m.output(command, path), m.tileOf(at.Place, reference), fill)
}

// tileOf names a tile of the run on screen: "P block 3,1,0 kv 2", "the reference of P block 3,1,0 kv 2".
func (m *Model) tileOf(p debugkern.Place, reference bool) string {
	what := p.Stage.String()
	if sp := m.Run.Plan.Stage(p.Stage); sp != nil && !sp.OfLaunch() {
		what = strings.TrimSpace(fmt.Sprintf("%s block %s %s", p.Stage, p.Block,
			view.TileText(m.Run.Plan, sp, p.KVTile)))
	}
	if reference {
		what = "the reference of " + what
	}
	if !m.Current() {
		what += " of the previous run"
	}
	return what
}

// missing says why what is asked of a tile is not there; nil where it is.
func (c copying) missing(v *debugkern.TileView, at debugkern.Cell) error {
	rows, cols := v.ValidRows, v.ValidCols
	switch {
	case !v.Got.Reached():
		return fmt.Errorf("%s was not reached: it has no values", v.Stage)
	case c.reference && !v.Referenced():
		return fmt.Errorf("%s is compared with no reference", v.Stage)
	case c.part != "tile" && (at.Row >= rows || at.Col >= cols):
		return fmt.Errorf("%s has no compared cell there (%d×%d)", v.Stage, rows, cols)
	}
	return nil
}

// texts returns a tile's cells, or those of its reference, as text: "" for one that has no number.
func (c copying) texts(v *debugkern.TileView, ref cell.Ref) func(row, col int) string {
	if c.reference {
		judge := cell.NewJudge(v, ref, cell.Bound(0))
		return func(row, col int) string { return cell.Decimal(judge.At(row, col).Want, 64) }
	}
	return func(row, col int) string {
		if !v.Has(row, col) {
			return ""
		}
		return cell.Exact(v.Got.DType, v.Got.Bits(row, col))
	}
}
