package judge

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/join"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// Judge compares every captured tile with its two references. The result does not depend on the number of
// cores. It returns ctx's error if cancelled.
func Judge(ctx context.Context, r *ref.Reference, src Source, opt Options) (*Judgement, error) {
	p := r.Plan()
	if opt.Range.N.Count() == 0 {
		opt.Range = probes.Range{N: p.Grid, TileN: p.Work.MaxTiles}
	}
	if opt.Stages == nil {
		for i := range p.Stages {
			opt.Stages = append(opt.Stages, p.Stages[i].Stage)
		}
	}
	j := &Judgement{ref: r, g: r.Graph(), src: src, opt: opt}
	j.allocate()
	results, err := j.walkAll(ctx)
	if err != nil {
		return nil, err
	}
	for i := range p.Stages {
		j.Stages = append(j.Stages, j.result(i, results))
	}
	results.w.close()
	if err := j.arguments(ctx); err != nil {
		return nil, err
	}
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
		j.tiles = append(j.tiles, make([]TileVerdict, n))
	}
}

// judge is one worker's tallies.
type judge struct {
	*Judgement
	w      *walker
	stages []stageTally    // by stage of the plan
	off    probes.StageSet // stages of this block that are beyond their global bound in some tile so far
}

// stageTally is what a worker has counted of one stage.
type stageTally struct {
	local, global tally
	tiles         int
	unreached     int
	absent        int // compared cells that were not captured
	fromOwn       int // of tiles, those judged from the kernel's own, or computed from no stage
	fromTiles     int // of those, the former
	ancestors     probes.StageSet
}

// walkAll judges all blocks of the range, several at a time.
func (j *Judgement) walkAll(ctx context.Context) (*judge, error) {
	n := j.opt.Range.N.Count()
	workers := j.opt.Parallel
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, n))
	var next atomic.Int64
	var mu sync.Mutex
	var wg join.Group
	done := 0
	all := make([]*judge, workers)
	for k := range all {
		all[k] = &judge{
			Judgement: j, w: newWalker(j.ref, j.src, j.opt),
			stages: make([]stageTally, len(j.ref.Plan().Stages)),
		}
		for i := range all[k].stages {
			all[k].stages[i].ancestors = j.ref.Plan().Ancestors(j.g.Stage(i).Stage)
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
		o.w.close()
	}
	return all[0], nil
}

func (j *judge) merge(o *judge) {
	for i := range j.stages {
		a, b := &j.stages[i], &o.stages[i]
		a.local.merge(&b.local)
		a.global.merge(&b.global)
		a.tiles += b.tiles
		a.unreached += b.unreached
		a.absent += b.absent
		a.fromOwn += b.fromOwn
		a.fromTiles += b.fromTiles
	}
}

// block judges all tiles of one block that were captured, or ends with the context between two of them: the
// tallies then mean nothing.
func (j *judge) block(ctx context.Context, i int) {
	w, r := j.w, j.opt.Range
	if ctx.Err() != nil {
		return
	}
	w.begin(r.Block(i))
	j.off = nil
	j.phase(probes.PhaseBefore)
	for t := range min(w.iters, r.TileLo+r.TileN) {
		if ctx.Err() != nil {
			return
		}
		w.next()
		if t >= r.TileLo {
			j.phase(probes.PhaseEach)
		}
	}
	if w.looped() {
		w.end()
		j.phase(probes.PhaseAfter)
	}
}

// phase judges the current tiles of a phase's stages.
func (j *judge) phase(ph probes.Phase) {
	for _, i := range j.g.Order(ph) {
		if i < len(j.stages) {
			j.stage(i)
		}
	}
	// stages without an operator, which have numbers of their own to be compared with
	for i := range j.stages {
		if j.g.Stage(i).Phase == ph && !j.g.Defined(i) && j.w.own(i) {
			j.stage(i)
		}
	}
}

// stage judges the current tile of one stage, where it is one to judge.
func (j *judge) stage(i int) {
	w, n := j.w, &j.stages[i]
	sp, kv := j.g.Stage(i), max(w.t, 0)
	if !j.opt.Stages.Has(sp.Stage) || !w.judged(i) {
		return
	}
	if !w.known(i) && !w.fromOwn(i) {
		return // nothing to compare with
	}
	own := w.left(i)
	rows, cols := j.g.Valid(i, w.id, kv)
	if w.iters == 0 && (rows*cols == 0 || sp.Phase == probes.PhaseAfter && w.global.Value(i, false) == nil) {
		return // a block without work need not come to it
	}
	if !own.ok {
		n.unreached++
		n.absent += rows * cols
		return
	}
	if sp.Unreferenced() {
		if own.absent != nil {
			n.absent += own.count
		}
		return
	}
	v := w.view(i)
	n.tiles++
	verdict := TileVerdict{Verdict: OK, Cells: int32(v.rows * v.cols)}
	if own.absent != nil {
		verdict.Absent = int32(own.count)
		n.absent += own.count
	}
	// Without a reference of its own, a stage beyond its bound is at fault only where nothing that it is
	// computed from is off.
	if w.fromOwn(i) {
		n.fromTiles++
	}
	if w.apart(i) {
		n.fromOwn++
	} else {
		v.excused = j.off.Meets(n.ancestors)
	}
	l, g := &n.local, &n.global
	if before, ok := w.earlierVerdict(i); ok {
		verdict = before
		l.Cells += v.rows * v.cols
		g.Cells += v.rows * v.cols
	} else {
		j.references(i, v, n, &verdict)
		w.storeVerdict(i, verdict)
	}
	bad, odd := w.outside(i, v, func(r, c int, got, want float64) {
		l.beyond(v, r, c, got, want)
		g.beyond(v, r, c, got, want)
	})
	verdict.Bad, verdict.Tainted, verdict.Nonfinite = verdict.Bad+bad, verdict.Tainted+bad,
		verdict.Nonfinite+odd
	verdict.Cells += bad
	switch {
	case verdict.Bad > 0:
		verdict.Verdict = Wrong
	case verdict.Tainted > 0:
		verdict.Verdict = Tainted
	}
	if verdict.Verdict >= Tainted {
		j.off = j.off.Union(probes.StagesOf(sp.Stage))
	}
	if k, ok := j.index(sp.Stage, w.id, kv); ok {
		j.tiles[i][k] = verdict
	}
}

// references compares the current tile of a stage with its two references.
func (j *judge) references(i int, v *view, n *stageTally, verdict *TileVerdict) {
	w, l, g, absent := j.w, &n.local, &n.global, v.got.absent
	if unseen, all := w.unseen(i); !all {
		v.local = true
		skip := union(absent, unseen)
		verdict.Bad, verdict.Nonfinite, verdict.MaxAbs = l.judge(v, w.estimateOf(i), skip, true)
	}
	v.local, v.excused = false, false
	once := len(j.g.Uses(i)) == 0 && !(w.own(i) && w.fromOwn(i)) // one estimate serves for both
	if w.known(i) {
		verdict.Tainted, _, _ = g.judge(v, w.globalOf(i), absent, !once)
	}
	if once {
		g.MaxULP = l.MaxULP
	}
}

// judge compares a tile with an estimate, but for the cells in skip, and returns what compare does.
func (t *tally) judge(v *view, e *ref.Estimate, skip []bool, ulps bool) (bad, nonfinite int32, top float64) {
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
func (w *walker) view(i int) *view {
	sp, own := w.g.Stage(i), w.left(i)
	rows, cols := w.g.Valid(i, w.id, max(w.t, 0))
	v := &view{
		got: own, dtype: sp.DType, block: w.plan.Grid.Linear(w.id), place: place(sp, w.id, w.t, w.iters),
		rows: min(rows, own.m.Rows), cols: min(cols, own.m.Cols),
	}
	v.kv = v.place.KVTile
	return v
}

// result turns the tallies of a stage into its result.
func (j *Judgement) result(i int, all *judge) StageResult {
	sp, n := j.g.Stage(i), &all.stages[i]
	l, g := &n.local, &n.global
	out := StageResult{
		Stage: sp.Stage, Tiles: n.tiles, Unreached: n.unreached, Absent: n.absent, Local: l.Stats,
		Global: g.Stats,
	}
	out.Local.Bound, out.Local.Error = l.worst.bound, max(l.worst.err, 0)
	out.Global.Bound, out.Global.Error = g.worst.bound, max(g.worst.err, 0)
	out.Local.Derivation = all.w.derivation(i, l.worst, n.fromOwn > 0, n.fromTiles > 0)
	out.Global.Derivation = all.w.derivation(i, g.worst, false, false)
	out.conclude(l, g)
	return out
}

// conclude sets the verdict, and the first bad cell.
func (s *StageResult) conclude(local, global *tally) {
	switch {
	case s.Tiles == 0:
		s.Verdict = Off
	case local.found:
		s.Verdict, s.FirstBad = Wrong, &local.first
	case global.found:
		s.Verdict, s.FirstBad = Tainted, &global.first
	default:
		s.Verdict = OK
	}
}

// findGuilty lists every wrong stage where it first went wrong.
func (j *Judgement) findGuilty() {
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Verdict == Wrong {
			j.Guilty = append(j.Guilty, s.FirstBad.Place)
		}
	}
	slices.SortFunc(j.Guilty, func(a, b Place) int {
		if a.less(b, j.g) {
			return -1
		}
		return 1
	})
}
