package debugkern

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Contrast is how what a cell is made of differs from what the manifest says that it is made of. Operands
// that kernel and manifest have in common are in none of the lists.
type Contrast struct {
	Cell    Cell
	Foreign []Operands // that it should not be made of
	Missing []Operands // that it should be made of, and is not
	Twice   []Operands // that enter more often than the others of their stage
}

// Operands are cells of one stage's tile, or elements of one argument.
type Operands struct {
	Of   string // the stage or argument
	Text string // which: "P@1[0][16..31]"
	N    int    // how many
	// At: where they are read; of missing ones where the others of their stage are; nil: not known
	At *report.Source
}

// Empty reports whether the cell is made of what it should be made of.
func (c *Contrast) Empty() bool { return len(c.Foreign)+len(c.Missing)+len(c.Twice) == 0 }

// operandKey is a cell of a stage's tile, or an element of an argument.
type operandKey struct {
	stage int // in the graph; -1: an argument's element
	iter  int
	arg   int // of the launch
	at    int // the cell, row-major, or the element
}

// Contrast follows cells of a stage in a block and iteration to the tiles that it is computed
// from, and to the inputs. A cell whose operands the manifest does not name (a gather) has none.
// Errors are those of Lineage.
func (r *Run) Contrast(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int, cells [][2]int,
) ([]Contrast, error) {
	sp := r.Plan.Stage(stage)
	if r.state == nil || r.state.ref == nil {
		return nil, errNoState
	}
	if sp != nil && sp.From.Without(sp.Operands) != nil {
		return make([]Contrast, len(cells)), nil // parts of it are other blocks'
	}
	x, trace, kv, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	c := &contrast{
		x: x, g: r.state.ref.Graph(), fn: r.Entry(), trace: trace, block: block, kv: kv,
		ids: map[lineage.Ref]int{}, captured: map[lineage.Value][]part{},
		taken: map[string]map[operandKey]bool{},
	}
	if err := c.tiles(ctx); err != nil {
		return nil, err
	}
	out := make([]Contrast, len(cells))
	for i, at := range cells {
		out[i].Cell = Cell{x.cell.Place, at[0], at[1]}
		if err := c.cell(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type contrast struct {
	x     *ancestry
	g     *ref.Graph
	fn    *ptx.Func // the entry
	trace *lineage.Trace
	block probes.Dim3
	kv    int
	// captured are the values that became cells of other stages' tiles; ids and lists are what cut has found
	// of a value: the cells that it is, by its number in lists, -1: none.
	captured map[lineage.Value][]part
	ids      map[lineage.Ref]int
	lists    [][]operandKey
	taken    map[string]map[operandKey]bool // what takes has found, by line
}

// cell contrasts one cell.
func (c *contrast) cell(ctx context.Context, out *Contrast) error {
	e, ok := c.expect(out.Cell.Row, out.Cell.Col)
	if !ok {
		return nil
	}
	at, err := c.x.at(c.trace, out.Cell.Row, out.Cell.Col)
	if err != nil {
		return err
	}
	a, err := c.actual(ctx, at, !slices.ContainsFunc(e.direct, func(p ref.Part) bool { return p.Stage >= 0 }))
	if err != nil || a == nil {
		return err
	}
	var foreign []operandKey
	least := uint64(0) // ways of what belongs there
	for k, s := range a {
		switch {
		case k.stage < 0 && !e.element[k],
			k.stage >= 0 && !e.tiles[[2]int{k.stage, k.iter}].has(k.at, c.g.Stage(k.stage).Cols):
			foreign = append(foreign, k)
		case least == 0 || s.ways < least:
			least = s.ways
		}
	}
	var missing []operandKey
	for _, p := range e.direct {
		missing = append(missing, c.lacking(p, a, least, len(foreign) > 0, out)...)
	}
	out.Foreign = c.operands(foreign, func(k operandKey) int { return c.departs(k, a[k], missing) })
	return nil
}

func (r rect) has(at, cols int) bool {
	row, col := at/cols, at%cols
	return row >= r.rows[0] && row < r.rows[1] && col >= r.cols[0] && col < r.cols[1]
}

// lacking finds which operands of a part are not there, and which are there more often than others.
func (c *contrast) lacking(
	p ref.Part, a map[operandKey]seen, least uint64, foreign bool, out *Contrast,
) []operandKey {
	if p.Masked {
		return nil // the ones that it hides may be left out
	}
	var want []operandKey
	if p.Stage < 0 {
		want = c.elementKeys(p)
	} else if want = c.cellKeys(p); !reads(a, p) {
		rows, cols := p.Rows, p.Cols
		rows[1], cols[1] = min(rows[1], p.Valid[0]), min(cols[1], p.Valid[1])
		parts, ok := c.g.MadeOf(p.Stage, c.block, p.Iter, rows, cols)
		if !ok {
			return nil
		}
		var all []operandKey // of a tile that stays in registers, what it is made of
		for _, x := range parts {
			if x.Iter >= p.Iter && x.Stage != p.Stage {
				all = append(all, c.lacking(x, a, least, foreign, out)...)
			}
		}
		return all
	}
	var missing, twice []operandKey
	var other seen // how those that are there enter
	for _, k := range want {
		if s, there := a[k]; !there {
			missing = append(missing, k)
		} else if other.ways == 0 || s.instr > other.instr {
			other = s
		}
	}
	if len(missing) == 0 || len(missing) == len(want) && !foreign {
		return nil // of nothing at all it is not known by which way the kernel takes it
	}
	for _, k := range want {
		if a[k].ways > least {
			twice = append(twice, k)
		}
	}
	instr := -1
	if other.ways > 0 {
		instr = c.lost(other, missing[0])
	}
	out.Missing = append(out.Missing, c.operands(missing, func(operandKey) int { return instr })...)
	out.Twice = append(out.Twice, c.operands(twice, func(k operandKey) int {
		return c.departs(k, a[k], missing)
	})...)
	return missing
}

// reads reports whether a cell is made of any cell of the tile that a part is of.
func reads(a map[operandKey]seen, p ref.Part) bool {
	for k := range a {
		if k.stage == p.Stage && k.iter == p.Iter {
			return true
		}
	}
	return false
}

// operands writes keys down by the tile or argument that they are of.
func (c *contrast) operands(keys []operandKey, instr func(operandKey) int) []Operands {
	slices.SortFunc(keys, func(a, b operandKey) int {
		return cmp.Or(cmp.Compare(b.stage, a.stage), cmp.Compare(a.arg, b.arg), cmp.Compare(a.iter, b.iter),
			cmp.Compare(a.at, b.at))
	})
	var out []Operands
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n].stage == keys[0].stage && keys[n].arg == keys[0].arg &&
			keys[n].iter == keys[0].iter {
			n++
		}
		o := Operands{N: n}
		var at []int
		by := -1
		for _, k := range keys[:n] {
			at = append(at, k.at)
			by = max(by, instr(k))
		}
		if c.named(&o, keys[0], at); by >= 0 {
			o.At = report.SourceOf(target.Blame(c.fn, by))
		}
		out, keys = append(out, o), keys[n:]
	}
	return out
}

// named gives operands their names.
func (c *contrast) named(o *Operands, k operandKey, at []int) {
	if k.stage < 0 {
		b := c.x.st.launch.Args[k.arg]
		o.Of = b.Name
		a := c.x.st.r.plan.Arg(b.Name)
		dims := a.Dims
		if a.Strides != nil {
			for i, place := range at {
				index, ok := probes.IndexAt(place, a.Dims, a.Strides)
				if !ok {
					dims = nil
					break
				}
				at[i] = 0
				for d, n := range index {
					at[i] = at[i]*a.Dims[d] + n
				}
			}
		}
		o.Text = o.Of + lineage.Box(dims, at)
		return
	}
	sp := c.g.Stage(k.stage)
	o.Of = sp.Stage.String()
	text := o.Of
	if sp.PerTile && k.iter != c.kv {
		text += fmt.Sprintf("@%d", k.iter)
	}
	dims := []int{sp.Rows, sp.Cols}
	if sp.Cols == 1 {
		dims = dims[:1]
	}
	o.Text = text + lineage.Box(dims, at)
}
