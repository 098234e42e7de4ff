package diff

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/join"
	"tilescope/probes"
)

// Judge compares every captured tile with its two references. The result does not depend on the number of cores. It returns
// ctx's error if cancelled.
func Judge(ctx context.Context, ref *attn.Reference, src Source, opt Options) (*Judgement, error) {
	p := ref.Plan()
	if opt.Range.N.Count() == 0 {
		opt.Range = probes.Range{N: p.Grid, TileN: p.Work.MaxTiles}
	}
	if opt.Stages == nil {
		for s := range attn.NumSteps {
			opt.Stages = append(opt.Stages, s.Stage())
		}
	}
	j := &Judgement{ref: ref, src: src, opt: opt}
	j.allocate()
	if n := opt.Range.N.Count(); opt.Explained && n*p.Work.MaxTiles <= keptTiles {
		j.exact = make([]*attn.Block, n)
	}
	results, err := j.walkAll(ctx)
	if err != nil {
		return nil, err
	}
	for i := range p.Stages {
		j.Stages = append(j.Stages, j.result(&p.Stages[i], results))
	}
	opt.Memory.give(results.w)
	j.findGuilty()
	return j, nil
}

func (j *Judgement) allocate() {
	p, r := j.ref.Plan(), j.opt.Range
	for i := range p.Stages {
		n := r.N.Count()
		if p.Stages[i].PerTile {
			n *= r.TileN
		}
		j.tiles[stepOf(&p.Stages[i])] = make([]TileVerdict, n)
	}
}

// judge is one worker's tallies.
type judge struct {
	*Judgement
	w         *walker
	local     [attn.NumSteps]tally
	global    [attn.NumSteps]tally
	tiles     [attn.NumSteps]int
	unreached [attn.NumSteps]int
	absent    [attn.NumSteps]int // compared cells that were not captured
	own       [attn.NumSteps]int // of tiles, those judged from the kernel's own
	ancestors [attn.NumSteps]probes.StageSet
	off       probes.StageSet // stages of this block that are beyond their global bound in some tile so far
}

// walkAll judges all blocks of the range, several at a time.
func (j *Judgement) walkAll(ctx context.Context) (*judge, error) {
	n := j.opt.Range.N.Count()
	workers := j.opt.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, n))
	rl := newRules(j.ref, j.opt.weights)
	var next atomic.Int64
	var mu sync.Mutex
	var wg join.Group
	done := 0
	all := make([]*judge, workers)
	for k := range all {
		all[k] = &judge{Judgement: j, w: newWalker(rl, j.src, j.opt)}
		for s := range attn.NumSteps {
			all[k].ancestors[s] = j.ref.Plan().Ancestors(s.Stage())
		}
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if j.opt.Blocks == nil || slices.Contains(j.opt.Blocks, j.opt.Range.Block(i)) {
					all[k].block(ctx, i)
				}
				if j.opt.Progress != nil {
					mu.Lock()
					done++
					j.opt.Progress(done, n)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, o := range all[1:] {
		all[0].merge(o)
		j.opt.Memory.give(o.w)
	}
	return all[0], nil
}

func (j *judge) merge(o *judge) {
	for s := range attn.NumSteps {
		j.local[s].merge(&o.local[s])
		j.global[s].merge(&o.global[s])
		j.tiles[s] += o.tiles[s]
		j.unreached[s] += o.unreached[s]
		j.absent[s] += o.absent[s]
		j.own[s] += o.own[s]
	}
}

// keptTiles is up to how many kv tiles, of all blocks, the reference's values are kept for Explain, some tens of kilobytes each.
const keptTiles = 1 << 8

// block judges all tiles of one block that were captured, or ends with the context between two of them: the tallies then mean
// nothing.
func (j *judge) block(ctx context.Context, i int) {
	w, r := j.w, j.opt.Range
	exact, err := j.ref.ComputeContext(ctx, r.Block(i))
	if err != nil {
		return
	}
	if j.exact != nil {
		j.exact[i] = exact
	}
	w.begin(exact)
	j.off = nil
	j.stage(attn.StepQ, 0)
	for t := range min(len(w.blk.Tiles), r.TileLo+r.TileN) {
		if ctx.Err() != nil {
			return
		}
		w.next()
		if t < r.TileLo {
			continue
		}
		for s := attn.StepK; s <= attn.StepU; s++ {
			j.stage(s, t)
		}
	}
	if w.t == len(w.blk.Tiles)-1 {
		w.end()
		j.stage(attn.StepO, w.t)
	}
}

// stage judges one tile of one stage, where it is one to judge.
func (j *judge) stage(s attn.Step, kv int) {
	w := j.w
	sp := w.plan.Stage(s.Stage())
	if sp == nil || !j.opt.Stages.Has(sp.Stage) || !w.judged(s) {
		return
	}
	own := w.left(s)
	id := w.blk.ID
	if !own.ok {
		j.unreached[s]++
		j.absent[s] += clamp(sp.ValidRows.At(id, kv), sp.Rows) * clamp(sp.ValidCols.At(id, kv), sp.Cols)
		return
	}
	v := w.view(sp, kv)
	j.tiles[s]++
	verdict := TileVerdict{Verdict: OK, Cells: int32(v.rows * v.cols)}
	if own.absent != nil {
		verdict.Absent = int32(own.count)
		j.absent[s] += own.count
	}
	// Without a reference of its own, a stage beyond its bound is at fault only where nothing that it is computed from is off.
	if s <= attn.StepV || w.fromOwn(s) {
		j.own[s]++
	} else {
		v.excused = j.off.Meets(j.ancestors[s])
	}
	l, g := &j.local[s], &j.global[s]
	if unseen, all := w.unseen(s); !all {
		v.local = true
		verdict.Bad, verdict.Nonfinite, verdict.MaxAbs = l.judge(v, w.estimateOf(s), union(own.absent, unseen), true)
	}
	v.local, v.excused = false, false
	verdict.Tainted, _, _ = g.judge(v, w.global[s], own.absent, s > attn.StepV)
	bad, odd := w.outside(sp, v, func(r, c int, got, want float64) {
		l.beyond(v, r, c, got, want)
		g.beyond(v, r, c, got, want)
	})
	verdict.Bad, verdict.Tainted, verdict.Nonfinite = verdict.Bad+bad, verdict.Tainted+bad, verdict.Nonfinite+odd
	verdict.Cells += bad
	if s <= attn.StepV {
		g.MaxULP = l.MaxULP // Q, K and V have one estimate for both
	}
	switch {
	case verdict.Bad > 0:
		verdict.Verdict = Wrong
	case verdict.Tainted > 0:
		verdict.Verdict = Tainted
	}
	if verdict.Verdict >= Tainted {
		j.off = j.off.Union(probes.StagesOf(sp.Stage))
	}
	if i, ok := j.index(sp.Stage, id, kv); ok {
		j.Judgement.tiles[s][i] = verdict
	}
}

// judge compares a tile with an estimate, but for the cells in skip, and returns what compare does.
func (t *tally) judge(v *view, e *estimate, skip []bool, ulps bool) (bad, nonfinite int32, top float64) {
	cells := v.rows * v.cols
	left := cells
	if skip != nil {
		if v, e, left = without(v, e, skip); left == 0 {
			return 0, 0, 0
		}
	}
	bad, nonfinite, top = t.compare(v, e)
	t.Cells -= cells - left
	if ulps {
		t.MaxULP = t.ulps(v, e)
	}
	return bad, nonfinite, top
}

// view prepares the comparison of the current tile of a stage.
func (w *walker) view(sp *probes.StagePlan, kv int) *view {
	id := w.blk.ID
	own := w.left(stepOf(sp))
	v := &view{
		got: own, dtype: sp.DType, block: w.plan.Grid.Linear(id), place: place(sp, id, kv, len(w.blk.Tiles)),
		rows: clamp(sp.ValidRows.At(id, kv), own.m.Rows), cols: clamp(sp.ValidCols.At(id, kv), own.m.Cols),
	}
	v.kv = v.place.KVTile
	return v
}

func clamp(v, most int) int { return min(max(v, 0), most) }

// result turns the tallies of a stage into its result.
func (j *Judgement) result(sp *probes.StagePlan, all *judge) StageResult {
	s := stepOf(sp)
	l, g := &all.local[s], &all.global[s]
	out := StageResult{Stage: sp.Stage, Tiles: all.tiles[s], Unreached: all.unreached[s], Absent: all.absent[s], Local: l.Stats, Global: g.Stats}
	out.Local.Bound, out.Local.Error = l.worst.bound, max(l.worst.err, 0)
	out.Global.Bound, out.Global.Error = g.worst.bound, max(g.worst.err, 0)
	out.Rows = l.rows.text(sp, j.ref.Plan().Block.Count()/32)
	out.Local.Derivation = all.w.derivation(sp, l.worst, all.own[s] > 0)
	out.Global.Derivation = all.w.derivation(sp, g.worst, false)
	switch {
	case out.Tiles == 0:
		out.Verdict = Off
	case l.found:
		out.Verdict, out.FirstBad = Wrong, &l.first
	case g.found:
		out.Verdict, out.FirstBad = Tainted, &g.first
	default:
		out.Verdict = OK
	}
	return out
}

// findGuilty lists every wrong stage where it first went wrong.
func (j *Judgement) findGuilty() {
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Verdict == Wrong {
			j.Guilty = append(j.Guilty, s.FirstBad.Place)
		}
	}
	grid := j.ref.Plan().Grid
	slices.SortFunc(j.Guilty, func(a, b Place) int {
		if a.less(b, grid) {
			return -1
		}
		return 1
	})
}
