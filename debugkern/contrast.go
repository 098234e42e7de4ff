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
	Known   bool       // what it is made of was found, and the manifest says what it should be made of
	Foreign []Operands // that it should not be made of
	Missing []Operands // that it should be made of, and is not
	Twice   []Operands // that enter more often than the others of their stage
	Oftener bool       // some of these more than two times as often
	// Padding are cells past the valid ones of an operand's tile, neither 0 nor minus infinity; nil: none
	Padding *Padding
	// Wholly: nothing of the missing operands' tiles or inputs comes in; they have the place where they do in
	// right cells
	Wholly bool
	// Of is the cell whose value it has, as a whole, and Stored where that is stored last: its operands may
	// be read by a wrong index, or it may be stored by one; nil: not known
	Of     *[2]int
	Stored *report.Source
	// Home is the cell that everything of it belongs to which it should not be made of, where what it should
	// be made of is missing: it is computed right, and goes to the wrong place; nil: there is no such cell
	Home *[2]int
	// Again: what it should not be made of is in its stage's tile of the iteration before already, which it
	// is made of too
	Again bool
	// Pair: operands that are multiplied with each other and should not be; nil: none are known
	Pair *Pair
	// Carried: the sum by which foreign operands come in, where that goes on from an earlier one; nil: they
	// come in another way
	Carried *Carried
	// Overwritten: the store by which foreign operands came to lie where missing ones lay; nil: none did
	Overwritten *Overwritten
	// Anew: the sum of the cell that begins anew behind missing operands; nil: none does
	Anew *Anew
	// Chosen: the maximum or minimum that leaves the missing operands; nil: they are missing otherwise
	Chosen *Chosen
	// Filled: the asynchronous copy that fills the bytes of a missing operand with zeros; nil: none does
	Filled *report.Source
	// Exchange: between which lanes foreign operands come in where those of others belong, all read as they
	// should be; nil: they come in another way
	Exchange *Exchange
}

// Padding is what a cell is made of that lies past the last row or column of an operand.
type Padding struct {
	Text   string  // which cells: "X[0][11..63]"
	Value  float64 // of the first of them
	Stored *report.Source
}

// Exchange is the threads that an exchange between lanes brings operands of, and those that it should.
type Exchange struct{ From, Meant string } // "lanes 4, 8 of warp 0"

// Pair is a product of two operands of a cell that belong to two terms of its sum.
type Pair struct {
	A, B Operands
	With Operands // what A should be multiplied with
	N    int      // how many products of the cell's sum are of such pairs
	// At: where the one is read that is wrong in cells which have the other in common with right ones;
	// nil: not known. Of products of sums it is where these are multiplied
	At *report.Source
	// Sums: two sums are multiplied, and with them the terms of one with other terms of the other
	Sums bool
}

// Operands are cells of one stage's tile, or elements of one argument.
type Operands struct {
	Of   string // the stage or argument
	Text string // which: "P@1[0][16..31]"
	N    int    // how many
	// Via: of missing ones that no captured tile stands for, the stage that they should enter by; else ""
	Via string
	// At: where they come in; of missing ones where the others of their stage do; nil: not known
	At *report.Source
	// Summed: of missing ones that are not read where the others are, where these are computed with, if that
	// is another line; else nil
	Summed *report.Source
	// Loaded: of missing ones that come in nowhere, where they are loaded all the same; nil: not known to be
	Loaded *report.Source
	// Unread: of foreign ones, the load that brought what belongs in their place too, in a register that no
	// instruction reads; nil: it did not
	Unread *report.Source
	// Threads: of missing ones that other lanes or warps have and do not hand on, which: "lanes 16–31 of
	// warp 0"; else ""
	Threads string
	// Stored is where these threads store the first of them, or what they computed with it, of which At reads
	// other elements: "half_sum[1][0]"; "": they do not. StoredAt is the line of the store, nil: not known
	Stored   string
	StoredAt *report.Source
	// Aside: these threads have them where the cell is made, and take what others have in their place
	Aside bool
	// Own: the threads of the cell to which the exchange between lanes that should bring these brings what
	// they have themselves: "lane 0 of warp 0 its own value"; else ""
	Own string
	// Access lists the instruction of the entry's body by whose address foreign ones come in; nil where it is
	// not known to be an address
	Access []int
	first  operandKey
	by     int // the instruction by which they come in; -1: not known
}

// Empty reports whether the cell is made of what it should be made of.
func (c *Contrast) Empty() bool {
	return len(c.Foreign)+len(c.Missing)+len(c.Twice) == 0 && c.Pair == nil && c.Padding == nil
}

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
	out := make([]Contrast, len(cells))
	c, err := r.contrast(ctx, stage, block, kv)
	if err != nil || c == nil {
		return out, err
	}
	for i, at := range cells {
		out[i].Cell = Cell{c.x.cell.Place, at[0], at[1]}
		if err := c.cell(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// contrast records a block, to contrast cells of a stage in it; nil where parts of the
// stage are other blocks'.
func (r *Run) contrast(
	ctx context.Context, stage probes.Stage, block probes.Dim3, kv int,
) (*contrast, error) {
	sp := r.Plan.Stage(stage)
	if r.state == nil || r.state.ref == nil {
		return nil, errNoState
	}
	if sp == nil || sp.OfLaunch() || sp.From.Without(sp.Operands) != nil {
		return nil, nil
	}
	x, trace, kv, err := r.follow(ctx, stage, block, kv)
	if err != nil {
		return nil, err
	}
	c := &contrast{
		run: r, x: x, g: r.state.ref.Graph(), fn: r.Entry(), trace: trace, block: block, kv: kv,
		ids: map[lineage.Ref]int{}, captured: map[lineage.Value][]part{},
		rounded: map[unrounded][]operandKey{},
		taken:   map[string]map[operandKey][]taking{}, stored: map[operandKey]bool{},
		reached: map[int]map[operandKey]bool{},
	}
	return c, c.tiles(ctx)
}

type contrast struct {
	run   *Run
	x     *ancestry
	g     *ref.Graph
	fn    *ptx.Func // the entry
	trace *lineage.Trace
	block probes.Dim3
	kv    int
	// captured are the values that became cells of other stages' tiles; ids and lists are what cut has found
	// of a value: the cells that it is, by its number in lists, -1: none.
	captured map[lineage.Value][]part
	rounded  map[unrounded][]operandKey // of captured values, what they were rounded from
	ids      map[lineage.Ref]int
	lists    [][]operandKey
	stored   map[operandKey]bool                // the cells of which captured has a value
	reached  map[int]map[operandKey]bool        // what reaches has found, by instruction
	elements map[int]bool                       // the arguments that a cell has foreign elements of
	moved    int                                // elements that moves has tried for the cell
	taken    map[string]map[operandKey][]taking // what takes has found, by line, and in which threads
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
	a, err := c.recognised(ctx, e, at)
	if err != nil || a == nil {
		return err
	}
	out.Known = true
	foreign, least := c.foreign(e, a)
	if foreign, err = c.moving(ctx, at, a, foreign); err != nil {
		return err
	}
	c.elements = map[int]bool{}
	for _, k := range foreign {
		c.elements[k.arg] = k.stage < 0
	}
	if instead, lacks, err := c.instead(ctx, at, e, a, foreign, out); err != nil || len(instead) > 0 {
		if err == nil {
			out.Foreign, err = c.operands(instead, a.of, func(k operandKey) (int, error) {
				return c.departs(ctx, k, a, instead, lacks)
			})
		}
		return err
	}
	var missing []operandKey
	for _, p := range e.direct {
		missing = append(missing, c.lacking(ctx, p, a, least, len(foreign) > 0, out)...)
	}
	if len(foreign)+len(missing) == 0 {
		if foreign, missing, err = c.replaced(ctx, at, e, a, out); err != nil {
			return err
		}
	}
	if len(foreign)+len(missing) == 0 {
		lost, chosen, err := c.unchosen(ctx, e, a)
		if err != nil {
			return err
		}
		if chosen != nil {
			out.Chosen = chosen
			out.Missing, err = c.operands(lost, a.of, func(operandKey) (int, error) { return -1, nil })
			return err
		}
	}
	if len(foreign)+len(missing) == 0 {
		if out.Pair = c.mismatched(out.Cell, e, a); out.Pair == nil {
			c.padding(e, a, out)
		}
		return nil
	}
	home, moved := c.misplaced(out.Cell, a, foreign, missing)
	if moved {
		out.Home = &home
	}
	out.Again = len(foreign) > 0 && !slices.ContainsFunc(foreign, func(k operandKey) bool {
		return !c.twiceCarried(e, a, k)
	})
	out.Foreign, err = c.operands(foreign, a.of, func(k operandKey) (int, error) {
		if out.Again {
			return c.meets(a, k, foreign), nil
		}
		if moved && len(a.of[k].way) > 0 {
			return a.of[k].way[len(a.of[k].way)-1], nil
		}
		return c.departs(ctx, k, a, foreign, missing)
	})
	if err == nil && len(foreign) > 0 {
		if s := a.of[out.Foreign[0].first]; c.handed(a, s, foreign, missing) {
			x := Exchange{c.threads(s.instr, foreign, nil), c.threads(s.instr, missing, nil)}
			if x.From != "" && x.Meant != "" {
				out.Exchange = &x
			}
		}
	}
	for i := range out.Foreign {
		c.addressed(&out.Foreign[i], a, missing)
		c.unread(&out.Foreign[i], a, missing)
	}
	if len(missing) == 0 {
		out.Carried = c.carried(a, foreign)
	} else if len(foreign) == 0 {
		out.Filled = c.filled(a)
	} else if !moved {
		out.Overwritten = c.overwritten(a, foreign, missing)
	}
	if other, stored, ok := c.elsewhereIn(out.Cell, a, foreign, missing); ok && !moved {
		out.Of, out.Stored = &other, report.SourceOf(target.Blame(c.fn, stored))
	}
	return err
}

// foreign lists what a cell is made of and should not be, and in how many ways what belongs there enters
// at least.
func (c *contrast) foreign(e *expected, a *actual) (foreign []operandKey, least uint64) {
	for k, s := range a.of {
		switch {
		case k.stage < 0 && !e.element[k],
			k.stage >= 0 && !e.tiles[[2]int{k.stage, k.iter}].has(k.at, c.g.Stage(k.stage).Cols),
			c.twiceCarried(e, a, k):
			foreign = append(foreign, k)
		case least == 0 || s.ways < least:
			least = s.ways
		}
	}
	return foreign, least
}

// twiceCarried reports whether a cell is made of its stage's tile of the iteration before, and of a cell of
// an earlier tile besides, which that one has in it already.
func (c *contrast) twiceCarried(e *expected, a *actual, k operandKey) bool {
	own := c.g.Index(c.x.stage.Stage)
	direct := func(p ref.Part) bool { return p.Stage == k.stage && p.Iter == k.iter }
	if k.stage < 0 || k.stage == own || k.iter >= c.kv || !c.g.Stage(k.stage).PerTile ||
		slices.ContainsFunc(e.direct, direct) {
		return false
	}
	for o := range a.of {
		if o.stage == own && o.iter == c.kv-1 {
			return true
		}
	}
	return false
}

func (r rect) has(at, cols int) bool {
	row, col := at/cols, at%cols
	return row >= r.rows[0] && row < r.rows[1] && col >= r.cols[0] && col < r.cols[1]
}

// lacking finds which operands of a part are not there, and which are there more often than others.
func (c *contrast) lacking(
	ctx context.Context, p ref.Part, a *actual, least uint64, foreign bool, out *Contrast,
) []operandKey {
	if p.Masked && (p.Stage >= 0 && (p.Mask == nil || !reads(a.of, p)) ||
		p.Stage < 0 && (!c.elements[c.argument(p.Input)] || c.zero(out.Cell))) {
		return nil // the ones that it hides may be left out
	}
	var want []operandKey
	if p.Stage < 0 {
		want = c.elementKeys(p)
	} else if want = c.cellKeys(p); p.Mask != nil {
		cols := c.g.Stage(p.Stage).Cols
		want = slices.DeleteFunc(want, func(k operandKey) bool {
			return !p.Mask.Visible(c.block, p.Iter, k.at/cols, k.at%cols)
		})
	} else if !reads(a.of, p) {
		rows, cols := p.Rows, p.Cols
		rows[1], cols[1] = min(rows[1], p.Valid[0]), min(cols[1], p.Valid[1])
		parts, ok := c.g.MadeOf(p.Stage, c.block, p.Iter, rows, cols)
		if !ok {
			return nil
		}
		first := len(out.Missing)
		var all []operandKey // of a tile that stays in registers, what it is made of
		for _, x := range parts {
			earlier := x.Iter < p.Iter || x.Stage == p.Stage
			if earlier && c.g.Stage(p.Stage).Capture.Kind != probes.CaptureNone {
				continue // a tile of its own
			}
			n := len(out.Missing)
			all = append(all, c.lacking(ctx, x, a, least, foreign, out)...)
			for i := n; i < len(out.Missing); i++ {
				if m := &out.Missing[i]; m.Via == "" {
					m.Via = c.g.Stage(p.Stage).Stage.String()
				}
			}
		}
		out.Missing = append(out.Missing[:first], c.merged(out.Missing[first:], all)...)
		return all
	}
	var missing, present, twice []operandKey
	for _, k := range want {
		if _, there := a.of[k]; there {
			present = append(present, k)
		} else {
			missing = append(missing, k)
		}
	}
	var other seen // how those that are there enter
	for _, k := range present {
		if s := a.of[k]; other.ways == 0 || (s.lanes >= 0) != (other.lanes >= 0) && s.lanes >= 0 ||
			(s.lanes >= 0) == (other.lanes >= 0) && s.instr > other.instr {
			other = s
		}
	}
	if len(missing) == 0 || len(missing) == len(want) && !foreign {
		return nil // of nothing at all it is not known by which way the kernel takes it
	}
	for _, k := range want {
		if n := a.of[k].ways; n > least {
			twice = append(twice, k)
			out.Oftener = out.Oftener || n > 2*least
		}
	}
	instr, summed, aside := -1, -1, false
	if other.ways > 0 {
		instr, summed, aside = c.lost(ctx, a, other, missing[0])
		if !foreign && out.Anew == nil {
			out.Anew, _ = c.begunAnew(ctx, a, other, missing[0]) // an error shows in what is asked next
		}
	}
	lacks, _ := c.operands(missing, a.of, func(operandKey) (int, error) { return instr, nil })
	if summed >= 0 {
		for i := range lacks {
			if at := report.SourceOf(target.Blame(c.fn, summed)); at != nil && lacks[i].At != nil &&
				at.At() != lacks[i].At.At() {
				lacks[i].Summed = at
			}
		}
	}
	if summed < 0 && other.instr >= 0 {
		for i := range lacks {
			if lacks[i].Threads = c.threads(other.instr, missing, present); lacks[i].Threads != "" {
				lacks[i].Own, lacks[i].Aside = c.ownValue(a, instr), aside
				if instr >= 0 && c.fn.Body[instr].Kind().Reads() {
					lacks[i].Stored, lacks[i].StoredAt = c.storedIn(ctx, other, lacks[i].first)
				}
			}
			if lacks[i].Threads == "" {
				lacks[i].Loaded = c.loadedAt(lacks[i].first)
			}
		}
	}
	out.Missing = append(out.Missing, lacks...)
	doubled, _ := c.operands(twice, a.of, func(k operandKey) (int, error) { return c.takenAgain(a, k), nil })
	out.Twice = append(out.Twice, doubled...)
	return missing
}

// merged writes the operands of several tiles of a stage that stays in registers as one for each tile or
// argument that they are of: keys are all of them.
func (c *contrast) merged(list []Operands, keys []operandKey) []Operands {
	if len(list) < 2 {
		return list
	}
	out, _ := c.operands(slices.Clone(keys), nil, func(operandKey) (int, error) { return -1, nil })
	for i := range out {
		j := slices.IndexFunc(list, func(o Operands) bool { return o.Of == out[i].Of })
		if j < 0 {
			return list
		}
		o := list[j]
		o.Text, o.N, o.first = out[i].Text, out[i].N, out[i].first
		out[i] = o
	}
	return out
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

// operands writes keys down by the tile or argument that they are of. instr is the instruction by which one
// comes in, ways have what follows.
func (c *contrast) operands(
	keys []operandKey, ways map[operandKey]seen, instr func(operandKey) (int, error),
) ([]Operands, error) {
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
			if len(at) > instructionsAsked {
				continue
			}
			n, err := instr(k)
			if err != nil {
				return nil, err
			}
			by = max(by, n)
		}
		o.first, o.by = keys[0], by
		if c.named(&o, keys[0], at); by >= 0 {
			o.At = c.line(by, ways[keys[0]].way)
		}
		out, keys = append(out, o), keys[n:]
	}
	return out, nil
}

// instructionsAsked is of how many operands of one tile it is found out where they come in.
const instructionsAsked = 4

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
	if sp.PerTile && (k.iter != c.kv || sp.Loaded && c.x.stage.Phase == probes.PhaseAfter) {
		text += fmt.Sprintf("@%d", k.iter)
	}
	dims := []int{sp.Rows, sp.Cols}
	if sp.Cols == 1 {
		dims = dims[:1]
	}
	o.Text = text + lineage.Box(dims, at)
}
