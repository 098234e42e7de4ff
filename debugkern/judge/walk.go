package judge

import (
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// walker goes through one block at a time, iteration by iteration, with the local and the global estimate of
// every stage. It owns its memory, which each iteration overwrites; it is not safe for concurrent use.
type walker struct {
	ref  *ref.Reference
	g    *ref.Graph
	plan *probes.Plan
	src  Source
	have probes.StageSet // captured
	rng  probes.Range    // of which blocks and iterations
	put  Replaced        // nil: nothing was put in place of a captured tile

	named []bool // by stage: the manifest names all that it is computed from

	id    probes.Dim3
	t     int // iteration; -1 before the loop
	iters int
	// captured: by stage: the kernel's tiles of this iteration; where one was replaced at
	// once, the replacement
	captured []tile
	previous []tile // captured of the iteration before
	original []tile // the kernel's tile where captured has its replacement: it is judged
	// deferred: replacements that only the next iteration reads: this one had read the tile
	// before it was captured
	deferred []tile

	local, global *ref.Pass

	same [][]sameTile // by stage and iteration; nil for stages that are computed

	expected              Expected // nil: the graph by derived bounds
	fromInputs, fromTiles []expectation
}

// tile is one stage's tile as the kernel left it, widened; ok is false where there is none.
type tile struct {
	m      op.Matrix
	raw    probes.Tile
	ok     bool
	buf    []float64
	absent []bool    // of the compared cells, those that no thread captured; nil: none
	count  int       // how many
	same   *sameTile // it is this one; nil: a tile that is not kept
}

// forget drops the tile and keeps its memory.
func (t *tile) forget() { t.ok, t.raw, t.absent, t.same = false, probes.Tile{}, nil, nil }

func newWalker(r *ref.Reference, src Source, opt Options) *walker {
	g := r.Graph()
	n := g.Stages()
	w := &walker{
		ref: r, g: g, plan: r.Plan(), src: src, have: opt.Stages, rng: opt.Range, put: opt.Replaced,
		named: make([]bool, n), captured: make([]tile, n), previous: make([]tile, n),
		original: make([]tile, n), deferred: make([]tile, n),
		local: r.FromOwn(opt.weights), global: r.FromInputs(opt.weights),
		expected: opt.Expected, fromInputs: make([]expectation, n), fromTiles: make([]expectation, n),
	}
	w.same = make([][]sameTile, n)
	for i := range n {
		w.named[i] = w.plan.Named(g.Stage(i).Stage)
		w.same[i] = make([]sameTile, g.Loads(i))
	}
	return w
}

// close gives the walker's memory back.
func (w *walker) close() {
	w.ref.Release(w.local)
	w.ref.Release(w.global)
}

// begin opens a block and makes the estimates of the stages before the loop.
func (w *walker) begin(block probes.Dim3) {
	w.id, w.t, w.iters = block, -1, w.plan.Work.Tiles.At(block, 0)
	for i := range w.captured {
		w.captured[i].forget()
		w.previous[i].forget()
		w.original[i].forget()
		w.deferred[i].forget()
	}
	w.forgetExpected()
	w.local.Begin(block)
	w.global.Begin(block)
	w.global.Before()
	w.phase(probes.PhaseBefore)
}

// phase fetches the kernel's tiles of a phase's stages, and makes their local estimates.
func (w *walker) phase(ph probes.Phase) {
	w.loadAll(ph)
	for _, i := range w.g.Order(ph) {
		if w.judged(i) && w.fromOwn(i) {
			w.local.Compute(i)
		}
	}
}

func (w *walker) loadAll(ph probes.Phase) {
	for i := range w.captured {
		if w.g.Stage(i).Phase == ph {
			w.load(i)
		}
	}
}

// judged reports whether the gate judges a stage of the plan.
func (w *walker) judged(i int) bool { return w.plan.Gate.Judged.Has(w.g.Stage(i).Stage) }

// given reports whether the kernel's tile of a stage is the reference's: what a gate injects, and an input
// that the manifest has no stage for and that nothing decodes: the kernel is given its very bits, and what it
// makes of them is then judged from its own tiles.
func (w *walker) given(i int) bool {
	sp := w.g.Stage(i)
	return w.plan.Gate.Injected.Has(sp.Stage) || sp.Loaded && w.plan.Stage(sp.Stage) == nil && !w.g.Coded(i)
}

// captures reports whether load will find the kernel's tile of a stage.
func (w *walker) captures(i, iter int) bool {
	s := w.g.Stage(i).Stage
	return w.have.Has(s) && w.judged(i) && w.src.Tile(s, w.id, w.kv(i, iter)).Reached()
}

// kv is the kv tile that a source has a stage's tile under in an iteration: 0 for stages taken once a block.
func (w *walker) kv(i, iter int) int {
	if w.g.Stage(i).PerTile {
		return max(iter, 0)
	}
	return 0
}

// load fetches one of the kernel's tiles, and gives it to the local estimates.
func (w *walker) load(i int) {
	x, sp := &w.captured[i], w.g.Stage(i)
	x.forget()
	w.original[i].forget()
	if w.given(i) {
		if v := w.global.Value(i, false); v != nil {
			x.m, x.ok = v.M, true
			w.local.Set(i, x.m, nil)
		}
		return
	}
	if !w.have.Has(sp.Stage) || !w.judged(i) {
		return
	}
	kv := w.kv(i, w.t)
	raw := w.src.Tile(sp.Stage, w.id, kv)
	if !raw.Reached() {
		return
	}
	put, replaced := probes.Tile{}, false
	if w.put != nil {
		put, replaced = w.put(sp.Stage, w.id, kv)
	}
	switch {
	case !replaced && raw.Absent == nil && len(w.same[i]) > 0:
		w.setSame(x, raw, i)
		w.local.Set(i, x.m, x.same.reused)
		return
	case !replaced:
		w.set(x, raw, i)
	case sp.Deferred:
		w.set(x, raw, i)
		w.set(&w.deferred[i], put, i)
	default:
		w.set(x, put, i)
		w.set(&w.original[i], raw, i)
	}
	w.local.Set(i, x.m, nil)
}

// set fills x with a tile of stage i.
func (w *walker) set(x *tile, raw probes.Tile, i int) {
	x.buf = op.Widen(x.buf, raw)
	x.m, x.raw, x.ok = op.Matrix{Rows: raw.Rows, Cols: raw.Cols, Data: x.buf}, raw, true
	if x.absent = nil; raw.Absent != nil {
		rows, cols := w.g.Valid(i, w.id, max(w.t, 0))
		x.absent, x.count = absentIn(raw, rows, cols)
	}
}

// left is the current tile of a stage as the kernel left it.
func (w *walker) left(i int) *tile {
	if w.original[i].ok {
		return &w.original[i]
	}
	return &w.captured[i]
}

// next moves to the next iteration and makes all its estimates.
func (w *walker) next() {
	w.step()
	w.global.Next()
	w.phase(probes.PhaseEach)
}

// step moves to the next iteration.
func (w *walker) step() {
	w.t++
	w.forgetExpected()
	w.local.Step()
	for i := range w.captured {
		if w.g.Stage(i).Phase != probes.PhaseEach {
			continue
		}
		w.captured[i], w.previous[i] = w.previous[i], w.captured[i]
		w.captured[i].forget()
		if w.deferred[i].ok {
			w.previous[i], w.deferred[i] = w.deferred[i], w.previous[i]
			w.deferred[i].forget()
			w.local.SetBefore(i, w.previous[i].m)
		}
	}
}

// standsAlone reports whether the estimates of a stage in the iterations of the block up to last
// can be made by nextOf.
func (w *walker) standsAlone(i, last int) bool {
	if w.g.Stage(i).Phase != probes.PhaseEach || !w.named[i] || len(w.g.Uses(i)) == 0 {
		return false
	}
	for _, u := range w.g.Uses(i) {
		if w.given(u.Stage) {
			return false // the reference has to be computed for it
		}
		for iter := range last + 1 {
			if !w.captures(u.Stage, iter) {
				return false
			}
		}
	}
	return true
}

// nextOf moves to the next iteration and makes the local estimate of one stage, where it stands alone.
func (w *walker) nextOf(i int) {
	w.step()
	w.loadAll(probes.PhaseEach)
	w.local.Compute(i)
}

// fromOwn reports whether everything a stage is computed from is at hand, and named by the manifest.
func (w *walker) fromOwn(i int) bool {
	return w.named[i] && w.g.Computed(i) && w.local.Ready(i)
}

// apart reports whether a stage can be judged for what it makes itself: it is computed from no stage, or from
// the kernel's own. What the manifest says to come from a stage that its operation does not use, a sum of
// parts that other blocks have as well, cannot.
func (w *walker) apart(i int) bool {
	if len(w.g.Uses(i)) == 0 {
		sp := w.g.Stage(i)
		return w.g.Defined(i) && sp.From.Without(sp.Operands) == nil
	}
	return w.fromOwn(i)
}

// end makes the estimates of the stages after the loop.
func (w *walker) end() {
	w.forgetExpected()
	w.global.After()
	if w.iters == 0 {
		w.local.Start()
	}
	w.phase(probes.PhaseAfter)
}

// looped reports whether the block has gone through all its iterations: at once where it has none.
func (w *walker) looped() bool { return w.t == w.iters-1 }
