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
	Along string // "row", "column", "blockIdx.y", or what the plan calls a tile
	By    int    // how many of them
	// Got and Want are in elements of the argument, or in cells of the stage's tile, by rows
	Got, Want int
}

// Text is a step in words.
func (s Step) Text() string {
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
		var list []moved
		for by := 1; by < n; by *= 2 {
			at := [2]int{}
			at[axis] = by
			x, err := c.indices(ctx, at)
			if err != nil {
				return nil, err
			}
			list = append(list, moved{by, x})
		}
		out = append(out, c.wrongSteps(along, base, list)...)
	}
	if len(out) > 0 {
		return out, nil
	}
	return r.stepsOfBlocks(ctx, c, stage, kv, base)
}

// stepsOfBlocks compares the first cell's operands with those in other blocks and tiles.
func (r *Run) stepsOfBlocks(
	ctx context.Context, c *contrast, stage probes.Stage, kv int, base map[source]index,
) ([]Step, error) {
	var out []Step
	compare := func(along string, block probes.Dim3, kv, by int) error {
		o, err := r.contrast(ctx, stage, block, kv)
		if err != nil || o == nil {
			return err
		}
		x, err := o.indices(ctx, [2]int{})
		if err == nil {
			out = append(out, c.wrongSteps(along, base, []moved{{by, x}})...)
		}
		return err
	}
	lo, n := r.Tiles(c.block)
	if sp := r.Plan.Stage(stage); sp.PerTile {
		for _, to := range []int{kv + 1, kv - 1} {
			if to >= lo && to < lo+n {
				if err := compare(r.Plan.Work.TileName(), c.block, to, to-kv); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	blocks := r.Blocks()
	for axis := range 3 {
		for _, by := range []int{-1, 1} {
			to := c.block
			to[axis] += by
			if to[axis] < 0 || !slices.Contains(blocks, to) {
				continue
			}
			if err := compare("blockIdx."+"xyz"[axis:axis+1], to, kv, by); err != nil {
				return nil, err
			}
			break
		}
	}
	return out, nil
}

// index is the first operand of a source, in kernel and manifest.
type index struct{ got, want int }

// moved is the indices of a cell, tile or block that is some further on.
type moved struct {
	by int
	at map[source]index
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
	for _, p := range e.direct {
		list := c.elementKeys(p)
		if p.Stage >= 0 {
			list = c.cellKeys(p)
		}
		if len(list) == 0 || p.Stage >= 0 && p.Iter != c.kv || p.Masked {
			continue
		}
		for _, k := range list {
			s := source{k.stage, k.arg}
			got, there := least[s]
			if !there {
				continue
			}
			if x, known := out[s]; !known || k.at < x.want {
				out[s] = index{got, k.at}
			}
		}
	}
	return out, nil
}

// wrongSteps compares how far indices moved.
func (c *contrast) wrongSteps(along string, base map[source]index, list []moved) []Step {
	var out []Step
	for s, from := range base {
		var wrong []Step
		for _, m := range list {
			to, ok := m.at[s]
			if !ok {
				continue
			}
			step := Step{
				Of: c.sourceName(s), Along: along, By: m.by, Got: to.got - from.got,
				Want: to.want - from.want,
			}
			if step.By < 0 {
				step.By, step.Got, step.Want = -step.By, -step.Got, -step.Want
			}
			if step.Got == step.Want {
				continue
			}
			wrong = append(wrong, step)
		}
		if len(wrong) > 0 {
			out = append(out, wrong[0])
		}
	}
	slices.SortFunc(out, func(a, b Step) int { return cmp.Or(cmp.Compare(a.Of, b.Of), a.By-b.By) })
	return out
}

// sourceName is the argument's or the stage's name.
func (c *contrast) sourceName(s source) string {
	if s.stage < 0 {
		return c.x.st.launch.Args[s.arg].Name
	}
	return c.g.Stage(s.stage).Stage.String()
}
