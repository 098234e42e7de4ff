package emu

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// gatherer captures threads' registers without probes: at the instructions that a launch's Gathers mean it
// copies what the lanes hold into the cells that these are.
type gatherer struct {
	b      *block
	view   *view
	stages []gathered
	at     map[int][]*gatherPoint // by PC
	begins map[int][]*gathered    // by PC
	onCell func(g *gathered, kv, cell int, e *target.Event, lane int, p *gatherPoint, reg, part int)
}

// gathered is one stage's capture with what it has seen.
type gathered struct {
	g      *target.Gather
	points []*gatherPoint
	counts bool          // iterations are begun by an instruction
	begun  [][32]int32   // by warp: how many iterations each lane has begun
	tiles  map[int]*heap // by kv tile
}

// gatherPoint is one instruction with what it has seen.
type gatherPoint struct {
	*target.Point
	of    *gathered
	index int // among the points of the stage
	// passes: by warp: how often each lane has executed it; where iterations are begun, within the iteration
	passes [][32]int32
	most   int32 // the most of passes that counted, where Take.Pass does not choose
}

// heap is the cells of one tile with who put them there.
type heap struct {
	cells []gatheredCell
	left  int // cells that nothing was stored in
}

// gatheredCell is what a cell got last. With Sum, parts has what each contributor gave.
type gatheredCell struct {
	bits  uint64
	by    int32 // thread + 1; 0: nobody
	point int32
	pass  int32
	parts []summand
}

// summand is what one thread's register adds to a cell.
type summand struct {
	key  int64
	bits uint64
}

// gathers resolves a launch's gathers for the blocks of a worker.
func (b *block) gathers() {
	if b.l.Probe == nil {
		return
	}
	for i := range b.l.Probe.Gather {
		g := &b.l.Probe.Gather[i]
		points, err := g.Points(b.p.entry, b.l.Block.Count())
		begins := -1
		if err == nil {
			begins, err = g.Begins(b.p.entry)
		}
		if err != nil {
			b.unresolved = err
			return
		}
		b.gatherPoints = append(b.gatherPoints, resolvedGather{g, points, begins})
	}
}

// resolvedGather is a gather with its instructions.
type resolvedGather struct {
	*target.Gather
	points []target.Point
	begins int
}

// newGatherer returns the observer for a launch's gathers, nil where the block has none.
func newGatherer(b *block) *gatherer {
	if len(b.gatherPoints) == 0 || !b.l.Probe.Layout.Range.Contains(b.id) {
		return nil
	}
	g := &gatherer{
		b: b, view: &view{b}, at: map[int][]*gatherPoint{}, begins: map[int][]*gathered{},
		stages: make([]gathered, len(b.gatherPoints)),
	}
	for i := range b.gatherPoints {
		r, s := &b.gatherPoints[i], &g.stages[i]
		*s = gathered{g: r.Gather, begun: make([][32]int32, len(b.warps)), tiles: map[int]*heap{}}
		if r.begins >= 0 {
			s.counts = true
			g.begins[r.begins] = append(g.begins[r.begins], s)
		}
		for j := range r.points {
			p := &gatherPoint{Point: &r.points[j], of: s, index: j, passes: make([][32]int32, len(b.warps))}
			s.points = append(s.points, p)
			g.at[p.PC] = append(g.at[p.PC], p)
		}
	}
	return g
}

// Event implements target.Observer: registers that an instruction reads are taken before it executes.
func (g *gatherer) Event(e *target.Event) {
	if e.Class == target.ClassBarrierDone || e.Class == target.ClassAsyncLand || e.Func != g.b.p.entry {
		return
	}
	for _, s := range g.begins[e.PC] {
		s.begin(e.Warp, e.Mask)
	}
	for _, p := range g.at[e.PC] {
		if !p.After {
			g.take(p, e)
		}
	}
}

// written is the class of the event after which registers have what an instruction writes.
func (in *inst) written() target.Class {
	if in.class == target.ClassWgmma {
		return target.ClassWgmmaLand
	}
	return in.class
}

// Follows implements target.Follower.
func (g *gatherer) Follows() target.ClassSet {
	var set target.ClassSet
	for _, list := range g.at {
		for _, p := range list {
			if p.After {
				set |= target.Classes(g.b.p.code[p.PC].written())
			}
		}
	}
	return set
}

// After implements target.Follower: registers that an instruction writes are taken when it has executed.
func (g *gatherer) After(e *target.Event) {
	if e.Func != g.b.p.entry {
		return
	}
	for _, p := range g.at[e.PC] {
		if p.After {
			g.take(p, e)
		}
	}
}

// begin counts an iteration that lanes of a warp have begun.
func (s *gathered) begin(warp int, mask uint32) {
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		s.begun[warp][lane]++
		for _, p := range s.points {
			p.passes[warp][lane] = 0
		}
	}
}

// take copies the registers of the lanes that execute an instruction.
func (g *gatherer) take(p *gatherPoint, e *target.Event) {
	var regs [][32]uint64
	for _, r := range p.Regs {
		regs = append(regs, g.view.Register(e.Warp, g.b.p.entry, r))
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		kv, pass, ok := g.tile(p, e.Warp, lane)
		if !ok {
			continue
		}
		thread := e.Warp*32 + lane
		for r := range p.Regs {
			for k := range p.Parts {
				cell := p.Cell(thread, r, k)
				if cell == target.OutsideTile {
					g.outside(p, thread)
				}
				if cell >= 0 {
					v := regs[r][lane] >> (k * p.Bits)
					if p.Bits < 64 {
						v &= 1<<p.Bits - 1
					}
					g.put(p, kv, cell, v, thread, pass)
					if g.onCell != nil {
						g.onCell(p.of, kv, cell, e, lane, p, r, k)
					}
				}
			}
		}
	}
}

// outside ends the block: a lane has a position that the tile does not have.
func (g *gatherer) outside(p *gatherPoint, thread int) {
	if g.b.err != nil {
		return
	}
	in := &g.b.p.code[p.PC]
	g.b.err = &target.Fault{
		Kind: "passes", Block: g.b.id, Source: in.source(),
		Msg: fmt.Sprintf(
			"stage %s: %s: warp %d lane %d executes %s, and its row or column lies outside the tile of %d×%d "+
				"(a position below 0 is not captured)", p.of.g.Plan.Stage, p.Take.Field, thread/32, thread%32,
			in.where(), p.of.g.Plan.Rows, p.of.g.Plan.Cols),
	}
}

// tile counts an execution by a lane, and returns the tile whose it is; false where it is not captured.
func (g *gatherer) tile(p *gatherPoint, warp, lane int) (kv int, pass int32, ok bool) {
	p.passes[warp][lane]++
	pass = p.passes[warp][lane]
	s, plan := p.of, p.of.g.Plan
	n := int(pass) - 1 // the execution, or the iteration, that the tile's number is computed from
	chosen := p.Take.Pass
	if s.counts {
		n = int(s.begun[warp][lane]) - 1
	}
	if within := s.counts || !plan.PerTile; within && chosen > 0 && int(pass) != chosen {
		return 0, 0, false
	} else if within && chosen == 0 && plan.PerTile {
		p.most = max(p.most, pass)
	}
	if !plan.PerTile {
		return 0, pass, true
	}
	t := &p.Take.Tile
	if n < 0 || t.Dims[3] > 1 && n >= t.Dims[3] {
		return 0, 0, false
	}
	kv = t.At(g.b.id, n)
	return kv, pass, kv >= 0
}

// put stores one thread's value of a cell. A kv tile that the layout has no slot for is not captured.
func (g *gatherer) put(p *gatherPoint, kv, cell int, v uint64, thread int, pass int32) {
	s := p.of
	plan := s.g.Plan
	off, ok := g.b.l.Probe.Layout.Slot(plan.Stage, g.b.id, kv)
	if !ok {
		return
	}
	h := s.tiles[kv]
	if h == nil {
		n := plan.Rows * plan.Cols
		h = &heap{cells: make([]gatheredCell, n), left: n}
		s.tiles[kv] = h
		// The slot exists and the data has its size by construction of the layout.
		_ = g.b.l.Probe.Layout.Put(&g.b.slots, plan.Stage, g.b.id, kv, make([]byte, n*plan.DType.Size()))
	}
	c := &h.cells[cell]
	first := c.by == 0
	switch {
	case plan.Capture.Sum:
		v = c.add(int64(thread)<<32|int64(p.index)<<8, v, plan.DType)
	case !first && c.by != int32(thread)+1 && c.pass == pass && c.bits != v:
		g.disagree(p, c, kv, cell, v, thread)
		return
	case !first && c.by != int32(thread)+1 && c.pass > pass:
		return
	}
	c.bits, c.by, c.point, c.pass = v, int32(thread)+1, int32(p.index), pass
	size := uint64(plan.DType.Size())
	at := off + uint64(cell)*size
	putScalar(g.b.slots.Bytes(at, at+size), int(size), v)
	fill(g.b.slots.written(at, at+size), 0xff)
	if !first {
		return
	}
	if h.left--; h.left == 0 && g.b.onCapture != nil {
		g.b.onCapture(plan.Stage, kv)
	}
}

// add puts a contribution in place and returns the sum of all, in the order of the threads.
// Types are f32 and f64.
func (c *gatheredCell) add(key int64, v uint64, t probes.DType) uint64 {
	i, found := slices.BinarySearchFunc(c.parts, key, func(p summand, key int64) int {
		return cmp.Compare(p.key, key)
	})
	if !found {
		c.parts = slices.Insert(c.parts, i, summand{key: key})
	}
	c.parts[i].bits = v
	sum := 0.0
	for _, p := range c.parts {
		sum += t.Value(p.bits)
	}
	if t == probes.F64 {
		return math.Float64bits(sum)
	}
	return uint64(math.Float32bits(float32(sum)))
}

// disagree reports that two threads hold different values of a cell. The first one stands.
func (g *gatherer) disagree(p *gatherPoint, c *gatheredCell, kv, cell int, v uint64, thread int) {
	plan := p.of.g.Plan
	in := &g.b.p.code[p.PC]
	src := in.source()
	row, col := cell/plan.Cols, cell%plan.Cols
	was := int(c.by) - 1
	tile := kv
	if !plan.PerTile {
		tile = -1
	}
	f := g.b.found.add(findingKey{kind: target.Layout, source: *src, name: string(plan.Stage)},
		target.Finding{
			Kind: target.Layout, Severity: target.Layout.Severity(), Variable: string(plan.Stage),
			Index: []int{row, col}, Block: g.b.id, KVTile: tile,
			Source: src, Count: 1,
			Message: fmt.Sprintf(
				"threads hold different values of cell (%d,%d) of %s: warp %d lane %d has %v, warp %d lane %d has %v; the first was captured "+
					"(where each has a part of it: combine: sum)", row, col, plan.Stage, was/32, was%32,
				plan.DType.Value(c.bits), thread/32, thread%32, plan.DType.Value(v)),
		})
	f.Warps, f.Lanes = addInt(addInt(f.Warps, was/32), thread/32), addInt(addInt(f.Lanes, was%32), thread%32)
}

// checkGathers ends the launch where an instruction was executed more often in an iteration than its
// entry chooses from.
func (b *block) checkGathers() {
	if b.gather == nil || b.err != nil {
		return
	}
	for _, s := range b.gather.stages {
		for _, p := range s.points {
			if s.counts && p.most > 1 {
				in := &b.p.code[p.PC]
				b.err = &target.Fault{Kind: "passes", Block: b.id, Source: in.source(), Msg: fmt.Sprintf(
					"stage %s: %s: %s is executed %d times in an iteration: say which with pass: first, last or 1 to %d",
					s.g.Plan.Stage, p.Take.Field, in.where(), p.most, p.most)}
				return
			}
		}
	}
}

// clone and restore save what a gatherer has counted and stored.
func (g *gatherer) clone() []gathered {
	if g == nil {
		return nil
	}
	out := make([]gathered, len(g.stages))
	for i := range g.stages {
		out[i] = g.stages[i].clone()
	}
	return out
}

func (s *gathered) clone() gathered {
	t := *s
	t.begun, t.points, t.tiles = slices.Clone(s.begun), make([]*gatherPoint, len(s.points)),
		make(map[int]*heap, len(s.tiles))
	for i, p := range s.points {
		q := *p
		q.passes = slices.Clone(p.passes)
		t.points[i] = &q
	}
	for kv, h := range s.tiles {
		c := &heap{cells: slices.Clone(h.cells), left: h.left}
		for i := range c.cells {
			c.cells[i].parts = slices.Clone(c.cells[i].parts)
		}
		t.tiles[kv] = c
	}
	return t
}

func (g *gatherer) restore(from []gathered) {
	if g == nil {
		return
	}
	for i := range from {
		was, s := from[i].clone(), &g.stages[i]
		s.begun, s.tiles = was.begun, was.tiles
		for j, p := range was.points {
			s.points[j].passes, s.points[j].most = p.passes, p.most
		}
	}
}
