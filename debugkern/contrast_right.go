package debugkern

import (
	"context"
	"maps"
	"math"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ref"
	"tilescope/probes"
)

// An operand that a wrong cell should not have is often right elsewhere: a scale is loaded once and used for
// two tensors, one of two columns takes what belongs to the other. The instructions that both ways have in
// common are then no mistake; the first that only the wrong cell's way has is.

// user is a cell that is right, and made of an operand as it should be.
type user struct {
	stage *probes.StagePlan
	iter  int
	cell  [2]int
}

// apart is the first instruction of a foreign operand's way that no right cell's way from this operand has,
// as an index in the entry's body; where all of it is like a right cell's, the first that does not execute
// for both: what came before is one value, of which the right cell is made as it should be. ok is false where
// no right cell is made of the operand, or goes another way from the beginning, or shares no value with it.
// Where the two go through values of their own before a load that one warp executes in two iterations, that
// load reads what each has stored: what is wrong is at the latest where the foreign operand meets one that
// belongs to the cell.
func (c *contrast) apart(
	ctx context.Context, k operandKey, a *actual, foreign []operandKey,
) (instr int, ok bool, err error) {
	s := a.of[k]
	common, same, parted := 0, 0, false
	for _, u := range c.rightUsers(k) {
		way, err := c.wayTo(ctx, k, u)
		if err != nil {
			return 0, false, err
		}
		if len(way.way) == 0 {
			continue
		}
		n := 0
		for n < len(way.way) && n < len(s.way) && c.alike(way.way[n], s.way[n]) &&
			c.together(way, s.reader, n) {
			n++
		}
		one := 0
		for one < n && way.steps[one] == s.steps[one] && way.lanesOf[one] == s.lanesOf[one] {
			one++
		}
		same = max(same, one)
		if n > common {
			common, parted = n, one < n && n < len(way.way) && n < len(s.way) && c.alike(way.way[n], s.way[n])
		}
		if u.stage == c.x.stage {
			break // what makes other cells of the stage says more than what makes another stage
		}
	}
	if common >= len(s.way) {
		common = same
	}
	if common == 0 || common >= len(s.way) {
		return 0, false, nil
	}
	if met := c.meeting(a, k, foreign); parted && met >= same {
		common = min(common, met)
	}
	return s.way[common], true, nil
}

// together reports whether two ways go on by one execution of an instruction that reads memory, as far as one
// warp executes it: in another iteration it reads by another address.
func (c *contrast) together(a, b reader, n int) bool {
	return a.way[n] != b.way[n] || a.steps[n] == b.steps[n] || !c.fn.Body[a.way[n]].Kind().Reads() ||
		c.trace.Step(int(a.steps[n])).Warp != c.trace.Step(int(b.steps[n])).Warp
}

// alike reports whether two instructions are copies that the compiler made of one operation of the source.
func (c *contrast) alike(a, b int) bool {
	if a == b {
		return true
	}
	x, y := c.fn.Body[a], c.fn.Body[b]
	return x.Op == y.Op && x.Loc.Chain() == y.Loc.Chain()
}

// passes reports whether what a cell is made of goes through an instruction, or a copy of it.
func (c *contrast) passes(a *actual, instr int) bool {
	for _, s := range a.of {
		if slices.ContainsFunc(s.way, func(i int) bool { return c.alike(i, instr) }) {
			return true
		}
	}
	return false
}

// mostUsers is how many right cells are followed for one operand.
const mostUsers = 3

// rightUsers finds right cells that are made of an operand as they should be: of the stage itself, then of
// others that were captured in the iteration. One of each stage is enough.
func (c *contrast) rightUsers(k operandKey) []user {
	plan := c.x.st.r.plan
	stages := []*probes.StagePlan{c.x.stage}
	for i := range plan.Stages {
		if sp := &plan.Stages[i]; sp != c.x.stage {
			stages = append(stages, sp)
		}
	}
	var out []user
	for _, sp := range stages {
		at := c.g.Index(sp.Stage)
		if sp.Capture.Kind == probes.CaptureNone || at < 0 || len(out) >= mostUsers {
			continue
		}
		kv := c.kv
		if !sp.PerTile {
			kv = 0
		}
		if cell, ok := c.rightUser(k, sp, at, kv); ok {
			out = append(out, user{sp, kv, cell})
		}
	}
	return out
}

// rightUser finds a right cell of a stage's tile that should be made of an operand.
func (c *contrast) rightUser(k operandKey, sp *probes.StagePlan, stage, kv int) (cell [2]int, ok bool) {
	v, err := c.run.View(Place{Stage: sp.Stage, Block: c.block, KVTile: kv})
	if err != nil || !v.Referenced() || !v.Got.Reached() || v.Verdict.Bad >= v.ValidRows*v.ValidCols {
		return cell, false
	}
	for r := range v.ValidRows {
		for col := range v.ValidCols {
			if !v.Judged(r, col, true) || v.Bad(r, col, true) {
				continue
			}
			parts, ok := c.g.MadeOf(stage, c.block, kv, ref.Span{r, r + 1}, ref.Span{col, col + 1})
			if ok && slices.ContainsFunc(parts, func(p ref.Part) bool { return c.has(p, k) }) {
				return [2]int{r, col}, true
			}
		}
	}
	return cell, false
}

// has reports whether an operand is one of a part.
func (c *contrast) has(p ref.Part, k operandKey) bool {
	if p.Stage >= 0 {
		return p.Stage == k.stage && p.Iter == k.iter &&
			rect{p.Rows, p.Cols}.has(k.at, c.g.Stage(p.Stage).Cols)
	}
	return k.stage < 0 && slices.Contains(c.elementKeys(p), k)
}

// wayTo is the way by which an operand comes into a right cell; the zero reader where none does.
func (c *contrast) wayTo(ctx context.Context, k operandKey, u user) (reader, error) {
	x := *c.x
	x.stage, x.arg, x.element = u.stage, "", -1
	x.cell.Stage, x.cell.KVTile = u.stage.Stage, u.iter
	at, err := x.at(c.trace, u.cell[0], u.cell[1])
	if err != nil {
		return reader{}, nil // it was not captured
	}
	looked := k.stage < 0 && u.stage.From == nil // what is looked up in a table depends on its index
	y := c
	if k.stage >= 0 && !slices.Contains(c.x.stage.From, c.g.Stage(k.stage).Stage) {
		y = c.with(&x)
	}
	g, err := c.trace.Walk(ctx, at, lineage.Query{CutValue: y.cut, Nodes: sliceNodes, Address: looked})
	if err != nil || g.Truncated {
		return reader{}, err
	}
	ways := c.readers(g)
	for i, l := range g.Leaves {
		if y.isKey(l, k) {
			return ways[i], nil
		}
	}
	return reader{}, nil
}

// with is the contrast whose walks end at the tiles that another stage is computed from as well.
func (c *contrast) with(x *ancestry) *contrast {
	y := *c
	y.captured, y.ids, y.lists = maps.Clone(c.captured), map[lineage.Ref]int{}, nil
	x.operandTiles(c.trace, c.kv, func(sp *probes.StagePlan, iter, row, col int, way []lineage.Ref) {
		key := operandKey{stage: c.g.Index(sp.Stage), iter: iter, arg: -1, at: row*sp.Cols + col}
		for _, v := range way {
			id := lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}
			y.captured[id] = append(slices.Clone(y.captured[id]), part{v.Lo, v.N, v.Part, key})
		}
	})
	return &y
}

// usual is where a right cell of the stage computes last with an operand, of what a wrong one does not pass;
// -1 where no right cell is made of it, or nothing tells right cells from the wrong one.
func (c *contrast) usual(ctx context.Context, a *actual, k operandKey) (int, error) {
	at := c.g.Index(c.x.stage.Stage)
	kv := c.kv
	if !c.x.stage.PerTile {
		kv = 0
	}
	cell, ok := c.rightUser(k, c.x.stage, at, kv)
	if !ok {
		return -1, nil
	}
	way, err := c.wayTo(ctx, k, user{c.x.stage, kv, cell})
	for i := len(way.way) - 1; i >= 0; i-- {
		k := c.fn.Body[way.way[i]].Kind()
		if (computes(k) || k == isa.Atomic) && !c.passes(a, way.way[i]) {
			return way.way[i], err
		}
	}
	return -1, err
}

// exchanged reports whether a cell has the value of the cell that an operand belongs to, and that cell its
// value, and both were stored by themselves: what was loaded right went to the wrong places.
func (c *contrast) exchanged(cell Cell, k operandKey) bool {
	other, ok := c.home(k)
	if !ok {
		return false
	}
	v, err := c.run.View(cell.Place)
	if err != nil || v.Local == nil || !v.Judged(other[0], other[1], true) {
		return false
	}
	near := func(r, col int, want [2]int) bool {
		at := want[0]*v.Plan.Cols + want[1]
		return math.Abs(v.Got.At(r, col)-v.Local[at]) <= v.LocalBound[at]
	}
	if !near(cell.Row, cell.Col, other) || !near(other[0], other[1], [2]int{cell.Row, cell.Col}) {
		return false
	}
	store := func(r, col int) (lineage.Ref, bool) {
		x := *c.x
		at, err := x.at(c.trace, r, col)
		if err != nil {
			return lineage.Ref{}, false
		}
		by, ok := c.lastStored(at)
		return lineage.Ref{Step: by.Step, Lane: by.Lane}, ok
	}
	a, known := store(cell.Row, cell.Col)
	b, alike := store(other[0], other[1])
	return known && alike && a != b
}

// elsewhereIn finds the cell of the tile whose value a cell has: what it is made of and should not be belongs
// to that one, in the place of what is missing, and that one is wrong as well: where it is right, each
// computed its own. stored is the last instruction that stores the value. ok is false where there is no such
// cell, and for what is not computed from other tiles.
func (c *contrast) elsewhereIn(
	cell Cell, a *actual, foreign, missing []operandKey,
) (other [2]int, stored int, ok bool) {
	if len(foreign) == 0 || len(foreign) != len(missing) {
		return other, 0, false
	}
	if foreign[0].stage >= 0 {
		other, ok = c.home(foreign[0])
	} else if len(foreign) > 1 { // it is no copy of an element, whose index is that of a load
		other, ok = c.holder(cell)
	}
	if !ok {
		return other, 0, false
	}
	switch {
	case foreign[0].stage < 0:
	case c.ofOne(foreign[0], other):
	case c.ofRows(foreign[0].stage, cell):
		other[1] = cell.Col
	default:
		other[0] = cell.Row
	}
	v, err := c.run.View(cell.Place)
	at := other[0]*c.x.stage.Cols + other[1]
	if err != nil || v.Local == nil || other == [2]int{cell.Row, cell.Col} ||
		!v.Judged(other[0], other[1], true) || !v.Bad(other[0], other[1], true) ||
		!(math.Abs(v.Got.At(cell.Row, cell.Col)-v.Local[at]) <= v.LocalBound[at]) {
		return other, 0, false
	}
	s, known := a.of[foreign[0]]
	if !known || len(s.way) == 0 {
		return other, 0, false
	}
	return other, c.lastStore(s), true
}

// holder is the one other cell of the tile whose value a cell has; false where none or several may be.
func (c *contrast) holder(cell Cell) (other [2]int, ok bool) {
	v, err := c.run.View(cell.Place)
	if err != nil || v.Local == nil {
		return other, false
	}
	got := v.Got.At(cell.Row, cell.Col)
	for r := range v.ValidRows {
		for col := range v.ValidCols {
			at := r*c.x.stage.Cols + col
			own := [2]int{r, col} == [2]int{cell.Row, cell.Col}
			if own || !(math.Abs(got-v.Local[at]) <= v.LocalBound[at]) {
				continue
			}
			if ok {
				return other, false
			}
			other, ok = [2]int{r, col}, true
		}
	}
	return other, ok
}

// ofOne reports whether an operand belongs to no cell but one, of those in its row and column.
func (c *contrast) ofOne(k operandKey, cell [2]int) bool {
	for r := range c.x.stage.Rows {
		if r != cell[0] && c.belongs(k, r, cell[1]) {
			return false
		}
	}
	for col := range c.x.stage.Cols {
		if col != cell[1] && c.belongs(k, cell[0], col) {
			return false
		}
	}
	return true
}

// belongs reports whether a cell of the stage should be made of an operand.
func (c *contrast) belongs(k operandKey, row, col int) bool {
	parts, ok := c.g.MadeOf(c.g.Index(c.x.stage.Stage), c.block, c.kv, ref.Span{row, row + 1},
		ref.Span{col, col + 1})
	return ok && slices.ContainsFunc(parts, func(p ref.Part) bool { return c.has(p, k) })
}

// home is the first cell of the stage that an operand belongs to.
func (c *contrast) home(k operandKey) (cell [2]int, ok bool) {
	v, err := c.run.View(c.x.cell.Place)
	if err != nil {
		return cell, false
	}
	for r := range v.ValidRows {
		for col := range v.ValidCols {
			if c.belongs(k, r, col) {
				return [2]int{r, col}, true
			}
		}
	}
	return cell, false
}
