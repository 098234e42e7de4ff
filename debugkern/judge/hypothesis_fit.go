package judge

import (
	"math"
	"slices"

	"tilescope/probes"
)

// fittedHypotheses fit a factor or an offset to the tile, to its rows or to its columns. Each number needs
// cellsPerFit bad cells; the fit is the value that the most cells allow, each within its bound.
func fittedHypotheses(sp *probes.StagePlan) []hypothesis {
	hs := []hypothesis{
		{name: Factor, value: "fitted by tile", predict: fitted(byTile, ratioRange, ratioGuess)},
		{name: Offset, value: "fitted by tile", predict: fitted(byTile, differenceRange, differenceGuess)},
	}
	if sp.Cols > 1 {
		hs = append(hs,
			hypothesis{name: Factor, value: "fitted by row", predict: fitted(byRow, ratioRange, ratioGuess)},
			hypothesis{
				name: Factor, value: "fitted by column", predict: fitted(byColumn, ratioRange, ratioGuess),
			},
			hypothesis{
				name: Offset, value: "fitted by row",
				predict: fitted(byRow, differenceRange, differenceGuess),
			},
			hypothesis{
				name: Offset, value: "fitted by column",
				predict: fitted(byColumn, differenceRange, differenceGuess),
			})
	}
	return hs
}

func byTile(*scene, int) int        { return 0 }
func byRow(sc *scene, i int) int    { return i / sc.stride }
func byColumn(sc *scene, i int) int { return i % sc.stride }

// span is the values of a parameter that a cell allows.
type span struct{ lo, hi float64 }

// ratioRange is the factors that bring the right value to within its bound of what was got.
func ratioRange(sc *scene, i int) span {
	g, ref := sc.got.Data[i], sc.e.Ref.Data[i]
	b := sc.rnd.Bound(g, sc.e.Pre.Data[i]*math.Abs(g/ref))
	x, y := (g-b)/ref, (g+b)/ref
	return span{min(x, y), max(x, y)}
}

func ratioGuess(sc *scene, i int, f float64) (v, pre float64) {
	v = sc.e.Ref.Data[i] * f
	return v, math.Abs(f)*sc.e.Pre.Data[i] + math.Abs(v)*opRel
}

func differenceRange(sc *scene, i int) span {
	g, ref := sc.got.Data[i], sc.e.Ref.Data[i]
	b := sc.rnd.Bound(g, sc.e.Pre.Data[i])
	return span{g - b - ref, g + b - ref}
}

func differenceGuess(sc *scene, i int, d float64) (v, pre float64) {
	return sc.e.Ref.Data[i] + d, sc.e.Pre.Data[i] + (math.Abs(sc.e.Ref.Data[i])+math.Abs(d))*opRel
}

// fitted groups the cells, fits one number to the bad ones of a group, and predicts with it. Groups with
// too few predict nothing.
func fitted(
	group func(*scene, int) int, allow func(*scene, int) span,
	guess func(*scene, int, float64) (v, pre float64),
) func(sc *scene, v, pre []float64) (int, bool) {
	return func(sc *scene, v, pre []float64) (int, bool) {
		cells := map[int][]int{}
		wrong := map[int]int{}
		for k, i := range sc.cells {
			v[k], pre[k] = math.NaN(), 0
			cells[group(sc, i)] = append(cells[group(sc, i)], k)
			if sc.wrong[i] {
				wrong[group(sc, i)]++
			}
		}
		fits := 0
		for g, ks := range cells {
			if wrong[g] < cellsPerFit {
				continue
			}
			spans := make([]span, 0, wrong[g])
			for _, k := range ks {
				if !sc.wrong[sc.cells[k]] {
					continue
				}
				if x := allow(sc, sc.cells[k]); !math.IsNaN(x.lo+x.hi) && !math.IsInf(x.lo+x.hi, 0) {
					spans = append(spans, x)
				}
			}
			best, n := mostCovered(spans)
			if n == 0 {
				continue
			}
			fits++
			for _, k := range ks {
				v[k], pre[k] = guess(sc, sc.cells[k], best.middle())
			}
		}
		return fits, fits > 0
	}
}

// mostCovered returns where the most spans overlap, and how many do.
func mostCovered(spans []span) (best span, most int) {
	if len(spans) == 0 {
		return span{}, 0
	}
	type edge struct {
		at    float64
		start bool
	}
	edges := make([]edge, 0, 2*len(spans))
	for _, s := range spans {
		edges = append(edges, edge{s.lo, true}, edge{s.hi, false})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		case a.start == b.start:
			return 0
		case a.start:
			return -1
		}
		return 1
	})
	depth := 0
	for k, e := range edges {
		if !e.start {
			depth--
			continue
		}
		if depth++; depth > most && k+1 < len(edges) {
			most, best = depth, span{e.at, edges[k+1].at}
		}
	}
	return best, most
}
