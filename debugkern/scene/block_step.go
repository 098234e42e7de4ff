package scene

import (
	"maps"
	"slices"

	"tilescope/probes"
)

// BlockStep finds, of an argument that blocks write over each other, the step from block to block that is
// wrong: with the extent of what one block writes in its place, every element is written, and by one block.
// nil where what blocks write is not one block's moved by steps, or not exactly one other step does that.
func (c *Covered) BlockStep() *Step {
	w := Contested{dims: c.dims}
	first := c.blocks[probes.Dim3{}]
	if len(first) == 0 {
		return nil
	}
	base := w.indexOf(slices.Min(slices.Collect(maps.Keys(first))))
	by, ok := c.blockSteps(base)
	if !ok {
		return nil
	}
	box := around(slices.Collect(maps.Keys(first)), c.dims)
	var found *Step
	for axis := range 3 {
		if by[axis] == nil {
			continue // one block along it
		}
		for d := range c.dims {
			be := box[d][1] - box[d][0]
			if be == by[axis][d] || !w.may(&number{most: 1, by: by[axis]}, d) ||
				!c.coveredBy(by, axis, d, be, first) {
				continue
			}
			if found != nil {
				return nil
			}
			s := w.step(&number{name: "blockIdx." + string("xyz"[axis]), by: by[axis]}, d, be, false)
			s.Sure, found = true, &s
		}
	}
	return found
}

// blockSteps is by how much what a block writes moves along each axis of the grid, nil for one with one
// block; ok is false where some block begins elsewhere than by these steps.
func (c *Covered) blockSteps(base []int) (by [3][]int, ok bool) {
	w := Contested{dims: c.dims}
	begin := func(id probes.Dim3) []int {
		if len(c.blocks[id]) == 0 {
			return nil
		}
		return w.indexOf(slices.Min(slices.Collect(maps.Keys(c.blocks[id]))))
	}
	for axis := range 3 {
		var id probes.Dim3
		id[axis] = 1
		if at := begin(id); at != nil {
			for d := range at {
				at[d] -= base[d]
			}
			by[axis] = at
		}
	}
	for id := range c.blocks {
		want := slices.Clone(base)
		for axis := range 3 {
			for d := range want {
				if by[axis] != nil {
					want[d] += id[axis] * by[axis][d]
				}
			}
			if id[axis] > 0 && by[axis] == nil {
				return by, false
			}
		}
		if !slices.Equal(begin(id), want) {
			return by, false
		}
	}
	return by, true
}

// coveredBy reports whether blocks write every element once, with another step along one axis in one
// dimension, each what the first block writes, as far as it is within the argument.
func (c *Covered) coveredBy(by [3][]int, axis, d, be int, first map[int]bool) bool {
	w := Contested{dims: c.dims}
	wrote := map[int]bool{}
	for id := range c.blocks {
		for cell := range first {
			at := w.indexOf(cell)
			for a := range 3 {
				for k := range at {
					switch {
					case by[a] == nil:
					case a == axis && k == d:
						at[k] += id[a] * be
					default:
						at[k] += id[a] * by[a][k]
					}
				}
			}
			if to, ok := linear(at, c.dims); ok {
				if wrote[to] {
					return false
				}
				wrote[to] = true
			}
		}
	}
	total := 1
	for _, n := range c.dims {
		total *= n
	}
	return len(wrote) == total
}
