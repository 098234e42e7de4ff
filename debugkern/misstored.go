package debugkern

import (
	"context"
	"maps"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Misstored is a value of a row that is stored in a shared array where another row's belongs: every row of
// the stage that is made of it reads the array at the row's own index.
type Misstored struct {
	Of        string // the stage whose value it is
	Row, Slot int    // the row, and the index that it is stored at
	Variable  string // the array; "" where it has no name
	At        *report.Source
}

// Misstored looks whether the rows of a stage read a column of one value a row, another stage's, each at its
// own index and get another row's value: then it is stored at the wrong index. The results are of the row of
// the cell, one for each stage; none where rows read by another index than their own, or what they read is
// not known. Errors are those of Lineage.
func (r *Run) Misstored(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cell [2]int,
) ([]Misstored, error) {
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return nil, err
	}
	v, err := r.View(Place{Stage: stage, Block: block, KVTile: kv})
	if err != nil {
		return nil, nil
	}
	rows := map[int][]stored{} // by the stage that they are of
	for row := range v.ValidRows {
		if err := c.storedFor(ctx, [2]int{row, cell[1]}, rows); err != nil {
			return nil, err
		}
		maps.DeleteFunc(rows, func(_ int, list []stored) bool { return len(list) != row+1 })
		if len(rows) == 0 {
			return nil, nil
		}
	}
	var out []Misstored
	for i := range c.g.Stages() {
		list := rows[i]
		if len(list) < 2 || list[cell[0]].row == cell[0] {
			continue
		}
		name, ok, err := c.ownIndex(ctx, list, c.g.Stage(i).DType.Size())
		if err != nil {
			return nil, err
		}
		if x := list[cell[0]]; ok {
			out = append(out, Misstored{
				Of: c.g.Stage(i).Stage.String(), Row: x.row, Slot: cell[0], Variable: name,
				At: report.SourceOf(target.Blame(c.fn, x.store)),
			})
		}
	}
	return out, nil
}

// stored is a value of a row that a cell reads from where it was stored.
type stored struct {
	row         int // whose it is
	store, load int // the instructions, in the entry's body
	address     lineage.Ref
	off         int64
}

// storedFor appends what one cell reads of each stage that has one value a row. A cell that reads a stage in
// another way leaves it out.
func (c *contrast) storedFor(ctx context.Context, cell [2]int, rows map[int][]stored) error {
	e, ok := c.expect(cell[0], cell[1])
	if !ok {
		return nil
	}
	at, err := c.x.at(c.trace, cell[0], cell[1])
	if err != nil {
		return nil // it was not captured
	}
	a, err := c.recognised(ctx, e, at)
	if err != nil || a == nil {
		return err
	}
	of := map[int][]operandKey{}
	for k := range a.of {
		if k.stage >= 0 && c.g.Stage(k.stage).Cols == 1 {
			of[k.stage] = append(of[k.stage], k)
		}
	}
	for i, keys := range of {
		if len(keys) != 1 || len(rows[i]) != cell[0] {
			continue
		}
		if x, ok := c.storedBy(keys[0].at, a.of[keys[0]], a.g); ok {
			rows[i] = append(rows[i], x)
		}
	}
	return nil
}

// storedBy is where a row's value is stored, and read by an address in a register; false where it is not.
func (c *contrast) storedBy(row int, s seen, g *lineage.Graph) (stored, bool) {
	for i := 1; i < len(s.way); i++ {
		load := c.fn.Body[s.way[i]]
		if load.Kind() != isa.Load || load.Space() != ptx.SpaceShared ||
			c.fn.Body[s.way[i-1]].Kind() != isa.Store {
			continue
		}
		n := g.Nodes[s.nodes[i]]
		for _, u := range c.trace.Uses(lineage.Ref{Step: n.Step, Lane: n.Lane}, true, false) {
			if u.Kind == lineage.ByAddress && u.Leaf == nil {
				x := stored{row: row, store: s.way[i-1], load: s.way[i], address: u.Ref}
				for _, o := range load.Args {
					if o.Kind == ptx.OpAddr {
						x.off = o.Off
					}
				}
				return x, true
			}
		}
	}
	return stored{}, false
}

// ownIndex reports whether rows read an array from its beginning on, each at its own index, and the array's
// name.
func (c *contrast) ownIndex(ctx context.Context, list []stored, size int) (name string, ok bool, err error) {
	s := &sums{trace: c.trace, fn: c.fn}
	var refs []lineage.Ref
	var loads []int
	for _, x := range list {
		refs = append(refs, s.register(x.address))
		if !slices.Contains(loads, x.load) {
			loads = append(loads, x.load)
		}
	}
	bits, err := c.trace.Values(ctx, c.x.kernel, refs)
	if err != nil {
		return "", false, err
	}
	for i := range list {
		if int64(bits[i])+list[i].off != int64(bits[0])+list[0].off+int64(i*size) {
			return "", false, nil
		}
	}
	reads, all, err := c.run.Reaches(ctx, c.block, loads)
	if err != nil || !all || len(reads) == 0 {
		return "", false, err
	}
	first := reads[0]
	for _, x := range reads {
		if x.Base != first.Base {
			return "", false, nil
		}
		if x.Offset < first.Offset {
			first = x
		}
	}
	return first.Base, first.Offset == 0, nil
}
