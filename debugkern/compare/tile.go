package compare

import (
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// eachTile visits a stage's captured tiles in the contract's order: kv tile, then block.
func eachTile(o *debugkern.Outcome, sp *probes.StagePlan, visit func(block probes.Dim3, kv int)) {
	r, kvs := o.Range(), 1
	if sp.OfLaunch() {
		visit(probes.Dim3{}, 0)
		return
	}
	if sp.PerTile {
		kvs = r.TileN
	}
	for i := range kvs {
		for j := range r.N.Count() {
			block := r.Block(j)
			if lo, n := o.Tiles(sp, block); i < n {
				visit(block, lo+i)
			}
		}
	}
}

// compareStage compares the tiles of a stage that compute the same part of the problem in both.
func compareStage(a, b *debugkern.Outcome, s probes.Stage, within *report.Tolerance) report.StageComparison {
	pa, pb := a.Plan().Stage(s), b.Plan().Stage(s)
	doc := report.StageComparison{Name: s.String(), Verdict: report.Equal, Reason: unlike(pa, pb)}
	if doc.Reason != "" {
		doc.Verdict = report.Incomparable
		return doc
	}
	if pa.OfLaunch() {
		compareTile(&doc, a, b, debugkern.Place{Stage: s}, debugkern.Place{Stage: s}, within)
		conclusion(&doc.Verdict, &doc.CellStats)
		return doc
	}
	names, others := probes.SharedPositions(a.Plan(), b.Plan()), map[string]debugkern.Place{}
	eachTile(b, pb, func(block probes.Dim3, kv int) {
		others[b.Plan().Part(names, pb, block, kv)] = debugkern.Place{Stage: s, Block: block, KVTile: kv}
	})
	eachTile(a, pa, func(block probes.Dim3, kv int) {
		if o, ok := others[a.Plan().Part(names, pa, block, kv)]; ok {
			compareTile(&doc, a, b, debugkern.Place{Stage: s, Block: block, KVTile: kv}, o, within)
		}
	})
	if doc.Tiles == 0 {
		doc.Verdict, doc.Reason = report.Incomparable,
			"no captured tile is the same part of the problem in both"
		return doc
	}
	conclusion(&doc.Verdict, &doc.CellStats)
	return doc
}

// conclusion sets the verdict that the cells come to.
func conclusion(verdict *string, c *report.CellStats) {
	switch {
	case c.Beyond > 0:
		*verdict = report.Differ
	case c.Differing > 0:
		*verdict = report.Within
	}
}

// unlike returns why two stages' tiles cannot be compared cell by cell; "" where they can.
func unlike(a, b *probes.StagePlan) string {
	if why := probes.Unlike(a, b, "in A", "in B"); why != "" {
		return why
	}
	if a.OfLaunch() != b.OfLaunch() || a.OfLaunch() && !slices.Equal(a.Capture.Dims, b.Capture.Dims) {
		return "an argument of other extents, or a stage, in one of them"
	}
	if a.DType != b.DType {
		return fmt.Sprintf("%s in A, %s in B", a.DType, b.DType)
	}
	return ""
}

// compareTile compares the cells valid in both. A tile that only one kernel reached differs in every cell, as
// does a cell that was captured in only one.
func compareTile(
	d *report.StageComparison, a, b *debugkern.Outcome, pa, pb debugkern.Place, within *report.Tolerance,
) {
	x, y := a.Tile(pa), b.Tile(pb)
	if !x.Reached() && !y.Reached() {
		return
	}
	d.Tiles++
	sa, sb := a.Plan().Stage(pa.Stage), b.Plan().Stage(pb.Stage)
	rows := min(sa.Rows, sa.ValidRows.At(pa.Block, pa.KVTile), sb.ValidRows.At(pb.Block, pb.KVTile))
	cols := min(sa.Cols, sa.ValidCols.At(pa.Block, pa.KVTile), sb.ValidCols.At(pb.Block, pb.KVTile))
	for row := range max(0, rows) {
		for col := range max(0, cols) {
			if sa.OfLaunch() && row*sa.Cols+col >= probes.Elems(sa.Capture.Dims) {
				continue // past the last element of a list
			}
			if !countCell(&d.CellStats, x, y, row, col, within) || d.First != nil {
				continue
			}
			d.First = &report.DifferingCell{
				Block: pa.Block, KVTile: documentTile(a, pa), Row: row, Col: col,
				A: report.Number(math.NaN()), B: report.Number(math.NaN()),
			}
			if sa.PerTile {
				d.First.Tile = a.Plan().Work.TileName()
			}
			if sa.OfLaunch() {
				d.First.Index = probes.Index(row*sa.Cols+col, sa.Capture.Dims)
			}
			if x.Captured(row, col) {
				d.First.A, d.First.BitsA = report.Number(x.At(row, col)), bitsText(x, row, col)
			}
			if y.Captured(row, col) {
				d.First.B, d.First.BitsB = report.Number(y.At(row, col)), bitsText(y, row, col)
			}
		}
	}
}

// documentTile is a tile's kv tile as documents say it: what is computed before the loop comes before the
// first, what is computed after it after the last.
func documentTile(o *debugkern.Outcome, p debugkern.Place) int {
	if o.Plan().Stage(p.Stage).OfLaunch() {
		return -1
	}
	return o.Plan().Stage(p.Stage).KVTile(p.KVTile, o.Plan().Work.Tiles.At(p.Block, 0))
}

func bitsText(t probes.Tile, row, col int) string {
	return fmt.Sprintf("0x%0*x", 2*t.DType.Size(), t.Bits(row, col))
}

// countCell counts one cell and reports whether it differs, beyond the tolerance where there is one.
func countCell(c *report.CellStats, x, y probes.Tile, row, col int, within *report.Tolerance) bool {
	c.Cells++
	if a, b := x.Captured(row, col), y.Captured(row, col); !a || !b {
		if a == b && x.Reached() && y.Reached() {
			return false // in neither
		}
		c.Differing++
		c.Beyond++
		c.Nonfinite++
		return true
	}
	p, q := x.Bits(row, col), y.Bits(row, col)
	if p == q {
		return false
	}
	c.Differing++
	beyond := Beyond(x.DType, p, q, within)
	if beyond {
		c.Beyond++
	}
	d := x.DType.Value(p) - y.DType.Value(q)
	if math.IsNaN(d) || math.IsInf(d, 0) {
		c.Nonfinite++
		return beyond
	}
	c.MaxAbs = max(c.MaxAbs, report.Number(math.Abs(d)))
	c.MaxULP = max(c.MaxULP, ulpsApart(x.DType, p, q))
	return beyond
}

// Beyond reports whether two bit patterns of a type are further apart than a tolerance allows: |a − b| > atol
// + rtol·max(|a|, |b|), so that neither of them counts as the right one. Two NaN are not, whatever their
// bits; a number and a NaN, or an infinity, always are. Without a tolerance all but equal bits are.
func Beyond(t probes.DType, p, q uint64, within *report.Tolerance) bool {
	if p == q || within == nil {
		return p != q
	}
	a, b := t.Value(p), t.Value(q)
	if math.IsNaN(a) || math.IsNaN(b) {
		return !(math.IsNaN(a) && math.IsNaN(b))
	}
	d := math.Abs(a - b)
	if d == 0 && !t.Float() { // 64-bit integers that float64 cannot tell apart
		d = 1
	}
	return math.IsInf(d, 0) || d > float64(within.ATol)+float64(within.RTol)*max(math.Abs(a), math.Abs(b))
}

// ulpsApart is how many representable values two finite bit patterns of a type are apart; both
// zeros are one value.
func ulpsApart(t probes.DType, p, q uint64) int64 {
	if !t.Float() {
		return int64(min(math.Abs(t.Value(p)-t.Value(q)), math.MaxInt64/2))
	}
	top := uint64(1) << (8*t.Size() - 1)
	order := func(b uint64) int64 {
		if b&top != 0 {
			return -int64(b &^ top)
		}
		return int64(b)
	}
	d := order(p) - order(q)
	if d < 0 {
		d = -d
	}
	return max(d, 0)
}

// compareOutput compares the output arguments element by element, whatever the grids; nil under a gate, or
// where the result is not among the stages.
func compareOutput(a, b *debugkern.Outcome, within *report.Tolerance) *report.OutputComparison {
	sa, sb := a.Plan().Output(), b.Plan().Output()
	if a.Plan().Gate.Name != probes.GateNone || sa == nil || sb == nil || !a.Captures(sa.Stage) ||
		!b.Captures(sb.Stage) || a.Output() == nil || b.Output() == nil {
		return nil
	}
	doc := &report.OutputComparison{Verdict: report.Equal}
	if sa.DType != sb.DType || len(a.Output()) != len(b.Output()) {
		doc.Verdict, doc.Reason = report.Incomparable,
			fmt.Sprintf("%d bytes of %s in A, %d of %s in B", len(a.Output()), sa.DType,
				len(b.Output()), sb.DType)
		return doc
	}
	n := len(a.Output()) / sa.DType.Size()
	x := probes.Tile{DType: sa.DType, Rows: 1, Cols: n, Data: a.Output()}
	y := probes.Tile{DType: sa.DType, Rows: 1, Cols: n, Data: b.Output()}
	for i := range n {
		if countCell(&doc.CellStats, x, y, 0, i, within) && doc.First == nil {
			doc.First = probes.Index(i, a.Plan().OutputDims())
		}
	}
	conclusion(&doc.Verdict, &doc.CellStats)
	return doc
}
