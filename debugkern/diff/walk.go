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
	gate attn.Gate
	src  Source
	have probes.StageSet // captured
	rng  probes.Range    // of which blocks and kv tiles
	put  Replaced        // nil: nothing was put in place of a captured tile

	named [attn.NumSteps]bool // Plan.Named of each stage

	blk *attn.Block
	t   int
	own [attn.NumSteps]tile // the kernel's stages of this kv tile
	was [attn.NumSteps]tile // its m, l, U of the tile before
	// Where a tile was replaced as soon as it was captured, own is what later stages saw, and taken what is judged.
	taken [attn.NumSteps]tile
	late  tile // the replaced m of this kv tile, which only the next one sees: P, l and U of its own were made before

	local, global [attn.NumSteps]*estimate
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
	w.gate, _ = attn.GateOf(p) // the reference was made for it
	for s := range attn.NumSteps {
		w.named[s] = p.Named(s.Stage())
	}
	return w
}

// judged reports whether a stage runs under the gate.
func (w *walker) judged(s attn.Step) bool {
	return w.gate == attn.GateNone || w.plan.Gate.Judged.Has(s.Stage())
}

// injected reports whether the gate feeds a stage in.
func (w *walker) injected(s attn.Step) bool { return w.plan.Gate.Injected.Has(s.Stage()) }

func allocateWalker(m, n, d int) *walker {
	w := &walker{size: [3]int{m, n, d}}
	dims := [attn.NumSteps][2]int{{m, d}, {n, d}, {n, d}, {m, n}, {m, 1}, {m, 1}, {m, n}, {m, d}, {m, d}}
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
	w.load(attn.StepQ, 0)
	q := w.exact(attn.StepQ)
	w.decode(w.global[attn.StepQ], attn.StepQ, q, blk.Rows)
}

// exact is the reference's matrix of a stage at the current kv tile.
func (w *walker) exact(s attn.Step) attn.Matrix {
	m, _ := w.blk.Values(s, w.t)
	return m
}

// given reports whether the kernel's tile of a stage is the reference's: what a gate injects, and an input that the manifest has
// no stage for and that nothing decodes: the kernel is given its very bits, and what it makes of them is then judged from its
// own tiles.
func (w *walker) given(s attn.Step) bool {
	return w.injected(s) || s <= attn.StepV && w.plan.Stage(s.Stage()) == nil && w.ref.Inputs().Quant == nil
}

// has reports whether load will find the kernel's tile of a stage.
func (w *walker) has(s attn.Step, kv int) bool {
	if w.given(s) {
		return true
	}
	return w.have.Has(s.Stage()) && w.judged(s) && w.src.Tile(s.Stage(), w.blk.ID, kv).Reached()
}

// load fetches one of the kernel's tiles.
func (w *walker) load(s attn.Step, kv int) {
	x := &w.own[s]
	x.ok, x.raw, x.absent, w.taken[s].ok = false, probes.Tile{}, nil, false
	if w.given(s) {
		if w.t < len(w.blk.Tiles) {
			x.m, x.ok = w.exact(s), true
		}
		return
	}
	if !w.have.Has(s.Stage()) || !w.judged(s) {
		return
	}
	raw := w.src.Tile(s.Stage(), w.blk.ID, kv)
	if !raw.Reached() {
		return
	}
	if w.put == nil {
		w.set(x, raw, s, kv)
		return
	}
	put, ok := w.put(s.Stage(), w.blk.ID, kv)
	switch {
	case !ok:
		w.set(x, raw, s, kv)
	case s == attn.StepM:
		w.set(x, raw, s, kv)
		w.set(&w.late, put, s, kv)
	default:
		w.set(x, put, s, kv)
		w.set(&w.taken[s], raw, s, kv)
	}
}

// set fills x with a tile of stage s.
func (w *walker) set(x *tile, raw probes.Tile, s attn.Step, kv int) {
	x.buf = attn.Widen(x.buf, raw)
	x.m, x.raw, x.ok = attn.Matrix{Rows: raw.Rows, Cols: raw.Cols, Data: x.buf}, raw, true
	if x.absent = nil; raw.Absent != nil {
		x.absent, x.count = absentIn(raw, w.plan.Stage(s.Stage()), w.blk.ID, kv)
	}
}

// left is the current tile of a stage as the kernel left it.
func (w *walker) left(s attn.Step) *tile {
	if w.taken[s].ok {
		return &w.taken[s]
	}
	return &w.own[s]
}

// next moves to the next kv tile and makes all its estimates.
func (w *walker) next() {
	w.step()
	keys := w.blk.Tiles[w.t].Keys
	if w.judged(attn.StepK) {
		w.decode(w.global[attn.StepK], attn.StepK, w.exact(attn.StepK), keys)
	}
	if w.judged(attn.StepV) {
		w.decode(w.global[attn.StepV], attn.StepV, w.exact(attn.StepV), keys)
	}
	w.globalScores()
	if w.gate == attn.GateQK {
		w.localScores()
		return
	}
	w.globalSoftmax()
	if w.gate != attn.GateSoftmax {
		w.globalOutput()
	}
	w.localScores()
	w.localSoftmax()
	if w.gate != attn.GateSoftmax {
		w.localSums()
	}
}

// standsAlone reports whether the estimates of a stage at the kv tiles of the block up to last can be made by nextOf.
func (w *walker) standsAlone(s attn.Step, last int) bool {
	if s <= attn.StepV || s == attn.StepO || !w.named[s] {
		return false
	}
	for n := range attn.NumSteps {
		for kv := range last + 1 {
			if w.operates(s, n) && !w.has(n, kv) {
				return false
			}
		}
	}
	return true
}

// operates reports whether a stage is computed from another, by definition.
func (w *walker) operates(s, operand attn.Step) bool {
	return slices.ContainsFunc(operands[s], func(u use) bool { return u.stage == operand })
}

// nextOf moves to the next kv tile and makes the local estimate of one stage, where it stands alone.
func (w *walker) nextOf(s attn.Step) {
	w.step()
	switch s {
	case attn.StepS:
		w.localScores()
	case attn.StepU:
		w.localSums()
	default:
		w.localSoftmax()
	}
}

// step moves to the next kv tile.
func (w *walker) step() {
	w.t++
	for _, s := range []attn.Step{attn.StepM, attn.StepL, attn.StepU} {
		w.own[s], w.was[s] = w.was[s], w.own[s]
	}
	if w.late.ok {
		w.was[attn.StepM], w.late = w.late, w.was[attn.StepM]
		w.late.ok = false
	}
	for _, s := range []attn.Step{attn.StepK, attn.StepV, attn.StepS, attn.StepM, attn.StepL, attn.StepP, attn.StepU} {
		w.load(s, w.t)
	}
}

// before returns the kernel's own m, l or U of the tile before; ok is false where it is needed and was not captured.
func (w *walker) before(s attn.Step, first attn.Matrix) (attn.Matrix, bool) {
	if w.t == 0 {
		return first, true
	}
	return w.was[s].m, w.was[s].ok
}

// estimateOf returns the local estimate of a stage at the current tile: the one made from the kernel's own stages, or the
// global one where what it is computed from was not captured, or is not named by the manifest.
func (w *walker) estimateOf(s attn.Step) *estimate {
	if s <= attn.StepV || !w.fromOwn(s) {
		return w.global[s]
	}
	return w.local[s]
}

// fromOwn reports whether everything a stage is computed from is at hand, and named by the manifest.
func (w *walker) fromOwn(s attn.Step) bool {
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
	if !w.fromOwn(attn.StepS) || w.injected(attn.StepS) {
		return
	}
	rows, keys := w.blk.Rows, w.blk.Tiles[w.t].Keys
	if !w.rowQMade { // not at kv tile 0 where that was not captured
		w.rowOperand(&w.rowQ, w.own[attn.StepQ].m, nil, rows, w.scores)
		w.rowQMade = true
	}
	w.rowOperand(&w.rowK, w.own[attn.StepK].m, nil, keys, w.scores)
	w.prefix = w.scoresOf(w.local[attn.StepS], &w.rowQ, &w.rowK, rows, keys, w.prefix)
}

func (w *walker) localSoftmax() {
	none := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.none}
	zeros := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.zero.Data[:len(w.none)]}
	if w.gate == attn.GatePV {
		return
	}
	m, mok := w.before(attn.StepM, none)
	if w.fromOwn(attn.StepM) {
		w.maxOf(w.local[attn.StepM], w.own[attn.StepS].m, m.Data, w.blk, w.t)
	}
	if !w.fromOwn(attn.StepP) {
		return
	}
	now := w.own[attn.StepM].m.Data
	w.probabilitiesOf(w.local[attn.StepP], w.own[attn.StepS].m, now, w.sums, w.errs, w.blk, w.t)
	if l, ok := w.before(attn.StepL, zeros); ok && mok {
		w.carryOf(w.carry, w.cerr, m.Data, now, w.blk.Rows)
		w.sumsOf(w.local[attn.StepL], l.Data, w.carry, w.cerr, w.sums, w.errs, w.blk.Rows, w.blk.Tiles[w.t].Keys)
	}
}

func (w *walker) localSums() {
	if !w.fromOwn(attn.StepU) {
		return
	}
	none := attn.Matrix{Rows: len(w.none), Cols: 1, Data: w.none}
	m, _ := w.before(attn.StepM, none)
	u, _ := w.before(attn.StepU, w.zero)
	rows, keys := w.blk.Rows, w.own[attn.StepV].m.Rows
	w.carryOf(w.carry, w.cerr, m.Data, w.own[attn.StepM].m.Data, rows)
	w.rowOperand(&w.rowP, w.own[attn.StepP].m, nil, rows, w.output)
	w.columnOperand(&w.colV, w.own[attn.StepV].m, nil, keys, w.output)
	w.weightedOf(w.local[attn.StepU], &w.rowP, &w.colV, u, w.carry, w.cerr, rows, keys, &w.work)
}

// end makes the estimates of O, after the last kv tile.
func (w *walker) end() {
	if !w.judged(attn.StepO) || len(w.blk.Tiles) == 0 {
		return
	}
	w.load(attn.StepO, 0)
	w.globalFinal()
	if w.fromOwn(attn.StepO) {
		w.outputOf(w.local[attn.StepO], w.own[attn.StepU].m, w.own[attn.StepL].m.Data, w.blk.Rows)
	}
}
