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
	"tilescope/debugkern/region"
	"tilescope/probes"
)

// Thresholds of what is worth saying.
const (
	sampleTiles   = 6     // wrong tiles that all hypotheses are tried on first
	samplePasses  = 0.2   // share of a sample's bad cells below which a hypothesis is not tried on the rest
	leastExplains = 0.5   // below this an explanation is not reported
	asWell        = 0.005 // shares closer than this count as equal
	mostReported  = 4
	cellsPerFit   = 8  // bad cells that a fitted number needs
	clashesPerHit = 50 // cells that a hypothesis explains for each right one that contradicts it
	clashesOf     = 8  // right cells for each of them that contradicts it
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

// explain fills region and fingerprints of one wrong stage.
func (j *Judgement) explain(ctx context.Context, s *StageResult) error {
	i := j.g.Index(s.Stage)
	tiles := j.tilesOf(i, func(v *TileVerdict) bool { return v.Bad > 0 })
	sv, err := j.survey(ctx, i, tiles)
	if err != nil {
		return err
	}
	if wrong, judged := sv.cells.Wrong(); wrong == s.Local.Bad && judged == s.Local.Cells {
		s.Region = sv.cells.Find()
	}
	right := pick(j.tilesOf(i, (*TileVerdict).right), sampleTiles)
	sample := pick(tiles, sampleTiles)
	trial, err := j.try(ctx, i, slices.Concat(sample, right), j.hypotheses(i, sv), s.Region)
	if err != nil {
		return err
	}
	trial.keep(samplePasses)
	all := trial
	if len(sample) < len(tiles) && len(trial.runs) > 0 {
		if all, err = j.try(ctx, i, slices.Concat(tiles, right), trial.survivors(), s.Region); err != nil {
			return err
		}
	}
	s.Fingerprints = all.report(s.Local.Bad, s.Region)
	return nil
}

// spot is a tile of a stage.
type spot struct {
	block int // in the range
	kv    int
}

// tilesOf lists the tiles of a stage by their verdict.
func (j *Judgement) tilesOf(i int, which func(v *TileVerdict) bool) []spot {
	var out []spot
	per := j.perBlock(i)
	for k := range j.tiles[i] {
		if which(&j.tiles[i][k]) {
			out = append(out, spot{k / per, j.opt.Range.TileLo + k%per})
		}
	}
	return out
}

// right reports whether a tile was judged and has no bad cell.
func (v *TileVerdict) right() bool { return v.Verdict != Off && v.Bad == 0 }

// perBlock is how many tiles of a stage a block of the range has.
func (j *Judgement) perBlock(i int) int {
	if j.g.Stage(i).PerTile {
		return j.opt.Range.TileN
	}
	return 1
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
// fills what the scene's cells would be, and how far a kernel with that mistake may be from it
// before the last rounding; NaN where it says nothing of a cell. It returns how many numbers it fitted to the
// tile, and false where it says nothing about this tile.
type hypothesis struct {
	name, value string
	fitted      int // numbers fitted beforehand
	predict     func(sc *scene, v, pre []float64) (fitted int, ok bool)
	// test, where predict is nil, reports whether a cell is as the hypothesis has it, and false where it says
	// nothing of the cell.
	test func(sc *scene, cell int) (holds, says bool)
	zero bool // it says that cells are 0
	// whole: right cells outside the stage's region contradict it too: values have changed places, and each
	// of them is at another one's
	whole bool
}

// run is a hypothesis and how it did.
type run struct {
	hypothesis
	hits, fits int
	telling    int // of the hits, those that are numbers other than 0
	clashes    int // right cells that it would have wrong, where it is claimed
	outside    int // those elsewhere
	agrees     int // right cells that it has right, where it is claimed
	example    string
	at         spot
}

// trial is a set of hypotheses tried on tiles.
type trial struct {
	runs     []run
	bad      int
	from, to int            // of runs: those that are tried
	region   *region.Region // where wrong cells are: hypotheses are claimed there; nil: everywhere
}

func (t *trial) keep(share float64) {
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool {
		return float64(r.hits) < share*float64(t.bad) || r.refuted()
	})
}

// refuted reports whether right cells contradict a hypothesis, or it explains no number but 0. A few of
// them may, by what it explains and by what they are: bounds are not those of a kernel with the mistake.
// Where no more cells are right than that, what they say counts all the same.
func (r *run) refuted() bool {
	clashes := r.clashes
	if r.whole {
		clashes += r.outside
	}
	if right := r.clashes + r.agrees; clashesOf*r.clashes > right {
		return true
	}
	return clashesPerHit*clashes > r.hits || r.telling == 0 && !r.zero
}

// elsewhere is 1 where right cells outside the region contradict a hypothesis: it is true in the region
// alone.
func (r *run) elsewhere() int {
	if clashesPerHit*r.outside > r.hits {
		return 1
	}
	return 0
}

func (t *trial) survivors() []hypothesis {
	out := make([]hypothesis, len(t.runs))
	for i, r := range t.runs {
		out[i] = r.hypothesis
	}
	return out
}

// try evaluates hypotheses on some tiles of a stage, blocks in parallel. Numbers that hold for all
// tiles are fitted to the first of them.
func (j *Judgement) try(
	ctx context.Context, i int, tiles []spot, hs []hypothesis, where *region.Region,
) (*trial, error) {
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
		parts[k].region = where
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
		a.telling += b.telling
		a.clashes += b.clashes
		a.outside += b.outside
		a.agrees += b.agrees
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

// block walks one block and tries every hypothesis on its tiles.
func (t *trial) block(ctx context.Context, j *Judgement, w *walker, i, block int, kvs []int) {
	w.scenes(ctx, j.opt.Range, i, block, kvs, t.scene)
}

// scenes walks one block and opens some of a stage's tiles.
func (w *walker) scenes(
	ctx context.Context, rng probes.Range, i, block int, kvs []int, f func(sc *scene, at spot),
) {
	sp := w.g.Stage(i)
	sc := newScene(w, i)
	w.begin(rng.Block(block))
	if !sp.PerTile {
		w.goTo(i, 0)
		sc.open(0)
		f(sc, spot{block, kvs[0]})
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
			f(sc, spot{block, kv})
		}
		sc.remember()
	}
}

func (t *trial) scene(sc *scene, at spot) {
	n := len(sc.cells)
	if t.from == 0 { // who has another share counts them no second time
		t.bad += len(sc.bad)
	}
	v, pre := make([]float64, n), make([]float64, n)
	within := make([]bool, n)
	for k, c := range sc.cells {
		within[k] = t.region == nil ||
			t.region.Has(sc.id, at.kv, sc.iters-1, c/sc.stride, c%sc.stride)
	}
	for i := t.from; i < t.to; i++ {
		r := &t.runs[i]
		if r.test != nil {
			for k, c := range sc.cells {
				if holds, says := r.test(sc, c); says {
					r.count(sc, c, holds, within[k])
					if holds && sc.wrong[c] && (r.example == "" || at.before(r.at)) {
						r.at, r.example = at, sc.example(c, at, "")
					}
				}
			}
			continue
		}
		fits, ok := r.predict(sc, v, pre)
		if !ok {
			continue
		}
		r.fits += fits
		for k, c := range sc.cells {
			if math.IsNaN(v[k]) {
				continue // it says nothing of the cell, or follows from a NaN among the operands
			}
			holds := sc.within(c, v[k], pre[k])
			r.count(sc, c, holds, within[k])
			if holds && sc.wrong[c] && (r.example == "" || at.before(r.at)) {
				r.at = at
				r.example = sc.example(c, at, fmt.Sprintf("predicted %.6g%s, ", v[k],
					fitText(r.name, fits, v[k], sc.e.Ref.Data[c])))
			}
		}
	}
}

// count adds a cell that the hypothesis says something of; inside: it is claimed there.
func (r *run) count(sc *scene, cell int, holds, inside bool) {
	switch got := sc.got.Data[cell]; {
	case sc.wrong[cell] && holds:
		r.hits++
		if got != 0 && !math.IsNaN(got) && !math.IsInf(got, 0) {
			r.telling++
		}
	case sc.wrong[cell]:
	case inside && holds:
		r.agrees++
	case inside:
		r.clashes++
	case !holds:
		r.outside++
	}
}

// example is a cell in words, with what was predicted of it.
func (sc *scene) example(c int, at spot, predicted string) string {
	tile := fmt.Sprintf("%s %d ", sc.plan.Work.TileName(), at.kv)
	if sc.plan.Work.Once {
		tile = ""
	}
	return fmt.Sprintf("block %s %s(%d,%d): %sgot %.6g, right %.6g", sc.id, tile, c/sc.stride, c%sc.stride,
		predicted, sc.got.Data[c], sc.e.Ref.Data[c])
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

// report turns runs into fingerprints: best first; of those that do as well the one with fewer fitted
// numbers stands, then one that right cells outside the region do not contradict. What right cells say is
// part of the evidence; the region stands with the best.
func (t *trial) report(bad int, where *region.Region) []Fingerprint {
	share := func(r run) float64 { return float64(r.hits) / float64(max(bad, 1)) }
	t.runs = slices.DeleteFunc(t.runs, func(r run) bool {
		return share(r) < leastExplains || r.fits*cellsPerFit > bad || r.refuted()
	})
	slices.SortStableFunc(t.runs, func(a, b run) int {
		if d := share(b) - share(a); math.Abs(d) > asWell {
			return cmp.Compare(share(b), share(a))
		}
		return cmp.Or(cmp.Compare(a.fits, b.fits), cmp.Compare(a.elsewhere(), b.elsewhere()))
	})
	place := ""
	if where != nil && !where.Whole() {
		place = "wrong: " + where.String() + "; "
	}
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
		kept = append(kept, r)
		against := ""
		if r.clashes > 0 {
			against = fmt.Sprintf("%d of %d right ones there contradict it; ", r.clashes, r.clashes+r.agrees)
		}
		out = append(out, Fingerprint{
			Name: r.name, Value: r.value, Explains: share(r), Fitted: r.fits,
			Evidence: fmt.Sprintf("%s; %s%s%s", explainsText(r.hits, bad), against, place, r.example),
		})
		place = "" // once
	}
	return out
}

// explainsText says how many of a stage's wrong cells a hypothesis explains. Only all of them are 100 %.
func explainsText(hits, bad int) string {
	switch {
	case hits < bad:
		return fmt.Sprintf("explains %d of %d wrong cells (%.0f %%)", hits, bad,
			min(99, 100*float64(hits)/float64(bad)))
	case bad == 1:
		return "explains the only wrong cell"
	}
	return fmt.Sprintf("explains all %d wrong cells", bad)
}

// scene is one tile of a wrong stage, with all that hypotheses are made of: the walker's tiles, the stage's
// local estimate, and that of the iteration before.
type scene struct {
	*walker
	i          int
	sp         *probes.StagePlan
	e          *ref.Estimate
	got        op.Matrix
	rows, cols int // compared
	stride     int
	cells      []int  // compared with the local estimate, row-major
	bad        []int  // of the cells, those above their local bound
	wrong      []bool // by cell: it is one of bad
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

// open collects the compared cells of the walker's current tile, and the bad ones.
func (sc *scene) open(kv int) {
	sc.e, sc.got = sc.estimateOf(sc.i), sc.left(sc.i).m
	rows, cols := sc.g.Valid(sc.i, sc.id, kv)
	sc.rows, sc.cols = min(rows, sc.got.Rows), min(cols, sc.got.Cols)
	sc.cells, sc.bad, sc.halved = sc.cells[:0], sc.bad[:0], false
	if len(sc.wrong) < len(sc.got.Data) {
		sc.wrong = make([]bool, len(sc.got.Data))
	}
	clear(sc.wrong)
	v := &view{dtype: sc.sp.DType, local: true, certain: sc.e.Certain}
	skip := union(sc.left(sc.i).absent, sc.notLocal(sc.i))
	for r := range sc.rows {
		for c := range sc.cols {
			i := r*sc.stride + c
			g, ref, bound := sc.got.Data[i], sc.e.Ref.Data[i], sc.e.Bound.Data[i]
			if skip != nil && skip[i] {
				continue
			}
			sc.cells = append(sc.cells, i)
			if math.Abs(g-ref) <= bound {
				continue
			}
			if isBad, _ := judgeOdd(v, g, ref, bound); isBad {
				sc.bad, sc.wrong[i] = append(sc.bad, i), true
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
		Ref: sc.e.Ref, Pre: sc.e.Pre, Stride: sc.stride, Cells: sc.cells, Wrong: len(sc.bad),
		Coefs: sc.local.Coefs(),
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
