package debugkern

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tilescope/probes"
)

// Step is how far the index of a stage's operand moves from one row, column, tile or block to another, where
// that is not as far as it should.
type Step struct {
	Of    string // the argument or the stage
	Along string // "row", "column", "element", "blockIdx.y", or what the plan calls a tile
	By    int    // how many of them
	// Got and Want are in elements of the argument, or in cells of the stage's tile, by rows
	Got, Want int
	// Pair says what was observed at two places, where the index does not move as far everywhere along the
	// axis; "" where it does
	Pair string
	of   source
}

// Text is a step in words.
func (s Step) Text() string {
	if s.Pair != "" {
		return s.Pair
	}
	far := fmt.Sprintf("%d %ss further", s.By, s.Along)
	if s.By == 1 {
		far = "one " + s.Along + " further"
	}
	return fmt.Sprintf("%s its index in %s is %d further, and should be %d", far, s.Of, s.Got, s.Want)
}

// source is an argument or a stage that cells are made of.
type source struct{ stage, arg int }

// Steps compares by how much the operands of a stage's cells move with the cell, the tile and the block, in
// kernel and manifest. Rows and columns of one tile are compared first; only where none is wrong, tiles and
// blocks, of which some are executed. Errors are those of Lineage.
func (r *Run) Steps(ctx context.Context, stage probes.Stage, block probes.Dim3, kv int) ([]Step, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return nil, err
	}
	v, err := r.View(Place{Stage: stage, Block: block, KVTile: kv})
	if err != nil {
		return nil, nil
	}
	base, err := c.indices(ctx, [2]int{})
	if err != nil || base == nil {
		return nil, err
	}
	var out []Step
	for axis, n := range [2]int{v.ValidRows, v.ValidCols} {
		along := [2]string{"row", "column"}[axis]
		from := moved{at: base, name: along + " 0"}
		var list []moved
		for by := 1; by < n; by *= 2 {
			at := [2]int{}
			at[axis] = by
			x, err := c.indices(ctx, at)
			if err != nil {
				return nil, err
			}
			list = append(list, moved{by, x, fmt.Sprintf("%s %d", along, by)})
		}
		out = append(out, c.wrongSteps(along, from, list)...)
	}
	if len(out) > 0 {
		return out, nil
	}
	return r.stepsOfBlocks(ctx, c, stage, kv, base)
}

// mostNeighbours is how many blocks along an axis are compared with the stage's, the second where the first
// shows a wrong step.
const mostNeighbours = 2

// stepsOfBlocks compares the first cell's operands with those in other blocks and tiles.
func (r *Run) stepsOfBlocks(
	ctx context.Context, c *contrast, stage probes.Stage, kv int, base map[source]index,
) ([]Step, error) {
	var out []Step
	lo, n := r.Tiles(c.block)
	if sp := r.Plan.Stage(stage); sp.PerTile {
		along := r.Plan.Work.TileName()
		for _, to := range []int{kv + 1, kv - 1} {
			if to < lo || to >= lo+n {
				continue
			}
			x, err := r.indicesOf(ctx, stage, c.block, to)
			if err != nil {
				return nil, err
			}
			name := func(kv int) string { return fmt.Sprintf("%s %d", along, kv) }
			out = append(out, c.wrongSteps(along, moved{at: base, name: name(kv)},
				[]moved{{to - kv, x, name(to)}})...)
			break
		}
	}
	for axis := range 3 {
		list, err := r.stepsAlong(ctx, c, stage, kv, axis, base)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// indicesOf is indices of the first cell in another block or iteration.
func (r *Run) indicesOf(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int,
) (map[source]index, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return nil, err
	}
	return c.indices(ctx, [2]int{})
}

// stepsAlong compares the first cell's operands with those in other blocks along an axis of the grid.
func (r *Run) stepsAlong(
	ctx context.Context, c *contrast, stage probes.Stage, kv, axis int, base map[source]index,
) ([]Step, error) {
	var out []Step
	var list []moved
	blocks, along := r.Blocks(), "blockIdx."+"xyz"[axis:axis+1]
	from := moved{at: base, name: "block " + c.block.String()}
	for _, by := range []int{-1, 1, -2, 2} {
		to := c.block
		if to[axis] += by; to[axis] < 0 || !slices.Contains(blocks, to) {
			continue
		}
		x, err := r.indicesOf(ctx, stage, to, kv)
		if err != nil {
			return nil, err
		}
		list = append(list, moved{by, x, "block " + to.String()})
		if out = c.wrongSteps(along, from, list); len(out) == 0 || len(list) == mostNeighbours {
			break
		}
	}
	for i := range out {
		if s := &out[i]; s.Pair == "" && !c.evenly(s, axis, base, blocks) {
			s.Pair = c.pair(s.of, from, list[0])
		}
	}
	return out, nil
}

// evenly reports whether the first operand that the manifest names moves by a step's Want from each block
// along an axis of the grid to the next.
func (c *contrast) evenly(s *Step, axis int, base map[source]index, blocks []probes.Dim3) bool {
	o := *c
	for o.block[axis] = 0; slices.Contains(blocks, o.block); o.block[axis]++ {
		e, ok := o.expect(0, 0)
		if !ok {
			return false
		}
		at, there := o.firstWanted(e)[s.of]
		if there && at-base[s.of].want != (o.block[axis]-c.block[axis])/s.By*s.Want {
			return false
		}
	}
	return true
}

// firstWanted is the first operand of each source that a cell should be made of.
func (c *contrast) firstWanted(e *expected) map[source]int {
	out := map[source]int{}
	for _, p := range e.direct {
		list := c.elementKeys(p)
		if p.Stage >= 0 {
			list = c.cellKeys(p)
		}
		if p.Stage >= 0 && p.Iter != c.kv || p.Masked {
			continue
		}
		for _, k := range list {
			s := source{k.stage, k.arg}
			if at, there := out[s]; !there || k.at < at {
				out[s] = k.at
			}
		}
	}
	return out
}

// index is the first operand of a source, in kernel and manifest.
type index struct{ got, want int }

// moved is the indices of a cell, tile or block that is some further on, and what it is called.
type moved struct {
	by   int
	at   map[source]index
	name string
}

// indices finds for each source the first operand that a cell is made of, and that it should be made of;
// nil where the manifest does not say.
func (c *contrast) indices(ctx context.Context, cell [2]int) (map[source]index, error) {
	e, ok := c.expect(cell[0], cell[1])
	if !ok {
		return nil, nil
	}
	at, err := c.x.at(c.trace, cell[0], cell[1])
	if err != nil {
		return nil, nil // it was not captured
	}
	a, err := c.recognised(ctx, e, at)
	if err != nil || a == nil {
		return nil, err
	}
	least := map[source]int{}
	for k := range a.of {
		s := source{k.stage, k.arg}
		if at, there := least[s]; k.stage >= 0 && k.iter != c.kv {
			continue
		} else if !there || k.at < at {
			least[s] = k.at
		}
	}
	out := map[source]index{}
	for s, want := range c.firstWanted(e) {
		if got, there := least[s]; there {
			out[s] = index{got, want}
		}
	}
	return out, nil
}

// wrongSteps compares how far indices moved.
func (c *contrast) wrongSteps(along string, base moved, list []moved) []Step {
	var out []Step
	for s, from := range base.at {
		for _, m := range list {
			to, ok := m.at[s]
			if !ok || to.got-from.got == to.want-from.want {
				continue
			}
			step := Step{
				Of: c.sourceName(s), Along: along, By: m.by, Got: to.got - from.got,
				Want: to.want - from.want, of: s,
			}
			if step.By < 0 {
				step.By, step.Got, step.Want = -step.By, -step.Got, -step.Want
			}
			if !step.holds(from, list) {
				step.Pair = c.pair(s, base, m)
			}
			out = append(out, step)
			break
		}
	}
	slices.SortFunc(out, func(a, b Step) int { return cmp.Or(cmp.Compare(a.Of, b.Of), a.By-b.By) })
	return out
}

// holds reports whether an index moves as far as a step says wherever that can be compared.
func (s *Step) holds(from index, list []moved) bool {
	return !slices.ContainsFunc(list, func(m moved) bool {
		to, ok := m.at[s.of]
		n := m.by / s.By
		return ok && m.by%s.By == 0 && (to.got-from.got != n*s.Got || to.want-from.want != n*s.Want)
	})
}

// pair says what the first operand of a source is at another place than the first, and at the first where
// it is wrong there.
func (c *contrast) pair(s source, from, to moved) string {
	name := func(at int) string {
		var o Operands
		c.named(&o, operandKey{stage: s.stage, iter: c.kv, arg: s.arg, at: at}, []int{at})
		return o.Text
	}
	at := func(m moved) string {
		x := m.at[s]
		if x.got == x.want {
			return fmt.Sprintf("%s begins with %s, as it should", m.name, name(x.got))
		}
		return fmt.Sprintf("%s begins with %s, and should with %s", m.name, name(x.got), name(x.want))
	}
	if from.at[s].got == from.at[s].want {
		return at(to)
	}
	return at(to) + ", and " + at(from)
}

// sourceName is the argument's or the stage's name.
func (c *contrast) sourceName(s source) string {
	if s.stage < 0 {
		return c.x.st.launch.Args[s.arg].Name
	}
	return c.g.Stage(s.stage).Stage.String()
}
