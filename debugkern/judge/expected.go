package judge

import (
	"context"
	"math"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Expected is what stages, and arguments after the launch, are compared with where that is not what the graph
// makes of the inputs by derived bounds. A stage with numbers of its own is compared with them in the place
// of the graph's from the inputs: globally, and locally where it cannot be judged from the kernel's own
// tiles. It must be safe for concurrent use.
type Expected interface {
	// Has reports whether there is anything about a stage: numbers of its own, or bounds for the graph's.
	Has(s probes.Stage) bool
	// Own reports whether it has numbers of its own.
	Own(s probes.Stage) bool
	// Rows fills e with rows of a tile from row first on, as many as e has; cells beyond the valid ones are
	// 0. graph is what the graph makes of the same rows; nil where it makes nothing of them.
	Rows(s probes.Stage, block probes.Dim3, kv, first int, graph, e *ref.Estimate)
	// Reason says in words how the bounds of a stage come about; "" where they are those of its operators.
	Reason(s probes.Stage) string
}

// expectation is what is expected of a stage's tile of the current iteration, by its reference from the
// inputs and that from the kernel's own tiles.
type expectation struct {
	e  *ref.Estimate
	ok bool // it is of the current iteration
}

// has reports whether something else than the graph by derived bounds is expected of a stage.
func (w *walker) has(i int) bool {
	return w.expected != nil && w.expected.Has(w.g.Stage(i).Stage)
}

// own reports whether a stage is compared with numbers that the graph has no part in.
func (w *walker) own(i int) bool { return w.has(i) && w.expected.Own(w.g.Stage(i).Stage) }

// known reports whether a stage has a reference from the inputs.
func (w *walker) known(i int) bool { return w.g.Known(i) || w.own(i) }

// adapted returns what is expected of the current tile of a stage, given what the graph makes of it.
func (w *walker) adapted(x *expectation, i int, graph *ref.Estimate) *ref.Estimate {
	if x.ok {
		return x.e
	}
	sp := w.g.Stage(i)
	if x.e == nil {
		x.e = ref.NewEstimate(sp.Rows, sp.Cols)
	}
	w.expected.Rows(sp.Stage, w.id, w.kv(i, w.t), 0, graph, x.e)
	x.ok = true
	return x.e
}

// globalOf returns the estimate of a stage from the inputs, or what is expected in its place.
func (w *walker) globalOf(i int) *ref.Estimate {
	if !w.has(i) {
		return w.global.Estimate(i)
	}
	var graph *ref.Estimate
	if w.g.Known(i) {
		graph = w.global.Estimate(i)
	}
	return w.adapted(&w.fromInputs[i], i, graph)
}

// estimateOf returns the local estimate of a stage: the one made from the kernel's own stages, or the global
// one where what it is computed from was not captured, or is not named by the manifest.
func (w *walker) estimateOf(i int) *ref.Estimate {
	switch {
	case !w.fromOwn(i):
		return w.globalOf(i)
	case w.has(i) && !w.own(i):
		return w.adapted(&w.fromTiles[i], i, w.local.Estimate(i))
	}
	return w.local.Estimate(i)
}

// forgetExpected makes adapted fetch anew: the walker is at another block or iteration.
func (w *walker) forgetExpected() {
	for i := range w.fromInputs {
		w.fromInputs[i].ok, w.fromTiles[i].ok = false, false
	}
}

// bandCells is how many cells of an argument are compared at once: its estimate takes 24 bytes a cell.
const bandCells = 1 << 16

// arguments judges the arguments of the plan's Memory that something is expected of, as a whole. Where only
// some blocks were executed, no argument is complete: of those that can be judged in part the cells that were
// written are.
func (j *Judgement) arguments(ctx context.Context) error {
	if j.opt.Expected == nil {
		return nil
	}
	p := j.ref.Plan()
	for i := range p.Memory {
		sp := &p.Memory[i]
		out := StageResult{Stage: sp.Stage}
		if j.opt.Expected.Has(sp.Stage) && (j.opt.Blocks == nil || j.opt.InPart.Has(sp.Stage)) {
			var err error
			if out, err = j.argument(ctx, sp); err != nil {
				return err
			}
		}
		j.Stages = append(j.Stages, out)
	}
	return nil
}

// argument judges one argument, a band of rows after the other.
func (j *Judgement) argument(ctx context.Context, sp *probes.StagePlan) (StageResult, error) {
	out := StageResult{Stage: sp.Stage, Tiles: 1}
	raw := j.src.Tile(sp.Stage, probes.Dim3{}, 0)
	if !raw.Reached() && j.opt.Blocks != nil {
		return out, nil
	}
	if !raw.Reached() {
		return StageResult{Stage: sp.Stage, Unreached: 1, Absent: probes.Elems(sp.Capture.Dims)}, nil
	}
	var t, local tally
	n := probes.Elems(sp.Capture.Dims)
	full := n / sp.Cols // rows
	step := max(1, bandCells/sp.Cols)
	e := ref.NewEstimate(min(step, sp.Rows), sp.Cols)
	verdict := TileVerdict{Verdict: OK, Cells: int32(min(n, math.MaxInt32))}
	for first := 0; first < sp.Rows; {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		rows, cols := min(step, max(0, full-first)), sp.Cols
		if first >= full { // the last row of a list is not full
			rows, cols = 1, n-full*sp.Cols
		}
		b := band{sp: sp, raw: raw, first: first, rows: rows, cols: cols}
		part := e.First(rows)
		j.opt.Expected.Rows(sp.Stage, probes.Dim3{}, 0, first, nil, part)
		absent := b.judge(j, part, &local, &t, &verdict)
		if j.opt.Blocks != nil {
			absent = 0 // others would have written them
		}
		out.Absent += absent
		verdict.Absent += int32(absent)
		first += rows
	}
	out.Local, out.Global = local.Stats, t.Stats
	for stats, at := range map[*Stats]worst{&out.Local: local.worst, &out.Global: t.worst} {
		stats.Bound, stats.Error, stats.Derivation = at.bound, max(at.err, 0), j.opt.Expected.Reason(sp.Stage)
	}
	out.conclude(&local, &t)
	switch {
	case verdict.Bad > 0:
		verdict.Verdict = Wrong
	case verdict.Tainted > 0:
		verdict.Verdict = Tainted
	}
	j.whole = append(j.whole, wholeVerdict{sp.Stage, verdict})
	return out, nil
}

// band is some rows of an argument.
type band struct {
	sp                *probes.StagePlan
	raw               probes.Tile
	first, rows, cols int
}

// judge compares a band with its estimate, and returns how many of its cells were never written: those are
// not compared.
func (b *band) judge(j *Judgement, e *ref.Estimate, local, global *tally, verdict *TileVerdict) (absent int) {
	sp, size := b.sp, b.sp.DType.Size()
	from, to := b.first*sp.Cols, (b.first+b.rows)*sp.Cols
	cut := probes.Tile{DType: sp.DType, Rows: b.rows, Cols: sp.Cols, Data: b.raw.Data[from*size : to*size]}
	got := tile{m: op.Matrix{Rows: b.rows, Cols: sp.Cols, Data: op.Widen(nil, cut)}, raw: cut, ok: true}
	if b.raw.Absent != nil {
		cut.Absent = b.raw.Absent[from:to]
		got.absent, got.count = absentIn(cut, b.rows, b.cols)
	}
	v := &view{
		got: &got, rows: b.rows, cols: b.cols, dtype: sp.DType, row: b.first,
		place: Place{sp.Stage, probes.Dim3{}, j.ref.Plan().Work.MaxTiles},
	}
	v.kv = v.place.KVTile
	v.local = true
	bad, odd, top := local.judge(v, e, got.absent, true)
	v.local = false
	tainted, _, _ := global.judge(v, e, got.absent, false)
	global.MaxULP = local.MaxULP
	verdict.Bad, verdict.Nonfinite, verdict.Tainted = verdict.Bad+bad, verdict.Nonfinite+odd,
		verdict.Tainted+tainted
	verdict.MaxAbs = max(verdict.MaxAbs, top)
	return got.count
}

// wholeVerdict is the verdict on an argument.
type wholeVerdict struct {
	stage   probes.Stage
	verdict TileVerdict
}

// Whole returns an argument of the plan's Memory next to what is expected of it: got, references and bounds,
// as it is after the launch. It is nil where nothing is expected of it, and where it was not judged.
func (j *Judgement) Whole(s probes.Stage) *TileDiff {
	sp := j.ref.Plan().Stage(s)
	if sp == nil || !sp.OfLaunch() || j.opt.Expected == nil || !j.opt.Expected.Has(s) ||
		j.opt.Blocks != nil && !j.opt.InPart.Has(s) {
		return nil
	}
	raw := j.src.Tile(s, probes.Dim3{}, 0)
	if j.opt.Blocks != nil && !raw.Reached() {
		return nil
	}
	want, bound := make([]float64, sp.Rows*sp.Cols), make([]float64, sp.Rows*sp.Cols)
	e := ref.NewEstimate(min(max(1, bandCells/sp.Cols), sp.Rows), sp.Cols)
	for first := 0; first < sp.Rows; first += e.Ref.Rows {
		part := e.First(min(e.Ref.Rows, sp.Rows-first))
		j.opt.Expected.Rows(s, probes.Dim3{}, 0, first, nil, part)
		copy(want[first*sp.Cols:], part.Ref.Data)
		copy(bound[first*sp.Cols:], part.Bound.Data)
	}
	return &TileDiff{
		Place: Place{s, probes.Dim3{}, 0}, Rows: sp.Rows, Cols: sp.Cols, ValidRows: sp.Rows,
		ValidCols: sp.Cols, Absent: raw.Absent,
		Local: want, Global: want, Mirrored: want, LocalBound: bound, GlobalBound: bound,
		Verdict: j.Tile(s, probes.Dim3{}, 0),
	}
}

// rounded rounds numbers to a type.
func rounded(t probes.DType, x []float64) []float64 {
	if !t.Float() {
		return x
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = op.RoundTo(t, v)
	}
	return out
}
