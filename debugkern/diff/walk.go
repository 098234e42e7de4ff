package diff

import (
	"math"
	"slices"
	"sync"

	"tilescope/debugkern/attn"
	"tilescope/probes"
)

// walker goes through one block at a time, kv tile by kv tile, with the local and the global estimate of every stage. It
// owns its memory, which each tile overwrites; it is not safe for concurrent use.
type walker struct {
	*rules
	size [3]int // of its memory: rows of Q, rows of K, columns
	plan *probes.Plan
	src  Source
	have probes.StageSet // captured
	rng  probes.Range    // of which blocks and kv tiles
	put  Replaced        // nil: nothing was put in place of a captured tile

	named [probes.NumStages]bool // Plan.Named of each stage

	blk *attn.Block
	t   int
	own [probes.NumStages]tile // the kernel's stages of this kv tile
	was [probes.NumStages]tile // its m, l, U of the tile before
	// Where a tile was replaced as soon as it was captured, own is what later stages saw, and taken what is judged.
	taken [probes.NumStages]tile
	late  tile // the replaced m of this kv tile, which only the next one sees: P, l and U of its own were made before

	local, global [probes.NumStages]*estimate
	rowQ, rowK    operand // the kernel's
	rowQMade      bool    // for this block
	rowP, colV    operand
	refQ, refK    operand // the reference's, with their errors
	refP, refV    operand
	prefix        []float64
	work          sumWork
	carry, cerr   []float64
	sums, errs    []float64
	none          []float64 // m before the first tile
	zero          attn.Matrix
	ownP          attn.Matrix // P's errors but for the common factor of m
	chain         chain
}

// tile is one stage's tile as the kernel left it, widened; ok is false where there is none.
type tile struct {
	m      attn.Matrix
	raw    probes.Tile
	ok     bool
	buf    []float64
	absent []bool // of the compared cells, those that no thread captured; nil: none
	count  int    // how many
}

// chain is what the global bounds carry from kv tile to kv tile, in the frame of the exact maximum: a kernel's m differs
// from it by at most dm, and all that it stores relative to its own m is off by that common factor too.
type chain struct {
	hi, lo []float64 // natural maximum of scores plus, minus their bounds
	dm     []float64
	m      []float64   // exact natural maximum
	l      []float64   // error of l, but for the factor
	u      attn.Matrix // error of U, but for the factor
}

// newWalker returns a walker, in memory that was used before where there is some of the size.
func newWalker(rl *rules, src Source, opt Options) *walker {
	p, ref := rl.ref.Plan(), rl.ref
	m, n, d := ref.TileM(), ref.TileN(), ref.Dim()
	w := opt.Memory.take([3]int{m, n, d})
	if w == nil {
		w = allocateWalker(m, n, d)
	}
	w.rules, w.plan, w.src, w.have, w.put, w.rng = rl, p, src, opt.Stages, opt.Replaced, opt.Range
	for s := range probes.NumStages {
		w.named[s] = p.Named(s)
	}
	return w
}

func allocateWalker(m, n, d int) *walker {
	w := &walker{size: [3]int{m, n, d}}
	dims := [probes.NumStages][2]int{{m, d}, {n, d}, {n, d}, {m, n}, {m, 1}, {m, 1}, {m, n}, {m, d}, {m, d}}
	for s, rc := range dims {
		w.local[s], w.global[s] = newEstimate(rc[0], rc[1]), newEstimate(rc[0], rc[1])
	}
	w.work = newSumWork(m, d)
	w.carry, w.cerr, w.sums, w.errs = make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	w.none, w.zero, w.ownP = make([]float64, m), attn.NewMatrix(m, d), attn.NewMatrix(m, n)
	w.chain = chain{make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m), attn.NewMatrix(m, d)}
	return w
}

// Memory is what walkers work in, kept from one judgement to the next: half a megabyte for each processor, which would
// otherwise be cleared and collected each time. The zero value is empty; nil keeps nothing. It is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	free []*walker
}

// maxWalkers is how many are kept.
const maxWalkers = 64

func (m *Memory) take(size [3]int) *walker {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.free, func(w *walker) bool { return w.size == size })
	if i < 0 {
		return nil
	}
	w := m.free[i]
	m.free = slices.Delete(m.free, i, i+1)
	return w
}

// give takes a walker back that nobody looks at any more.
func (m *Memory) give(w *walker) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.free) < maxWalkers {
		w.forget()
		m.free = append(m.free, w)
	}
}

// forget drops what belongs to a run.
func (w *walker) forget() {
	w.rules, w.plan, w.src, w.put, w.blk = nil, nil, nil, nil, nil
	for s := range w.own {
		for _, t := range []*tile{&w.own[s], &w.was[s], &w.taken[s]} {
			t.m, t.raw, t.ok, t.absent = attn.Matrix{}, probes.Tile{}, false, nil
		}
	}
	w.late.m, w.late.raw, w.late.ok, w.late.absent = attn.Matrix{}, probes.Tile{}, false, nil
	for s := range w.local { // what is exact is the reference's own
		w.local[s].ref, w.global[s].ref = w.local[s].room, w.global[s].room
	}
}

// begin opens a block: nothing was seen, nothing is off.
func (w *walker) begin(blk *attn.Block) {
	w.blk, w.t, w.rowQMade = blk, -1, false
	for i := range w.none {
		w.none[i] = math.Inf(-1)
		w.chain.hi[i], w.chain.lo[i], w.chain.m[i] = math.Inf(-1), math.Inf(-1), math.Inf(-1)
		w.chain.dm[i], w.chain.l[i] = 0, 0
	}
	clear(w.chain.u.Data)
	for s := range w.own {
		w.own[s].ok, w.was[s].ok, w.taken[s].ok = false, false, false
	}
	w.late.ok = false
	w.load(probes.StageQ, 0)
	q := w.exact(probes.StageQ)
	w.decode(w.global[probes.StageQ], probes.StageQ, q, blk.Rows)
}

// exact is the reference's matrix of a stage at the current kv tile.
func (w *walker) exact(s probes.Stage) attn.Matrix {
	m, _ := w.blk.Values(s, w.t)
	return m
}

// given reports whether the kernel's tile of a stage is the reference's: what a gate injects, and an input that the manifest has
// no stage for and that nothing decodes: the kernel is given its very bits, and what it makes of them is then judged from its
// own tiles.
func (w *walker) given(s probes.Stage) bool {
	return w.plan.Gate.Injected().Has(s) || s <= probes.StageV && w.plan.Stage(s) == nil && w.ref.Inputs().Quant == nil
}

// has reports whether load will find the kernel's tile of a stage.
func (w *walker) has(s probes.Stage, kv int) bool {
	if w.given(s) {
		return true
	}
	return w.have.Has(s) && w.plan.Gate.Judged().Has(s) && w.src.Tile(s, w.blk.ID, kv).Reached()
}

// load fetches one of the kernel's tiles.
func (w *walker) load(s probes.Stage, kv int) {
	x := &w.own[s]
	x.ok, x.raw, x.absent, w.taken[s].ok = false, probes.Tile{}, nil, false
	if w.given(s) {
		if w.t < len(w.blk.Tiles) {
			x.m, x.ok = w.exact(s), true
		}
		return
	}
	if !w.have.Has(s) || !w.plan.Gate.Judged().Has(s) {
		return
	}
	raw := w.src.Tile(s, w.blk.ID, kv)
	if !raw.Reached() {
		return
	}
	if w.put == nil {
		w.set(x, raw, s, kv)
		return
	}
	put, ok := w.put(s, w.blk.ID, kv)
	switch {
	case !ok:
		w.set(x, raw, s, kv)
	case s == probes.StageM:
		w.set(x, raw, s, kv)
		w.set(&w.late, put, s, kv)
	default:
		w.set(x, put, s, kv)
		w.set(&w.taken[s], raw, s, kv)
	}
}

// set fills x with a tile of stage s.
func (w *walker) set(x *tile, raw probes.Tile, s probes.Stage, kv int) {
	x.buf = attn.Widen(x.buf, raw)
	x.m, x.raw, x.ok = attn.Matrix{Rows: raw.Rows, Cols: raw.Cols, Data: x.buf}, raw, true
	if x.absent = nil; raw.Absent != nil {
		x.absent, x.count = absentIn(raw, w.plan.Stage(s), w.blk.ID, kv)
	}
}

// left is the current tile of a stage as the kernel left it.
func (w *walker) left(s probes.Stage) *tile {
	if w.taken[s].ok {
		return &w.taken[s]
	}
	return &w.own[s]
}

// next moves to the next kv tile and makes all its estimates.
func (w *walker) next() {
	w.step()
	keys := w.blk.Tiles[w.t].Keys
	gate := w.plan.Gate
	if gate.Judged().Has(probes.StageK) {
		w.decode(w.global[probes.StageK], probes.StageK, w.exact(probes.StageK), keys)
	}
	if gate.Judged().Has(probes.StageV) {
		w.decode(w.global[probes.StageV], probes.StageV, w.exact(probes.StageV), keys)
	}
	w.globalScores()
	if gate == probes.GateQK {
		w.localScores()
		return
	}
	w.globalSoftmax()
	if gate != probes.GateSoftmax {
		w.globalOutput()
	}
	w.localScores()
	w.localSoftmax()
	if gate != probes.GateSoftmax {
		w.localSums()
	}
}

// standsAlone reports whether the estimates of a stage at the kv tiles of the block up to last can be made by nextOf.
func (w *walker) standsAlone(s probes.Stage, last int) bool {
	if s <= probes.StageV || s == probes.StageO || !w.named[s] {
		return false
	}
	for n := range probes.NumStages {
		for kv := range last + 1 {
			if s.Operands().Has(n) && !w.has(n, kv) {
				return false
			}
		}
	}
	return true
}

// nextOf moves to the next kv tile and makes the local estimate of one stage, where it stands alone.
func (w *walker) nextOf(s probes.Stage) {
	w.step()
	switch s {
	case probes.StageS:
		w.localScores()
	case probes.StageU:
		w.localSums()
	default:
		w.localSoftmax()
	}
}

// step moves to the next kv tile.
func (w *walker) step() {
	w.t++
	for _, s := range []probes.Stage{probes.StageM, probes.StageL, probes.StageU} {
		w.own[s], w.was[s] = w.was[s], w.own[s]
	}
	if w.late.ok {
		w.was[probes.StageM], w.late = w.late, w.was[probes.StageM]
		w.late.ok = false
	}
	for _, s := range []probes.Stage{probes.StageK, probes.StageV, probes.StageS, probes.StageM, probes.StageL, probes.StageP, probes.StageU} {
		w.load(s, w.t)
	}
}

// before returns the kernel's own m, l or U of the tile before; ok is false where it is needed and was not captured.
func (w *walker) before(s probes.Stage, first attn.Matrix) (attn.Matrix, bool) {
	if w.t == 0 {
		return first, true
	}
	return w.was[s].m, w.was[s].ok
}

// estimateOf returns the local estimate of a stage at the current tile: the one made from the kernel's own stages, or the
// global one where what it is computed from was not captured, or is not named by the manifest.
func (w *walker) estimateOf(s probes.Stage) *estimate {
	if s <= probes.StageV || !w.fromOwn(s) {
		return w.global[s]
	}
	return w.local[s]
}

// fromOwn reports whether everything a stage is computed from is at hand, and named by the manifest.
func (w *walker) fromOwn(s probes.Stage) bool {
	if !w.named[s] {
		return false
	}
	for _, u := range operands[s] {
		if !w.operand(u).ok && !(u.before && w.t == 0) {
			return false
		}
	}
	return operands[s] != nil
}

func (w *walker) localScores() {
	if !w.fromOwn(probes.StageS) || w.plan.Gate.Injected().Has(probes.StageS) {
		return
	}
	rows, keys := w.blk.Rows, w.blk.Tiles[w.t].Keys
	if !w.rowQMade { // not at kv tile 0 where that was not captured
		w.rowOperand(&w.rowQ, w.own[probes.StageQ].m, nil, rows, w.scores)
		w.rowQMade = true
	}
	w.rowOperand(&w.rowK, w.own[probes.StageK].m, nil, keys, w.scores)
	w.prefix = w.scoresOf(w.local[probes.StageS], &w.rowQ, &w.rowK, rows, keys, w.prefix)
}

func (w *walker) localSoftmax() {
	none := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.none}
	zeros := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.zero.Data[:len(w.none)]}
	if w.plan.Gate == probes.GatePV {
		return
	}
	m, mok := w.before(probes.StageM, none)
	if w.fromOwn(probes.StageM) {
		w.maxOf(w.local[probes.StageM], w.own[probes.StageS].m, m.Data, w.blk, w.t)
	}
	if !w.fromOwn(probes.StageP) {
		return
	}
	now := w.own[probes.StageM].m.Data
	w.probabilitiesOf(w.local[probes.StageP], w.own[probes.StageS].m, now, w.sums, w.errs, w.blk, w.t)
	if l, ok := w.before(probes.StageL, zeros); ok && mok {
		w.carryOf(w.carry, w.cerr, m.Data, now, w.blk.Rows)
		w.sumsOf(w.local[probes.StageL], l.Data, w.carry, w.cerr, w.sums, w.errs, w.blk.Rows, w.blk.Tiles[w.t].Keys)
	}
}

func (w *walker) localSums() {
	if !w.fromOwn(probes.StageU) {
		return
	}
	none := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.none}
	m, _ := w.before(probes.StageM, none)
	u, _ := w.before(probes.StageU, w.zero)
	rows, keys := w.blk.Rows, w.own[probes.StageV].m.Rows
	w.carryOf(w.carry, w.cerr, m.Data, w.own[probes.StageM].m.Data, rows)
	w.rowOperand(&w.rowP, w.own[probes.StageP].m, nil, rows, w.output)
	w.columnOperand(&w.colV, w.own[probes.StageV].m, nil, keys, w.output)
	w.weightedOf(w.local[probes.StageU], &w.rowP, &w.colV, u, w.carry, w.cerr, rows, keys, &w.work)
}

// end makes the estimates of O, after the last kv tile.
func (w *walker) end() {
	if !w.plan.Gate.Judged().Has(probes.StageO) || len(w.blk.Tiles) == 0 {
		return
	}
	w.load(probes.StageO, 0)
	w.globalFinal()
	if w.fromOwn(probes.StageO) {
		w.outputOf(w.local[probes.StageO], w.own[probes.StageU].m, w.own[probes.StageL].m.Data, w.blk.Rows)
	}
}
