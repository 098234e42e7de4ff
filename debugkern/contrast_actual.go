package debugkern

import (
	"context"
	"fmt"
	mathbits "math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// part is a piece of a value that is a cell of a captured tile.
type part struct {
	lo, n, half uint8
	key         operandKey
}

// tiles finds the values that were captured as tiles of what the stage is computed from.
func (c *contrast) tiles(ctx context.Context) error {
	var made []madeBy // of columns
	c.x.operandTiles(c.trace, c.kv, func(sp *probes.StagePlan, iter, row, col int, way []lineage.Ref) {
		key := operandKey{stage: c.g.Index(sp.Stage), iter: iter, arg: -1, at: row*sp.Cols + col}
		c.stored[key] = true
		if sp.Cols == 1 && len(way) > 0 {
			made = append(made, madeBy{way[len(way)-1], key})
		}
		for _, v := range way {
			id := lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}
			c.captured[id] = append(c.captured[id], part{v.Lo, v.N, v.Part, key})
		}
		if len(way) > 0 {
			c.round(way[len(way)-1], key)
		}
	})
	return c.spread(ctx, made)
}

// unrounded is a value that is rounded to a narrower type.
type unrounded struct {
	lineage.Value
	part uint8
	to   ptx.Type
}

// rounds is what a conversion rounds that gives a value; false where no conversion from float gives it.
func (c *contrast) rounds(v lineage.Ref) (unrounded, bool) {
	in := c.trace.Step(int(v.Step)).Instr
	t := in.Types()
	if in.Kind() != isa.Convert || v.Index == lineage.InMemory || len(t) < 2 || t[len(t)-1] != ptx.F32 ||
		t[0].Single() != ptx.F16 && t[0].Single() != ptx.BF16 {
		return unrounded{}, false
	}
	for _, u := range c.trace.Uses(v, false, false) {
		if r := u.Ref; u.Leaf == nil && u.Kind == lineage.ByValue {
			from := lineage.Value{Step: r.Step, Lane: r.Lane, Index: r.Index}
			return unrounded{from, r.Part, t[0].Single()}, true
		}
	}
	return unrounded{}, false
}

// round makes every rounding of what a cell was rounded from the cell: a kernel that keeps a tile in
// registers rounds it once to be captured and once, in pairs, to be multiplied.
func (c *contrast) round(v lineage.Ref, key operandKey) {
	if from, ok := c.rounds(v); ok {
		c.rounded[from] = append(c.rounded[from], key)
	}
}

// madeBy is the value that an operation gave, and the cell of a column that it became.
type madeBy struct {
	ref lineage.Ref
	key operandKey
}

// spread makes what other lanes were given by the operation that gave a column's cell the same cell,
// where it has the same bits: a row's maximum is exchanged until every lane of the row has it, and
// one of them stores it.
func (c *contrast) spread(ctx context.Context, made []madeBy) error {
	var refs []lineage.Ref
	for _, m := range made {
		mask := c.trace.Step(int(m.ref.Step)).Mask
		for lane := range uint8(32) {
			if mask>>lane&1 != 0 {
				r := m.ref
				r.Lane = lane
				refs = append(refs, r)
			}
		}
	}
	if len(refs) == 0 {
		return nil
	}
	bits, err := c.trace.Values(ctx, c.x.kernel, refs)
	if err != nil {
		return err
	}
	for _, m := range made {
		n := mathbits.OnesCount32(c.trace.Step(int(m.ref.Step)).Mask)
		own := slices.Index(refs[:n], m.ref)
		for k := range n {
			if k != own && bits[k] == bits[own] {
				id := lineage.Value{Step: m.ref.Step, Lane: refs[k].Lane, Index: m.ref.Index}
				if len(c.captured[id]) == 0 {
					c.captured[id] = append(c.captured[id], part{m.ref.Lo, m.ref.N, m.ref.Part, m.key})
				}
			}
		}
		refs, bits = refs[n:], bits[n:]
	}
	return nil
}

// cut ends a walk at values that were captured: the number of the cells that it is.
func (c *contrast) cut(v lineage.Ref) (int, bool) {
	if id, known := c.ids[v]; known {
		return id, id >= 0
	}
	var list []operandKey
	for _, p := range c.captured[lineage.Value{Step: v.Step, Lane: v.Lane, Index: v.Index}] {
		if p.half == v.Part && p.lo < v.Lo+max(v.N, 1) && v.Lo < p.lo+max(p.n, 1) &&
			!slices.Contains(list, p.key) {
			list = append(list, p.key)
		}
	}
	if len(list) == 0 && len(c.rounded) > 0 {
		if from, ok := c.rounds(v); ok {
			list = c.rounded[from]
		}
	}
	id := -1
	if len(list) > 0 {
		id = len(c.lists)
		c.lists = append(c.lists, list)
	}
	c.ids[v] = id
	return id, id >= 0
}

// seen is how an operand enters a cell.
type seen struct {
	ways uint64
	reader
	each int // how many numbers of its size are read at once
	// eachAgain: by the instruction that reads them again
	eachAgain int
}

// actual is what a cell is made of.
type actual struct {
	g  *lineage.Graph
	of map[operandKey]seen
}

// actual lists what the cell at a place is made of by value. With looked, what is looked up in a table is
// made of the index as well, which it depends on by its address.
func (c *contrast) actual(ctx context.Context, at lineage.Place, looked bool) (*actual, error) {
	return c.actualBy(ctx, at, looked, c.cut)
}

// actualBy is actual with a function of its own that ends the walk.
func (c *contrast) actualBy(
	ctx context.Context, at lineage.Place, looked bool, cut func(lineage.Ref) (int, bool),
) (*actual, error) {
	g, err := c.trace.Walk(ctx, at, lineage.Query{CutValue: cut, Nodes: sliceNodes, Address: looked})
	if err != nil {
		return nil, err
	}
	if g.Truncated {
		return nil, fmt.Errorf("the cell is made of more than %d values", sliceNodes)
	}
	readers := c.readers(g)
	if slices.ContainsFunc(g.Leaves, func(l lineage.Leaf) bool { return l.Kind == lineage.LeafElsewhere }) {
		return nil, nil // other blocks made a part of it
	}
	ways := map[lineage.Leaf]uint64{}
	for _, n := range g.Elements() {
		if ways[n.Leaf] = n.Times[lineage.ByValue]; looked && n.Kind == lineage.LeafElement &&
			ways[n.Leaf] == 0 {
			moves, err := c.moves(ctx, at, n.Leaf)
			if err != nil {
				return nil, err
			}
			if moves {
				ways[n.Leaf] = n.Times[lineage.ByAddress]
			}
		}
	}
	out := map[operandKey]seen{}
	a := &actual{g, out}
	for i, l := range g.Leaves {
		switch {
		case ways[l] == 0:
		case l.Kind == lineage.LeafCut:
			for _, k := range c.lists[l.Cut] {
				out[k] = c.entering(out[k].ways+ways[l], readers[i], c.g.Stage(k.stage).DType)
			}
		case l.Kind == lineage.LeafElement && c.input(l.Arg):
			k := operandKey{stage: -1, arg: l.Arg, at: l.Element}
			out[k] = c.entering(out[k].ways+ways[l], readers[i], c.x.st.launch.Args[l.Arg].Buffer.DType)
		}
	}
	return a, nil
}
