package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"tilescope/debugkern/join"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// Thresholds of what is worth saying.
const (
	sampleTiles   = 6     // wrong tiles that all hypotheses are tried on first
	samplePasses  = 0.2   // share of a sample's bad cells below which a hypothesis is not tried on the rest
	leastExplains = 0.5   // below this an explanation is not reported
	asWell        = 0.005 // shares closer than this count as equal
	mostReported  = 4
	cellsPerFit   = 8 // bad cells that a fitted number needs
)

// Explain fills the fingerprints of every wrong stage: transforms of the right tile, tried on all of the
// stage's wrong tiles, several stages at once. It walks the blocks again and may be called once, after
// Judge; it returns ctx's error if cancelled.
func (j *Judgement) Explain(ctx context.Context) error {
	errs := make([]error, len(j.Stages))
	var wg join.Group
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Verdict != Wrong || j.g.Index(s.Stage) < 0 { // of an argument there are no tiles to transform
			continue
		}
		work := func() { errs[i] = j.explain(ctx, s) }
		if j.opt.Parallel == 1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// explain fills the fingerprints of one wrong stage.
func (j *Judgement) explain(ctx context.Context, s *StageResult) error {
	i := j.g.Index(s.Stage)
	tiles := j.wrongTiles(i)
	sample := pick(tiles, sampleTiles)
	trial, err := j.try(ctx, i, sample, j.hypotheses(i))
	if err != nil {
		return err
	}
	trial.keep(samplePasses)
	all := trial
	if len(sample) < len(tiles) && len(trial.runs) > 0 {
		if all, err = j.try(ctx, i, tiles, trial.survivors()); err != nil {
			return err
		}
	}
	s.Fingerprints = all.report(s.Local.Bad, s.Rows)
	return nil
}

// spot is a wrong tile.
type spot struct {
	block int // in the range
	kv    int
}

func (j *Judgement) wrongTiles(i int) []spot {
	var out []spot
	per := 1
	if j.g.Stage(i).PerTile {
		per = j.opt.Range.TileN
	}
	for k, v := range j.tiles[i] {
		if v.Bad > 0 {
			out = append(out, spot{k / per, j.opt.Range.TileLo + k%per})
		}
	}
	return out
}

// pick chooses n of the tiles, spread over all of them.
func pick(tiles []spot, n int) []spot {
	if len(tiles) <= n {
		return tiles
	}
	out := make([]spot, n)
	for i := range out {
		out[i] = tiles[i*(len(tiles)-1)/(n-1)]
	}
	return out
}

// hypothesis is one transform: those of an operator, and those that any tile may suffer. Predict
// fills what the stage's bad cells would be, and how far a kernel with that mistake may be from it
// before the last rounding; it returns how many numbers it fitted to the tile, and false where it
// says nothing about this tile.
type hypothesis struct {
	name, value string
	fitted      int // numbers fitted beforehand
	predict     func(sc *scene, v, pre []float64) (fitted int, ok bool)
}

// run is a hypothesis and how it did.
type run struct {
	hypothesis
	hits, fits int
	example    string
	at         spot
}

// trial is a set of hypotheses tried on tiles.
type trial struct {
	runs     []run
	bad      int
	from, to int // of runs: those that are tried
}

func (t *trial) keep(share float64) {
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool { return float64(r.hits) < share*float64(t.bad) })
}

func (t *trial) survivors() []hypothesis {
	out := make([]hypothesis, len(t.runs))
	for i, r := range t.runs {
		out[i] = r.hypothesis
	}
	return out
}

// try evaluates hypotheses on some wrong tiles of a stage, blocks in parallel. Numbers that hold for all
// tiles are fitted to the first of them.
func (j *Judgement) try(ctx context.Context, i int, tiles []spot, hs []hypothesis) (*trial, error) {
	byBlock := map[int][]int{}
	for _, p := range tiles {
		byBlock[p.block] = append(byBlock[p.block], p.kv)
	}
	blocks := slices.Sorted(maps.Keys(byBlock))
	workers := j.opt.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	// few blocks: several walk each, and share the hypotheses
	shares := max(1, min(workers/max(len(blocks), 1), len(hs)))
	workers = min(workers, shares*len(blocks))
	parts := make([]*trial, workers)
	var next atomic.Int64
	var wg join.Group
	for k := range parts {
		parts[k] = newTrial(hs)
		wg.Go(func() {
			w := newWalker(j.ref, j.src, j.opt)
			defer w.close()
			for n := int(next.Add(1)) - 1; n < shares*len(blocks) &&
				ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				b, share := blocks[n/shares], n%shares
				parts[k].from, parts[k].to = share*len(hs)/shares, (share+1)*len(hs)/shares
				parts[k].block(ctx, j, w, i, b, byBlock[b])
			}
		})
	}
	wg.Wait()
	for _, p := range parts[1:] {
		parts[0].merge(p)
	}
	return parts[0], ctx.Err()
}

func newTrial(hs []hypothesis) *trial {
	t := &trial{runs: make([]run, len(hs))}
	for i, h := range hs {
		t.runs[i] = run{hypothesis: h, fits: h.fitted}
	}
	return t
}

func (t *trial) merge(o *trial) {
	t.bad += o.bad
	for i := range t.runs {
		a, b := &t.runs[i], &o.runs[i]
		a.hits += b.hits
		a.fits += b.fits - b.fitted
		if b.example != "" && (a.example == "" || b.at.before(a.at)) {
			a.example, a.at = b.example, b.at
		}
	}
}

func (p spot) before(q spot) bool {
	if p.kv != q.kv {
		return p.kv < q.kv
	}
	return p.block < q.block
}

// block walks one block and tries every hypothesis on its wrong tiles.
func (t *trial) block(ctx context.Context, j *Judgement, w *walker, i, block int, kvs []int) {
	sp := w.g.Stage(i)
	sc := newScene(w, i)
	w.begin(j.opt.Range.Block(block))
	if !sp.PerTile {
		w.goTo(i, 0)
		sc.open(0)
		t.scene(sc, spot{block, kvs[0]})
		return
	}
	last := slices.Max(kvs)
	alone := w.standsAlone(i, last)
	for kv := range last + 1 {
		if ctx.Err() != nil {
			return
		}
		if alone {
			w.nextOf(i)
		} else {
			w.next()
		}
		if slices.Contains(kvs, kv) {
			sc.open(kv)
			t.scene(sc, spot{block, kv})
		}
		sc.remember()
	}
}

func (t *trial) scene(sc *scene, at spot) {
	n := len(sc.bad)
	if n == 0 {
		return // what is bad lies outside the compared cells: there is no right value to transform
	}
	if t.from == 0 { // who has another share counts them no second time
		t.bad += n
	}
	v, pre := make([]float64, n), make([]float64, n)
	for i := t.from; i < t.to; i++ {
		r := &t.runs[i]
		fits, ok := r.predict(sc, v, pre)
		if !ok {
			continue
		}
		r.fits += fits
		for k, c := range sc.bad {
			if math.IsNaN(v[k]) || !sc.within(c, v[k], pre[k]) {
				// NaN says nothing of a cell, or follows from any NaN among the operands: it explains no NaN
				continue
			}
			r.hits++
			if r.example == "" || at.before(r.at) {
				r.at = at
				r.example = fmt.Sprintf("block %s %s %d (%d,%d): predicted %.6g%s, got %.6g, right %.6g",
					sc.id, sc.ref.Plan().Work.TileName(), at.kv, c/sc.stride, c%sc.stride, v[k],
					fitText(r.name, fits, v[k], sc.e.Ref.Data[c]), sc.got.Data[c], sc.e.Ref.Data[c])
			}
		}
	}
}

// fitText gives the number that was fitted, which is no quantity with a name.
func fitText(name string, fits int, v, ref float64) string {
	switch {
	case fits > 0 && name == Factor:
		return fmt.Sprintf(" (%.4g times the right one)", v/ref)
	case fits > 0 && name == Offset:
		return fmt.Sprintf(" (the right one %+.4g)", v-ref)
	}
	return ""
}

// report turns runs into fingerprints: best first; of those that do as well the one with fewer fitted numbers
// stands. A transform says nothing of the cells that are right, so where those have rows of their own, rows
// says it with the best.
func (t *trial) report(bad int, rows string) []Fingerprint {
	if rows != "" {
		rows = "all in " + rows + "; "
	}
	share := func(r run) float64 { return float64(r.hits) / float64(max(bad, 1)) }
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool {
		return share(r) < leastExplains || r.fits*cellsPerFit > bad
	})
	slices.SortStableFunc(t.runs, func(a, b run) int {
		if d := share(b) - share(a); math.Abs(d) > asWell {
			return cmp.Compare(share(b), share(a))
		}
		return cmp.Compare(a.fits, b.fits)
	})
	var out []Fingerprint
	var kept []run
	for _, r := range t.runs {
		beaten := func(k run) bool {
			return share(k) >= share(r)-asWell && (k.fits < r.fits || k.name == r.name) ||
				k.name == r.name && k.fits <= r.fits
		}
		if slices.ContainsFunc(kept, beaten) || len(kept) == mostReported {
			continue
		}
		if len(kept) > 0 {
			rows = "" // said once
		}
		kept = append(kept, r)
		out = append(out, Fingerprint{
			Name: r.name, Value: r.value, Explains: share(r), Fitted: r.fits,
			Evidence: fmt.Sprintf("%d of %d wrong cells lie within the bound of it; %s%s", r.hits, bad,
				rows, r.example),
		})
	}
	return out
}

// scene is one wrong tile, with all that hypotheses are made of: the walker's tiles, the stage's local
// estimate, and that of the iteration before.
type scene struct {
	*walker
	i          int
	sp         *probes.StagePlan
	e          *ref.Estimate
	got        op.Matrix
	rows, cols int // compared
	stride     int
	bad        []int // cells above their local bound, row-major
	rnd        op.Rounding
	before     *ref.Estimate // of the previous iteration; nil at the first
	spare      [2]op.Matrix
	halved     bool // spare holds this tile's halves
	op         op.Scene
}

func newScene(w *walker, i int) *scene {
	sp := w.g.Stage(i)
	return &scene{
		walker: w, i: i, sp: sp, stride: sp.Cols, rnd: op.Rounding{Coefs: w.local.Coefs(), DType: sp.DType},
	}
}

// open collects the bad cells of the walker's current tile.
func (sc *scene) open(kv int) {
	sc.e, sc.got = sc.estimateOf(sc.i), sc.left(sc.i).m
	rows, cols := sc.g.Valid(sc.i, sc.id, kv)
	sc.rows, sc.cols = min(rows, sc.got.Rows), min(cols, sc.got.Cols)
	sc.bad, sc.halved = sc.bad[:0], false
	v := &view{dtype: sc.sp.DType, local: true, certain: sc.e.Certain}
	skip := union(sc.left(sc.i).absent, sc.notLocal(sc.i))
	for r := range sc.rows {
		for c := range sc.cols {
			i := r*sc.stride + c
			g, ref, bound := sc.got.Data[i], sc.e.Ref.Data[i], sc.e.Bound.Data[i]
			if math.Abs(g-ref) <= bound || skip != nil && skip[i] {
				continue
			}
			if isBad, _ := judgeOdd(v, g, ref, bound); isBad {
				sc.bad = append(sc.bad, i)
			}
		}
	}
	if !sc.g.Defined(sc.i) {
		sc.op = op.Scene{}
		return
	}
	kernel, in, out := sc.pass().Kernel(sc.i)
	sc.op = op.Scene{
		Tile: op.Tile{Block: sc.id, Iter: max(sc.t, 0), Rows: sc.rows, Cols: sc.cols}, Kernel: kernel,
		In: in, Out: out,
		Ref: sc.e.Ref, Pre: sc.e.Pre, Stride: sc.stride, Bad: sc.bad, Coefs: sc.local.Coefs(),
	}
}

// pass is the one whose estimate the scene has.
func (sc *scene) pass() *ref.Pass {
	if sc.fromOwn(sc.i) {
		return sc.local
	}
	return sc.global
}

// terms reports whether the stage's own terms are at hand, which they are where its local estimate
// was made from them.
func (sc *scene) terms() bool { return sc.fromOwn(sc.i) }

// remember keeps this tile's local estimate for the next one.
func (sc *scene) remember() {
	e := sc.estimateOf(sc.i)
	if sc.before == nil {
		sc.before = ref.NewEstimate(e.Ref.Rows, e.Ref.Cols)
	}
	copy(sc.before.Ref.Data, e.Ref.Data)
	copy(sc.before.Pre.Data, e.Pre.Data)
}

// within reports whether a cell is what was predicted, within the stage's bound taken at the predicted value.
func (sc *scene) within(cell int, v, pre float64) bool {
	got := sc.got.Data[cell]
	if math.IsNaN(got) || math.IsInf(got, 0) {
		want := op.RoundTo(sc.rnd.DType, v)
		return got == want || math.IsNaN(got) && math.IsNaN(want)
	}
	bound := sc.rnd.Bound(v, pre)
	return math.Abs(got-v) <= bound && !math.IsInf(bound, 0)
}
