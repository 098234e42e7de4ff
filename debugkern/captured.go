package debugkern

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// What was not captured has a cause of its own: a loop over tiles that ended early, a warp that exited, a
// probe that no lane executed. The findings of this file name it.

// unreachedFindings compares what was captured with what a block captures by the plan.
func (e *execution) unreachedFindings() ([]target.Finding, error) {
	u := &uncaptured{e: e, st: e.st}
	loops := u.loops()
	cells, err := u.cells()
	return append(loops, cells...), err
}

// uncaptured is one such comparison.
type uncaptured struct {
	e     *execution
	st    *runState
	ended map[probes.Dim3]int // kv tiles that a block computed, where its loop ended before the plan's last
}

// due reports whether a stage's tiles are captured inside a block: by probes or from shared memory.
func (u *uncaptured) due(sp *probes.StagePlan) bool {
	if !u.st.r.stages.Has(sp.Stage) || !u.st.r.plan.Gate.Judged.Has(sp.Stage) {
		return false
	}
	return sp.Capture.Kind != probes.CaptureNone && sp.Capture.Kind != probes.CaptureOutput
}

// walked lists the stages by which the loop over tiles is followed: those computed in it, or where none is
// captured what is loaded in it (ahead, perhaps).
func (u *uncaptured) walked() []*probes.StagePlan {
	var computed, loaded []*probes.StagePlan
	for i := range u.st.r.plan.Stages {
		switch sp := &u.st.r.plan.Stages[i]; {
		case !sp.PerTile || !u.due(sp):
		case !sp.Loaded:
			computed = append(computed, sp)
		default:
			loaded = append(loaded, sp)
		}
	}
	if computed != nil {
		return computed
	}
	return loaded
}

// stopped reports whether a block has a finding of its own that explains why it did not end.
func (u *uncaptured) stopped(block probes.Dim3) bool {
	return slices.Contains(u.st.result.Stopped, block)
}

// loopGroup is the blocks whose loops ended in the same way: before the last of want tiles, or past it.
type loopGroup struct {
	came, want int // kv tiles
	blocks     []probes.Dim3
}

// loops finds blocks whose loop over tiles ended before the plan's last tile, or went on after it.
func (u *uncaptured) loops() []target.Finding {
	u.ended = map[probes.Dim3]int{}
	stages := u.walked()
	if len(stages) == 0 {
		return nil
	}
	var short, over []*loopGroup
	var none []probes.Dim3
	p, rng := u.st.r.plan, u.st.r.rng
	for _, block := range u.st.blocks() {
		lo, n := rng.LoopTiles(p, block)
		want := p.Work.Tiles.At(block, 0)
		came := u.came(stages, block, lo, lo+n)
		switch {
		case u.stopped(block):
		case came < lo+n && came > lo:
			u.ended[block] = came
			short = grouped(short, came, want, block)
		case came < lo+n && came == 0 && u.past(stages, block, want) == want:
			none = append(none, block)
		case lo+n < want: // where the loop ends was not captured
		default:
			if came = u.past(stages, block, want); came != want {
				over = grouped(over, came, want, block)
			}
		}
	}
	var out []target.Finding
	if len(short) > 0 { // where no block did any tile, the cells that were not captured are the finding
		for _, block := range none {
			short = grouped(short, 0, p.Work.Tiles.At(block, 0), block)
		}
		out = append(out, u.loopFinding(short))
	}
	if len(over) > 0 {
		out = append(out, u.loopFinding(over))
	}
	return out
}

// grouped adds a block to the group of those whose loops ended as its own did.
func grouped(groups []*loopGroup, came, want int, block probes.Dim3) []*loopGroup {
	i := slices.IndexFunc(groups, func(g *loopGroup) bool { return g.came == came && g.want == want })
	if i < 0 {
		return append(groups, &loopGroup{came, want, []probes.Dim3{block}})
	}
	groups[i].blocks = append(groups[i].blocks, block)
	return groups
}

// came is one past the last kv tile in [lo, hi) of which any of the stages was captured, lo where none was.
func (u *uncaptured) came(stages []*probes.StagePlan, block probes.Dim3, lo, hi int) int {
	for kv := hi - 1; kv >= lo; kv-- {
		if slices.ContainsFunc(stages, func(sp *probes.StagePlan) bool {
			return u.st.Tile(sp.Stage, block, kv).Reached()
		}) {
			return kv + 1
		}
	}
	return lo
}

// past is one past the last kv tile, from want on, of which a computed stage was captured;
// want where none was.
func (u *uncaptured) past(stages []*probes.StagePlan, block probes.Dim3, want int) int {
	if stages[0].Loaded { // loaded ahead, perhaps
		return want
	}
	rng := u.st.r.rng
	if over := u.st.r.layout.Past(); over != nil &&
		u.st.Tile(over.Stage, block, rng.TileLo+rng.TileN).Reached() {
		return rng.TileLo + rng.TileN + 1
	}
	return u.came(stages, block, want, max(want, rng.TileLo+rng.TileN))
}

// loopFinding describes groups of blocks whose loops all ended too early, or all went on: "the kv loop ended
// after 3 of 4 tiles".
func (u *uncaptured) loopFinding(groups []*loopGroup) target.Finding {
	g, loop := groups[0], u.st.r.plan.Work.LoopName()
	blocks := 0
	var ends, counts, reached []string
	for _, o := range groups {
		blocks += len(o.blocks)
		ends = append(ends, fmt.Sprintf("%d of %d", o.came, o.want))
		counts, reached = append(counts, fmt.Sprint(o.want)), append(reached, fmt.Sprint(o.came))
	}
	f := target.Finding{
		Kind: target.LoopEnded, Severity: target.SeverityError, Block: g.blocks[0], KVTile: g.came,
		Count: blocks, Source: u.loopLine(),
		Message:     fmt.Sprintf("the %s loop ended after %s tiles", loop, someOf(ends)),
		Consequence: "what the tiles after that would have added is missing from everything behind the loop",
	}
	if g.came > g.want {
		f.KVTile = g.want
		f.Message = fmt.Sprintf("the %s loop went on after its %s tiles, to at least %s", loop,
			someOf(counts), someOf(reached))
		f.Consequence = "what it captured past the last tile is dropped, and not judged"
		if u.harmless() {
			f.Severity = target.SeverityAdvice
			f.Consequence += "; every stage that is judged, O among them, is within its bound all the same"
		}
	}
	if all := len(u.st.blocks()); blocks < all {
		f.Message += fmt.Sprintf(" in %d of %d blocks, first block %s", blocks, all, g.blocks[0])
	}
	return f
}

// someOf lists the first of some texts: "2 of 3, 1 of 2 and 0 of 1".
func someOf(list []string) string {
	const most = 4
	last := len(list) - 1
	switch {
	case last == 0:
		return list[0]
	case last >= most:
		return strings.Join(list[:most], ", ") + " …"
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// harmless reports whether all that a kernel leaves was judged, and is right.
func (u *uncaptured) harmless() bool {
	outputs := u.st.r.plan.OutputSet()
	for _, s := range outputs {
		if o := u.st.judged.Stage(s); o == nil || o.Tiles == 0 {
			return false
		}
	}
	return len(outputs) > 0 && !u.st.judged.Diverges()
}

// loopLine is the line of the loop that the stages' tiles are captured in, nil where there is none:
// the loop was unrolled.
func (u *uncaptured) loopLine() *target.Source {
	f := u.st.build.Module.Func(u.st.r.plan.Entry)
	if f == nil {
		return nil
	}
	lines := map[int]bool{}
	for i := range u.st.r.plan.Stages {
		if sp := &u.st.r.plan.Stages[i]; sp.PerTile && u.due(sp) && sp.Capture.TileLine > 0 {
			lines[sp.Capture.TileLine] = true
		}
	}
	at, ok := emu.TileLoop(f, func(i int) bool {
		in := f.Body[i]
		if in.Loc.Within(target.IsProbe) {
			return in.Op == "st"
		}
		return len(lines) > 0 && lines[target.Blame(f, i).Line]
	})
	if !ok {
		return nil
	}
	return target.Blame(f, at)
}

// hole is a tile with cells that were not captured.
type hole struct {
	stage *probes.StagePlan
	block probes.Dim3
	kv    int
	cells int
}

// holeGroup is the blocks with the same holes, or with the same cause of them.
type holeGroup struct {
	first  hole
	stages probes.StageSet
	blocks int
	cells  int
}

// mostTraced is how many differently affected blocks are executed again to find the cause.
const mostTraced = 8

// cells finds captured tiles that are not complete, and looks for the cause.
func (u *uncaptured) cells() ([]target.Finding, error) {
	groups := u.holes()
	var out []target.Finding
	for i := range groups {
		g := &groups[i]
		f := target.Finding{
			Kind: target.NotCaptured, Severity: target.SeverityError, Block: g.first.block,
			KVTile: g.first.kv, Count: g.cells,
		}
		if !g.first.stage.PerTile {
			f.KVTile = -1
		}
		why := "the cause was not looked for"
		if i < mostTraced {
			var err error
			if why, err = u.cause(g, &f); err != nil {
				return nil, err
			}
		}
		f.Message = fmt.Sprintf("not captured: %s (%s)", why, g.extent(u.st.r.plan, len(u.st.blocks())))
		if f.Kind == target.LoopEnded {
			f.Message = fmt.Sprintf("%s (%s not captured)", why, g.extent(u.st.r.plan, len(u.st.blocks())))
		}
		f.Consequence = "these cells are not judged, and nothing that is computed from them is judged by them"
		out = append(out, f)
	}
	return out, nil
}

// extent returns how much is missing: "512 cells of S, P in 16 of 16 blocks".
func (g *holeGroup) extent(p *probes.Plan, all int) string {
	var names []string
	for _, s := range p.Ordered(g.stages) {
		names = append(names, s.String())
	}
	noun := "cells"
	if g.cells == 1 {
		noun = "cell"
	}
	return fmt.Sprintf("%d %s of %s, in %d of %d blocks", g.cells, noun, strings.Join(names, ", "),
		g.blocks, all)
}

// holes groups the blocks that have holes by what the holes look like, in launch order.
func (u *uncaptured) holes() []holeGroup {
	any := false
	for i := range u.st.judged.Stages {
		any = any || u.st.judged.Stages[i].Absent > 0
	}
	if !any {
		return nil
	}
	var groups []holeGroup
	at := map[uint64]int{}
	for _, block := range u.st.blocks() {
		g := u.inBlock(block)
		if g.cells == 0 {
			continue
		}
		key := u.signature(g.first)
		i, ok := at[key]
		if !ok {
			at[key], groups = len(groups), append(groups, g)
			continue
		}
		groups[i].stages = groups[i].stages.Union(g.stages)
		groups[i].blocks++
		groups[i].cells += g.cells
	}
	return groups
}

// inBlock adds up the holes of one block, its first by kv tile and stage. Tiles past the end of its loop are
// the loop's, and those of a block that was stopped that finding's.
func (u *uncaptured) inBlock(block probes.Dim3) holeGroup {
	g := holeGroup{blocks: 1}
	if u.stopped(block) {
		return g
	}
	p := u.st.r.plan
	for i := range p.Stages {
		sp := &p.Stages[i]
		if !u.due(sp) {
			continue
		}
		lo, n := u.st.r.rng.Tiles(p, sp, block)
		if came, ended := u.ended[block]; ended && sp.PerTile {
			n = min(n, came-lo)
		}
		for kv := lo; kv < lo+n; kv++ {
			h := hole{sp, block, kv, int(u.st.judged.Tile(sp.Stage, block, kv).Absent)}
			if !u.st.Tile(sp.Stage, block, kv).Reached() {
				h.cells = max(0, min(sp.Rows, sp.ValidRows.At(block, kv))) * max(0,
					min(sp.Cols, sp.ValidCols.At(block, kv)))
			}
			if h.cells == 0 {
				continue
			}
			if g.cells == 0 || h.before(g.first) {
				g.first = h
			}
			g.cells += h.cells
			g.stages = g.stages.Union(probes.StagesOf(sp.Stage))
		}
	}
	return g
}

func (a hole) before(b hole) bool {
	return cmp.Or(cmp.Compare(a.when(), b.when()), cmp.Compare(a.stage.Slot, b.stage.Slot)) < 0
}

// when orders holes by kv tile, what a block has once before all.
func (a hole) when() int {
	if !a.stage.PerTile {
		return -1
	}
	return a.kv
}

// signature identifies what a hole looks like.
func (u *uncaptured) signature(h hole) uint64 {
	m := fnv.New64a()
	fmt.Fprint(m, h.stage.Stage, h.kv)
	m.Write(capturedBytes(u.st.Tile(h.stage.Stage, h.block, h.kv), h.stage))
	return m.Sum64()
}

// cause executes the block of a group's first hole again and returns in words why its cells were not stored;
// it gives the finding the warps and the place.
func (u *uncaptured) cause(g *holeGroup, f *target.Finding) (string, error) {
	switch sp := g.first.stage; {
	case sp.Capture.Kind == probes.CaptureRegister:
		return "no thread that holds them reached the instructions that capture them: " +
			captureText(sp), nil
	case sp.Capture.Kind == probes.CaptureShared:
		return "the block did not come past the place that it is taken at: " + captureText(sp), nil
	}
	r, err := u.reach(g.first)
	if err != nil || r == nil {
		return "no thread stored " + u.missing(g.first), err
	}
	c := reachCause{
		r: r, h: g.first, cells: u.missing(g.first), want: u.st.r.plan.Work.Tiles.At(g.first.block, 0),
		loop: u.st.r.plan.Work.LoopName() + " loop",
	}
	c.sort()
	return c.text(f), nil
}

// missing names the cells of a hole: by rows and columns where they are a rectangle, else by the first of
// them.
func (u *uncaptured) missing(h hole) string {
	t, name := u.st.Tile(h.stage.Stage, h.block, h.kv), h.stage.Stage.String()
	rows := max(0, min(h.stage.Rows, h.stage.ValidRows.At(h.block, h.kv)))
	cols := max(0, min(h.stage.Cols, h.stage.ValidCols.At(h.block, h.kv)))
	inRow, inCol := make([]bool, rows), make([]bool, cols)
	n, first := 0, [2]int{-1, -1}
	for r := range rows {
		for c := range cols {
			if t.Reached() && t.Captured(r, c) {
				continue
			}
			if n++; first[0] < 0 {
				first = [2]int{r, c}
			}
			inRow[r], inCol[c] = true, true
		}
	}
	rowText, nr := spanText("row", inRow)
	colText, nc := spanText("column", inCol)
	switch {
	case n == rows*cols:
		return "any cell of " + name
	case n != nr*nc || rowText == "" || colText == "":
		return fmt.Sprintf("%d cells of %s, the first (%d,%d)", n, name, first[0], first[1])
	case nr == rows:
		return colText + " of " + name
	case nc == cols:
		return rowText + " of " + name
	}
	return fmt.Sprintf("%s of %s of %s", colText, rowText, name)
}

// spanText is what of an axis is set, where it is one stretch: "rows 8 to 15"; and how many are.
func spanText(noun string, set []bool) (text string, n int) {
	lo, hi := slices.Index(set, true), -1
	for i, on := range set {
		if on {
			n, hi = n+1, i
		}
	}
	switch {
	case n == 0 || hi-lo+1 != n:
		return "", n
	case n == 1:
		return fmt.Sprintf("%s %d", noun, lo), 1
	}
	return fmt.Sprintf("%ss %d to %d", noun, lo, hi), n
}

// reach has the backend, or the emulator with the same build, find which lanes reached a probe.
func (u *uncaptured) reach(h hole) (*target.Reach, error) {
	k, ok := u.st.kernel.(target.ReachTracer)
	if !ok {
		loaded, err := u.e.load(u.st.session.localEmulator(), u.st.build)
		if err != nil {
			return nil, nil //nolint:nilerr // what the emulator cannot execute has no known cause
		}
		if k, ok = loaded.(target.ReachTracer); !ok {
			return nil, nil
		}
	}
	off, ok := u.st.r.layout.Slot(h.stage.Stage, h.block, h.kv)
	if !ok || u.st.launch.Probe == nil {
		return nil, nil
	}
	size := h.stage.Rows * h.stage.Cols * h.stage.DType.Size()
	return k.Reach(u.e.ctx, u.st.launch, h.block, off, off+uint64(size))
}

// reachCause sorts the lanes that did not store by why they did not.
type reachCause struct {
	r     *target.Reach
	h     hole
	cells string // which they are: "columns 16 to 31 of S"
	want  int    // kv tiles of the block
	loop  string

	stored bool
	usual  map[int]bool   // where lanes that stored left the kernel
	most   int            // how often those went round the loop
	early  []int          // warps that left elsewhere
	short  []int          // warps that left the loop sooner
	idle   []int          // warps that did neither
	partly int            // of the idle ones, those of which some lanes stored
	beyond []int          // of the idle ones, those that executed the probe and stored nothing
	apart  bool           // some warps that did not store have another part
	at     *target.Source // where the early ones left
	rounds int            // of the short ones
}

// sort puts every warp with lanes that did not store into one class. A stage that is computed once a block is
// not in the loop over tiles: a loop around its probe is another.
func (c *reachCause) sort() {
	c.usual = map[int]bool{}
	for _, w := range c.r.Warps {
		for _, l := range w.Left {
			if l.Lanes&w.Stored != 0 {
				c.usual[l.At], c.most = true, max(c.most, l.Rounds)
			}
		}
		c.stored = c.stored || w.Stored != 0
	}
	for i, w := range c.r.Warps {
		rest := w.Exists &^ w.Stored
		if rest == 0 {
			continue
		}
		class := &c.idle
		for _, l := range w.Left {
			switch {
			case l.Lanes&rest == 0:
			case !c.usual[l.At]:
				if class = &c.early; c.at == nil {
					c.at = l.Source
				}
			case c.h.stage.PerTile && l.Rounds < c.most && class == &c.idle:
				class, c.rounds = &c.short, l.Rounds
			}
		}
		*class = append(*class, i)
		switch {
		case class != &c.idle:
		case w.Stored != 0:
			c.partly++
		case w.Probed:
			c.beyond = append(c.beyond, i)
		}
	}
	// Warps that issue copies for others, and those that leave where they do, have nothing to capture.
	if c.stored && slices.ContainsFunc(c.early, func(i int) bool { return c.r.Warps[i].Copies }) &&
		!slices.ContainsFunc(c.early, func(i int) bool { return c.r.Warps[i].Stored != 0 }) {
		c.early, c.apart = nil, true
	}
}

// text is the cause in words. The class that explains most comes first: the others follow from
// it, or have other cells.
func (c *reachCause) text(f *target.Finding) string {
	at := func(s *target.Source) string {
		if s == nil {
			return ""
		}
		f.Source = s
		return fmt.Sprintf(" at line %d", s.Line)
	}
	switch {
	case !c.stored:
		f.Warps = c.early
		return "no thread reached the probe; the warps left" + at(c.at)
	case len(c.early) > 0:
		f.Warps, f.Left = c.early, true
		return warpNames(c.early) + " exited" + at(c.at)
	case len(c.short) > 0:
		f.Warps, f.Kind, f.Source, f.Left = c.short, target.LoopEnded, c.r.Loop, true
		f.KVTile = c.want - (c.most - c.rounds)
		return fmt.Sprintf("%s left the %s after %d of %d tiles", warpNames(c.short), c.loop,
			f.KVTile, c.want)
	case len(c.idle) > 0 && len(c.idle) == c.partly:
		return "none of the threads that reached the probe stored " + c.cells + at(c.r.Probe)
	case len(c.idle) > 0 && len(c.idle) == len(c.beyond):
		f.Warps = c.idle
		return warpNames(c.idle) + " give the probe rows or columns outside of the tile" + at(c.r.Probe)
	case len(c.idle) > 0:
		f.Warps = c.idle
		return warpNames(c.idle) + " did not reach the probe" + at(c.r.Probe)
	}
	if c.apart {
		return "the warps that capture the other cells give the probe no row and column of " + c.cells + at(c.r.Probe)
	}
	return "all threads reached the probe, and none stored " + c.cells + at(c.r.Probe)
}

func warpNames(ids []int) string {
	if len(ids) == 1 {
		return fmt.Sprintf("warp %d", ids[0])
	}
	return "warps " + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}
